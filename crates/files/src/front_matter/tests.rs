//! What front matter says, what is refused and where.

use proptest::prelude::*;

use super::*;
use crate::span::Span;

fn read(yaml: &str) -> FrontMatter {
    parse(yaml, 0).unwrap()
}

/// The value of the only entry.
fn value(yaml: &str) -> Yaml {
    read(yaml).entries.remove(0).value.value
}

/// What is wrong, and the text that it is about.
fn refused(yaml: &str) -> (YamlErrorKind, &str) {
    let error = parse(yaml, 0).unwrap_err();
    (error.kind, error.span.slice(yaml))
}

fn text(text: &str) -> Yaml {
    Yaml::Text(text.to_owned())
}

fn number(text: &str) -> Yaml {
    Yaml::Number(text.to_owned())
}

#[test]
fn entries_keep_their_order_and_places() {
    let yaml =
        "name: développeur # why\r\nCLI tools:\r\n  - 'gemini'\r\n  - x\r\n\r\n# end\r\nlast: {a: 1, b: [2]}\r\n";
    let front = read(yaml);
    let found: Vec<_> = front.entries.iter().map(|e| (e.key_span.slice(yaml), e.value.span.slice(yaml))).collect();
    let list = "- 'gemini'\r\n  - x";
    assert_eq!(found, [("name", "développeur"), ("CLI tools", list), ("last", "{a: 1, b: [2]}")]);
    let Some(Entry { value: Node { value: Yaml::List(nodes), .. }, .. }) = front.get("CLI tools") else {
        panic!("{front:?}")
    };
    assert_eq!(nodes.iter().map(|node| node.span.slice(yaml)).collect::<Vec<_>>(), ["'gemini'", "x"]);
    assert_eq!(front.get("nothing"), None);
}

#[test]
fn places_are_counted_from_the_start_of_the_file() {
    let Entry { key_span, value, .. } = parse("a: b", 100).unwrap().entries.remove(0);
    assert_eq!((key_span, value.span), (Span { start: 100, end: 101 }, Span { start: 103, end: 104 }));
    assert_eq!(parse("a: ]", 100).unwrap_err().span, Span { start: 103, end: 104 });
}

#[test]
fn only_true_and_false_are_booleans() {
    assert_eq!(value("a: true"), Yaml::Bool(true));
    assert_eq!(value("a: false"), Yaml::Bool(false));
    for word in ["yes", "no", "on", "off", "True", "FALSE", "y"] {
        let node = read(&format!("a: {word}")).entries.remove(0).value;
        assert_eq!((node.value, node.quoted), (text(word), false));
    }
    for quoted in ["\"true\"", "'true'", "|-\n  true", ">-\n  true"] {
        let node = read(&format!("a: {quoted}")).entries.remove(0).value;
        assert_eq!((node.value, node.quoted), (text("true"), true));
    }
}

#[test]
fn numbers_stay_as_they_are_written() {
    for written in ["0", "-7", "+1", "1.10", ".5", "1.", "1e9", "-2.5E-3", "007"] {
        assert_eq!(value(&format!("a: {written}")), number(written));
    }
    for written in [".", "1.2.3", "2026-02-27", "e5", "1e", "1e+", "0x1F", "1_000", ".inf", "--1", "+"] {
        assert_eq!(value(&format!("a: {written}")), text(written), "{written}");
    }
    assert_eq!(value("a: '1'"), text("1"));
}

#[test]
fn nothing_is_null_where_its_key_ends() {
    assert_eq!([value("a: null"), value("a: ~"), value("a:")], [Yaml::Null, Yaml::Null, Yaml::Null]);
    assert_eq!([value("a: Null"), value("a: ''")], [text("Null"), text("")]);
    assert_eq!(read("a:\nb: 1\n").entries[0].value.span, Span { start: 1, end: 1 });
}

#[test]
fn an_empty_front_matter_has_no_entries() {
    for yaml in ["", "\n", "# only a comment\n", "{}"] {
        assert_eq!(read(yaml), FrontMatter::default());
    }
}

#[test]
fn keys_are_text() {
    let keys = |yaml| read(yaml).entries.into_iter().map(|entry| entry.key).collect::<Vec<_>>();
    assert_eq!(keys("true: 1\n2: 1\n'a b': 1\n<<: 1\n"), ["true", "2", "a b", "<<"]);
    assert_eq!(refused("? [a]\n: b"), (YamlErrorKind::KeyNotText, "["));
    assert_eq!(refused("x: {{a: 1}: b}"), (YamlErrorKind::KeyNotText, "{"));
    assert_eq!(refused("a: 1\n: b"), (YamlErrorKind::KeyNotText, ""));
}

#[test]
fn a_key_is_given_once() {
    let duplicate =
        |key: &str, start, end| YamlErrorKind::DuplicateKey { key: key.to_owned(), first: Span { start, end } };
    let error = parse("a: 1\nb: 2\n'a': 3\n", 10).unwrap_err();
    assert_eq!((error.kind, error.span), (duplicate("a", 10, 11), Span { start: 20, end: 23 }));
    assert_eq!(refused("x: {b: 1, c: 2, b: 3}"), (duplicate("b", 4, 5), "b"));
    assert_eq!(read("a: {a: 1}\nb: {a: 1}").entries.len(), 2, "different maps may have the same keys");
}

#[test]
fn ambiguous_yaml_is_refused() {
    use YamlErrorKind::{Anchor, SecondDocument, Tag};
    assert_eq!(refused("a: &x 1\nb: *x"), (Anchor, "&x"));
    assert_eq!(refused("a: &x [1]"), (Anchor, "&x"));
    assert_eq!(refused("&x a: 1"), (Anchor, "&x"));
    assert_eq!(refused("a: *x"), (Anchor, "*x"));
    assert_eq!(refused("a: !!str 1"), (Tag, "!!str"));
    assert_eq!(refused("a: !x\n  b: 1"), (Tag, "!x"));
    assert_eq!(refused("a: 1\n---\nb: 2"), (SecondDocument, "---"));
    assert_eq!(refused("%YAML 1.2\n---\na: 1").1, "%");
}

#[test]
fn tabs_do_not_indent() {
    for yaml in ["a:\n\t- b", "a:\n  b: 1\n\tc: 2", "a: 1\n\tb: 2", "\ta: 1\n\tb: 2", "a: |\n\tx\n", "a: [\n\t1]"] {
        assert_eq!(refused(yaml), (YamlErrorKind::Tab, "\t"), "{yaml:?}");
    }
    assert_eq!(parse("a:\n  b: 1\n\tc: 2", 0).unwrap_err().span.start, 10);
    assert_eq!(value("a:\t1\t# tabs separate"), number("1"));
    assert_eq!(value("a: |\n  \tx\n"), text("\tx\n"));
}

#[test]
fn only_a_map_is_a_front_matter() {
    assert_eq!(refused("- a\n- b"), (YamlErrorKind::NotAMap, "- a\n- b"));
    assert_eq!(refused("just text"), (YamlErrorKind::NotAMap, "just text"));
    assert_eq!(refused("~"), (YamlErrorKind::NotAMap, "~"));
}

#[test]
fn yaml_error_has_its_place() {
    for (yaml, about) in [("a: 'x", "'"), ("a: [1", "["), ("a: b: c", ":"), ("a: @x", "@"), ("a: ]", "]")] {
        let (kind, place) = refused(yaml);
        assert!(matches!(kind, YamlErrorKind::Syntax(ref message) if !message.is_empty()), "{kind:?}");
        assert_eq!(place, about, "{yaml}");
    }
}

#[test]
fn depth_and_length_have_limits() {
    let nested = |open: &str, close: &str, depth| format!("a: {}{}", open.repeat(depth), close.repeat(depth));
    assert!(parse(&nested("[", "]", MAX_DEPTH - 1), 0).is_ok());
    for depth in [MAX_DEPTH, 300, 10_000] {
        assert_eq!(refused(&nested("[", "]", depth)).0, YamlErrorKind::TooDeep);
        assert_eq!(refused(&nested("{a: ", "}", depth)).0, YamlErrorKind::TooDeep);
        assert_eq!(refused(&format!("a:\n  {}x", "- ".repeat(depth))).0, YamlErrorKind::TooDeep);
    }
    let longest = format!("a: {}", "x".repeat(MAX_BYTES - 3));
    assert_eq!(value(&longest), text(&longest[3..]));
    assert_eq!(refused(&format!("{longest}x")).0, YamlErrorKind::TooLong { bytes: MAX_BYTES + 1 });
}

/// Every place of a tree, parents before children.
fn spans(front: FrontMatter) -> Vec<Span> {
    let mut found = Vec::new();
    let mut entries = front.entries;
    let mut nodes = Vec::new();
    loop {
        for entry in entries.drain(..) {
            found.push(entry.key_span);
            nodes.push(entry.value);
        }
        let Some(node) = nodes.pop() else { return found };
        found.push(node.span);
        match node.value {
            Yaml::List(more) => nodes.extend(more),
            Yaml::Map(more) => entries = more,
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn any_text_has_places_that_exist(
        yaml in prop_oneof!["([ab]: |[ab:,\\[\\]{}&*!#|>'\"?%~ä \t\r\n-]|\n  ?){0,30}", any::<String>()],
    ) {
        let found = match parse(&yaml, 0) {
            Ok(front) => spans(front),
            Err(error) => match error.kind {
                YamlErrorKind::DuplicateKey { first, .. } => vec![error.span, first],
                _ => vec![error.span],
            },
        };
        for span in found {
            prop_assert!(yaml.get(span.start as usize..span.end as usize).is_some(), "{span:?}");
        }
    }
}
