//! Tasks that came behind those of a sealed graph. Nothing that was sealed is touched: what such a task costs depends on its own
//! dependencies only.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::graph::{Parts, TaskIndex};
use crate::map::Map;
use crate::task::Task;

/// The tasks behind the sealed ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Later {
    ids: Map<Box<str>, TaskIndex>,
    tasks: Vec<LaterTask>,
    /// All dependents of each task that has got some.
    dependents: BTreeMap<TaskIndex, Vec<TaskIndex>>,
    edges: usize,
    /// Computed when it is asked for.
    order: OnceLock<Vec<TaskIndex>>,
}

#[derive(Debug, Clone)]
struct LaterTask {
    dependencies: Vec<TaskIndex>,
    depth: u32,
    wave: u32,
}

impl Later {
    /// One more task; `None` if that needs the whole graph: its id is taken, or it waits for one that is not there, or for
    /// itself.
    pub(crate) fn add(&mut self, sealed: &Parts, task: &Task) -> Option<TaskIndex> {
        let index = TaskIndex(u32::try_from(sealed.len() + self.tasks.len()).ok()?);
        if self.index_of(sealed, task.id.as_str()).is_some() {
            return None;
        }
        let mut dependencies = Vec::with_capacity(task.dependencies.len());
        for on in &task.dependencies {
            let on = self.index_of(sealed, on.as_str())?;
            if !dependencies.contains(&on) {
                dependencies.push(on);
            }
        }
        let level = |of: &dyn Fn(TaskIndex) -> u32| dependencies.iter().map(|on| of(*on)).max().unwrap_or(0) + 1;
        let depth = level(&|on| self.get(sealed, on).map_or_else(|| sealed.depth(on), |task| task.depth));
        let wave = level(&|on| self.get(sealed, on).map_or_else(|| sealed.wave(on), |task| task.wave));
        for on in &dependencies {
            let known = if on.get() < sealed.len() { sealed.dependents(*on) } else { &[] };
            self.dependents.entry(*on).or_insert_with(|| known.to_vec()).push(index);
        }
        self.edges += dependencies.len();
        self.order = OnceLock::new();
        self.ids.insert(task.id.as_str().into(), index);
        self.tasks.push(LaterTask { dependencies, depth, wave });
        Some(index)
    }

    /// Only the first so many of these tasks stay.
    pub(crate) fn cut(&mut self, length: usize) {
        for LaterTask { dependencies, .. } in self.tasks.drain(length..).rev() {
            self.edges -= dependencies.len();
            for on in dependencies {
                self.dependents.entry(on).and_modify(|dependents| dependents.truncate(dependents.len() - 1));
            }
        }
        self.ids.truncate(length);
        self.order = OnceLock::new();
    }

    pub(crate) const fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(crate) const fn edge_count(&self) -> usize {
        self.edges
    }

    pub(crate) fn index_of(&self, sealed: &Parts, id: &str) -> Option<TaskIndex> {
        sealed.index_of(id).or_else(|| self.ids.get(id).copied())
    }

    /// Whether these are the tasks, by their ids.
    pub(crate) fn is_of(&self, tasks: &[Task]) -> bool {
        tasks.iter().map(|task| task.id.as_str()).eq(self.ids.keys().map(|id| &**id))
    }

    pub(crate) fn dependencies(&self, sealed: &Parts, task: TaskIndex) -> Option<&[TaskIndex]> {
        self.get(sealed, task).map(|task| task.dependencies.as_slice())
    }

    pub(crate) fn dependents(&self, sealed: &Parts, task: TaskIndex) -> Option<&[TaskIndex]> {
        match self.dependents.get(&task) {
            Some(dependents) => Some(dependents),
            None => self.get(sealed, task).map(|_| &[][..]),
        }
    }

    pub(crate) fn depth(&self, sealed: &Parts, task: TaskIndex) -> Option<u32> {
        self.get(sealed, task).map(|task| task.depth)
    }

    pub(crate) fn wave(&self, sealed: &Parts, task: TaskIndex) -> Option<u32> {
        self.get(sealed, task).map(|task| task.wave)
    }

    pub(crate) fn wave_count(&self) -> u32 {
        self.tasks.iter().map(|task| task.wave).max().unwrap_or(0)
    }

    pub(crate) fn order(&self, sealed: &Parts) -> &[TaskIndex] {
        self.order.get_or_init(|| {
            let wave = |task: &TaskIndex| self.wave(sealed, *task).unwrap_or_else(|| sealed.wave(*task));
            let behind = (0..).map(|nth| TaskIndex(nth + sealed.len() as u32)).take(self.tasks.len());
            let mut order: Vec<_> = sealed.order().iter().copied().chain(behind).collect();
            order.sort_by_key(|task| (wave(task), *task));
            order
        })
    }

    fn get(&self, sealed: &Parts, task: TaskIndex) -> Option<&LaterTask> {
        self.tasks.get(task.get().checked_sub(sealed.len())?)
    }
}
