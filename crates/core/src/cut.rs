//! The smallest set of waits whose removal unties a knot.
//!
//! Greedy orders of the tasks give a small cut. Cycles that share no wait give a bound: each needs a cut of its own. Where
//! the two do not meet, a search over the cuts of one cycle after the other closes the gap, if the work allows it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::knot::{Knot, Paths, Spent};
use crate::lists::Lists;

/// A small cut, and whether it is proved that none is smaller.
pub(crate) fn smallest(paths: &mut Paths<'_>) -> (Vec<u32>, bool) {
    let mut best = paths.with_part(3, good_cut);
    let untouched = vec![State::Open; paths.knot.waits.len()];
    let Ok(packing) = paths.with_part(2, |paths| pack(paths, &best, &untouched, best.len())) else {
        return (best, false);
    };
    let proved = packing.cycles == best.len() || improve(paths, &mut best, packing.cycles).is_ok();
    (best, proved)
}

/// The smaller one of what two orders of the tasks give: the order of the file, and a greedy one.
fn good_cut(paths: &mut Paths<'_>) -> Vec<u32> {
    let in_file = paths.with_part(2, |paths| cut_by_order(paths, &file_order(paths.knot)));
    let greedy = cut_by_order(paths, &greedy_order(paths.knot));
    if greedy.len() < in_file.len() { greedy } else { in_file }
}

/// Cuts what goes against an order of the tasks, except waits that close no cycle.
fn cut_by_order(paths: &mut Paths<'_>, place: &[i64]) -> Vec<u32> {
    let knot = paths.knot;
    let mut kept: Vec<bool> =
        knot.waits.iter().map(|wait| place[wait.from as usize] < place[wait.to as usize]).collect();
    for (number, wait) in (0..).zip(&knot.waits) {
        if !kept[number as usize] {
            match paths.shortest(wait.to, wait.from, u32::MAX, |wait| kept[wait as usize]) {
                Ok(way) => kept[number as usize] = way.is_none(),
                Err(Spent) => break,
            }
        }
    }
    (0..).zip(kept).filter(|(_, kept)| !kept).map(|(number, _)| number).collect()
}

/// The order in which most waits go forward of the two that the file suggests: its own and the reverse.
fn file_order(knot: &Knot) -> Vec<i64> {
    let ascending = knot.waits.first().is_some_and(|wait| wait.from < wait.to);
    (0..).take(knot.tasks).map(|task: i64| if ascending { task } else { -task }).collect()
}

/// The order of Eades, Lin and Smyth: tasks that nothing waits for go to the front, tasks that wait for nothing to the
/// back; if there is neither, the one that waits most and is least waited for goes to the front.
fn greedy_order(knot: &Knot) -> Vec<i64> {
    let waits_on = Lists::group(knot.tasks, knot.waits.iter().map(|wait| wait.to).zip(0..));
    let tasks = || (0..).take(knot.tasks);
    let mut degrees: Vec<_> = tasks()
        .map(|t| Degrees { out: knot.waits_of.get(t).len() as i64, into: waits_on.get(t).len() as i64 })
        .collect();
    let mut queue: BinaryHeap<_> = tasks().map(|t| Reverse((degrees[t as usize].rank(), t))).collect();
    let mut place = vec![0; knot.tasks];
    let (mut front, mut back) = (1, i64::MAX);
    while let Some(Reverse((rank, task))) = queue.pop() {
        let here = task as usize;
        if place[here] != 0 || rank != degrees[here].rank() {
            continue; // it was queued again with another rank
        }
        if degrees[here].out == 0 {
            place[here] = back;
            back -= 1;
        } else {
            place[here] = front;
            front += 1;
        }
        let after = knot.waits_of.get(task).iter().map(|wait| (knot.wait(*wait).to, Degrees { out: 0, into: 1 }));
        let before = waits_on.get(task).iter().map(|wait| (knot.wait(*wait).from, Degrees { out: 1, into: 0 }));
        for (other, less) in after.chain(before).filter(|(other, _)| place[*other as usize] == 0) {
            let degrees = &mut degrees[other as usize];
            *degrees = Degrees { out: degrees.out - less.out, into: degrees.into - less.into };
            queue.push(Reverse((degrees.rank(), other)));
        }
    }
    place
}

/// How many waits of a task, and on a task, lead to tasks that have no place yet.
#[derive(Debug, Clone, Copy)]
struct Degrees {
    out: i64,
    into: i64,
}

impl Degrees {
    /// The lowest goes first.
    fn rank(self) -> i64 {
        if self.out == 0 || self.into == 0 { i64::MIN } else { self.into - self.out }
    }
}

/// What the search has decided about a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Cut,
    Kept,
}

/// Cycles that share no open wait.
#[derive(Debug, Default)]
struct Packing {
    /// How many; as many open waits must be cut.
    cycles: usize,
    /// The open waits of the cycle that has fewest: none, if what is kept makes a cycle.
    tightest: Vec<u32>,
}

/// Finds cycles that share no open wait, short ones first, until there are enough. Every cycle goes through one of the
/// waits of `through`. No cycles is an answer: nothing is left to cut.
fn pack(paths: &mut Paths<'_>, through: &[u32], state: &[State], enough: usize) -> Result<Packing, Spent> {
    let knot = paths.knot;
    let mut packing = Packing::default();
    let mut used = vec![false; state.len()];
    paths.spend(state.len() as u64)?;
    for limit in [1, 2, 3, 5, 8, u32::MAX] {
        for &start in through {
            let usable = |wait: u32, used: &[bool]| state[wait as usize] != State::Cut && !used[wait as usize];
            while packing.cycles < enough && usable(start, &used) {
                let (from, to) = (knot.wait(start).to, knot.wait(start).from);
                let Some(mut cycle) = paths.shortest(from, to, limit, |wait| usable(wait, &used))? else { break };
                cycle.push(start);
                cycle.retain(|wait| state[*wait as usize] == State::Open);
                for wait in &cycle {
                    used[*wait as usize] = true;
                }
                if packing.cycles == 0 || cycle.len() < packing.tightest.len() {
                    packing.tightest = cycle;
                }
                packing.cycles += 1;
                if packing.tightest.is_empty() {
                    return Ok(packing);
                }
            }
        }
    }
    Ok(packing)
}

/// One cycle of which a wait must be cut.
#[derive(Debug)]
struct Branch {
    /// Its open waits, the most suspect first.
    waits: Vec<u32>,
    /// How many of them were tried; the last of these is cut now, the ones before are kept.
    tried: usize,
}

/// Replaces the cut by a smallest one. No cut has fewer waits than `bound`.
fn improve(paths: &mut Paths<'_>, best: &mut Vec<u32>, bound: usize) -> Result<(), Spent> {
    let through = best.clone();
    let mut state = vec![State::Open; paths.knot.waits.len()];
    let mut branches: Vec<Branch> = Vec::new();
    loop {
        // Each branch has one wait cut.
        let room = best.len().saturating_sub(branches.len());
        if room > 0 {
            let Packing { cycles, tightest: mut waits } = pack(paths, &through, &state, room)?;
            if cycles == 0 {
                *best = (0..).zip(&state).filter(|(_, state)| **state == State::Cut).map(|(wait, _)| wait).collect();
                if best.len() == bound {
                    return Ok(());
                }
            } else if cycles < room && !waits.is_empty() {
                waits.sort_by(|a, b| b.cmp(a));
                branches.push(Branch { waits, tried: 0 });
            }
        }
        if !advance(&mut branches, &mut state) {
            return Ok(());
        }
    }
}

/// Goes on to the next wait of the last branch that has one; says whether there was one.
fn advance(branches: &mut Vec<Branch>, state: &mut [State]) -> bool {
    while let Some(branch) = branches.last_mut() {
        if let Some(last) = branch.tried.checked_sub(1) {
            state[branch.waits[last] as usize] = State::Kept;
        }
        if let Some(next) = branch.waits.get(branch.tried) {
            state[*next as usize] = State::Cut;
            branch.tried += 1;
            return true;
        }
        for wait in &branch.waits {
            state[*wait as usize] = State::Open;
        }
        branches.pop();
    }
    false
}
