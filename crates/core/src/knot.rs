//! One knot of tasks that wait for each other, cut out of the session, and the search for ways through it.

use crate::graph::{Edge, Link};
use crate::lists::Lists;

/// One task of a knot waits for another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    /// The entry that says so.
    pub(crate) edge: Edge,
    /// The task that waits.
    pub(crate) from: u32,
    /// The task that is waited for.
    pub(crate) to: u32,
}

/// Tasks of which each waits for each other, directly or not. They are numbered in order of appearance.
#[derive(Debug)]
pub(crate) struct Knot {
    /// How many tasks it has.
    pub(crate) tasks: usize,
    /// Every wait within the knot, the most plausible first: a plan is mostly written in one direction, so a wait in the
    /// other one is suspect, and of two equals the later one.
    pub(crate) waits: Vec<Wait>,
    /// For each task, the numbers of its waits.
    pub(crate) waits_of: Lists<u32>,
}

/// Every knot, by its first task.
pub(crate) fn knots(links: &Lists<Link>) -> Vec<Knot> {
    let (component, count) = components(links);
    let members = Lists::group(count, component.iter().copied().zip(0..));
    let mut number = vec![0; links.len()]; // of each task within its knot
    let mut knots = Vec::new();
    for tasks in (0..).take(count).map(|component| members.get(component)).filter(|tasks| tasks.len() > 1) {
        for (local, task) in (0..).zip(tasks) {
            number[*task as usize] = local;
        }
        let mut waits = Vec::new();
        for (from, task) in (0..).zip(tasks) {
            for link in links.get(*task) {
                if component[link.on.get()] == component[*task as usize] {
                    waits.push(Wait { edge: link.edge, from, to: number[link.on.get()] });
                }
            }
        }
        knots.push(Knot::new(tasks.len(), waits));
    }
    knots.sort_by_key(|knot| knot.waits.iter().map(|wait| wait.edge).min());
    knots
}

impl Knot {
    /// Takes the waits in order of appearance.
    fn new(tasks: usize, mut waits: Vec<Wait>) -> Self {
        let on_earlier = waits.iter().filter(|wait| wait.to < wait.from).count();
        let usual = on_earlier > waits.len() / 2;
        waits.sort_by_key(|wait| (wait.to < wait.from) != usual);
        let waits_of = Lists::group(tasks, waits.iter().map(|wait| wait.from).zip(0..));
        Self { tasks, waits, waits_of }
    }

    /// One wait by number.
    pub(crate) fn wait(&self, number: u32) -> Wait {
        self.waits[number as usize]
    }
}

/// The number of the strongly connected component of each task, and how many components there are. This is the
/// algorithm of Tarjan with its calls on a list.
fn components(links: &Lists<Link>) -> (Vec<u32>, usize) {
    const NONE: u32 = u32::MAX;
    let mut found = vec![NONE; links.len()]; // when each task was found
    let mut low = vec![NONE; links.len()]; // the earliest task of its component that is known to be reached
    let mut component = vec![NONE; links.len()];
    let (mut time, mut count) = (0, 0);
    let mut open = Vec::new(); // tasks without a component yet
    let mut calls = Vec::new(); // tasks being looked at, each with the number of its links that were followed
    for root in (0..).take(links.len()) {
        if found[root as usize] == NONE {
            calls.push((root, 0));
        }
        while let Some((task, followed)) = calls.last_mut() {
            let (task, here) = (*task, *task as usize);
            if *followed == 0 {
                (found[here], low[here]) = (time, time);
                time += 1;
                open.push(task);
            }
            if let Some(on) = links.get(task).get(*followed).map(|link| link.on) {
                *followed += 1;
                if found[on.get()] == NONE {
                    calls.push((on.0, 0));
                } else if component[on.get()] == NONE {
                    low[here] = low[here].min(found[on.get()]);
                }
                continue;
            }
            calls.pop();
            if let Some((caller, _)) = calls.last() {
                low[*caller as usize] = low[*caller as usize].min(low[here]);
            }
            if low[here] == found[here] {
                while let Some(member) = open.pop() {
                    component[member as usize] = count;
                    if member == task {
                        break;
                    }
                }
                count += 1;
            }
        }
    }
    (component, count as usize)
}

/// The work that was granted is used up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent;

/// Finds shortest ways through a knot until a granted amount of work is used up.
#[derive(Debug)]
pub(crate) struct Paths<'k> {
    /// Where it searches.
    pub(crate) knot: &'k Knot,
    /// How many waits may still be looked at.
    left: u64,
    round: u32,
    reached: Vec<Reached>,
    queue: Vec<u32>,
}

/// How a task was reached.
#[derive(Debug, Clone, Copy, Default)]
struct Reached {
    round: u32,
    steps: u32,
    by: u32,
}

impl<'k> Paths<'k> {
    /// Grants that much work.
    pub(crate) fn new(knot: &'k Knot, work: u64) -> Self {
        Self { knot, left: work, round: 0, reached: vec![Reached::default(); knot.tasks], queue: Vec::new() }
    }

    /// How much work is left.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Does something with only one of so many parts of the work that is left.
    pub(crate) fn with_part<T>(&mut self, parts: u64, job: impl FnOnce(&mut Self) -> T) -> T {
        let kept = self.left - self.left / parts;
        self.left /= parts;
        let result = job(self);
        self.left += kept;
        result
    }

    /// Uses up some work.
    pub(crate) fn spend(&mut self, work: u64) -> Result<(), Spent> {
        self.left = self.left.checked_sub(work).ok_or(Spent)?;
        Ok(())
    }

    /// The waits on a shortest way from one task to another, or from a task round to itself, that has at most `limit`
    /// waits, all of them open.
    pub(crate) fn shortest(
        &mut self,
        from: u32,
        to: u32,
        limit: u32,
        open: impl Fn(u32) -> bool,
    ) -> Result<Option<Vec<u32>>, Spent> {
        self.round += 1;
        self.queue.clear();
        self.queue.push(from);
        self.reached[from as usize] = Reached { round: self.round, steps: 0, by: 0 };
        let mut next = 0;
        while let Some(&task) = self.queue.get(next) {
            next += 1;
            let steps = self.reached[task as usize].steps;
            if steps >= limit {
                break;
            }
            let waits = self.knot.waits_of.get(task);
            self.spend(1 + waits.len() as u64)?;
            for &by in waits {
                let on = self.knot.wait(by).to;
                if !open(by) || (on != to && self.reached[on as usize].round == self.round) {
                    continue;
                }
                if on == to {
                    return Ok(Some(self.way_back(from, by)));
                }
                self.reached[on as usize] = Reached { round: self.round, steps: steps + 1, by };
                self.queue.push(on);
            }
        }
        Ok(None)
    }

    /// The way from a task to the end of its last wait.
    fn way_back(&self, from: u32, last: u32) -> Vec<u32> {
        let mut way = vec![last];
        let mut task = self.knot.wait(last).from;
        while task != from {
            let by = self.reached[task as usize].by;
            way.push(by);
            task = self.knot.wait(by).from;
        }
        way.reverse();
        way
    }
}
