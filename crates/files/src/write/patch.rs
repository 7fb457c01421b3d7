//! Edits of a text that a user wrote: only the values that changed are replaced, and new ones take over the layout of
//! their neighbours. Every other byte stays.

use std::borrow::Cow;
use std::ops::Range;

use super::overlay::{Fields, New, plain, same, says};
use crate::json::{self, Kind, Layout, Value, Writer, quote};
use crate::shape::Object;
use crate::span::spliced;

/// A text and what is to change in it.
pub(super) struct Patch<'s> {
    text: &'s str,
    /// How its lines end. It is found once: a list may grow by as many pieces as there are tasks.
    end: &'static str,
    edits: Vec<(Range<usize>, String)>,
}

/// Something new in an object or an array.
pub(super) struct Piece<'a> {
    /// Its key, in an object.
    pub(super) key: Option<Cow<'a, str>>,
    /// Writes it.
    pub(super) write: Box<dyn Fn(&mut Writer) + 'a>,
}

impl<'a> Piece<'a> {
    /// A field.
    pub(super) fn field(name: &'a str, new: &'a New<'a>) -> Self {
        Self { key: Some(Cow::Borrowed(name)), write: Box::new(move |out| plain(out, new)) }
    }

    /// An element of an array.
    pub(super) fn item(write: impl Fn(&mut Writer) + 'a) -> Self {
        Self { key: None, write: Box::new(write) }
    }
}

/// The text with what `edit` changes in it; nothing if it is no JSON, or if `edit` cannot use it.
pub(super) fn patched(text: &str, edit: impl FnOnce(&mut Patch<'_>, Value<'_, '_>) -> Option<()>) -> Option<String> {
    let bare = text.trim_start_matches('\u{FEFF}');
    let document = json::parse(bare).ok()?;
    let mut patch = Patch { text: bare, end: if bare.contains("\r\n") { "\r\n" } else { "\n" }, edits: Vec::new() };
    edit(&mut patch, document.root())?;
    Some(format!("{}{}", &text[..text.len() - bare.len()], spliced(bare, patch.edits)))
}

impl Patch<'_> {
    /// Changes the fields of an object that differ between two states of the model. The spelling that is read counts.
    pub(super) fn object(
        &mut self,
        shape: &'static Object,
        original: Value<'_, '_>,
        before: &Fields<'_>,
        after: &Fields<'_>,
    ) {
        let spelled = |at: usize| {
            original.entries().position(|entry| shape.field(&entry.name()).is_some_and(|(found, ..)| found == at))
        };
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for (at, field) in shape.fields.iter().enumerate() {
            let Some((new, is_added)) = after.get(field.name) else { continue };
            let old = before.get(field.name).map(|(old, _)| old);
            if old.is_some_and(|old| same(old, new)) {
                continue;
            }
            let found = spelled(at).and_then(|nth| Some((nth, original.entries().nth(nth)?.value)));
            match (found, new) {
                (_, New::Kept) | (None, New::Gone) => {}
                (Some((nth, _)), New::Gone) => removed.push(nth),
                (Some((_, value)), New::Object(shape, fields)) if value.kind() == Kind::Object => match old {
                    Some(New::Object(_, old)) => self.object(shape, value, old, fields),
                    _ => self.object(shape, value, &Fields::default(), fields),
                },
                (Some((_, value)), new) => self.replace(value, new),
                (None, new) if is_added => added.push(Piece::field(field.name, new)),
                (None, _) => {}
            }
        }
        self.splice(original, &removed, &added);
    }

    /// Puts another value in the place of one; a list that only grows keeps its elements.
    pub(super) fn replace(&mut self, value: Value<'_, '_>, new: &New<'_>) {
        if let New::List(items) = new
            && value.kind() == Kind::Array
            && value.items().count() <= items.len()
            && value.items().zip(items).all(|(old, new)| says(old, new))
        {
            let more: Vec<_> =
                items.iter().skip(value.items().count()).map(|item| Piece::item(|out| plain(out, item))).collect();
            return self.splice(value, &[], &more);
        }
        self.rewrite(value, |out| plain(out, new));
    }

    /// Puts whatever this writes in the place of a value.
    pub(super) fn rewrite(&mut self, value: Value<'_, '_>, write: impl Fn(&mut Writer)) {
        let range = value.span().range();
        let layout = if value.raw().contains('\n') { Some(self.indent_of(range.start).to_owned()) } else { None };
        let text = self.rendered(layout.as_deref(), write);
        self.edits.push((range, text));
    }

    /// Takes children out of an object or an array, by position, and adds others behind the last.
    pub(super) fn splice(&mut self, container: Value<'_, '_>, removed: &[usize], added: &[Piece<'_>]) {
        if removed.is_empty() && added.is_empty() {
            return;
        }
        let outer = container.span().range();
        let children: Vec<(Range<usize>, usize)> = container
            .entries()
            .map(|entry| {
                (entry.key.span().range().start..entry.value.span().range().end, entry.value.span().range().start)
            })
            .chain(container.items().map(|item| (item.span().range(), item.span().range().start)))
            .collect();
        let Some((last, value)) = children.last().filter(|_| removed.len() < children.len()) else {
            return self.fill(outer, added);
        };
        for nth in removed {
            let is_kept = (0..*nth).any(|before| !removed.contains(&before));
            let own = &children[*nth].0;
            let range = if is_kept { children[nth - 1].0.end..own.end } else { own.start..children[nth + 1].0.start };
            self.edits.push((range, String::new()));
        }
        let before = children.len().checked_sub(2).map_or(outer.start + 1, |nth| children[nth].0.end);
        let gap = self.text[before..last.start].trim_start_matches([' ', '\t', '\r', '\n']);
        let gap = gap.strip_prefix(',').unwrap_or(&self.text[before..last.start]).to_owned();
        let key_end = container.entries().last().map(|entry| entry.key.span().range().end);
        let colon = key_end.map_or(": ", |end| &self.text[end..*value]).to_owned();
        let indent = gap.rfind('\n').map(|at| gap[at + 1..].to_owned());
        let mut text = String::new();
        for piece in added {
            text.push(',');
            text.push_str(&gap);
            self.piece(&mut text, piece, &colon, indent.as_deref());
        }
        self.edits.push((last.end..last.end, text));
    }

    /// Puts children into an object or an array in which none is left.
    fn fill(&mut self, outer: Range<usize>, added: &[Piece<'_>]) {
        let line = self.indent_of(outer.start).to_owned();
        let indent = (self.text.contains('\n') && !added.is_empty()).then(|| format!("{line}  "));
        let end = self.end;
        let mut text = String::new();
        for (nth, piece) in added.iter().enumerate() {
            text.push_str(if nth > 0 { "," } else { "" });
            match &indent {
                Some(indent) => text.push_str(&format!("{end}{indent}")),
                None => text.push_str(if nth > 0 { " " } else { "" }),
            }
            self.piece(&mut text, piece, ": ", indent.as_deref());
        }
        if indent.is_some() {
            text.push_str(&format!("{end}{line}"));
        }
        self.edits.push((outer.start + 1..outer.end - 1, text));
    }

    fn piece(&self, text: &mut String, piece: &Piece<'_>, colon: &str, indent: Option<&str>) {
        if let Some(key) = &piece.key {
            text.push_str(&quote(key));
            text.push_str(colon);
        }
        text.push_str(&self.rendered(indent, &piece.write));
    }

    /// A value on one line, or on lines of their own that are indented like their neighbours.
    fn rendered(&self, indent: Option<&str>, write: impl Fn(&mut Writer)) -> String {
        let mut out = Writer::new(if indent.is_some() { Layout::Pretty } else { Layout::Compact });
        write(&mut out);
        let text = out.finish();
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let end = self.end;
        text.split('\n').collect::<Vec<_>>().join(&format!("{end}{}", indent.unwrap_or_default()))
    }

    /// The blanks that the line of a byte begins with.
    fn indent_of(&self, at: usize) -> &str {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let rest = &self.text[line..at];
        &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
    }
}
