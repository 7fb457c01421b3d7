//! Tasks that wait for each other: which, along which path, and what to cut.

use crate::graph::Edge;

/// One knot of tasks that wait for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// A shortest way round: each edge's dependency is the task of the next edge, and the last leads to the first.
    pub path: Vec<Edge>,
    /// How many tasks the whole knot has.
    pub tasks: usize,
    /// Edges whose removal leaves no cycle in the knot.
    pub cut: Vec<Edge>,
    /// Whether it is proved that no smaller cut exists.
    pub cut_is_smallest: bool,
}
