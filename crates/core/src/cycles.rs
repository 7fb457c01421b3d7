//! Tasks that wait for each other: which, along which path, and what to cut.
//!
//! The smallest cut is a hard problem (minimum feedback arc set), so the work on it is bounded: by a count of steps and
//! not by a clock, so that every machine gives the same answer.

use crate::cut;
use crate::graph::{Edge, Link};
use crate::knot::{Knot, Paths, knots};
use crate::lists::Lists;

/// How many waits may be looked at for all knots together, beyond what every knot needs once.
const WORK: u64 = 10_000_000;

/// One knot of tasks that wait for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// A shortest way round, from the task that appears first: each edge's dependency is the task of the next edge, and
    /// the last leads to the first. In a knot of many thousand tasks it is the shortest of those that were looked at.
    pub path: Vec<Edge>,
    /// How many tasks the whole knot has.
    pub tasks: usize,
    /// Edges whose removal leaves no cycle in the knot, in order of appearance.
    pub cut: Vec<Edge>,
    /// Whether it is proved that no smaller cut exists.
    pub cut_is_smallest: bool,
}

/// Every knot, by its first task.
pub(crate) fn find(links: &Lists<Link>) -> Vec<Cycle> {
    let knots = knots(links);
    let mut cycles: Vec<Option<Cycle>> = vec![None; knots.len()];
    // Small knots first: what they leave of their share is for the large ones.
    let mut order: Vec<usize> = (0..knots.len()).collect();
    order.sort_by_key(|at| knots[*at].waits.len());
    let mut work = WORK;
    for (at, knots_left) in order.into_iter().zip((1..=knots.len() as u64).rev()) {
        let share = work / knots_left;
        let needed = 8 * knots[at].waits.len() as u64;
        let mut paths = Paths::new(&knots[at], share + needed);
        cycles[at] = Some(look_at(&mut paths));
        work -= share - paths.left().min(share);
    }
    cycles.into_iter().flatten().collect()
}

fn look_at(paths: &mut Paths<'_>) -> Cycle {
    let knot = paths.knot;
    let path = paths.with_part(4, shortest_round);
    let (cut, cut_is_smallest) = cut::smallest(paths);
    let mut cut = edges(knot, &cut);
    cut.sort();
    Cycle { path: edges(knot, &path), tasks: knot.tasks, cut, cut_is_smallest }
}

fn edges(knot: &Knot, waits: &[u32]) -> Vec<Edge> {
    waits.iter().map(|wait| knot.wait(*wait).edge).collect()
}

/// A shortest way round. Each search looks for ways round whose first task is `start`, so it enters no earlier task.
fn shortest_round(paths: &mut Paths<'_>) -> Vec<u32> {
    let knot = paths.knot;
    let mut best = Vec::new();
    let mut limit = u32::MAX;
    for start in (0..).take(knot.tasks) {
        match paths.shortest(start, start, limit, |wait| knot.wait(wait).to >= start) {
            Ok(Some(round)) => {
                limit = (round.len() as u32).saturating_sub(1);
                best = round;
            }
            Ok(None) => {}
            Err(_) => break,
        }
        if limit == 1 {
            break; // nothing is shorter than two
        }
    }
    best
}
