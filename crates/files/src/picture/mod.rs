//! Pictures of a plan as text: SVG for people, DOT and Mermaid for other tools.
//!
//! Reading order: this file (what is drawn), `text` (what may be written), `sheet` and `compact` (which cards and
//! links a picture has), `layers` and `layout` (where they go), `theme`, `card` and `svg` (how they look),
//! `dot` and `mermaid`, `geometry` (the same for a page that draws by itself).
//!
//! Titles and ids come from untrusted files: whatever they contain is shown as text, and never becomes
//! markup. The same picture gives the same bytes on every machine. Nothing here reads or writes a file.

use std::collections::BTreeMap;

use team_executor_core::TaskStatus;

mod card;
mod compact;
mod dot;
mod geometry;
mod layers;
mod layout;
mod mermaid;
#[cfg(test)]
mod samples;
mod sheet;
mod svg;
mod text;
mod theme;

pub use geometry::{Geometry, PlacedCard, PlacedCurve};

/// A plan, ready to be drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// What the plan is called.
    pub title: String,
    /// One line below the title.
    pub subtitle: String,
    /// The tasks.
    pub nodes: Vec<Node>,
    /// Pairs of positions in `nodes`: a dependency, and the task that waits for it.
    pub edges: Vec<(u32, u32)>,
}

/// One task of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The task's id.
    pub id: String,
    /// The task's title; may be empty.
    pub title: String,
    /// Who does it.
    pub role: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// The wave that it runs in, from 1; 0 where none is known.
    pub wave: u32,
    /// Whether it is on the longest chain of the plan.
    pub critical: bool,
}

impl Picture {
    /// The plan in the language of Graphviz.
    pub fn to_dot(&self) -> String {
        dot::draw(self)
    }

    /// The plan as a Mermaid flowchart.
    pub fn to_mermaid(&self) -> String {
        mermaid::draw(self)
    }

    /// The plan as a self-contained SVG document, light or dark as its reader prefers. Large plans are drawn as groups.
    pub fn to_svg(&self) -> String {
        svg::draw(&sheet::Sheet::lay_out(self))
    }

    /// The edges whose two ends exist, each with whether it belongs to the critical path.
    fn edges(&self) -> Vec<(usize, usize, bool)> {
        let ends = |&(from, to): &(u32, u32)| (from as usize, to as usize);
        let exists = |&(from, to): &(usize, usize)| from < self.nodes.len() && to < self.nodes.len();
        let edges: Vec<_> = self.edges.iter().map(ends).filter(exists).collect();

        // Of two critical tasks, one can also wait for the other by a shortcut that is itself not critical. So an edge
        // counts if it is the shortest critical way out of its dependency, or into its dependent.
        let span = |from: usize, to: usize| {
            let (from, to) = (&self.nodes[from], &self.nodes[to]);
            (from.critical && to.critical && from.wave < to.wave).then(|| to.wave - from.wave)
        };
        let mut out: Vec<u32> = vec![u32::MAX; self.nodes.len()];
        let mut into = out.clone();
        for &(from, to) in &edges {
            if let Some(span) = span(from, to) {
                out[from] = out[from].min(span);
                into[to] = into[to].min(span);
            }
        }
        let critical = |from, to| span(from, to).is_some_and(|span| span == out[from] || span == into[to]);
        edges.into_iter().map(|(from, to)| (from, to, critical(from, to))).collect()
    }

    /// The positions of the nodes, by wave.
    fn waves(&self) -> BTreeMap<u32, Vec<usize>> {
        let mut waves: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            waves.entry(node.wave).or_default().push(at);
        }
        waves
    }
}

/// What a wave is called.
fn wave_name(wave: u32) -> String {
    if wave == 0 { "No wave".to_owned() } else { format!("Wave {wave}") }
}

#[cfg(test)]
mod tests {
    use super::samples;

    #[test]
    fn a_shortcut_between_critical_tasks_is_not_critical() {
        let mut picture = samples::chain(3);
        picture.edges.push((0, 2));
        assert_eq!(picture.edges(), [(0, 1, true), (1, 2, true), (0, 2, false)]);
    }

    #[test]
    fn an_edge_to_nowhere_is_dropped() {
        let mut picture = samples::chain(2);
        picture.edges.extend([(0, 9), (u32::MAX, 0)]);
        assert_eq!(picture.edges(), [(0, 1, true)]);
        for text in [picture.to_dot(), picture.to_mermaid(), picture.to_svg()] {
            assert!(!text.contains("n9"), "{text}");
        }
    }
}
