//! What is ready, in the order in which it starts. A resident worker takes one task at a time, so of its tasks only the
//! best one stands in the open; a busy resident costs nothing.

use std::collections::BTreeSet;

use super::facts::{Facts, Lane, Rank, TaskFacts};

/// All ready tasks, by rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Queue {
    /// For each pool, what can start: one-shot tasks, and the best task of each lane whose resident is idle.
    heads: Vec<BTreeSet<Rank>>,
    lanes: Vec<(Lane, BTreeSet<Rank>)>,
    residents: Vec<Resident>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Resident {
    busy: bool,
    lanes: Vec<usize>,
}

impl Queue {
    /// Nothing is ready, and no worker is busy.
    pub(super) fn new(facts: &Facts) -> Self {
        let mut queue = Self { heads: Vec::new(), lanes: Vec::new(), residents: Vec::new() };
        queue.grow(facts);
        queue
    }

    /// There are more pools and lanes.
    pub(super) fn grow(&mut self, facts: &Facts) {
        self.heads.resize(facts.pools.len(), BTreeSet::new());
        self.residents.resize(facts.residents.len(), Resident::default());
        for (at, lane) in facts.lanes.iter().enumerate().skip(self.lanes.len()) {
            self.residents[lane.resident].lanes.push(at);
            self.lanes.push((*lane, BTreeSet::new()));
        }
    }

    /// The task is ready.
    pub(super) fn insert(&mut self, task: &TaskFacts) {
        match task.lane {
            None => drop(self.heads[task.pool].insert(task.rank)),
            Some(lane) => {
                self.hide(lane);
                self.lanes[lane].1.insert(task.rank);
                self.show(lane);
            }
        }
    }

    /// The task is not ready any more.
    pub(super) fn remove(&mut self, task: &TaskFacts) {
        match task.lane {
            None => drop(self.heads[task.pool].remove(&task.rank)),
            Some(lane) => {
                self.hide(lane);
                self.lanes[lane].1.remove(&task.rank);
                self.show(lane);
            }
        }
    }

    /// The resident worker that takes this task, if one does, is busy with it or idle again.
    pub(super) fn set_busy(&mut self, task: &TaskFacts, busy: bool) {
        let Some(lane) = task.lane else { return };
        let resident = self.lanes[lane].0.resident;
        let lanes = std::mem::take(&mut self.residents[resident].lanes);
        lanes.iter().for_each(|lane| self.hide(*lane));
        self.residents[resident].busy = busy;
        lanes.iter().for_each(|lane| self.show(*lane));
        self.residents[resident].lanes = lanes;
    }

    /// Whether the resident worker that takes this task, if one does, is busy.
    pub(super) fn is_busy(&self, task: &TaskFacts) -> bool {
        task.lane.is_some_and(|lane| self.residents[self.lanes[lane].0.resident].busy)
    }

    /// The rank of the best task of a pool that can start.
    pub(super) fn best(&self, pool: usize) -> Option<Rank> {
        self.heads[pool].first().copied()
    }

    /// The ranks of the tasks of a pool that can start, the best first.
    pub(super) fn heads(&self, pool: usize) -> impl Iterator<Item = Rank> {
        self.heads[pool].iter().copied()
    }

    /// Whether the task is ready.
    pub(super) fn contains(&self, task: &TaskFacts) -> bool {
        match task.lane {
            None => self.heads[task.pool].contains(&task.rank),
            Some(lane) => self.lanes[lane].1.contains(&task.rank),
        }
    }

    /// How many tasks are ready.
    pub(super) fn len(&self) -> usize {
        let shown = self.lanes.iter().filter(|(lane, tasks)| !tasks.is_empty() && !self.residents[lane.resident].busy);
        let open: usize = self.heads.iter().map(BTreeSet::len).sum();
        open - shown.count() + self.lanes.iter().map(|(_, tasks)| tasks.len()).sum::<usize>()
    }

    /// Takes the best task of a lane out of the open, if it stands there.
    fn hide(&mut self, lane: usize) {
        let (Lane { pool, .. }, tasks) = &self.lanes[lane];
        if let Some(best) = tasks.first() {
            self.heads[*pool].remove(best);
        }
    }

    /// Puts the best task of a lane into the open, if its resident is idle.
    fn show(&mut self, lane: usize) {
        let (Lane { pool, resident }, tasks) = &self.lanes[lane];
        if let Some(best) = tasks.first()
            && !self.residents[*resident].busy
        {
            self.heads[*pool].insert(*best);
        }
    }
}
