//! The auditor's own idea of a run: what each record may say and what it does, written plainly and without a look at the
//! rules that are under test.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use team_executor_core::run::{WaveFailed, Work};
use team_executor_core::{Complexity, TaskStatus};

use super::Truth;
use super::facts::{Facts, admits};
use super::reader::Record;
use crate::worker::End;

/// A run as its records tell it.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) facts: Rc<Facts>,
    pub(crate) tasks: Vec<TaskModel>,
    pub(crate) stage: Stage,
    pub(crate) merged: u32,
    /// Until when which quotas cannot be used, and with whose agents nobody is logged in.
    held: BTreeMap<u32, i64>,
    pub(super) closed: BTreeSet<u32>,
    /// It must halt, because nobody is logged in with any agent for a task.
    pub(super) must_halt: bool,
    /// What attempts used, in the order of the measures.
    pub(super) used: BTreeMap<Work, [u64; 4]>,
    /// Somebody has said what an attempt used, or has completed one and said nothing.
    pub(super) is_known: bool,
    clock: i64,
    /// The clock when the rules last had to start what can start.
    settled: i64,
    /// What was sent back and has not begun anew.
    pub(super) recalled: BTreeSet<usize>,
    /// A person is to be asked when the run goes on.
    pub(super) asks_later: bool,
    /// It has halted because the disk is full.
    pub(super) is_full: bool,
    /// There may be so many workers, since the system had too little for more.
    fewer: Option<usize>,
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
    failures: u32,
    interruptions: u32,
    refusals: u32,
    not_before: i64,
    /// The attempts that failed, and were not interrupted.
    pub(crate) counted: BTreeSet<u32>,
    /// When its status last changed; nothing before its first change.
    pub(crate) since: Option<i64>,
    /// It was skipped, and nothing is amiss.
    pub(crate) not_needed: bool,
    /// How often it was not accepted, since it last began anew by itself.
    pub(crate) rounds: u32,
    /// How often it was done again because of a judgement.
    pub(crate) returns: u32,
    pub(super) complexity: Option<Complexity>,
    pub(super) by_rule: bool,
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
        });
        Self {
            tasks: tasks.collect(),
            facts: Rc::clone(facts),
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
            asks_later: false,
            is_full: false,
            fewer: None,
        }
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = usize> {
        (0..self.tasks.len()).filter(|task| self.tasks[*task].status == TaskStatus::InProgress)
    }

    pub(crate) fn admits(&self, task: usize) -> Option<bool> {
        let facts = &self.facts.tasks[task];
        admits(facts.run_on, facts.needs.iter().map(|on| (self.tasks[*on].status, self.tasks[*on].not_needed)))
    }

    pub(crate) fn all_over(&self) -> bool {
        self.tasks.iter().all(|task| task.status.is_over())
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
    fn can_start(&self, task: usize, clock: i64) -> bool {
        self.is_wanted(task)
            && self.tasks[task].not_before <= clock
            && self.choice(task, clock).is_some()
            && self.fits(task)
            && !self.running().any(|other| self.facts.share_a_worker(task, other))
    }

    /// Whether the task is to be done next, as far as the tasks are concerned.
    pub(super) fn is_wanted(&self, task: usize) -> bool {
        self.tasks[task].status == TaskStatus::Pending
            && self.admits(task) == Some(true)
            && !self.is_needless(task)
            && self.has_its_turn(task)
    }

    /// Which of its agents would do a task.
    fn choice(&self, task: usize, clock: i64) -> Option<usize> {
        self.facts.tasks[task].quotas.iter().position(|quota| self.is_usable(*quota, clock))
    }

    fn is_usable(&self, quota: u32, clock: i64) -> bool {
        !self.closed.contains(&quota) && self.held.get(&quota).is_none_or(|until| *until <= clock)
    }

    /// Whose quota the last attempt at a task used.
    fn quota(&self, task: usize) -> u32 {
        self.facts.tasks[task].quotas[self.tasks[task].choice]
    }

    /// Whether nobody is logged in with any agent for a task.
    pub(super) fn is_closed(&self, task: usize) -> bool {
        self.facts.tasks[task].quotas.iter().all(|quota| self.closed.contains(quota))
    }

    fn has_room(&self) -> bool {
        let most = self.fewer.unwrap_or(usize::MAX).min(self.facts.slots);
        self.stage == Stage::Going && self.recalled.is_empty() && self.running().count() < most
    }

    /// A task that could start and was not started.
    pub(crate) fn neglected(&self) -> Option<usize> {
        (0..self.tasks.len()).find(|task| self.has_room() && self.can_start(*task, self.settled))
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
        if decides || matches!(kind, "resumed" | "paused" | "finished") || record.text("then") == Some("ask") {
            self.closed.clear(); // somebody may have logged in
        }
        let task = record.task("task").filter(|task| *task < self.tasks.len());
        match (kind, task) {
            ("recovered", _) => self.fewer = None,
            ("halted", _) => {
                (self.stage, self.must_halt) = (Stage::Draining, false);
                self.is_full = record.value("no_room").is_some();
            }
            ("used", Some(task)) => self.count(task, attempt(record), record),
            ("began" | "resumed", _) => (self.stage, self.asks_later) = (Stage::Going, false),
            ("paused", _) => (self.stage, self.asks_later) = (Stage::Paused, false),
            ("draining", _) => self.stage = Stage::Draining,
            ("stopping", _) => self.stage = Stage::Stopping,
            ("finished", _) => self.stage = Stage::Finished,
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
                    Some("ask") => self.stage = Stage::Paused,
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
        };
        // Who needs it cannot begin any more as was intended.
        for other in (0..self.tasks.len()).filter(|other| self.facts.tasks[*other].needs.contains(&task)) {
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
                return self.heed(record);
            }
            "skipped" => {
                own.status = TaskStatus::Skipped;
                own.by_rule = record.text("person").is_none();
                own.not_needed = record.value("too_simple").or(record.value("switched_off")).is_some();
            }
            "failed" if record.text("class") == Some("rejected") => own.rounds += 1,
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
            _ => own.interruptions += u32::from(self.stage != Stage::Stopping && self.recalled.is_empty()),
        }
        if matches!(kind, "failed" | "interrupted") {
            let own = &mut self.tasks[task];
            if kind == "failed" {
                own.counted.insert(own.attempt);
            }
            let own = &mut self.tasks[task];
            own.status = if again.is_some() { TaskStatus::Pending } else { TaskStatus::Failed };
            own.not_before = again.unwrap_or(own.not_before);
            if record.text("class") == Some("shortage") {
                self.fewer = Some(self.running().count().max(1));
            }
            if kind == "failed" && again.is_none() && record.text("class") == Some("rejected") {
                self.ask();
            }
        }
    }

    /// Whether a record may come next; `truth` is how the workers really ended.
    pub(crate) fn judge(&self, record: Record<'_>, truth: &BTreeMap<Work, Truth>) -> Result<(), String> {
        let kind = record.text("type").unwrap_or_default();
        match kind {
            "plan" => return Ok(()),
            "began" => demand!(self.stage == Stage::NotBegun, "I5: the run begins twice"),
            "finished" => {
                demand!(self.all_over(), "I12: the run is finished and a task is not over");
                let asks = self.asks_later || self.stage == Stage::Paused;
                demand!(!asks && self.recalled.is_empty(), "I12: the run is finished, and somebody was to be asked");
            }
            "halted" => return self.judge_halt(record),
            "used" => return Ok(()),
            "returned" => self.judge_return(record)?,
            "decided" => self.judge_decision(record)?,
            "wave_merged" => self.judge_merge(record)?,
            _ => {}
        }
        let Some(task) = record.task("task") else { return Ok(()) };
        demand!(task < self.tasks.len(), "a task that there is not: {}", record.0);
        let at = record.number("at").unwrap_or(i64::MIN).max(self.clock);
        match kind {
            "claimed" => self.judge_claim(task, record, at),
            "skipped" => self.judge_skip(task, record),
            _ => self.judge_end(kind, task, record, truth),
        }
    }

    fn judge_merge(&self, record: Record<'_>) -> Result<(), String> {
        let wave = self.merged + 1;
        demand!(record.number("wave") == Some(i64::from(wave)), "a wave is left out: {}", record.0);
        let of_wave = |(task, _): &(usize, &TaskModel)| self.facts.tasks[*task].wave == wave;
        let tasks: Vec<_> = self.tasks.iter().enumerate().filter(of_wave).map(|(_, task)| task).collect();
        demand!(tasks.iter().all(|task| task.status.is_over()), "wave {wave} is merged too early");
        let failed = tasks.iter().any(|task| task.status == TaskStatus::Failed && task.attempt > 0);
        let all_failed = failed && tasks.iter().all(|task| task.status != TaskStatus::Completed);
        let then = match self.facts.wave_failed {
            WaveFailed::Ask if all_failed => "ask",
            WaveFailed::Abort if all_failed && !self.all_over() => "abort",
            _ => "go_on",
        };
        demand!(record.text("then") == Some(then), "after wave {wave} it must {then}: {}", record.0);
        Ok(())
    }

    fn judge_claim(&self, task: usize, record: Record<'_>, at: i64) -> Result<(), String> {
        let slot = record.number("slot").unwrap_or(-1);
        let own = &self.tasks[task];
        demand!(own.status != TaskStatus::Completed, "I2: a completed task is claimed: {}", record.0);
        demand!(self.admits(task) == Some(true), "I9: claimed before what it needs: {}", record.0);
        demand!(self.has_room() && self.can_start(task, at), "claimed although it cannot start: {}", record.0);
        demand!(attempt(record) > own.attempt, "I8: attempt {} after {}", attempt(record), own.attempt);
        demand!(self.choice(task, at) == Some(choice(record)), "T{task} is given to the wrong agent: {}", record.0);
        demand!(self.running().all(|other| self.tasks[other].slot != slot), "two tasks in slot {slot}");
        let better = |other: &usize| self.facts.tasks[*other].priority < self.facts.tasks[task].priority;
        let passed = (0..self.tasks.len()).filter(better).find(|other| self.can_start(*other, self.settled));
        demand!(passed.is_none(), "T{task} starts before T{}, which is more urgent", passed.unwrap_or(0));
        Ok(())
    }

    fn judge_skip(&self, task: usize, record: Record<'_>) -> Result<(), String> {
        demand!(self.tasks[task].status == TaskStatus::Pending, "skipped and not pending: {}", record.0);
        let by_rule = record.text("person").is_none();
        if record.value("switched_off").or(record.value("too_simple")).is_some() {
            let right = self.admits(task) == Some(true) && self.is_needless(task);
            demand!(right, "I9: said not to be needed, and it is: {}", record.0);
            return Ok(());
        }
        demand!(!by_rule || self.admits(task) == Some(false), "skipped without a reason: {}", record.0);
        for (key, status) in [("dependency_failed", TaskStatus::Failed), ("dependency_skipped", TaskStatus::Skipped)] {
            let Some(on) = record.task(key) else { continue };
            let right = self.facts.tasks[task].needs.contains(&on) && self.tasks[on].status == status;
            demand!(right, "skipped for a wrong reason: {}", record.0);
        }
        Ok(())
    }

    fn judge_end(
        &self,
        kind: &str,
        task: usize,
        record: Record<'_>,
        truth: &BTreeMap<Work, Truth>,
    ) -> Result<(), String> {
        let own = &self.tasks[task];
        let work = Work { task: index(task), attempt: attempt(record) };
        let runs = own.status == TaskStatus::InProgress && own.attempt == work.attempt;
        demand!(runs, "I5: an attempt ends that does not run: {}", record.0);
        let really = truth.get(&work);
        let says = really.map(|really| really.says).unwrap_or_default();
        let class = match really.map(|really| really.end) {
            Some(End::Completed) if says.checked == Some(false) => "rejected",
            Some(End::Completed) => "completed",
            Some(End::Transient | End::TimedOut | End::CouldNotStart) => "transient",
            Some(End::Shortage) if self.running().count() > 1 || self.stage != Stage::Going => "shortage",
            Some(End::Shortage) => "transient",
            Some(End::Quota) => "quota",
            Some(End::Auth) => "auth",
            Some(End::Fatal) => "fatal",
            // What was about to start when the disk was full is taken back.
            None if self.is_full || self.stage == Stage::Stopping => "shortage",
            Some(End::Interrupted) | None => "interrupted",
        };
        let said = if kind == "failed" { record.text("class").unwrap_or_default() } else { kind };
        demand!(said == "interrupted" || said == class, "I1: said {said}, it really was {class}: {}", record.0);
        if said == "completed" {
            self.judge_judgement(task, says, record)?;
        }
        self.judge_then(task, said, record)
    }

    /// Whether there is another attempt, and when.
    fn judge_then(&self, task: usize, said: &str, record: Record<'_>) -> Result<(), String> {
        let (own, facts) = (&self.tasks[task], &self.facts.tasks[task]);
        let at = record.number("at").unwrap_or(0);
        let times = match said {
            "completed" => return Ok(()),
            "interrupted" if self.stage == Stage::Stopping || !self.recalled.is_empty() => Some(0),
            "interrupted" if own.interruptions < self.facts.interruptions => Some(0),
            "rejected" if own.rounds < facts.rounds => Some(0),
            "shortage" | "auth" => Some(0),
            "transient" if own.failures < facts.retries => Some(own.failures + 1),
            "quota" => Some(own.refusals + 1),
            _ => None,
        };
        let again = record.number("again");
        demand!(times.is_some() == again.is_some(), "I8: wrong about another attempt: {}", record.0);
        let (Some(times), Some(again)) = (times, again) else { return Ok(()) };
        let (least, most) = if times == 0 { (0, 0) } else { self.facts.wait(times) };
        let others = facts.quotas.iter().filter(|quota| said == "quota" && **quota != self.quota(task));
        // Where another agent can do the task, only the quota waits.
        let waits = if others.into_iter().any(|quota| self.is_usable(*quota, at)) {
            demand!(again == at, "another agent could do it at once: {}", record.0);
            record.number("until").unwrap_or(i64::MIN)
        } else {
            again
        };
        demand!((least..=most).contains(&waits.saturating_sub(at)), "not {least} to {most} are waited: {}", record.0);
        Ok(())
    }
}

fn attempt(record: Record<'_>) -> u32 {
    record.number("attempt").and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or(0)
}

fn choice(record: Record<'_>) -> usize {
    record.number("choice").and_then(|choice| usize::try_from(choice).ok()).unwrap_or(0)
}

/// The number of a task, as the rules have it.
pub(crate) fn index(task: usize) -> team_executor_core::TaskIndex {
    team_executor_core::TaskIndex(u32::try_from(task).unwrap_or(u32::MAX))
}
