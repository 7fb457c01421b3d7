//! A task's findings as the formats hold them: short. The code that cuts a text keeps the whole of it.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

use crate::limits;

/// What stands at the end of a text that was cut.
pub const MARK: &str = " […]";

/// The text, or as much of it as the formats allow, with a mark at its end.
pub fn cut(text: &str) -> Cow<'_, str> {
    cut_to(text, limits::FINDINGS_CHARS)
}

/// At most so many characters, the mark included. What is seen as one character is not split, unless it alone is
/// longer than `CLUSTER`.
pub fn cut_to(text: &str, most: usize) -> Cow<'_, str> {
    if text.chars().nth(most).is_none() {
        return Cow::Borrowed(text);
    }
    let room = most.saturating_sub(MARK.chars().count());
    let mut boundaries: Vec<usize> =
        text.char_indices().map(|(at, _)| at).skip(room.saturating_sub(CLUSTER)).take(room.min(CLUSTER) + 1).collect();
    let last = boundaries.last().copied().unwrap_or(0);
    let end = std::iter::from_fn(|| boundaries.pop()).find(|at| !joins(text, *at)).unwrap_or(last);
    Cow::Owned(format!("{}{MARK}", &text[..end]))
}

/// How far back a place to cut is looked for, in characters.
const CLUSTER: usize = 32;
const JOINER: char = '\u{200D}';

/// Whether what stands before and behind a boundary is seen as one.
fn joins(text: &str, at: usize) -> bool {
    let (before, behind) = text.split_at(at);
    let mark = |c: char| c.width() == Some(0) || ('\u{1F3FB}'..='\u{1F3FF}').contains(&c);
    before.ends_with(JOINER) || behind.chars().next().is_some_and(mark)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// R: W-10
    #[test]
    fn a_long_text_is_cut_with_a_mark() {
        let long = "日".repeat(501);
        let short = cut(&long);
        assert_eq!(short.chars().count(), 500);
        assert!(short.ends_with("日 […]"));
        let fits = "日".repeat(500);
        assert!(matches!(cut(&fits), Cow::Borrowed(text) if text == fits));
        assert_eq!(cut(""), "");
    }

    /// R: W-10
    #[test]
    fn grapheme_cluster_stays_whole() {
        let tail = "z".repeat(20);
        let family = "👩\u{200D}👩\u{200D}👧";
        for cluster in ["e\u{301}\u{302}", family, "👍\u{1F3FD}", "☀\u{FE0F}"] {
            for before in 485..500 {
                let text = format!("{}{cluster}{tail}", "a".repeat(before));
                let short = cut(&text);
                let kept = short.strip_suffix(MARK).unwrap_or(&short);
                let rest = kept.trim_start_matches('a');
                assert!(rest.is_empty() || rest.starts_with(cluster), "{before} {short}");
            }
        }
        let only_marks = "\u{301}".repeat(600);
        assert_eq!(cut(&only_marks).chars().count(), 500);
    }

    proptest! {
        /// R: W-10
        #[test]
        fn every_text_fits_and_begins_as_it_did(text in "\\PC{0,700}|[a\u{301}\u{200D}👩]{490,600}") {
            let short = cut(&text);
            prop_assert!(short.chars().count() <= limits::FINDINGS_CHARS);
            let kept = if short == text { &*short } else { short.strip_suffix(MARK).unwrap_or("no mark") };
            prop_assert!(text.starts_with(kept));
        }
    }
}
