//! Where cards and links go on the page.
//!
//! A column's place is given by the widths before it. The heights minimise the sum of squared height differences of all
//! links, long links counting more so that they run straight: the columns are taken in turn, and each is given the exact
//! best heights that keep its order and its gaps while the others stand still.

use super::layers::{Layers, Link};

/// How often the columns are taken in turn, to and fro.
const ROUNDS: usize = 30;
/// Half of the vertical space between cards.
const HALF_GAP: f64 = 10.0;
/// Half of the vertical space of a bend.
const HALF_BEND: f64 = 7.0;
/// A weak pull to the middle of the page, for what no link holds.
const PULL: f64 = 0.1;

/// A place on the page; `x` grows to the right, `y` downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// From the left.
    pub(super) x: f64,
    /// From the top.
    pub(super) y: f64,
}

/// A piece of a link, between two neighbouring columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Curve {
    /// The right side of what it leaves.
    pub(super) from: Point,
    /// The left side of what it reaches.
    pub(super) to: Point,
    /// Whether it reaches a card, and not a bend.
    pub(super) arrow: bool,
    /// How many dependencies run along it.
    pub(super) weight: u64,
    /// Whether the critical path runs along it.
    pub(super) critical: bool,
}

/// All places of one picture, from the point (0, 0) on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    /// How wide it is.
    pub(super) width: f64,
    /// How high it is.
    pub(super) height: f64,
    /// The left side of each column.
    pub(super) columns: Vec<f64>,
    /// The top left corner of each card.
    pub(super) cards: Vec<Point>,
    /// All pieces of all links.
    pub(super) curves: Vec<Curve>,
}

impl Layout {
    /// Places cards of one size. `column_of` has an entry for each card, and each link leads to a later column.
    pub(super) fn new(column_of: &[usize], links: &[Link], card: (f64, f64)) -> Self {
        let (width, height) = card;
        let layers = Layers::new(column_of, links);
        let lefts = lefts(&layers, width);
        let mut middle = middles(&layers, height / 2.0);

        let top = middle[..layers.cards].iter().copied().fold(f64::INFINITY, f64::min) - height / 2.0;
        let top = middle.iter().copied().fold(top, f64::min);
        for y in &mut middle {
            *y = (*y - top).round();
        }
        let mut left_of = vec![0.0; middle.len()];
        for (items, &x) in layers.columns.iter().zip(&lefts) {
            for &item in items {
                left_of[item] = x;
            }
        }
        let curve = |s: &super::layers::Segment| Curve {
            from: Point { x: left_of[s.from] + width, y: middle[s.from] },
            to: Point { x: left_of[s.to], y: middle[s.to] },
            arrow: s.to < layers.cards,
            weight: s.weight,
            critical: s.critical,
        };
        let bottom = |(item, &y): (usize, &f64)| if item < layers.cards { y + height / 2.0 } else { y };
        Self {
            width: lefts.last().map_or(0.0, |x| x + width),
            height: middle.iter().enumerate().map(bottom).fold(0.0, f64::max),
            cards: (0..layers.cards).map(|at| Point { x: left_of[at], y: middle[at] - height / 2.0 }).collect(),
            curves: layers.segments.iter().map(curve).collect(),
            columns: lefts,
        }
    }
}

/// The left side of each column: the more links between two columns, the more room for their curves.
fn lefts(layers: &Layers, width: f64) -> Vec<f64> {
    let mut x = 0.0;
    let mut lefts = Vec::with_capacity(layers.columns.len());
    for column in &layers.columns {
        lefts.push(x);
        let links: usize = column.iter().map(|&item| layers.joined[1][item].len()).sum();
        x += width + (76.0 + 2.0 * links as f64).min(150.0).round();
    }
    lefts
}

/// The height of the middle of each item.
fn middles(layers: &Layers, half_card: f64) -> Vec<f64> {
    let half = |item: usize| if item < layers.cards { half_card + HALF_GAP } else { HALF_BEND };
    let mut middle = vec![0.0; layers.joined[0].len()];
    let mut spread = Spread::default();
    for round in 0..ROUNDS {
        for nth in 0..layers.columns.len() {
            let at = if round % 2 == 0 { nth } else { layers.columns.len() - 1 - nth };
            spread.clear();
            for &item in &layers.columns[at] {
                let (mut sum, mut weight) = (0.0, PULL);
                for &other in layers.joined.iter().flat_map(|side| &side[item]) {
                    let stiffness = match (item < layers.cards, other < layers.cards) {
                        (true, true) => 1.0,
                        (false, false) => 8.0,
                        _ => 2.0,
                    };
                    sum += middle[other] * stiffness;
                    weight += stiffness;
                }
                spread.push(sum / weight, weight, half(item));
            }
            for (&item, y) in layers.columns[at].iter().zip(spread.heights()) {
                middle[item] = y;
            }
        }
    }
    middle
}

/// The heights nearest to the wished ones, by weighted squares, that keep the order and the gaps: items whose wishes
/// collide form a block, and a block goes where its items wish on average.
#[derive(Default)]
struct Spread {
    /// For each block: the sum of weighted wishes, the sum of weights, the number of items.
    blocks: Vec<(f64, f64, usize)>,
    /// How far below the first item each item would be if all touched.
    offsets: Vec<f64>,
    /// The half height of the last item.
    half: f64,
}

impl Spread {
    fn clear(&mut self) {
        self.blocks.clear();
        self.offsets.clear();
    }

    fn push(&mut self, wish: f64, weight: f64, half: f64) {
        let offset = self.offsets.last().map_or(0.0, |last| last + self.half + half);
        self.offsets.push(offset);
        self.half = half;
        let mut block = ((wish - offset) * weight, weight, 1);
        while let Some(above) = self.blocks.pop_if(|above| above.0 / above.1 > block.0 / block.1) {
            block = (above.0 + block.0, above.1 + block.1, above.2 + block.2);
        }
        self.blocks.push(block);
    }

    fn heights(&self) -> impl Iterator<Item = f64> {
        let bases = self.blocks.iter().flat_map(|block| std::iter::repeat_n(block.0 / block.1, block.2));
        bases.zip(&self.offsets).map(|(base, offset)| base + offset)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CARD: (f64, f64) = (200.0, 80.0);

    fn link(from: usize, to: usize) -> Link {
        Link { from, to, weight: 1, critical: false }
    }

    /// Cards in columns, and links that lead to later columns.
    fn graphs() -> impl Strategy<Value = (Vec<usize>, Vec<Link>)> {
        let columns = prop::collection::vec(0_usize..7, 1..60);
        let pairs = prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..120);
        (columns, pairs).prop_map(|(columns, pairs)| {
            let ends = pairs.iter().map(|(a, b)| (a.index(columns.len()), b.index(columns.len())));
            let links = ends.filter(|&(a, b)| columns[a] < columns[b]).map(|(a, b)| link(a, b)).collect();
            (columns, links)
        })
    }

    proptest! {
        #[test]
        fn cards_stand_apart_and_links_lead_to_the_right((columns, links) in graphs()) {
            let layout = Layout::new(&columns, &links, CARD);
            prop_assert_eq!(layout.cards.len(), columns.len());
            for (at, a) in layout.cards.iter().enumerate() {
                prop_assert_eq!(a.x, layout.columns[columns[at]]);
                prop_assert!(a.x >= 0.0 && a.y >= 0.0);
                prop_assert!(a.x + CARD.0 <= layout.width && a.y + CARD.1 <= layout.height);
                for b in &layout.cards[..at] {
                    let apart = (a.x - b.x).abs() >= CARD.0 + 40.0 || (a.y - b.y).abs() >= CARD.1 + 15.0;
                    prop_assert!(apart, "{a:?} and {b:?}");
                }
            }
            for curve in &layout.curves {
                prop_assert!(curve.from.x < curve.to.x);
                prop_assert!(curve.to.y >= 0.0 && curve.to.y <= layout.height);
            }
            let ends = layout.curves.iter().filter(|curve| curve.arrow).count();
            prop_assert_eq!(ends, links.len(), "each link ends in one arrow");
            prop_assert_eq!(layout, Layout::new(&columns, &links, CARD));
        }

        #[test]
        fn no_link_runs_through_a_card((columns, links) in graphs()) {
            let layout = Layout::new(&columns, &links, CARD);
            for bend in layout.curves.iter().filter(|curve| !curve.arrow) {
                for card in layout.cards.iter().filter(|card| card.x == bend.to.x) {
                    prop_assert!(bend.to.y < card.y - 5.0 || bend.to.y > card.y + CARD.1 + 5.0);
                }
            }
        }
    }

    #[test]
    fn a_diamond_is_symmetric() {
        let layout = Layout::new(&[0, 1, 1, 2], &[link(0, 1), link(0, 2), link(1, 3), link(2, 3)], CARD);
        let y: Vec<f64> = layout.cards.iter().map(|card| card.y).collect();
        assert_eq!(y, [50.0, 0.0, 100.0, 50.0]);
    }

    #[test]
    fn a_long_link_runs_straight() {
        let links = [link(0, 1), link(1, 2), link(2, 3), link(3, 4), link(0, 4)];
        let layout = Layout::new(&[0, 1, 2, 3, 4], &links, CARD);
        let bends: Vec<f64> = layout.curves.iter().filter(|c| !c.arrow).map(|c| c.to.y).collect();
        assert_eq!(bends.len(), 3);
        assert!((bends[0] - bends[2]).abs() <= 3.0, "{bends:?}");
    }

    #[test]
    fn nothing_is_placed_nowhere() {
        let layout = Layout::new(&[], &[], CARD);
        assert_eq!((layout.width, layout.height), (0.0, 0.0));
    }
}
