//! Requests of people while a run goes on, questions to them, and the fallback when no one answers.

use team_executor_core::run::{AtCheckpoint, Ending, Input, Stage, Which};
use team_executor_core::{CheckpointAction, TaskIndex, TaskStatus};

use super::Dispatcher;
use crate::control::question::{self, Reply};
use crate::control::{Answer, Asked, Request};
use crate::dispatch::crew::Crew;
use crate::dispatch::desk::Desk;
use crate::dispatch::inbox::Message;
use crate::event::{self, Event, Kind};
use crate::options::Failure;
use crate::prepare::newcomer::Growth;

impl<C: Crew, D: Desk> Dispatcher<'_, C, D> {
    /// Carries out a request, and answers when it is durable.
    pub(super) fn answer(&mut self, Asked { request, reply }: Asked) -> Result<(), Failure> {
        if self.ending.is_some() {
            return Ok(()); // too late, and told so
        }
        let answer = self.obey(&request)?;
        reply.send(answer).ok(); // the caller may have gone
        Ok(())
    }

    fn obey(&mut self, request: &Request) -> Result<Answer, Failure> {
        if let Some(answer) = self.desk.answer(self.conductor.rules(), request) {
            self.listen_for_agents();
            return Ok(answer);
        }
        let inputs = match self.inputs(request)? {
            Ok(inputs) => inputs,
            Err(why) => return Ok(Answer::refused(self.rules().stage().word(), why)),
        };
        if let Some(to) = request.assignment() {
            match self.desk.hire(self.conductor.rules(), &self.given(&inputs), to) {
                Ok(Some(workers)) => self.conductor.name_agents(workers),
                Ok(None) => {}
                Err(why) => return Ok(Answer::refused(self.rules().stage().word(), why)),
            }
        }
        self.commit()?; // so that what happens now is what was asked for
        let taken = self.conductor.take(inputs, self.desk.now())?;
        let (refused, happened) = (taken.refused.into_iter().flatten().next(), self.conductor.happened());
        let events: Vec<_> = happened.iter().map(|happened| happened.event.clone()).collect();
        let answer = Answer::from_events(request, &events, refused, self.rules(), |task| self.rules().id(task));
        if refused.is_none() {
            self.asked_to_stop = request.ends() || self.asked_to_stop && *self.rules().stage() != Stage::Going;
        }
        self.announce_these(happened);
        taken.effects.into_iter().try_for_each(|effect| self.carry_out(effect))?;
        Ok(answer)
    }

    /// The inputs to the rules, or why there are none.
    fn inputs(&mut self, request: &Request) -> Result<Result<Vec<Input>, String>, Failure> {
        let now = self.desk.now();
        Ok(match self.desk.grow(self.conductor.rules(), request) {
            None => request.input(now, |id| self.rules().graph().index_of(id)).map(|input| vec![input]),
            Some(Err(why)) => Err(why),
            Some(Ok(growth)) => Ok(self.grow(growth)?),
        })
    }

    /// What was written into the folder of the session means to the rules.
    pub(super) fn edited(&mut self) -> Result<Vec<Input>, Failure> {
        match self.desk.edited(self.conductor.rules()) {
            Some(growth) => self.grow(growth),
            None => Ok(Vec::new()),
        }
    }

    /// Tells the rules how the plan differs from that of the run.
    fn grow(&mut self, growth: Growth) -> Result<Vec<Input>, Failure> {
        let now = self.desk.now();
        self.conductor.extend(growth, now).map_err(|error| Failure::Changed(error.to_string()))
    }

    /// The tasks that a person gives to another agent.
    fn given(&self, inputs: &[Input]) -> Vec<TaskIndex> {
        match inputs {
            [Input::Retry { which: Which::Tasks(tasks), .. }] => tasks.clone(),
            [Input::Retry { which: Which::AllFailed, .. }] => {
                let failed = |task: &TaskIndex| self.rules().status(*task) == Some(TaskStatus::Failed);
                self.rules().graph().order().iter().copied().filter(failed).collect()
            }
            [Input::Cancel { task, .. }] => vec![*task],
            _ => Vec::new(),
        }
    }

    /// Asks a person what to do after a wave failed, as was told.
    pub(super) fn ask_about_wave(&mut self) {
        if question::is_open(self.rules()) {
            self.desk.asks();
            self.listen();
        }
    }

    /// Asks a person to decide at a checkpoint, as was told.
    pub(super) fn ask_at_checkpoint(&mut self) {
        self.patience = self.options.checkpoints.wait.map(|wait| self.desk.lived() + wait);
        self.desk.asks();
        self.listen();
    }

    /// Waits for a person's line if an agent does.
    fn listen_for_agents(&mut self) {
        if self.desk.waits_for_line() {
            self.listen();
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

    /// Carries out the answer that a person typed, unless another decision was faster.
    pub(super) fn typed(&mut self, line: Option<&str>) -> Result<(), Failure> {
        self.asking = false;
        if !question::is_open(self.rules()) {
            self.desk.typed(self.conductor.rules(), line);
            self.listen_for_agents();
            return Ok(());
        }
        let wave = question::wave(self.rules());
        match (question::understood(line, self.rules()), wave) {
            (None, Some(wave)) => {
                self.desk.tell(Event::live(Kind::WaveFailed { wave }));
                self.listen();
                Ok(())
            }
            (None, None) => {
                self.desk.tell(event::warning(format!("unknown answer; type {}", question::ANSWERS)));
                self.listen();
                Ok(())
            }
            (Some(Reply::Help), Some(wave)) => {
                self.desk.tell(Event::live(Kind::WaveFailed { wave }));
                self.listen();
                Ok(())
            }
            (Some(Reply::Help), None) => {
                self.desk.tell(event::warning(question::MEANINGS.to_owned()));
                self.listen();
                Ok(())
            }
            (Some(Reply::Decide(request)), _) => {
                let answer = self.obey(&request)?;
                if let Err(why) = answer.outcome {
                    self.desk.tell(event::warning(format!("nothing was done: {why}")));
                }
                if question::is_open(self.rules()) {
                    self.listen();
                }
                Ok(())
            }
            (Some(reply), Some(wave)) => {
                let inputs = question::inputs(reply == Reply::Retry, wave, self.rules(), self.desk.now());
                self.take(inputs)
            }
            (Some(_), None) => self.leave(),
        }
    }

    /// At a checkpoint where no person can be asked, or none answers in time, takes the configured action.
    pub(super) fn decide_alone(&mut self) -> Result<(), Failure> {
        if !question::is_checkpoint(self.rules()) {
            self.patience = None;
            return Ok(());
        }
        let waits = match self.patience {
            Some(until) => self.desk.lived() < until,
            None => self.asking,
        };
        if waits || self.is_at_work() || self.ending.is_some() {
            return Ok(());
        }
        match self.options.checkpoints.unattended {
            AtCheckpoint::Stop => self.leave(),
            AtCheckpoint::Resume => {
                let text = "no one decided in time; the settings say to go on".to_owned();
                let request = Request::Decide { action: CheckpointAction::Resume, tasks: Vec::new(), text };
                self.obey(&request).map(drop)
            }
        }
    }

    /// Ends here; the run stays paused. Workers that are left end first.
    fn leave(&mut self) -> Result<(), Failure> {
        if !self.is_at_work() {
            self.commit()?;
            self.ending = Some(Ending::Paused);
            return Ok(());
        }
        self.take(vec![Input::Drain { now: self.desk.now() }])
    }

    fn is_at_work(&self) -> bool {
        self.rules().at_work().next().is_some()
    }
}
