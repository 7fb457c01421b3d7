//! Residents: the one worker of an inner-loop role, which takes the role's tasks one after the other in one conversation. A
//! conversation is the agent's own name for it, not a process, so it goes on after a crash too.

use std::collections::BTreeMap;
use std::io::BufReader;

use team_executor_agents::Leftover;
use team_executor_agents::adapters::{Setup, Stream};
use team_executor_beneath::open_regular;
use team_executor_core::run::{Run, Used, Work};
use team_executor_core::{ExecMode, RoleName, Session, Task, TaskIndex, TaskStatus};

use crate::begin::run_at::{RunAt, logs};
use crate::cost::prices::Prices;
use crate::prepare::worker::Workers;

/// How many tasks of its own a resident is reminded of.
const MOST: usize = 10;

/// What each resident has done, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Residents {
    roles: BTreeMap<RoleName, Resident>,
}

#[derive(Debug)]
struct Resident {
    done: Vec<TaskIndex>,
    /// The task that it took last.
    last: TaskIndex,
}

impl Residents {
    /// What the resident that takes a task has done before it, at most the last few; nothing if no resident takes it.
    pub(crate) fn take(&mut self, session: &Session, rules: &Run, index: TaskIndex) -> Vec<TaskIndex> {
        let task = &session.tasks[index.get()];
        if task.exec_mode != ExecMode::Interactive {
            return Vec::new();
        }
        let is_done = |task: TaskIndex| rules.status(task) == Some(TaskStatus::Completed);
        let resident = self.roles.entry(task.role.clone()).or_insert_with(|| {
            let done = done(session, rules, &task.role);
            Resident { last: done.last().copied().unwrap_or(index), done }
        });
        // It takes one task at a time, so nothing else can have been completed since.
        let last = std::mem::replace(&mut resident.last, index);
        resident.done.retain(|task| is_done(*task) && *task != last);
        if is_done(last) {
            resident.done.push(last);
        }
        let surplus = resident.done.len().saturating_sub(MOST);
        resident.done.drain(..surplus);
        resident.done.clone()
    }
}

/// All that the tasks of a role came to in this run, the newest last.
fn done(session: &Session, rules: &Run, role: &RoleName) -> Vec<TaskIndex> {
    let is_its_own = |task: &Task| task.role == *role && task.exec_mode == ExecMode::Interactive;
    let of_role = (0..).map(TaskIndex).zip(&session.tasks).filter(|(_, task)| is_its_own(task));
    let completed = of_role.filter_map(|(index, _)| {
        let view = rules.view(index)?;
        (view.status == TaskStatus::Completed && view.attempt > 0).then_some((view.since, index))
    });
    let mut completed: Vec<_> = completed.collect();
    completed.sort_unstable();
    let surplus = completed.len().saturating_sub(MOST);
    completed.drain(..surplus).for_each(drop);
    completed.into_iter().map(|(_, index)| index).collect()
}

/// A conversation that an attempt takes up.
#[derive(Debug)]
pub(crate) struct TakenUp {
    /// The agent's own name for it.
    pub(crate) session: String,
    /// The attempt in which it went on last.
    pub(crate) last: Work,
    /// What becomes of the files that are there: those of the same task stay.
    pub(crate) leftover: Leftover,
}

/// The conversation that an attempt takes up: that of the attempt before it, unless that failed, else the one in which the
/// resident did the task before. An agent that does not converse takes up its own work if that was not accepted. None where
/// there is nothing to take up.
pub(crate) fn conversation(
    workers: &Workers,
    run: &RunAt,
    session: &Session,
    rules: &Run,
    work: Work,
    before: &[TaskIndex],
) -> Option<TakenUp> {
    let worker = workers.chosen(rules, work.task)?;
    let setup = worker.setup.as_ref()?;
    let id = |task: TaskIndex| session.tasks[task.get()].id.as_str();
    let view = rules.view(work.task)?;
    let is_sent_back = view.critique.is_some() && view.error == view.critique;
    if work.attempt > 1 && (setup.converses || is_sent_back) {
        let last = heard(run, id(work.task), work.attempt - 1, setup);
        if last.finished && !last.ok && !last.is_overspent() {
            return None; // it may have failed because of what was said before
        }
        let is_its_own = |session: &String| rules.used_in(session).all(|(_, used)| used.agent == worker.agent);
        if let Some(session) = last.usage.session_id.filter(is_its_own) {
            let leftover = if is_sent_back { Leftover::StaysCopied } else { Leftover::Stays };
            let last = Work { attempt: work.attempt - 1, ..work };
            return Some(TakenUp { session, last, leftover });
        }
    }
    if !setup.converses {
        return None;
    }
    let is_its_own = |task: &&TaskIndex| workers.chosen(rules, **task).is_some_and(|other| other.agent == worker.agent);
    let before = before.iter().rev().find(is_its_own)?;
    let last = Work { task: *before, attempt: rules.view(*before)?.attempt };
    let session = heard(run, id(*before), last.attempt, setup).usage.session_id?;
    Some(TakenUp { session, last, leftover: Leftover::Moves })
}

/// What an attempt itself used, where its agent counts on over a conversation: without what earlier attempts in it used. What the
/// agent does not say is estimated from the price of its model.
pub(crate) fn own_part(
    mut used: Box<Used>,
    (workers, prices): (&Workers, &Prices),
    rules: &Run,
    work: Work,
) -> Box<Used> {
    let setup = workers.chosen(rules, work.task).and_then(|worker| worker.setup.as_ref());
    let (tokens, cost) = setup.filter(|setup| setup.converses).map_or((false, false), |it| it.adapter.counts_on());
    let session_id = used.session_id.clone().unwrap_or_default();
    let before = rules.used_in(&session_id).filter(|(other, before)| *other != work && before.agent == used.agent);
    let before: Vec<&Used> = before.map(|(_, before)| before).collect();
    if tokens {
        for before in &before {
            used.input = used.input.saturating_sub(before.input);
            used.cached = used.cached.saturating_sub(before.cached);
            used.output = used.output.saturating_sub(before.output);
        }
    }
    let estimate = prices.cost(&used);
    let Some(said) = used.cost_micros else {
        used.is_estimated |= estimate.is_some();
        used.cost_micros = estimate;
        return used;
    };
    if cost {
        let others = before.iter().filter_map(|before| before.cost_micros).fold(0, u64::saturating_add);
        // An agent that was killed may not have kept what it had spent until then.
        let least = estimate.filter(|_| !before.is_empty()).map_or(0, |estimate| estimate.min(said));
        used.cost_micros = Some(said.saturating_sub(others).max(least));
    }
    used
}

/// What was said in an attempt.
fn heard(run: &RunAt, task: &str, attempt: u32, setup: &Setup) -> Stream {
    let [out, _] = logs(&run.path, task, attempt);
    let read = |log| setup.adapter.read(BufReader::with_capacity(1 << 16, log), 0);
    open_regular(&out).map_or_else(|_| Stream::default(), read)
}
