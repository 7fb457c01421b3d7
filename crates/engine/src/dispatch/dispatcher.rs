//! The loop: one input at a time, decided by the rules, made durable, then carried out. Nothing else owns the state.

mod activity;
mod deliveries;
mod desk;
mod growing;
mod hiring;
mod job_rows;
mod machine;
mod pace;
mod people;
mod permissions;
mod recover;
mod rendering;
mod shortage;
mod spawn;
mod spending;
mod start;
mod telling;
mod trees;

pub use self::start::{Scene, run, run_with};

use std::time::Duration;

use team_executor_core::Timestamp;
use team_executor_core::run::{Effect, Ending, Group, Input, Run, Stage, Work, WorkEnded};
use team_executor_store::Disk;

use self::pace::Pace;
use self::rendering::Rendered;
use crate::begin::replay;
use crate::control::question;
use crate::dispatch::conductor::{Conductor, Happened};
use crate::dispatch::crew::{Crew, WorkerEvent};
use crate::dispatch::desk::{Desk, News, Next};
use crate::dispatch::inbox::{Inbox, Message, Outbox};
use crate::dispatch::machine::Machine;
use crate::dispatch::signals::Signal;
use crate::event;
use crate::options::{Failure, Options};
use crate::trees as of_git;

fn tell_problems(problems: Vec<String>, tell: &mut dyn FnMut(event::Event)) {
    problems.into_iter().for_each(|problem| tell(event::warning(problem)));
}

/// One run: its rules and its journal, those who do the work, and what there is around it.
pub struct Dispatcher<'t, C, D: Desk> {
    desk: D,
    crew: C,
    conductor: Conductor<<D::Disk as Disk>::File>,
    options: &'t Options,
    inbox: Inbox,
    /// For the answers of a person.
    outbox: Outbox,
    wake: Option<Timestamp>,
    ending: Option<Ending>,
    asked_to_stop: bool,
    /// The run is not yet where it was left.
    is_starting: bool,
    /// A person is being asked.
    asking: bool,
    /// Until when a person may decide at a checkpoint, as the desk counts.
    patience: Option<Duration>,
    pace: Pace,
    rendered: Rendered,
    /// The limit that other runs share, if there is one.
    machine: Option<Machine>,
}

/// How a run begins or goes on.
#[derive(Debug, Default)]
pub struct Beginning {
    /// An earlier incarnation began it.
    pub has_begun: bool,
    /// A power cut may have taken what that one gave to the system.
    pub rebooted: bool,
    /// What follows from what a person changed meanwhile.
    pub edited: Vec<Effect>,
    /// When the views were begun that are there, and how long they took, as the desk counts.
    pub rendered: (Duration, Duration),
}

impl<'t, C: Crew, D: Desk> Dispatcher<'t, C, D> {
    /// Everything that a run needs, opened.
    pub fn new(
        options: &'t Options,
        conductor: Conductor<<D::Disk as Disk>::File>,
        crew: C,
        desk: D,
        (outbox, inbox): (Outbox, Inbox),
    ) -> Self {
        Self {
            desk,
            crew,
            conductor,
            options,
            inbox,
            outbox,
            wake: None,
            ending: None,
            asked_to_stop: false,
            is_starting: true,
            asking: false,
            patience: None,
            pace: Pace::new(),
            rendered: Rendered::default(),
            machine: None,
        }
    }

    /// Runs a session to its end, or to where it must stop.
    pub fn drive(&mut self, beginning: Beginning) -> Result<D::Report, Failure> {
        let Beginning { has_begun, rebooted, edited, rendered: (began, took) } = beginning;
        self.rendered = Rendered::new(began, took, self.desk.lived());
        self.go_on(edited)?;
        if let Some(ending) = replay::ending(self.rules()) {
            self.ending = Some(ending); // an earlier incarnation did not get to write everything
            return self.finish();
        }
        if has_begun {
            self.recover(rebooted)?;
        } else {
            self.take(vec![Input::Start { now: self.desk.now() }])?;
        }
        self.make_room();
        self.limit()?;
        let epoch = self.conductor.epoch();
        self.desk.hold().sign(epoch)?;
        // Starting a paused run resumes it. Passing a checkpoint needs an explicit decision.
        let asks = self.options.ask.is_some() && question::is_open(self.rules());
        let stays = if question::is_checkpoint(self.rules()) { !self.options.goes_on } else { asks };
        if matches!(self.rules().stage(), Stage::Paused(_)) && !stays {
            self.take(vec![Input::Resume { now: self.desk.now() }])?;
        }
        self.is_starting = false;
        while self.ending.is_none() {
            self.decide_alone()?;
            if self.ending.is_some() {
                break;
            }
            self.commit_in_time()?;
            self.render_in_time()?;
            self.share()?;
            let inputs = self.wait()?;
            self.take(inputs)?;
            self.end_or_judge();
        }
        self.finish()
    }

    /// How many workers a person chose for this start counts, and not the limit that was set before.
    fn limit(&mut self) -> Result<(), Failure> {
        let before = self.rules().limits().run;
        match self.options.limit {
            Some(chosen) if before.is_some_and(|before| before != chosen) => {
                self.take(vec![Input::Limit { now: self.desk.now(), group: Group::All, most: Some(chosen) }])
            }
            _ => Ok(()),
        }
    }

    fn rules(&self) -> &Run {
        self.conductor.rules()
    }

    /// Lets the rules decide on some inputs, and carries out what may be.
    fn take(&mut self, mut inputs: Vec<Input>) -> Result<(), Failure> {
        let News { used, is_full } = self.desk.news();
        if is_full {
            self.conductor.disk_is_full();
        }
        inputs.splice(0..0, used);
        if inputs.is_empty() {
            return Ok(());
        }
        let taken = self.conductor.take(inputs, self.desk.now())?;
        for refused in taken.refused.into_iter().flatten() {
            self.desk.tell(event::warning(refused.to_string()));
        }
        self.go_on(taken.effects)
    }

    /// Begins to make durable what happened when others have had time enough to share that.
    fn commit_in_time(&mut self) -> Result<(), Failure> {
        if self.pace.left(self.desk.lived()) == Some(Duration::ZERO) {
            let effects = self.conductor.begin_commit(self.desk.now())?;
            self.go_on(effects)?;
        }
        Ok(())
    }

    /// Makes everything durable that happened, and waits for that.
    fn commit(&mut self) -> Result<(), Failure> {
        let effects = self.conductor.commit(self.desk.now())?;
        self.desk.must_be_there()?;
        self.go_on(effects)
    }

    /// The disk has done what was begun.
    fn synced(&mut self, took: Duration) -> Result<(), Failure> {
        self.pace.synced(took);
        let effects = self.conductor.synced(self.desk.now())?;
        self.desk.must_be_there()?;
        self.go_on(effects)
    }

    /// Tells what has become durable, and carries out what waited for that.
    fn go_on(&mut self, effects: Vec<Effect>) -> Result<(), Failure> {
        // Files that other tasks build on exist before those start.
        self.announce_all();
        effects.into_iter().try_for_each(|effect| self.carry_out(effect))
    }

    /// Tells what has become durable, where others find it.
    fn announce_all(&mut self) {
        let happened = self.conductor.happened();
        self.announce_these(happened);
    }

    fn announce_these(&mut self, happened: Vec<Happened>) {
        if !happened.is_empty() {
            self.rendered.outdate(self.desk.lived());
        }
        self.desk.announce(self.conductor.rules(), happened, self.is_starting);
        self.pace.note(self.conductor.is_covered(), self.desk.lived());
    }

    /// The next thing that happens, and what has happened with it.
    fn wait(&mut self) -> Result<Vec<Input>, Failure> {
        let (now, lived) = (self.desk.now(), self.desk.lived());
        let until_wake = self.wake.map(|at| {
            let micros = at.as_micros().saturating_sub(now.as_micros());
            Duration::from_micros(u64::try_from(micros).unwrap_or(0))
        });
        let until_decided = self.patience.map(|until| until.saturating_sub(lived));
        let until_told = self.machine.as_ref().and_then(|machine| machine.patience(lived));
        let until_done = [self.rendered.wait(lived), self.pace.left(lived), self.desk.next_try(), until_told];
        let timeout = until_done.into_iter().chain([until_wake, until_decided]).flatten().min();
        let events = self.crew.wait(&self.inbox, timeout)?;
        let mut inputs = Vec::new();
        for event in events {
            inputs.extend(self.heard(event)?);
        }
        for message in self.inbox.take() {
            match message {
                Message::Tree(news) => inputs.extend(self.tree(*news)?),
                // First: what it was compared with is how the run stands now.
                Message::Edited => drop(inputs.splice(0..0, self.edited()?)),
                message => inputs.extend(self.told(message)?),
            }
        }
        for (slot, next) in self.desk.try_again(self.conductor.rules()) {
            inputs.extend(self.judged(slot, next)?);
        }
        self.make_room();
        let now = self.desk.now();
        if self.wake.is_some_and(|at| at <= now) {
            self.wake = None;
            inputs.push(Input::Woke { now });
        }
        Ok(inputs)
    }

    /// The input to the rules from a message, unless it is handled here.
    fn told(&mut self, message: Message) -> Result<Option<Input>, Failure> {
        let now = self.desk.now();
        match message {
            Message::Asked(asked) => self.answer(asked).map(|()| None),
            Message::Typed(line) => self.typed(line.as_deref()).map(|()| None),
            Message::Signal(Signal::HangUp) if self.asked_to_stop => Ok(None),
            Message::Signal(Signal::End) if self.asked_to_stop => Ok(Some(Input::Stop { now })),
            Message::Signal(_) => {
                self.asked_to_stop = true;
                Ok(Some(Input::Drain { now }))
            }
            Message::Looked { slot, looked } => {
                let next = self.desk.looked(self.conductor.rules(), slot, *looked);
                self.judged(slot, next)
            }
            Message::Halt { reason } => self.halt(reason).map(|()| None),
            Message::Tree(_) | Message::Edited => Ok(None), // several inputs may follow, see `wait`
            Message::Overdue(work) => {
                self.end(work);
                Ok(None)
            }
            Message::Synced { took } => self.synced(took).map(|()| None),
            Message::Seat(news) => Ok(self.seat(news)),
        }
    }

    /// What git has done means to the rules.
    fn tree(&mut self, news: of_git::News) -> Result<Vec<Input>, Failure> {
        let mut inputs = Vec::new();
        for (slot, next) in self.desk.tree(self.conductor.rules(), news)? {
            inputs.extend(self.judged(slot, next)?);
        }
        Ok(inputs)
    }

    /// What the news of a worker mean to the rules.
    fn heard(&mut self, event: WorkerEvent) -> Result<Option<Input>, Failure> {
        if matches!(event, WorkerEvent::Room) {
            return Ok(Some(Input::Woke { now: self.desk.now() }));
        }
        let rules = self.conductor.rules();
        if let WorkerEvent::Ended { slot, end } = event {
            let Some(work) = rules.in_slot(slot) else { return Ok(None) };
            if let Some(exit) = &end.exit {
                self.conductor.ended(work.task, exit);
            }
            let next = self.desk.ended(self.conductor.rules(), slot, work, *end)?;
            return self.judged(slot, next);
        }
        for slot in self.desk.heard(rules, event) {
            self.crew.end(slot);
        }
        Ok(None)
    }

    /// Goes on with the attempt in a slot; an input when it is over.
    fn judged(&mut self, slot: usize, next: Next) -> Result<Option<Input>, Failure> {
        match next {
            Next::Wait | Next::Leave => Ok(None),
            Next::Run(job) => {
                self.begin(slot, *job)?;
                Ok(None)
            }
            Next::Over(outcome) => {
                let now = self.desk.now();
                let work = self.rules().in_slot(slot);
                Ok(work.map(|work| Input::Ended { now, ended: WorkEnded { work, outcome } }))
            }
            Next::Fail(failure) => Err(failure),
        }
    }

    /// Ends when nothing is left but attempts that were not judged to their end: the rules wait for them, and the next
    /// incarnation judges them.
    fn end_or_judge(&mut self) {
        let left = self.desk.left(self.conductor.rules());
        if left > 0 && left == self.rules().at_work().count() {
            self.ending = Some(Ending::Stopped);
        }
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), Failure> {
        match effect {
            Effect::Check { work, slot } => {
                self.sit(slot as usize, work);
                self.desk.check_again(self.conductor.rules(), slot as usize, work);
            }
            Effect::Spawn { work, slot } => {
                self.sit(slot as usize, work);
                let rules = self.conductor.rules();
                if let Some(job) = self.desk.prepare(rules, slot as usize, work)? {
                    self.begin(slot as usize, job)?;
                }
            }
            Effect::EndWorker { work } => {
                if let Some(slot) = self.end(work)
                    && *self.rules().stage() != Stage::Stopping
                {
                    self.desk.recall(slot);
                }
            }
            Effect::WakeAt { at } => self.wake = Some(at), // the rules name the earliest each time
            Effect::AskWaveFailed { .. } => self.ask_about_wave(),
            Effect::AskCheckpoint { .. } => self.ask_at_checkpoint(),
            // A person may resume it.
            Effect::Over { ending: Ending::Paused } => {}
            Effect::Over { ending } => self.ending = Some(ending),
        }
        Ok(())
    }

    /// Ends what runs for an attempt, and says where that is.
    fn end(&mut self, work: Work) -> Option<usize> {
        let slot = self.rules().slot_of(work)?;
        self.crew.end(slot);
        Some(slot)
    }

    fn finish(&mut self) -> Result<D::Report, Failure> {
        self.crew.close();
        self.machine = None;
        self.commit()?;
        if *self.rules().stage() == Stage::Finished {
            self.desk.hold().give_up_room()?; // what is left to be written needs it more
        }
        let ending = match self.ending {
            Some(Ending::Stopped) if !self.asked_to_stop => Ending::Paused, // a wave failed
            ending => ending.unwrap_or(Ending::Paused),
        };
        Ok(self.desk.leave(self.conductor.rules(), ending))
    }
}
