//! What a person sees on a terminal, worked out from what a program wrote to it.

use std::fmt;

/// A terminal's screen. It understands what the program uses, and a test that sees anything else fails.
#[derive(Debug, Clone)]
pub struct Glass {
    columns: usize,
    rows: usize,
    /// The lines that scrolled out at the top, then those on the screen: one character for each column.
    lines: Vec<Vec<char>>,
    /// Where the cursor is: the line, counted from the first there ever was, and the column.
    at: (usize, usize),
    /// The begin of a control sequence whose end has not come yet.
    begun: Option<String>,
    /// How often it rang.
    bells: usize,
    /// The titles of the window, the one that stands there at the end.
    titles: Vec<String>,
}

/// Stands in the second column of a wide character.
const WIDE: char = '\0';

impl Glass {
    /// An empty screen.
    pub fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows, lines: vec![Vec::new()], at: (0, 0), begun: None, bells: 0, titles: vec![String::new()] }
    }

    /// Takes what was written.
    #[track_caller]
    pub fn write(&mut self, text: &str) {
        for c in text.chars() {
            match (self.begun.take(), c) {
                (None, '\u{1b}') => self.begun = Some(String::new()),
                (None, '\r') => self.at.1 = 0,
                (None, '\n') => self.line_feed(),
                (None, '\u{7}') => self.bells += 1,
                (None, c) => {
                    assert!(!c.is_control(), "an unknown control character: {c:?}");
                    self.put(c);
                }
                (Some(begun), ']') if begun.is_empty() => self.begun = Some("]".to_owned()),
                (Some(begun), '\u{7}') if begun.starts_with(']') => self.set_title(&begun),
                (Some(begun), c) if begun.starts_with(']') => self.begun = Some(begun + &c.to_string()),
                (Some(begun), '[') if begun.is_empty() => self.begun = Some("[".to_owned()),
                (Some(begun), c) if c.is_ascii_digit() || c == ';' => self.begun = Some(begun + &c.to_string()),
                (Some(begun), c) => self.control(&begun[1..], c),
            }
        }
    }

    /// How often the bell rang.
    pub fn bells(&self) -> usize {
        self.bells
    }

    /// The title of the window; empty if it was never set, or is as it was before.
    pub fn title(&self) -> &str {
        self.titles.last().map_or("", String::as_str)
    }

    /// Everything there ever was, line by line: what has scrolled out, and then what is on the screen.
    pub fn history(&self) -> Vec<String> {
        let shown = |line: &Vec<char>| line.iter().filter(|c| **c != WIDE).collect::<String>().trim_end().to_owned();
        self.lines.iter().map(shown).collect()
    }

    /// What is on the screen, without empty lines at its end.
    pub fn screen(&self) -> Vec<String> {
        let mut lines = self.history().split_off(self.top());
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    fn top(&self) -> usize {
        self.lines.len().saturating_sub(self.rows)
    }

    fn put(&mut self, c: char) {
        let width = if c >= '\u{1100}' && is_wide(c) { 2 } else { 1 };
        if self.at.1 + width > self.columns {
            self.at.1 = 0;
            self.line_feed();
        }
        let line = &mut self.lines[self.at.0];
        line.resize(line.len().max(self.at.1 + width), ' ');
        line[self.at.1] = c;
        if width == 2 {
            line[self.at.1 + 1] = WIDE;
        }
        self.at.1 += width;
    }

    fn line_feed(&mut self) {
        self.at.0 += 1;
        if self.at.0 == self.lines.len() {
            self.lines.push(Vec::new());
        }
    }

    #[track_caller]
    fn set_title(&mut self, sequence: &str) {
        let title = sequence.strip_prefix("]2;").unwrap_or_else(|| panic!("an unknown sequence: {sequence}"));
        if let Some(last) = self.titles.last_mut() {
            *last = title.to_owned();
        }
    }

    #[track_caller]
    fn control(&mut self, number: &str, letter: char) {
        match letter {
            'm' => {}
            't' if number == "22;2" => self.titles.push(self.title().to_owned()),
            't' if number == "23;2" => drop(self.titles.pop()),
            'A' => self.at.0 = self.at.0.saturating_sub(number.parse().unwrap_or(1)).max(self.top()),
            'J' if number.is_empty() => {
                self.lines.truncate(self.at.0 + 1);
                self.lines[self.at.0].truncate(self.at.1);
            }
            _ => panic!("an unknown control sequence: {number}{letter}"),
        }
    }
}

impl fmt::Display for Glass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.screen().join("\n"))
    }
}

/// The characters of East Asia that are shown twice as wide, as far as tests use them.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115F}' | '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}'
        | '\u{FE30}'..='\u{FE6F}' | '\u{FF00}'..='\u{FF60}' | '\u{1F300}'..='\u{1F64F}' | '\u{20000}'..='\u{3FFFD}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(columns: usize, rows: usize, text: &str) -> Glass {
        let mut glass = Glass::new(columns, rows);
        glass.write(text);
        glass
    }

    #[test]
    fn lines_are_overwritten_broken_and_erased() {
        assert_eq!(seen(10, 5, "one\r\ntwo\r\n").screen(), ["one", "two"]);
        assert_eq!(seen(10, 5, "one\rO").screen(), ["One"]);
        assert_eq!(seen(4, 5, "123456").screen(), ["1234", "56"]);
        assert_eq!(seen(5, 5, "日本語").screen(), ["日本", "語"]);
        assert_eq!(seen(10, 5, "a\r\nb\r\nc\u{1b}[1A\r\u{1b}[Jd\u{1b}[31me\u{1b}[0m").screen(), ["a", "de"]);
    }

    #[test]
    fn scrolled_lines_cannot_be_reached() {
        let glass = seen(10, 2, "a\r\nb\r\nc\u{1b}[9A\r\u{1b}[Jx");
        assert_eq!(glass.history(), ["a", "x"]);
    }

    #[test]
    #[should_panic(expected = "an unknown control sequence: 25l")]
    fn unknown_escape_is_a_failure() {
        seen(10, 2, "\u{1b}[25l");
    }
}
