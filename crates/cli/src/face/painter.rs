//! Keeps some lines at the bottom of a terminal while others scroll by above them.
//!
//! The cursor is never hidden and stands at the begin of the last of these lines. So nothing has to be put right when the
//! program is killed, and what the terminal itself echoes (`^C`) is gone with the next frame.

use unicode_width::UnicodeWidthStr;

/// What stands at the bottom now.
#[derive(Debug, Default)]
pub(crate) struct Painter {
    lines: Vec<String>,
    /// How wide the terminal was.
    columns: usize,
}

impl Painter {
    /// What to write so that `above` (whole lines, or nothing) scrolls by and only `below` stands at the bottom. The lines
    /// below are narrower than the terminal and have no styles.
    pub(crate) fn frame(&mut self, above: &str, below: &[String], columns: usize) -> String {
        let mut out = String::new();
        if above.is_empty() && self.lines == below && self.columns == columns {
            return out;
        }
        if let Some((_, before)) = self.lines.split_last() {
            // A terminal that became narrower has broken lines that were wider.
            let rows: usize = before.iter().map(|line| line.width().div_ceil(columns.max(1)).max(1)).sum();
            if rows > 0 {
                out.push_str(&format!("\u{1b}[{rows}A"));
            }
            out.push_str("\r\u{1b}[J");
        }
        out.push_str(above);
        out.push_str(&below.join("\n"));
        if !below.is_empty() {
            out.push('\r');
        }
        self.lines = below.to_vec();
        self.columns = columns;
        out
    }

    /// The same with only a prompt below, where a person can type: it is not written again while it stands.
    pub(crate) fn prompt(&mut self, above: &str, columns: usize) -> String {
        self.frame(above, &["> ".to_owned()], columns).trim_end_matches('\r').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn what_stood_there_is_replaced() {
        let mut painter = Painter::default();
        assert_eq!(painter.frame("", &lines(&["a", "b"]), 80), "a\nb\r");
        assert_eq!(painter.frame("", &lines(&["a", "b"]), 80), "", "nothing is new");
        assert_eq!(painter.frame("happened\n", &lines(&["c"]), 80), "\u{1b}[1A\r\u{1b}[Jhappened\nc\r");
        assert_eq!(painter.frame("", &[], 80), "\r\u{1b}[J");
        assert_eq!(painter.frame("the end\n", &[], 80), "the end\n");
    }

    #[test]
    fn typing_is_not_painted_over() {
        let mut painter = Painter::default();
        painter.frame("", &lines(&["a", "b"]), 80);
        assert_eq!(painter.prompt("what now?\n", 80), "\u{1b}[1A\r\u{1b}[Jwhat now?\n> ");
        assert_eq!(painter.prompt("", 80), "", "what was typed stays");
        assert_eq!(painter.prompt("what?\n", 80), "\r\u{1b}[Jwhat?\n> ");
        assert_eq!(painter.frame("", &lines(&["a"]), 80), "\r\u{1b}[Ja\r");
    }

    #[test]
    fn lines_that_a_narrower_terminal_has_broken_are_found_again() {
        let mut painter = Painter::default();
        painter.frame("", &lines(&["0123456789", "日本語", "x"]), 20);
        assert!(painter.frame("", &[], 4).starts_with("\u{1b}[5A\r"), "3 rows and 2 rows");
    }
}
