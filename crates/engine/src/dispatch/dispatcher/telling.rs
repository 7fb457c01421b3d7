//! Sends durable events to faces.

use team_executor_core::run::{Event, Run};

use super::desk::RealDesk;
use super::tell_problems;
use crate::conclude::TakeOver;
use crate::dispatch::conductor::Happened;
use crate::event::Kind;
use crate::event::derive::Scene;

impl RealDesk<'_> {
    /// Tells what has happened, and takes over what the worker reported besides.
    pub(super) fn announce_one(&mut self, rules: &Run, happened: Happened, is_starting: bool) {
        let event = &happened.event;
        let (run, discoveries) = (&self.at, self.views.discoveries());
        let reports = TakeOver { run, session: &self.options.folder, discoveries };
        tell_problems(reports.at_end(&mut self.session, event, &mut self.reports), self.tell);
        let problems = self.views.changed(&self.session, rules, event);
        tell_problems(problems, self.tell);
        if let Event::Claimed { work, choice, .. } = event {
            self.doers.insert(work.task, *choice);
        }
        let scene = Scene {
            run: &self.at.id,
            session: &self.session,
            rules,
            delivered: &|task| self.at.delivered(task),
            agent: &|work| {
                // The next attempt may be another agent's by now.
                let choice = self.doers.get(&work.task).copied().unwrap_or(0);
                self.workers.nth(work.task, choice).map(|one| one.agent.clone()).unwrap_or_default()
            },
        };
        let is_asked = self.options.ask.is_some();
        scene.derive(happened, &mut |mut event| match &mut event.kind {
            // Those who started the run know it.
            Kind::RunStarted { .. } => {}
            Kind::Resumed if is_starting => {}
            Kind::Checkpoint { asked, .. } => {
                *asked = is_asked;
                (self.tell)(event);
            }
            _ => (self.tell)(event),
        });
    }
}
