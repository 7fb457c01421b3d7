//! The loop: one input at a time, decided by the rules, made durable, then carried out. Nothing else owns the state.

mod activity;
mod deliveries;
mod job_rows;
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

pub use self::start::run;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use team_executor_agents::{KeeperEvent, Keepers};
use team_executor_beneath::ours;
use team_executor_core::run::{Effect, Ending, ErrorClass, Event, Input, Live, Outcome, Run, Stage, Work, WorkEnded};
use team_executor_core::{Session, TaskIndex, Timestamp};
use team_executor_store::{RealDisk, RealFile};

use self::pace::Pace;
use self::rendering::Rendered;
use crate::checking::Checking;
use crate::conclude::{Gaps, Known};
use crate::conductor::Conductor;
use crate::control::{Permission, question};
use crate::following::Following;
use crate::inbox::{Inbox, Message, Outbox};
use crate::job::Job;
use crate::notice::Notice;
use crate::options::{Failure, Options};
use crate::prompt::Knowledge;
use crate::prompts::Prompts;
use crate::report::Report;
use crate::resident::Residents;
use crate::run_at::RunAt;
use crate::signals::Signal;
use crate::views::Views;
use crate::{clock, control, replay, talk, views};

fn tell_problems(problems: Vec<String>, tell: &mut dyn FnMut(Notice)) {
    problems.into_iter().for_each(|problem| tell(Notice::Warning(problem)));
}

struct Dispatcher<'t> {
    /// What is being judged. The first to go: it writes to the run.
    checking: Checking,
    options: &'t Options,
    at: RunAt,
    conductor: Conductor<RealFile>,
    views: Views<RealDisk>,
    session: Session,
    gaps: Gaps,
    /// What the results of all tasks must be, if they are the rows of a table.
    job: Option<Job>,
    keepers: Keepers,
    prompts: Prompts,
    residents: Residents,
    knowledge: Knowledge,
    inbox: Inbox,
    /// For the answers of a person, and for what it tells itself.
    outbox: Outbox,
    /// Where workers work.
    cwd: PathBuf,
    /// What runs where.
    slots: BTreeMap<usize, Work>,
    /// What attempts reported, until their end is told.
    reports: Known,
    /// What running agents have said so far.
    following: Following,
    /// What attempts used, told with the next inputs.
    used: Vec<Input>,
    /// What known agents that are at work have used so far.
    live: Live,
    /// Of these, those that will ask their model again.
    going_on: BTreeSet<Work>,
    /// Attempts that are being ended, because a budget is used up, and which one.
    overspent: BTreeMap<Work, String>,
    /// Which of its agents does the last attempt at a task that was told to have begun.
    doers: BTreeMap<TaskIndex, u32>,
    /// Models without a price, each told once.
    unpriced: BTreeSet<String>,
    wake: Option<Timestamp>,
    ending: Option<Ending>,
    asked_to_stop: bool,
    /// It was told that there are fewer workers than were chosen, for want of something, or of knowledge.
    told_shortage: bool,
    told_at_first: bool,
    /// A person is being asked.
    asking: bool,
    /// What agents want to be allowed, the oldest first.
    permissions: VecDeque<Permission>,
    /// Until when a person may decide at a checkpoint.
    patience: Option<Instant>,
    pace: Pace,
    rendered: Rendered,
    tell: &'t mut dyn FnMut(Notice),
}

impl Dispatcher<'_> {
    fn drive(&mut self, edited: Vec<Effect>, began: bool, rebooted: bool) -> Result<Report, Failure> {
        let set_aside = self.at.results.put_stale_aside(&self.session.tasks, self.rules());
        set_aside.map_err(Failure::disk("look for results in", self.at.agents()))?;
        self.go_on(edited)?;
        if let Some(ending) = replay::ending(self.rules()) {
            self.ending = Some(ending); // an earlier incarnation did not get to write everything
            return self.finish();
        }
        if began {
            self.recover(rebooted)?;
        } else {
            self.take(vec![Input::Start { now: clock::now() }])?;
        }
        self.at.sign(self.conductor.epoch())?;
        // Whoever starts a paused run wants it to go on. What a person is to judge must be wanted in so many words.
        let asks = self.options.ask.is_some() && question::is_open(self.rules());
        let stays = if question::is_checkpoint(self.rules()) { !self.options.goes_on } else { asks };
        if matches!(self.rules().stage(), Stage::Paused(_)) && !stays {
            self.take(vec![Input::Resume { now: clock::now() }])?;
        }
        while self.ending.is_none() {
            self.nobody_decides()?;
            if self.ending.is_some() {
                break;
            }
            self.commit_in_time()?;
            self.render_in_time()?;
            let inputs = self.wait()?;
            self.take(inputs)?;
            self.end_or_judge();
        }
        self.finish()
    }

    fn rules(&self) -> &Run {
        self.conductor.rules()
    }

    /// Lets the rules decide on some inputs, and carries out what may be.
    fn take(&mut self, mut inputs: Vec<Input>) -> Result<(), Failure> {
        inputs.splice(0..0, self.used.drain(..));
        if inputs.is_empty() {
            return Ok(());
        }
        let taken = self.conductor.take(inputs, clock::now())?;
        for refused in taken.refused.into_iter().flatten() {
            (self.tell)(Notice::Warning(refused.to_string()));
        }
        self.tell_at_first();
        self.go_on(taken.effects)
    }

    /// Begins to make durable what happened when others have had time enough to share that.
    fn commit_in_time(&mut self) -> Result<(), Failure> {
        if self.pace.left(Instant::now()) == Some(Duration::ZERO) {
            let effects = self.conductor.begin_commit(clock::now())?;
            self.go_on(effects)?;
        }
        Ok(())
    }

    /// Makes everything durable that happened, and waits for that.
    fn commit(&mut self) -> Result<(), Failure> {
        let effects = self.conductor.commit(clock::now())?;
        self.at.must_be_there(&self.options.folder)?;
        self.go_on(effects)
    }

    /// The disk has done what was begun.
    fn synced(&mut self, took: Duration) -> Result<(), Failure> {
        self.pace.synced(took);
        let effects = self.conductor.synced(clock::now())?;
        self.at.must_be_there(&self.options.folder)?;
        self.go_on(effects)
    }

    /// Tells what has become durable, and carries out what waited for that.
    fn go_on(&mut self, effects: Vec<Effect>) -> Result<(), Failure> {
        // What others build on is there before they start.
        self.announce_all();
        effects.into_iter().try_for_each(|effect| self.carry_out(effect))
    }

    /// Tells what has become durable, where others find it.
    fn announce_all(&mut self) {
        let happened = self.conductor.happened();
        self.announce_these(happened);
    }

    fn announce_these(&mut self, happened: Vec<Event>) {
        if !happened.is_empty() {
            self.rendered.outdate();
            let is_completed = |event: &Event| matches!(event, Event::Completed { .. });
            let mut untold =
                self.conductor.undurably_completed() + happened.iter().filter(|it| is_completed(it)).count();
            for event in happened {
                untold -= usize::from(is_completed(&event));
                self.tell_shortage(&event);
                self.announce(event, untold);
            }
        }
        self.pace.note(self.conductor.is_covered(), Instant::now());
    }

    /// The next thing that happens, and what has happened with it.
    fn wait(&mut self) -> Result<Vec<Input>, Failure> {
        let until_wake = self.wake.map(|at| {
            let micros = at.as_micros().saturating_sub(clock::now().as_micros());
            Duration::from_micros(u64::try_from(micros).unwrap_or(0))
        });
        let until_render = self.rendered.wait();
        let until_commit = self.pace.left(Instant::now());
        let until_decided = self.patience.map(|until| until.saturating_duration_since(Instant::now()));
        let until_tried = self.checking.next_try().map(|at| at.saturating_duration_since(Instant::now()));
        let all = [until_wake, until_render, until_commit, until_decided, until_tried];
        let timeout = all.into_iter().flatten().min();
        let events = self.keepers.wait(self.inbox.bell(), timeout).map_err(Failure::disk("wait for", "keepers"))?;
        let inputs: Result<Vec<_>, _> = events.into_iter().filter_map(|event| self.heard(event).transpose()).collect();
        let mut inputs = inputs?;
        for message in self.inbox.take() {
            inputs.extend(self.told(message)?);
        }
        inputs.extend(self.try_checks_again()?);
        if self.wake.is_some_and(|at| at <= clock::now()) {
            self.wake = None;
            inputs.push(Input::Woke { now: clock::now() });
        }
        Ok(inputs)
    }

    /// What a message means to the rules, unless it is dealt with here.
    fn told(&mut self, message: Message) -> Result<Option<Input>, Failure> {
        let now = clock::now();
        match message {
            Message::Asked(asked) => self.answer(asked).map(|()| None),
            Message::Typed(line) => self.typed(line.as_deref()).map(|()| None),
            Message::Signal(Signal::HangUp) if self.asked_to_stop => Ok(None),
            Message::Signal(Signal::End) if self.asked_to_stop => Ok(Some(Input::Stop { now })),
            Message::Signal(_) => {
                self.asked_to_stop = true;
                Ok(Some(Input::Drain { now }))
            }
            Message::Looked { slot, looked } => self.looked(slot, *looked),
            Message::Halt { reason } => self.halt(reason).map(|()| None),
            Message::Overdue(work) => {
                self.end(work);
                Ok(None)
            }
            Message::Synced { took } => self.synced(took).map(|()| None),
            Message::NotStarted { slot, error } => {
                let error = format!("could not start: {error}");
                let outcome = Outcome::Failed { class: ErrorClass::Shortage, error };
                let work = self.slots.remove(&slot);
                Ok(work.map(|work| Input::Ended { now, ended: WorkEnded { work, outcome } }))
            }
        }
    }

    /// What the news of a keeper mean to the rules.
    fn heard(&mut self, event: KeeperEvent) -> Result<Option<Input>, Failure> {
        let (slot, exit) = match event {
            KeeperEvent::Line { slot, text, .. } => {
                self.tell_line(slot, text);
                return Ok(None);
            }
            KeeperEvent::Used { slot, key, usage } => {
                self.uses(slot, &key, &usage);
                return Ok(None);
            }
            KeeperEvent::Woken { slot, .. } => {
                let task = self.slots.get(&slot).map_or("a check", |work| self.id(work.task));
                let told = format!(
                    "{task}: its keeper was stopped (SIGSTOP); team-executor woke it up, and the worker goes on"
                );
                (self.tell)(Notice::Warning(told));
                return Ok(None);
            }
            KeeperEvent::Ended { slot, exit, unrecorded } => {
                if let Some(reason) = unrecorded {
                    (self.tell)(Notice::Warning(format!("{}: its outcome is not on disk: {reason}", exit.key)));
                }
                (slot, Some(exit))
            }
            KeeperEvent::KeeperDied { slot, key, reason } => {
                (self.tell)(Notice::Warning(format!("{key}: its keeper is gone: {reason}")));
                (slot, None)
            }
        };
        self.ended(slot, exit.as_deref())
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), Failure> {
        match effect {
            Effect::Check { work, slot } => {
                self.slots.insert(slot as usize, work);
                let (checking, scene) = self.checks();
                checking.begin_again(&scene, slot as usize, work);
            }
            Effect::Spawn { work, slot } => self.spawn(work, slot as usize)?,
            Effect::EndWorker { work } => {
                if let Some(slot) = self.end(work)
                    && *self.rules().stage() != Stage::Stopping
                {
                    self.checking.recall(slot);
                }
            }
            Effect::WakeAt { at } => self.wake = Some(at), // the rules name the earliest each time
            Effect::AskWaveFailed { wave } => self.ask_about_wave(wave),
            Effect::AskCheckpoint { task, cause } => self.ask_at_checkpoint(task, cause),
            // Somebody may tell it to go on.
            Effect::Over { ending: Ending::Paused } => {}
            Effect::Over { ending } => self.ending = Some(ending),
        }
        Ok(())
    }

    /// Ends what runs for an attempt, and says where that is.
    fn end(&mut self, work: Work) -> Option<usize> {
        let slot = self.slots.iter().find(|(_, running)| **running == work).map(|(slot, _)| *slot)?;
        self.keepers.end(slot);
        Some(slot)
    }

    fn id(&self, task: TaskIndex) -> &str {
        self.session.tasks[task.get()].id.as_str()
    }

    fn finish(&mut self) -> Result<Report, Failure> {
        self.keepers.close_all();
        talk::close_doors(&self.at); // a driver that was killed has left its own
        self.commit()?;
        if *self.rules().stage() == Stage::Finished {
            self.at.give_up_room(); // what is left to be written needs it more
            // Whoever finds the run finished changes nothing in it: what goes at the end goes before that can be seen.
            ours::remove(&control::socket(&self.at.path)).ok();
        }
        let ending = match self.ending {
            Some(Ending::Stopped) if !self.asked_to_stop => Ending::Paused, // a wave failed
            ending => ending.unwrap_or(Ending::Paused),
        };
        let at_end = self.options.at_end;
        self.checking.put_into(&mut self.session);
        tell_problems(self.checking.sync().into_iter().collect(), self.tell);
        let (report, failures) = views::leave(
            &mut self.views,
            &self.at,
            &self.options.folder,
            &mut self.session,
            self.conductor.rules(),
            at_end,
        );
        tell_problems(failures, self.tell);
        Ok(Report { ending, ..report })
    }
}
