//! Which task has which id: all ids in one text, and a table of slots over it. Of 100,000 tasks each lookup touches places
//! that lie close together, where a map would follow each key to a text of its own.

use std::hash::{DefaultHasher, Hasher as _};

use crate::graph::TaskIndex;
use crate::task::Task;

/// The tasks of a list by their ids; of two with one id, the first.
#[derive(Debug)]
pub(crate) struct Index {
    /// The ids of all tasks, one behind the other.
    ids: String,
    /// Where the id of each task ends.
    ends: Vec<usize>,
    /// A power of two of them, so many that some are always free.
    slots: Vec<Slot>,
}

/// Where a task may stand in the table: at the slot that its hash says, or in the next free one behind it.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// The upper half of the hash of its id, so that few others are compared.
    mark: u32,
    /// Its position in the list, from 1; 0 if the slot is free.
    number: u32,
}

impl Index {
    /// Nothing yet, with room for these tasks.
    pub(crate) fn for_tasks(tasks: &[Task]) -> Self {
        let letters = tasks.iter().map(|task| task.id.as_str().len()).sum();
        let slots = (tasks.len() + tasks.len() / 3 + 1).next_power_of_two();
        Self {
            ids: String::with_capacity(letters),
            ends: Vec::with_capacity(tasks.len()),
            slots: vec![Slot::default(); slots],
        }
    }

    /// Adds the next task of the list, and tells which one has that id.
    pub(crate) fn add(&mut self, id: &str) -> TaskIndex {
        let next = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.ids.push_str(id);
        self.ends.push(self.ids.len());
        match self.find(id) {
            Ok(first) => first,
            Err((free, mark)) => {
                self.slots[free] = Slot { mark, number: next + 1 };
                TaskIndex(next)
            }
        }
    }

    /// The task with that id.
    pub(crate) fn get(&self, id: &str) -> Option<TaskIndex> {
        self.find(id).ok()
    }

    /// Whether these are the tasks of the list, by their ids.
    pub(crate) fn is_of(&self, tasks: &[Task]) -> bool {
        let mut ids = (0..self.ends.len()).map(|task| self.id(task));
        tasks.len() == self.ends.len() && tasks.iter().all(|task| ids.next() == Some(task.id.as_str()))
    }

    /// The task with that id, or the slot where it belongs and its mark.
    fn find(&self, id: &str) -> Result<TaskIndex, (usize, u32)> {
        // With a fixed key, so that nothing varies between runs.
        let mut hasher = DefaultHasher::new();
        hasher.write(id.as_bytes());
        let hash = hasher.finish();
        let (mask, mark) = (self.slots.len() - 1, (hash >> 32) as u32);
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                Slot { number: 0, .. } => return Err((at, mark)),
                slot if slot.mark == mark && self.id(slot.number as usize - 1) == id => {
                    return Ok(TaskIndex(slot.number - 1));
                }
                _ => at = (at + 1) & mask,
            }
        }
    }

    fn id(&self, task: usize) -> &str {
        let start = task.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.ids[start..self.ends[task]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{RoleName, TaskId};

    fn tasks(ids: impl Iterator<Item = String>) -> Vec<Task> {
        let role = RoleName::parse("developer").unwrap();
        ids.map(|id| Task::new(TaskId::parse(&id).unwrap(), role.clone())).collect()
    }

    fn index(tasks: &[Task]) -> (Index, Vec<u32>) {
        let mut index = Index::for_tasks(tasks);
        let found = tasks.iter().map(|task| index.add(task.id.as_str()).0).collect();
        (index, found)
    }

    #[test]
    fn every_task_is_found_and_nothing_else() {
        for count in [0, 1, 2, 3, 5, 1000] {
            let tasks = tasks((0..count).map(|n| format!("任务-{n}")));
            let (index, found) = index(&tasks);
            assert_eq!(found, (0..count).collect::<Vec<_>>());
            for (n, task) in (0..).zip(&tasks) {
                assert_eq!(index.get(task.id.as_str()), Some(TaskIndex(n)));
            }
            assert_eq!((index.get("任务-1000"), index.get("任务-"), index.get("")), (None, None, None));
            assert!(index.is_of(&tasks));
        }
    }

    #[test]
    fn of_two_tasks_with_one_id_the_first_counts() {
        let tasks = tasks(["A", "B", "A", "C", "B"].map(str::to_owned).into_iter());
        let (index, found) = index(&tasks);
        assert_eq!(found, [0, 1, 0, 3, 1]);
        assert_eq!(["A", "B", "C"].map(|id| index.get(id).unwrap().0), [0, 1, 3]);
    }

    #[test]
    fn other_tasks_are_told_apart() {
        let of = |ids: &[&str]| tasks(ids.iter().map(|id| (*id).to_owned()));
        let (index, _) = index(&of(&["A", "BC"]));
        for other in [&["A"][..], &["A", "BC", "D"], &["BC", "A"], &["AB", "C"]] {
            assert!(!index.is_of(&of(other)), "{other:?}");
        }
    }
}
