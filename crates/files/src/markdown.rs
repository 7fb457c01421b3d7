//! The headings of a markdown text. Follows CommonMark as far as headings need it and renders nothing.
//!
//! Lists and quotes are not opened: a heading or a fence within them is seen only if it begins its line.

use crate::lines::{BLANKS, lines};
use crate::span::Span;

/// An ATX heading: `## Text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Without marks and blanks around it; inline markup is kept as it is written.
    pub text: String,
    /// The byte of its first `#`.
    pub start: u32,
    /// The byte after its line, without what ends it.
    pub end: u32,
}

/// The headings of a body that begins at `offset` of its file; none from code blocks or HTML comments.
pub fn headings(body: &str, offset: u32) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut inside = Inside::Text;
    for line in lines(body) {
        match inside {
            Inside::Comment => {
                if line.text.contains(COMMENT_END) {
                    inside = Inside::Text;
                }
            }
            Inside::Fence(open) => {
                if unindented(line.text).is_some_and(|text| open.is_closed_by(text)) {
                    inside = Inside::Text;
                }
            }
            Inside::Text => {
                let Some(text) = unindented(line.text) else { continue };
                if let Some(fence) = Fence::opened_by(text) {
                    inside = Inside::Fence(fence);
                } else if text.starts_with("<!--") && !text.contains(COMMENT_END) {
                    inside = Inside::Comment;
                } else if let Some((level, title)) = atx(text) {
                    let Span { start, end } = Span::at(offset, line.end() - text.len(), line.end());
                    found.push(Heading { level, text: title.to_owned(), start, end });
                }
            }
        }
    }
    found
}

/// The number of a heading `Phase N`, with or without a name after it; the number is a whole word.
pub fn phase(heading_text: &str) -> Option<u8> {
    let text = heading_text.trim();
    let (word, rest) = text.split_at_checked("phase".len())?;
    let number = rest.trim_start_matches(BLANKS);
    if !word.eq_ignore_ascii_case("phase") || number.len() == rest.len() {
        return None;
    }
    let (digits, after) = number.split_at(number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len()));
    // `2.5`, `2-3` and `2b` are other numbers; `2.`, `2-Name` and `2: Name` are not.
    let joined = after.strip_prefix(['.', '-', '–']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let goes_on = joined || after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    if goes_on { None } else { digits.parse().ok() }
}

const COMMENT_END: &str = "-->";

/// What the current line is in.
#[derive(Clone, Copy)]
enum Inside {
    Text,
    Fence(Fence),
    Comment,
}

/// The opening line of a fenced code block.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        // Three backticks with another one behind them are inline code.
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let rest = line.trim_start_matches(self.mark);
        line.len() - rest.len() >= self.length && rest.trim_matches(BLANKS).is_empty()
    }
}

/// The line without its indent, unless that makes it code.
fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() < 4 && !text.starts_with('\t')).then_some(text)
}

/// Level and text, if the line is a heading.
fn atx(line: &str) -> Option<(u8, &str)> {
    let rest = line.trim_start_matches('#');
    let level = u8::try_from(line.len() - rest.len()).ok().filter(|level| (1..=6).contains(level))?;
    if !rest.is_empty() && !rest.starts_with(BLANKS) {
        return None;
    }
    let text = rest.trim_end_matches(BLANKS);
    let unclosed = text.trim_end_matches('#');
    let text = if unclosed.is_empty() || unclosed.ends_with(BLANKS) { unclosed } else { text };
    Some((level, text.trim_matches(BLANKS)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn titles(body: &str) -> Vec<String> {
        headings(body, 0).into_iter().map(|heading| heading.text).collect()
    }

    #[test]
    fn a_heading_knows_its_level_and_place() {
        let body = "intro\r\n ## Ätna ##  \r\ntext\n";
        let expected = Heading { level: 2, text: "Ätna".to_owned(), start: 108, end: 121 };
        assert_eq!(headings(body, 100), [expected]);
        assert_eq!(&body[8..21], "## Ätna ##  ");
    }

    #[test]
    fn headings_are_recognised() {
        assert_eq!(
            titles("# a\n   ###### b\n#\tc\n#\n## ##\n# d #\n# e#\n# f \\#\n# g # h"),
            ["a", "b", "c", "", "", "d", "e#", "f \\#", "g # h"]
        );
        assert_eq!(titles("#a\n####### b\n    # c\n\t# d\n \t# e\n\\# f\n> # g\n- # h\ni\n==="), [""; 0]);
        assert_eq!(titles("text\n# interrupts a paragraph"), ["interrupts a paragraph"]);
        assert_eq!(titles("# a\r# b"), ["a", "b"]);
    }

    /// R: S-06
    #[test]
    fn a_heading_inside_a_code_fence_is_no_section() {
        assert_eq!(titles("# a\n```sh\n## Phase 2\n```\n# b"), ["a", "b"]);
        assert_eq!(titles("~~~ `info`\n# x\n```\n# y\n~~~  \n# b"), ["b"]);
        assert_eq!(titles("````\n# x\n```\n# y\n`````\n# b"), ["b"], "a closing fence is at least as long");
        assert_eq!(titles("```\n# x\n``` sh\n# y\n   ```\n# b"), ["b"], "a closing fence has no info");
        assert_eq!(titles("```\n# x\n    ```\n# y"), [""; 0], "a closing fence is not indented code");
        assert_eq!(titles("```\n# never closed"), [""; 0]);
        assert_eq!(titles("```a`b\n# a\n    ```\n# b\n``\n# c"), ["a", "b", "c"], "these open nothing");
    }

    #[test]
    fn a_heading_inside_a_comment_is_no_section() {
        assert_eq!(titles("<!-- x\n# x\n```\n--> # y\n# a"), ["a"]);
        assert_eq!(titles("  <!-- x -->\n# a\n<!-->\n# b"), ["a", "b"]);
        assert_eq!(titles("```\n<!--\n```\n# a"), ["a"]);
        assert_eq!(titles("text <!--\n# a"), ["a"], "a comment within a paragraph ends with it");
        assert_eq!(titles("<!-- never closed\n# x"), [""; 0]);
    }

    #[test]
    fn phases_are_whole_numbers() {
        for text in
            ["Phase 2", "Phase 2: Name", "Phase 2 - x", "Phase 2 — x", "phase  2", "PHASE 02.", " Phase\t2-Name"]
        {
            assert_eq!(phase(text), Some(2), "{text}");
        }
        assert_eq!(phase("Phase 21"), Some(21));
        for text in
            ["Phase", "Phase ", "Phase2", "Phase two", "Phase 2b", "Phase 2.5", "Phase 2-3", "Phase 2_x", "Phase 2ä"]
        {
            assert_eq!(phase(text), None, "{text}");
        }
        for text in ["Phases 2", "A Phase 2", "Phase 256", "Phase -2", "Phasé 2", ""] {
            assert_eq!(phase(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_headings_where_they_are(body in prop_oneof!["[a#`~<!> \t\r\nä-]{0,60}", any::<String>()]) {
            let mut last_end = 0;
            for heading in headings(&body, 0) {
                let Heading { level, text, start, end } = heading;
                let line = Span { start, end }.slice(&body);
                prop_assert!(start >= last_end && line.starts_with('#') && line.contains(&text));
                prop_assert!((1..=6).contains(&level) && !line.contains(['\r', '\n']));
                last_end = end;
            }
        }

        #[test]
        fn any_text_may_be_asked_for_its_phase(text in prop_oneof!["[Pp]hase [0-9a. –-]{0,6}", any::<String>()]) {
            if let Some(number) = phase(&text) {
                prop_assert!(text.contains(&number.to_string()));
            }
        }
    }
}
