//! Text from files and agents with its control characters made visible, so that it cannot steer a terminal or forge lines.

use team_executor_engine::shell;
pub use team_executor_engine::shell::word as shell_word;

/// What a character is shown as.
pub fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        '\u{0}'..='\u{1F}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{FFFD}'),
        '\u{7F}' => '\u{2421}',
        // C1 controls, and what changes the direction of text or hides in it.
        '\u{80}'..='\u{9F}'
        | '\u{200B}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{FEFF}'
        | '\u{E0000}'..='\u{E007F}' => '\u{FFFD}',
        c => c,
    }
}

/// A text on one line.
pub fn line(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// The flag that names a session, as a shell reads it, on one line.
pub fn session(path: impl std::fmt::Display) -> String {
    line(&shell::session(path))
}

/// Text as XML and HTML have it. Characters that no XML file may hold are shown as the one for unknown ones.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push_str(&format!("&#{};", u32::from(c))),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place_in_markup() {
        assert_eq!(xml("a<b>&\"'\u{1b}[2J\0\n"), "a&lt;b&gt;&amp;&quot;&#39;\u{fffd}[2J\u{fffd}&#10;");
    }

    #[test]
    fn nothing_can_steer_the_terminal() {
        assert_eq!(line("a\u{1b}[31mb\r\nc\u{9b}x\u{202e}"), "a␛[31mb␍␊c\u{FFFD}x\u{FFFD}");
    }
}
