//! What an attempt used, by what its agent said and how long it ran.

use team_executor_agents::Exit;
use team_executor_agents::adapters::{Setup, Usage};
use team_executor_core::run::Used;

use super::agent::heard;
use super::{Attempt, logs};
use crate::options::Options;
use crate::worker::Worker;

impl Attempt<'_> {
    /// What an attempt used whose worker was lost, as far as its agent had said it.
    pub(super) fn used_when_lost(&self, exit: Option<&Exit>) -> Option<Box<Used>> {
        let worker = self.worker?;
        let Some(setup) = &worker.setup else { return time_used(self.options, worker, exit) };
        let [out, _] = logs(&self.run.path, self.task.id.as_str(), self.work.attempt);
        // What cannot be read of it is not known to be used.
        let heard = heard(&out, setup, exit.map_or(0, |exit| exit.ended_at)).unwrap_or_default();
        from_usage(&heard.usage, setup, worker, exit)
    }
}

/// What any worker uses, if that counts: time.
pub(super) fn time_used(options: &Options, worker: &Worker, exit: Option<&Exit>) -> Option<Box<Used>> {
    let wall_ms = exit.map(|exit| exit.ran_ms).filter(|_| options.budgets.count_time())?;
    Some(Box::new(Used { agent: worker.agent.clone(), wall_ms, ..Used::default() }))
}

/// What an agent used, also while it works; the model is at least the one that was asked for. Nothing if it never spoke.
pub(crate) fn from_usage(usage: &Usage, setup: &Setup, worker: &Worker, exit: Option<&Exit>) -> Option<Box<Used>> {
    let Usage { input, cached, stored, output, cost_micros, turns, model, session_id, is_estimated, .. } =
        usage.clone();
    if session_id.is_none() && input == 0 {
        return None;
    }
    let (agent, model) = (worker.agent.clone(), model.or_else(|| setup.model.clone()));
    let attach = session_id.as_deref().and_then(|session| worker.attach(session));
    let wall_ms = exit.map_or(0, |exit| exit.ran_ms);
    Some(Box::new(Used {
        agent,
        model,
        session_id,
        attach,
        input,
        cached,
        stored,
        output,
        cost_micros,
        turns,
        wall_ms,
        is_estimated,
    }))
}
