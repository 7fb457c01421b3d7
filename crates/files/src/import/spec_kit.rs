//! `tasks.md` of spec-kit: lines `- [ ] T001 [P] [US1] text` below headings for phases.
//!
//! A task waits for the one before it in its phase; tasks with `[P]` that stand together wait for the same and not for each
//! other. A phase waits for the phase before it, but phases of user stories only for the last phase that is none:
//! that is what the tool's own template says about them. `(depends on T012)` counts too.

use team_executor_core::Priority;

use super::items::{self, Item, without_label};
use super::{Import, New, description};
use crate::span::Span;

/// Whether a text has at least one task of this form.
pub(super) fn is_one(text: &str) -> bool {
    items::read(text).items.iter().any(|item| task(item).is_some())
}

/// One task.
struct Line<'i> {
    id: &'i str,
    is_parallel: bool,
    story: Option<&'i str>,
    text: &'i str,
}

pub(super) fn read(import: &mut Import<'_>, text: &str) {
    let found = items::read(text);
    let title = found.headings.iter().find(|(level, _)| *level == 1).map(|(_, title)| title.as_str());
    import.requirement = title.map(|title| title.trim_start_matches("Tasks:").trim().to_owned()).unwrap_or_default();
    let mut order = Order::default();
    let mut left = Vec::new();
    for item in &found.items {
        let Some(line) = task(item) else {
            left.push(format!("'{}'", item.text.chars().take(40).collect::<String>()));
            continue;
        };
        let phase = item.heading.and_then(|at| found.headings.get(at)).map(|(_, text)| text.as_str());
        order.enter(item.heading, line.story);
        let before = order.before(line.id, line.is_parallel);
        let place = Span::new(item.place.start as usize, item.place.start as usize + line.id.len());
        let mut dependencies: Vec<(String, Span)> = before.into_iter().map(|id| (id, place)).collect();
        dependencies.extend(named(line.text).map(|id| (id.to_owned(), place)));
        let more = [
            ("Notes", Some(item.more.join("\n"))),
            ("Phase", phase.map(str::to_owned)),
            ("User story", line.story.map(str::to_owned)),
        ];
        import.take(New {
            file: import.drafts.file.clone(),
            id: line.id.to_owned(),
            place,
            title: line.text.to_owned(),
            description: description(line.text, &more),
            role: None,
            is_done: item.is_done,
            priority: Priority::P1,
            dependencies,
        });
    }
    import.leave("check boxes without an id such as T001", &left);
    if found.prose > 0 {
        import.left.push(format!("lines of text that are no tasks ({})", found.prose));
    }
}

/// The parts of a task's line. Both orders of id and `[P]` are in use.
fn task(item: &Item) -> Option<Line<'_>> {
    let is_story = |label: &str| label.strip_prefix("US").is_some_and(is_number);
    let (mut text, mut id, mut is_parallel, mut story) = (item.text.as_str(), None, false, None);
    loop {
        if let Some((_, rest)) = without_label(text, |label| label.eq_ignore_ascii_case("p")) {
            (text, is_parallel) = (rest, true);
        } else if let Some((label, rest)) = without_label(text, is_story) {
            (text, story) = (rest, Some(label));
        } else if let Some((label, rest)) = without_label(text, is_id).filter(|_| id.is_none()) {
            (text, id) = (rest, Some(label));
        } else if id.is_none() {
            let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            let bare = word.trim_matches('*').trim_end_matches(':').trim_matches('*');
            if !is_id(bare) {
                return None;
            }
            (text, id) = (rest.trim_start(), Some(bare));
        } else {
            return id.map(|id| Line { id, is_parallel, story, text });
        }
    }
}

/// `T001`, also with a letter behind it.
fn is_id(word: &str) -> bool {
    let digits = word.strip_prefix('T').map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_lowercase()));
    digits.is_some_and(|digits| digits.len() >= 2 && is_number(digits))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The ids in `(depends on T012, T013)`.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let lower = text.to_ascii_lowercase();
    let inside = lower.find("depends on").and_then(|at| text.get(at + "depends on".len()..));
    let inside = inside.map_or("", |rest| rest.split([')', ';', '.']).next().unwrap_or_default());
    inside.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| is_id(word))
}

/// What the place of a task in the file makes it wait for.
#[derive(Default)]
struct Order {
    /// The heading of the phase.
    phase: Option<Option<usize>>,
    is_story: bool,
    /// What the first tasks of a story wait for.
    gate: Vec<String>,
    /// The last tasks of the stories since then.
    ends: Vec<String>,
    /// What the current group waits for.
    waits: Vec<String>,
    /// The current group: one task, or several with `[P]`.
    group: Vec<String>,
    is_open: bool,
}

impl Order {
    /// A task of a phase comes.
    fn enter(&mut self, heading: Option<usize>, story: Option<&str>) {
        if self.phase == Some(heading) {
            return;
        }
        let last = std::mem::take(&mut self.group);
        match (self.is_story, story.is_some()) {
            (false, true) => {
                self.gate = last;
                self.waits.clone_from(&self.gate);
            }
            (true, true) => {
                self.ends.extend(last);
                self.waits.clone_from(&self.gate);
            }
            (true, false) => {
                self.ends.extend(last);
                self.waits = std::mem::take(&mut self.ends);
            }
            (false, false) => {
                if !last.is_empty() {
                    self.waits = last;
                }
            }
        }
        (self.phase, self.is_story, self.is_open) = (Some(heading), story.is_some(), false);
    }

    /// What the next task of the phase waits for.
    fn before(&mut self, id: &str, is_parallel: bool) -> Vec<String> {
        let is_together = is_parallel && self.is_open;
        if !is_together && !self.group.is_empty() {
            self.waits = std::mem::take(&mut self.group);
        }
        self.is_open = is_parallel;
        self.group.push(id.to_owned());
        self.waits.clone()
    }
}
