//! Any Markdown file with check boxes.
//!
//! Items are tasks, one after the other in the order of the file; items with `[P]` that stand together wait for the same and
//! not for each other. An item with items below it is a group and no task: its text tells them what they are a part of.
//! A box that is checked is done, and one that is checked above others has them done too.

use team_executor_core::Priority;

use super::items::{self, Item, without_label};
use super::{Import, New, description};
use crate::span::Span;

pub(super) fn read(import: &mut Import<'_>, text: &str) {
    let found = items::read(text);
    import.requirement =
        found.headings.iter().find(|(level, _)| *level == 1).map(|(_, t)| t.clone()).unwrap_or_default();
    let (mut waits, mut group): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut was_parallel, mut groups) = (false, Vec::new());
    let mut above: Vec<&Item> = Vec::new();
    for (at, item) in found.items.iter().enumerate() {
        above.retain(|parent| parent.heading == item.heading && parent.indent < item.indent);
        let (is_parallel, text) = parallel(&item.text);
        let is_group = found.items.get(at + 1).is_some_and(|n| n.heading == item.heading && n.indent > item.indent);
        if is_group {
            groups.push(format!("'{}'", text.chars().take(40).collect::<String>()));
            above.push(item);
            continue;
        }
        let (id, title) = match own_id(text) {
            Some((id, title)) => (id.to_owned(), title),
            None => (format!("ITEM-{:03}", at + 1), text),
        };
        let is_together = is_parallel && was_parallel;
        if !is_together && !group.is_empty() {
            waits = std::mem::take(&mut group);
        }
        was_parallel = is_parallel;
        group.push(id.clone());
        let place = Span::new(item.place.start as usize, item.place.end as usize);
        let part_of: Vec<&str> = above.iter().map(|parent| parallel(&parent.text).1).collect();
        let more: Vec<&str> = above.iter().chain([&item]).flat_map(|item| &item.more).map(String::as_str).collect();
        let heading = item.heading.and_then(|at| found.headings.get(at)).map(|(_, text)| text.clone());
        let fields = [("Notes", Some(more.join("\n"))), ("Part of", Some(part_of.join(" / "))), ("Section", heading)];
        import.take(New {
            file: import.drafts.file.clone(),
            id,
            place,
            title: title.to_owned(),
            description: description(title, &fields),
            role: None,
            is_done: item.is_done || above.iter().any(|parent| parent.is_done),
            priority: Priority::P1,
            dependencies: waits.iter().map(|id| (id.clone(), place)).collect(),
        });
    }
    import.leave("groups; the items below them name their group", &groups);
    if found.prose > 0 {
        import.left.push(format!("lines of text that are no items ({})", found.prose));
    }
}

/// Whether a text begins with `[P]`, and what follows.
fn parallel(text: &str) -> (bool, &str) {
    match without_label(text, |label| label.eq_ignore_ascii_case("p")) {
        Some((_, rest)) => (true, rest),
        None => (false, text),
    }
}

/// An id that a text begins with, as in `**IMPL-001**: text` and `IMPL-001: text`.
fn own_id(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once(char::is_whitespace)?;
    let id = word.trim_matches(['*', ':']);
    let (letters, number) = id.split_once('-')?;
    let is_id = word.contains(':')
        && !letters.is_empty()
        && letters.bytes().all(|b| b.is_ascii_uppercase())
        && number.bytes().next().is_some_and(|b| b.is_ascii_digit());
    is_id.then(|| (id, rest.trim_start()))
}
