//! About how long a run will still take. What is left is scheduled with expected times; where too much is left for that, by what
//! no schedule beats: the longest chain, and all work shared by all slots.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use team_executor_core::{Graph, TaskIndex, TaskStatus};

/// So many attempts of usual length count as measured before the first of a run has ended, where usual lengths are known.
const PRIOR: u64 = 3;

/// With more tasks that wait, no schedule is made: then their number evens out.
const SCHEDULED: usize = 2000;

/// What is left to do.
#[derive(Debug)]
pub struct Left {
    graph: Graph,
    /// The tasks that wait for a worker.
    waits: Vec<bool>,
    count: usize,
    /// What each task weighs: how many milliseconds it is expected to take, or 1 where nothing is known.
    weights: Vec<u32>,
    /// The weight of the longest chain from each task, itself included.
    chains: Vec<u64>,
    /// How many tasks wait for a worker, by the weight of their chain, and what they weigh together.
    waiting: BTreeMap<u64, usize>,
    open: u64,
    /// How long attempts took that have ended with an outcome, and what their tasks weigh.
    took: Duration,
    weighed: u64,
}

impl Left {
    /// Of a run that has not begun, with what its tasks are expected to take, if that is known.
    pub fn new(graph: &Graph, expected: &[u32]) -> Self {
        let is_known = expected.len() == graph.len() && !expected.is_empty();
        let weights = if is_known { expected.to_vec() } else { vec![1; graph.len()] };
        let mut chains: Vec<u64> = weights.iter().copied().map(u64::from).collect();
        for task in graph.order().iter().rev() {
            let then = graph.dependents(*task).iter().map(|next| chains[next.get()]).max().unwrap_or(0);
            chains[task.get()] = chains[task.get()].saturating_add(then);
        }
        let all: u64 = weights.iter().copied().map(u64::from).sum();
        let prior = if is_known { PRIOR.saturating_mul(all) / weights.len().max(1) as u64 } else { 0 };
        let (waiting, took) = (BTreeMap::new(), Duration::from_millis(prior));
        let (graph, waits) = (graph.clone(), vec![false; weights.len()]);
        Self { graph, waits, count: 0, weights, chains, waiting, open: 0, took, weighed: prior }
    }

    /// The run begins with tasks that stand so.
    pub fn begin(&mut self, statuses: &[TaskStatus]) {
        self.waiting.clear();
        self.waits.fill(false);
        (self.open, self.count) = (0, 0);
        for (task, status) in (0..).map(TaskIndex).zip(statuses) {
            // What an earlier executor had at work is told of next.
            if !status.is_over() && *status != TaskStatus::InProgress {
                self.wait(task, true);
            }
        }
    }

    /// A task waits from now on, or no longer.
    pub fn wait(&mut self, task: TaskIndex, begins: bool) {
        let (Some(weight), Some(chain)) = (self.weights.get(task.get()), self.chains.get(task.get())) else { return };
        if std::mem::replace(&mut self.waits[task.get()], begins) == begins {
            return;
        }
        let (weight, waiting) = (u64::from(*weight), self.waiting.entry(*chain).or_default());
        if begins {
            *waiting += 1;
            self.count += 1;
            self.open = self.open.saturating_add(weight);
            return;
        }
        self.count -= 1;
        *waiting = waiting.saturating_sub(1);
        if *waiting == 0 {
            self.waiting.remove(chain);
        }
        self.open = self.open.saturating_sub(weight);
    }

    /// An attempt has ended with an outcome.
    pub fn measure(&mut self, task: TaskIndex, took: Duration) {
        self.took = self.took.saturating_add(took);
        self.weighed = self.weighed.saturating_add(self.weight(task));
    }

    /// What is expected of attempts: how long what was measured took, and what it weighs. Unknown before anything is measured.
    fn pace(&self, running: &[(TaskIndex, Duration)]) -> Option<(Duration, u64)> {
        let (mut took, mut weighed) = (self.took, self.weighed);
        let usual = times(self.took, 1, self.weighed)?;
        // What takes longer than expected already counts with what it has taken so far.
        for (task, time) in running {
            let weight = self.weight(*task);
            if *time > times(self.took, weight, self.weighed).unwrap_or(usual) {
                (took, weighed) = (took.saturating_add(*time), weighed.saturating_add(weight));
            }
        }
        Some((took, weighed))
    }

    /// When each task that is left will probably be at work, from now on: what is at work ends, then the others begin and end. Nothing is
    /// told of very many tasks.
    pub fn future(
        &self,
        running: &[(TaskIndex, Duration)],
        slots: u32,
        tell: &mut dyn FnMut(TaskIndex, Duration, Duration),
    ) {
        let Some((took, weighed)) = self.pace(running).filter(|_| self.count <= SCHEDULED) else { return };
        let expected = |weight: u64| times(took, weight, weighed).unwrap_or_default();
        let own = |(task, time): &(TaskIndex, Duration)| expected(self.weight(*task)).saturating_sub(*time);
        let ends: Vec<_> = running.iter().map(|one| (one.0, own(one))).collect();
        ends.iter().for_each(|(task, end)| tell(*task, Duration::ZERO, *end));
        self.scheduled(&ends, slots, &expected, tell);
    }

    /// How long it will take with these attempts at work, each for so long by now. Unknown before anything is measured.
    pub fn left(&self, running: &[(TaskIndex, Duration)], slots: u32) -> Option<Duration> {
        let (took, weighed) = self.pace(running)?;
        let expected = |weight: u64| times(took, weight, weighed).unwrap_or_default();
        let own = |(task, time): &(TaskIndex, Duration)| expected(self.weight(*task)).saturating_sub(*time);
        if self.count <= SCHEDULED {
            let ends: Vec<_> = running.iter().map(|one| (one.0, own(one))).collect();
            return Some(self.scheduled(&ends, slots, &expected, &mut |_, _, _| {})).filter(|left| !left.is_zero());
        }
        let mut work = expected(self.open);
        let mut chain = expected(self.waiting.keys().next_back().copied().unwrap_or(0));
        for one in running {
            let behind = self.chains.get(one.0.get()).copied().unwrap_or(0).saturating_sub(self.weight(one.0));
            work = work.saturating_add(own(one));
            chain = chain.max(own(one).saturating_add(expected(behind)));
        }
        (!work.is_zero()).then(|| chain.max(work / slots.max(1)))
    }

    /// When the last task would end if the longest chain always starts first, as the run does it.
    fn scheduled(
        &self,
        running: &[(TaskIndex, Duration)],
        slots: u32,
        expected: &impl Fn(u64) -> Duration,
        tell: &mut dyn FnMut(TaskIndex, Duration, Duration),
    ) -> Duration {
        let mut at_work: BinaryHeap<Reverse<(Duration, TaskIndex)>> =
            running.iter().map(|(task, left)| Reverse((*left, *task))).collect();
        // What a task waits for: tasks that wait themselves or are at work.
        let mut is_open = self.waits.clone();
        for (task, _) in running {
            if let Some(open) = is_open.get_mut(task.get()) {
                *open = true;
            }
        }
        let tasks = (0..).map(TaskIndex).zip(&self.waits).filter(|(_, waits)| **waits).map(|(task, _)| task);
        let open_before = |task: TaskIndex| {
            self.graph.dependencies(task).iter().filter(|on| is_open.get(on.get()).copied().unwrap_or(false)).count()
        };
        let mut before: BTreeMap<TaskIndex, usize> = tasks.map(|task| (task, open_before(task))).collect();
        let chain = |task: TaskIndex| (self.chains.get(task.get()).copied().unwrap_or(0), Reverse(task));
        let ready = before.iter().filter(|(_, open)| **open == 0).map(|(task, _)| chain(*task));
        let (mut ready, mut now): (BinaryHeap<_>, _) = (ready.collect(), Duration::ZERO);
        loop {
            while at_work.len() < slots.max(1) as usize
                && let Some((_, Reverse(task))) = ready.pop()
            {
                let end = now.saturating_add(expected(self.weight(task)));
                tell(task, now, end);
                at_work.push(Reverse((end, task)));
            }
            let Some(Reverse((end, task))) = at_work.pop() else { return now };
            now = end;
            for next in self.graph.dependents(task) {
                if let Some(open) = before.get_mut(next).filter(|open| **open > 0) {
                    *open -= 1;
                    if *open == 0 {
                        ready.push(chain(*next));
                    }
                }
            }
        }
    }

    fn weight(&self, task: TaskIndex) -> u64 {
        self.weights.get(task.get()).copied().map_or(1, u64::from)
    }
}

/// A time, so many times over, shared by so many; nothing for none.
fn times(time: Duration, by: u64, parts: u64) -> Option<Duration> {
    let nanos = (time.as_nanos().saturating_mul(u128::from(by))).checked_div(u128::from(parts))?;
    Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests;
