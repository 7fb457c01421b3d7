//! The places of a picture as numbers, for a page that draws it and keeps it up to date.

use super::Picture;
use super::card::{self, Card};
use super::layout::{Curve, Layout};
use super::sheet::Sheet;

/// Where everything of a picture is, from the point (0, 0) on.
#[derive(Debug, Clone, PartialEq)]
pub struct Geometry {
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
    /// The width and height of every card.
    pub card: (f64, f64),
    /// The left side and the name of each column.
    pub columns: Vec<(f64, String)>,
    /// The cards.
    pub cards: Vec<PlacedCard>,
    /// The card of each node.
    pub card_of: Vec<usize>,
    /// The pieces of links.
    pub curves: Vec<PlacedCurve>,
    /// What is not drawn, or drawn in another way.
    pub notes: Vec<String>,
    /// Each card stands for the tasks of a role in a wave, or in some waves.
    pub is_of_groups: bool,
}

/// A card and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedCard {
    /// Its left side.
    pub x: f64,
    /// Its upper side.
    pub y: f64,
    /// In bold.
    pub heading: String,
    /// Its title in lines that fit; nothing on the card of a group, which changes as the run goes on.
    pub lines: Vec<String>,
    /// Who does the work.
    pub role: String,
    /// Whether the critical path runs through it.
    pub critical: bool,
}

/// A piece of a link, from the right side of what it leaves to the left side of what it reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlacedCurve {
    /// Where it begins.
    pub from: (f64, f64),
    /// Where it ends.
    pub to: (f64, f64),
    /// Whether it reaches a card, and not a bend.
    pub arrow: bool,
    /// How many dependencies run along it.
    pub weight: u64,
    /// Whether the critical path runs along it.
    pub critical: bool,
}

impl Picture {
    /// The places of what [`Picture::to_svg`] draws.
    pub fn geometry(&self) -> Geometry {
        let sheet = Sheet::lay_out(self);
        let height = sheet.cards.iter().map(Card::height).fold(0.0, f64::max);
        let layout = Layout::new(&sheet.column_of, &sheet.links, (card::WIDTH, height));
        let is_of_groups = sheet.is_of_groups();
        let placed = |(card, at): (Card, &super::layout::Point)| PlacedCard {
            x: at.x,
            y: at.y,
            heading: card.heading,
            lines: if is_of_groups { Vec::new() } else { card.lines },
            role: card.role,
            critical: card.critical,
        };
        let columns = layout.columns.iter().zip(sheet.columns).map(|(x, column)| (*x, column.name));
        Geometry {
            width: layout.width,
            height: layout.height,
            card: (card::WIDTH, height),
            columns: columns.collect(),
            cards: sheet.cards.into_iter().zip(&layout.cards).map(placed).collect(),
            card_of: sheet.card_of,
            curves: layout.curves.iter().map(PlacedCurve::from).collect(),
            notes: sheet.notes,
            is_of_groups,
        }
    }
}

impl From<&Curve> for PlacedCurve {
    fn from(curve: &Curve) -> Self {
        let Curve { from, to, arrow, weight, critical } = *curve;
        Self { from: (from.x, from.y), to: (to.x, to.y), arrow, weight, critical }
    }
}

#[cfg(test)]
mod tests {
    use crate::picture::samples;

    #[test]
    fn every_task_has_a_card_with_its_name_or_its_role() {
        let picture = samples::chain(3);
        let geometry = picture.geometry();
        assert!(!geometry.is_of_groups);
        assert_eq!(geometry.card_of, [0, 1, 2]);
        for (node, card) in picture.nodes.iter().zip(&geometry.cards) {
            assert_eq!(node.id, card.heading);
            assert!(card.x + geometry.card.0 <= geometry.width && card.y + geometry.card.1 <= geometry.height);
        }
        assert_eq!(geometry.curves.len(), 2);
        let many = samples::random(5000, 30, 3);
        let geometry = many.geometry();
        assert!(geometry.is_of_groups && geometry.cards.len() < 300);
        assert_eq!(geometry.card_of.len(), 5000);
        for (node, card) in many.nodes.iter().zip(&geometry.card_of) {
            assert_eq!(node.role, geometry.cards[*card].role);
        }
    }
}
