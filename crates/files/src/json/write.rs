//! Values to JSON text, with room for pieces of another text that are written as they were.

/// How the output is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Two blanks a level, one entry a line: for people.
    Pretty,
    /// Everything on one line: for logs.
    Compact,
}

/// A string as a JSON literal.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_quoted(&mut out, text);
    out
}

/// Writes one value, from the outside in.
#[derive(Debug)]
pub struct Writer {
    out: String,
    layout: Layout,
    /// For each open array or object, whether it has an entry yet.
    open: Vec<bool>,
    after_key: bool,
}

impl Writer {
    /// An empty output.
    pub fn new(layout: Layout) -> Self {
        Self { out: String::new(), layout, open: Vec::new(), after_key: false }
    }

    /// The text, with a line end.
    pub fn finish(mut self) -> String {
        self.out.push('\n');
        self.out
    }

    /// Opens an object.
    pub fn begin_object(&mut self) {
        self.begin('{');
    }

    /// Closes the innermost object.
    pub fn end_object(&mut self) {
        self.end('}');
    }

    /// Opens an array.
    pub fn begin_array(&mut self) {
        self.begin('[');
    }

    /// Closes the innermost array.
    pub fn end_array(&mut self) {
        self.end(']');
    }

    /// The key of the next value.
    pub fn key(&mut self, name: &str) {
        self.entry();
        push_quoted(&mut self.out, name);
        self.colon();
    }

    /// The key of the next value, as it is written in another text.
    pub fn raw_key(&mut self, raw: &str) {
        self.entry();
        self.out.push_str(raw);
        self.colon();
    }

    /// A string.
    pub fn text(&mut self, text: &str) {
        self.entry();
        push_quoted(&mut self.out, text);
    }

    /// Anything that is already JSON, byte for byte.
    pub fn raw(&mut self, raw: &str) {
        self.entry();
        self.out.push_str(raw);
    }

    /// A number, a boolean, or whatever prints as JSON.
    pub fn plain(&mut self, value: impl std::fmt::Display) {
        self.entry();
        self.out.push_str(&value.to_string());
    }

    /// `null`
    pub fn null(&mut self) {
        self.raw("null");
    }

    /// A list of strings.
    pub fn texts<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) {
        self.begin_array();
        for text in texts {
            self.text(text.as_ref());
        }
        self.end_array();
    }

    fn colon(&mut self) {
        self.out.push_str(if self.layout == Layout::Pretty { ": " } else { ":" });
        self.after_key = true;
    }

    fn begin(&mut self, bracket: char) {
        self.entry();
        self.out.push(bracket);
        self.open.push(false);
    }

    fn end(&mut self, bracket: char) {
        if self.open.pop() == Some(true) {
            self.new_line();
        }
        self.out.push(bracket);
    }

    fn entry(&mut self) {
        if std::mem::take(&mut self.after_key) {
            return;
        }
        if let Some(has_entries) = self.open.last_mut() {
            if std::mem::replace(has_entries, true) {
                self.out.push(',');
            }
            self.new_line();
        }
    }

    fn new_line(&mut self) {
        if self.layout == Layout::Pretty {
            self.out.push('\n');
            for _ in 0..self.open.len() {
                self.out.push_str("  ");
            }
        }
    }
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '\\' || c.is_control()) {
        out.push_str(&rest[..at]);
        let mut chars = rest[at..].chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(control) => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::parse;

    #[test]
    fn the_layout_is_that_of_people() {
        let mut writer = Writer::new(Layout::Pretty);
        writer.begin_object();
        writer.key("a");
        writer.texts(["x", "y\n"]);
        writer.key("empty");
        writer.texts::<&str>([]);
        writer.raw_key("\"\\u0062\"");
        writer.raw("{ \"kept\":1 }");
        writer.key("n");
        writer.plain(1.5);
        writer.end_object();
        assert_eq!(
            writer.finish(),
            "{\n  \"a\": [\n    \"x\",\n    \"y\\n\"\n  ],\n  \"empty\": [],\n  \"\\u0062\": { \"kept\":1 },\n  \"n\": 1.5\n}\n"
        );
    }

    proptest! {
        #[test]
        fn quoted_text_is_read_back(text in any::<String>()) {
            let quoted = quote(&text);
            let document = parse(&quoted).map_err(|m| TestCaseError::fail(m.message))?;
            prop_assert_eq!(document.root().as_text().unwrap_or_default(), text);
            prop_assert!(!quoted.chars().any(char::is_control));
        }
    }
}
