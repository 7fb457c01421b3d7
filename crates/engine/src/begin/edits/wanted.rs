//! What the changes of a person come to: which of them are legal moves, and what the rules are told.

use std::collections::{BTreeSet, HashSet};

use team_executor_core::run::{Input, Refused, Run};
use team_executor_core::{Session, Task, TaskId, TaskIndex, TaskStatus, Timestamp};
use team_executor_files::Dialect;

use super::table::Change;
use crate::render::views::state;

/// Why a task that a person skipped did not run.
const REASON: &str = "skipped by a person";
/// The results of a task: a person who resets it may empty these too.
const RESULTS: [&str; 5] = ["findings", "findings_full", "error", "quality_score", "supervision_verdict"];

/// What a person wants.
pub(super) struct WantedEdits<'a> {
    session: &'a Session,
    rules: &'a Run,
    dialect: Dialect,
    /// The session's own file was changed too.
    both: bool,
    again: BTreeSet<TaskIndex>,
    skip: BTreeSet<TaskIndex>,
    texts: Vec<(TaskIndex, Text)>,
    told: Vec<String>,
    refused: Vec<String>,
}

/// What can be taken over.
#[derive(Debug)]
pub(super) struct AcceptedEdits {
    pub(super) input: Option<Input>,
    pub(super) texts: Vec<(TaskIndex, Text)>,
    pub(super) told: Vec<String>,
}

/// Another text for a task.
#[derive(Debug)]
pub(super) enum Text {
    Title(String),
    Description(String),
}

impl Text {
    pub(super) fn put_into(self, task: &mut Task) {
        match self {
            Self::Title(text) => task.title = text,
            Self::Description(text) => task.description = text,
        }
    }
}

impl<'a> WantedEdits<'a> {
    pub(super) fn new(session: &'a Session, rules: &'a Run, dialect: Dialect, both: bool) -> Self {
        let (again, skip) = (BTreeSet::new(), BTreeSet::new());
        Self { session, rules, dialect, both, again, skip, texts: Vec::new(), told: Vec::new(), refused: Vec::new() }
    }

    /// This cannot be taken over.
    pub(super) fn refuse(&mut self, refused: Vec<String>) {
        self.refused.extend(refused);
    }

    /// What one of the session's own files says, of all tasks or of its own, against the states that it may have shown before.
    pub(super) fn of_session(&mut self, stated: &[TaskStatus], bases: &[Run], only: Option<&TaskId>) {
        let only = only.and_then(|task| self.rules.graph().index_of(task.as_str()));
        let all = (0..).map(TaskIndex).zip(stated).filter(|(index, _)| only.is_none_or(|only| only == *index));
        for (index, stated) in all {
            let shown = |base: &Run| base.status(index).map(|status| shown(state::shown(status, base), self.dialect));
            if !bases.iter().any(|base| shown(base) == Some(shown_as_is(*stated))) {
                self.status(index, shown_as_is(*stated));
            }
        }
    }

    /// What the run's table says.
    pub(super) fn of_table(&mut self, changes: &[Change]) {
        let status = |to: &str| {
            let status = if to.is_empty() { Some(TaskStatus::Pending) } else { TaskStatus::from_word(to) };
            status.map(shown_as_is)
        };
        let is_again = |change: &&Change| change.column == "status" && status(&change.to) == Some(TaskStatus::Pending);
        let again: HashSet<&str> = changes.iter().filter(is_again).map(|change| change.task.as_str()).collect();
        for change in changes {
            let Change { task: id, column, from, to } = change;
            let Some(task) = self.rules.graph().index_of(id) else { continue };
            match (*column, status(to)) {
                ("status", Some(status)) => self.status(task, status),
                (column, _) if to.is_empty() && RESULTS.contains(&column) && again.contains(id.as_str()) => {} // it will be
                ("title", _) => self.text(task, column, Text::Title(to.clone())),
                ("description", _) => self.text(task, column, Text::Description(to.clone())),
                _ => self.refused.push(format!("{id}: {column} {} -> {}", short(from), short(to))),
            }
        }
    }

    /// The inputs to the rules; or every edit that cannot be applied.
    pub(super) fn taken(mut self, now: Timestamp) -> Result<AcceptedEdits, Vec<String>> {
        let input = Input::Edited {
            now,
            again: self.again.iter().copied().collect(),
            skip: self.skip.iter().copied().collect(),
            reason: REASON.to_owned(),
        };
        let is_wanted = !self.again.is_empty() || !self.skip.is_empty();
        if is_wanted && let Some(refused) = self.rules.clone().step(input.clone()).refused {
            let why = self.why(refused);
            self.refused.push(why);
        }
        if !self.refused.is_empty() {
            return Err(self.refused);
        }
        Ok(AcceptedEdits { input: is_wanted.then_some(input), texts: self.texts, told: self.told })
    }

    fn status(&mut self, task: TaskIndex, to: TaskStatus) {
        let Some(now) = self.rules.status(task) else { return };
        let line = format!("{}: {now} -> {to}", self.id(task));
        match (to, now) {
            (TaskStatus::Pending, TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Skipped) => {
                let all = if now == TaskStatus::Completed { " (with everything that depends on it)" } else { "" };
                if self.again.insert(task) {
                    self.told.push(format!("{line}{all}"));
                }
            }
            (TaskStatus::Skipped, TaskStatus::Pending | TaskStatus::Ready) => {
                if self.skip.insert(task) {
                    self.told.push(line);
                }
            }
            (TaskStatus::Pending, _) => {} // it will be
            (to, now) if to == now => {}
            (TaskStatus::Skipped, TaskStatus::InProgress) => {
                self.refused.push(format!("{line} (its last attempt is not over; team-executor skip skips it)"));
            }
            _ => self.refused.push(format!("{line} (a person can only set pending and skipped)")),
        }
    }

    fn text(&mut self, task: TaskIndex, column: &str, text: Text) {
        let line = format!("{}: another {column}", self.id(task));
        let is_fresh = self
            .rules
            .view(task)
            .is_some_and(|view| view.attempt == 0 && (!view.status.is_over() || view.status == TaskStatus::Skipped));
        if !is_fresh {
            self.refused.push(format!("{line}, but it was tried already"));
        } else if let Some(file) = text_file(self.dialect) {
            self.refused.push(format!("{line}, but texts of this session stand in {file}; change it there"));
        } else if self.both {
            self.refused.push(format!("{line}, but the session's own file was changed too; change it there"));
        } else {
            self.told.push(line);
            self.texts.push((task, text));
        }
    }

    fn why(&self, refused: Refused) -> String {
        match refused {
            Refused::DependentRuns(task) => {
                format!("{}: it is running and depends on a task that was set back", self.id(task))
            }
            Refused::LaterWaveRuns(task) => format!("{}: it is running in a later wave", self.id(task)),
            refused => refused.to_string(),
        }
    }

    fn id(&self, task: TaskIndex) -> &str {
        self.session.tasks.get(task.get()).map_or("?", |task| task.id.as_str())
    }
}

/// The file that texts of tasks stand in, where it cannot take other texts from us.
const fn text_file(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Tc => Some("task-analysis.json"),
        Dialect::Chain => Some("session.json"),
        _ => None,
    }
}

/// How the session's own file shows a status.
fn shown(status: TaskStatus, dialect: Dialect) -> TaskStatus {
    match (dialect, status) {
        (Dialect::Tc, TaskStatus::Completed) => status,
        (Dialect::Tc, _) => TaskStatus::Pending,
        _ => shown_as_is(status),
    }
}

/// Whether a task could start at once is nothing that a person decides.
const fn shown_as_is(status: TaskStatus) -> TaskStatus {
    match status {
        TaskStatus::Ready => TaskStatus::Pending,
        status => status,
    }
}

/// A cell in a line.
fn short(text: &str) -> String {
    const CHARS: usize = 40;
    let cut: String = text.chars().take(CHARS).collect();
    format!("`{cut}{}`", if cut.len() < text.len() { "…" } else { "" })
}
