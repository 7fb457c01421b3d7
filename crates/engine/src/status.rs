//! The status of a run, read-only: nothing is locked and nothing is written.

use std::path::{Path, PathBuf};
use std::time::Duration;

use team_executor_beneath::{ours, read_regular};
use team_executor_core::run::{Cause, Counts, Decision, Durations, Event, PauseReason, Policy, Run, Stage};
use team_executor_core::{Graph, Session, Task, TaskIndex, TaskStatus, Timestamp, Verdict};
use team_executor_store::{History, Seq, file_system, records, run_folder};
use team_executor_trees::{Mark, Overview};

use crate::attempt_times::AttemptTimes;
use crate::begin::plan::Plan;
use crate::begin::replay;
use crate::begin::run_at;
use crate::bus::propose::{self, Proposal};
use crate::circumstances::{Circumstances, Held, LostHost};
use crate::clock;
use crate::conclude::artifacts::{Fault, Shelf, Shelved};
use crate::control;
use crate::control::Going;
use crate::cost::budget::Halted;
use crate::cost::usage::{self, Spent};
use crate::event::AtWork;
use crate::options::Failure;
use crate::prepare::paths::Paths;
use crate::prepare::prompt::Knowledge;
use crate::prepare::resident::Residents;
use crate::prepare::talk::{self, Talk};
use crate::render::views::state;

/// How a run stands.
#[derive(Debug)]
pub struct Status {
    /// Its name.
    pub run: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The number of the last record that it was read from.
    pub seq: Seq,
    /// What it is about at the moment, in a word.
    pub stage: &'static str,
    /// Why it is paused, or stopped, if that is known.
    pub reason: Option<String>,
    /// An executor has it and can be asked.
    pub is_heard: bool,
    /// Every task is over.
    pub finished: bool,
    /// How many tasks there are of each status.
    pub counts: Counts,
    /// Where each task stands, in the order of the session.
    pub statuses: Vec<TaskStatus>,
    /// What workers have, as the journal says.
    pub running: Vec<Running>,
    /// What agents at work are doing, as their executor says.
    pub at_work: Vec<AtWork>,
    /// How many workers there may be on this machine, if the run waits for those of others.
    pub machine: Option<u32>,
    /// Machines that had workers of the run, and are lost.
    pub lost_hosts: Vec<LostHost>,
    /// How many workers there may be at a time, while an executor has the run.
    pub most_workers: Option<u32>,
    /// Of each budget of the whole run its measure, what is used of it, and how much there is; while an executor has the run.
    pub budgets: Vec<(String, u64, u64)>,
    /// The conversations that go on, with what agents ask to be allowed.
    pub talks: Vec<Talk>,
    /// What could start.
    pub ready: Vec<TaskIndex>,
    /// The last attempt at each task, from 1; 0 if it was never tried.
    pub attempts: Vec<u32>,
    /// How each task was judged.
    pub judged: Vec<TaskNote>,
    /// The times of every attempt, by task. Tasks behind the last one that was tried are left out.
    pub times: Vec<Vec<AttemptTimes>>,
    /// How long each task took, over all of its attempts.
    pub durations: Vec<Durations>,
    /// How long workers were at work, and how long none was.
    pub active: Duration,
    /// How long none was: the run was held, paused, or no executor had it.
    pub idle: Duration,
    /// Where the run waits for a person, if it does; also if it was stopped there.
    pub checkpoint: Option<Checkpoint>,
    /// What people have decided, in order.
    pub decisions: Vec<Decision>,
    /// How often work was sent back.
    pub rounds: u32,
    /// What was delivered so far, with its state; nothing if that cannot be read.
    pub artifacts: Vec<Shelved>,
    /// Which of it is not there as it was delivered, at a glance: files are not read for that.
    pub faults: Vec<(usize, Fault)>,
    /// What agents used, attempt by attempt; of running attempts what they say so far.
    pub used: Vec<Spent>,
    /// When it was looked at.
    pub at: Timestamp,
    /// When it began.
    pub began: Timestamp,
    /// When the last thing happened in it.
    pub last: Option<Timestamp>,
    /// Since when it is paused, or is about to end.
    pub stage_since: Option<Timestamp>,
    /// Why it is paused, or will be again when it is resumed.
    pub pause: Option<PauseReason>,
    /// Why it stopped by itself, if it did.
    pub halt: Option<Halted>,
    /// The agents that have no quota at the moment.
    pub held: Vec<Held>,
    /// The tasks that workers propose, and that are not decided on.
    pub proposals: Vec<Proposal>,
    /// How many bytes can still be written to the disk of the run, if that is known.
    pub room: Option<u64>,
    /// What tasks changed in trees of their own. Only those who may start git find it out.
    pub changes: Option<Overview>,
}

/// How a task was judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskNote {
    /// How often it was not accepted.
    pub rounds: u32,
    /// What it said about the work of others.
    pub verdict: Option<Verdict>,
    /// Why it failed, was skipped or begins anew.
    pub why: Option<String>,
    /// What it found; nothing unless it is completed.
    pub findings: Option<String>,
    /// How many seconds it waits before it is tried again, if it does.
    pub wait: Option<u64>,
    /// When its status last changed.
    pub since: Option<Timestamp>,
    /// How many of its attempts failed since it last began anew.
    pub failures: u32,
    /// It failed because it was sent back as often as it may be.
    pub is_out_of_rounds: bool,
    /// The task whose failure or skip is the reason why it was skipped, if one is.
    pub because: Option<TaskIndex>,
}

/// Where a run waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which task it comes after.
    pub task: TaskIndex,
    /// Why.
    pub cause: Cause,
    /// The work to review, each with the folder of its delivery.
    pub judges: Vec<(TaskIndex, Option<PathBuf>)>,
    /// What is wrong with it, in the reviewer's words.
    pub critique: Option<String>,
}

impl Status {
    /// Where the output of the last attempt at a task is: standard output, then standard error. Nothing if there was none.
    pub fn logs(&self, task: TaskIndex, id: &str) -> Option<[PathBuf; 2]> {
        let attempt = self.attempts.get(task.get()).copied().filter(|attempt| *attempt > 0)?;
        Some(run_at::logs(&self.folder, id, attempt))
    }
}

impl Status {
    /// What the agent of a running attempt is doing, if that is known.
    pub fn doing(&self, task: &str, attempt: u32) -> Option<&AtWork> {
        self.at_work.iter().find(|one| one.task == task && one.attempt == attempt && !one.is_unheard)
    }

    /// After how long without output a running attempt fails, if that is known.
    pub fn idle_limit(&self, task: &str, attempt: u32) -> Option<Duration> {
        let at_work = self.at_work.iter().find(|one| one.task == task && one.attempt == attempt)?;
        at_work.idle_limit_ms.map(Duration::from_millis)
    }

    /// The conversation about a running attempt, if there is one.
    pub fn talk(&self, task: &str, attempt: u32) -> Option<&Talk> {
        let named = run_folder::component(task);
        self.talks.iter().find(|one| one.task == named && one.attempt == attempt)
    }
}

/// A task that a worker has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// Which.
    pub task: TaskIndex,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// For how long, in seconds.
    pub seconds: u64,
    /// Since when, if that is known.
    pub since: Option<Timestamp>,
    /// When it last printed something, if it did.
    pub last_output: Option<Timestamp>,
}

/// How the run in a folder stands, or the newest run of a session; nothing if it was never run.
pub fn status(
    session: &Session,
    graph: &Graph,
    (folder, current): (&Path, &Path),
    run: Option<&Path>,
) -> Result<Option<Status>, Failure> {
    let Some(path) = chosen((folder, current), run)? else { return Ok(None) };
    let id = run_at::name_of(&path);
    let mut seen = Circumstances::default();
    let see = &mut |rules: &Run, event: &Event, record: &str| seen.take(rules, event, record);
    let (plan, run, seq) = look_seen(session, graph, &id, &path, see)?;
    let tasks = &session.tasks;
    let indexes = || (0..).map(TaskIndex).take(tasks.len());
    let is_heard = control::is_heard(&path);
    let is_stopped = !is_heard && *run.stage() == Stage::Stopping;
    let (mut statuses, mut counts) = (run.statuses(), run.counts());
    if is_stopped {
        statuses.iter_mut().for_each(|status| *status = state::shown(*status, &run));
        counts.pending += std::mem::take(&mut counts.in_progress);
    }
    let now = clock::now();
    let running = run.at_work().filter(|_| !is_stopped).map(|work| {
        let since = run.view(work.task).and_then(|view| view.since);
        let last_output = last_output(&path, tasks[work.task.get()].id.as_str(), work.attempt);
        let seconds = since.map_or(0, |since| seconds(since, now));
        Running { task: work.task, attempt: work.attempt, seconds, since, last_output }
    });
    // What an executor that is there has not written down yet.
    let is_going = is_heard && run.counts().in_progress > 0;
    let going = run.last_event().filter(|_| is_going).map_or(0, |last| millis(last, now));
    let shelf = Shelf::at(&session.artifacts, &path, folder).ok();
    let halt = run.halt().map(|why| Halted::describe(why, &run, session));
    let told = if is_heard { control::activity(&path) } else { Going::default() };
    let mut used = usage::collect(&run, session);
    usage::add_running(&mut used, &told.at_work, session);
    Ok(Some(Status {
        faults: shelf.as_ref().map(Shelf::glance).unwrap_or_default(),
        artifacts: shelf.map(|shelf| shelf.artifacts).unwrap_or_default(),
        at_work: told.at_work,
        machine: told.machine,
        lost_hosts: told.lost_hosts,
        most_workers: Some(told.bounds.most_workers).filter(|most| *most > 0),
        budgets: told.bounds.budgets,
        talks: if is_heard { talk::all(&path) } else { Vec::new() },
        run: id,
        seq,
        is_heard,
        used,
        stage: run.stage().word(),
        reason: reason(&run, halt.as_ref(), tasks),
        finished: *run.stage() == Stage::Finished,
        counts,
        running: running.collect(),
        attempts: indexes().map(|task| run.view(task).map_or(0, |view| view.attempt)).collect(),
        ready: indexes().filter(|task| statuses[task.get()] == TaskStatus::Ready).collect(),
        judged: indexes().map(|task| note(&run, &seen, task, now).unwrap_or_default()).collect(),
        durations: indexes().filter_map(|task| run.view(task)).map(|view| view.durations).collect(),
        active: Duration::from_millis(run.active().0 + going),
        idle: Duration::from_millis(run.idle().0),
        checkpoint: checkpoint(&run, &path, tasks),
        decisions: run.decisions().to_vec(),
        rounds: run.rounds(),
        statuses,
        at: now,
        began: plan.at,
        last: run.last_event(),
        stage_since: seen.stage_since(),
        pause: run.pause().cloned(),
        halt,
        held: seen.held(now),
        proposals: propose::proposals(&path),
        room: file_system(&path).ok().map(|found| found.free),
        times: seen.into_times(),
        folder: path,
        changes: None,
    }))
}

/// How a task was judged, and since when.
fn note(run: &Run, seen: &Circumstances, task: TaskIndex, now: Timestamp) -> Option<TaskNote> {
    let view = run.view(task)?;
    let is = |status| view.status == status;
    Some(TaskNote {
        rounds: view.rounds,
        verdict: view.verdict,
        why: view.error.filter(|_| !is(TaskStatus::Completed)).map(str::to_owned),
        findings: view.findings.filter(|_| is(TaskStatus::Completed)).map(str::to_owned),
        wait: view.not_before.map(|until| seconds(now, until)).filter(|wait| *wait > 0),
        since: view.since,
        failures: view.failures,
        is_out_of_rounds: is(TaskStatus::Failed) && seen.was_rejected(task),
        because: is(TaskStatus::Skipped).then(|| seen.because(task)).flatten(),
    })
}

/// When the worker of an attempt last printed something, if it did.
fn last_output(run: &Path, task: &str, attempt: u32) -> Option<Timestamp> {
    let written = |log: &PathBuf| {
        let file = ours::look_at(log).ok()?;
        let micros = i64::try_from(file.st_mtime_nsec).unwrap_or(0) / 1000;
        Some(Timestamp::from_micros(file.st_mtime.saturating_mul(1_000_000).saturating_add(micros)))
    };
    run_at::logs(run, task, attempt).iter().filter_map(written).max()
}

/// Why a run is paused, or stopped, in words.
fn reason(run: &Run, halt: Option<&Halted>, tasks: &[Task]) -> Option<String> {
    if let Some(halt) = halt {
        return Some(halt.words.clone());
    }
    match run.pause()? {
        PauseReason::Told(reason) => Some(reason.clone()),
        PauseReason::WaveFailed(wave) => Some(format!("every task of wave {wave} failed")),
        PauseReason::Checkpoint { task, .. } => Some(format!("checkpoint after {}", tasks[task.get()].id)),
    }
}

/// Where a run waits for a person, if it does.
fn checkpoint(run: &Run, path: &Path, tasks: &[Task]) -> Option<Checkpoint> {
    let (task, cause) = run.checkpoint()?;
    let delivered = |task: TaskIndex| (task, run_at::delivered(path, tasks[task.get()].id.as_str()));
    let judges = run.judged_at(task).into_iter().map(delivered).collect();
    Some(Checkpoint { task, cause, judges, critique: run.critique_at(task).map(str::to_owned) })
}

/// The run in a folder, or the newest run of a session.
pub(crate) fn chosen((folder, current): (&Path, &Path), run: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    if let Some(run) = run {
        return Ok(Some(run.to_owned()));
    }
    let project = run_folder::project_root(folder, current);
    match run_at::nameless(&run_at::runs(&project), folder) {
        Some(id) => Err(Failure::Nameless(id)),
        None => Ok(run_at::newest_of_all(&project, folder)),
    }
}

/// What a worker is told about a task, as a run or the newest run of the session stands, or before any run. After an attempt began
/// nothing that it builds on changes, unless a person has it done again.
pub fn prompt(
    session: &Session,
    graph: &Graph,
    (folder, current): (&Path, &Path),
    chosen: Option<&Path>,
    task: TaskIndex,
) -> Result<String, Failure> {
    let project = run_folder::project_root(folder, current);
    let newest = || run_at::newest(&run_at::runs(&project), folder).map(|id| run_folder::run_path(&project, &id));
    let path = chosen.map(Path::to_owned).or_else(newest);
    let run = match &path {
        Some(path) => look(session, graph, &run_at::name_of(path), path)?.1,
        None => replay::rules(&session.tasks, graph, "", Policy::default(), std::iter::empty())?,
    };
    let home = path.as_deref().and_then(Mark::read).map(|mark| mark.home);
    let paths = Paths { session: folder, run: path.as_deref(), links: home.as_deref() };
    let before = Residents::default().take(session, &run, task);
    Ok(crate::prepare::prompt::render(session, &run, task, (paths, &mut Knowledge::default()), &before, false))
}

/// The plan of a run, and the rules after all of its records.
pub(crate) fn look(session: &Session, graph: &Graph, id: &str, path: &Path) -> Result<(Plan, Run), Failure> {
    look_seen(session, graph, id, path, &mut |_, _, _| {}).map(|(plan, run, _)| (plan, run))
}

/// The same, and the number of the last record; each event is shown with the rules before it and its record.
fn look_seen(
    session: &Session,
    graph: &Graph,
    id: &str,
    path: &Path,
    see: &mut dyn FnMut(&Run, &Event, &str),
) -> Result<(Plan, Run, Seq), Failure> {
    let journal = path.join(run_folder::EXECUTOR).join(run_folder::JOURNAL);
    run_at::must_be_whole(path)?;
    let bytes = read_regular(&journal).map_err(Failure::disk("read", &journal))?;
    let history = History::read(bytes).map_err(|damage| Failure::Journal(damage.into()))?;
    let plan = history.records().next().and_then(|record| Plan::of_run(record.json, path));
    let plan = plan.ok_or_else(|| records::Unreadable::Unknown("plan".to_owned()))?.amend(replay::events(&history));
    if !plan.is_of(session) {
        return Err(Failure::Changed(format!("the tasks of the session differ from those of its newest run {id}")));
    }
    // The rules do not ask what came out, which may be most of the session.
    let mut tasks: Vec<Task> =
        session.tasks.iter().map(|task| Task { findings: None, error: None, ..task.clone() }).collect();
    plan.put_into(&mut tasks);
    let run = replay::rules_seen(
        &tasks,
        graph,
        id,
        plan.policy(session),
        (replay::events(&history), &plan.amended.removed),
        see,
    )?;
    Ok((plan, run, history.records().last().map_or(0, |record| record.seq)))
}

fn millis(since: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(now.as_micros().saturating_sub(since.as_micros()) / 1000).unwrap_or(0)
}

fn seconds(since: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(now.as_micros().saturating_sub(since.as_micros()) / 1_000_000).unwrap_or(0)
}
