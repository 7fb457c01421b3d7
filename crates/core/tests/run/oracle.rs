//! Judges a list of events by scanning: was each of them right at its moment? Shares no code with the rules.

mod judged;

use std::collections::{BTreeMap, BTreeSet};

use team_executor_core::run::{
    Assignment, Cadence, Cancel, ErrorClass, Event, Group, Halt, KeptWaves, PauseReason, SkipReason, TaskPolicy, Then,
    WaveFailed, WaveThen, Work,
};
use team_executor_core::{Complexity, ExecMode, Position, RunOn, Task, TaskId, TaskIndex, TaskStatus};

use crate::plan::Plan;

/// What the events so far say.
#[derive(Debug)]
pub(crate) struct Oracle<'a> {
    plan: &'a Plan,
    dependencies: Vec<Vec<usize>>,
    pub(crate) tasks: Vec<Seen>,
    held: BTreeMap<Pool, i64>,
    /// Whom a person gave tasks to.
    assigned: BTreeMap<usize, Assignment>,
    pub(crate) stage: Stage,
    merged: u32,
    pub(crate) clock: i64,
    /// The time of the last event.
    last: i64,
    /// What was just completed, and where; nothing in the first step of an incarnation.
    completed: Option<(usize, u32)>,
    recovering: bool,
    /// The tasks sent back that have not begun anew.
    recalled: BTreeSet<usize>,
    /// After which tasks a person is to say how it goes on, in this order: now, or after a drain or a stop.
    open: Vec<usize>,
    /// The same after a wave that failed.
    wave_failed: bool,
    /// A person has paused it.
    told: bool,
    /// What a person has limited: all workers, those of roles, those of agents.
    limits: BTreeMap<String, usize>,
    /// There may be so many workers, since the system had too little for more.
    fewer: Option<usize>,
    /// The tasks that are not there any more.
    pub(crate) gone: BTreeSet<usize>,
    /// What each task waits for when the plan is changed.
    pub(crate) next: Vec<Vec<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    New,
    Going,
    Paused,
    Draining,
    Stopping,
    Finished,
}

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) status: TaskStatus,
    pub(crate) attempt: u32,
    intended: u32,
    failures: u32,
    lost: u32,
    not_before: i64,
    slot: Option<u32>,
    /// Who has it, while it runs.
    agent: String,
    by_rule: bool,
    pub(crate) not_needed: bool,
    pub(crate) rounds: u32,
    complexity: Option<Complexity>,
    /// A person ends its worker, or has.
    cancelled: Option<Cancel>,
}

/// Whose quota a task uses: one that was planned, or that of whom it was given to.
type Pool = Result<u32, String>;

/// Says what is wrong, unless it holds.
macro_rules! must {
    ($holds:expr, $($what:tt)*) => {
        if !$holds {
            return Err(format!($($what)*));
        }
    };
}

use must;

impl<'a> Oracle<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        let seen = Seen {
            status: TaskStatus::Pending,
            attempt: 0,
            intended: 0,
            failures: 0,
            lost: 0,
            not_before: i64::MIN,
            slot: None,
            agent: String::new(),
            by_rule: false,
            not_needed: false,
            rounds: 0,
            complexity: None,
            cancelled: None,
        };
        Self {
            plan,
            dependencies: (0..plan.tasks.len()).map(|task| plan.dependencies(task)).collect(),
            tasks: vec![seen; plan.tasks.len()],
            held: BTreeMap::new(),
            assigned: BTreeMap::new(),
            stage: Stage::New,
            merged: 0,
            clock: i64::MIN,
            last: i64::MIN,
            completed: None,
            recovering: false,
            recalled: BTreeSet::new(),
            open: Vec::new(),
            wave_failed: false,
            told: false,
            limits: BTreeMap::new(),
            fewer: None,
            gone: BTreeSet::new(),
            next: Vec::new(),
        }
    }

    /// Takes note of the next event, unless it is wrong.
    pub(crate) fn see(&mut self, event: &Event) -> Result<(), String> {
        let at = event.at().as_micros();
        if let Event::Recovered { .. } = event {
            self.set_back(at);
        }
        must!(at >= self.clock, "time goes back");
        (self.clock, self.last) = (at, at);
        must!(self.stage != Stage::New || matches!(event, Event::Began { .. }), "not begun");
        match event {
            Event::Began { .. } => {
                must!(self.stage == Stage::New, "begins twice");
                self.stage = Stage::Going;
            }
            Event::Recovered { .. } => self.fewer = None,
            Event::Intended { works, .. } => self.intended(works)?,
            Event::Doubted { .. } => self.doubted(),
            Event::Claimed { work, slot, fast_advance, choice, .. } => {
                let is_given = self.assigned.contains_key(&work.task.get());
                must!(is_given == (*choice > 0), "{work:?} is done by {choice}");
                self.claimed(*work, *slot, *fast_advance)?;
            }
            Event::Completed { work, .. } if self.tasks[work.task.get()].cancelled.is_some() => {
                return Err(format!("{work:?} was cancelled, and completes"));
            }
            Event::Completed { work, reviewed, .. } => self.done(*work, reviewed.as_deref())?,
            Event::Failed { work, class, then, .. } => self.failed(*work, *class, *then)?,
            Event::Interrupted { work, then, .. } => self.interrupted(*work, *then)?,
            Event::Skipped { task, reason, .. } => self.skipped(*task, reason)?,
            Event::Reset { tasks, .. } => self.reset(tasks, false)?,
            Event::Returned { tasks, .. } => self.returned(tasks)?,
            Event::Decided { checkpoint, action, tasks, .. } => self.decided(*checkpoint, *action, tasks)?,
            Event::WaveMerged { wave, then, .. } => self.merged(*wave, *then)?,
            Event::Cancelled { work, then, .. } => {
                let seen = &mut self.tasks[work.task.get()];
                must!(seen.slot.is_some() && seen.attempt == work.attempt, "{work:?} is cancelled and does not run");
                seen.cancelled = Some(*then);
            }
            Event::Added { .. } => return Err("no plan here grows".to_owned()),
            Event::Replanned { changed, removed, .. } => self.replanned(changed, removed)?,
            Event::Assigned { tasks, to, .. } => {
                must!(tasks.iter().all(|task| task.get() < self.tasks.len()), "nothing is given to {to:?}");
                tasks.iter().for_each(|task| self.tasks[task.get()].not_before = i64::MIN);
                self.assigned.extend(tasks.iter().map(|task| (task.get(), to.clone())));
            }
            Event::Advised { tasks, .. } => {
                must!(tasks.iter().all(|task| task.get() < self.tasks.len()), "heard by no task");
            }
            Event::Limited { group, most, .. } => {
                must!(*most != Some(0) && self.stage != Stage::Finished, "limited to {most:?} while {:?}", self.stage);
                let key = match group {
                    Group::All => "all".to_owned(),
                    Group::Role(role) => format!("role {role}"),
                    Group::Agent(agent) => format!("agent {agent}"),
                };
                self.limits.remove(&key);
                self.limits.extend(most.map(|most| (key, most as usize)));
            }
            Event::Paused { reason, .. } => {
                self.stage = Stage::Paused;
                match reason {
                    PauseReason::Told(_) => self.told = true,
                    PauseReason::WaveFailed(_) => must!(self.wave_failed, "paused for no wave"),
                    PauseReason::Checkpoint { task, .. } => {
                        must!(self.open.first() == Some(&task.get()), "paused after {task:?}, not {:?}", self.open);
                    }
                }
            }
            Event::Resumed { .. } => {
                must!(self.open.is_empty(), "goes on, and {:?} were to be judged", self.open);
                (self.stage, self.told, self.wave_failed) = (Stage::Going, false, false);
            }
            Event::Draining { .. } => self.stage = Stage::Draining,
            Event::Halted { why: Halt::NoRoom, .. } => {
                must!(!matches!(self.stage, Stage::Stopping | Stage::Finished), "halted while {:?}", self.stage);
                self.stage = Stage::Draining;
            }
            Event::Used { .. } | Event::Halted { .. } => return Err("no plan here has a budget".to_owned()),
            Event::Stopping { .. } => self.stage = Stage::Stopping,
            Event::Finished { .. } => {
                must!(self.tasks.iter().all(|task| task.status.is_over()), "finished too early");
                must!(!self.asks(), "finished, and a person had to be asked");
                must!(self.recalled.is_empty(), "finished, and something was sent back");
                (self.stage, self.told) = (Stage::Finished, false);
            }
        }
        if !matches!(event, Event::Completed { .. }) || self.recovering {
            self.completed = None;
        }
        Ok(())
    }

    /// After a whole step nothing that should have happened is missing.
    pub(crate) fn settled(&mut self) -> Result<(), String> {
        (self.recovering, self.completed) = (false, None);
        for task in 0..self.tasks.len() {
            must!(self.verdict(task) != Some(false), "{task} should be skipped");
            must!(!self.can_start(task) || !self.has_room(), "{task} should run");
        }
        let behind = |task: &usize| self.behind(*task).iter().any(|next| self.tasks[*next].slot.is_some());
        let later = |task: &usize| self.later_wave_runs(*task);
        let waits = self.recalled.iter().any(|task| behind(task) || later(task));
        must!(self.recalled.is_empty() || waits, "what was sent back should begin anew");
        let is_left = self.tasks.iter().any(|task| !task.status.is_over());
        let may_stay = self.asks() || waits || self.stage == Stage::Finished;
        must!(is_left || may_stay || self.plan.policy.cadence == Cadence::Wave, "should be finished");
        if self.stage == Stage::Going && !waits {
            must!(is_left, "should be finished");
            let open = |task: usize| self.wave(task) == self.merged + 1 && !self.tasks[task].status.is_over();
            let wave = self.plan.policy.cadence == Cadence::Wave;
            must!(!wave || (0..self.tasks.len()).any(open), "wave {} should be merged", self.merged + 1);
        }
        Ok(())
    }

    /// Whose quota a task uses.
    fn pool(&self, task: usize) -> Pool {
        self.assigned.get(&task).map_or_else(|| Ok(self.plan.pool(task)), |to| Err(to.agent.clone()))
    }

    fn own(&self, task: usize) -> TaskPolicy {
        self.plan.policy.tasks.get(&crate::plan::index(task)).copied().unwrap_or_default()
    }

    /// Everything that depends on a task, directly or not.
    fn behind(&self, task: usize) -> BTreeSet<usize> {
        let direct = (0..self.tasks.len()).filter(|next| self.dependencies[*next].contains(&task));
        direct.flat_map(|next| self.behind(next).into_iter().chain([next])).collect()
    }

    fn later_wave_runs(&self, task: usize) -> bool {
        let later = |other: &usize| self.tasks[*other].slot.is_some() && self.wave(*other) > self.wave(task);
        self.plan.policy.cadence == Cadence::Wave && (0..self.tasks.len()).any(|other| later(&other))
    }

    pub(crate) fn running(&self) -> Vec<Work> {
        let running =
            |(task, seen): (u32, &Seen)| seen.slot.map(|_| Work { task: TaskIndex(task), attempt: seen.attempt });
        (0..).zip(&self.tasks).filter_map(running).collect()
    }

    /// Whether the task is ready: its dependencies and the time allow it.
    pub(crate) fn is_ready(&self, task: usize) -> bool {
        let before = |other: &usize| self.wave(*other) < self.wave(task) && !self.tasks[*other].status.is_over();
        let is_ahead =
            self.plan.policy.waves != KeptWaves::Computed && (0..self.tasks.len()).any(|other| before(&other));
        self.verdict(task) == Some(true) && self.tasks[task].not_before <= self.clock && !is_ahead
    }

    /// Time passes.
    pub(crate) fn pass(&mut self, now: i64) {
        self.clock = self.clock.max(now);
    }

    /// A crash: only events tell the time, and no fast advance follows from what happened before.
    pub(crate) fn crash(&mut self) {
        (self.clock, self.recovering, self.completed) = (self.last, true, None);
    }

    fn intended(&mut self, works: &[Work]) -> Result<(), String> {
        must!(!works.is_empty() && self.stage == Stage::Going, "intends nothing, or while {:?}", self.stage);
        for work in works {
            must!(self.can_start(work.task.get()), "{work:?} is intended and cannot start");
            let seen = &mut self.tasks[work.task.get()];
            must!(work.attempt == seen.attempt + 1 && seen.intended != work.attempt, "{work:?} is intended twice");
            seen.intended = work.attempt;
        }
        Ok(())
    }

    fn doubted(&mut self) {
        self.tasks.iter_mut().for_each(|seen| seen.attempt = seen.attempt.max(seen.intended));
    }

    fn claimed(&mut self, work: Work, slot: u32, fast: bool) -> Result<(), String> {
        let task = work.task.get();
        must!(self.stage == Stage::Going, "claims while {:?}", self.stage);
        must!(self.has_room(), "too many workers");
        must!(self.tasks.iter().all(|seen| seen.slot != Some(slot)), "slot {slot} is taken");
        must!(self.can_start(task), "{task} cannot start");
        must!(work.attempt == self.tasks[task].attempt + 1, "attempt {}", work.attempt);
        let best = self.best();
        must!(best == Some(task), "{task} before {best:?}");
        let advanced = self.fast_advance();
        must!(advanced.is_none_or(|slot_of| slot_of == slot), "{task} in slot {slot} instead of {advanced:?}");
        must!(advanced.is_some() == fast, "{task} is a fast advance: {fast}");
        let agent = self.agent(task);
        let seen = &mut self.tasks[task];
        (seen.status, seen.attempt, seen.slot) = (TaskStatus::InProgress, work.attempt, Some(slot));
        seen.agent = agent;
        Ok(())
    }

    /// Who does the next attempt at a task.
    fn agent(&self, task: usize) -> String {
        self.assigned.get(&task).map_or_else(|| self.plan.agent(task), |to| &to.agent).to_owned()
    }

    /// The task that comes before all others that can start.
    fn best(&self) -> Option<usize> {
        (0..self.tasks.len()).filter(|task| self.can_start(*task)).min_by_key(|task| self.key(*task))
    }

    /// Where the best task must start, if the last event asks for a fast advance.
    fn fast_advance(&self) -> Option<u32> {
        let (done, slot) = self.completed.filter(|_| self.plan.policy.cadence == Cadence::Beat)?;
        let follows = |task: &usize| self.dependencies[*task].contains(&done) && self.is_ready(*task);
        let next: Vec<_> = (0..self.tasks.len()).filter(follows).collect();
        (next.len() == 1 && self.best() == Some(next[0])).then_some(slot)
    }

    /// A worker has ended: its task has this status now.
    fn ended(&mut self, work: Work, status: TaskStatus) -> Result<(), String> {
        let seen = &mut self.tasks[work.task.get()];
        must!(seen.status == TaskStatus::InProgress && seen.attempt == work.attempt, "{work:?} was not running");
        self.completed = seen.slot.take().map(|slot| (work.task.get(), slot));
        seen.status = status;
        Ok(())
    }

    fn failed(&mut self, work: Work, class: ErrorClass, then: Then) -> Result<(), String> {
        let task = work.task.get();
        if let Some(cancel) = self.tasks[task].cancelled.take() {
            must!(cancel == Cancel::Fail && then == Then::Over, "{task} is to {cancel:?}, and fails: {then:?}");
            return self.ended(work, TaskStatus::Failed);
        }
        let failures = self.tasks[task].failures;
        let left = failures < self.plan.retries(task);
        let bound = self.own(task).rounds.unwrap_or(self.plan.policy.rounds);
        let rounds_left = self.tasks[task].rounds < bound;
        let retried = match class {
            ErrorClass::Quota { .. } => true,
            ErrorClass::Transient => left,
            ErrorClass::Rejected => rounds_left,
            ErrorClass::Shortage => {
                must!(self.running().len() > 1 || self.stage != Stage::Going, "no worker can give back anything");
                true
            }
            ErrorClass::Auth => return Err("everybody is logged in here".to_owned()),
            ErrorClass::Budget => return Err("no plan here has a budget".to_owned()),
            ErrorClass::Unreachable => return Err("it is transient, or a matter of quota".to_owned()),
            ErrorClass::Fatal => false,
        };
        must!(retried == (then != Then::Over), "{class:?} after {failures} failures: {then:?}");
        self.ended(work, if retried { TaskStatus::Pending } else { TaskStatus::Failed })?;
        if class == ErrorClass::Rejected {
            self.tasks[task].rounds += u32::from(then != Then::Over);
            let again = Then::Again { not_before: team_executor_core::Timestamp::from_micros(self.clock) };
            must!(then == Then::Over || then == again, "a round waits: {then:?}");
            if then == Then::Over {
                self.ask(task);
            }
        }
        let Then::Again { not_before } = then else { return Ok(()) };
        if class == ErrorClass::Shortage {
            must!(not_before.as_micros() == self.clock, "a shortage waits: {then:?}");
            self.fewer = Some(self.running().len().max(1));
        }
        if matches!(class, ErrorClass::Rejected | ErrorClass::Shortage) {
            self.tasks[task].not_before = not_before.as_micros();
            return Ok(());
        }
        let wait = not_before.as_micros() - self.clock;
        if let ErrorClass::Quota { until } = class {
            must!(until.is_none_or(|until| not_before >= until) && wait >= 1_000_000, "waits {wait} for quota");
            let pool = self.pool(task);
            let held = self.held.entry(pool).or_insert(i64::MIN);
            *held = not_before.as_micros().max(*held);
        } else {
            let least = 1_000_000 << failures;
            must!((least..least * 3 / 2).contains(&wait), "waits {wait} after {failures} failures");
            self.tasks[task].failures += 1;
        }
        self.tasks[task].not_before = not_before.as_micros();
        Ok(())
    }

    fn interrupted(&mut self, work: Work, then: Then) -> Result<(), String> {
        let own = &mut self.tasks[work.task.get()].cancelled;
        if let Some(cancel) = *own {
            let again = Then::Again { not_before: team_executor_core::Timestamp::from_micros(self.clock) };
            must!(cancel != Cancel::Fail && then == again, "{work:?} is to {cancel:?}, and {then:?}");
            *own = own.filter(|cancel| *cancel == Cancel::Skip);
            return self.ended(work, TaskStatus::Pending);
        }
        let lost = self.tasks[work.task.get()].lost;
        let ends = self.stage == Stage::Stopping || !self.recalled.is_empty();
        let again = ends || lost < self.plan.policy.interruptions;
        must!(again == (then != Then::Over), "lost {lost} times: {then:?}");
        self.ended(work, if again { TaskStatus::Pending } else { TaskStatus::Failed })?;
        self.tasks[work.task.get()].lost += u32::from(!ends);
        Ok(())
    }

    /// Whether no one has tried a task, and it waits.
    pub(crate) fn is_untouched(&self, task: usize) -> bool {
        let seen = &self.tasks[task];
        seen.status == TaskStatus::Pending
            && seen.attempt == 0
            && seen.cancelled.is_none()
            && !self.gone.contains(&task)
    }

    fn replanned(&mut self, changed: &[TaskIndex], removed: &[TaskId]) -> Result<(), String> {
        must!(self.plan.policy.cadence == Cadence::Beat && self.stage != Stage::Finished, "replanned too late");
        let all = 0..self.tasks.len();
        let removed: Vec<usize> = all.clone().filter(|task| removed.contains(&self.plan.tasks[*task].id)).collect();
        for task in all {
            let is_changed = changed.contains(&crate::plan::index(task)) || removed.contains(&task);
            must!(is_changed || self.next[task] == self.dependencies[task], "{task} is changed, and not said");
            must!(!is_changed || self.is_untouched(task), "{task} was tried, and its plan is changed");
            must!(!self.next[task].iter().any(|on| removed.contains(on)), "{task} waits for what is gone");
            if is_changed {
                self.tasks[task].intended = self.tasks[task].attempt;
            }
        }
        for task in removed {
            (self.tasks[task].status, self.tasks[task].not_needed) = (TaskStatus::Skipped, true);
            self.gone.insert(task);
        }
        self.dependencies = std::mem::take(&mut self.next);
        Ok(())
    }

    fn skipped(&mut self, task: TaskIndex, reason: &SkipReason) -> Result<(), String> {
        let task = task.get();
        must!(self.tasks[task].status == TaskStatus::Pending, "{task} cannot be skipped");
        let named = |on: &TaskIndex, status| {
            let first_bad = |on: &&usize| self.is_bad(**on);
            self.tasks[on.get()].status == status && self.dependencies[task].iter().find(first_bad) == Some(&on.get())
        };
        let right = match reason {
            SkipReason::DependencyFailed(on) => named(on, TaskStatus::Failed),
            SkipReason::DependencySkipped(on) => named(on, TaskStatus::Skipped),
            SkipReason::NoDependencyFailed => {
                self.plan.tasks[task].run_on == RunOn::Failure
                    && self.dependencies[task].iter().all(|on| !self.is_bad(*on))
            }
            SkipReason::SwitchedOff => self.own(task).is_off,
            SkipReason::TooSimple(on, complexity) => {
                self.dependencies[task].contains(&on.get())
                    && self.tasks[on.get()].complexity == Some(*complexity)
                    && self.own(task).least.is_some_and(|least| *complexity < least)
            }
            SkipReason::Person(_) => true,
        };
        let by_rule = !matches!(reason, SkipReason::Person(_));
        must!(!by_rule || self.tasks[task].cancelled.is_none(), "{task} is skipped by a person, not by {reason:?}");
        self.tasks[task].cancelled = None;
        must!(right && (!by_rule || self.verdict(task) == Some(false)), "{task} skipped: {reason:?}");
        (self.tasks[task].status, self.tasks[task].by_rule) = (TaskStatus::Skipped, by_rule);
        self.tasks[task].not_needed = matches!(reason, SkipReason::SwitchedOff | SkipReason::TooSimple(..));
        Ok(())
    }

    fn reset(&mut self, tasks: &[TaskIndex], sent_back: bool) -> Result<(), String> {
        must!(!tasks.is_empty(), "an empty reset");
        for task in tasks.iter().map(|task| task.get()) {
            must!(self.tasks[task].status.is_over(), "{task} is not over");
            for next in (0..self.tasks.len()).filter(|next| self.dependencies[*next].contains(&task)) {
                let seen = &self.tasks[next];
                let listed = tasks.iter().any(|task| task.get() == next);
                must!(seen.slot.is_none(), "{next} runs on {task}");
                must!(seen.status != TaskStatus::Skipped || !seen.by_rule || listed, "{next} stays skipped");
                let by_hand = seen.status == TaskStatus::Skipped && !seen.by_rule;
                must!(sent_back || !by_hand || !listed, "{next} was skipped by hand");
            }
        }
        for task in tasks.iter().map(|task| task.get()) {
            let seen = &mut self.tasks[task];
            (seen.status, seen.failures, seen.lost, seen.not_before) = (TaskStatus::Pending, 0, 0, i64::MIN);
            (seen.not_needed, seen.rounds, seen.complexity) = (false, 0, None);
            self.recalled.remove(&task);
            let first = self.open.first().copied();
            self.open.retain(|open| Some(*open) == first || *open != task);
            self.merged = self.merged.min(self.wave(task) - 1);
            // What was intended on its end is intended no more.
            for next in (0..self.tasks.len()).filter(|next| self.dependencies[*next].contains(&task)) {
                let seen = &mut self.tasks[next];
                seen.intended = seen.intended.min(seen.attempt);
            }
        }
        if self.stage == Stage::Finished {
            self.stage = Stage::Going;
        }
        Ok(())
    }

    fn merged(&mut self, wave: u32, then: WaveThen) -> Result<(), String> {
        must!(self.plan.policy.cadence == Cadence::Wave && wave == self.merged + 1, "wave {wave} merged");
        let tasks: Vec<_> = (0..self.tasks.len()).filter(|task| self.wave(*task) == wave).collect();
        let has = |status| tasks.iter().any(|task| self.tasks[*task].status == status);
        must!(tasks.iter().all(|task| self.tasks[*task].status.is_over()), "wave {wave} merged too early");
        let failed = has(TaskStatus::Failed) && !has(TaskStatus::Completed);
        let left = self.tasks.iter().any(|task| !task.status.is_over());
        let expected = match self.plan.policy.wave_failed {
            WaveFailed::Ask if failed => WaveThen::Ask,
            WaveFailed::Abort if failed && left => WaveThen::Abort,
            _ => WaveThen::GoOn,
        };
        must!(then == expected, "{then:?} after wave {wave}, not {expected:?}");
        must!(self.stage == Stage::Going || then == WaveThen::GoOn, "{then:?} while {:?}", self.stage);
        self.merged = wave;
        match then {
            WaveThen::GoOn => {}
            WaveThen::Ask => (self.stage, self.wave_failed) = (Stage::Paused, true),
            WaveThen::Abort => self.stage = Stage::Stopping,
        }
        Ok(())
    }

    /// Whether the dependencies let a pending task run; nothing if that is not known yet, or it is not pending.
    fn verdict(&self, task: usize) -> Option<bool> {
        let on: Vec<_> = self.dependencies[task].iter().map(|on| self.tasks[*on].status).collect();
        let over = on.iter().all(|status| status.is_over());
        let bad = self.dependencies[task].iter().any(|on| self.is_bad(*on));
        let found = self.dependencies[task].iter().filter_map(|on| self.tasks[*on].complexity).max();
        let too_simple = self.own(task).least.is_some_and(|least| found.is_some_and(|found| found < least));
        let needless = self.own(task).is_off || too_simple;
        let runs = || over.then_some(!needless);
        match self.plan.tasks[task].run_on {
            _ if self.tasks[task].status != TaskStatus::Pending => None,
            _ if self.tasks[task].cancelled.is_some() => Some(false),
            RunOn::Success if bad => Some(false),
            RunOn::Failure if !bad => over.then_some(false),
            _ => runs(),
        }
    }

    fn is_bad(&self, task: usize) -> bool {
        let seen = &self.tasks[task];
        matches!(seen.status, TaskStatus::Failed | TaskStatus::Skipped) && !seen.not_needed
    }

    /// Whether nothing but slots stands between the task and its worker.
    fn can_start(&self, task: usize) -> bool {
        let own = &self.plan.tasks[task];
        let running: Vec<_> = (0..self.tasks.len()).filter(|other| self.tasks[*other].slot.is_some()).collect();
        let talks = |task: usize| self.plan.tasks[task].exec_mode == ExecMode::Interactive;
        let taken = talks(task) && running.iter().any(|o| talks(*o) && self.plan.tasks[*o].role == own.role);
        let held = self.held.get(&self.pool(task)).is_some_and(|until| *until > self.clock);
        let wave = || {
            let open = |o: &usize| self.wave(*o) == self.wave(task) && !self.tasks[*o].status.is_over();
            let first = (0..self.tasks.len()).filter(open).map(|other| self.turn(other)).min();
            self.wave(task) == self.merged + 1
                && first == Some(self.turn(task))
                && running.iter().all(|other| !talks(*other) && !talks(task))
        };
        self.is_ready(task)
            && !taken
            && !held
            && self.is_within_limits(task)
            && (self.plan.policy.cadence == Cadence::Beat || wave())
    }

    /// Whether one more worker stays within the limits of its role and its agent.
    fn is_within_limits(&self, task: usize) -> bool {
        let running = || (0..self.tasks.len()).filter(|other| self.tasks[*other].slot.is_some());
        let own = &self.plan.tasks[task].role;
        let of_role = running().filter(|other| self.plan.tasks[*other].role == *own).count();
        let agent = self.agent(task);
        let of_agent = running().filter(|other| self.tasks[*other].agent == agent).count();
        let is_free = |key: String, running: usize| self.limits.get(&key).is_none_or(|most| running < *most);
        is_free(format!("role {own}"), of_role) && is_free(format!("agent {agent}"), of_agent)
    }

    fn has_room(&self) -> bool {
        let running = self.tasks.iter().filter(|task| task.slot.is_some()).count();
        let goes_on = self.stage == Stage::Going && self.recalled.is_empty();
        let chosen = self.limits.get("all").copied().unwrap_or(self.plan.policy.slots.max(1) as usize);
        goes_on && running < self.fewer.unwrap_or(usize::MAX).min(chosen)
    }

    /// What makes a task go first.
    fn key(&self, task: usize) -> (u8, usize, usize) {
        (self.plan.tasks[task].priority as u8, usize::MAX - self.path(task), task)
    }

    /// The number of tasks on the longest path from this task on.
    fn path(&self, task: usize) -> usize {
        let next = (0..self.tasks.len()).filter(|next| self.dependencies[*next].contains(&task));
        1 + next.map(|next| self.path(next)).max().unwrap_or(0)
    }

    /// Its place among the planned waves, as far as they count.
    fn wave(&self, task: usize) -> u32 {
        let before: BTreeSet<u32> = (0..self.tasks.len()).map(|other| self.number(other)).collect();
        before.range(..=self.number(task)).count() as u32
    }

    fn number(&self, task: usize) -> u32 {
        let planned = |task: &Task| task.declared_wave.filter(|_| self.plan.policy.waves != KeptWaves::Computed);
        let after = self.dependencies[task].iter().map(|on| self.number(*on) + 1).max();
        after.max(planned(&self.plan.tasks[task])).unwrap_or(1)
    }

    fn turn(&self, task: usize) -> u8 {
        match (self.plan.tasks[task].exec_mode, self.plan.tasks[task].position) {
            (ExecMode::Interactive, Position::PreWave) => 0,
            (ExecMode::CsvWave, _) => 1,
            (ExecMode::Interactive, Position::PostWave) => 2,
        }
    }

    /// The clock was set back: what waits, waits as long as before.
    fn set_back(&mut self, now: i64) {
        let by = self.clock - now;
        if self.clock != i64::MIN && by > 0 {
            let waits = self.tasks.iter_mut().map(|task| &mut task.not_before).chain(self.held.values_mut());
            waits.for_each(|until| *until = until.saturating_sub(by));
            self.clock = now;
        }
    }
}
