//! As much of HTTP/1.1 as agents need from a server on loopback: one request a connection, with bounds.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// The longest line of a head.
const LINE: u64 = 64 << 10;
/// The most lines of a head.
const LINES: usize = 200;
/// The longest body.
const BODY: u64 = 64 << 20;

/// What an agent sent.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without what stands behind a question mark.
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

/// One event of a stream: its name, where the format has names, and its data.
pub(super) type Event = (Option<&'static str>, Value);

/// Reads one request to its end.
pub(super) fn read(from: &mut impl BufRead) -> io::Result<Request> {
    let first = line(from)?;
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(invalid("no request"));
    };
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let (mut length, mut chunked) = (0, false);
    for number in 0.. {
        let header = line(from)?;
        let Some((name, value)) = header.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            _ if number == LINES => return Err(invalid("a head without end")),
            "content-length" => length = value.trim().parse().map_err(|_| invalid("no length"))?,
            "transfer-encoding" => chunked = value.contains("chunked"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if chunked {
        while part(from, &mut body)? {}
    } else {
        take(from, length, &mut body)?;
    }
    Ok(Request { method: method.to_owned(), path, body })
}

/// Answers with a value as a whole.
pub(super) fn whole(to: &mut impl Write, status: u16, retry_after: Option<u32>, value: &Value) -> io::Result<()> {
    let body = value.to_string();
    let retry = retry_after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
    let length = body.len();
    write!(
        to,
        "HTTP/1.1 {status} scripted\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{retry}\
         connection: close\r\n\r\n{body}"
    )?;
    to.flush()
}

/// Answers with a stream of events.
pub(super) fn stream(to: &mut impl Write, events: &[Event]) -> io::Result<()> {
    to.write_all(
        b"HTTP/1.1 200 scripted\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\
          connection: close\r\n\r\n",
    )?;
    for (name, data) in events {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        let text = format!("{name}data: {data}\n\n");
        write!(to, "{:x}\r\n{text}\r\n", text.len())?;
        to.flush()?;
    }
    to.write_all(b"0\r\n\r\n")?;
    to.flush()
}

/// One part of a body that comes in parts; false at its end.
fn part(from: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<bool> {
    let size = line(from)?;
    let size = size.split(';').next().unwrap_or_default().trim();
    let size = u64::from_str_radix(size, 16).map_err(|_| invalid("no size"))?;
    take(from, size, body)?;
    line(from)?;
    Ok(size > 0)
}

fn take(from: &mut impl Read, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if length.saturating_add(body.len() as u64) > BODY {
        return Err(invalid("a body that is too long"));
    }
    if from.take(length).read_to_end(body)? as u64 == length { Ok(()) } else { Err(invalid("a body that is cut off")) }
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    from.take(LINE).read_until(b'\n', &mut line)?;
    let text = line.strip_suffix(b"\n").ok_or_else(|| invalid("a line that is cut off or too long"))?;
    Ok(String::from_utf8_lossy(text.strip_suffix(b"\r").unwrap_or(text)).into_owned())
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_is_read_by_its_length_or_in_parts() {
        let expected = Request { method: "POST".to_owned(), path: "/a/b".to_owned(), body: b"abcde".to_vec() };
        let plain = "POST /a/b?beta=true HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcdeNEXT";
        assert_eq!(read(&mut plain.as_bytes()).unwrap(), expected);
        let parts = "POST /a/b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
        assert_eq!(read(&mut parts.as_bytes()).unwrap(), expected);
        assert_eq!(read(&mut "HEAD / HTTP/1.1\r\n\r\n".as_bytes()).unwrap().body, b"");
    }

    #[test]
    fn cut_or_overlong_request_is_refused() {
        let endless = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(LINES + 1));
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(LINE as usize));
        let bad = [
            "",
            "POST",
            "POST / HTTP/1.1\r\n",
            "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nabc",
            "POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\nabc",
            "POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffff\r\n",
            &endless,
            &long,
        ];
        for text in bad {
            assert!(read(&mut text.as_bytes()).is_err(), "{text:.60}");
        }
    }

    #[test]
    fn answers_are_whole_or_in_events() {
        let mut out = Vec::new();
        whole(&mut out, 429, Some(3), &json!({"a": 1})).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "HTTP/1.1 429 scripted\r\ncontent-type: application/json\r\ncontent-length: 7\r\nretry-after: 3\r\n\
             connection: close\r\n\r\n{\"a\":1}"
        );
        let mut out = Vec::new();
        stream(&mut out, &[(Some("one"), json!(1)), (None, json!([]))]).unwrap();
        let text = String::from_utf8(out).unwrap();
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "14\r\nevent: one\ndata: 1\n\n\r\na\r\ndata: []\n\n\r\n0\r\n\r\n");
    }
}
