//! Large plans as groups: one card for the tasks of one role in one wave, or in a run of waves where there are many.
//!
//! Whatever the plan, the number of cards and links stays within the limits below; the time is linear in the plan.

use std::collections::BTreeMap;

use super::card::Card;
use super::layers::Link;
use super::sheet::{Column, Sheet, counts};
use super::text::{count, number, plain};
use super::{Node, Picture, wave_name};

/// The largest number of columns.
const MOST_COLUMNS: usize = 16;
/// The largest number of roles that have cards of their own; the others share one.
const MOST_ROLES: usize = 12;
/// The largest number of links that reach one card; the weaker ones are left out.
const MOST_LINKS: usize = 2;
/// What the tasks of all the other roles are called.
const OTHERS: &str = "other roles";

/// The groups of a plan.
pub(super) fn sheet(picture: &Picture) -> Sheet {
    let (columns, column_of_node) = columns(picture);
    let roles = roles(picture);

    let mut members: BTreeMap<(usize, &str), Vec<usize>> = BTreeMap::new();
    for (at, node) in picture.nodes.iter().enumerate() {
        let role = roles.get(node.role.as_str()).copied().unwrap_or(OTHERS);
        members.entry((column_of_node[at], role)).or_default().push(at);
    }
    let mut group_of = vec![0; picture.nodes.len()];
    for (group, nodes) in members.values().enumerate() {
        for &node in nodes {
            group_of[node] = group;
        }
    }
    let column_of: Vec<usize> = members.keys().map(|&(column, _)| column).collect();
    let (links, inside, weak) = links(picture, &group_of, &column_of);

    let tasks = count(picture.nodes.len() as u64, "task");
    let mut notes = vec![format!(
        "{tasks} are drawn as groups, one card for each column and role. The thicker a link, the more dependencies it has."
    )];
    if inside > 0 || weak > 0 {
        let (inside, weak) = (number(inside), number(weak));
        notes.push(format!(
            "Each card shows the {MOST_LINKS} strongest links that reach it. \
             Not drawn: {weak} dependencies in weaker links, {inside} within a column."
        ));
    }
    Sheet {
        title: plain(&picture.title),
        subtitle: plain(&picture.subtitle),
        columns,
        cards: members.iter().map(|(&(_, role), nodes)| card(picture, role, nodes)).collect(),
        column_of,
        card_of: group_of,
        links,
        counts: counts(&picture.nodes),
        notes,
    }
}

/// The columns, and the column of each node: one column a wave, or a run of waves of about the same number.
fn columns(picture: &Picture) -> (Vec<Column>, Vec<usize>) {
    let waves: Vec<(u32, Vec<usize>)> = picture.waves().into_iter().collect();
    let mut columns = Vec::new();
    let mut column_of = vec![0; picture.nodes.len()];
    for run in waves.chunks(waves.len().div_ceil(MOST_COLUMNS).max(1)) {
        let nodes = || run.iter().flat_map(|(_, nodes)| nodes);
        for &node in nodes() {
            column_of[node] = columns.len();
        }
        let name = match run {
            [(first, _), .., (last, _)] => format!("Waves {first}–{last}"),
            _ => run.first().map_or_else(String::new, |(wave, _)| wave_name(*wave)),
        };
        columns.push(Column { name, tasks: nodes().count() as u64 });
    }
    (columns, column_of)
}

/// The roles with the most tasks, each under its own name.
fn roles(picture: &Picture) -> BTreeMap<&str, &str> {
    let mut tasks: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &picture.nodes {
        *tasks.entry(&node.role).or_default() += 1;
    }
    let mut roles: Vec<(&str, usize)> = tasks.into_iter().collect();
    roles.sort_by_key(|&(_, tasks)| std::cmp::Reverse(tasks));
    roles.into_iter().take(MOST_ROLES).map(|(role, _)| (role, role)).collect()
}

/// The strongest links that reach each group, and the numbers of dependencies within a column and in the links left out.
fn links(picture: &Picture, group_of: &[usize], column_of: &[usize]) -> (Vec<Link>, u64, u64) {
    let mut links: BTreeMap<(usize, usize), Link> = BTreeMap::new();
    let mut inside = 0;
    for (from, to, critical) in picture.edges() {
        let (from, to) = (group_of[from], group_of[to]);
        if column_of[from] >= column_of[to] {
            inside += 1;
            continue;
        }
        let link = links.entry((from, to)).or_insert(Link { from, to, weight: 0, critical: false });
        link.weight += 1;
        link.critical |= critical;
    }
    let mut links: Vec<Link> = links.into_values().collect();
    links.sort_by_key(|link| (link.to, std::cmp::Reverse((link.critical, link.weight))));
    let mut weak = 0;
    let mut kept = Vec::new();
    for family in links.chunk_by(|a, b| a.to == b.to) {
        let (strong, others) = family.split_at(family.len().min(MOST_LINKS));
        kept.extend_from_slice(strong);
        weak += others.iter().map(|link| link.weight).sum::<u64>();
    }
    (kept, inside, weak)
}

fn card(picture: &Picture, role: &str, nodes: &[usize]) -> Card {
    let members = || nodes.iter().map(|&at| &picture.nodes[at]);
    let heading = common_prefix(members()).unwrap_or(role);
    Card::of_group(heading, role, counts(members()), members().any(|node| node.critical))
}

/// What all ids have before their first dash, if they agree on it.
fn common_prefix<'a>(mut nodes: impl Iterator<Item = &'a Node>) -> Option<&'a str> {
    let prefix = |node: &'a Node| node.id.split_once('-').map(|(prefix, _)| prefix).filter(|prefix| !prefix.is_empty());
    let first = prefix(nodes.next()?)?;
    nodes.all(|node| prefix(node) == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::samples;

    fn check_limits(sheet: &Sheet) {
        assert!(sheet.columns.len() <= MOST_COLUMNS, "{} columns", sheet.columns.len());
        assert!(sheet.cards.len() <= MOST_COLUMNS * (MOST_ROLES + 1), "{} cards", sheet.cards.len());
        assert!(sheet.links.len() <= sheet.cards.len() * MOST_LINKS, "{} links", sheet.links.len());
        for link in &sheet.links {
            assert!(sheet.column_of[link.from] < sheet.column_of[link.to]);
        }
    }

    #[test]
    fn no_task_and_no_dependency_is_lost() {
        let picture = samples::random(5000, 30, 3);
        let sheet = sheet(&picture);
        check_limits(&sheet);
        assert_eq!(sheet.columns.iter().map(|column| column.tasks).sum::<u64>(), 5000);
        let (kept, inside, weak) = links(&picture, &(0..5000).map(|at| at % 3).collect::<Vec<_>>(), &[0, 1, 2]);
        assert_eq!(kept.iter().map(|link| link.weight).sum::<u64>() + inside + weak, picture.edges.len() as u64);
    }

    #[test]
    fn a_chain_is_cut_into_runs_of_waves() {
        let sheet = sheet(&samples::chain(100_000));
        check_limits(&sheet);
        assert_eq!(sheet.columns.len(), 16);
        assert_eq!(sheet.columns[0].name, "Waves 1–6250");
        assert_eq!(sheet.links.len(), 15);
        assert!(sheet.notes.iter().any(|note| note.contains(" 99,984 within a column.")));
    }

    #[test]
    fn a_role_for_each_task_is_still_bounded() {
        let mut picture = samples::random(3000, 40, 5);
        for (at, node) in picture.nodes.iter_mut().enumerate() {
            node.role = format!("role-{at}");
        }
        let sheet = sheet(&picture);
        check_limits(&sheet);
        assert!(sheet.cards.iter().any(|card| card.role == OTHERS));
    }

    #[test]
    fn a_group_is_named_by_the_prefix_of_its_ids() {
        let sheet = sheet(&samples::chain(500));
        assert!(sheet.cards.iter().all(|card| card.heading.starts_with("STEP × ")), "{:?}", sheet.cards[0]);
    }
}
