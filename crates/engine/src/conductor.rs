//! The rules and the journal together: an input is decided, what happened is written down, and only then may it be
//! carried out. Nothing is carried out here, and no clock is read, so that a simulator drives the same code.
//!
//! What must be durable before what:
//! - a worker starts only when its attempt, and everything that it builds on, is durable. The attempts that come next are
//!   made durable ahead of time ([`Event::Intended`]), so that a worker which ends can be followed at once;
//! - whatever else is to be done, or told, waits for its events;
//! - before a worker starts, the system has its claim: a killed executor finds it, and only a power cut, after which no
//!   worker lives, can take it.

use team_executor_core::run::{Effect, Event, Input, Refused, Run, Step};
use team_executor_core::{Task, TaskIndex, Timestamp};
use team_executor_store::{DiskFile, Journal, JournalError, records};

/// How many attempts are made durable ahead of time.
const AHEAD: usize = 256;

/// The rules and the journal of a run.
#[derive(Debug)]
pub struct Conductor<F> {
    rules: Run,
    journal: Journal<F>,
    ids: Vec<Box<str>>,
    /// What happened and is not durable.
    fresh: Vec<Event>,
    /// What is durable and was not told.
    durable: Vec<Event>,
}

/// What follows from some inputs.
#[derive(Debug, Default, PartialEq, Eq)]
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
        Self { rules, journal, ids, fresh: Vec::new(), durable: Vec::new() }
    }

    /// How the run stands; it may be ahead of what is durable.
    pub const fn rules(&self) -> &Run {
        &self.rules
    }

    /// The number of this incarnation.
    pub fn epoch(&self) -> u64 {
        self.journal.epoch()
    }

    /// Whether the disk holds how the run stands.
    pub fn is_durable(&self) -> bool {
        self.journal.is_durable()
    }

    /// Lets the rules decide on some inputs and says what may be carried out.
    pub fn take(&mut self, inputs: Vec<Input>, now: Timestamp) -> Result<Taken, JournalError> {
        let mut taken = Taken::default();
        let mut can_wait = true;
        for input in inputs {
            let Step { events, effects, refused } = self.rules.step(input);
            for event in &events {
                self.append(event)?;
            }
            can_wait &= events.iter().all(can_wait_for_others) && effects.iter().all(|effect| self.may_begin(effect));
            self.fresh.extend(events);
            taken.effects.extend(effects);
            taken.refused.push(refused);
        }
        if can_wait {
            self.journal.hand_over()?
        } else {
            self.commit(now)?
        }
        Ok(taken)
    }

    /// Makes everything durable, and with it the attempts that come next.
    pub fn commit(&mut self, now: Timestamp) -> Result<(), JournalError> {
        if let Some(event) = self.rules.intend(AHEAD, now) {
            self.append(&event)?;
        }
        self.journal.commit()?;
        self.durable.append(&mut self.fresh);
        Ok(())
    }

    /// What became durable since this was last asked.
    pub fn happened(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.durable)
    }

    /// Whether an effect may be carried out before the events of its own step are durable.
    fn may_begin(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Spawn { work, .. } | Effect::Check { work, .. } => self.rules.is_intended(*work),
            Effect::WakeAt { .. } => true,
            Effect::EndWorker { .. }
            | Effect::AskWaveFailed { .. }
            | Effect::AskCheckpoint { .. }
            | Effect::Over { .. } => false,
        }
    }

    fn append(&mut self, event: &Event) -> Result<(), JournalError> {
        let id = |task: TaskIndex| self.ids.get(task.get()).map_or("", |id| id);
        self.journal.append(&records::write(event, id)).map(drop)
    }
}

/// Whether nobody waits for an event to become durable: it can share a commit with what comes later.
const fn can_wait_for_others(event: &Event) -> bool {
    matches!(event, Event::Claimed { .. } | Event::Used { .. } | Event::Completed { judged: None, .. })
}

#[cfg(test)]
mod tests {
    use team_executor_core::run::{Outcome, Policy, Which, Work, WorkEnded};
    use team_executor_core::{Graph, RoleName, TaskId};
    use team_executor_store::{Disk as _, RealDisk, RealFile};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1);

    fn conductor(tasks: &[(&str, &[&str])], slots: u32) -> (tempfile::TempDir, Conductor<RealFile>) {
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
        let rules = Run::new(&tasks, graph, Policy { slots, ..Policy::default() }).unwrap();
        (dir, Conductor::new(&tasks, rules, journal))
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
    fn what_comes_next_is_durable_before_its_turn_and_then_starts_without_waiting() {
        let (dir, mut conductor) = conductor(&[("A", &[]), ("B", &[]), ("C", &["A"])], 1);
        conductor.take(vec![Input::Start { now: NOW }], NOW).unwrap();
        assert_eq!(on_disk(&dir), ["began", "claimed", "intended"]);
        assert!(conductor.is_durable());
        assert_eq!(conductor.happened().len(), 2);
        let taken = conductor.take(vec![completed(0)], NOW).unwrap();
        // C is the fast advance of A and was never intended: it waits for the commit.
        assert_eq!(taken.effects, [Effect::Spawn { work: Work { task: TaskIndex(2), attempt: 1 }, slot: 0 }]);
        assert!(conductor.is_durable());
        conductor.happened();
        let taken = conductor.take(vec![completed(2)], NOW).unwrap();
        assert_eq!(taken.effects, [Effect::Spawn { work: Work { task: TaskIndex(1), attempt: 1 }, slot: 0 }]);
        assert!(!conductor.is_durable(), "B was intended");
        assert_eq!(on_disk(&dir)[3..], ["completed", "claimed", "completed", "claimed"], "a kill does not take it");
        assert_eq!(conductor.happened(), []);
        conductor.commit(NOW).unwrap();
        assert_eq!(conductor.happened().len(), 2);
    }

    #[test]
    fn what_was_intended_waits_for_the_new_end_of_a_task_that_began_anew() {
        let tasks: [(&str, &[&str]); 6] =
            [("A", &[]), ("B", &["A"]), ("C", &["A"]), ("D", &[]), ("E", &["D"]), ("F", &["E"])];
        let (_dir, mut conductor) = conductor(&tasks, 1);
        let later = Timestamp::from_micros(10_000_000);
        let ended = |task: u32, attempt: u32, outcome: Outcome| {
            let work = Work { task: TaskIndex(task), attempt };
            vec![Input::Ended { now: later, ended: WorkEnded { work, outcome } }]
        };
        let done = || Outcome::completed(None);
        conductor.take(vec![Input::Start { now: NOW }], NOW).unwrap();
        let failed = ended(3, 1, Outcome::TimedOut { error: String::new() });
        conductor.take(failed, NOW).unwrap();
        conductor.take(vec![Input::Woke { now: Timestamp::from_micros(20_000_000) }], later).unwrap();
        // A is done, D is tried again, and B and C are intended.
        conductor.take(ended(0, 1, done()), later).unwrap();
        let b = Work { task: TaskIndex(1), attempt: 1 };
        assert!(conductor.rules().is_intended(b));
        let which = Which::Tasks(vec![TaskIndex(0)]);
        let taken = conductor.take(vec![Input::Retry { now: later, which, downstream: true }], later).unwrap();
        assert_eq!((taken.refused, conductor.rules().is_intended(b)), (vec![None], false));
        for (task, attempt) in [(3, 2), (4, 1), (5, 1)] {
            conductor.take(ended(task, attempt, done()), later).unwrap();
        }
        let taken = conductor.take(ended(0, 2, done()), later).unwrap();
        assert_eq!(taken.effects, [Effect::Spawn { work: b, slot: 0 }]);
        assert!(conductor.is_durable(), "B builds on the second end of A");
    }

    #[test]
    fn the_end_and_every_request_are_durable_at_once() {
        let (_dir, mut conductor) = conductor(&[("A", &[])], 1);
        conductor.take(vec![Input::Start { now: NOW }], NOW).unwrap();
        let pause = Input::Pause { now: NOW, reason: "lunch".to_owned() };
        let taken = conductor.take(vec![pause.clone(), pause, Input::Resume { now: NOW }], NOW).unwrap();
        let refused: Vec<_> = taken.refused.iter().map(Option::is_some).collect();
        assert_eq!((refused, conductor.is_durable()), (vec![false, true, false], true));
        conductor.take(vec![completed(0)], NOW).unwrap();
        assert!(conductor.is_durable());
    }
}
