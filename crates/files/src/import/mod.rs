//! Tasks of other tools, for `init --from`: what each says becomes tasks of a new session, and what cannot be taken over is
//! named. The files of the tools are only read.
//!
//! Reading order: this file (which tool wrote a file, and what all have in common), then one file a tool.

mod beads;
mod check_list;
mod claude;
mod items;
mod spec_kit;
mod task_master;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use team_executor_core::{Priority, RoleName, Session, SessionId, Task, TaskStatus};

use crate::code::Code;
use crate::draft::{self, Drafts};
use crate::finding::{Finding, Findings, Severity, Sources};
use crate::folder::{Folder, MemoryFolder};
use crate::json::{self, Kind, Value};
use crate::reading::{About, Reading};
use crate::span::{Source, Span};

pub use self::claude::read_list;

/// The role of a task for which its tool names none.
const ROLE: &str = "implementer";
/// What a task that was done before the import reports.
const DONE: &str = "done before the import";

/// A tool whose tasks can be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `tasks.md` of spec-kit.
    SpecKit,
    /// `tasks.json` of Task Master.
    TaskMaster,
    /// The JSON lines of beads.
    Beads,
    /// A folder with a task list of Claude Code.
    ClaudeTasks,
    /// Any Markdown file with check boxes.
    CheckList,
}

impl Tool {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SpecKit => "spec-kit",
            Self::TaskMaster => "Task Master",
            Self::Beads => "beads",
            Self::ClaudeTasks => "Claude Code tasks",
            Self::CheckList => "check list",
        }
    }

    /// The tool that wrote a file with this ending and this text; nothing if it may be a table of tasks.
    pub fn of_file(ending: &str, text: &str) -> Option<Self> {
        match ending {
            "md" | "markdown" if spec_kit::is_one(text) => Some(Self::SpecKit),
            "md" | "markdown" => Some(Self::CheckList),
            "jsonl" | "ndjson" => Some(Self::Beads),
            "json" => {
                let document = json::parse(text.trim_start_matches('\u{FEFF}')).ok()?;
                task_master::is_one(document.root()).then_some(Self::TaskMaster)
            }
            _ => None,
        }
    }
}

/// What was taken over.
#[derive(Debug)]
pub struct Imported {
    /// Whose it was.
    pub tool: Tool,
    /// The tasks and what was asked for; nothing if there is an error.
    pub session: Option<Session>,
    /// What was left behind, one line each.
    pub left: Vec<String>,
    /// What is wrong or odd.
    pub findings: Findings,
    /// The texts that findings point into.
    pub sources: Sources,
}

/// Reads a file of a tool. A tag chooses one of the lists of Task Master.
pub fn read(tool: Tool, file: &str, text: &str, tag: Option<&str>) -> Imported {
    let folder = MemoryFolder::default();
    let mut import = Import::new(&folder, file);
    let text = text.trim_start_matches('\u{FEFF}');
    match tool {
        Tool::SpecKit => spec_kit::read(&mut import, text),
        Tool::TaskMaster => task_master::read(&mut import, text, tag),
        Tool::Beads => beads::read(&mut import, text),
        Tool::CheckList => check_list::read(&mut import, text),
        Tool::ClaudeTasks => claude::read_one(&mut import, text),
    }
    let file = import.drafts.file.clone();
    import.reading.sources.insert(file, Source::new(text.to_owned()));
    import.finish(tool)
}

/// One task as its tool has it.
struct New {
    file: Arc<str>,
    id: String,
    /// Where its id stands.
    place: Span,
    title: String,
    description: String,
    /// Who is to do it, if the tool says so.
    role: Option<String>,
    is_done: bool,
    priority: Priority,
    dependencies: Vec<(String, Span)>,
}

/// An import that is going on.
struct Import<'f> {
    reading: Reading<'f>,
    drafts: Drafts,
    left: Vec<String>,
    requirement: String,
}

impl<'f> Import<'f> {
    fn new(folder: &'f dyn Folder, file: &str) -> Self {
        let drafts = Drafts::new(file.into());
        Self { reading: Reading::new(folder, file), drafts, left: Vec::new(), requirement: String::new() }
    }

    /// Takes a task over.
    fn take(&mut self, new: New) {
        let New { file, id, place, title, description, role, is_done, priority, dependencies } = new;
        let findings = &mut self.reading.findings;
        let Some(id) = draft::task_id(&id, &file, place, findings) else { return };
        let role = role.map(|role| role.trim().trim_start_matches('@').to_owned()).filter(|role| !role.is_empty());
        let Some(role) = draft::role_name(role.as_deref().unwrap_or(ROLE), &file, place, findings) else { return };
        let mut task = Task { title, description, priority, ..Task::new(id, role) };
        if task.description.trim().is_empty() {
            task.description.clone_from(&task.title);
        }
        if task.description.trim().is_empty() {
            let message = format!("task '{}' does not say what to do", task.id);
            let finding = Finding::error(Code::MissingField, message).at(&file, place, "no title and no description");
            findings.push(finding.help("give it a title in the tool that it comes from"));
        }
        if is_done {
            task.status = TaskStatus::Completed;
            task.findings = Some(DONE.to_owned());
        }
        let (mut places, mut known) = (Vec::new(), HashSet::new());
        for (dependency, place) in dependencies {
            if !known.insert(dependency.clone()) {
                continue;
            }
            if let Some(dependency) = draft::task_id(&dependency, &file, place, findings) {
                task.dependencies.push(dependency);
                places.push(place);
            }
        }
        self.drafts.push_in(file, task, place, places);
    }

    /// Names some things that are left behind: how many, what, and the first of them.
    fn leave(&mut self, what: &str, all: &[String]) {
        const SHOWN: usize = 5;
        if all.is_empty() {
            return;
        }
        let more = if all.len() > SHOWN { format!(" and {} more", all.len() - SHOWN) } else { String::new() };
        let shown = all.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        self.left.push(format!("{what} ({}): {shown}{more}", all.len()));
    }

    fn finish(self, tool: Tool) -> Imported {
        let Self { reading, drafts, left, requirement } = self;
        let Reading { mut findings, mut sources, .. } = reading;
        if drafts.tasks.is_empty() && !findings.has_errors() {
            let message = format!("{} has no tasks ({})", drafts.file, tool.name());
            findings.push(Finding::error(Code::MissingField, message).file(&drafts.file).help(tool.example()));
        }
        let sealed = drafts.seal(&mut findings).is_some() && !findings.has_errors();
        let session = SessionId::parse("import").ok().filter(|_| sealed).map(|id| {
            let mut session = Session::new(id);
            (session.requirement, session.tasks) = (requirement, drafts.tasks);
            session
        });
        sources.keep_those_of(&findings);
        Imported { tool, session, left, findings, sources }
    }
}

impl Tool {
    /// What the smallest file of it looks like.
    const fn example(self) -> &'static str {
        match self {
            Self::SpecKit => "write a task as: - [ ] T001 Create the project in src/",
            Self::TaskMaster => "let Task Master write it: task-master parse-prd",
            Self::Beads => "let beads write it: bd export -o issues.jsonl",
            Self::ClaudeTasks => "name a folder below ~/.claude/tasks/ that holds files such as 1.json",
            Self::CheckList => "write a task as: - [ ] Add a login",
        }
    }
}

/// Paragraphs of a description: what is said first, then other fields under their names.
fn description(first: &str, more: &[(&str, Option<String>)]) -> String {
    let mut text = first.trim_end().to_owned();
    for (name, value) in more {
        let Some(value) = value.as_deref().map(str::trim).filter(|value| !value.is_empty()) else { continue };
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&format!("{name}:\n{value}"));
    }
    text
}

/// The unknown fields of an object, as text under their own names.
fn others(value: Value<'_, '_>, known: &crate::shape::Object) -> Vec<(String, String)> {
    let says = |value: Value<'_, '_>| match value.kind() {
        Kind::Null => None,
        Kind::Text | Kind::EscapedText => {
            value.as_text().filter(|text| !text.trim().is_empty()).map(|t| t.into_owned())
        }
        Kind::Array if value.items().next().is_none() => None,
        Kind::Object if value.entries().next().is_none() => None,
        _ => Some(value.raw().to_owned()),
    };
    let unknown = value.entries().filter(|entry| known.field(&entry.name()).is_none());
    unknown.filter_map(|entry| Some((entry.name().into_owned(), says(entry.value)?))).collect()
}

/// Checks a document of a tool against its shape, as an error.
fn check(
    reading: &mut Reading<'_>,
    file: &Arc<str>,
    about: &About,
    document: &json::Document<'_>,
    ty: &crate::shape::Type,
) {
    reading.check(file, about, Severity::Error, document, ty);
}

/// The name of a role, if there is one.
fn role(name: Option<String>) -> Option<String> {
    name.filter(|name| RoleName::parse(name.trim().trim_start_matches('@')).is_ok())
}
