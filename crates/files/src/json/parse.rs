//! Text to tape, without recursion: depth is limited by [`limits::JSON_DEPTH`], not by the stack.

use std::collections::HashMap;

use super::value::{Document, Kind, Node, hex4, unescape};
use crate::limits;
use crate::span::Span;

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Where it went wrong.
    pub span: Span,
    /// What is wrong there.
    pub message: String,
    /// The innermost thing that is not closed, and what to call it; only where closing it may be the answer.
    pub opened: Option<(Span, &'static str)>,
}

/// A key that stands twice in one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatedKey {
    /// The first time.
    pub first: Span,
    /// The second time.
    pub again: Span,
}

/// For texts below this size, shrinking the tape saves nothing.
const SMALL: usize = 4096;

/// Reads a text of at most 4 GiB.
pub fn parse(text: &str) -> Result<Document<'_>, Malformed> {
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        at: 0,
        nodes: Vec::with_capacity(if text.len() < SMALL { text.len() / 6 } else { text.len() / 16 }),
        open: Vec::new(),
        keys: Vec::with_capacity(8),
        repeated: Vec::new(),
        lone_surrogates: Vec::new(),
    };
    parser.document()?;
    let Parser { mut nodes, repeated, lone_surrogates, .. } = parser;
    if text.len() >= SMALL {
        nodes.shrink_to_fit();
    }
    Ok(Document { text, nodes, repeated, lone_surrogates })
}

struct Parser<'s> {
    text: &'s str,
    bytes: &'s [u8],
    at: usize,
    nodes: Vec<Node>,
    /// The arrays and objects that are open, outermost first, each with the number of keys before its own.
    open: Vec<(u32, u32)>,
    /// The keys of all open objects.
    keys: Vec<u32>,
    repeated: Vec<RepeatedKey>,
    lone_surrogates: Vec<Span>,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<(), Malformed> {
        loop {
            self.value()?;
            loop {
                self.blank();
                let Some((container, _)) = self.open.last().copied() else {
                    return if self.at == self.bytes.len() {
                        Ok(())
                    } else {
                        self.fail("text after the end of the value")
                    };
                };
                let is_object = self.nodes[container as usize].kind(self.text) == Kind::Object;
                match (self.peek(), is_object) {
                    (Some(b','), _) => {
                        let comma = self.at;
                        self.at += 1;
                        self.blank();
                        if matches!(self.peek(), Some(b'}' | b']')) {
                            self.at = comma;
                            return self.fail("trailing comma");
                        }
                        if is_object {
                            self.key()?;
                        }
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => self.close(),
                    (None, _) => return self.ended(),
                    (Some(_), _) => {
                        let message = if is_object { "expected `,` or `}`" } else { "expected `,` or `]`" };
                        let opened = self.innermost();
                        return self.fail(message).map_err(|malformed| Malformed { opened, ..malformed });
                    }
                }
            }
        }
    }

    /// One value; of an array or object that is not empty, everything before its first value.
    fn value(&mut self) -> Result<(), Malformed> {
        loop {
            self.blank();
            match self.peek() {
                Some(b'{') => {
                    self.open(Kind::Object)?;
                    self.blank();
                    if self.peek() == Some(b'}') {
                        return Ok(());
                    }
                    self.key()?;
                }
                Some(b'[') => {
                    self.open(Kind::Array)?;
                    self.blank();
                    if self.peek() == Some(b']') {
                        return Ok(());
                    }
                }
                Some(b'"') => return self.string(),
                Some(b'-' | b'0'..=b'9') => return self.number(),
                Some(b't') => return self.literal("true", Kind::True),
                Some(b'f') => return self.literal("false", Kind::False),
                Some(b'n') => return self.literal("null", Kind::Null),
                Some(b'/') => return self.fail("JSON has no comments"),
                Some(b'\'') => return self.fail("strings are written with double quotes"),
                Some(_) => return self.fail("expected a value"),
                None => return self.ended(),
            }
        }
    }

    fn key(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            Some(b'"') => {}
            None => return self.ended(),
            Some(b'/') => return self.fail("JSON has no comments"),
            Some(_) => return self.fail("expected a key in double quotes"),
        }
        self.keys.push(index(self.nodes.len()));
        self.string()?;
        self.blank();
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                Ok(())
            }
            None => self.ended(),
            Some(_) => self.fail("expected `:` after the key"),
        }
    }

    fn open(&mut self, kind: Kind) -> Result<(), Malformed> {
        if self.open.len() == limits::JSON_DEPTH {
            return self.fail(&format!("nested deeper than {} levels", limits::JSON_DEPTH));
        }
        self.open.push((index(self.nodes.len()), index(self.keys.len())));
        self.push(kind, self.at, self.at + 1);
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.at += 1;
        if let Some((container, keys_before)) = self.open.pop() {
            let after = index(self.nodes.len());
            let node = &mut self.nodes[container as usize];
            node.end = index(self.at);
            node.after = after;
            self.find_repeated_keys(keys_before as usize);
            self.keys.truncate(keys_before as usize);
        }
    }

    fn find_repeated_keys(&mut self, from: usize) {
        let keys = &self.keys[from..];
        let raw = |key: u32| {
            let node = self.nodes[key as usize];
            &self.bytes[node.start as usize + 1..node.end as usize - 1]
        };
        let is_escaped = |key: &u32| self.nodes[*key as usize].after == Node::ESCAPED;
        // Most objects pass without comparing each pair of keys, or resolving their escapes.
        let is_plain = !keys.iter().any(is_escaped);
        if is_plain && keys.is_sorted_by(|one, next| raw(*one) < raw(*next)) {
            return;
        }
        let name = |key: u32| {
            let node = self.nodes[key as usize];
            let raw = &self.text[node.start as usize + 1..node.end as usize - 1];
            if is_escaped(&key) { unescape(raw).into() } else { std::borrow::Cow::Borrowed(raw) }
        };
        let span = |key: u32| {
            let node = self.nodes[key as usize];
            Span { start: node.start, end: node.end }
        };
        if keys.len() <= 24 {
            for (nth, again) in keys.iter().enumerate().skip(1) {
                let is_same = |first: &&u32| match is_plain {
                    true => raw(**first) == raw(*again),
                    false => name(**first) == name(*again),
                };
                if let Some(first) = keys[..nth].iter().find(is_same) {
                    self.repeated.push(RepeatedKey { first: span(*first), again: span(*again) });
                }
            }
        } else {
            let mut seen = HashMap::with_capacity(keys.len());
            for key in keys {
                if let Some(first) = seen.insert(name(*key), *key) {
                    seen.insert(name(first), first);
                    self.repeated.push(RepeatedKey { first: span(first), again: span(*key) });
                }
            }
        }
    }

    fn string(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        let mut kind = Kind::Text;
        self.at += 1;
        loop {
            self.skip(|b| b != b'"' && b != b'\\' && b >= 0x20);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    kind = Kind::EscapedText;
                    self.escape(start)?;
                }
                Some(b'\n' | b'\r') => {
                    let message = "a string must end on its line; write `\\n` for a line break".to_owned();
                    return Err(Malformed { span: Span::new(start, self.at), message, opened: None });
                }
                Some(_) => return self.fail("a control character in a string must be written as `\\u00XX`"),
                None => {
                    let message = "the string is never closed".to_owned();
                    return Err(Malformed { span: Span::new(start, start + 1), message, opened: None });
                }
            }
        }
        self.at += 1;
        self.push(kind, start, self.at);
        Ok(())
    }

    fn escape(&mut self, string: usize) -> Result<(), Malformed> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let Some(code) = self.unicode(self.at) else {
                    return self.fail("`\\u` needs four hexadecimal digits");
                };
                let pair = (0xD800..0xDC00).contains(&code)
                    && self.unicode(self.at + 6).is_some_and(|low| (0xDC00..0xE000).contains(&low));
                if (0xD800..0xE000).contains(&code) && !pair {
                    let span = Span::new(self.at, self.at + 6);
                    if self.lone_surrogates.last().is_none_or(|last| (last.start as usize) < string) {
                        self.lone_surrogates.push(span);
                    }
                }
                self.at += if pair { 12 } else { 6 };
            }
            _ => return self.fail("unknown escape; write `\\\\` for a backslash"),
        }
        Ok(())
    }

    fn unicode(&self, at: usize) -> Option<u32> {
        let escape = self.bytes.get(at..at + 6)?;
        if escape.starts_with(b"\\u") { hex4(&escape[2..]) } else { None }
    }

    fn number(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        let digits = |parser: &mut Self| {
            let from = parser.at;
            parser.skip(|b| b.is_ascii_digit());
            parser.at > from
        };
        self.at += usize::from(self.peek() == Some(b'-'));
        let leading_zero = self.peek() == Some(b'0');
        let from = self.at;
        let mut fine = digits(self) && !(leading_zero && self.at > from + 1);
        if self.peek() == Some(b'.') {
            self.at += 1;
            fine &= digits(self);
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            fine &= digits(self);
        }
        if !fine {
            let span = Span::new(start, self.at.max(start + 1));
            return Err(Malformed { span, message: "not a number".to_owned(), opened: None });
        }
        self.push(Kind::Number, start, self.at);
        Ok(())
    }

    fn literal(&mut self, word: &str, kind: Kind) -> Result<(), Malformed> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return self.fail("expected a value");
        }
        self.push(kind, self.at, self.at + word.len());
        self.at += word.len();
        Ok(())
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        let after = if kind == Kind::EscapedText { Node::ESCAPED } else { index(self.nodes.len() + 1) };
        self.nodes.push(Node { start: index(start), end: index(end), after });
    }

    fn blank(&mut self) {
        self.skip(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t'));
    }

    /// Goes on to the next byte of another sort, or to the end.
    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|b| !is_skipped(*b)).unwrap_or(rest.len());
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn innermost(&self) -> Option<(Span, &'static str)> {
        self.open.last().map(|(container, _)| {
            let node = self.nodes[*container as usize];
            let name = if node.kind(self.text) == Kind::Object { "object" } else { "array" };
            (Span::new(node.start as usize, node.start as usize + 1), name)
        })
    }

    fn fail<T>(&self, message: &str) -> Result<T, Malformed> {
        let width = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        Err(Malformed { span: Span::new(self.at, self.at + width), message: message.to_owned(), opened: None })
    }

    fn ended<T>(&self) -> Result<T, Malformed> {
        let opened = self.innermost();
        let message = match opened {
            Some((_, name)) => format!("the file ends inside the {name}"),
            None => "the file is empty".to_owned(),
        };
        let end = self.text.trim_end().len();
        let start = self.text[..end].char_indices().next_back().map_or(0, |(at, _)| at);
        Err(Malformed { span: Span::new(start, end), message, opened })
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::Value;

    /// Our reading as serde_json's type, to compare the two.
    fn convert(value: Value<'_, '_>) -> serde_json::Value {
        match value.kind() {
            Kind::Null => serde_json::Value::Null,
            Kind::True | Kind::False => value.as_bool().into(),
            Kind::Number => value.as_i64().map_or_else(|| value.as_f64().into(), Into::into),
            Kind::Text | Kind::EscapedText => value.as_text().unwrap_or_default().into_owned().into(),
            Kind::Array => value.items().map(convert).collect(),
            Kind::Object => value.entries().map(|entry| (entry.name().into_owned(), convert(entry.value))).collect(),
        }
    }

    fn error(text: &str) -> (String, &str) {
        match parse(text) {
            Ok(_) => panic!("{text} was accepted"),
            Err(malformed) => (malformed.message, &text[malformed.span.range()]),
        }
    }

    #[test]
    fn json_error_has_its_place() {
        for (text, message, place) in [
            ("", "the file is empty", ""),
            ("  \n", "the file is empty", ""),
            (r#"{"a": 1,}"#, "trailing comma", ","),
            (r#"[1, ]"#, "trailing comma", ","),
            (r#"{"a" 1}"#, "expected `:` after the key", "1"),
            (r#"{"a": 1 "b": 2}"#, "expected `,` or `}`", "\""),
            ("[1 2]", "expected `,` or `]`", "2"),
            ("{a: 1}", "expected a key in double quotes", "a"),
            ("{'a': 1}", "expected a key in double quotes", "'"),
            ("['a']", "strings are written with double quotes", "'"),
            ("[1] x", "text after the end of the value", "x"),
            ("// hello\n{}", "JSON has no comments", "/"),
            ("[01]", "not a number", "01"),
            ("[-]", "not a number", "-"),
            ("[1.]", "not a number", "1."),
            ("[nul]", "expected a value", "n"),
            (r#"["a\x"]"#, "unknown escape; write `\\\\` for a backslash", "\\"),
            (r#"["\u12G4"]"#, "`\\u` needs four hexadecimal digits", "\\"),
            (r#"{"a": ["#, "the file ends inside the array", "["),
            (r#"{"a": "b"#, "the string is never closed", "\""),
            ("[\"a\nb\"]", "a string must end on its line; write `\\n` for a line break", "\"a"),
        ] {
            assert_eq!(error(text), (message.to_owned(), place), "{text}");
        }
    }

    #[test]
    fn the_end_of_the_file_names_what_was_open() {
        let malformed = parse("{\n  \"a\": [1,\n").err();
        assert_eq!(malformed.and_then(|m| m.opened), Some((Span::new(9, 10), "array")));
    }

    #[test]
    fn repeated_keys_are_found_with_both_places() {
        let text = r#"{"a": 1, "b": {"x": 1, "\u0078": 2}, "a": 2}"#;
        let found: Vec<_> = parse(text)
            .map(|d| d.repeated_keys().iter().map(|r| (&text[r.first.range()], &text[r.again.range()])).collect())
            .unwrap_or_default();
        assert_eq!(found, [("\"x\"", "\"\\u0078\""), ("\"a\"", "\"a\"")]);
    }

    #[test]
    fn repeated_keys_are_found_in_large_objects_too() {
        let mut text = String::from("{");
        for n in 0..500 {
            text.push_str(&format!("\"k{n}\": {n}, "));
        }
        text.push_str("\"k7\": 1, \"k7\": 2}");
        let repeated = parse(&text).map(|d| d.repeated_keys().to_vec()).unwrap_or_default();
        assert_eq!(repeated.len(), 2);
        assert!(repeated.iter().all(|r| text[r.first.range()].eq("\"k7\"") && r.first == repeated[0].first));
    }

    #[test]
    fn lone_surrogates_are_survived_and_pairs_are_joined() {
        let text = r#"["\ud83d\ude00", "\udc87x", "\ud83dA", "\ud83d\u0041"]"#;
        let document = parse(text).expect("valid");
        let read: Vec<_> = document.root().items().filter_map(Value::as_text).collect();
        assert_eq!(read, ["😀", "\u{FFFD}x", "\u{FFFD}A", "\u{FFFD}A"]);
        assert_eq!(document.lone_surrogates().len(), 3);
    }

    #[test]
    fn depth_is_limited_without_recursion() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(limits::JSON_DEPTH)).is_ok());
        assert_eq!(error(&nested(limits::JSON_DEPTH + 1)).0, "nested deeper than 64 levels");
        assert!(parse(&"[".repeat(1_000_000)).is_err());
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn serde_json_output_reads_back(value in any_json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }?;
            let document = parse(&text).map_err(|m| TestCaseError::fail(m.message))?;
            prop_assert_eq!(convert(document.root()), value);
        }

        #[test]
        fn nothing_is_accepted_that_serde_json_refuses(text in "[\\[\\]{}:,\"a0-9.eE+\\- \\\\ntrufalsx/]{0,24}") {
            let ours = parse(&text);
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            if theirs.is_err() && ours.is_ok() {
                // serde_json also refuses numbers out of range, which we keep as text.
                prop_assert!(theirs.is_err_and(|e| e.to_string().contains("number out of range")), "{}", text);
            } else {
                prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{}", text);
            }
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            if let Err(malformed) = parse(&text) {
                prop_assert!(text.get(malformed.span.range()).is_some());
            }
        }
    }
}
