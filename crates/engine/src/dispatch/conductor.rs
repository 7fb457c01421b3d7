//! The rules and the journal together: an input is decided, what happened is written down, and only then may it be
//! carried out. Nothing is carried out here, and no clock is read, so that a simulator drives the same code.
//!
//! What must be durable before what:
//! - a worker starts only when its attempt, and everything that it builds on, is durable. The attempts that come next are
//!   made durable ahead of time ([`Event::Intended`]), so that a worker which ends can be followed at once;
//! - whatever else is to be done, or told, waits for its events;
//! - before a worker starts, the system has its claim: a killed executor finds it, and only a power cut, after which no
//!   worker lives, can take it;
//! - where the disk is full, what was about to start is taken back, and the rules start nothing more.
//!
//! Where only workers wait, the loop does not wait for the disk: [`Conductor::synced`] says later who may
//! start. Everything else is durable when [`Conductor::take`] returns, and earlier waiters go first.

use std::collections::{BTreeMap, VecDeque};

use team_executor_agents::Exit;
use team_executor_core::run::{
    Asks, Effect, ErrorClass, Event, Input, NotTheGraph, Outcome, Refused, Run, Stage, Standing, Step, Work, WorkEnded,
};
use team_executor_core::{Task, TaskIndex, Timestamp};
use team_executor_store::{DiskFile, Journal, JournalError, Seq, records};

use crate::diagnostics;
use crate::prepare::newcomer::{Growth, Replanned};
use crate::prepare::worker::Workers;

/// How many attempts are made durable ahead of time.
const AHEAD: usize = 256;

/// The rules and the journal of a run.
#[derive(Debug)]
pub struct Conductor<F> {
    rules: Run,
    journal: Journal<F>,
    ids: Vec<Box<str>>,
    /// Who does which task, for the records of claims.
    workers: Workers,
    /// Events that are not announced yet.
    fresh: VecDeque<Happened>,
    /// The open question after the last event.
    asks: Option<Asks>,
    /// The effects to carry out, each when everything up to a record is durable.
    waiting: Vec<(Seq, Effect)>,
    /// The attempts that were made durable ahead of time last, and the record that says so.
    ahead: (Seq, Vec<Work>),
    /// Another part found the disk full, and the rules do not know yet.
    is_full: bool,
    /// When the workers of tasks first printed something and ended, for the records of their ends.
    times: BTreeMap<TaskIndex, records::Aside<'static>>,
}

/// An event, and how the run stood after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// The number of its record.
    pub seq: Seq,
    /// What happened.
    pub event: Event,
    /// How the run stood then.
    pub standing: Standing,
    /// The question that is new since then.
    pub asks: Option<Asks>,
}

impl Happened {
    /// An event after which the run stands like this, and before which a person was asked this.
    pub(crate) fn new(seq: Seq, event: Event, standing: Standing, before: Option<Asks>) -> Self {
        // Another executor asks again.
        let is_new = standing.asks != before || matches!(event, Event::Recovered { .. });
        Self { seq, event, asks: standing.asks.filter(|_| is_new), standing }
    }
}

/// What follows from some inputs.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// What may be carried out now, in this order.
    pub effects: Vec<Effect>,
    /// For each input, why it changed nothing, if so.
    pub refused: Vec<Option<Refused>>,
}

impl<F: DiskFile> Conductor<F> {
    /// The rules, as the records of the journal left them.
    pub fn new(tasks: &[Task], rules: Run, journal: Journal<F>) -> Self {
        let ids = tasks.iter().map(|task| task.id.as_str().into()).collect();
        Self {
            asks: rules.standing().asks,
            rules,
            journal,
            ids,
            workers: Workers::default(),
            fresh: VecDeque::new(),
            waiting: Vec::new(),
            ahead: (0, Vec::new()),
            is_full: false,
            times: BTreeMap::new(),
        }
    }

    /// Takes in a changed plan. Gives back the inputs that tell the run of it.
    pub fn extend(&mut self, growth: Growth, now: Timestamp) -> Result<Vec<Input>, NotTheGraph> {
        let Growth { new, priorities, sealed, workers, replan } = growth;
        let ids: Vec<Box<str>> = new.iter().map(|new| new.task.id.as_str().into()).collect();
        priorities.into_iter().for_each(|(task, priority)| self.rules.prioritise(task, priority));
        let tasks = self.rules.extend(new, sealed)?;
        self.ids.extend(ids);
        self.workers = workers;
        let mut inputs = Vec::new();
        if !tasks.is_empty() {
            inputs.push(Input::Add { now, tasks });
        }
        if let Some(Replanned { next, changed, removed, plan }) = replan {
            self.rules.plan_next(next)?;
            inputs.push(Input::Replan { now, changed, removed, plan });
        }
        if !inputs.is_empty() {
            inputs.push(Input::Woke { now });
        }
        Ok(inputs)
    }

    /// The worker of a task has ended. Commands that check what it delivered end later.
    pub fn ended(&mut self, task: TaskIndex, exit: &Exit) {
        let at = |millis: u64| Timestamp::from_micros(i64::try_from(millis.saturating_mul(1000)).unwrap_or(i64::MAX));
        let first_output = exit.first_output_ms.map(|after| at(exit.started_at.saturating_add(after)));
        let times = records::Aside { agent: None, first_output, ended: Some(at(exit.ended_at)) };
        self.times.entry(task).or_insert(times);
    }

    /// From now on the record of a claim names the agent.
    pub fn name_agents(&mut self, workers: Workers) {
        self.workers = workers;
    }

    /// How the run stands; it may be ahead of what is durable.
    pub const fn rules(&self) -> &Run {
        &self.rules
    }

    /// So many workers may start now, where other runs share a limit with this one.
    pub fn seat(&mut self, seats: usize) {
        self.rules.seat(seats);
    }

    /// The number of this incarnation.
    pub fn epoch(&self) -> u64 {
        self.journal.epoch()
    }

    /// Whether the disk holds how the run stands, or will when the sync that is under way has ended.
    pub fn is_covered(&self) -> bool {
        self.journal.is_covered()
    }

    /// Another part found the disk full: [`Self::take`] tells the rules before anything else.
    pub fn disk_is_full(&mut self) {
        self.is_full = true;
    }

    /// Lets the rules decide on some inputs and says what may be carried out.
    pub fn take(&mut self, inputs: Vec<Input>, now: Timestamp) -> Result<Taken, JournalError> {
        let mut effects = self.unless_full(Vec::new(), now)?;
        let (mut refusals, mut at_once) = (Vec::with_capacity(inputs.len()), false);
        let is_at_rest = matches!(inputs.last(), Some(Input::Used { .. }));
        for input in inputs {
            let (waited_for, refused) = self.decide(input)?;
            at_once |= waited_for || refused.is_some(); // an answer says so, and nothing follows that is not durable
            refusals.push(refused);
        }
        if is_at_rest {
            // It may be less than was reckoned with, so that more fits into the budgets.
            at_once |= self.decide(Input::Woke { now })?.0;
        }
        effects.extend(if at_once { self.commit(now)? } else { self.go_on(now)? });
        Ok(Taken { effects, refused: refusals })
    }

    /// Lets the rules decide on one input. Returns whether anything waits for the events that follow, or why
    /// there are none.
    fn decide(&mut self, input: Input) -> Result<(bool, Option<Refused>), JournalError> {
        let Step { events, standings, effects, refused } = self.rules.step(input);
        let at_once = !events.iter().all(can_wait_for_others) || !effects.iter().all(can_wait);
        for (event, standing) in events.into_iter().zip(standings) {
            let seq = self.append(&event)?;
            let before = std::mem::replace(&mut self.asks, standing.asks);
            self.fresh.push_back(Happened::new(seq, event, standing, before));
        }
        for effect in effects {
            self.waiting.push((self.waits_for(&effect), effect));
        }
        Ok((at_once, refused))
    }

    /// Makes everything durable, and with it the attempts that come next. Says what may be carried out now.
    pub fn commit(&mut self, now: Timestamp) -> Result<Vec<Effect>, JournalError> {
        self.intend(now)?;
        self.journal.commit()?;
        let due = self.due();
        self.unless_full(due, now)
    }

    /// Begins to do that, unless a sync is under way.
    pub fn begin_commit(&mut self, now: Timestamp) -> Result<Vec<Effect>, JournalError> {
        let due = self.begin(now)?;
        self.unless_full(due, now)
    }

    fn begin(&mut self, now: Timestamp) -> Result<Vec<Effect>, JournalError> {
        if !self.journal.is_syncing() {
            self.intend(now)?;
        }
        self.journal.begin_sync()?;
        Ok(self.due())
    }

    /// Takes note of the sync that is under way, if it has ended, and says what may be carried out now.
    pub fn synced(&mut self, now: Timestamp) -> Result<Vec<Effect>, JournalError> {
        self.journal.synced()?;
        self.go_on(now)
    }

    /// The events that became durable since the last call.
    pub fn happened(&mut self) -> Vec<Happened> {
        let durable = self.journal.durable();
        let count = self.fresh.partition_point(|happened| happened.seq <= durable);
        self.fresh.drain(..count).collect()
    }

    /// What may be carried out now. The rest is waited for beside.
    fn go_on(&mut self, now: Timestamp) -> Result<Vec<Effect>, JournalError> {
        let mut due = self.due();
        if self.waiting.is_empty() {
            self.journal.hand_over()?;
        } else {
            due.extend(self.begin(now)?);
        }
        self.unless_full(due, now)
    }

    /// Where the disk is full the rules are told so, and what was about to start does not: the room that is left is for
    /// what those come to that run.
    fn unless_full(&mut self, mut due: Vec<Effect>, now: Timestamp) -> Result<Vec<Effect>, JournalError> {
        // A run that has not begun cannot halt: nothing of it starts, and the halt is told when it has begun.
        if *self.rules.stage() == Stage::NotBegun {
            return Ok(due);
        }
        let (is_full, is_short) = (std::mem::take(&mut self.is_full), self.journal.take_short());
        if !is_full && !is_short {
            return Ok(due);
        }
        let later = self.waiting.extract_if(.., |(_, effect)| starts(effect).is_some()).map(|(_, effect)| effect);
        let taken_back: Vec<Effect> = due.extract_if(.., |effect| starts(effect).is_some()).chain(later).collect();
        let ended = taken_back.iter().filter_map(starts).map(|work| {
            let error = "it was not started, because the disk is full".to_owned();
            let outcome = Outcome::Failed { class: ErrorClass::Shortage, error };
            Input::Ended { now, ended: WorkEnded { work, outcome } }
        });
        for input in std::iter::once(Input::NoRoom { now }).chain(ended) {
            self.decide(input)?;
        }
        self.journal.commit()?;
        due.extend(self.due());
        Ok(due)
    }

    /// Takes out what waits no longer, in its order.
    fn due(&mut self) -> Vec<Effect> {
        let durable = self.journal.durable();
        self.waiting.extract_if(.., |(number, _)| *number <= durable).map(|(_, effect)| effect).collect()
    }

    /// Up to which record everything must be durable before an effect is carried out.
    fn waits_for(&self, effect: &Effect) -> Seq {
        match effect {
            Effect::Spawn { work, .. } | Effect::Check { work, .. } if self.rules.is_intended(*work) => {
                if self.ahead.1.contains(work) { self.ahead.0 } else { 0 }
            }
            Effect::WakeAt { .. } => 0,
            _ => self.journal.last(),
        }
    }

    fn intend(&mut self, now: Timestamp) -> Result<(), JournalError> {
        if let Some(event) = self.rules.intend(AHEAD, now) {
            let number = self.append(&event)?;
            if let Event::Intended { works, .. } = event {
                self.ahead = (number, works);
            }
        }
        Ok(())
    }

    fn append(&mut self, event: &Event) -> Result<Seq, JournalError> {
        let id = |task: TaskIndex| self.ids.get(task.get()).map_or("", |id| id);
        let worker = match event {
            Event::Claimed { work, choice, .. } => self.workers.nth(work.task, *choice),
            _ => None,
        };
        let times = event.task().and_then(|task| self.times.get(&task)).copied().unwrap_or_default();
        let aside = records::Aside { agent: worker.map(|worker| worker.agent.as_str()), ..times };
        let record = records::write_with(event, id, &aside);
        diagnostics::recorded(event, &record, id);
        if let Event::Completed { work, .. } | Event::Failed { work, .. } | Event::Interrupted { work, .. } = event {
            self.times.remove(&work.task);
        }
        self.journal.append(&record)
    }
}

/// Which attempt an effect begins, if it does.
const fn starts(effect: &Effect) -> Option<Work> {
    match effect {
        Effect::Spawn { work, .. } | Effect::Check { work, .. } => Some(*work),
        _ => None,
    }
}

/// Whether only a worker waits for an effect.
const fn can_wait(effect: &Effect) -> bool {
    match effect {
        Effect::Spawn { .. } | Effect::Check { .. } | Effect::WakeAt { .. } => true,
        Effect::EndWorker { .. }
        | Effect::AskWaveFailed { .. }
        | Effect::AskCheckpoint { .. }
        | Effect::Over { .. } => false,
    }
}

/// Whether nothing waits for an event to become durable: it can share a commit with what comes later.
const fn can_wait_for_others(event: &Event) -> bool {
    matches!(event, Event::Claimed { .. } | Event::Used { .. } | Event::Completed { reviewed: None, .. })
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;
    use team_executor_core::run::{Ending, Policy, Used, Which};
    use team_executor_core::{Graph, RoleName, TaskId};
    use team_executor_store::{Disk as _, RealDisk, RealFile, Syncer};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1);

    fn conductor(tasks: &[(&str, &[&str])], slots: u32) -> (tempfile::TempDir, Conductor<RealFile>) {
        conductor_with(tasks, |policy| policy.slots = slots)
    }

    fn conductor_with(
        tasks: &[(&str, &[&str])],
        choose: impl FnOnce(&mut Policy),
    ) -> (tempfile::TempDir, Conductor<RealFile>) {
        let id = |text: &str| TaskId::parse(text).unwrap();
        let tasks: Vec<Task> = tasks
            .iter()
            .map(|(name, dependencies)| Task {
                dependencies: dependencies.iter().map(|on| id(on)).collect(),
                ..Task::new(id(name), RoleName::parse("r").unwrap())
            })
            .collect();
        let graph = Graph::seal(&tasks).graph.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let disk = RealDisk::open_folder(dir.path()).unwrap();
        let journal = Journal::create(&disk, "journal").unwrap();
        let mut policy = Policy::default();
        choose(&mut policy);
        let rules = Run::new(&tasks, graph, policy).unwrap();
        (dir, Conductor::new(&tasks, rules, journal))
    }

    /// A sync that has ended by the first question about it.
    #[derive(Debug)]
    struct Beside(Result<(), Errno>);

    impl Syncer for Beside {
        fn begin(&mut self) {}

        fn ended(&mut self) -> Option<Result<(), Errno>> {
            Some(self.0)
        }

        fn wait(&mut self) -> Result<(), Errno> {
            self.0
        }
    }

    /// A run of A and B, which are at work, and of what follows from them. Syncs go on beside.
    fn under_way(rest: &[(&str, &[&str])], ended: Result<(), Errno>) -> (tempfile::TempDir, Conductor<RealFile>) {
        let tasks: Vec<(&str, &[&str])> = [("A", &[][..]), ("B", &[])].iter().chain(rest).copied().collect();
        let (dir, mut conductor) = conductor(&tasks, 2);
        conductor.take(vec![Input::Start { now: NOW }], NOW).unwrap();
        conductor.happened();
        conductor.journal.sync_beside(Box::new(Beside(ended)));
        (dir, conductor)
    }

    fn spawn(task: u32, slot: u32) -> Effect {
        Effect::Spawn { work: Work { task: TaskIndex(task), attempt: 1 }, slot }
    }

    fn completed(task: u32) -> Input {
        let work = Work { task: TaskIndex(task), attempt: 1 };
        Input::Ended { now: NOW, ended: WorkEnded { work, outcome: Outcome::completed(None) } }
    }

    /// What the disk holds, by kind of record.
    fn on_disk(dir: &tempfile::TempDir) -> Vec<String> {
        let bytes = RealDisk::open_folder(dir.path()).unwrap().read("journal").unwrap();
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(|line| line.split('"').nth(3).unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn next_attempt_is_durable_ahead_and_starts_at_once() {
        let (dir, mut conductor) = conductor(&[("A", &[]), ("B", &["A"]), ("C", &[])], 1);
        conductor.take(vec![Input::Start { now: NOW }], NOW).unwrap();
        assert_eq!(on_disk(&dir), ["began", "claimed", "intended"]);
        assert!(conductor.is_covered());
        assert_eq!(conductor.happened().len(), 2);
        let taken = conductor.take(vec![completed(0)], NOW).unwrap();
        // B is the fast advance of A and was never intended: it waits for the commit.
        assert_eq!(taken.effects, [spawn(1, 0)]);
        assert!(conductor.is_covered());
        conductor.happened();
        let taken = conductor.take(vec![completed(1)], NOW).unwrap();
        assert_eq!(taken.effects, [spawn(2, 0)]);
        assert!(!conductor.is_covered(), "C was intended");
        assert_eq!(on_disk(&dir)[3..], ["completed", "claimed", "completed", "claimed"], "a kill does not take it");
        assert_eq!(conductor.happened(), []);
        conductor.commit(NOW).unwrap();
        assert_eq!(conductor.happened().len(), 2);
    }

    #[test]
    fn intent_waits_for_a_restarted_dependency() {
        let tasks: [(&str, &[&str]); 7] =
            [("D", &[]), ("A", &[]), ("B", &["A"]), ("C", &["A"]), ("G", &["B"]), ("E", &["D"]), ("F", &["E"])];
        let (_dir, mut conductor) = conductor(&tasks, 1);
        let later = Timestamp::from_micros(10_000_000);
        let ended = |task: u32, attempt: u32, outcome: Outcome| {
            let work = Work { task: TaskIndex(task), attempt };
            vec![Input::Ended { now: later, ended: WorkEnded { work, outcome } }]
        };
        let done = || Outcome::completed(None);
        conductor.take(vec![Input::Start { now: NOW }], NOW).unwrap();
        let failed = ended(0, 1, Outcome::TimedOut { error: String::new() });
        conductor.take(failed, NOW).unwrap();
        conductor.take(vec![Input::Woke { now: Timestamp::from_micros(20_000_000) }], later).unwrap();
        // A is done, D is tried again, and B and C are intended.
        conductor.take(ended(1, 1, done()), later).unwrap();
        let b = Work { task: TaskIndex(2), attempt: 1 };
        assert!(conductor.rules().is_intended(b));
        let which = Which::Tasks(vec![TaskIndex(1)]);
        let taken = conductor
            .take(
                vec![Input::Retry { now: later, which, downstream: true, feedback: String::new(), with: None }],
                later,
            )
            .unwrap();
        assert_eq!((taken.refused, conductor.rules().is_intended(b)), (vec![None], false));
        conductor.take(ended(0, 2, done()), later).unwrap();
        let taken = conductor.take(ended(1, 2, done()), later).unwrap();
        assert_eq!(taken.effects, [Effect::Spawn { work: b, slot: 0 }]);
        assert!(conductor.is_covered(), "B builds on the second end of A");
    }

    #[test]
    fn a_worker_that_waits_for_the_disk_lets_everything_else_go_on() {
        let (_dir, mut conductor) = under_way(&[("C", &["A"]), ("D", &["B"])], Ok(()));
        assert_eq!(conductor.take(vec![completed(0)], NOW).unwrap().effects, []);
        assert!(conductor.is_covered());
        assert_eq!(conductor.take(vec![completed(1)], NOW).unwrap().effects, []);
        assert!(!conductor.is_covered(), "that is for the next sync");
        assert_eq!(conductor.happened(), []);
        assert_eq!(conductor.synced(NOW).unwrap(), [spawn(2, 0)]);
        assert_eq!((conductor.happened().len(), conductor.is_covered()), (2, true));
        assert_eq!(conductor.synced(NOW).unwrap(), [spawn(3, 1)]);
        assert_eq!((conductor.happened().len(), conductor.synced(NOW).unwrap()), (2, vec![]));
    }

    #[test]
    fn earlier_waiter_goes_before_durable_effects() {
        let (_dir, mut conductor) = under_way(&[("C", &["A"])], Ok(()));
        conductor.take(vec![completed(0)], NOW).unwrap();
        let taken = conductor.take(vec![Input::Stop { now: NOW }], NOW).unwrap();
        assert_eq!(taken.effects[0], spawn(2, 0));
        assert!(taken.effects.contains(&Effect::EndWorker { work: Work { task: TaskIndex(2), attempt: 1 } }));
    }

    #[test]
    fn intent_waits_while_the_disk_is_busy() {
        let (dir, mut conductor) = under_way(&[("C", &["A"]), ("D", &["A"]), ("E", &["A"])], Ok(()));
        assert_eq!(conductor.take(vec![completed(0)], NOW).unwrap().effects, []);
        let d = Work { task: TaskIndex(3), attempt: 1 };
        assert!(conductor.rules().is_intended(d), "by the sync that is under way");
        assert_eq!(conductor.take(vec![completed(1)], NOW).unwrap().effects, []);
        assert_eq!(conductor.synced(NOW).unwrap(), [spawn(2, 0), spawn(3, 1)]);
        assert!(!conductor.is_covered(), "the claim of D can wait for others");
        assert_eq!(conductor.take(vec![completed(2)], NOW).unwrap().effects, [spawn(4, 0)]);
        assert_eq!(on_disk(&dir).last().unwrap(), "claimed", "a kill does not take it");
    }

    #[test]
    fn unawaited_end_is_announced_after_a_full_sync() {
        let (_dir, mut conductor) = under_way(&[], Ok(()));
        assert_eq!(conductor.take(vec![completed(0)], NOW).unwrap().effects, []);
        assert!(!conductor.is_covered());
        assert_eq!(conductor.synced(NOW).unwrap(), [], "no sync was begun");
        assert_eq!(conductor.happened(), []);
        assert_eq!(conductor.begin_commit(NOW).unwrap(), []);
        assert!(conductor.is_covered());
        conductor.synced(NOW).unwrap();
        let happened = conductor.happened();
        assert_eq!((happened.len(), happened[0].standing.counts.completed), (1, 1));
    }

    #[test]
    fn wake_up_waits_for_no_sync() {
        let (_dir, mut conductor) = under_way(&[], Ok(()));
        let work = Work { task: TaskIndex(0), attempt: 1 };
        let outcome = Outcome::TimedOut { error: String::new() };
        let failed = conductor.take(vec![Input::Ended { now: NOW, ended: WorkEnded { work, outcome } }], NOW).unwrap();
        let [Effect::WakeAt { at }] = failed.effects[..] else { panic!("{failed:?}") };
        let taken = conductor.take(vec![completed(1)], NOW).unwrap();
        assert_eq!((taken.effects, conductor.is_covered()), (vec![Effect::WakeAt { at }], false));
    }

    #[test]
    fn failed_sync_starts_and_announces_nothing() {
        let (_dir, mut conductor) = under_way(&[("C", &["A"])], Err(Errno::IO));
        conductor.take(vec![completed(0)], NOW).unwrap();
        let failed = conductor.synced(NOW).unwrap_err();
        assert_eq!(conductor.take(vec![completed(1)], NOW), Err(failed));
        assert_eq!(conductor.happened(), []);
    }

    #[test]
    fn full_disk_starts_nothing_and_waits_for_workers() {
        let (dir, mut conductor) = conductor(&[("A", &[]), ("B", &[]), ("C", &[])], 2);
        conductor.take(vec![Input::Start { now: NOW }], NOW).unwrap();
        conductor.disk_is_full();
        let taken = conductor.take(vec![completed(0)], NOW).unwrap();
        assert_eq!((taken.effects, taken.refused), (vec![], vec![None]), "B goes on, C does not start");
        assert!(on_disk(&dir).contains(&"halted".to_owned()));
        let taken = conductor.take(vec![completed(1)], NOW).unwrap();
        assert_eq!(taken.effects, [Effect::Over { ending: Ending::Drained }]);
        assert_eq!(conductor.rules().counts().completed, 2);
    }

    #[test]
    fn known_usage_lets_others_start_before_the_end() {
        let (_dir, mut conductor) = conductor_with(&[("A", &[]), ("B", &[]), ("C", &[])], |policy| {
            policy.slots = 2;
            policy.budgets.run.tokens = Some(110);
        });
        let used = |task: u32, input: u64| {
            let work = Work { task: TaskIndex(task), attempt: 1 };
            Input::Used { work, used: Box::new(Used { input, ..Used::default() }) }
        };
        conductor.take(vec![Input::Start { now: NOW }], NOW).unwrap();
        // B will probably use as much as A, and so would C.
        let taken = conductor.take(vec![used(0, 50), completed(0)], NOW).unwrap();
        assert_eq!(taken.effects, []);
        // Its delivery is not checked yet.
        let taken = conductor.take(vec![used(1, 10)], NOW).unwrap();
        assert_eq!((taken.effects, taken.refused), (vec![spawn(2, 0)], vec![None]));
    }

    #[test]
    fn the_end_and_every_request_are_durable_at_once() {
        let (_dir, mut conductor) = conductor(&[("A", &[])], 1);
        conductor.take(vec![Input::Start { now: NOW }], NOW).unwrap();
        let pause = Input::Pause { now: NOW, reason: "lunch".to_owned() };
        let taken = conductor.take(vec![pause.clone(), pause, Input::Resume { now: NOW }], NOW).unwrap();
        let refused: Vec<_> = taken.refused.iter().map(Option::is_some).collect();
        assert_eq!((refused, conductor.is_covered()), (vec![false, true, false], true));
        conductor.take(vec![completed(0)], NOW).unwrap();
        assert!(conductor.is_covered());
    }
}
