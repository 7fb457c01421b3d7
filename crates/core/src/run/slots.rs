//! Which worker has which task, and how many workers there may be.

use std::collections::BTreeSet;

use crate::graph::TaskIndex;

/// The places for workers; the lowest free one is taken first, so there are never more than ever ran at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Slots {
    tasks: Vec<Option<TaskIndex>>,
    free: BTreeSet<u32>,
    /// There may be so many, if the system had too little for more.
    fewer: Option<u32>,
}

impl Slots {
    /// How many workers there may be where so many were chosen.
    pub(super) fn at_most(&self, chosen: u32) -> u32 {
        self.fewer.map_or(chosen, |fewer| fewer.min(chosen))
    }

    /// The system has too little for one more than there are.
    pub(super) fn lower(&mut self) {
        self.fewer = Some(u32::try_from(self.running()).unwrap_or(u32::MAX).max(1));
    }

    /// A worker ended well: there may be one more.
    pub(super) fn raise(&mut self) {
        self.fewer = self.fewer.map(|fewer| fewer.saturating_add(1));
    }

    /// The system may have other bounds now.
    pub(super) fn lift(&mut self) {
        self.fewer = None;
    }

    /// The lowest free place.
    pub(super) fn lowest(&self) -> u32 {
        self.free.first().copied().unwrap_or(u32::try_from(self.tasks.len()).unwrap_or(u32::MAX))
    }

    /// How many workers there are.
    pub(super) fn running(&self) -> usize {
        self.tasks.len() - self.free.len()
    }

    /// The tasks that workers have, by place.
    pub(super) fn tasks(&self) -> impl Iterator<Item = TaskIndex> {
        self.tasks.iter().filter_map(|task| *task)
    }

    /// The task that the worker in this place has.
    pub(super) fn task(&self, slot: u32) -> Option<TaskIndex> {
        self.tasks.get(slot as usize).copied().flatten()
    }

    /// Gives a task to the worker in a free place.
    pub(super) fn take(&mut self, slot: u32, task: TaskIndex) {
        while self.tasks.len() <= slot as usize {
            self.free.insert(u32::try_from(self.tasks.len()).unwrap_or(u32::MAX));
            self.tasks.push(None);
        }
        self.tasks[slot as usize] = Some(task);
        self.free.remove(&slot);
    }

    /// The worker in this place has ended.
    pub(super) fn leave(&mut self, slot: u32) {
        if let Some(place) = self.tasks.get_mut(slot as usize)
            && place.take().is_some()
        {
            self.free.insert(slot);
        }
    }
}
