//! What the workers of an earlier incarnation came to.

use std::time::Duration;

use team_executor_agents::{Ended, Harvest};
use team_executor_core::run::{Input, Work, WorkEnded};

use super::Dispatcher;
use crate::artifacts;
use crate::checking;
use crate::clock;
use crate::options::Failure;

/// How long the keepers of an earlier executor have to end their workers, besides the time that these have themselves.
const KEEPER_PATIENCE: Duration = Duration::from_secs(15);

impl Dispatcher<'_> {
    /// Finds out what the workers of an earlier incarnation came to, and goes on. None of them lives after this.
    pub(super) fn recover(&mut self, rebooted: bool) -> Result<(), Failure> {
        let ledgers = self.at.ledgers();
        let at_work: Vec<Work> = self.rules().at_work().collect();
        let choices = at_work.iter().filter_map(|work| Some((work.task, self.rules().view(work.task)?.choice)));
        let choices: Vec<_> = choices.collect();
        self.doers.extend(choices);
        let keys: Vec<String> = at_work.iter().map(|work| self.at.key(self.id(work.task), work.attempt)).collect();
        let scene = self.scene();
        let checks: Vec<String> = at_work.iter().flat_map(|work| checking::keys(&scene, *work)).collect();
        let all = [keys.as_slice(), checks.as_slice()].concat();
        let graces = self.options.workers.iter().filter_map(|worker| worker.limits.grace_ms);
        let patience = KEEPER_PATIENCE + Duration::from_millis(graces.max().unwrap_or(0));
        let harvest = Harvest::insist(&ledgers, &all, patience).map_err(Failure::disk("look at", &ledgers))?;
        let mut harvest = harvest.ok_or_else(|| Failure::StillRunning(self.at.id.clone()))?;
        let artifacts = self.at.path.join(artifacts::FOLDER);
        harvest.remove_empty_folders(&artifacts);
        // Of the others a keeper says that nothing is left.
        let unknown = all.iter().map(String::as_str).filter(|key| !harvest.is_gone(key));
        // Of a run that was copied, the workers may be those of the other one.
        let unknown: Vec<&str> = unknown.filter(|key| !self.at.is_moved || harvest.is_from_here(key)).collect();
        harvest.sweep(&unknown).map_err(Failure::disk("end what is left of", &self.at.path))?;
        harvest.complete(&artifacts);
        let (mut harvested, mut due) = (Vec::new(), Vec::new());
        for (work, key) in at_work.into_iter().zip(keys) {
            let outcome = match harvest.exit(&key) {
                Some(exit) if exit.well || exit.ended != Ended::Interrupted => self.outcome(work, exit)?,
                exit => self.lost(work, exit)?,
            };
            let artifacts = harvest.exit(&key).map_or(0, |exit| exit.artifacts);
            let slot = self.rules().view(work.task).and_then(|view| view.slot);
            let (checking, scene) = self.checks();
            match slot.filter(|_| checking.is_due(&scene, work, &outcome, artifacts)) {
                Some(slot) => due.push((slot as usize, work, outcome)),
                None => {
                    let outcome = self.unless_full(outcome);
                    harvested.push(WorkEnded { work, outcome });
                }
            }
        }
        let alive = due.iter().map(|(_, work, _)| *work).collect();
        self.slots.extend(due.iter().map(|(slot, work, _)| (*slot, *work)));
        self.take(vec![Input::Recovered { now: clock::now(), alive, harvested, rebooted }])?;
        self.checking.recover(&self.scene(), self.rules());
        if due.is_empty() {
            return harvest.forget().map_err(Failure::disk("clear", ledgers));
        }
        // Until they are judged, the ledgers say that their workers ended well.
        for (slot, work, outcome) in due {
            let (checking, scene) = self.checks();
            checking.begin(&scene, slot, work, outcome, false);
        }
        Ok(())
    }
}
