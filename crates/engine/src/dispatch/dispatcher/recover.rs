//! What the workers of an earlier incarnation came to.

use team_executor_core::run::{Input, Work, WorkEnded};

use super::Dispatcher;
use crate::dispatch::crew::{Crew, Keys, Left};
use crate::dispatch::desk::Desk;
use crate::options::Failure;

impl<C: Crew, D: Desk> Dispatcher<'_, C, D> {
    /// Finds out what the workers of an earlier incarnation came to, and goes on. None of them lives after this on this machine.
    pub(super) fn recover(&mut self, rebooted: bool) -> Result<(), Failure> {
        let rules = self.conductor.rules();
        let at_work: Vec<(usize, Work)> = rules.slots().collect();
        let keys: Vec<Keys> = at_work.iter().map(|(slot, work)| self.desk.keys(rules, *slot, *work)).collect();
        let left = self.crew.harvest(&keys, self.desk.patience())?;
        let (mut harvested, mut due, mut alive) = (Vec::new(), Vec::new(), Vec::new());
        for ((slot, work), left) in at_work.into_iter().zip(left) {
            let Left::Ended(end) = left else {
                alive.push(work);
                continue;
            };
            match self.desk.harvested(rules, work, *end)? {
                (outcome, true) => due.push((slot, work, outcome)),
                (outcome, false) => harvested.push(WorkEnded { work, outcome }),
            }
        }
        alive.extend(due.iter().map(|(_, work, _)| *work));
        self.take(vec![Input::Recovered { now: self.desk.now(), alive, harvested, rebooted }])?;
        // Until they are judged, the ledgers say that their workers ended well.
        let is_over = due.is_empty();
        self.desk.recovered(self.conductor.rules(), due);
        if is_over { self.crew.forget_harvest() } else { Ok(()) }
    }
}
