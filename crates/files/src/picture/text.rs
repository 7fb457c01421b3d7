//! Text that is safe to write and short enough to fit. Widths are those of the widest common system font, so that a line
//! that fits here fits everywhere.

use unicode_width::UnicodeWidthChar;

/// Closing marks that must not begin a line.
const CLOSING: &str = "，。、；：？！）」』】》〉’”…";

/// The text on one line, without anything that has no shape: white space becomes one space, the rest a replacement mark.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else if is_unprintable(c) {
            out.push('\u{FFFD}');
        } else {
            out.push(c);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// The text as [`plain`], and as content or attribute value of XML.
pub(super) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// How wide a text is at a font size, at most.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// The text, or as much of it as fits, with an ellipsis.
pub(super) fn clip(text: &str, size: f64, max: f64) -> String {
    if fitting(text, size, max) == text.len() {
        return text.to_owned();
    }
    let kept = &text[..fitting(text, size, max - em('…') * size)];
    format!("{}…", kept.trim_end())
}

/// The text on at most `lines` lines, the last one clipped.
pub(super) fn wrap(text: &str, size: f64, max: f64, lines: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && out.len() < lines {
        let fits = fitting(rest, size, max);
        if fits == rest.len() || out.len() + 1 == lines {
            out.push(clip(rest, size, max));
            break;
        }
        let at = break_before(rest, fits);
        out.push(rest[..at].trim_end().to_owned());
        rest = rest[at..].trim_start();
    }
    out
}

/// A number with commas between its thousands.
pub(super) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things: `1 task`, `2,000 tasks`.
pub(super) fn count(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", number(n), if n == 1 { "" } else { "s" })
}

/// Control characters, marks that turn the direction of the text around them, and what XML forbids.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' | '\u{FEFF}')
        || u32::from(c) & 0xFFFE == 0xFFFE
}

/// How wide a character is, in parts of the font size, at most.
fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | ' ' | '.' | ',' | ':' | ';' | '!' | '\'' | '|' | '(' | ')' | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' | '—' => 1.0,
        'A'..='Z' | '&' | '#' | '=' | '+' => 0.78,
        ' '..='~' => 0.64,
        _ => match c.width().unwrap_or(1) {
            0 => 0.0,
            1 => 0.8,
            _ if c > '\u{FFFF}' => 1.3,
            _ => 1.0,
        },
    }
}

/// How many bytes of the text fit, at least one character.
fn fitting(text: &str, size: f64, max: f64) -> usize {
    let mut used = 0.0;
    for (at, c) in text.char_indices() {
        used += em(c) * size;
        if used > max && at > 0 {
            return at;
        }
    }
    text.len()
}

/// The best place for a line break, at or before `limit`: a space, an edge of a wide character, or `limit` itself.
fn break_before(text: &str, limit: usize) -> usize {
    let is_wide = |c: char| c.width() == Some(2);
    let mut best = None;
    let mut before = None;
    for (at, c) in text.char_indices() {
        if at > limit {
            break;
        }
        let opens = c == ' ' || ((is_wide(c) || before.is_some_and(is_wide)) && !CLOSING.contains(c));
        if at > 0 && opens {
            best = Some(at);
        }
        before = Some(c);
    }
    best.unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            xml("<script>alert(\"1\" & '2')</script> ]]>"),
            "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt; ]]&gt;"
        );
    }

    #[test]
    fn unprintable_characters_are_replaced() {
        assert_eq!(
            plain(" a\r\n\tb  c\0d\u{1b}e\u{FFFE}f\u{202E}g\u{85} "),
            "a b c\u{FFFD}d\u{FFFD}e\u{FFFD}f\u{FFFD}g"
        );
    }

    #[test]
    fn a_clipped_text_fits_and_says_so() {
        assert_eq!(clip("short", 12.0, 100.0), "short");
        for text in ["a rather long title", "一个非常长的中文任务标题", "WWWWWWWWWWWWWWW", "🎉🎉🎉🎉🎉🎉🎉🎉🎉"]
        {
            let clipped = clip(text, 12.0, 80.0);
            assert!(clipped.ends_with('…'), "{clipped}");
            assert!(width(&clipped, 12.0) <= 80.0, "{clipped}");
        }
        assert_eq!(clip("字字", 12.0, 0.0), "字…", "never nothing at all");
    }

    #[test]
    fn lines_break_at_spaces_and_between_wide_characters() {
        assert_eq!(wrap("write the parser", 10.0, 70.0, 2), ["write the", "parser"]);
        assert_eq!(wrap("实现用户认证模块", 10.0, 50.0, 2), ["实现用户认", "证模块"]);
        assert_eq!(
            wrap("实现用户认证。完", 10.0, 60.0, 2),
            ["实现用户认", "证。完"],
            "no line begins with a full stop"
        );
        assert_eq!(wrap("nnnnnnnnnnnn", 10.0, 64.0, 2), ["nnnnnnnnnn", "nn"]);
        assert_eq!(wrap("one two three four five six", 10.0, 60.0, 2).len(), 2);
        assert!(wrap("  ", 10.0, 60.0, 2).is_empty());
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(count(1, "task"), "1 task");
        assert_eq!(count(2000, "task"), "2,000 tasks");
    }
}
