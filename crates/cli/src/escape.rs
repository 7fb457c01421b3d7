//! Text from files and agents in columns, with its control characters made visible.

pub(crate) use team_executor_app::escape::{line, session, shell_word, visible};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A text on one line of at most so many columns, with `…` where it is cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let shown = line(text);
    if shown.width() <= columns {
        return shown;
    }
    let mut width = 0;
    let mut out = String::new();
    for c in shown.chars() {
        width += c.width().unwrap_or(0);
        if width >= columns {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// A text over lines of at most so many columns, broken at blanks; a word that is longer keeps its line. A quoted word, a text
/// in backticks and a command at the end are never broken: they are there to be copied.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let text = line(text);
    let words: Vec<&str> = text.split(' ').collect();
    let mut rest = words.as_slice();
    let mut is_introduced = false;
    while !rest.is_empty() {
        let is_command = is_introduced && rest[0].ends_with(PROGRAM);
        let (word, others) = rest.split_at(if is_command { rest.len() } else { quoted(rest) });
        is_introduced = word.last().is_some_and(|word| word.ends_with(':'));
        rest = others;
        let word = word.join(" ");
        match lines.last_mut() {
            Some(last) if last.width() + 1 + word.width() <= columns => {
                last.push(' ');
                last.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// The end of the word that a command begins with.
const PROGRAM: &str = "team-executor";

/// How many words the first is quoted with, itself among them.
fn quoted(words: &[&str]) -> usize {
    const MOST: usize = 64;
    let Some(quote) = words.first().and_then(|word| word.chars().next()).filter(|first| ['\'', '`'].contains(first))
    else {
        return 1;
    };
    let is_end = |word: &&str| word.trim_end_matches([',', '.', ';', ':', '?', ')']).ends_with(quote);
    words.iter().take(MOST).position(is_end).map_or(1, |end| end + 1)
}

/// A text filled with blanks to so many columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_columns() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello world", 7), "hello…");
        assert_eq!(cut("日本語です", 6), "日本…");
        assert_eq!(pad("日本", 6), "日本  ");
    }

    #[test]
    fn lines_break_at_blanks_only() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("日本 語 です", 7), ["日本 語", "です"]);
        assert_eq!(wrap("a unbreakable b", 5), ["a", "unbreakable", "b"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("x '-s=a b c', and it's", 8), ["x", "'-s=a b c',", "and it's"]);
        assert_eq!(wrap("an 'open end", 8), ["an 'open", "end"]);
        assert_eq!(wrap("see `a b c`, and", 8), ["see", "`a b c`,", "and"]);
        assert_eq!(wrap("run it: x/team-executor run -y", 9), ["run it:", "x/team-executor run -y"]);
    }
}
