//! The lines of a text with their places. LF, CR LF and a lone CR all end a line.

/// One line.
pub(crate) struct Line<'s> {
    /// Without what ends it.
    pub(crate) text: &'s str,
    /// Its first byte.
    pub(crate) start: usize,
    /// The first byte of the next line, or the length of the text.
    pub(crate) next: usize,
}

impl Line<'_> {
    /// The byte after its text.
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Every line of the text; nothing follows the last line end.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let (line, after) = rest.split_at(length);
        let ending = if after.starts_with("\r\n") { 2 } else { after.len().min(1) };
        let next = start + length + ending;
        let line = Line { text: line, start, next };
        start = next;
        Some(line)
    })
}

/// Spaces and tabs, the white space within a line.
pub(crate) const BLANKS: [char; 2] = [' ', '\t'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_ends_one_line() {
        let found: Vec<_> = lines("a\nä\r\n\rb\n\nc").map(|line| (line.text, line.start, line.next)).collect();
        assert_eq!(found, [("a", 0, 2), ("ä", 2, 6), ("", 6, 7), ("b", 7, 9), ("", 9, 10), ("c", 10, 11)]);
        assert_eq!(lines("").count(), 0);
        assert_eq!(lines("a\n").count(), 1);
    }
}
