//! The last line of a stream that is not empty, found while the stream goes by. Nothing is kept but that line.

/// The most that is kept of a line, in bytes.
const LINE: usize = 4096;
/// What everything begins with that is meant for a terminal.
const ESCAPE: u8 = 0x1b;

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

    /// The last line so far, of at most this many bytes, without control characters and what they say to a terminal.
    pub(crate) fn text(&self, most: usize) -> Option<String> {
        let line = if is_blank(&self.current) { &self.complete } else { &self.current };
        let text = plain(&String::from_utf8_lossy(line));
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
    if line.contains(&ESCAPE) {
        return plain(&String::from_utf8_lossy(&line[..line.len().min(LINE)])).trim().is_empty();
    }
    line.iter().all(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
}

/// A text without colours and whatever else is meant for a terminal. Other control characters become blanks.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        match first {
            '\u{1b}' => rest = behind_escape(rest),
            first => plain.push(if first.is_control() { ' ' } else { first }),
        }
    }
    plain
}

/// What follows on an escape sequence, whose first character is gone.
fn behind_escape(text: &str) -> &str {
    let behind = |text: &'_ str, is_inner: fn(u8) -> bool| -> usize {
        let inner = text.bytes().take_while(|byte| is_inner(*byte)).count();
        inner + usize::from(text.as_bytes().get(inner).is_some_and(|last| (0x30..0x7f).contains(last)))
    };
    let length = match text.as_bytes().first() {
        Some(b'[') => 1 + behind(&text[1..], |byte| (0x20..0x40).contains(&byte)),
        // A title or a link, up to its end; one without an end hides nothing.
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let ends = ["\u{7}", "\u{1b}\\"].map(|end| text.find(end).map(|at| at + end.len()));
            ends.into_iter().flatten().min().unwrap_or(1)
        }
        _ => behind(text, |byte| (0x20..0x30).contains(&byte)),
    };
    &text[length..]
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
    fn last_nonempty_line_counts_at_any_cut() {
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
    fn terminal_sequences_are_not_part_of_a_line() {
        for (line, expected) in [
            ("\u{1b}[31mred 3\u{1b}[0m", "red 3"),
            ("\u{1b}[38;2;1;2;3mgr\u{1b}[Keen\u{1b}[?25h", "green"),
            ("\u{1b}]0;a title\u{7}text", "text"),
            ("\u{1b}]8;;http://x\u{1b}\\a link\u{1b}]8;;\u{1b}\\", "a link"),
            ("\u{1b}(Bplain\u{1b}7\u{1b}=", "plain"),
            ("\u{1b}]0;no end", "0;no end"),
            ("ends in \u{1b}[3", "ends in"),
            ("\u{1b}ä", "ä"),
        ] {
            assert_eq!(last(&[line.as_bytes()]).as_deref(), Some(expected), "{line:?}");
        }
        assert_eq!(last(&[b"done\n\x1b[0m\n", b"\x1b[?25h"]).as_deref(), Some("done"));
    }

    #[test]
    fn line_is_cut_between_characters_without_controls() {
        assert_eq!(last(&[b"a\x1b[31mb\x07\xff\n"]).as_deref(), Some("ab \u{fffd}"));
        let mut line = LastLine::default();
        line.feed("ää".repeat(5000).as_bytes());
        assert_eq!(line.text(5).as_deref(), Some("ää"));
        assert!(line.current.len() <= LINE);
    }
}
