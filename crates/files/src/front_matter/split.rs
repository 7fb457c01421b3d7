//! Finds where the front matter ends and the body begins. Does not look into either.

use crate::lines::{BLANKS, Line, lines};
use crate::span::Span;

/// The parts of a markdown file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// The first line that is not blank is no `---`: everything is body.
    None,
    /// It is, and nothing closes it.
    Unclosed {
        /// The opening `---`.
        open: Span,
    },
    /// Both parts.
    Found {
        /// The lines between the marks.
        yaml: Span,
        /// Everything after the closing line.
        body: Span,
    },
}

/// Splits a text without byte order mark. `---` opens; a line `---` or `...` closes; blanks may follow each.
pub fn split(text: &str) -> Split {
    let mut lines = lines(text).skip_while(|line| line.text.trim_matches(BLANKS).is_empty());
    let Some(open) = lines.next().filter(|line| is_mark(line, &["---"])) else {
        return Split::None;
    };
    match lines.find(|line| is_mark(line, &["---", "..."])) {
        Some(close) => {
            Split::Found { yaml: Span::at(0, open.next, close.start), body: Span::at(0, close.next, text.len()) }
        }
        None => Split::Unclosed { open: Span::at(0, open.start, open.start + "---".len()) },
    }
}

fn is_mark(line: &Line<'_>, marks: &[&str]) -> bool {
    marks.contains(&line.text.trim_end_matches(BLANKS))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(text: &str) -> Option<(&str, &str)> {
        match split(text) {
            Split::Found { yaml, body } => Some((yaml.slice(text), body.slice(text))),
            _ => None,
        }
    }

    #[test]
    fn both_parts_are_found() {
        assert_eq!(parts("---\na: 1\n---\nbody\n"), Some(("a: 1\n", "body\n")));
        assert_eq!(parts("---\r\na: 1\r\n---\r\nbody"), Some(("a: 1\r\n", "body")));
        assert_eq!(parts("\n \n--- \na: 1\n...\t\nbody"), Some(("a: 1\n", "body")));
        assert_eq!(parts("---\n---"), Some(("", "")));
        assert_eq!(parts("---\na: |\n  ---\n---\n---\n"), Some(("a: |\n  ---\n", "---\n")));
    }

    #[test]
    fn without_an_opening_line_everything_is_body() {
        for text in ["", "\n\n", "# a\n---\nb\n---\n", " ---\na: 1\n---\n", "----\n---\n", "--- a\n---\n", "...\n---\n"]
        {
            assert_eq!(split(text), Split::None, "{text:?}");
        }
    }

    #[test]
    fn unclosed_front_matter_is_reported_at_its_opening() {
        for text in ["\n---\na: 1\n", "\n---", "\n---\n ---\n----\n--- x\n"] {
            assert_eq!(split(text), Split::Unclosed { open: Span { start: 1, end: 4 } }, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_split_where_its_lines_are(text in prop_oneof!["(---|\\.\\.\\.|[a \r\n]){0,12}", any::<String>()]) {
            match split(&text) {
                Split::None => {}
                Split::Unclosed { open } => prop_assert_eq!(open.slice(&text), "---"),
                Split::Found { yaml, body } => {
                    prop_assert!(yaml.start <= yaml.end && yaml.end < body.start);
                    prop_assert_eq!(body.end as usize, text.len());
                    let close = Span { start: yaml.end, end: body.start }.slice(&text);
                    prop_assert!(["---", "..."].contains(&close.trim_end()));
                }
            }
        }
    }
}
