//! A run: what it knows of each task, kept in step with every change. Nothing is decided here.

use std::collections::{BTreeMap, BTreeSet};

use super::assign::Assignment;
use super::cancel::Cancelled;
use super::decision::Decision;
use super::event::{Halt, PauseReason};
use super::facts::Facts;
use super::input::Work;
use super::limit::Limits;
use super::policy::Policy;
use super::queue::Queue;
use super::replanned::NextPlan;
use super::skip::{Gate, gate};
use super::slots::Slots;
use super::times::{Pace, Took};
use super::used::Spending;
use super::view::Counts;
use super::wave_cadence::WaveState;
use crate::complexity::Complexity;
use crate::graph::{Graph, TaskIndex};
use crate::moves::Moves;
use crate::task::{Task, TaskStatus, Verdict};
use crate::time::Timestamp;

/// The tasks of a plan, on their way from pending to over.
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) graph: Graph,
    pub(super) facts: Facts,
    pub(super) policy: Policy,
    pub(super) state: State,
    /// How many workers may start now, where other runs share a limit with this one. Not known from events, so that it is no
    /// part of the state.
    pub(super) seats: Option<usize>,
    /// The plan that counts from the next event that says so. Not known from events either.
    pub(super) next: Option<Box<NextPlan>>,
    /// How long it took. Nothing is decided by it, so that it is no part of the state.
    pub(super) pace: Pace,
}

/// The graph is that of other tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the graph belongs to other tasks")]
pub struct NotTheGraph;

/// What a run is about at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Waiting to be started.
    NotBegun,
    /// Starting what can start.
    Going,
    /// Starting nothing until told so.
    Paused(PauseReason),
    /// Starting nothing more, letting workers finish.
    Draining,
    /// Starting nothing more, ending workers.
    Stopping,
    /// Every task is over.
    Finished,
}

impl Stage {
    /// What the run is, in a word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::NotBegun => "not begun",
            Self::Going => "going on",
            Self::Paused(_) => "paused",
            Self::Draining => "draining",
            Self::Stopping => "stopping",
            Self::Finished => "finished",
        }
    }
}

/// Everything that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) stage: Stage,
    /// Why it is paused again after draining or stopping.
    pub(super) pause: Option<PauseReason>,
    /// Why it is paused again when that is over, in this order.
    pub(super) later: Vec<PauseReason>,
    /// The latest time that was told.
    pub(super) clock: Timestamp,
    pub(super) tasks: Vec<TaskState>,
    pub(super) counts: Counts,
    /// What can run now.
    pub(super) queue: Queue,
    /// What can run later, and when.
    pub(super) waiting: BTreeSet<(Timestamp, TaskIndex)>,
    /// The tasks that will never run, and were not skipped yet.
    pub(super) doomed: BTreeSet<TaskIndex>,
    pub(super) slots: Slots,
    pub(super) limits: Limits,
    /// Whom tasks were given to since the run was planned, the first first.
    pub(super) assigned: BTreeMap<TaskIndex, Vec<Assignment>>,
    /// For each quota, until when there is none.
    pub(super) held: Vec<Timestamp>,
    /// For each quota, whether its agent is not logged in. Tried again when the run goes on.
    pub(super) closed: Vec<bool>,
    /// Of each wave, from the first.
    pub(super) waves: Vec<WaveState>,
    /// How many waves are merged.
    pub(super) merged: u32,
    /// The first wave with a task that is not over, or the last one.
    pub(super) front: u32,
    /// The tasks that were sent back and have not begun anew. Nothing starts as long as there are any.
    pub(super) recalled: BTreeSet<TaskIndex>,
    /// How often work was sent back.
    pub(super) rounds: u32,
    /// How many tasks were skipped although nothing is amiss.
    pub(super) not_needed: usize,
    pub(super) decisions: Vec<Decision>,
    /// What attempts used.
    pub(super) spending: Spending,
    /// Why it stopped by itself.
    pub(super) halt: Option<Halt>,
}

/// Everything that changes about one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskState {
    /// Never ready: that is whether it is in the queue.
    pub(super) status: TaskStatus,
    pub(super) place: Place,
    /// The last attempt, from 1; grows for ever.
    pub(super) attempt: u32,
    /// The last attempt that was intended.
    pub(super) intended: u32,
    /// Failed attempts that count, lost workers that count, and refusals for want of quota; since it last began anew.
    pub(super) failures: u32,
    pub(super) interruptions: u32,
    pub(super) refusals: u32,
    pub(super) not_before: Timestamp,
    /// How many of its dependencies are not over.
    pub(super) open: u32,
    /// How many of its dependencies failed or were skipped.
    pub(super) bad: u32,
    /// The last place where it ran, and which of its agents did it.
    pub(super) slot: u32,
    pub(super) choice: u32,
    /// When its status last changed.
    pub(super) since: Option<Timestamp>,
    pub(super) findings: Option<String>,
    pub(super) error: Option<String>,
    /// It was skipped because of its dependencies.
    pub(super) skipped_by_rule: bool,
    /// It was skipped, and nothing is amiss: what depends on it runs as if it were completed.
    pub(super) not_needed: bool,
    /// How often it was not accepted, and what was wrong with it the last time.
    pub(super) rounds: u32,
    pub(super) critique: Option<String>,
    /// What it said about the work of others.
    pub(super) verdict: Option<Verdict>,
    pub(super) complexity: Option<Complexity>,
    /// The work that it did not accept, where a person must decide.
    pub(super) objection: Option<Box<Objection>>,
    /// The run does not have it yet.
    pub(super) is_absent: bool,
    /// A person ends its worker, or has.
    pub(super) cancelled: Option<Box<Cancelled>>,
    /// Words of a person for its next attempt.
    pub(super) advice: Option<String>,
    /// Only what it delivered is to be checked again.
    pub(super) check_only: bool,
    /// How long it took.
    pub(super) took: Took,
}

/// Work that was not accepted, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Objection {
    pub(super) tasks: Vec<TaskIndex>,
    pub(super) critique: String,
}

/// Where a pending task is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Nowhere,
    Queue,
    Waiting(Timestamp),
    Doomed,
}

/// Before every other time.
pub(super) const NEVER: Timestamp = Timestamp::from_micros(i64::MIN);

/// Two runs of one plan are equal if they are in the same state.
impl PartialEq for Run {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

impl Run {
    /// A run that has not begun. The same tasks and the same cadence must be given again after a crash.
    pub fn new(tasks: &[Task], graph: Graph, policy: Policy) -> Result<Self, NotTheGraph> {
        if !graph.is_of(tasks) {
            return Err(NotTheGraph);
        }
        let facts = Facts::collect(tasks, &graph, &policy);
        let state = State {
            stage: Stage::NotBegun,
            pause: None,
            later: Vec::new(),
            clock: NEVER,
            tasks: Vec::with_capacity(tasks.len()),
            counts: Counts::default(),
            queue: Queue::new(&facts),
            waiting: BTreeSet::new(),
            doomed: BTreeSet::new(),
            slots: Slots::default(),
            limits: Limits::default(),
            assigned: BTreeMap::new(),
            held: vec![NEVER; facts.quotas.len()],
            closed: vec![false; facts.quotas.len()],
            waves: vec![WaveState::default(); facts.wave_count() as usize],
            merged: 0,
            front: 1,
            recalled: BTreeSet::new(),
            rounds: policy.rounds_before,
            not_needed: 0,
            decisions: Vec::new(),
            spending: Spending::default(),
            halt: None,
        };
        let mut run = Self { graph, facts, policy, state, seats: None, next: None, pace: Pace::default() };
        run.settle_in();
        Ok(run)
    }

    /// Time passes: waits that are over are over. The only change that is no event; it follows from the time alone.
    pub(super) fn advance(&mut self, now: Timestamp) {
        self.state.clock = self.state.clock.max(now);
        while let Some(&(until, task)) = self.state.waiting.first()
            && until <= self.state.clock
        {
            self.put_in_place(task);
        }
    }

    /// The state of a task that is running this attempt.
    pub(super) fn running(&self, work: Work) -> Option<&TaskState> {
        let task = self.state.tasks.get(work.task.get())?;
        (task.status == TaskStatus::InProgress && task.attempt == work.attempt).then_some(task)
    }

    /// Gives each task the status that the plan says.
    fn settle_in(&mut self) {
        let later = std::mem::take(&mut self.policy.later);
        let is_there = |task: &TaskIndex| !later.contains(task);
        let dependencies = (0..).map(TaskIndex).take(self.graph.len());
        let dependencies =
            dependencies.map(|task| self.graph.dependencies(task).iter().filter(|on| is_there(on)).count());
        let tasks = dependencies.map(|open| TaskState::new(u32::try_from(open).unwrap_or(u32::MAX)));
        self.state.tasks = tasks.collect();
        for (task, state) in (0..).map(TaskIndex).zip(&mut self.state.tasks) {
            state.is_absent = !is_there(&task);
        }
        for task in (0..).map(TaskIndex).take(self.graph.len()).filter(is_there) {
            let facts = &self.facts.tasks[task.get()];
            self.state.counts.pending += 1;
            self.state.waves[facts.wave as usize - 1].open[facts.turn as usize] += 1;
        }
        for task in (0..).map(TaskIndex).take(self.graph.len()).filter(is_there) {
            let status = self.facts.tasks[task.get()].initially;
            if status == TaskStatus::Pending { self.put_in_place(task) } else { self.put(task, status) }
        }
        for (task, facts) in self.state.tasks.iter_mut().zip(&self.facts.tasks) {
            // The plan does not say who skipped it. What the rule would have skipped, it has skipped.
            let by_rule = gate(facts.run_on, task.open, task.bad) == Gate::Skip;
            task.skipped_by_rule = task.status == TaskStatus::Skipped && by_rule;
        }
    }

    /// Moves a task along a path of the table; not at all if the table lacks a part of it.
    pub(super) fn moved(&mut self, task: TaskIndex, path: &[TaskStatus], at: Timestamp) -> bool {
        let Some(state) = self.state.tasks.get_mut(task.get()) else { return false };
        let Ok(end) = path.iter().try_fold(state.status, |from, to| from.moved(*to)) else { return false };
        state.since = Some(at);
        self.put(task, end);
        true
    }

    /// Gives a task a status, and tells everything that counts statuses.
    pub(super) fn put(&mut self, task: TaskIndex, to: TaskStatus) {
        let from = std::mem::replace(&mut self.state.tasks[task.get()].status, to);
        *self.state.counts.of_mut(from) -= 1;
        *self.state.counts.of_mut(to) += 1;
        let TaskState { attempt, not_needed, .. } = self.state.tasks[task.get()];
        let (ran, is_bad) = (attempt > 0, |status| status != TaskStatus::Completed && !not_needed);
        let facts = &self.facts.tasks[task.get()];
        let wave = facts.wave;
        self.state.waves[wave as usize - 1].count(facts.turn, from, to, ran);
        self.put_in_place(task);
        self.move_front(wave);
        if from.is_over() == to.is_over() {
            return;
        }
        for nth in 0..self.graph.dependents(task).len() {
            let dependent = self.graph.dependents(task)[nth];
            let state = &mut self.state.tasks[dependent.get()];
            if state.is_absent {
                continue; // its dependencies are counted when it is added
            }
            if to.is_over() {
                state.open -= 1;
                state.bad += u32::from(is_bad(to));
            } else {
                state.open += 1;
                state.bad -= u32::from(is_bad(from));
                state.intended = state.intended.min(state.attempt); // it builds on an end that is not there any more
            }
            self.put_in_place(dependent);
        }
    }

    /// Where its status, its dependencies and the time say that a task is to be kept.
    pub(super) fn place(&self, index: TaskIndex) -> Place {
        let (task, facts) = (&self.state.tasks[index.get()], &self.facts.tasks[index.get()]);
        match gate(facts.run_on, task.open, task.bad) {
            _ if task.status != TaskStatus::Pending => Place::Nowhere,
            _ if task.is_absent => Place::Nowhere,
            _ if task.cancelled.is_some() => Place::Doomed,
            _ if self.is_left_out(index) => Place::Nowhere,
            Gate::Wait => Place::Nowhere,
            Gate::Skip => Place::Doomed,
            Gate::Run if self.needless(index).is_some() => Place::Doomed,
            Gate::Run if self.is_ahead(facts.wave) => Place::Nowhere,
            Gate::Run if task.not_before > self.state.clock => Place::Waiting(task.not_before),
            Gate::Run => Place::Queue,
        }
    }

    /// Keeps a task where its status, its dependencies and the time say.
    pub(super) fn put_in_place(&mut self, index: TaskIndex) {
        let place = self.place(index);
        let State { tasks, queue, waiting, doomed, .. } = &mut self.state;
        let (task, facts) = (&mut tasks[index.get()], &self.facts.tasks[index.get()]);
        let before = std::mem::replace(&mut task.place, place);
        if before == place {
            return;
        }
        match before {
            Place::Nowhere => {}
            Place::Queue => queue.remove(facts),
            Place::Waiting(until) => drop(waiting.remove(&(until, index))),
            Place::Doomed => drop(doomed.remove(&index)),
        }
        match place {
            Place::Nowhere => {}
            Place::Queue => queue.insert(facts),
            Place::Waiting(until) => drop(waiting.insert((until, index))),
            Place::Doomed => drop(doomed.insert(index)),
        }
    }
}

impl TaskState {
    pub(super) const fn new(open: u32) -> Self {
        Self {
            status: TaskStatus::Pending,
            place: Place::Nowhere,
            attempt: 0,
            intended: 0,
            failures: 0,
            interruptions: 0,
            refusals: 0,
            not_before: NEVER,
            open,
            bad: 0,
            slot: 0,
            choice: 0,
            since: None,
            findings: None,
            error: None,
            skipped_by_rule: false,
            not_needed: false,
            rounds: 0,
            critique: None,
            verdict: None,
            complexity: None,
            objection: None,
            is_absent: false,
            cancelled: None,
            advice: None,
            check_only: false,
            took: Took::NOTHING,
        }
    }
}
