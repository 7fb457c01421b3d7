//! What faces are told about what has become durable.

use std::time::Duration;

use team_executor_core::run::{ErrorClass, Event, JudgedThen, Run, Then, WaveThen};
use team_executor_core::{TaskIndex, Timestamp, Verdict};

use super::desk::RealDesk;
use super::tell_problems;
use crate::budget::Halted;
use crate::clock;
use crate::conclude::TakeOver;
use crate::notice::Notice;
use crate::report::warning;

impl RealDesk<'_> {
    /// Tells what has happened, and takes over what the worker reported besides. So many completed tasks are `untold`: they do
    /// not count yet.
    pub(super) fn announce_one(&mut self, rules: &Run, event: Event, untold: usize) {
        let (run, discoveries) = (&self.at, self.views.discoveries());
        let reports = TakeOver { run, session: &self.options.folder, discoveries };
        tell_problems(reports.at_end(&mut self.session, &event, &mut self.reports), self.tell);
        let problems = self.views.changed(&self.session, rules, &event);
        tell_problems(problems, self.tell);
        let mut counts = rules.counts();
        let untold = untold.min(counts.completed);
        counts.completed -= untold;
        counts.in_progress += untold;
        let doer = event.task().and_then(|task| self.doers.get(&task).copied());
        if let Event::Claimed { work, choice, .. } = &event {
            self.doers.insert(work.task, *choice);
        }
        let id = |task: TaskIndex| self.session.tasks[task.get()].id.to_string();
        let notice = match event {
            Event::Claimed { work, fast_advance, choice, .. } => Notice::Started {
                agent: self.options.workers.nth(work.task, choice).map(|one| one.agent.clone()).unwrap_or_default(),
                instead: choice > 0,
                task: id(work.task),
                role: self.session.tasks[work.task.get()].role.to_string(),
                attempt: work.attempt,
                fast_advance,
                counts,
            },
            Event::Completed { work, findings, judged, .. } => {
                let (task, findings) = (id(work.task), findings.unwrap_or_default());
                let warns = judged.as_ref().is_some_and(|judged| judged.verdict == Some(Verdict::Warn));
                let warning = warns.then(|| warning(&task, &findings));
                let sent_back = judged.and_then(|judged| match judged.then {
                    JudgedThen::SendBack { tasks, critique } => Some(Notice::SentBack {
                        by: task.clone(),
                        tasks: tasks.into_iter().map(id).collect(),
                        critique,
                    }),
                    _ => None,
                });
                (self.tell)(Notice::Completed { task, findings, counts });
                tell_problems(warning.into_iter().collect(), self.tell);
                let Some(sent_back) = sent_back else { return };
                sent_back
            }
            Event::Decided { checkpoint, action, text, .. } => {
                Notice::Decided { checkpoint: checkpoint.map(id), action, text }
            }
            Event::Returned { tasks, .. } => Notice::Returned { tasks: tasks.into_iter().map(id).collect(), counts },
            Event::Failed { work, class, error, then, .. } => {
                let again = matches!(then, Then::Again { .. });
                let held = held(class, then, clock::now());
                // The next attempt may be another agent's by now.
                let doer = doer.and_then(|choice| self.options.workers.nth(work.task, choice));
                let held = held.zip(doer.or(self.worker(rules, work.task)).map(|worker| worker.agent.clone()));
                let short = class == ErrorClass::Shortage;
                (self.tell)(Notice::Failed { task: id(work.task), error, again, short, counts });
                let Some((wait, agent)) = held else { return };
                Notice::Held { agent, wait }
            }
            Event::Interrupted { work, then: Then::Over, .. } => {
                let error = rules.view(work.task).and_then(|view| view.error).unwrap_or_default().to_owned();
                Notice::Failed { task: id(work.task), error, again: false, short: false, counts }
            }
            Event::Interrupted { work, .. } => Notice::Interrupted { task: id(work.task), counts },
            Event::Skipped { task, reason, .. } => {
                Notice::Skipped { task: id(task), reason: rules.explain(&reason), counts }
            }
            Event::WaveMerged { wave, then: WaveThen::GoOn, .. } => Notice::WaveMerged { wave },
            Event::WaveMerged { then: WaveThen::Ask, .. } => return, // an effect says it
            Event::WaveMerged { wave, .. } => {
                Notice::Warning(format!("every task of wave {wave} failed, so the run stops here"))
            }
            Event::Draining { .. } => Notice::Draining { running: rules.at_work().count() },
            Event::Halted { why, .. } => Notice::Halted { reason: Halted::of(&why, rules, &self.session).words },
            Event::Stopping { .. } => Notice::Stopping,
            _ => return,
        };
        (self.tell)(notice);
    }
}

/// For how long an agent has no quota, if that is why an attempt failed.
fn held(class: ErrorClass, then: Then, now: Timestamp) -> Option<Duration> {
    let (ErrorClass::Quota { until }, Then::Again { not_before }) = (class, then) else { return None };
    let until = until.map_or(not_before, |until| until.max(not_before));
    let micros = until.as_micros().saturating_sub(now.as_micros());
    Some(Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
}
