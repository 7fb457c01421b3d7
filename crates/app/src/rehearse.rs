//! The whole run beforehand, by the real engine with workers that only act, on a copy of the session.

mod copy;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use team_executor_agents::rehearsal::{Manner, duration};
use team_executor_agents::{self as agents};
use team_executor_core::run::{AtCheckpoint, Backoff, Budgets, Cadence, Learned};
use team_executor_core::{Graph, Millis, Reconciliation, Session, SessionStatus, TaskIndex};
use team_executor_engine::Prices;
use team_executor_engine::artifacts::Demands;
use team_executor_engine::control::Checkpoints;
use team_executor_engine::{self as engine, Event, Options, Report, Worker, Workers};
use team_executor_files::{Code, Finding};
use team_executor_store::{Lock, RealFile};

use self::copy::{Refusal, Stage};
use crate::App;
use crate::config::choose::{self, rehearsing};
use crate::config::defaults::Defaults;
use crate::config::{Flags, REHEARSAL};
use crate::environment::Place;
use crate::error::Error;
use crate::open::Opened;
use crate::remark::{Remark, warn};

/// The seconds that a rehearsal takes by default.
const SECONDS: u64 = 5;
/// And never slower than this.
const LEAST_SPEED: u64 = 60;

/// How a session is to be rehearsed.
#[derive(Debug, Default)]
pub struct RehearsalOptions<'a> {
    /// Tasks that fail.
    pub fail: &'a [String],
    /// Tasks that take long.
    pub slow: &'a [String],
    /// How many workers at once.
    pub concurrency: Option<u32>,
    /// When tasks start.
    pub cadence: Option<Cadence>,
    /// How many rehearsed seconds pass in one.
    pub speed: Option<u32>,
}

/// A rehearsal that can begin. It is the only one in the project meanwhile.
#[derive(Debug)]
pub struct Rehearsal {
    options: Options,
    slow: BTreeSet<TaskIndex>,
    _held: Lock<RealFile>,
}

impl App {
    /// Copies a session, and makes everything ready.
    pub fn rehearsal(
        &self,
        opened: &Opened,
        wanted: &RehearsalOptions<'_>,
        remarks: &mut Vec<Remark>,
    ) -> Result<Rehearsal, Error> {
        let (session, graph) = opened.runnable()?;
        let named = |ids: &[String]| -> Result<BTreeSet<TaskIndex>, Error> {
            ids.iter().map(|id| Ok(opened.task(id)?.2)).collect()
        };
        let (failing, slow) = (named(wanted.fail)?, named(wanted.slow)?);
        let statuses = Reconciliation::compare(session).statuses(session);
        for (flag, tasks) in [("--fail", &failing), ("--slow", &slow)] {
            let over = tasks.iter().map(|index| index.get()).filter(|task| statuses[*task].is_over());
            let remark = |task: usize| {
                let (id, status) = (&session.tasks[task].id, statuses[task]);
                format!("{id} is {status} already, so {flag} changes nothing about it")
            };
            warn(remarks, over.map(remark));
        }
        let place = self.around(opened.named())?;
        let config = place.config()?;
        let agent = Some(REHEARSAL.to_owned());
        let flags = Flags { agent, concurrency: wanted.concurrency, cadence: wanted.cadence, ..Flags::default() };
        // Of what is configured only the numbers count: no agent is run but this program.
        let tasks = choose::choose(&config, &flags, session, self.exe()?)?.tasks;
        let defaults = Defaults::choose(&config, &flags);
        let acts = Acts { failing, slow, attempts: defaults.retries.value.saturating_add(1) };
        let speed = wanted.speed.unwrap_or_else(|| speed(session, graph, &acts, defaults.concurrency.value));
        let workers = workers(session, self.exe()?, speed, &acts)?;
        let Stage { session: folder, lock } = stage(&place)?;
        let options = Options {
            folder,
            tasks,
            workers,
            backoff: faster(Backoff::default(), speed),
            ..self.acted(opened, &place, &defaults)?
        };
        Ok(Rehearsal { options, slow: acts.slow, _held: lock })
    }

    /// What is the same for all rehearsals of a session.
    fn acted(&self, opened: &Opened, place: &Place, defaults: &Defaults) -> Result<Options, Error> {
        let (session, graph) = opened.runnable()?;
        Ok(Options {
            folder: place.folder.clone(),
            current: place.current.clone(),
            exe: self.exe()?.to_owned(),
            environment: self.variables(),
            dialect: opened.dialect,
            session: session.clone(),
            graph: graph.clone(),
            slots: defaults.concurrency.value,
            limit: None,
            machine: None,
            part: None,
            cadence: defaults.cadence.value,
            retries: defaults.retries.value,
            rounds: defaults.rounds.value,
            proposals: 0,
            checkpoints: Checkpoints { wait: None, unattended: AtCheckpoint::Resume },
            backoff: Backoff::default(),
            tasks: BTreeMap::new(),
            fallbacks: BTreeMap::new(),
            quota_wait: None,
            budgets: Budgets::default(),
            prices: Prices::built_in_and([]),
            learned: Learned::default(),
            workers: Workers::default(),
            run: None,
            goes_on: true,
            ask: None,
            chooser: None,
            trees: None,
            allow_network: true,
            at_end: SessionStatus::Completed,
            remembered: None,
        })
    }
}

impl Rehearsal {
    /// How long an attempt at each task takes, in rehearsed time.
    pub fn durations(&self) -> Vec<Duration> {
        let indexed = (0..).map(TaskIndex).zip(&self.options.session.tasks);
        indexed.map(|(index, task)| duration(task.id.as_str(), self.slow.contains(&index))).collect()
    }

    /// Rehearses, and tells what happens.
    pub fn run(&mut self, tell: &mut dyn FnMut(Event)) -> Result<Report, Error> {
        Ok(engine::run(&mut self.options, tell)?)
    }
}

/// A copy of the session to rehearse on.
fn stage(place: &Place) -> Result<Stage, Error> {
    Stage::set(&place.project, &place.folder).map_err(|refusal| match refusal {
        Refusal::Held(by) => engine::Failure::Held(by).into(),
        Refusal::Disk(what, error) => {
            let finding = Finding::error(Code::Usage, format!("cannot {what}: {error}"));
            Error::io(finding.help("a rehearsal needs room for a copy of the session below .workflow/"))
        }
    })
}

/// What the user wants to see.
struct Acts {
    failing: BTreeSet<TaskIndex>,
    slow: BTreeSet<TaskIndex>,
    /// How often a failing task is tried.
    attempts: u32,
}

/// How fast a session is rehearsed within a few seconds.
fn speed(session: &Session, graph: &Graph, acts: &Acts, slots: u32) -> u32 {
    let mut ends = vec![0; session.tasks.len()];
    let mut work = 0;
    for index in graph.order() {
        let task = &session.tasks[index.get()];
        let attempts = if acts.failing.contains(index) { u64::from(acts.attempts) } else { 1 };
        let once = duration(task.id.as_str(), acts.slow.contains(index)).as_secs();
        let takes = if task.status.is_over() { 0 } else { once.saturating_mul(attempts) };
        let begins = graph.dependencies(*index).iter().map(|before| ends[before.get()]).max().unwrap_or(0);
        ends[index.get()] = takes.saturating_add(begins);
        work = takes.saturating_add(work);
    }
    let longest = ends.into_iter().max().unwrap_or(0).max(work / u64::from(slots));
    u32::try_from((longest / SECONDS).max(LEAST_SPEED)).unwrap_or(u32::MAX)
}

/// Waits that are so many times shorter.
fn faster(backoff: Backoff, speed: u32) -> Backoff {
    let shorter = |wait: Millis| Millis((wait.0 / u64::from(speed)).max(1));
    Backoff { first: shorter(backoff.first), cap: shorter(backoff.cap), ..backoff }
}

/// Workers that only act: of each manner one.
fn workers(session: &Session, exe: &Path, speed: u32, acts: &Acts) -> Result<Workers, Error> {
    let mut workers = Workers::default();
    let mut known: Vec<(Manner, usize)> = Vec::new();
    for index in (0..).map(TaskIndex).take(session.tasks.len()) {
        let manner = Manner { speed, slow: acts.slow.contains(&index), fails: acts.failing.contains(&index) };
        let chain = match known.iter().find(|(one, _)| *one == manner) {
            Some((_, chain)) => *chain,
            None => {
                let worker = workers.add(Worker {
                    typed: String::new(),
                    agent: REHEARSAL.to_owned(),
                    command: rehearsing(exe, manner)?,
                    setup: None,
                    pass_env: Vec::new(),
                    demands: Demands::default(),
                    env: Vec::new(),
                    unrecorded: Vec::new(),
                    limits: agents::Limits::default(),
                });
                let chain = workers.chain(vec![worker]);
                known.push((manner, chain));
                chain
            }
        };
        workers.assign(chain);
    }
    Ok(workers)
}

#[cfg(test)]
mod tests {
    use team_executor_core::{RoleName, SessionId, Task, TaskId};

    use super::*;

    fn session(tasks: usize) -> Session {
        let mut session = Session::new(SessionId::parse("S").unwrap());
        let role = RoleName::parse("r").unwrap();
        session.tasks = (0..tasks).map(|n| Task::new(TaskId::parse(&n.to_string()).unwrap(), role.clone())).collect();
        session
    }

    fn acts(failing: &[u32], slow: &[u32]) -> Acts {
        let of = |tasks: &[u32]| tasks.iter().copied().map(TaskIndex).collect();
        Acts { failing: of(failing), slow: of(slow), attempts: 4 }
    }

    #[test]
    fn a_rehearsal_takes_a_few_seconds_however_much_there_is_to_do() {
        let speed = |tasks, acts: &Acts| {
            let session = session(tasks);
            let graph = Graph::seal(&session.tasks).graph.unwrap();
            u64::from(speed(&session, &graph, acts, 4))
        };
        assert_eq!(speed(3, &acts(&[], &[])), LEAST_SPEED);
        let fast = speed(10_000, &acts(&[], &[]));
        assert!((20_000..40_000).contains(&fast), "{fast}");
        assert_eq!(speed(3, &acts(&[1], &[1])), duration("1", true).as_secs() * 4 / SECONDS);
        let shorter = Backoff { first: Millis(10), cap: Millis(3000), ..Backoff::default() };
        assert_eq!(faster(Backoff::default(), 100), shorter);
        assert_eq!(faster(Backoff::default(), u32::MAX).first, Millis(1));
    }

    #[test]
    fn there_are_as_many_workers_as_manners() {
        let workers = workers(&session(1000), Path::new("/x"), 60, &acts(&[1, 2], &[2])).ok().unwrap();
        assert_eq!(workers.iter().count(), 3);
        let command = |task| workers.first(TaskIndex(task)).map(|worker| worker.command.join(" "));
        assert_eq!(command(2).as_deref(), Some("/x __rehearsal slow fail 60"));
        assert_eq!(command(999).as_deref(), Some("/x __rehearsal 60"));
    }
}
