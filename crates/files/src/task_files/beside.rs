//! The files beside the tasks: `plan.json` (what was asked for, and the order of the list), `waves.json` and
//! `dependency-graph.json` (the order of the work, where the tasks do not say it themselves).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use team_executor_core::TaskId;

use super::Read;
use super::shape::BESIDE;
use crate::code::Code;
use crate::fields::{filled, text_of};
use crate::finding::{Finding, Severity};
use crate::json::{Kind, Value};
use crate::reading::Reading;
use crate::span::{Source, Span};

/// Puts what the files say into the tasks, and says what was asked for.
pub(super) fn join(reading: &mut Reading<'_>, of: &str, tasks: &mut [Read]) -> String {
    let mut requirement = String::new();
    with(reading, of, "plan.json", |_, root, _| {
        let said = ["requirement", "summary", "objective", "title", "description", "approach"];
        requirement = said.iter().find_map(|name| root.get(name).and_then(filled)).unwrap_or_default();
        let order = ["task_ids", "tasks"].iter().find_map(|name| root.get(name)).unwrap_or(root);
        let at: HashMap<String, usize> = ids(order).map(|(id, _)| id).zip(0..).collect();
        tasks.sort_by_key(|read| at.get(read.task.id.as_str()).copied().unwrap_or(usize::MAX));
    });
    with(reading, of, "dependency-graph.json", |reading, root, file| graph(reading, root, file, tasks));
    with(reading, of, "waves.json", |reading, root, file| waves(reading, root, file, tasks));
    requirement
}

/// Reads a file in the session's folder, or in that of the tasks.
fn with(
    reading: &mut Reading<'_>,
    of: &str,
    name: &str,
    mut read: impl FnMut(&mut Reading<'_>, Value<'_, '_>, &Arc<str>),
) {
    let path = if reading.folder.has(name) { name.to_owned() } else { format!("{of}/{name}") };
    let file: Arc<str> = path.into();
    let Some(text) = reading.optional_text(&file, &BESIDE, Severity::Error) else { return };
    if let Some(document) = reading.document(&file, &BESIDE, Severity::Error, &text) {
        read(reading, document.root(), &file);
    }
    reading.sources.insert(file, Source::new(text));
}

/// Ids with their places.
type Ids = Vec<(String, Span)>;

/// The ids of a list: strings, numbers, or objects that have one.
fn ids<'d, 's>(list: Value<'d, 's>) -> impl Iterator<Item = (String, Span)> {
    list.items().filter_map(|item| {
        let own = if item.kind() == Kind::Object { item.get("id").or_else(|| item.get("task_id"))? } else { item };
        Some((text_of(own)?.into_owned(), own.span()))
    })
}

fn unknown(reading: &mut Reading<'_>, file: &Arc<str>, id: &str, place: Span) {
    let finding = Finding::error(Code::UnknownDependency, format!("{file} names '{id}', which is no task"));
    let finding = finding.at(file, place, "no task file has this id");
    reading.findings.push(finding.help(format!("add a file for '{id}', or remove it here")));
}

fn not_understood(reading: &mut Reading<'_>, file: &Arc<str>, place: Span, expected: &str) {
    let finding = Finding::error(Code::InvalidField, format!("{} is not understood", file));
    let finding = finding.at(file, place, format!("expected {expected}"));
    reading.findings.push(finding.help("or remove the file and give the tasks `depends_on`"));
}

/// `[["A"], ["B"]]`, `{"waves": …}` of these or of `{"tasks": ["A"]}`, or `{"1": ["A"]}`.
fn waves(reading: &mut Reading<'_>, root: Value<'_, '_>, file: &Arc<str>, tasks: &mut [Read]) {
    let list = root.get("waves").unwrap_or(root);
    let group = |value: Value<'_, '_>| -> Ids {
        let own = ["tasks", "task_ids"].iter().find_map(|name| value.get(name)).unwrap_or(value);
        ids(own).collect()
    };
    let numbered: Option<Vec<(u32, Ids)>> = match list.kind() {
        Kind::Array => Some((1..).zip(list.items().map(group)).collect()),
        Kind::Object => list.entries().map(|entry| Some((entry.name().parse().ok()?, group(entry.value)))).collect(),
        _ => None,
    };
    let Some(numbered) = numbered.filter(|waves| waves.iter().any(|(_, ids)| !ids.is_empty())) else {
        return not_understood(reading, file, head(list), "a list of waves, each a list of task ids");
    };
    let at: HashMap<String, usize> = tasks.iter().map(|read| read.task.id.to_string()).zip(0..).collect();
    for (wave, ids) in numbered {
        for (id, place) in ids {
            match at.get(&id) {
                Some(task) => tasks[*task].task.declared_wave = Some(wave),
                None => unknown(reading, file, &id, place),
            }
        }
    }
}

/// What an object says that its task waits for.
fn waits<'d, 's>(value: Value<'d, 's>) -> Option<Value<'d, 's>> {
    ["depends_on", "dependencies", "deps"].iter().find_map(|name| value.get(name))
}

/// An edge: a task and what it waits for, with the place of the latter.
type Edge = (String, String, Span);

/// `{"B": ["A"]}`, also below `dependencies` or `graph` and with objects that have `depends_on`; a list `nodes` or `tasks` of
/// such objects; or `edges`, whose direction the tasks must tell.
fn graph(reading: &mut Reading<'_>, root: Value<'_, '_>, file: &Arc<str>, tasks: &mut [Read]) {
    let mut edges: Vec<Edge> = Vec::new();
    let mut of = |id: &str, list: Value<'_, '_>| edges.extend(ids(list).map(|(on, place)| (id.to_owned(), on, place)));
    let nodes = ["nodes", "tasks"].iter().find_map(|name| root.get(name)).filter(|nodes| nodes.kind() == Kind::Array);
    let maps = ["dependencies", "graph", "dependency_graph", "nodes", "tasks"];
    let map = maps.iter().find_map(|name| root.get(name)).filter(|map| map.kind() == Kind::Object);
    let listed = root.get("edges").filter(|edges| edges.items().next().is_some());
    if let Some(listed) = listed {
        match directed(listed, tasks) {
            Some(found) => edges.extend(found),
            None => {
                let expected = "edges whose direction some task tells by its own `depends_on`";
                return not_understood(reading, file, head(listed), expected);
            }
        }
    } else if let Some(nodes) = nodes {
        for node in nodes.items() {
            let id = node.get("id").or_else(|| node.get("task_id")).and_then(text_of);
            if let (Some(id), Some(list)) = (id, waits(node)) {
                of(&id, list);
            }
        }
    } else {
        for entry in map.unwrap_or(root).entries() {
            match entry.value.kind() {
                Kind::Array => of(&entry.name(), entry.value),
                Kind::Object => waits(entry.value).into_iter().for_each(|list| of(&entry.name(), list)),
                _ => {}
            }
        }
    }
    put(reading, file, tasks, edges);
}

/// Edges `{"from": …, "to": …}` in the direction that the tasks' own dependencies tell; nothing if they do not.
fn directed(list: Value<'_, '_>, tasks: &[Read]) -> Option<Vec<Edge>> {
    let own: HashSet<(&str, &str)> = tasks
        .iter()
        .flat_map(|read| read.task.dependencies.iter().map(|on| (read.task.id.as_str(), on.as_str())))
        .collect();
    let end = |edge: Value<'_, '_>, names: [&str; 2]| {
        let value = names.iter().find_map(|name| edge.get(name))?;
        Some((text_of(value)?.into_owned(), value.span()))
    };
    let both = |edge| Some((end(edge, ["from", "source"])?, end(edge, ["to", "target"])?));
    let edges: Vec<_> = list.items().map(both).collect::<Option<_>>()?;
    let to_waits = edges.iter().any(|((from, _), (to, _))| own.contains(&(to, from)));
    let from_waits = edges.iter().any(|((from, _), (to, _))| own.contains(&(from, to)));
    (to_waits != from_waits).then(|| {
        let turned = |((from, at), (to, place))| if to_waits { (to, from, at) } else { (from, to, place) };
        edges.into_iter().map(turned).collect()
    })
}

/// Gives tasks what they wait for. What a task says itself must be the same.
fn put(reading: &mut Reading<'_>, file: &Arc<str>, tasks: &mut [Read], edges: Vec<Edge>) {
    let at: HashMap<String, usize> =
        tasks.iter().enumerate().map(|(at, read)| (read.task.id.to_string(), at)).collect();
    let mut given: HashMap<usize, Vec<(TaskId, Span)>> = HashMap::new();
    for (task, on, place) in edges {
        let (Some(&task), Some(&on)) = (at.get(&task), at.get(&on)) else {
            let missing = if at.contains_key(&task) { on } else { task };
            unknown(reading, file, &missing, place);
            continue;
        };
        given.entry(task).or_default().push((tasks[on].task.id.clone(), place));
    }
    let mut all: Vec<_> = given.into_iter().collect();
    all.sort_by_key(|(task, _)| *task);
    for (task, given) in all {
        let read = &mut tasks[task];
        let set: HashSet<&TaskId> = given.iter().map(|(id, _)| id).collect();
        if !read.says_order {
            read.places = given.iter().map(|_| read.id).collect();
            read.task.dependencies = given.into_iter().map(|(id, _)| id).collect();
        } else if set != read.task.dependencies.iter().collect() {
            let message = format!("task '{}' and {file} say differently what it waits for", read.task.id);
            let place = given.first().map_or(Span::new(0, 1), |(_, place)| *place);
            let finding = Finding::error(Code::Disagreement, message).at(&read.file, read.id, "");
            reading.findings.push(finding.and(file, place, "here").help("make both say the same, or remove one"));
        }
    }
}

fn head(value: Value<'_, '_>) -> Span {
    Span { start: value.span().start, end: value.span().start + 1 }
}
