//! What workers are doing at the moment, for those who watch. Nothing of it decides anything.

use team_executor_agents::adapters::Stream;
use team_executor_core::run::Work;

use super::Dispatcher;
use crate::control::Answer;
use crate::notice::{Activity, AtWork, Notice};
use crate::run_at::logs;

impl Dispatcher<'_> {
    /// Shows what a worker printed last; of a known coding agent, what it is doing and what it has used.
    pub(super) fn tell_line(&mut self, slot: usize, text: String) {
        let Some(work) = self.slots.get(&slot).copied() else { return };
        let task = self.id(work.task).to_owned();
        if !self.following.knows(slot, work) {
            return (self.tell)(Notice::Line { task, text });
        }
        let Some(stream) = self.following.news(slot) else { return };
        let (doing, activity) = (stream.doing.clone(), activity(stream));
        if let Some(text) = doing.filter(|doing| self.following.is_new_line(slot, doing)) {
            (self.tell)(Notice::Line { task: task.clone(), text });
        }
        if self.following.is_new(slot, &activity) {
            let agent = self.worker(work.task).map(|worker| worker.agent.clone()).unwrap_or_default();
            (self.tell)(Notice::Activity { task, attempt: work.attempt, agent, activity });
        }
    }

    /// What the known coding agents at work are doing, a line of JSON each.
    pub(super) fn tell_activity(&mut self) -> Answer {
        let slots: Vec<(usize, Work)> = self.slots.iter().map(|(slot, work)| (*slot, *work)).collect();
        let listened = slots.into_iter().filter(|(slot, work)| self.following.knows(*slot, *work)).collect::<Vec<_>>();
        let mut lines = Vec::with_capacity(listened.len());
        for (slot, work) in listened {
            self.following.news(slot);
            let Some(stream) = self.following.stream(slot) else { continue };
            let at_work = AtWork {
                task: self.id(work.task).to_owned(),
                attempt: work.attempt,
                agent: self.worker(work.task).map(|worker| worker.agent.clone()).unwrap_or_default(),
                doing: stream.doing.clone(),
                attach: self.worker(work.task).and_then(|worker| worker.attach(stream.usage.session_id.as_deref()?)),
                activity: activity(stream),
            };
            // It has no keys that are no text, so this cannot fail.
            lines.extend(serde_json::to_string(&at_work));
        }
        Answer { stage: self.rules().stage().word().to_owned(), outcome: Ok(lines) }
    }

    /// Listens to the agent of an attempt that starts in a slot, if it is a known one.
    pub(super) fn follow(&mut self, slot: usize, work: Work) {
        let adapter = self.worker(work.task).and_then(|worker| worker.setup.as_ref()).map(|setup| setup.adapter);
        let [log, _] = logs(&self.at.path, self.id(work.task), work.attempt);
        self.following.begin(slot, work, adapter.map(|adapter| (adapter, log)));
    }
}

fn activity(stream: &Stream) -> Activity {
    let usage = &stream.usage;
    Activity {
        model: usage.model.clone(),
        session_id: usage.session_id.clone(),
        input: usage.input,
        cached: usage.cached,
        output: usage.output,
        cost_micros: usage.cost_micros,
        turns: usage.turns,
        retries: stream.retries,
        progress: stream.progress.clone(),
    }
}
