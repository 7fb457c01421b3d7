//! How a run came out: what was delivered and by whom, how far it got, wave by wave and role by role, and how long it took.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use team_executor_beneath::{Dir, ours};
use team_executor_core::run::{Counts, Decision, Ending, Run};
use team_executor_core::{Joining, RoleLoad, Session, TaskId, TaskIndex, TaskStatus, Validation, Verdict, joining};
use team_executor_files::manifest;
use team_executor_store::run_folder::component;
use team_executor_trees::Landed;

use crate::conclude::artifacts::{Fault, Shelf, Shelved};
use crate::cost::budget::Halted;
use crate::cost::usage::{self, Spent, Sum, sums};

/// Deliverables are not listed beyond so many; the folder has them all.
const LISTED: usize = 1000;
/// Shorter times of a task are not worth a word.
const WORTH_A_WORD: Duration = Duration::from_secs(10);

/// How a run came out.
#[derive(Debug)]
pub struct Report {
    /// Its name.
    pub run: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The folder of its session.
    pub session: PathBuf,
    /// Why it ended.
    pub ending: Ending,
    /// How many tasks there are of each status.
    pub counts: Counts,
    /// The tasks that failed, in the order of the session; at most 1000.
    pub failed: Vec<FailedTask>,
    /// How many of each wave are of which status, from the first wave.
    pub waves: Vec<WaveReport>,
    /// Who had how much to do, and did.
    pub roles: Vec<RoleLoad>,
    /// Who joined by rule, and why.
    pub joining: Vec<Joining>,
    /// How long workers were at work.
    pub duration: Duration,
    /// How long none was: the run was held, paused, or no executor had it.
    pub idle: Duration,
    /// What was delivered. Not looked for if the run had finished before.
    pub deliverables: Vec<Deliverable>,
    /// Artifacts that are not what was delivered any more, and why, one line each.
    pub faults: Vec<String>,
    /// How often work was sent back.
    pub rounds: u32,
    /// What supervisors warn of, a line each.
    pub warned: Vec<String>,
    /// What people decided, a line each.
    pub decisions: Vec<String>,
    /// How many artifacts are in which state.
    pub artifacts: Vec<(Validation, usize)>,
    /// What agents used, attempt by attempt.
    pub used: Vec<Spent>,
    /// Why it stopped by itself, if it did.
    pub halt: Option<Halted>,
    /// How many tasks of the chosen part there are of each status, where only a part was run.
    pub part: Option<Counts>,
    /// The next start finds it at a checkpoint, where a person decides.
    pub at_checkpoint: bool,
    /// What the user gets of what tasks changed in trees of their own.
    pub landed: Option<Landed>,
    /// It had finished before, and nothing was done.
    pub already: bool,
}

/// A task that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTask {
    /// Its id.
    pub task: String,
    /// Its role.
    pub role: String,
    /// Why its last attempt failed.
    pub reason: String,
}

/// How one wave came out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaveReport {
    /// How many tasks it has.
    pub tasks: usize,
    /// How many are completed.
    pub completed: usize,
    /// How many failed.
    pub failed: usize,
    /// How many were skipped.
    pub skipped: usize,
}

/// One file that was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deliverable {
    /// Where it is.
    pub path: PathBuf,
    /// Which task made it, where that is known.
    pub task: Option<String>,
    /// Which role made it.
    pub role: String,
}

impl Report {
    /// The branch that holds what is completed, if tasks have trees of their own.
    pub fn branch(&self) -> Option<&str> {
        match self.landed.as_ref()? {
            Landed::Branch { name, .. } => Some(name),
            Landed::FastForward { branch, .. } => Some(branch),
            Landed::Nothing | Landed::Not { .. } => None,
        }
    }

    /// What the rules say about a run. What was delivered is not looked for.
    pub(crate) fn from_rules(rules: &Run, session: &Session, ending: Ending) -> Self {
        let statuses = rules.statuses();
        let mut waves = vec![WaveReport::default(); rules.graph().wave_count() as usize];
        for (task, status) in (0..).map(TaskIndex).zip(&statuses) {
            let Some(wave) = waves.get_mut((rules.graph().wave(task) as usize).saturating_sub(1)) else { continue };
            wave.tasks += 1;
            wave.completed += usize::from(*status == TaskStatus::Completed);
            wave.failed += usize::from(*status == TaskStatus::Failed);
            wave.skipped += usize::from(*status == TaskStatus::Skipped);
        }
        let failed = (0..).map(TaskIndex).zip(&statuses).filter(|(_, status)| **status == TaskStatus::Failed);
        let failed = failed.take(LISTED).map(|(index, _)| {
            let task = &session.tasks[index.get()];
            let reason = rules.view(index).and_then(|view| view.error).unwrap_or_default().to_owned();
            FailedTask { task: task.id.to_string(), role: task.role.to_string(), reason }
        });
        Self {
            run: String::new(),
            folder: PathBuf::new(),
            session: PathBuf::new(),
            ending,
            counts: rules.counts(),
            failed: failed.collect(),
            waves,
            roles: RoleLoad::all(session, &statuses),
            joining: joining(session, None, &[]),
            duration: Duration::from_millis(rules.active().0),
            idle: Duration::from_millis(rules.idle().0),
            deliverables: Vec::new(),
            faults: Vec::new(),
            rounds: rules.rounds(),
            warned: warned(rules, session),
            decisions: rules.decisions().iter().map(|decision| described(decision, session)).collect(),
            artifacts: Vec::new(),
            used: usage::collect(rules, session),
            part: rules.part(),
            halt: rules.halt().map(|why| Halted::describe(why, rules, session)),
            at_checkpoint: rules.checkpoint().is_some(),
            landed: None,
            already: false,
        }
    }

    /// Says where the run and its session are.
    pub(crate) fn at(self, run: &str, folder: &Path, session: &Path) -> Self {
        Self { run: run.to_owned(), folder: folder.to_owned(), session: session.to_owned(), ..self }
    }

    /// Looks for what was delivered: the files that workers left for their tasks, and what the session has registered. What
    /// stands there of tasks that are not completed is no result.
    pub(crate) fn with_deliverables(mut self, session: &Session, rules: &Run, shelf: &Shelf) -> Self {
        let statuses = rules.statuses();
        let is_done = |at: usize| statuses.get(at) == Some(&TaskStatus::Completed);
        let index_of = |id: &TaskId| rules.graph().index_of(id.as_str());
        let left = self.folder.join("artifacts");
        let left = ours::open(&left).ok();
        let names: HashSet<String> =
            left.as_ref().and_then(|left| left.list().ok()).unwrap_or_default().into_iter().collect();
        let completed = session.tasks.iter().enumerate().filter(|(at, _)| is_done(*at));
        let of_tasks = completed.filter_map(|(_, task)| {
            let name = Some(component(task.id.as_str())).filter(|name| names.contains(name))?;
            let folder = left.as_ref()?.dir(&name).ok()?;
            let delivered = files(folder).into_iter().filter(|path| !is_ours(path));
            Some(delivered.map(|path| Deliverable {
                path,
                task: Some(task.id.to_string()),
                role: task.role.to_string(),
            }))
        });
        let in_folder: Vec<Deliverable> = of_tasks.flatten().take(LISTED).collect();
        let is_result = |shelved: &&Shelved| {
            let task = shelved.artifact.task.as_ref().and_then(index_of);
            task.is_none_or(|task| is_done(task.get()))
        };
        let registered = shelf.artifacts.iter().filter(is_result).map(|shelved| Deliverable {
            path: shelf.path(shelved),
            task: shelved.artifact.task.as_ref().map(ToString::to_string),
            role: shelved.artifact.creator.to_string(),
        });
        let known: HashSet<&Path> = in_folder.iter().map(|deliverable| deliverable.path.as_path()).collect();
        let registered =
            registered.filter(|one| !known.contains(one.path.as_path()) && ours::look_at(&one.path).is_ok());
        let registered: Vec<Deliverable> = registered.collect();
        self.deliverables = in_folder.into_iter().chain(registered).take(LISTED).collect();
        let fault = |(shelved, fault): (&Shelved, Fault)| format!("{} {}", shelved.artifact.path, fault.describe());
        let in_state =
            |state: Validation| shelf.artifacts.iter().filter(|one| one.artifact.validation == state).count();
        let states = Validation::ALL.iter().map(|state| (*state, in_state(*state)));
        self.artifacts = states.filter(|(_, count)| *count > 0).collect();
        // That reads everything again, and a person who stops a run does not wait for it.
        let faults = if self.is_complete() { shelf.faults() } else { Vec::new() };
        self.faults = faults.into_iter().map(fault).collect();
        self
    }

    /// Every task is over.
    pub fn is_complete(&self) -> bool {
        matches!(self.ending, Ending::AllCompleted | Ending::WithFailures)
    }

    /// The verdict on the run, in one line.
    pub fn headline(&self) -> String {
        let Counts { completed, failed, skipped, .. } = self.counts;
        let total = self.counts.total();
        let how = match self.ending {
            Ending::AllCompleted => return format!("Pipeline complete: {completed}/{total} tasks completed"),
            Ending::WithFailures if failed > 0 => "failed",
            Ending::WithFailures => "finished",
            Ending::Paused | Ending::Drained | Ending::Stopped => "stopped",
        };
        let others = [(failed, "failed"), (skipped, "skipped")].into_iter().filter(|(count, _)| *count > 0);
        let others: String = others.map(|(count, what)| format!("{count} {what}, ")).collect();
        format!("Run {how}: {others}{completed} of {total} completed")
    }

    /// Waves in which tasks failed or were skipped, one line each. Neighbours without a failure share a line.
    pub fn troubled_waves(&self) -> Vec<String> {
        let is_skipped = |wave: &WaveReport| wave.failed == 0 && wave.skipped > 0;
        let mut lines = Vec::new();
        let mut first = 1;
        for group in self.waves.chunk_by(|one, next| is_skipped(one) && is_skipped(next)) {
            let last = first + group.len() - 1;
            let waves = if first == last { format!("wave {first}") } else { format!("waves {first} to {last}") };
            let sum = |of: fn(&WaveReport) -> usize| group.iter().map(of).sum::<usize>();
            let (failed, skipped) = (sum(|wave| wave.failed), sum(|wave| wave.skipped));
            if failed + skipped > 0 {
                lines.push(format!("{waves}: {failed} failed, {skipped} skipped"));
            }
            first = last + 1;
        }
        lines
    }

    /// How long it took, for people, with the idle time beside it if there is any to speak of.
    pub fn duration_words(&self) -> String {
        match self.idle.as_secs() {
            0 => seconds(self.duration),
            _ => format!("{} ({} idle)", seconds(self.duration), seconds(self.idle)),
        }
    }

    /// Who did how many of their tasks.
    pub fn roles_done(&self) -> Vec<String> {
        let used = self.roles.iter().filter(|role| role.tasks > 0);
        used.map(|role| format!("{} {}/{}", role.name, role.completed, role.tasks)).collect()
    }

    /// What was delivered and how it was judged: what each line is about, and the line. Nothing about what did not happen.
    pub fn judged(&self) -> Vec<(&'static str, String)> {
        let artifacts: Vec<_> = self.artifacts.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let artifacts = (!artifacts.is_empty()).then(|| ("Artifacts", artifacts.join(", ")));
        let rounds = (self.rounds > 0).then(|| {
            (
                "Rounds",
                if self.rounds == 1 { "sent back once".to_owned() } else { format!("sent back {} times", self.rounds) },
            )
        });
        let warned = self.warned.iter().map(|warning| ("Warned", warning.clone()));
        let decisions = self.decisions.iter().map(|decision| ("Decided", decision.clone()));
        artifacts.into_iter().chain(rounds).chain(warned).chain(decisions).collect()
    }

    /// What agents used, by task, agent and model, and how a person opens their conversations.
    fn usage_table(&self, text: &mut String) {
        let cells = |row: &[String]| row.iter().map(|cell| one_line(cell).replace('|', r"\|")).collect::<Vec<_>>();
        let rows = usage::table(&self.used);
        if !rows.is_empty() {
            let line = "|---".repeat(usage::COLUMNS.len());
            writeln!(text, "\n## Usage\n\n| {} |\n{line}|", usage::COLUMNS.join(" | ").to_lowercase()).ok();
        }
        for row in rows.iter().take(LISTED) {
            writeln!(text, "| {} |", cells(row).join(" | ")).ok();
        }
        let opens = self.used.iter().filter_map(|one| Some((one, one.used.attach.as_deref()?)));
        for (nth, (one, attach)) in opens.take(LISTED).enumerate() {
            if nth == 0 {
                text.push_str("\n## Conversations\n\nOpen one in the folder of the project:\n\n");
            }
            writeln!(text, "- {}, attempt {}: `{}`", one_line(&one.task), one.attempt, one_line(attach)).ok();
        }
    }

    /// As a part of `context.md`.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("{}\n\n", self.headline());
        for FailedTask { task, role, reason } in &self.failed {
            writeln!(text, "- failed: {} ({}): {}", one_line(task), one_line(role), one_line(reason)).ok();
        }
        for wave in self.troubled_waves() {
            writeln!(text, "- {wave}").ok();
        }
        writeln!(text, "- roles: {}", one_line(&self.roles_done().join(", "))).ok();
        for one in &self.joining {
            writeln!(text, "- {}", one_line(&one.to_string())).ok();
        }
        for (about, line) in self.judged() {
            writeln!(text, "- {}: {}", about.to_lowercase(), one_line(&line)).ok();
        }
        writeln!(text, "- duration: {}", self.duration_words()).ok();
        if !self.used.is_empty() {
            writeln!(text, "- usage: {}", Sum::total(&self.used).words()).ok();
            for (role, sum) in sums(&self.used, |spent| &spent.role) {
                writeln!(text, "  - {}: {}", one_line(role), sum.words()).ok();
            }
        }
        writeln!(text, "- session: {}", one_line(&self.session.display().to_string())).ok();
        if !self.faults.is_empty() {
            text.push_str("\n## Not as it was delivered\n\n");
        }
        for fault in &self.faults {
            writeln!(text, "- {}", one_line(fault)).ok();
        }
        if !self.deliverables.is_empty() {
            text.push_str("\n## Deliverables\n\n");
        }
        for deliverable in &self.deliverables {
            let path = deliverable.path.strip_prefix(&self.folder).unwrap_or(&deliverable.path);
            let by = deliverable.task.as_deref().unwrap_or("unknown task");
            let line = format!("- {} by {by} ({})", path.display(), deliverable.role);
            writeln!(text, "{}", one_line(&line)).ok();
        }
        self.usage_table(&mut text);
        text
    }
}

/// What supervisors said who let the run go on with a warning.
fn warned(rules: &Run, session: &Session) -> Vec<String> {
    let tasks = (0..).map(TaskIndex).zip(&session.tasks);
    let views = tasks.filter_map(|(index, task)| Some((task, rules.view(index)?)));
    let warn = views.filter(|(_, view)| view.verdict == Some(Verdict::Warn) && view.status == TaskStatus::Completed);
    warn.map(|(task, view)| warning(task.id.as_str(), view.findings.unwrap_or_default())).collect()
}

/// What a supervisor warns of.
pub(crate) fn warning(task: &str, findings: &str) -> String {
    if findings.is_empty() { format!("{task} says warn") } else { format!("{task} says warn: {findings}") }
}

/// A decision in a line.
fn described(decision: &Decision, session: &Session) -> String {
    let id = |task: TaskIndex| session.tasks.get(task.get()).map_or("", |task| task.id.as_str());
    let at = decision.checkpoint.map(|task| format!(" after {}", id(task))).unwrap_or_default();
    let tasks: Vec<_> = decision.tasks.iter().map(|task| id(*task)).collect();
    let tasks = if tasks.is_empty() { String::new() } else { format!(" {}", tasks.join(", ")) };
    let text = if decision.text.is_empty() { String::new() } else { format!(": {}", decision.text) };
    format!("{}{tasks}{at}{text}", decision.action)
}

/// A length of time for people: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`.
pub fn seconds(length: Duration) -> String {
    let all = length.as_secs();
    match all {
        0..10 => format!("{:.1} s", length.as_secs_f64()),
        10..60 => format!("{all} s"),
        60..3600 => format!("{} min {} s", all / 60, all % 60),
        _ => format!("{} h {} min", all / 3600, all % 3600 / 60),
    }
}

/// How long a task took, for people: `3 min 5 s, 2 attempts, waited 40 s`; nothing if it was short.
pub fn took_words(attempts: u32, ran: Duration, waited: Duration) -> String {
    let long = |length: Duration| (length >= WORTH_A_WORD).then(|| seconds(length));
    let several = (attempts > 1).then(|| format!("{attempts} attempts"));
    let waited = long(waited).map(|waited| format!("waited {waited}"));
    [long(ran), several, waited].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The files below a folder, by name. Links are not followed.
fn files(folder: Dir) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder];
    while let Some(folder) = waiting.pop()
        && found.len() < LISTED
    {
        for name in folder.list().unwrap_or_default() {
            match folder.dir(&name) {
                Ok(within) => waiting.push(within),
                Err(_) => found.push(folder.whole(&name)),
            }
        }
    }
    found.sort();
    found
}

/// Whether a file describes artifacts and is none.
fn is_ours(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name == manifest::NAME)
}

/// Text of others stays within its line.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_task_are_said_where_they_matter() {
        let said = |attempts, ran, waited| took_words(attempts, Duration::from_secs(ran), Duration::from_secs(waited));
        assert_eq!(said(1, 9, 9), "");
        assert_eq!(said(1, 185, 0), "3 min 5 s");
        assert_eq!(said(2, 185, 40), "3 min 5 s, 2 attempts, waited 40 s");
    }

    #[test]
    fn lengths_of_time_are_short_to_read() {
        let shown = |millis| seconds(Duration::from_millis(millis));
        assert_eq!(shown(449), "0.4 s");
        assert_eq!(shown(12_900), "12 s");
        assert_eq!(shown(185_000), "3 min 5 s");
        assert_eq!(shown(7_800_000), "2 h 10 min");
    }

    #[test]
    fn files_are_found_below_folders_and_behind_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir_all(root.join("b/c")).unwrap();
        for name in ["z", "b/c/y", "a"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(root, root.join("b/loop")).unwrap();
        let found: Vec<_> = files(Dir::open(root).unwrap())
            .into_iter()
            .map(|path| path.strip_prefix(root).unwrap().to_owned())
            .collect();
        assert_eq!(found, ["a", "b/c/y", "b/loop", "z"].map(PathBuf::from));
    }
}
