//! The files that people and agents read, rendered from the state of a run: a function of the session, the state and the
//! run's name. They can always be rendered again, and nothing that happens in a run depends on them.
//!
//! One file here for each view. The driver of a run calls [`Views::begin`] before anything starts, [`Views::starts`] before
//! each worker, [`Views::changed`] for each event, [`Views::render`] now and then, and [`Views::finish`] at the end. Each
//! says what could not be written; a run goes on without.

mod artifacts;
mod context;
mod discoveries;
mod fitting;
mod folders;
mod interactive;
pub(crate) mod own_file;
mod pages;
pub(crate) mod present;
mod put;
mod registry;
pub(crate) mod state;
#[cfg(test)]
mod tests;
mod took;
mod wave;

use std::collections::BTreeSet;

use team_executor_core::run::{Cadence, Event, Run, Then};
use team_executor_core::{ExecMode, Session, SessionStatus, TaskIndex};
use team_executor_files::{Dialect, limits};
use team_executor_store::{Derived, Disk, Durability, ReplaceError};
use team_executor_trees::Overview;

pub(crate) use self::folders::Folders;
pub(crate) use self::folders::{leave, open};
pub(crate) use self::own_file::OwnFile;
pub(crate) use self::pages::{PagePlace, TASKS, table_text};
pub(crate) use self::put::put;
use self::wave::Waves;

/// What is known of a run before it begins.
#[derive(Debug)]
pub(crate) struct About {
    /// Its name.
    pub run: String,
    /// How its session is written.
    pub dialect: Dialect,
    /// The session's own files.
    pub own: Vec<OwnFile>,
    /// Wave by wave or not.
    pub cadence: Cadence,
    /// Which start of the machine this is.
    pub boot: String,
}

/// Everything that a run renders.
#[derive(Debug)]
pub(crate) struct Views<D> {
    folders: Folders<D>,
    about: About,
    /// What was rendered last.
    derived: Derived,
    /// The files that a power cut may still take, by their keys.
    undurable: BTreeSet<String>,
    /// A table with columns that are not ours, which stay.
    extra: Option<String>,
    /// Interactive tasks whose results are not up to date.
    results: BTreeSet<TaskIndex>,
    /// Tasks whose own files are not up to date.
    stale: BTreeSet<TaskIndex>,
    waves: Waves,
    /// Where the session stood before.
    stood: Option<SessionStatus>,
    /// What was said already.
    said: BTreeSet<String>,
    /// How many bytes a file has that can be read again.
    most: u64,
    /// What tasks changed in trees of their own.
    pub(crate) changes: Option<Overview>,
    /// Others wrote into the session's own files, which are left alone until that is taken in.
    touched: bool,
}

impl<D: Disk> Views<D> {
    /// Nothing is written yet.
    pub(crate) fn new(folders: Folders<D>, about: About) -> Self {
        let derived = pages::read(&folders.executor).unwrap_or_default();
        let (results, said) = (BTreeSet::new(), BTreeSet::new());
        let (waves, most) = (Waves::default(), limits::TASKS_BYTES);
        // An executor that was killed had not made them durable.
        let undurable = derived.files.keys().filter(|_| derived.boot.is_some()).cloned().collect();
        let mut views = Self {
            folders,
            about,
            derived,
            undurable,
            extra: None,
            results,
            stale: BTreeSet::new(),
            waves,
            stood: None,
            said,
            most,
            changes: None,
            touched: false,
        };
        views.keep_columns();
        views
    }

    /// Cleans up after a run that was killed, and makes the session active. The journal has this length.
    pub(crate) fn begin(&mut self, session: &mut Session, rules: &Run, journal: u64) -> Vec<String> {
        let mut problems = Vec::new();
        self.derived.boot = Some(self.about.boot.clone());
        for file in self.about.own.clone() {
            self.see(file.place, &file.name, journal);
        }
        note(&mut problems, self.save(Durability::Durable));
        if !session.reported.is_empty() {
            // From now on the session's own file says so, and an edit of it does not set these tasks back.
            problems.extend(self.write_own(session, rules, journal));
        }
        note(&mut problems, wave::clean(&self.folders.run));
        if self.about.cadence == Cadence::Wave {
            self.waves = Waves::plan(session, rules.graph());
        }
        self.stood = Some(session.status);
        session.status = state::while_it_runs(session.status);
        // A finished session gains no file.
        let is_open = (0..)
            .map(TaskIndex)
            .zip(&session.tasks)
            .any(|(index, _)| rules.status(index).is_some_and(|status| !status.is_over()));
        for (index, task) in (0..).map(TaskIndex).zip(&session.tasks) {
            if task.exec_mode == ExecMode::Interactive && rules.view(index).is_some_and(|view| view.attempt > 0) {
                self.results.insert(index);
            }
            if let Some(disk) = &self.folders.discoveries
                && rules.view(index).is_some_and(|view| view.status.is_over() && (is_open || view.since.is_some()))
                && !discoveries::is_there(disk, &task.id)
            {
                problems.extend(settled(disk, task.clone(), index, rules));
            }
        }
        self.unsaid(problems)
    }

    /// A worker is about to be started.
    pub(crate) fn starts(&mut self, session: &mut Session, rules: &Run, task: TaskIndex) -> Vec<String> {
        let mut problems = Vec::new();
        if self.about.cadence == Cadence::Wave {
            let wave = rules.graph().wave(task);
            note(&mut problems, self.waves.begins(&self.folders.run, session, rules.graph(), rules, wave));
        }
        if let Some(disk) = &self.folders.discoveries
            && let Some(task) = session.tasks.get(task.get())
        {
            note(&mut problems, discoveries::attempt_begins(disk, &task.id));
        }
        self.unsaid(problems)
    }

    /// Something happened. What others wait for is written at once, the rest when there is time.
    pub(crate) fn changed(&mut self, session: &Session, rules: &Run, event: &Event) -> Vec<String> {
        let mut problems = Vec::new();
        if let (Event::Added { .. }, Cadence::Wave) = (event, self.about.cadence) {
            self.waves.grow(session, rules.graph());
        }
        let one = event.task();
        let many = match event {
            Event::Added { tasks, .. } | Event::Reset { tasks, .. } | Event::Returned { tasks, .. } => tasks.as_slice(),
            _ => &[],
        };
        let is_interactive = |task: &TaskIndex| {
            session.tasks.get(task.get()).is_some_and(|task| task.exec_mode == ExecMode::Interactive)
        };
        self.results.extend(one.iter().chain(many).copied().filter(is_interactive));
        self.stale.extend(one.iter().chain(many).copied());
        let is_over = matches!(event, Event::Completed { .. } | Event::Failed { then: Then::Over, .. });
        if let (Some(disk), Some(index), true) = (&self.folders.discoveries, one, is_over)
            && let Some(task) = session.tasks.get(index.get())
        {
            problems.extend(settled(disk, task.clone(), index, rules));
        }
        if let Event::WaveMerged { .. } = event {
            note(&mut problems, self.waves.remove(&self.folders.run));
        }
        self.unsaid(problems)
    }

    /// Renders what people look at while a run goes on. A power cut may take it. The session's own files can be left alone.
    pub(crate) fn render(&mut self, session: &mut Session, rules: &Run, journal: u64, own: bool) -> Vec<String> {
        let happened = state::has_happened(session, rules);
        state::refresh(session, rules, &self.about.run);
        let mut problems = self.side(session, rules, Durability::Rendered);
        let mut pages = vec![self.tasks(session, rules)];
        if own && self.about.dialect != Dialect::TasksCsv && happened {
            let stale = std::mem::take(&mut self.stale);
            pages.extend(self.own(session, rules, Some(&stale)));
        }
        problems.extend(self.show(pages, journal, Durability::Rendered));
        self.unsaid(problems)
    }

    /// Puts right what workers did to what others had left.
    pub(crate) fn put_right(&self, session: &Session, rules: &Run) -> Vec<String> {
        let Some(disk) = &self.folders.discoveries else { return Vec::new() };
        let tasks = (0..).map(TaskIndex).zip(&session.tasks);
        tasks.filter_map(|(index, task)| settled(disk, task.clone(), index, rules)).collect()
    }

    /// Renders everything that a run leaves when it ends or stops, for good. The session becomes `at_end` if every task is
    /// completed. Nothing was left out if nothing is said.
    pub(crate) fn finish(
        &mut self,
        session: &mut Session,
        rules: &Run,
        journal: u64,
        at_end: SessionStatus,
        summary: &str,
    ) -> Vec<String> {
        let happened = state::has_happened(session, rules);
        state::refresh(session, rules, &self.about.run);
        session.status = match self.stood.filter(|_| !happened) {
            Some(stood) => stood,
            None => state::at_its_end(session, rules, at_end),
        };
        let mut problems = self.side(session, rules, Durability::Durable);
        note(&mut problems, self.waves.remove(&self.folders.run));
        for (name, text) in [
            ("results.csv", took::results(session, rules)),
            ("context.md", context::text(session, rules, &self.about.run, summary, self.changes.as_ref())),
        ] {
            note(&mut problems, put(&self.folders.run, name, &text, Durability::Durable));
        }
        problems.extend(self.write_both(session, rules, journal));
        // Until it is written the run counts as unfinished: else what it says would be taken for a wish to begin anew.
        let unread = self.about.own.iter().find(|file| self.bytes(file.place, &file.name).is_none());
        problems.extend(unread.map(|file| not_written(format!("cannot read {}", file.name))));
        problems
    }

    /// What no person edits.
    fn side(&mut self, session: &Session, rules: &Run, durability: Durability) -> Vec<String> {
        let mut problems = Vec::new();
        for index in std::mem::take(&mut self.results) {
            note(&mut problems, interactive::result(&self.folders.interactive, session, index, rules));
        }
        let registry = registry::text(session, rules, &self.about.run);
        note(&mut problems, put(&self.folders.agents, "registry.json", &registry, durability));
        if let Some(text) = artifacts::text(session) {
            note(&mut problems, put(&self.folders.run, artifacts::NAME, &text, durability));
        }
        problems
    }

    /// What was not said before.
    fn unsaid(&mut self, problems: Vec<String>) -> Vec<String> {
        problems.into_iter().filter(|problem| self.said.insert(problem.clone())).collect()
    }
}

fn note(problems: &mut Vec<String>, written: Result<(), ReplaceError>) {
    problems.extend(written.err().map(not_written));
}

fn not_written(error: impl std::fmt::Display) -> String {
    format!("a file was not written: {error}")
}

/// Leaves the discovery of a task that is over.
fn settled<D: Disk>(disk: &D, mut task: team_executor_core::Task, index: TaskIndex, rules: &Run) -> Option<String> {
    state::refresh_task(&mut task, index, rules);
    discoveries::settle(disk, &task).unwrap_or_else(|error| Some(not_written(error)))
}
