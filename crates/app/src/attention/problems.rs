//! What is wrong with a run.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use team_executor_core::run::Halt;
use team_executor_core::{RoleName, TaskIndex, TaskStatus};
use team_executor_engine::Running;

use super::{Action, Item, Kind, Seen, item};
use crate::attempts::between;
use crate::words::count;
use team_executor_engine::seconds;

/// Without a limit of its own a worker may be silent for this long.
const SILENT: Duration = Duration::from_secs(300);
/// So many times the median of its role is slow, from so many completed attempts on, and not before so much time.
const SLOW: u32 = 3;
const SAMPLES: usize = 3;
const NEVER_SLOW: Duration = Duration::from_secs(1);
/// With less than this many bytes free the disk is nearly full.
const LITTLE_ROOM: u64 = 128 << 20;
/// How many names a list has.
const NAMES: usize = 10;

pub(super) fn problems(seen: &Seen<'_>) -> Vec<Item> {
    let mut problems = failed(seen);
    problems.extend(skipped(seen));
    problems.extend(artifacts(seen));
    problems.extend(running(seen));
    problems.extend(retrying(seen));
    problems.extend(held(seen));
    problems.extend(lost_hosts(seen));
    problems.extend(disk(seen));
    problems
}

fn tasks<'a>(seen: &'a Seen<'_>, status: TaskStatus) -> impl Iterator<Item = TaskIndex> + 'a {
    let all = (0..).map(TaskIndex).zip(&seen.status.statuses);
    all.filter(move |(_, stands)| **stands == status).map(|(task, _)| task)
}

/// What a person can do about a task that is over; nothing to send where requests do not reach the run.
fn again(seen: &Seen<'_>, task: TaskIndex) -> Vec<Action> {
    let (retry, logs) = (seen.typing.retry(&[seen.id(task)]), seen.typing.logs(seen.id(task)));
    let was_tried = seen.status.attempts.get(task.get()).is_some_and(|attempts| *attempts > 0);
    let retry = seen.typing.can_steer().then_some(retry);
    let logs = was_tried.then_some(logs);
    retry.into_iter().chain(logs).collect()
}

/// Tasks that failed for good. What a checkpoint asks about is a need.
fn failed(seen: &Seen<'_>) -> Vec<Item> {
    let one = |task: TaskIndex| {
        let note = &seen.status.judged[task.get()];
        let kind = if note.is_out_of_rounds { Kind::OutOfRounds } else { Kind::Failed };
        let why = note.why.clone().unwrap_or_else(|| "it failed".to_owned());
        seen.about(kind, task, note.since, why, again(seen, task))
    };
    tasks(seen, TaskStatus::Failed).map(one).collect()
}

/// Tasks that were skipped because of one that failed, by that one.
fn skipped(seen: &Seen<'_>) -> Vec<Item> {
    let mut of_root = BTreeMap::<TaskIndex, Vec<TaskIndex>>::new();
    let mut roots = vec![None; seen.status.statuses.len()];
    // Dependencies come first in the order, so their roots are known.
    for task in seen.graph.order() {
        roots[task.get()] = match seen.status.statuses[task.get()] {
            TaskStatus::Failed => Some(*task),
            TaskStatus::Skipped => seen.status.judged[task.get()].because.and_then(|on| roots[on.get()]),
            _ => None,
        };
        if let Some(root) = roots[task.get()].filter(|root| root != task) {
            of_root.entry(root).or_default().push(*task);
        }
    }
    let one = |(root, tasks): (TaskIndex, Vec<TaskIndex>)| {
        let names: Vec<_> = tasks.iter().take(NAMES).map(|task| seen.id(*task)).collect();
        let more = if tasks.len() > NAMES { format!(" and {} more", tasks.len() - NAMES) } else { String::new() };
        let were = if tasks.len() == 1 { "was" } else { "were" };
        let names = names.join(", ");
        let why =
            format!("{} {were} skipped because {} failed: {names}{more}", count(tasks.len(), "task"), seen.id(root));
        let since = tasks.iter().filter_map(|task| seen.status.judged[task.get()].since).min();
        seen.about(Kind::Skipped, root, since, why, again(seen, root))
    };
    of_root.into_iter().map(one).collect()
}

/// What is not there any more as it was delivered.
fn artifacts(seen: &Seen<'_>) -> Vec<Item> {
    let faults = seen.status.faults.iter();
    let one = |(nth, fault): &(usize, team_executor_engine::artifacts::Fault)| {
        let artifact = &seen.status.artifacts.get(*nth)?.artifact;
        let why = format!("{} {}", artifact.path, fault.describe());
        let task = artifact.task.as_ref().map(ToString::to_string);
        let redo = task.as_deref().filter(|_| seen.typing.can_steer()).map(|task| seen.typing.redo(task));
        let actions = std::iter::once(seen.typing.verify()).chain(redo).collect();
        Some(Item { task, ..item(Kind::Artifact, None, why, actions) })
    };
    faults.filter_map(one).collect()
}

/// Workers that are silent, or slow.
fn running(seen: &Seen<'_>) -> Vec<Item> {
    if !seen.status.is_heard {
        return Vec::new();
    }
    let mut medians = Medians::default();
    let all = seen.status.running.iter();
    all.filter_map(|running| silent(seen, running).or_else(|| slow(seen, running, &mut medians))).collect()
}

fn on_running(seen: &Seen<'_>, task: &str) -> Vec<Action> {
    let steer = [seen.typing.restart(task), seen.typing.cancel(task)];
    let steer = steer.into_iter().filter(|_| seen.typing.can_steer());
    std::iter::once(seen.typing.logs(task)).chain(steer).collect()
}

/// A worker that has printed nothing for half of the time after which it fails. One that asks waits for a person.
fn silent(seen: &Seen<'_>, running: &Running) -> Option<Item> {
    let id = seen.id(running.task);
    if seen.status.talk(id, running.attempt).is_some_and(|talk| !talk.state.questions.is_empty()) {
        return None;
    }
    let since = running.last_output.max(running.since)?;
    let (silent, limit) = (between(since, seen.status.at), seen.status.idle_limit(id, running.attempt));
    if silent <= limit.map_or(SILENT, |limit| limit / 2) {
        return None;
    }
    let fails = limit.map(|limit| format!("; it fails after {}", seconds(limit))).unwrap_or_default();
    let why = format!("nothing printed for {}{fails}", seconds(silent));
    Some(seen.about(Kind::Silent, running.task, Some(since), why, on_running(seen, id)))
}

/// An attempt that has taken three times as long as those of its role mostly do.
fn slow(seen: &Seen<'_>, running: &Running, medians: &mut Medians) -> Option<Item> {
    let since = running.since?;
    let role = &seen.session.tasks[running.task.get()].role;
    let median = medians.of(seen, role)?;
    let takes = between(since, seen.status.at);
    if takes <= (median * SLOW).max(NEVER_SLOW) {
        return None;
    }
    let why = format!("at work for {}; the median of {role} is {}", seconds(takes), seconds(median));
    Some(seen.about(Kind::Slow, running.task, Some(since), why, on_running(seen, seen.id(running.task))))
}

/// How long completed attempts of each role mostly took, worked out once it is asked for.
#[derive(Default)]
struct Medians(Option<BTreeMap<RoleName, Duration>>);

impl Medians {
    fn of(&mut self, seen: &Seen<'_>, role: &RoleName) -> Option<Duration> {
        let known = self.0.get_or_insert_with(|| medians(seen));
        known.get(role).copied()
    }
}

fn medians(seen: &Seen<'_>) -> BTreeMap<RoleName, Duration> {
    let mut of_role = BTreeMap::<&RoleName, Vec<Duration>>::new();
    for (task, attempts) in seen.session.tasks.iter().zip(&seen.status.times) {
        let completed = attempts.iter().filter(|one| one.outcome == Some("completed"));
        let took = completed.filter_map(|one| Some(between(one.started, one.ended.or(one.checked)?)));
        of_role.entry(&task.role).or_default().extend(took);
    }
    let enough = of_role.into_iter().filter(|(_, took)| took.len() >= SAMPLES);
    enough
        .map(|(role, mut took)| {
            let middle = took.len() / 2;
            (role.clone(), *took.select_nth_unstable(middle).1)
        })
        .collect()
}

/// Tasks that failed and are tried again, or will be.
fn retrying(seen: &Seen<'_>) -> Vec<Item> {
    let status = seen.status;
    if status.finished {
        return Vec::new();
    }
    let at_work: HashSet<TaskIndex> = status.running.iter().map(|running| running.task).collect();
    let tried = (0..).map(TaskIndex).zip(&status.judged).filter(|(_, note)| note.failures > 0);
    let one = |(task, note): (TaskIndex, &team_executor_engine::TaskNote)| {
        let (stands, attempt) = (status.statuses[task.get()], status.attempts[task.get()]);
        let when = match stands {
            TaskStatus::InProgress => format!("attempt {attempt} is at work"),
            TaskStatus::Pending | TaskStatus::Ready => format!("attempt {} comes", attempt.saturating_add(1)),
            _ => return None,
        };
        let last = status.times.get(task.get())?.iter().rev().find(|one| one.outcome == Some("failed"))?;
        let error = last.error.as_deref().unwrap_or("it failed");
        let id = seen.id(task);
        let steer = if at_work.contains(&task) { seen.typing.cancel(id) } else { seen.typing.skip(id) };
        let actions = std::iter::once(seen.typing.logs(id)).chain(Some(steer).filter(|_| seen.typing.can_steer()));
        let wait = note.wait.and_then(|wait| i64::try_from(wait).ok());
        let until = wait.map(|wait| status.at.as_micros().saturating_add(wait.saturating_mul(1_000_000)));
        let until = until.map(team_executor_core::Timestamp::from_micros);
        let why = format!("{when}: {error}");
        Some(Item { until, ..seen.about(Kind::Retrying, task, last.checked, why, actions.collect()) })
    };
    tried.filter_map(one).collect()
}

/// Agents without quota.
fn held(seen: &Seen<'_>) -> Vec<Item> {
    if seen.status.finished {
        return Vec::new();
    }
    let held = seen.status.held.iter().map(|held| {
        let left = seconds(between(seen.status.at, held.until));
        let why = format!("no quota for {}, {left} left; its tasks wait", held.agent);
        let actions = vec![seen.typing.agents()];
        Item { until: Some(held.until), ..item(Kind::Quota, Some(held.since), why, actions) }
    });
    held.collect()
}

/// Machines that had workers of the run, and are not heard of any more.
fn lost_hosts(seen: &Seen<'_>) -> Vec<Item> {
    let lost = seen.status.lost_hosts.iter().map(|lost| {
        let why = format!("host {} does not answer; its attempts begin again elsewhere", lost.lost_host);
        item(Kind::HostLost, Some(lost.since), why, vec![seen.typing.hosts(&lost.backend)])
    });
    lost.collect()
}

/// A disk on which nothing more can be written, or soon.
fn disk(seen: &Seen<'_>) -> Option<Item> {
    let status = seen.status;
    if status.finished {
        return None;
    }
    if let Some(halted) = status.halt.as_ref().filter(|halted| halted.why == Halt::NoRoom) {
        let actions = vec![seen.typing.resume(status.is_heard), seen.typing.doctor()];
        return Some(item(Kind::Disk, status.stage_since, format!("{}; make room", halted.words), actions));
    }
    let room = status.room.filter(|room| *room < LITTLE_ROOM)?;
    let why = format!("the disk of the run has only {} MiB left", room >> 20);
    Some(item(Kind::Disk, None, why, vec![seen.typing.doctor()]))
}
