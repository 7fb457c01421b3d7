//! What people ask for while a run goes on, what they are asked, and what is done when nobody answers.

use std::time::Instant;

use team_executor_beneath::ours;
use team_executor_core::run::{AtCheckpoint, Cause, Ending, Input, Stage};
use team_executor_core::{CheckpointAction, TaskIndex};

use super::Dispatcher;
use crate::clock;
use crate::control::question::{self, Reply};
use crate::control::{Answer, Asked, Request};
use crate::inbox::Message;
use crate::notice::{Judged, Notice};
use crate::options::Failure;

impl Dispatcher<'_> {
    /// Does what somebody asked for, and answers when it is durable.
    pub(super) fn answer(&mut self, Asked { request, reply }: Asked) -> Result<(), Failure> {
        if self.ending.is_some() {
            return Ok(()); // too late, and told so
        }
        let answer = self.obey(&request)?;
        reply.send(answer).ok(); // whoever asked may have gone
        Ok(())
    }

    fn obey(&mut self, request: &Request) -> Result<Answer, Failure> {
        if let Request::Ask(asked) = request {
            return Ok(self.agent_asks(asked));
        }
        if *request == Request::Activity {
            return Ok(self.tell_activity());
        }
        if let Request::Progress { attempt, words } = request {
            return Ok(self.progressed(attempt, words));
        }
        let input = match request.input(clock::now(), |id| self.options.graph.index_of(id)) {
            Ok(input) => input,
            Err(why) => return Ok(Answer::refused(self.rules().stage().word(), why)),
        };
        self.commit()?; // so that what happens now is what was asked for
        let taken = self.conductor.take(vec![input], clock::now())?;
        let (refused, happened) = (taken.refused.into_iter().flatten().next(), self.conductor.happened());
        let answer = Answer::of(request, &happened, refused, self.rules(), |task| self.id(task));
        if refused.is_none() {
            self.asked_to_stop = request.ends() || self.asked_to_stop && *self.rules().stage() != Stage::Going;
            request.notice().into_iter().for_each(&mut *self.tell);
        }
        self.announce_these(happened);
        taken.effects.into_iter().try_for_each(|effect| self.carry_out(effect))?;
        Ok(answer)
    }

    /// Asks a person what to do after a wave failed.
    pub(super) fn ask_about_wave(&mut self, wave: u32) {
        if question::is_open(self.rules()) {
            (self.tell)(Notice::WaveFailed { wave });
            self.listen();
        }
    }

    /// Asks a person to judge, and says what.
    pub(super) fn ask_at_checkpoint(&mut self, task: TaskIndex, cause: Cause) {
        self.patience = self.options.checkpoints.wait.map(|wait| Instant::now() + wait);
        let notice = Notice::Checkpoint {
            task: self.id(task).to_owned(),
            cause,
            judged: self.rules().judged_at(task).into_iter().map(|task| self.to_be_judged(task)).collect(),
            critique: self.rules().critique_at(task).map(str::to_owned),
            asked: self.options.ask.is_some(),
        };
        (self.tell)(notice);
        self.listen();
    }

    fn to_be_judged(&self, task: TaskIndex) -> Judged {
        let view = self.rules().view(task);
        let said = view.and_then(|view| view.findings.or(view.error)).unwrap_or_default();
        let folder = self.at.artifacts(self.id(task));
        Judged {
            task: self.id(task).to_owned(),
            findings: said.to_owned(),
            folder: ours::open(&folder).is_ok().then_some(folder),
            rounds: view.map_or(0, |view| view.rounds),
        }
    }

    /// Waits for a person's line in a thread of its own: the run can still be told otherwise.
    pub(super) fn listen(&mut self) {
        if let Some(ask) = self.options.ask
            && !std::mem::replace(&mut self.asking, true)
        {
            let outbox = self.outbox.clone();
            std::thread::spawn(move || outbox.send(Message::Typed(ask())).ok());
        }
    }

    /// Does what a person has typed, unless somebody else was faster.
    pub(super) fn typed(&mut self, line: Option<&str>) -> Result<(), Failure> {
        self.asking = false;
        if !question::is_open(self.rules()) {
            self.permitted(line);
            return Ok(());
        }
        let wave = question::wave(self.rules());
        match (question::understood(line, self.rules()), wave) {
            (None, Some(wave)) => {
                self.ask_about_wave(wave);
                Ok(())
            }
            (None, None) => {
                (self.tell)(Notice::Warning(format!("that was not understood; type {}", question::ANSWERS)));
                self.listen();
                Ok(())
            }
            (Some(Reply::Decide(request)), _) => {
                let answer = self.obey(&request)?;
                if let Err(why) = answer.outcome {
                    (self.tell)(Notice::Warning(format!("nothing was done: {why}")));
                }
                if question::is_open(self.rules()) {
                    self.listen();
                }
                Ok(())
            }
            (Some(reply), Some(wave)) => {
                let inputs = question::inputs(reply == Reply::Retry, wave, self.rules(), clock::now());
                self.take(inputs)
            }
            (Some(_), None) => self.leave(),
        }
    }

    /// At a checkpoint where nobody can be asked, or nobody answers in time, what was chosen for that is done.
    pub(super) fn nobody_decides(&mut self) -> Result<(), Failure> {
        if !question::is_checkpoint(self.rules()) {
            self.patience = None;
            return Ok(());
        }
        let waits = match self.patience {
            Some(until) => Instant::now() < until,
            None => self.asking,
        };
        if waits || !self.slots.is_empty() || self.ending.is_some() {
            return Ok(());
        }
        match self.options.checkpoints.unattended {
            AtCheckpoint::Stop => self.leave(),
            AtCheckpoint::Resume => {
                let text = "nobody decided, and the settings say to go on then".to_owned();
                let request = Request::Decide { action: CheckpointAction::Resume, tasks: Vec::new(), text };
                self.obey(&request).map(drop)
            }
        }
    }

    /// Ends here; the run stays paused. Workers that are left end first.
    fn leave(&mut self) -> Result<(), Failure> {
        if self.slots.is_empty() {
            self.commit()?;
            self.ending = Some(Ending::Paused);
            return Ok(());
        }
        self.take(vec![Input::Drain { now: clock::now() }])
    }
}
