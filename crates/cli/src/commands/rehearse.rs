//! `rehearse`: the whole run beforehand, by the real engine with workers that only act, on a copy of the session.

mod copy;
mod timeline;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use team_executor_agents::rehearsal::{Manner, duration};
use team_executor_agents::{self as agents};
use team_executor_core::run::{AtCheckpoint, Backoff, Budgets};
use team_executor_core::{Graph, Millis, Reconciliation, Session, SessionStatus, Task, TaskIndex};
use team_executor_engine::artifacts::Demands;
use team_executor_engine::control::Checkpoints;
use team_executor_engine::prices::Prices;
use team_executor_engine::{self as engine, Notice, Options, Worker, Workers};
use team_executor_files::{Code, Finding};

use self::copy::{Refusal, Stage};
use self::timeline::Timeline;
use super::run::{ending, invalid, refused, tell_findings, warn};
use crate::args::{self, Format, Rehearse};
use crate::config::REHEARSAL;
use crate::config::choose::{self, Defaults, rehearsing};
use crate::exit::Exit;
use crate::face::{Face, print_event};
use crate::failure::Failure;
use crate::open;
use crate::place::Place;
use crate::printer::Printer;

/// Unless it is told how fast, a rehearsal takes about so many seconds.
const SECONDS: u64 = 5;
/// And never slower than this.
const LEAST_SPEED: u64 = 60;

/// Copies, rehearses and shows what happened.
pub(crate) fn run(session: Option<&Path>, options: &Rehearse, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = open::session(session, &options.reading)?;
    let (width, format) = (printer.width(), options.format);
    tell_findings(&opened, format, printer)?;
    let Some((session, graph)) = &opened.session else {
        return invalid("Nothing was rehearsed", &opened, format, printer);
    };
    let named = |ids: &[String]| -> Result<BTreeSet<TaskIndex>, Failure> {
        ids.iter().map(|id| Ok(open::task(&opened, id)?.2)).collect()
    };
    let (failing, slow) = (named(&options.fail)?, named(&options.slow)?);
    let statuses = Reconciliation::of(session).statuses(session);
    for (flag, tasks) in [("--fail", &failing), ("--slow", &slow)] {
        for task in tasks.iter().map(|index| index.get()).filter(|task| statuses[*task].is_over()) {
            let (id, status) = (&session.tasks[task].id, statuses[task]);
            warn(&format!("{id} is {status} already, so {flag} changes nothing about it"), format, printer)?;
        }
    }
    let place = Place::of(Some(Path::new(&opened.path)))?;
    let config = place.config()?;
    let flags = args::Settings {
        agent: Some(REHEARSAL.to_owned()),
        concurrency: options.concurrency,
        cadence: options.cadence,
        ..args::Settings::default()
    };
    // Of what is configured only the numbers count: no agent is run but this program.
    let tasks = choose::choose(&config, &flags, session, &place.exe)?.tasks;
    let defaults = Defaults::of(&config, &flags);
    let slots = defaults.concurrency.value;
    let acts = Acts { failing, slow, attempts: defaults.retries.value.saturating_add(1) };
    let speed = options.speed.unwrap_or_else(|| speed(session, graph, &acts, slots));
    let stage = match Stage::set(&place.project, &place.folder) {
        Ok(stage) => stage,
        Err(Refusal::Held(by)) => return Err(refused(engine::Failure::Held(by))),
        Err(Refusal::Disk(what, error)) => {
            let finding = Finding::error(Code::Usage, format!("cannot {what}: {error}"));
            let finding = finding.help("a rehearsal needs room for a copy of the session below .workflow/");
            return Err(Failure::Refused(Box::new(finding), Exit::Io));
        }
    };
    let Stage { session: folder, lock: _held } = stage;
    let indexed = (0..).map(TaskIndex).zip(&session.tasks);
    let takes = |(index, task): (TaskIndex, &Task)| duration(task.id.as_str(), acts.slow.contains(&index));
    let mut timeline = Timeline::new(indexed.map(takes));
    let mut options = Options {
        folder,
        current: place.current,
        environment: place.environment,
        dialect: opened.dialect,
        slots,
        cadence: defaults.cadence.value,
        retries: defaults.retries.value,
        rounds: defaults.rounds.value,
        proposals: 0,
        checkpoints: Checkpoints { wait: None, unattended: AtCheckpoint::Resume },
        backoff: faster(Backoff::default(), speed),
        tasks,
        fallbacks: BTreeMap::new(),
        quota_wait: None,
        budgets: Budgets::default(),
        prices: Prices::built_in_and([]),
        workers: workers(session, &place.exe, speed, &acts)?,
        exe: place.exe,
        session: session.clone(),
        graph: graph.clone(),
        run: None,
        goes_on: true,
        ask: None,
        allow_network: true,
        at_end: SessionStatus::Completed,
    };
    let mut face = if format == Format::Json { Face::Events } else { Face::Lines };
    let mut failed = None;
    let result = engine::run(&mut options, &mut |notice: Notice| {
        timeline.note(&notice, graph);
        if failed.is_none() {
            failed = face.tell(notice, printer).err();
        }
    });
    let report = result.map_err(refused)?;
    match format {
        Format::Text => timeline.print(session, graph, width, printer.out())?,
        Format::Json => print_event(&timeline.event(session), printer.out())?,
    }
    ending::tell(&report, None, format, printer)
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
fn workers(session: &Session, exe: &Path, speed: u32, acts: &Acts) -> Result<Workers, Failure> {
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
    use team_executor_core::{RoleName, SessionId, TaskId};

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
        let command = |task| workers.of(TaskIndex(task)).map(|worker| worker.command.join(" "));
        assert_eq!(command(2).as_deref(), Some("/x __rehearsal slow fail 60"));
        assert_eq!(command(999).as_deref(), Some("/x __rehearsal 60"));
    }
}
