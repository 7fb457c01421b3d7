//! Current activity of workers, for display only.

use team_executor_agents::adapters::Stream;
use team_executor_core::run::{Measure, Run, Work};

use super::desk::RealDesk;
use crate::begin::run_at::logs;
use crate::circumstances::LostHost;
use crate::clock;
use crate::conclude;
use crate::control::{Answer, Bounds};
use crate::event::{Activity, AtWork, Event, Kind};
use crate::prepare::resident;

impl RealDesk<'_> {
    /// Shows what a worker printed last; of a known coding agent, what it is doing and what it has used.
    pub(super) fn tell_line(&mut self, rules: &Run, slot: usize, text: String) {
        let Some(work) = rules.in_slot(slot) else { return };
        let task = self.id(work.task).to_owned();
        if !self.following.knows(slot, work) {
            return (self.tell)(Event::live(Kind::TaskOutput { task, text }));
        }
        if self.following.news(slot).is_none() {
            return;
        }
        let Some(stream) = self.following.stream(slot) else { return };
        let (doing, activity) = (stream.doing.clone(), self.activity(rules, slot, work, stream));
        if let Some(text) = doing.filter(|doing| self.following.is_new_line(slot, doing)) {
            (self.tell)(Event::live(Kind::TaskOutput { task, text }));
        }
        if self.following.is_new(slot, &activity) {
            self.tell_used(rules, work, activity);
        }
    }

    fn tell_used(&mut self, rules: &Run, work: Work, activity: Activity) {
        let (task, agent) = (self.id(work.task).to_owned(), self.agent(rules, work));
        (self.tell)(Event::live(Kind::TaskActivity { task, attempt: work.attempt, agent, activity }));
    }

    /// The agent of an attempt, as the user calls it.
    fn agent(&self, rules: &Run, work: Work) -> String {
        self.worker(rules, work.task).map(|worker| worker.agent.clone()).unwrap_or_default()
    }

    /// The slot in which an attempt is at work, by its key.
    pub(super) fn slot_of(&self, rules: &Run, key: &str) -> Option<(usize, Work)> {
        let is_it = |work: &Work| self.at.key(self.id(work.task), work.attempt) == key;
        rules.slots().find(|(_, work)| is_it(work))
    }

    /// Shows how far the worker of an attempt says that it is.
    pub(super) fn progressed(&mut self, rules: &Run, attempt: &str, words: &str) -> Answer {
        let stage = rules.stage().word().to_owned();
        let Some((slot, work)) = self.slot_of(rules, attempt) else {
            return Answer::refused(&stage, "no such attempt is running".to_owned());
        };
        if self.following.progressed(slot, words) {
            let activity = match self.following.stream(slot) {
                Some(stream) => self.activity(rules, slot, work, stream),
                None => self.activity(rules, slot, work, &Stream::default()),
            };
            self.following.is_new(slot, &activity);
            self.tell_used(rules, work, activity);
        }
        Answer { stage, outcome: Ok(vec!["shown".to_owned()]) }
    }

    /// What the workers are doing of which something is known, a line of JSON each.
    pub(super) fn tell_activity(&mut self, rules: &Run) -> Answer {
        let mut lines = Vec::new();
        let unheard = Stream::default();
        for (slot, work) in rules.slots() {
            self.following.news(slot);
            let idle_limit_ms = self.worker(rules, work.task).and_then(|worker| worker.limits.idle_ms);
            let stream = self.following.stream(slot).filter(|_| self.following.knows(slot, work));
            let is_unheard = stream.is_none() && self.following.progress(slot).is_none();
            if is_unheard && idle_limit_ms.is_none() {
                continue;
            }
            let stream = stream.unwrap_or(&unheard);
            let at_work = AtWork {
                task: self.id(work.task).to_owned(),
                attempt: work.attempt,
                agent: self.agent(rules, work),
                doing: stream.doing.clone(),
                attach: self
                    .worker(rules, work.task)
                    .and_then(|worker| worker.attach(stream.usage.session_id.as_deref()?)),
                activity: self.activity(rules, slot, work, stream),
                idle_limit_ms,
                is_unheard,
            };
            // It has no keys that are no text, so this cannot fail.
            lines.extend(serde_json::to_string(&at_work));
        }
        lines.extend(self.machine.map(|workers| format!(r#"{{"machine_limit":{workers}}}"#)));
        lines.extend(serde_json::to_string(&self.bounds(rules)));
        lines.extend(self.lost_hosts.iter().filter_map(|lost| serde_json::to_string(lost).ok()));
        Answer { stage: rules.stage().word().to_owned(), outcome: Ok(lines) }
    }

    /// These machines are lost, some of them for longer.
    pub(super) fn lose(&mut self, hosts: Vec<String>, backend: &str) {
        let before = std::mem::take(&mut self.lost_hosts);
        let lost = |lost_host: String| {
            let known = before.iter().find(|known| known.lost_host == lost_host);
            let since = known.map_or_else(clock::now, |known| known.since);
            LostHost { lost_host, since, backend: backend.to_owned() }
        };
        self.lost_hosts = hosts.into_iter().map(lost).collect();
    }

    /// What bounds the run, with what agents at work have used by now.
    fn bounds(&self, rules: &Run) -> Bounds {
        let used = |measure| {
            let ended = rules.used().map(|(_, used)| used.amount(measure));
            ended.chain(self.live.values().map(|used| used.amount(measure))).fold(0, u64::saturating_add)
        };
        let run = &self.options.budgets.run;
        let budget = |measure: &Measure| Some((measure.word().to_owned(), used(*measure), run.limit(*measure)?));
        Bounds { most_workers: rules.most_workers(), budgets: Measure::ALL.iter().filter_map(budget).collect() }
    }

    /// What the agent of an attempt has used for it: without what earlier tasks of its conversation used, and with an estimate of its cost.
    fn activity(&self, rules: &Run, slot: usize, work: Work, stream: &Stream) -> Activity {
        let worker = self.worker(rules, work.task).and_then(|worker| Some((worker, worker.setup.as_ref()?)));
        let used = worker.and_then(|(worker, setup)| conclude::from_usage(&stream.usage, setup, worker, None));
        let used = used
            .map(|used| *resident::own_part(used, (&self.workers, &self.options.prices), rules, work))
            .unwrap_or_default();
        Activity {
            model: used.model,
            session_id: used.session_id,
            input: used.input,
            cached: used.cached,
            output: used.output,
            cost_micros: used.cost_micros,
            is_estimated: used.is_estimated,
            turns: used.turns,
            retries: stream.retries,
            progress: self.following.progress(slot).map(str::to_owned).or_else(|| stream.progress.clone()),
        }
    }

    /// Listens to the agent of an attempt that starts in a slot, if it is a known one.
    pub(super) fn follow(&mut self, rules: &Run, slot: usize, work: Work) {
        let adapter = self.worker(rules, work.task).and_then(|worker| worker.setup.as_ref()).map(|setup| setup.adapter);
        let [log, _] = logs(&self.at.path, self.id(work.task), work.attempt);
        self.following.begin(slot, work, adapter.map(|adapter| (adapter, log)));
    }
}
