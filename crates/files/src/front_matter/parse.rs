//! Reads front matter as a tree of values. A YAML of values only: what makes one text mean several things (anchors, tags,
//! directives, words for booleans) is refused or stays text.
//!
//! No recursion: the tree is built on a stack that [`MAX_DEPTH`] bounds, so that code that walks it may
//! recurse.

use std::collections::BTreeMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError};

use super::yaml::{Entry, FrontMatter, MAX_BYTES, MAX_DEPTH, Node, Yaml, YamlError, YamlErrorKind};
use crate::span::Span;

/// Reads a front matter that begins at `offset` of its file; every place is counted from the start of the file.
pub fn parse(yaml: &str, offset: u32) -> Result<FrontMatter, YamlError> {
    if yaml.len() > MAX_BYTES {
        let kind = YamlErrorKind::TooLong { bytes: yaml.len() };
        return Err(YamlError { kind, span: Span::at(offset, 0, yaml.len()) });
    }
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_comments: false,
        emit_anchor_events: true, // to refuse them where they are
        emit_unresolved_aliases: true,
    };
    let mut builder = Builder { open: Vec::new(), root: None };
    for next in Parser::new_from_str_with_options(yaml, options) {
        let (event, span) = next.map_err(|error| refused(&error, yaml, offset))?;
        let place = |span: granit_parser::Span| {
            let bytes = span.byte_range().unwrap_or_default();
            Span::at(offset, bytes.start, bytes.end)
        };
        if let Some(tag) = span.tag_span() {
            return Err(YamlError { kind: YamlErrorKind::Tag, span: place(tag) });
        }
        builder.take(event, place(span))?;
    }
    match builder.root {
        None => Ok(FrontMatter::default()),
        Some(Node { value: Yaml::Map(entries), .. }) => Ok(FrontMatter { entries }),
        Some(Node { value: Yaml::Null, span, .. }) if span.start == span.end => Ok(FrontMatter::default()),
        Some(Node { span, .. }) => Err(YamlError { kind: YamlErrorKind::NotAMap, span }),
    }
}

/// The tree so far.
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
}

/// A list or a map that is not yet closed.
struct Open {
    span: Span,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, places: BTreeMap<String, Span>, key: Option<(String, Span)> },
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        let fail = |kind| Err(YamlError { kind, span });
        match event {
            Event::Anchor(..) | Event::Alias(_) | Event::UnresolvedAlias(_) => fail(YamlErrorKind::Anchor),
            Event::DocumentStart(..) if self.root.is_some() => fail(YamlErrorKind::SecondDocument),
            Event::Scalar(text, style, ..) => {
                let quoted = style != ScalarStyle::Plain;
                if let Some(Open { content: Content::Map { key: key @ None, places, .. }, .. }) = self.open.last_mut() {
                    if span.start == span.end {
                        return fail(YamlErrorKind::KeyNotText); // `: value`
                    }
                    let text = text.into_owned();
                    if let Some(&first) = places.get(&text) {
                        return fail(YamlErrorKind::DuplicateKey { key: text, first });
                    }
                    places.insert(text.clone(), span);
                    *key = Some((text, span));
                    return Ok(());
                }
                let value = if quoted { Yaml::Text(text.into_owned()) } else { plain(&text) };
                self.add(Node { value, span, quoted });
                Ok(())
            }
            Event::SequenceStart(..) => self.open(Content::List(Vec::new()), span),
            Event::MappingStart(..) => {
                self.open(Content::Map { entries: Vec::new(), places: BTreeMap::new(), key: None }, span)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.close(span);
                Ok(())
            }
            _ => Ok(()), // the ends of streams and documents, and comments
        }
    }

    fn open(&mut self, content: Content, span: Span) -> Result<(), YamlError> {
        if self.open.len() == MAX_DEPTH {
            return Err(YamlError { kind: YamlErrorKind::TooDeep, span });
        }
        if let Some(Open { content: Content::Map { key: None, .. }, .. }) = self.open.last() {
            return Err(YamlError { kind: YamlErrorKind::KeyNotText, span });
        }
        self.open.push(Open { span, content });
        Ok(())
    }

    /// Closes the innermost list or map. In brackets it ends with its bracket, else with what is last in it.
    fn close(&mut self, end: Span) {
        let Some(Open { mut span, content }) = self.open.pop() else { return };
        if end.start < end.end {
            span.end = end.end;
        }
        let value = match content {
            Content::List(nodes) => Yaml::List(nodes),
            Content::Map { entries, .. } => Yaml::Map(entries),
        };
        self.add(Node { value, span, quoted: false });
    }

    fn add(&mut self, node: Node) {
        let Some(Open { span, content }) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        span.end = span.end.max(node.span.end);
        match content {
            Content::List(nodes) => nodes.push(node),
            Content::Map { entries, key, .. } => {
                if let Some((key, key_span)) = key.take() {
                    entries.push(Entry { key, key_span, value: node });
                }
            }
        }
    }
}

/// What a scalar without quotes says.
fn plain(text: &str) -> Yaml {
    match text {
        "" | "~" | "null" => Yaml::Null,
        "true" => Yaml::Bool(true),
        "false" => Yaml::Bool(false),
        _ if is_number(text) => Yaml::Number(text.to_owned()),
        _ => Yaml::Text(text.to_owned()),
    }
}

/// Whole and decimal numbers: `7`, `-1.50`, `.5`, `1e9`.
fn is_number(text: &str) -> bool {
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = |text| str::strip_prefix(text, ['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = unsigned(mantissa).split_once('.').unwrap_or((unsigned(mantissa), ""));
    let exponent = exponent.is_none_or(|e| !unsigned(e).is_empty() && all_digits(unsigned(e)));
    exponent && !(whole.is_empty() && fraction.is_empty()) && all_digits(whole) && all_digits(fraction)
}

/// What the parser refuses, in our words where we have some.
fn refused(error: &ScanError, yaml: &str, offset: u32) -> YamlError {
    let at = error.marker().byte_offset().unwrap_or_default();
    let (before, _) = yaml.split_at_checked(at).unwrap_or((yaml, ""));
    let one_character = |start: usize| {
        let length = yaml[start..].chars().next().map_or(0, char::len_utf8);
        Span::at(offset, start, start + length)
    };
    match error.kind() {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar => {
            // The parser may notice before or after the tab, but on its line or the one before.
            let line = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
            let tab = yaml[line..].find('\t').map_or(before.len(), |tab| line + tab);
            YamlError { kind: YamlErrorKind::Tab, span: one_character(tab) }
        }
        ErrorKind::RecursionLimitExceeded => {
            YamlError { kind: YamlErrorKind::TooDeep, span: one_character(before.len()) }
        }
        _ => YamlError { kind: YamlErrorKind::Syntax(error.info()), span: one_character(before.len()) },
    }
}
