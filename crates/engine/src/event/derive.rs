//! From a record of the journal to the events that it is: the one function for a run that goes on and for one that is read.

use std::path::PathBuf;
use std::time::Duration;

use team_executor_core::run::{
    self, Asks, Cause, ErrorClass, Group, ReviewThen, Run, Standing, Then, Used, WaveThen, Work,
};
use team_executor_core::{Session, TaskIndex, Timestamp, Verdict};
use team_executor_store::Seq;
use team_executor_store::records::GONE;

use super::{Counts, Event, Kind, ToReview, VERSION};
use crate::circumstances::no_quota_until;
use crate::control::question;
use crate::cost::budget::Halted;
use crate::dispatch::conductor::Happened;
use crate::render::run_report::warning;

/// What is known of a run besides its records.
pub(crate) struct Scene<'a> {
    /// Its name.
    pub(crate) run: &'a str,
    pub(crate) session: &'a Session,
    /// The rules after the record. Those of a run that goes on may be further.
    pub(crate) rules: &'a Run,
    /// The folder of what a task delivered, if there is one.
    pub(crate) delivered: &'a dyn Fn(&str) -> Option<PathBuf>,
    /// The agent of the attempt that the record is about, as the user calls it.
    pub(crate) agent: &'a dyn Fn(Work) -> String,
}

/// The first record of a run: it begins.
pub(crate) fn started(run: &str, counts: run::Counts, at: Timestamp) -> Event {
    let kind = Kind::RunStarted { run: run.to_owned(), resumed: false, counts: counts.into(), statuses: Vec::new() };
    Event { version: VERSION, kind, at, seq: Some(1), part: 0 }
}

impl Scene<'_> {
    /// Tells the events of a record, in order.
    pub(crate) fn derive(&self, happened: Happened, tell: &mut dyn FnMut(Event)) {
        let Happened { seq, event, standing, asks } = happened;
        if event.task() == Some(GONE) {
            return;
        }
        let mut telling = Telling { seq, part: 0, at: event.at(), tell };
        self.derive_kinds(event, standing, &mut telling);
        match asks {
            Some(Asks::Wave(_)) if !question::is_open(self.rules) => {} // a person has retried it
            Some(Asks::Wave(wave)) => telling.tell(Kind::WaveFailed { wave }),
            Some(Asks::Checkpoint(task, cause)) => telling.tell(self.checkpoint(task, cause)),
            None => {}
        }
    }

    fn derive_kinds(&self, event: run::Event, standing: Standing, telling: &mut Telling<'_>) {
        let counts = Counts::from(standing.counts);
        use run::Event as E;
        let kind = match event {
            E::Recovered { .. } => {
                Kind::RunStarted { run: self.run.to_owned(), resumed: true, counts, statuses: Vec::new() }
            }
            E::Claimed { work, fast_advance, choice, .. } => Kind::TaskStarted {
                task: self.id(work.task),
                role: self.session.tasks[work.task.get()].role.to_string(),
                attempt: work.attempt,
                fast_advance,
                agent: (self.agent)(work),
                instead: choice > 0,
                counts,
            },
            E::Used { work, used, .. } => self.used(work, *used),
            E::Completed { work, findings, reviewed: judged, .. } => {
                return self.completed(
                    work.task,
                    findings.unwrap_or_default(),
                    judged.map(|it| *it),
                    standing,
                    telling,
                );
            }
            E::Failed { work, class, error, then, at } => {
                let (again, short) = (matches!(then, Then::Again { .. }), class == ErrorClass::Shortage);
                telling.tell(Kind::TaskFailed { task: self.id(work.task), error, again, short, counts });
                let Some(wait) = held(class, then, at) else { return };
                let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                Kind::QuotaHeld { agent: (self.agent)(work), wait_ms }
            }
            E::Interrupted { work, then: Then::Over, .. } => {
                let error = self.rules.view(work.task).and_then(|view| view.error).unwrap_or_default().to_owned();
                Kind::TaskFailed { task: self.id(work.task), error, again: false, short: false, counts }
            }
            E::Interrupted { work, .. } => Kind::TaskInterrupted { task: self.id(work.task), counts },
            E::Skipped { task, reason, .. } => {
                Kind::TaskSkipped { task: self.id(task), reason: self.rules.explain(&reason), counts }
            }
            E::Reset { tasks, .. } => Kind::TasksReset { tasks: self.ids(tasks), counts },
            E::Returned { tasks, .. } => Kind::Returned { tasks: self.ids(tasks), counts },
            E::Decided { checkpoint, action, text, .. } => {
                Kind::Decided { checkpoint: checkpoint.map(|task| self.id(task)), action, text }
            }
            E::WaveMerged { wave, then: WaveThen::GoOn, .. } => Kind::WaveMerged { wave },
            E::WaveMerged { wave, then: WaveThen::Abort, .. } => {
                Kind::Warning { message: format!("every task of wave {wave} failed, so the run stops here") }
            }
            E::Paused { reason: run::PauseReason::Told(reason), .. } => Kind::Paused { reason },
            E::Cancelled { work, then, reason, .. } => Kind::TaskCancelled { task: self.id(work.task), then, reason },
            E::Added { tasks, .. } => Kind::TasksAdded { tasks: self.ids(tasks), counts },
            E::Replanned { changed, removed, .. } => Kind::PlanChanged {
                changed: self.ids(changed),
                removed: removed.iter().map(ToString::to_string).collect(),
                counts,
            },
            E::Advised { tasks, text, .. } => Kind::TasksAdvised { tasks: self.ids(tasks), text },
            E::Assigned { tasks, to: run::Assignment { agent, model }, .. } => {
                Kind::TasksAssigned { tasks: self.ids(tasks), agent, model }
            }
            E::Limited { group, most, .. } => {
                let (role, agent) = match group {
                    Group::All => (None, None),
                    Group::Role(role) => (Some(role.to_string()), None),
                    Group::Agent(agent) => (None, Some(agent)),
                };
                Kind::Limited { role, agent, workers: most }
            }
            E::Resumed { .. } => Kind::Resumed,
            E::Draining { .. } => Kind::Draining { running: counts.running },
            E::Halted { why, .. } => Kind::Halted { reason: Halted::describe(&why, self.rules, self.session).words },
            E::Stopping { .. } => Kind::Stopping,
            E::Finished { .. } => Kind::RunFinished { counts },
            // The first record says that a run begins; the state of the run gives the question to a person.
            E::Began { .. }
            | E::Intended { .. }
            | E::Doubted { .. }
            | E::WaveMerged { then: WaveThen::Ask, .. }
            | E::Paused { .. } => return,
        };
        telling.tell(kind);
    }

    fn completed(
        &self,
        task: TaskIndex,
        findings: String,
        judged: Option<run::Reviewed>,
        standing: Standing,
        telling: &mut Telling<'_>,
    ) {
        let (counts, took) = (standing.counts.into(), standing.took);
        let task = self.id(task);
        let warns = judged.as_ref().is_some_and(|judged| judged.verdict == Some(Verdict::Warn));
        let message = warns.then(|| warning(&task, &findings));
        telling.tell(Kind::TaskCompleted { task: task.clone(), took_ms: took.0, findings, counts });
        if let Some(message) = message {
            telling.tell(Kind::Warning { message });
        }
        if let Some(ReviewThen::SendBack { tasks, critique }) = judged.map(|judged| judged.then) {
            telling.tell(Kind::SentBack { by: task, tasks: self.ids(tasks), critique });
        }
    }

    fn used(&self, work: Work, used: Used) -> Kind {
        Kind::TaskUsed {
            task: self.id(work.task),
            attempt: work.attempt,
            agent: used.agent,
            model: used.model,
            session_id: used.session_id,
            tokens_in: used.input,
            tokens_cached: used.cached,
            tokens_out: used.output,
            cost_micros: used.cost_micros,
            estimated: used.is_estimated,
            turns: used.turns,
            wall_ms: used.wall_ms,
        }
    }

    /// The decision that a person must make at a checkpoint.
    fn checkpoint(&self, task: TaskIndex, cause: Cause) -> Kind {
        let judged = |task| {
            let view = self.rules.view(task);
            let said = view.and_then(|view| view.findings.or(view.error)).unwrap_or_default();
            let (rounds, task) = (view.map_or(0, |view| view.rounds), self.id(task));
            ToReview { folder: (self.delivered)(&task), task, findings: said.to_owned(), rounds }
        };
        Kind::Checkpoint {
            task: self.id(task),
            cause,
            judged: self.rules.judged_at(task).into_iter().map(judged).collect(),
            critique: self.rules.critique_at(task).map(str::to_owned),
            asked: false,
        }
    }

    fn id(&self, task: TaskIndex) -> String {
        self.session.tasks.get(task.get()).map(|task| task.id.to_string()).unwrap_or_default()
    }

    fn ids(&self, tasks: Vec<TaskIndex>) -> Vec<String> {
        tasks.into_iter().filter(|task| *task != GONE).map(|task| self.id(task)).collect()
    }
}

/// Numbers the events of one record.
struct Telling<'a> {
    seq: Seq,
    part: u32,
    at: Timestamp,
    tell: &'a mut dyn FnMut(Event),
}

impl Telling<'_> {
    fn tell(&mut self, kind: Kind) {
        (self.tell)(Event { version: VERSION, kind, at: self.at, seq: Some(self.seq), part: self.part });
        self.part += 1;
    }
}

/// For how long an agent has no quota, if that is why an attempt failed.
fn held(class: ErrorClass, then: Then, at: Timestamp) -> Option<Duration> {
    let until = no_quota_until(class, then)?;
    let micros = until.as_micros().saturating_sub(at.as_micros());
    Some(Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
}
