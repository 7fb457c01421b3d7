//! The auditor's own idea of a run: what each record does, written plainly and without a look at the rules that are under test.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use team_executor_core::run::Work;
use team_executor_core::{Complexity, TaskStatus};

use super::facts::{Facts, admits};
use super::reader::Record;

/// A run as its records tell it.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) facts: Rc<Facts>,
    pub(crate) tasks: Vec<TaskModel>,
    /// What each of them waits for.
    pub(crate) needs: Vec<Vec<usize>>,
    pub(crate) stage: Stage,
    pub(crate) merged: u32,
    /// Until when which quotas cannot be used, and whose agents are not logged in.
    held: BTreeMap<u32, i64>,
    pub(super) closed: BTreeSet<u32>,
    /// It must halt, because no agent for a task is logged in.
    pub(super) must_halt: bool,
    /// What attempts used, in the order of the measures.
    pub(super) used: BTreeMap<Work, [u64; 4]>,
    /// An attempt reported its use, or completed without a report of it.
    pub(super) is_known: bool,
    pub(super) clock: i64,
    /// The clock when the rules last had to start what can start.
    pub(super) settled: i64,
    /// What was sent back and has not begun anew.
    pub(super) recalled: BTreeSet<usize>,
    /// After which tasks a person is to say how it goes on, in this order: now, or when it goes on.
    pub(super) open: Vec<usize>,
    /// The same after a wave that failed.
    pub(super) wave_failed: bool,
    /// A person has paused it.
    pub(super) told: bool,
    /// It has halted because the disk is full.
    pub(super) is_full: bool,
    /// What a person has limited, by what it is for: nothing for all workers.
    limits: BTreeMap<Option<String>, usize>,
    /// Whom a person gave tasks to.
    given: BTreeMap<usize, Given>,
    /// As many workers as there ever might be.
    pub(super) most: usize,
    /// There may be so many workers, since the system had too little for more.
    fewer: Option<usize>,
}

/// Whom a person gave a task to, behind those who could do it before, and who of them does it now.
#[derive(Debug, Default)]
struct Given {
    all: Vec<To>,
    only: usize,
}

/// An agent, its model, and whose quota that uses.
#[derive(Debug, Clone)]
struct To {
    agent: String,
    model: Option<String>,
    quota: u32,
}

/// One task.
#[derive(Debug)]
pub(crate) struct TaskModel {
    pub(crate) status: TaskStatus,
    pub(crate) attempt: u32,
    pub(crate) intended: u32,
    pub(crate) slot: i64,
    /// Which of the agents has it.
    choice: usize,
    pub(super) failures: u32,
    pub(super) interruptions: u32,
    pub(super) refusals: u32,
    not_before: i64,
    /// The attempts that failed, and were not interrupted.
    pub(crate) counted: BTreeSet<u32>,
    /// When its status last changed; nothing before its first change.
    pub(crate) since: Option<i64>,
    /// It was skipped, and nothing is amiss.
    pub(crate) not_needed: bool,
    /// How often it was not accepted, since it last began anew by itself.
    pub(crate) rounds: u32,
    /// How often it was done again because of a review.
    pub(crate) returns: u32,
    pub(super) complexity: Option<Complexity>,
    pub(super) by_rule: bool,
    /// The run does not have it yet.
    pub(crate) absent: bool,
    /// What a person wants to become of it when its worker has ended.
    pub(super) cancelled: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    NotBegun,
    Going,
    Paused,
    Draining,
    Stopping,
    Finished,
}

/// Fails with a sentence, unless something is so.
macro_rules! demand {
    ($holds:expr, $($text:tt)*) => {
        if !$holds {
            return Err(format!($($text)*));
        }
    };
}
pub(crate) use demand;

impl Model {
    pub(crate) fn new(facts: &Rc<Facts>) -> Self {
        let tasks = facts.tasks.iter().map(|task| TaskModel {
            status: task.before,
            attempt: 0,
            intended: 0,
            slot: -1,
            choice: 0,
            failures: 0,
            interruptions: 0,
            refusals: 0,
            not_before: i64::MIN,
            counted: BTreeSet::new(),
            since: None,
            not_needed: false,
            rounds: 0,
            returns: 0,
            complexity: None,
            by_rule: false,
            absent: false,
            cancelled: None,
        });
        let mut model = Self {
            tasks: tasks.collect(),
            facts: Rc::clone(facts),
            needs: facts.tasks.iter().map(|task| task.needs.clone()).collect(),
            stage: Stage::NotBegun,
            merged: 0,
            held: BTreeMap::new(),
            closed: BTreeSet::new(),
            must_halt: false,
            used: BTreeMap::new(),
            is_known: false,
            clock: i64::MIN,
            settled: i64::MIN,
            recalled: BTreeSet::new(),
            open: Vec::new(),
            wave_failed: false,
            told: false,
            is_full: false,
            limits: BTreeMap::new(),
            given: BTreeMap::new(),
            most: facts.slots,
            fewer: None,
        };
        facts.later.iter().for_each(|task| model.tasks[*task].absent = true);
        for task in 0..model.tasks.len() {
            let skipped = model.tasks[task].status == TaskStatus::Skipped;
            model.tasks[task].by_rule = skipped && model.admits(task) == Some(false);
        }
        model
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = usize> {
        (0..self.tasks.len()).filter(|task| self.tasks[*task].status == TaskStatus::InProgress)
    }

    pub(crate) fn admits(&self, task: usize) -> Option<bool> {
        let facts = &self.facts.tasks[task];
        admits(
            facts.run_on,
            self.needs[task]
                .iter()
                .filter(|on| !self.tasks[**on].absent)
                .map(|on| (self.tasks[*on].status, self.tasks[*on].not_needed)),
        )
    }

    pub(crate) fn all_over(&self) -> bool {
        self.tasks.iter().all(|task| task.absent || task.status.is_over())
    }

    /// Whether its wave and its turn have come.
    pub(crate) fn has_its_turn(&self, task: usize) -> bool {
        let (own, of) = (&self.facts.tasks[task], |task: usize| &self.facts.tasks[task]);
        let earlier =
            |other: usize| of(other).wave < own.wave || of(other).wave == own.wave && of(other).turn < own.turn;
        let open = (0..self.tasks.len()).any(|other| earlier(other) && !self.tasks[other].status.is_over());
        let alone = own.turn != 1;
        let disturbed = self.running().any(|other| other != task && (alone || of(other).turn != 1));
        !self.facts.waves || self.merged + 1 == own.wave && !open && !disturbed
    }

    /// Whether the task can start now, if there is a worker.
    pub(super) fn can_start(&self, task: usize, clock: i64) -> bool {
        self.is_wanted(task)
            && self.tasks[task].not_before <= clock
            && self.choice(task, clock).is_some()
            && self.fits(task)
            && self.is_within_limits(task, clock)
            && !self.running().any(|other| self.facts.share_a_worker(task, other))
    }

    /// Whether the task is to be done next, as far as the tasks are concerned.
    pub(super) fn is_wanted(&self, task: usize) -> bool {
        self.tasks[task].status == TaskStatus::Pending
            && !self.tasks[task].absent
            && self.tasks[task].cancelled.is_none()
            && self.facts.part.as_ref().is_none_or(|part| part.contains(&task))
            && self.admits(task) == Some(true)
            && !self.is_needless(task)
            && self.has_its_turn(task)
    }

    /// Which of its agents would do a task.
    pub(super) fn choice(&self, task: usize, clock: i64) -> Option<usize> {
        self.wanted(task).into_iter().find(|(_, quota)| self.is_usable(*quota, clock)).map(|(choice, _)| choice)
    }

    /// Which of its agents may do a task, each with whose quota that uses.
    pub(super) fn wanted(&self, task: usize) -> Vec<(usize, u32)> {
        let quotas = &self.facts.tasks[task].quotas;
        match self.given.get(&task) {
            None => quotas.iter().copied().enumerate().collect(),
            Some(given) => vec![(quotas.len() + given.only, given.all[given.only].quota)],
        }
    }

    /// What each task waits for after a record that changes that, and which tasks are gone.
    pub(super) fn replanned(&self, record: Record<'_>) -> Option<&(Vec<Vec<usize>>, Vec<bool>)> {
        self.facts.plans.get(record.text("digest")?.parse::<usize>().ok()?)
    }

    fn replan(&mut self, record: Record<'_>) {
        let Some((needs, gone)) = self.replanned(record).cloned() else { return };
        for task in 0..self.tasks.len() {
            if needs[task] != self.needs[task] || gone[task] {
                self.tasks[task].intended = self.tasks[task].intended.min(self.tasks[task].attempt);
            }
            self.tasks[task].absent |= gone[task];
        }
        self.needs = needs;
    }

    /// Takes note that a person gives a task to an agent.
    fn give(&mut self, task: usize, agent: &str, model: Option<&str>) {
        let planned = self.facts.tasks.iter().flat_map(|task| task.agents.iter().zip(&task.quotas));
        let mut planned = planned.filter(|(name, _)| model.is_none() && *name == agent).map(|(_, quota)| *quota);
        let before = || self.given.values().flat_map(|given| &given.all);
        let same = before().find(|to| to.agent == agent && to.model.as_deref() == model).map(|to| to.quota);
        // An agent that no task was planned for is known by what it was given.
        let known = before().find(|to| model.is_none() && to.agent == agent).map(|to| to.quota);
        let new = u32::MAX - u32::try_from(before().count()).unwrap_or(0);
        let quota = same.or_else(|| planned.next()).or(known).unwrap_or(new);
        let given = self.given.entry(task).or_default();
        let is_it = |to: &To| to.agent == agent && to.model.as_deref() == model;
        given.only = given.all.iter().position(is_it).unwrap_or(given.all.len());
        if given.only == given.all.len() {
            given.all.push(To { agent: agent.to_owned(), model: model.map(str::to_owned), quota });
        }
        self.tasks[task].not_before = i64::MIN;
    }

    pub(super) fn is_usable(&self, quota: u32, clock: i64) -> bool {
        !self.closed.contains(&quota) && self.held.get(&quota).is_none_or(|until| *until <= clock)
    }

    /// Whose quota the last attempt at a task used.
    pub(super) fn quota(&self, task: usize) -> u32 {
        let (quotas, choice) = (&self.facts.tasks[task].quotas, self.tasks[task].choice);
        let given = || self.given.get(&task)?.all.get(choice - quotas.len()).map(|to| to.quota);
        quotas.get(choice).copied().or_else(given).unwrap_or(quotas[0])
    }

    /// Whether no agent for a task is logged in.
    pub(super) fn is_closed(&self, task: usize) -> bool {
        self.wanted(task).iter().all(|(_, quota)| self.closed.contains(quota))
    }

    /// Whether one more worker stays within the limits of its role and its agent.
    fn is_within_limits(&self, task: usize, clock: i64) -> bool {
        let role = |task: usize| self.facts.tasks[task].role.clone();
        let agent = |task: usize, choice: usize| {
            let planned = &self.facts.tasks[task].agents;
            let given = || self.given.get(&task)?.all.get(choice - planned.len()).map(|to| to.agent.clone());
            planned.get(choice).cloned().or_else(given).unwrap_or_default()
        };
        let next = self.choice(task, clock).map(|choice| agent(task, choice)).unwrap_or_default();
        let of_role = self.running().filter(|other| role(*other) == role(task)).count();
        let of_agent = self.running().filter(|other| agent(*other, self.tasks[*other].choice) == next).count();
        let is_free = |of: String, running: usize| self.limits.get(&Some(of)).is_none_or(|most| running < *most);
        is_free(format!("role {}", role(task)), of_role) && is_free(format!("agent {next}"), of_agent)
    }

    pub(super) fn has_room(&self) -> bool {
        let chosen = self.limits.get(&None).copied().unwrap_or(self.facts.slots);
        let most = self.fewer.unwrap_or(usize::MAX).min(chosen);
        self.stage == Stage::Going && self.recalled.is_empty() && self.running().count() < most
    }

    /// A task that could start and was not started.
    pub(crate) fn neglected(&self) -> Option<usize> {
        (0..self.tasks.len()).find(|task| self.has_room() && self.can_start(*task, self.settled))
    }

    /// A task that a person wants skipped, whose worker has ended, and that is not.
    pub(crate) fn unskipped(&self) -> Option<usize> {
        let is_left = |task: &TaskModel| task.status == TaskStatus::Pending && task.cancelled.is_some();
        self.tasks.iter().position(is_left)
    }

    /// Takes a record without a question.
    pub(crate) fn apply(&mut self, record: Record<'_>) {
        let kind = record.text("type").unwrap_or_default();
        if kind == "plan" {
            return;
        }
        let at = record.number("at").unwrap_or(i64::MIN);
        if kind == "recovered" && self.clock != i64::MIN && at < self.clock {
            let by = self.clock - at;
            let waits = self.tasks.iter_mut().map(|task| &mut task.not_before).chain(self.held.values_mut());
            waits.for_each(|until| *until = until.saturating_sub(by));
            self.clock = at;
        }
        self.clock = self.clock.max(at);
        if !matches!(kind, "intended" | "used") {
            self.settled = self.clock;
        }
        if matches!(kind, "recovered" | "resumed" | "paused" | "decided" | "stopping") {
            self.is_full = false;
        }
        let decides = kind == "decided" && record.text("action") != Some("feedback");
        let pauses_again = kind == "paused" && self.stage != Stage::Going;
        if decides || pauses_again || matches!(kind, "resumed" | "finished") {
            self.closed.clear(); // the user may have logged in
        }
        let task = record.task("task").filter(|task| *task < self.tasks.len());
        match (kind, task) {
            ("recovered", _) => self.fewer = None,
            ("added", _) => record.tasks().into_iter().for_each(|(task, _)| self.tasks[task].absent = false),
            ("replanned", _) => self.replan(record),
            ("assigned", _) => {
                let (agent, model) = (record.text("agent").unwrap_or_default(), record.text("model"));
                record.tasks().into_iter().for_each(|(task, _)| self.give(task, agent, model));
            }
            ("limited", _) => {
                let role = record.text("role").map(|role| format!("role {role}"));
                let of = role.or_else(|| record.text("agent").map(|agent| format!("agent {agent}")));
                let most = record.number("most").and_then(|most| usize::try_from(most).ok());
                if of.is_none() {
                    self.most = self.most.max(most.unwrap_or(0));
                }
                self.limits.remove(&of);
                self.limits.extend(most.map(|most| (of, most)));
            }
            ("halted", _) => {
                (self.stage, self.must_halt) = (Stage::Draining, false);
                self.is_full = record.value("no_room").is_some();
            }
            ("used", Some(task)) => self.count(task, attempt(record), record),
            ("began" | "resumed", _) => (self.stage, self.told, self.wave_failed) = (Stage::Going, false, false),
            ("paused", _) => {
                self.stage = Stage::Paused;
                self.told |= record.text("told").is_some();
            }
            ("draining", _) => self.stage = Stage::Draining,
            ("stopping", _) => self.stage = Stage::Stopping,
            ("finished", _) => (self.stage, self.told) = (Stage::Finished, false),
            ("intended", _) => {
                for (task, attempt) in record.tasks() {
                    self.tasks[task].intended = attempt;
                }
            }
            ("doubted", _) => self.tasks.iter_mut().for_each(|task| task.attempt = task.attempt.max(task.intended)),
            ("returned", _) => self.take_back(record, at),
            ("decided", _) => self.decide(record),
            ("reset", _) => record.tasks().into_iter().for_each(|(task, _)| self.reset(task, at)),
            ("wave_merged", _) => {
                self.merged = record.number("wave").and_then(|wave| u32::try_from(wave).ok()).unwrap_or(0);
                match record.text("then") {
                    Some("ask") => (self.stage, self.wave_failed) = (Stage::Paused, true),
                    Some("abort") => self.stage = Stage::Stopping,
                    _ => {}
                }
            }
            (kind, Some(task)) => self.change(kind, task, record, at),
            _ => {}
        }
    }

    pub(super) fn reset(&mut self, task: usize, at: i64) {
        let TaskModel { attempt, intended, choice, returns, .. } = self.tasks[task];
        self.recalled.remove(&task);
        let first = self.open.first().copied();
        self.open.retain(|open| Some(*open) == first || *open != task);
        self.tasks[task] = TaskModel {
            status: TaskStatus::Pending,
            attempt,
            intended,
            slot: -1,
            choice,
            failures: 0,
            interruptions: 0,
            refusals: 0,
            not_before: i64::MIN,
            counted: BTreeSet::new(),
            since: Some(at),
            not_needed: false,
            rounds: 0,
            returns,
            complexity: None,
            by_rule: false,
            absent: false,
            cancelled: None,
        };
        // Who needs it cannot begin any more as was intended.
        for other in (0..self.tasks.len()).filter(|other| self.needs[*other].contains(&task)) {
            self.tasks[other].intended = self.tasks[other].intended.min(self.tasks[other].attempt);
        }
        self.merged = self.merged.min(self.facts.tasks[task].wave - 1);
        if self.stage == Stage::Finished {
            self.stage = Stage::Going;
        }
    }

    fn change(&mut self, kind: &str, task: usize, record: Record<'_>, at: i64) {
        let again = record.number("again");
        let quota = self.quota(task);
        let own = &mut self.tasks[task];
        own.since = Some(at);
        match kind {
            "claimed" => {
                own.attempt = attempt(record);
                own.slot = record.number("slot").unwrap_or(-1);
                own.choice = choice(record);
                own.status = TaskStatus::InProgress;
                return;
            }
            "completed" => {
                own.status = TaskStatus::Completed;
                self.is_known = true;
                self.fewer = self.fewer.map(|fewer| fewer + 1);
                own.complexity = record.text("complexity").and_then(Complexity::from_word);
                return self.heed(task, record);
            }
            "cancelled" => {
                own.cancelled = record.text("then").map(str::to_owned);
                return;
            }
            "skipped" => {
                own.cancelled = None;
                own.status = TaskStatus::Skipped;
                own.by_rule = record.text("person").is_none();
                own.not_needed = record.value("too_simple").or(record.value("switched_off")).is_some();
            }
            "failed" if record.text("class") == Some("rejected") => own.rounds += u32::from(again.is_some()),
            "failed" if record.text("class") == Some("quota") => {
                own.refusals += 1;
                let held = self.held.entry(quota).or_insert(i64::MIN);
                *held = (*held).max(record.number("until").or(again).unwrap_or(i64::MIN));
            }
            "failed" if record.text("class") == Some("auth") => {
                own.refusals += 1;
                self.closed.insert(quota);
                let starts_or_waits = matches!(self.stage, Stage::Going | Stage::Paused);
                self.must_halt |= starts_or_waits && self.is_closed(task);
            }
            "failed" if record.text("class") == Some("shortage") => own.refusals += 1,
            "failed" => own.failures += 1,
            _ if own.cancelled.is_some() => {}
            _ => own.interruptions += u32::from(self.stage != Stage::Stopping && self.recalled.is_empty()),
        }
        if matches!(kind, "failed" | "interrupted") {
            let own = &mut self.tasks[task];
            own.cancelled = own.cancelled.take().filter(|then| then == "skip");
            if kind == "failed" {
                own.counted.insert(own.attempt);
            }
            own.status = if again.is_some() { TaskStatus::Pending } else { TaskStatus::Failed };
            own.not_before = again.unwrap_or(own.not_before);
            if record.text("class") == Some("shortage") {
                self.fewer = Some(self.running().count().max(1));
            }
            if kind == "failed" && again.is_none() && record.text("class") == Some("rejected") {
                self.ask(task);
            }
        }
    }
}

pub(super) fn attempt(record: Record<'_>) -> u32 {
    record.number("attempt").and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or(0)
}

pub(super) fn choice(record: Record<'_>) -> usize {
    record.number("choice").and_then(|choice| usize::try_from(choice).ok()).unwrap_or(0)
}

/// The number of a task, as the rules have it.
pub(crate) fn index(task: usize) -> team_executor_core::TaskIndex {
    team_executor_core::TaskIndex(u32::try_from(task).unwrap_or(u32::MAX))
}
