//! The order of cards in their columns, so that few links cross.
//!
//! The columns are given. A link over more than one column gets a bend in each column between; all long links that leave
//! one card share their bends and fork late. Then the columns are sorted in turn by the mean place of their neighbours,
//! to and fro, and the best order seen is kept.

/// How often the columns are sorted.
const SWEEPS: usize = 24;

/// A link between two cards of different columns, from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    /// The card that it leaves.
    pub(super) from: usize,
    /// The card that it reaches.
    pub(super) to: usize,
    /// How many dependencies it stands for.
    pub(super) weight: u64,
    /// Whether it is on the critical path.
    pub(super) critical: bool,
}

/// A piece of links, between two neighbouring columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    /// The item on its left.
    pub(super) from: usize,
    /// The item on its right.
    pub(super) to: usize,
    /// How many dependencies run along it.
    pub(super) weight: u64,
    /// Whether the critical path runs along it.
    pub(super) critical: bool,
}

/// Items in columns. The first items are the cards; the others are bends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layers {
    /// How many of the items are cards.
    pub(super) cards: usize,
    /// The items of each column, from top to bottom.
    pub(super) columns: Vec<Vec<usize>>,
    /// All pieces of all links.
    pub(super) segments: Vec<Segment>,
    /// For each item, the items to its left and to its right that it is joined to.
    pub(super) joined: [Vec<Vec<usize>>; 2],
}

impl Layers {
    /// Sorts cards into columns. `column_of` has an entry for each card, and each link leads to a later column.
    pub(super) fn new(column_of: &[usize], links: &[Link]) -> Self {
        let mut columns = vec![Vec::new(); column_of.iter().max().map_or(0, |last| last + 1)];
        for (card, &column) in column_of.iter().enumerate() {
            columns[column].push(card);
        }
        let mut layers = Self { cards: column_of.len(), columns, segments: Vec::new(), joined: Default::default() };
        layers.add_bends(column_of, links);
        layers.untangle();
        layers
    }

    fn add_bends(&mut self, column_of: &[usize], links: &[Link]) {
        let mut items = self.cards;
        let mut links = links.to_vec();
        links.sort_by_key(|link| (link.from, column_of[link.to], link.to));
        for family in links.chunk_by(|a, b| a.from == b.from) {
            // The segment that leads to the bend in each column after the first card's.
            let mut chain: Vec<usize> = Vec::new();
            for link in family {
                let start = column_of[link.from];
                let bends = column_of[link.to].saturating_sub(start + 1);
                for nth in chain.len()..bends {
                    let from = nth.checked_sub(1).map_or(link.from, |before| self.segments[chain[before]].to);
                    chain.push(self.segments.len());
                    self.segments.push(Segment { from, to: items, weight: 0, critical: false });
                    self.columns[start + 1 + nth].push(items);
                    items += 1;
                }
                for &segment in &chain[..bends] {
                    self.segments[segment].weight += link.weight;
                    self.segments[segment].critical |= link.critical;
                }
                let from = bends.checked_sub(1).map_or(link.from, |last| self.segments[chain[last]].to);
                self.segments.push(Segment { from, to: link.to, weight: link.weight, critical: link.critical });
            }
        }
        self.joined = [vec![Vec::new(); items], vec![Vec::new(); items]];
        for segment in &self.segments {
            self.joined[0][segment.to].push(segment.from);
            self.joined[1][segment.from].push(segment.to);
        }
    }

    fn untangle(&mut self) {
        let mut place = vec![0_usize; self.joined[0].len()];
        for column in &self.columns {
            number(column, &mut place);
        }
        let mut best = (self.crossings(&place), self.columns.clone());
        for sweep in 0..SWEEPS {
            if best.0 == 0 {
                break;
            }
            let side = sweep % 2;
            for nth in 0..self.columns.len() {
                let at = if side == 0 { nth } else { self.columns.len() - 1 - nth };
                sort_by_neighbours(&mut self.columns[at], &self.joined[side], &mut place);
            }
            for column in &mut self.columns {
                swap_neighbours(column, &self.joined, &mut place);
            }
            let crossings = self.crossings(&place);
            if crossings < best.0 {
                best = (crossings, self.columns.clone());
            }
        }
        self.columns = best.1;
    }

    /// How many pairs of segments cross.
    fn crossings(&self, place: &[usize]) -> u64 {
        let mut total = 0;
        let mut ends = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            ends.clear();
            for &item in column {
                let first = ends.len();
                ends.extend(self.joined[1][item].iter().map(|&to| place[to]));
                ends[first..].sort_unstable();
            }
            total += inversions(&ends, self.columns.get(at + 1).map_or(0, Vec::len));
        }
        total
    }
}

fn number(column: &[usize], place: &mut [usize]) {
    for (at, &item) in column.iter().enumerate() {
        place[item] = at;
    }
}

/// Sorts a column by the mean place of each item's neighbours on one side. An item without any stays about where it is.
fn sort_by_neighbours(column: &mut [usize], joined: &[Vec<usize>], place: &mut [usize]) {
    let mean = |item: usize| {
        let sum: usize = joined[item].iter().map(|&other| place[other]).sum();
        if joined[item].is_empty() { place[item] as f64 } else { sum as f64 / joined[item].len() as f64 }
    };
    column.sort_by(|&a, &b| mean(a).total_cmp(&mean(b)));
    number(column, place);
}

/// Swaps items that stand one above the other wherever that saves a crossing.
fn swap_neighbours(column: &mut [usize], joined: &[Vec<Vec<usize>>; 2], place: &mut [usize]) {
    for at in 1..column.len() {
        let (above, below) = (column[at - 1], column[at]);
        let crossed = |first: usize, second: usize| -> usize {
            let pairs = |side: &Vec<Vec<usize>>| {
                let above_of = |a: &usize| side[second].iter().filter(|&b| place[*b] < place[*a]).count();
                side[first].iter().map(above_of).sum::<usize>()
            };
            joined.iter().map(pairs).sum()
        };
        if crossed(below, above) < crossed(above, below) {
            column.swap(at - 1, at);
            place.swap(above, below);
        }
    }
}

/// How many pairs of a list are in the wrong order; all values are below `bound`. A binary indexed tree counts them.
fn inversions(values: &[usize], bound: usize) -> u64 {
    let mut tree = vec![0_u64; bound + 1];
    let mut total = 0;
    for (seen, &value) in values.iter().enumerate() {
        let mut not_greater = 0;
        let mut at = value + 1;
        while at > 0 {
            not_greater += tree[at];
            at &= at - 1;
        }
        total += seen as u64 - not_greater;
        at = value + 1;
        while at <= bound {
            tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(from: usize, to: usize) -> Link {
        Link { from, to, weight: 1, critical: false }
    }

    fn crossings(layers: &Layers) -> u64 {
        let mut place = vec![0; layers.joined[0].len()];
        for column in &layers.columns {
            number(column, &mut place);
        }
        layers.crossings(&place)
    }

    #[test]
    fn inversions_are_counted() {
        assert_eq!(inversions(&[0, 1, 2], 3), 0);
        assert_eq!(inversions(&[2, 1, 0], 3), 3);
        assert_eq!(inversions(&[1, 1, 0], 2), 2);
        assert_eq!(inversions(&[], 0), 0);
    }

    #[test]
    fn crossed_links_are_untangled() {
        let layers = Layers::new(&[0, 0, 0, 1, 1, 1], &[link(0, 5), link(1, 4), link(2, 3)]);
        assert_eq!(crossings(&layers), 0);
    }

    #[test]
    fn long_links_of_one_card_share_their_bends() {
        let links = [link(0, 3), link(0, 4), link(0, 1), Link { critical: true, ..link(0, 2) }];
        let layers = Layers::new(&[0, 1, 2, 3, 3], &links);
        assert_eq!(layers.joined[0].len(), 5 + 2, "one bend in each of the two columns between");
        let first = layers.segments.iter().find(|s| s.to == 5);
        assert_eq!(first.map(|s| (s.from, s.weight, s.critical)), Some((0, 3, true)));
        let second = layers.segments.iter().find(|s| s.to == 6);
        assert_eq!(second.map(|s| (s.from, s.weight, s.critical)), Some((5, 2, false)));
        assert_eq!(layers.segments.len(), 4 + 2);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert!(Layers::new(&[], &[]).columns.is_empty());
    }
}
