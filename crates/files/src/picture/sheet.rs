//! What an SVG picture shows: cards in columns, links between them, and notes on what is left out.

use std::collections::BTreeMap;

use team_executor_core::TaskStatus;

use super::card::Card;
use super::layers::Link;
use super::text::{count, plain};
use super::{Node, Picture, compact, wave_name};

/// The largest number of tasks that are drawn one by one.
const MOST_NODES: usize = 400;
/// The largest number of dependencies that are drawn one by one.
const MOST_EDGES: usize = 2000;

/// How many tasks have each status, in the order of [`TaskStatus::ALL`].
pub(super) type Counts = [u64; TaskStatus::ALL.len()];

/// One column of cards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    /// What it is called.
    pub(super) name: String,
    /// How many tasks it has.
    pub(super) tasks: u64,
}

/// Everything that is drawn, before it has a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sheet {
    /// On one line.
    pub(super) title: String,
    /// On one line.
    pub(super) subtitle: String,
    /// From left to right.
    pub(super) columns: Vec<Column>,
    /// In any order.
    pub(super) cards: Vec<Card>,
    /// The column of each card.
    pub(super) column_of: Vec<usize>,
    /// The card of each node.
    pub(super) card_of: Vec<usize>,
    /// Each to a later column, no two between the same cards.
    pub(super) links: Vec<Link>,
    /// The statuses of all tasks.
    pub(super) counts: Counts,
    /// What the reader should know about the drawing.
    pub(super) notes: Vec<String>,
}

impl Sheet {
    /// One card a task, or one card a group of tasks where there are too many.
    pub(super) fn lay_out(picture: &Picture) -> Self {
        if picture.nodes.len() > MOST_NODES || picture.edges.len() > MOST_EDGES {
            compact::sheet(picture)
        } else {
            one_card_a_task(picture)
        }
    }

    /// Whether a card stands for many tasks.
    pub(super) fn is_of_groups(&self) -> bool {
        self.cards.first().is_some_and(|card| card.group.is_some())
    }
}

/// How many tasks have each status.
pub(super) fn counts<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Counts {
    let mut counts = Counts::default();
    for node in nodes {
        counts[node.status as usize] += 1;
    }
    counts
}

fn one_card_a_task(picture: &Picture) -> Sheet {
    let waves = picture.waves();
    let mut column_of = vec![0; picture.nodes.len()];
    for (column, nodes) in waves.values().enumerate() {
        for &node in nodes {
            column_of[node] = column;
        }
    }
    let mut links = BTreeMap::new();
    let mut backward = 0;
    for (from, to, critical) in picture.edges() {
        if column_of[from] < column_of[to] {
            links.insert((from, to), Link { from, to, weight: 1, critical });
        } else {
            backward += 1;
        }
    }
    let backward = (backward > 0).then(|| count(backward, "link"));
    let column = |(&wave, nodes): (&u32, &Vec<usize>)| Column { name: wave_name(wave), tasks: nodes.len() as u64 };
    Sheet {
        title: plain(&picture.title),
        subtitle: plain(&picture.subtitle),
        columns: waves.iter().map(column).collect(),
        cards: picture.nodes.iter().map(Card::of_task).collect(),
        column_of,
        card_of: (0..picture.nodes.len()).collect(),
        links: links.into_values().collect(),
        counts: counts(&picture.nodes),
        notes: backward.iter().map(|links| format!("Not drawn: {links} to the same or an earlier wave.")).collect(),
    }
}
