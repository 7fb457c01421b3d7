//! One executor from its start to its end: the real rules, journal, lock and replacement of files, driven as the program
//! drives them, with simulated keepers instead of processes.

use std::collections::{BTreeMap, BTreeSet};

use team_executor_core::run::{Effect, Ending, Halt, Input, Stage, Work, WorkEnded};
use team_executor_core::{Session, TaskIndex, TaskStatus};
use team_executor_engine::conductor::Conductor;
use team_executor_files::tasks_csv;
use team_executor_store::run_folder::RESERVE;
use team_executor_store::sim_disk::SimFile;
use team_executor_store::sim_sync::SimSyncer;
use team_executor_store::{Durability, Lock, ReplaceError, remove, replace};

use crate::audit::VIEW;
use crate::keeper::Order;
use crate::start::{Started, start};
use crate::worker::{End, Script};
use crate::world::{Happening, Message, Stop, World};

/// What happened is durable after this long at the latest, in microseconds.
const COMMIT_WITHIN: u64 = 5000;

/// How an executor ended by itself.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every task is over.
    Finished,
    /// It stopped, and another one goes on when someone wants that.
    Stopped,
    /// It stopped because the disk is full.
    Full,
    /// It stopped because a budget is in the way.
    Spent,
    /// It stopped because nobody is logged in.
    LoggedOut,
}

/// Runs one executor to its end.
pub fn run(world: &mut World<'_>) -> Result<Ended, Stop> {
    world.incarnation += 1;
    world.lives = true;
    let Started { lock, conductor, syncer, first, used, began, unchecked } = start(world)?;
    let session = world.scenario.session.clone();
    let mut executor = Executor {
        world,
        lock,
        conductor,
        syncer,
        sync_at: None,
        session,
        keepers: BTreeMap::new(),
        busy: BTreeMap::new(),
        checking: BTreeSet::new(),
        used,
        wake: None,
        ending: None,
        commit_at: None,
        dirty: true,
    };
    for work in unchecked {
        // What is checked runs nowhere, and has its place.
        executor.busy.insert(work, u32::MAX - work.task.0);
        executor.check(work);
    }
    executor.drive(first, began)
}

struct Executor<'w, 's> {
    world: &'w mut World<'s>,
    lock: Lock<SimFile>,
    conductor: Conductor<SimFile>,
    /// Who syncs beside, and when the sync that is under way ends.
    syncer: Option<SimSyncer>,
    sync_at: Option<u64>,
    session: Session,
    /// The keeper of each slot.
    keepers: BTreeMap<u32, usize>,
    /// Where each attempt runs.
    busy: BTreeMap<Work, u32>,
    /// What of that is being checked.
    checking: BTreeSet<Work>,
    /// What attempts used, told with the next inputs.
    used: Vec<Input>,
    wake: Option<u64>,
    ending: Option<Ending>,
    /// When what happened is to be durable.
    commit_at: Option<u64>,
    dirty: bool,
}

impl Executor<'_, '_> {
    fn drive(&mut self, first: Option<Input>, began: bool) -> Result<Ended, Stop> {
        self.world.plan_trouble();
        match first {
            None => self.ending = Some(Ending::AllCompleted), // finished before
            Some(first) => {
                self.take(vec![first])?;
                if began {
                    self.world.audit.recovered(&self.world.executor)?;
                    crate::start::forget_ledgers(self.world)?;
                }
                crate::start::sign(self.world, &mut self.lock, true)?;
                // Whoever starts it again wants it to go on.
                if self.ending == Some(Ending::Paused) {
                    self.ending = None;
                    let now = self.world.time();
                    self.take(vec![Input::Resume { now }])?;
                }
            }
        }
        while self.ending.is_none() {
            let inputs = self.wait()?;
            self.take(inputs)?;
        }
        self.finish()
    }

    /// Lets the rules decide on some inputs and carries out what may be.
    fn take(&mut self, mut inputs: Vec<Input>) -> Result<(), Stop> {
        inputs.splice(0..0, self.used.drain(..));
        if inputs.is_empty() {
            return Ok(());
        }
        self.world.spend(4000);
        let stops: Vec<bool> = inputs.iter().map(|input| matches!(input, Input::Stop { .. })).collect();
        let is_request =
            |input: &Input| !matches!(input, Input::Ended { .. } | Input::Used { .. } | Input::Woke { .. });
        let requests: Vec<bool> = inputs.iter().map(is_request).collect();
        for input in &inputs {
            self.world.note(|| format!("{input:?}"));
        }
        let now = self.world.time();
        let taken = self.conductor.take(inputs, now);
        let taken = failing(self.world, taken)?;
        let accepted = taken.refused.iter().zip(&requests).any(|(refused, request)| refused.is_none() && *request);
        if accepted || taken.effects.iter().any(|effect| !begins(effect)) {
            self.world.audit.settled(&self.world.executor, "a request was accepted, or someone is told")?;
        }
        let stopped = taken.refused.iter().zip(&stops).any(|(refused, stop)| refused.is_none() && *stop);
        if stopped && *self.conductor.rules().stage() == Stage::Stopping {
            let told = |work: &Work| taken.effects.contains(&Effect::EndWorker { work: *work });
            if !self.busy.keys().all(told) {
                return Err(Stop::Broken("I12: it stops, and a worker is not ended".to_owned()));
            }
        }
        self.dirty = true;
        self.go_on(taken.effects)
    }

    /// Announces what has become durable, and carries out what waited for that.
    fn go_on(&mut self, effects: Vec<Effect>) -> Result<(), Stop> {
        let events = self.conductor.happened();
        self.commit_at = match self.commit_at {
            _ if self.conductor.is_covered() => None,
            at => at.or_else(|| Some(self.world.now + COMMIT_WITHIN)),
        };
        self.world.audit.announce(&self.world.executor, &events)?;
        self.world.audit.spared(&effects)?;
        for effect in effects {
            if let Effect::Spawn { work, .. } | Effect::Check { work, .. } = &effect {
                self.world.audit.begins(&self.world.executor, *work)?;
            }
            self.carry_out(effect);
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) {
        self.world.note(|| format!("{effect:?}"));
        match effect {
            Effect::Check { work, slot } => {
                self.busy.insert(work, slot);
                self.world.audit.checked_again(work);
                self.check(work);
            }
            Effect::Spawn { work, slot } => {
                let keeper = match self.keepers.get(&slot) {
                    Some(keeper) => *keeper,
                    None => self.world.new_keeper(),
                };
                self.keepers.insert(slot, keeper);
                self.busy.insert(work, slot);
                self.world.tell(keeper, Order::Run(work));
            }
            Effect::EndWorker { work } => {
                let keeper = self.busy.get(&work).and_then(|slot| self.keepers.get(slot));
                if let Some(keeper) = keeper {
                    self.world.tell(*keeper, Order::End);
                }
            }
            Effect::WakeAt { at } => self.wake = Some(self.world.moment(at)),
            Effect::AskWaveFailed { .. } | Effect::AskCheckpoint { .. } => {}
            Effect::Over { ending } => self.ending = Some(ending),
        }
    }

    /// The next inputs. What is not durable is made so when others have had time enough to share that.
    fn wait(&mut self) -> Result<Vec<Input>, Stop> {
        let syncs = self.syncer.as_ref().is_some_and(SimSyncer::is_under_way);
        self.world.audit.idle(&self.world.executor, self.busy.len(), syncs)?;
        if self.dirty && self.world.chance.once_in(4) {
            self.commit()?;
            self.render(Durability::Rendered)?;
        }
        self.plan_sync();
        let mut inputs = Vec::new();
        let until = [self.wake, self.commit_at, self.sync_at].into_iter().flatten().min();
        if let Some(message) = self.world.next(until)? {
            inputs.extend(self.input(message)?);
        }
        let until = self.world.now;
        while !self.world.chance.once_in(4)
            && let Some(message) = self.world.next(Some(until))?
        {
            inputs.extend(self.input(message)?);
        }
        if self.sync_at.is_some_and(|at| at <= self.world.now) {
            self.synced()?;
        }
        if self.commit_at.is_some_and(|at| at <= self.world.now) {
            let now = self.world.time();
            let begun = self.conductor.begin_commit(now);
            let effects = failing(self.world, begun)?;
            self.go_on(effects)?;
        }
        if self.wake.is_some_and(|wake| wake <= self.world.now) {
            self.wake = None;
            inputs.push(Input::Woke { now: self.world.time() });
        }
        Ok(inputs)
    }

    fn commit(&mut self) -> Result<(), Stop> {
        let now = self.world.time();
        let committed = self.conductor.commit(now);
        let effects = failing(self.world, committed)?;
        self.go_on(effects)?;
        Ok(self.world.audit.settled(&self.world.executor, "it was made durable")?)
    }

    /// A sync that was begun takes a while, unless it was waited for.
    fn plan_sync(&mut self) {
        let syncs = self.syncer.as_ref().is_some_and(SimSyncer::is_under_way);
        self.sync_at = match self.sync_at {
            _ if !syncs => None,
            Some(at) => Some(at),
            None => {
                let within = self.world.chance.pick(&[1, 1000, 4000, 200_000]);
                Some(self.world.now + self.world.chance.below(within))
            }
        };
    }

    fn synced(&mut self) -> Result<(), Stop> {
        self.sync_at = None;
        let now = self.world.time();
        self.world.note(|| "synced".to_owned());
        let synced = self.conductor.synced(now);
        let effects = failing(self.world, synced)?;
        self.go_on(effects)
    }

    fn input(&mut self, message: Message) -> Result<Option<Input>, Stop> {
        let now = self.world.time();
        let scenario = self.world.scenario;
        let ended =
            |work, end: End| Input::Ended { now, ended: WorkEnded { work, outcome: end.outcome(scenario, work) } };
        match message {
            Message::Ended(work, end) if self.busy.contains_key(&work) => {
                self.count(work, end);
                if end == End::Completed && Script::of(scenario, work).says.checked.is_some() {
                    self.check(work);
                    return Ok(None);
                }
                self.busy.remove(&work);
                Ok(Some(ended(work, end)))
            }
            Message::Ended(..) => Ok(None),
            Message::Checked(work) => Ok(self.busy.remove(&work).map(|_| ended(work, End::Completed))),
            Message::KeeperDied(keeper) => {
                let slot = self.keepers.iter().find(|(_, of)| **of == keeper).map(|(slot, _)| *slot);
                let Some(slot) = slot else { return Ok(None) };
                self.keepers.remove(&slot);
                let Some(work) = self.busy.iter().find(|(_, of)| **of == slot).map(|(work, _)| *work) else {
                    return Ok(None);
                };
                let end = crate::start::left_by(self.world, keeper, work)?;
                self.count(work, end);
                let checked = Script::of(scenario, work).says.checked.is_some();
                if self.checking.contains(&work) || end == End::Completed && checked {
                    self.check(work);
                    return Ok(None);
                }
                self.busy.remove(&work);
                Ok(Some(ended(work, end)))
            }
            Message::Request => Ok(Some(self.world.request())),
        }
    }

    /// Notes what an attempt used, to be told with the next inputs.
    fn count(&mut self, work: Work, end: End) {
        let used = end.used(self.world.scenario, work);
        self.used.extend(used.map(|used| Input::Used { work, used: Box::new(used) }));
    }

    /// What an attempt delivered is looked at; that takes a while.
    fn check(&mut self, work: Work) {
        if !self.checking.insert(work) {
            return; // it is being looked at
        }
        let incarnation = self.world.incarnation;
        self.world.soon(500_000, Happening::Message(incarnation, Message::Checked(work)));
    }

    /// Renders what people read from what is durable, and says whether there was room for it.
    fn render(&mut self, durability: Durability) -> Result<bool, Stop> {
        for (index, task) in (0..).map(TaskIndex).zip(&mut self.session.tasks) {
            task.status = self.conductor.rules().status(index).unwrap_or(TaskStatus::Pending);
        }
        let text = tasks_csv::write(None, &self.session, &self.world.scenario.graph);
        let replaced = replace(&self.world.run, VIEW, text.as_bytes(), durability);
        if let Err(ReplaceError::Disk(error)) = &replaced
            && error.is_full()
        {
            return Ok(false); // a warning
        }
        failing(self.world, replaced)?;
        self.dirty = false;
        self.world.audit.view(&self.world.run, &self.world.executor, durability == Durability::Durable)?;
        Ok(true)
    }

    fn finish(&mut self) -> Result<Ended, Stop> {
        for keeper in self.keepers.values() {
            self.world.tell(*keeper, Order::Close);
        }
        let incarnation = self.world.incarnation;
        while self.world.keepers.iter().any(|keeper| keeper.alive && keeper.incarnation == incarnation) {
            if !self.world.pass()? {
                return Err(Stop::Broken("I13: a keeper does not end".to_owned()));
            }
        }
        self.world.sweep_orphans();
        if !self.world.alive().is_empty() {
            return Err(Stop::Broken("I4: a worker is alive when its executor has ended".to_owned()));
        }
        let is_finished = *self.conductor.rules().stage() == Stage::Finished;
        if is_finished {
            failing(self.world, remove(&self.world.executor, RESERVE))?;
        }
        let rendered = self.render(Durability::Durable)?;
        self.world.audit.tidy(&self.world.run, &self.world.executor)?;
        match self.conductor.rules().halt() {
            _ if is_finished => {}
            Some(Halt::NoRoom) => return Ok(Ended::Full),
            Some(Halt::Budget(_)) => return Ok(Ended::Spent),
            Some(Halt::NotLoggedIn(_)) => return Ok(Ended::LoggedOut),
            None => return Ok(Ended::Stopped),
        }
        if !rendered {
            return Err(Stop::Halted("what people read is not there".to_owned()));
        }
        self.world.audit.finished(&self.world.executor, self.conductor.rules())?;
        Ok(Ended::Finished)
    }
}

/// Whether nobody but a worker is told anything.
fn begins(effect: &Effect) -> bool {
    matches!(effect, Effect::Spawn { .. } | Effect::Check { .. } | Effect::WakeAt { .. })
}

/// What a failure of the disk means: a crash, or the end of this executor.
pub(crate) fn failing<T, E: std::fmt::Display>(world: &World<'_>, result: Result<T, E>) -> Result<T, Stop> {
    result.map_err(|error| if world.run.is_down() { Stop::Crash } else { Stop::Halted(error.to_string()) })
}
