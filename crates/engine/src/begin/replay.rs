//! From the plan and the records of a run to where it stands. Nothing is opened, written or started here.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use team_executor_beneath::read_regular;
use team_executor_core::run::{Ending, Event, Policy, Run, Stage, WaveFailed};
use team_executor_core::{Graph, Reconciliation, Reported, Session, Task, TaskIndex, TaskStatus};
use team_executor_files::{Dialect, load};
use team_executor_store::{DiskFolder, History, records};

use crate::begin::edits;
use crate::begin::plan::Plan;
use crate::begin::run_at::{self, Done, RunAt};
use crate::conclude;
use crate::options::{Failure, Options};
use crate::render::run_report::Report;
use crate::render::views::own_file;

/// The session as the run began it, and the rules after all of its records.
pub(crate) fn replay(options: &Options, run: &str, plan: &Plan, all: &History) -> Result<(Session, Run), Failure> {
    let mut session = options.session.clone();
    take_reported(&mut session, options, plan);
    plan.put_into(&mut session.tasks);
    let gone = &plan.amended.removed;
    let policy = policy(options, plan);
    let rules = rules_seen(&session.tasks, &options.graph, run, policy, (events(all), gone), &mut |_, _, _| {})?;
    Ok((session, rules))
}

/// Gives tasks that a run has taken over from files beside the session's own what those files report. Later, when the
/// session has a run, these files are not read any more.
fn take_reported(session: &mut Session, options: &Options, plan: &Plan) {
    let over: BTreeSet<&str> = plan.over.iter().map(|(id, _)| id.as_str()).collect();
    let is_taken = |task: &Task| !task.status.is_over() && over.contains(task.id.as_str());
    if !session.tasks.iter().any(is_taken) {
        return;
    }
    if session.reported.is_empty()
        && let Ok(folder) = DiskFolder::open(&options.folder)
    {
        let loaded = load(&folder, &run_at::name_of(&options.folder), Some(options.dialect));
        session.reported = loaded.session.map(|(session, _)| session.reported).unwrap_or_default();
    }
    let reported: BTreeMap<&str, &Reported> = session.reported.iter().map(|one| (one.task.as_str(), one)).collect();
    for task in session.tasks.iter_mut().filter(|task| is_taken(task)) {
        let findings = reported.get(task.id.as_str()).and_then(|one| one.findings.clone());
        task.findings = findings.or(task.findings.take());
    }
}

/// The records behind the plan.
pub(crate) fn events(history: &History) -> impl Iterator<Item = &str> + Clone {
    history.records().skip(1).map(|record| record.json)
}

fn policy(options: &Options, plan: &Plan) -> Policy {
    Policy {
        cadence: plan.cadence,
        waves: plan.waves,
        slots: options.slots,
        retries: options.retries,
        backoff: options.backoff,
        rounds: options.rounds,
        rounds_before: plan.rounds,
        tasks: conclude::with_checkpoints(options.tasks.clone(), &options.session),
        budgets: options.budgets.clone(),
        fallbacks: options.fallbacks.clone(),
        agents: options.workers.names(),
        later: plan.later(&options.session),
        part: options.part.clone(),
        quota_wait: options.quota_wait,
        seed: plan.seed,
        learned: options.learned.clone(),
        wave_failed: if options.ask.is_some() { WaveFailed::Ask } else { WaveFailed::Abort },
        ..Policy::default()
    }
}

/// The outcome of a run that a start only reports: it is finished, and nothing was changed since. Without a
/// name it is the newest one. Nothing is changed.
pub fn finished(
    session: &Session,
    graph: &Graph,
    dialect: Dialect,
    (folder, current): (&Path, &Path),
    run: Option<&str>,
) -> Option<Report> {
    let done = run_at::finished(session, (folder, current), run).filter(|done| !done.is_other)?;
    if edits::is_edited(&done.path, folder, &own_file::all(dialect, folder)) {
        return None;
    }
    let mut tasks = session.tasks.clone();
    done.plan.put_into(&mut tasks);
    let rules = rules(&tasks, graph, &done.id, done.plan.policy(session), events(&done.history)).ok()?;
    let report = Report::from_rules(&rules, session, ending(&rules)?).at(&done.id, &done.path, folder);
    Some(Report { already: true, ..report })
}

/// The rules when the journal had this length.
pub(crate) fn when(options: &Options, run: &RunAt, plan: &Plan, length: u64) -> Result<Run, Failure> {
    let mut bytes = read_regular(&run.journal()).map_err(Failure::disk("read", run.journal()))?;
    bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
    let history = History::read(bytes).map_err(|damage| Failure::Journal(damage.into()))?;
    replay(options, &run.id, plan, &history).map(|(_, rules)| rules)
}

/// The rules after these records. The tasks have the statuses from before the run.
pub fn rules<'r>(
    tasks: &[Task],
    graph: &Graph,
    run: &str,
    policy: Policy,
    all: impl Iterator<Item = &'r str> + Clone,
) -> Result<Run, Failure> {
    rules_seen(tasks, graph, run, policy, (all, &HashSet::new()), &mut |_, _, _| {})
}

/// The same; these tasks are removed besides, and each event is shown with the rules before it and its record.
pub(crate) fn rules_seen<'r>(
    tasks: &[Task],
    graph: &Graph,
    run: &str,
    policy: Policy,
    (all, gone): (impl Iterator<Item = &'r str> + Clone, &HashSet<String>),
    see: &mut dyn FnMut(&Run, &Event, &str),
) -> Result<Run, Failure> {
    let mut rules = Run::new(tasks, graph.clone(), policy)
        .map_err(|error| Failure::Changed(format!("the run {run} cannot go on: {error}")))?;
    let mut amended = records::amended(all.clone());
    amended.removed.extend(gone.iter().cloned());
    for record in all {
        let event = records::read(record, |id| amended.index(id, graph.index_of(id)))?;
        if event.task() != Some(records::GONE) {
            see(&rules, &event, record);
        }
        rules.apply(&event);
    }
    Ok(rules)
}

/// How a finished run ended; nothing while it is not finished.
pub(crate) fn ending(rules: &Run) -> Option<Ending> {
    let counts = rules.counts();
    let all = counts.failed + counts.skipped == rules.not_needed();
    (*rules.stage() == Stage::Finished).then_some(if all { Ending::AllCompleted } else { Ending::WithFailures })
}

/// The consequences of a finished run for this start.
pub(crate) enum Before {
    /// Nothing is left to do.
    Report(Box<Report>),
    /// The session's own file, which the run had brought up to date, says again that something is to be done,
    /// or has other tasks: a changed session needs a new run.
    Anew {
        /// The tasks that begin anew with the reset ones, for people, one line each.
        told: Vec<String>,
    },
}

/// The consequences of a fully written run for this start; `None` if it is not finished.
pub(crate) fn before(options: &mut Options, done: Done) -> Result<Option<Before>, Failure> {
    if done.is_other {
        // What it notes as written is only noted at its end: other tasks are other work.
        return Ok(Some(Before::Anew { told: Vec::new() }));
    }
    // A clone of all tasks would cost more than it is needed for: their statuses.
    let stated: Vec<TaskStatus> = options.session.tasks.iter().map(|task| task.status).collect();
    done.plan.put_into(&mut options.session.tasks);
    let policy = policy(options, &done.plan);
    let rules = rules(&options.session.tasks, &options.graph, &done.id, policy, events(&done.history))?;
    options.session.tasks.iter_mut().zip(stated).for_each(|(task, status)| task.status = status);
    let Some(ending) = ending(&rules) else { return Ok(None) };
    let is_reset = |(task, stated): (TaskIndex, TaskStatus)| {
        rules.status(task) == Some(TaskStatus::Completed) && stated != TaskStatus::Completed
    };
    // What was read before the run wrote its last files says nothing: only what is there now counts.
    if edits::is_edited(&done.path, &options.folder, &own_file::all(options.dialect, &options.folder)) {
        let stated = Reconciliation::compare(&options.session).statuses(&options.session);
        let reset: Vec<_> = (0..).map(TaskIndex).zip(stated.iter().copied()).filter(|task| is_reset(*task)).collect();
        if reset.is_empty() {
            return Ok(None);
        }
        let told = take_along(options, reset.into_iter().map(|(task, _)| task).collect(), &stated, &rules);
        return Ok(Some(Before::Anew { told }));
    }
    let report = Report::from_rules(&rules, &options.session, ending).at(&done.id, &done.path, &options.folder);
    Ok(Some(Before::Report(Box::new(Report { already: true, ..report }))))
}

/// Sets back what a run had built on tasks that were set back, as it would do in the run itself. What was changed since
/// stays as it is. Says so for each.
fn take_along(options: &mut Options, mut reset: Vec<TaskIndex>, stated: &[TaskStatus], rules: &Run) -> Vec<String> {
    let Options { session, graph, .. } = options;
    let mut seen: BTreeSet<TaskIndex> = reset.iter().copied().collect();
    let (mut along, mut told, mut at) = (BTreeSet::new(), Vec::new(), 0);
    while let Some(&on) = reset.get(at) {
        at += 1;
        for &task in graph.dependents(on).iter().filter(|task| seen.insert(**task)) {
            let Some(now) = rules.status(task).filter(|now| now.is_over()) else { continue };
            reset.push(task);
            if stated.get(task.get()) == Some(&now) {
                let task = &mut session.tasks[task.get()];
                told.push(format!("{}: {now} -> pending (it depends on what was set back)", task.id));
                task.status = TaskStatus::Pending;
                (task.findings, task.error, task.verdict) = (None, None, None);
                along.insert(task.id.clone());
            }
        }
    }
    session.completed_tasks.retain(|id| !along.contains(id));
    told
}
