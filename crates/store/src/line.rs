//! One line of the journal: `<crc> <prev-crc> <seq> <epoch> <json>\n`, where the checksum is over all that follows it and
//! `prev-crc` is the checksum of the line before. A number written as `<seq>-<open>` says that so many lines right before it
//! were not durable when it was written, one without that says that all were: that is how what a power cut broke can be told
//! from damage to older lines.

use std::fmt::Write as _;
use std::ops::Range;

use crc32c::crc32c;

/// The number of a record; the first one has 1.
pub type Seq = u64;

/// What the next line must follow. The default is what the first line follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// The line's checksum.
    pub(crate) crc: u32,
    /// Its number.
    pub(crate) seq: Seq,
    /// Its epoch.
    pub(crate) epoch: u64,
}

/// A line that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// What the next line must follow.
    pub(crate) head: Head,
    /// The checksum that it says the line before has.
    pub(crate) prev: u32,
    /// How many lines right before it were not durable when it was written.
    pub(crate) open: u64,
    /// Where its record is in the line.
    pub(crate) json: Range<usize>,
    /// Whether its checksum is right.
    pub(crate) intact: bool,
}

impl Line {
    /// The number up to which everything was durable when it was written.
    pub(crate) fn durable(&self) -> Seq {
        self.head.seq.saturating_sub(1).saturating_sub(self.open)
    }
}

/// Adds a line to a text. So many lines right before it are not durable.
pub(crate) fn encode(out: &mut String, last: Head, open: u64, epoch: u64, json: &str) -> Head {
    let seq = last.seq.saturating_add(1);
    let start = out.len();
    out.push_str("00000000 ");
    let body = out.len();
    // Writing to a string cannot fail.
    let _written = match open {
        0 => write!(out, "{:08x} {seq} {epoch} {json}", last.crc),
        open => write!(out, "{:08x} {seq}-{open} {epoch} {json}", last.crc),
    };
    let crc = crc32c(&out.as_bytes()[body..]);
    out.replace_range(start..start + 8, &format!("{crc:08x}"));
    out.push('\n');
    Head { crc, seq, epoch }
}

/// Reads a line without its line end. What has not the shape of a line is none; the checksum is only looked at.
pub(crate) fn decode(line: &[u8]) -> Option<Line> {
    str::from_utf8(line).ok()?;
    let (crc, body) = hex(line)?;
    let (prev, rest) = hex(body)?;
    let (seq, end, rest) = number(rest)?;
    let (open, rest) = match end {
        b'-' => number(rest).filter(|(open, end, _)| *end == b' ' && *open > 0).map(|(open, _, rest)| (open, rest))?,
        _ => (0, rest),
    };
    let (epoch, _, json) = number(rest).filter(|(_, end, _)| *end == b' ')?;
    let json = line.len() - json.len()..line.len();
    Some(Line { head: Head { crc, seq, epoch }, prev, open, json, intact: crc32c(body) == crc })
}

/// A checksum, and what is behind it and its space.
fn hex(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(8)?;
    let value = digits.iter().try_fold(0, |value, digit| match digit {
        b'0'..=b'9' => Some(value << 4 | u32::from(digit - b'0')),
        b'a'..=b'f' => Some(value << 4 | u32::from(digit - b'a' + 10)),
        _ => None,
    })?;
    Some((value, rest.strip_prefix(b" ")?))
}

/// A number, the space or the dash that ends it, and what is behind that.
fn number(text: &[u8]) -> Option<(u64, u8, &[u8])> {
    let end = text.iter().position(|byte| matches!(byte, b' ' | b'-')).filter(|end| *end > 0)?;
    let value = text[..end].iter().try_fold(0_u64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })?;
    Some((value, text[end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_text_that_is_documented() {
        let mut text = String::new();
        let first = encode(&mut text, Head::default(), 0, 3, r#"{"kind":"epoch"}"#);
        let second = encode(&mut text, first, 1, 3, "{}");
        assert_eq!(text, "8a229c50 00000000 1 3 {\"kind\":\"epoch\"}\n393a4a24 8a229c50 2-1 3 {}\n");
        let line = decode(text.lines().last().unwrap_or_default().as_bytes()).expect("a line");
        assert_eq!(line, Line { head: second, prev: first.crc, open: 1, json: 24..26, intact: true });
    }

    #[test]
    fn invalid_line_is_none() {
        let good = "2a60d8b4 00000000 1 3 {}";
        assert!(decode(good.as_bytes()).is_some_and(|line| !line.intact));
        for bad in [
            "",
            "2a60d8b4",
            "2a60d8b4 ",
            "2a60d8b4 00000000 1 3",
            "2A60D8B4 00000000 1 3 {}",
            "+a60d8b4 00000000 1 3 {}",
            "2a60d8b 000000000 1 3 {}",
            "2a60d8b4 00000000 +1 3 {}",
            "2a60d8b4 00000000 -1 3 {}",
            "2a60d8b4 00000000 1- 3 {}",
            "2a60d8b4 00000000 1-0 3 {}",
            "2a60d8b4 00000000 1-1-1 3 {}",
            "2a60d8b4 00000000 1 3-1 {}",
            "2a60d8b4 00000000 x 3 {}",
            "2a60d8b4 00000000 1 +3 {}",
            "2a60d8b4 00000000 99999999999999999999 3 {}",
        ] {
            assert_eq!(decode(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(decode(b"2a60d8b4 00000000 1 3 \xff"), None);
    }
}
