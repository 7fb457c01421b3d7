//! The last line of a stream that is not empty, found while the stream goes by. Nothing is kept but that line.

/// The most that is kept of a line, in bytes.
const LINE: usize = 4096;

/// Watches a stream for its last line.
#[derive(Debug, Default)]
pub(crate) struct LastLine {
    complete: Vec<u8>,
    current: Vec<u8>,
}

impl LastLine {
    /// Takes the next bytes of the stream.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let mut lines = bytes.rsplitn(2, |byte| *byte == b'\n');
        let open = lines.next().unwrap_or_default();
        let Some(closed) = lines.next() else {
            append(&mut self.current, open);
            return;
        };
        // The first line of a chunk goes on with what was open; the others stand alone.
        let first = closed.iter().position(|byte| *byte == b'\n').unwrap_or(closed.len());
        let (first, rest) = closed.split_at(first);
        append(&mut self.current, first);
        let last = rest.rsplit(|byte| *byte == b'\n').find(|line| !is_blank(line));
        if let Some(last) = last {
            self.complete.clear();
            append(&mut self.complete, last);
        } else if !is_blank(&self.current) {
            std::mem::swap(&mut self.complete, &mut self.current);
        }
        self.current.clear();
        append(&mut self.current, open);
    }

    /// The last line so far, of at most this many bytes, without control characters.
    pub(crate) fn text(&self, most: usize) -> Option<String> {
        let line = if is_blank(&self.current) { &self.complete } else { &self.current };
        let text: String =
            String::from_utf8_lossy(line).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let text = text.trim();
        let end = text.floor_char_boundary(most);
        (!text.is_empty()).then(|| text[..end].to_owned())
    }
}

fn append(line: &mut Vec<u8>, bytes: &[u8]) {
    let room = LINE.saturating_sub(line.len());
    line.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(chunks: &[&[u8]]) -> Option<String> {
        let mut line = LastLine::default();
        chunks.iter().for_each(|chunk| line.feed(chunk));
        line.text(LINE)
    }

    #[test]
    fn the_last_line_that_is_not_empty_counts_wherever_the_stream_is_cut() {
        let stream = b"first\nsecond\n\n  third \n\r\n\n";
        for one in 0..stream.len() {
            for two in one..stream.len() {
                let chunks = [&stream[..one], &stream[one..two], &stream[two..]];
                assert_eq!(last(&chunks).as_deref(), Some("third"), "{one} {two}");
            }
        }
        assert_eq!(last(&[b"done\n", b"not yet ended"]).as_deref(), Some("not yet ended"));
    }

    #[test]
    fn nothing_is_the_last_line_of_nothing() {
        assert_eq!(last(&[]), None);
        assert_eq!(last(&[b"\n \n", b"\t\n"]), None);
    }

    #[test]
    fn a_line_is_cut_between_characters_and_has_no_control_characters() {
        assert_eq!(last(&[b"a\x1b[31mb\xff\n"]).as_deref(), Some("a [31mb\u{fffd}"));
        let mut line = LastLine::default();
        line.feed("ää".repeat(5000).as_bytes());
        assert_eq!(line.text(5).as_deref(), Some("ää"));
        assert!(line.current.len() <= LINE);
    }
}
