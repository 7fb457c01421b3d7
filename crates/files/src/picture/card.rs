//! One card of an SVG picture: a task, or a group of tasks.

use std::fmt::{Result, Write};

use team_executor_core::TaskStatus;

use super::Node;
use super::layout::Point;
use super::sheet::Counts;
use super::text::{clip, number, plain, width, wrap, xml};
use super::theme::{mark, status_class, status_name};

/// How wide every card is.
pub(super) const WIDTH: f64 = 226.0;
/// How high a card without any line of text is.
const BASE: f64 = 66.0;
/// How high a line of text is.
const LINE: f64 = 16.0;
/// How much a bar adds to the height.
const BAR: f64 = 12.0;
/// Between the sides of a card and its text.
const PAD: f64 = 16.0;

/// What is done comes first, like on any bar of progress.
const BAR_ORDER: [TaskStatus; 6] = [
    TaskStatus::Completed,
    TaskStatus::Skipped,
    TaskStatus::Failed,
    TaskStatus::InProgress,
    TaskStatus::Ready,
    TaskStatus::Pending,
];

/// What most needs a look comes first.
const URGENCY: [TaskStatus; 6] = [
    TaskStatus::Failed,
    TaskStatus::InProgress,
    TaskStatus::Ready,
    TaskStatus::Pending,
    TaskStatus::Completed,
    TaskStatus::Skipped,
];

/// What a card says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Card {
    /// In bold.
    pub(super) heading: String,
    /// A few lines of text.
    pub(super) lines: Vec<String>,
    /// In a pill, and in its colour.
    pub(super) role: String,
    /// Its stripe and its mark.
    pub(super) status: TaskStatus,
    /// Whether the critical path runs through it.
    pub(super) critical: bool,
    /// Everything, when one points at it.
    pub(super) tooltip: Vec<String>,
    /// The statuses of its tasks, if it is a group.
    pub(super) group: Option<Counts>,
}

impl Card {
    /// The card of one task.
    pub(super) fn of_task(node: &Node) -> Self {
        let (id, title, role) = (plain(&node.id), plain(&node.title), plain(&node.role));
        let lines = if title == id { Vec::new() } else { wrap(&title, 12.0, WIDTH - 2.0 * PAD, 2) };
        let critical = if node.critical { " · critical path" } else { "" };
        let state = format!("{role} · {} · wave {}{critical}", status_name(node.status), node.wave);
        Self {
            heading: clip(&id, 13.5, WIDTH - 2.0 * PAD - 22.0),
            lines,
            role,
            status: node.status,
            critical: node.critical,
            tooltip: vec![id, title, state],
            group: None,
        }
    }

    /// The card of a group of tasks of one role.
    pub(super) fn of_group(heading: &str, role: &str, counts: Counts, critical: bool) -> Self {
        let (heading, role) = (plain(heading), plain(role));
        let present = URGENCY.iter().filter(|status| counts[**status as usize] > 0);
        let part = |status: &TaskStatus| format!("{} {}", number(counts[*status as usize]), status_name(*status));
        let words = present.map(part).collect::<Vec<_>>().join(", ");
        // No line breaks between a number and its word.
        let unbroken = words.replace(' ', "\u{A0}").replace(",\u{A0}", ", ");
        let total = number(counts.iter().sum());
        let room = WIDTH - 2.0 * PAD - 22.0 - width(&format!(" × {total}"), 13.5);
        Self {
            heading: format!("{} × {total}", clip(&heading, 13.5, room)),
            lines: wrap(&unbroken, 12.0, WIDTH - 2.0 * PAD, 3),
            tooltip: vec![format!("{heading} × {total}"), role.clone(), words],
            role,
            status: telling_status(&counts),
            critical,
            group: Some(counts),
        }
    }

    /// How high it must be.
    pub(super) fn height(&self) -> f64 {
        BASE + LINE * self.lines.len() as f64 + if self.group.is_some() { BAR } else { 0.0 }
    }

    /// Draws it with its top left corner at a place.
    pub(super) fn draw(&self, out: &mut impl Write, at: Point, height: f64, colour: usize) -> Result {
        let class = status_class(self.status);
        let tooltip: Vec<String> = self.tooltip.iter().map(|line| xml(line)).collect();
        write!(out, "<g transform=\"translate({:.0} {:.0})\"><title>{}</title>", at.x, at.y, tooltip.join("\n"))?;
        let (critical, stroke) = if self.critical { (" critical", 2.5) } else { ("", 1.0) };
        let dash = if self.status == TaskStatus::Skipped { " stroke-dasharray=\"5 4\"" } else { "" };
        write!(
            out,
            "<rect width=\"{WIDTH}\" height=\"{height}\" rx=\"10\" class=\"card{critical}\" stroke-width=\"{stroke}\"{dash}/>\
             <rect x=\"5\" y=\"10\" width=\"4\" height=\"{}\" rx=\"2\" class=\"{class}\"/>",
            height - 20.0
        )?;
        write!(
            out,
            "<text x=\"{PAD}\" y=\"25\" class=\"text\" font-size=\"13.5\" font-weight=\"700\">{}</text>\
             {}",
            xml(&self.heading),
            mark(self.status, WIDTH - PAD - 4.0, 20.0)
        )?;
        for (nth, line) in self.lines.iter().enumerate() {
            let y = 45.0 + LINE * nth as f64;
            write!(out, "<text x=\"{PAD}\" y=\"{y}\" class=\"text\" font-size=\"12\">{}</text>", xml(line))?;
        }
        if let Some(counts) = &self.group {
            bar(out, counts, Point { x: PAD, y: height - 40.0 }, WIDTH - 2.0 * PAD, 5.0)?;
        }
        let word = if self.group.is_some() { String::new() } else { status_name(self.status) };
        let role = clip(&self.role, 11.0, WIDTH - 2.0 * PAD - 24.0 - width(&word, 11.0));
        let (y, pill) = (height - 28.0, (width(&role, 11.0) + 14.0).round());
        if !role.is_empty() {
            write!(
                out,
                "<rect x=\"{PAD}\" y=\"{y}\" width=\"{pill}\" height=\"18\" rx=\"9\" class=\"r{colour}\"/>\
                 <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" class=\"t{colour}\" font-size=\"11\" font-weight=\"500\">{}</text>",
                PAD + pill / 2.0,
                y + 13.0,
                xml(&role)
            )?;
        }
        writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" class=\"muted\" font-size=\"11\">{word}</text></g>",
            WIDTH - 12.0,
            y + 13.0
        )
    }
}

/// Draws a bar whose parts are as long as the statuses are frequent; none is too short to be seen.
pub(super) fn bar(out: &mut impl Write, counts: &Counts, at: Point, width: f64, height: f64) -> Result {
    let present = counts.iter().filter(|tasks| **tasks > 0).count() as f64;
    let total = counts.iter().sum::<u64>() as f64;
    let room = width - 5.0 * present;
    let mut x = at.x;
    for (&status, &tasks) in BAR_ORDER.iter().map(|status| (status, &counts[*status as usize])) {
        if tasks > 0 {
            let length = 3.0 + room * tasks as f64 / total;
            let class = status_class(status);
            let y = at.y;
            write!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{length:.1}\" height=\"{height}\" rx=\"2\" class=\"{class}\"/>"
            )?;
            x += length + 2.0;
        }
    }
    Ok(())
}

/// The status that stands for a whole group.
fn telling_status(counts: &Counts) -> TaskStatus {
    URGENCY.into_iter().find(|status| counts[*status as usize] > 0).unwrap_or(TaskStatus::Skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_shows_what_most_needs_a_look() {
        assert_eq!(telling_status(&[0, 0, 0, 9, 1, 0]), TaskStatus::Failed);
        assert_eq!(telling_status(&[5, 0, 1, 9, 0, 0]), TaskStatus::InProgress);
        assert_eq!(telling_status(&[0, 0, 0, 9, 0, 3]), TaskStatus::Completed);
        assert_eq!(telling_status(&[0, 0, 0, 0, 0, 3]), TaskStatus::Skipped);
    }

    #[test]
    fn a_group_tells_its_statuses_in_whole_words() {
        let card = Card::of_group("IMPL", "developer", [1, 2, 3, 4_000, 5, 6], true);
        assert_eq!(card.heading, "IMPL × 4,017");
        let shown = card.lines.join(" ").replace('\u{A0}', " ");
        assert_eq!(shown, "5 failed, 3 in progress, 2 ready, 1 pending, 4,000 completed, 6 skipped");
        assert!(card.lines.iter().all(|line| line.starts_with(|c: char| c.is_ascii_digit())), "{:?}", card.lines);
    }

    #[test]
    fn the_parts_of_a_bar_stay_within_it() {
        let mut out = String::new();
        assert!(bar(&mut out, &[1, 1, 1, 99_999, 1, 1], Point { x: 0.0, y: 0.0 }, 100.0, 5.0).is_ok());
        let document = format!("<g>{out}</g>");
        let document = roxmltree::Document::parse(&document).unwrap();
        let number = |node: roxmltree::Node<'_, '_>, name| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let parts: Vec<_> = document.root_element().children().map(|n| (number(n, "x"), number(n, "width"))).collect();
        assert_eq!(parts.len(), 6);
        assert!(parts.iter().all(|(x, width)| *width >= 3.0 && x + width <= 100.1), "{parts:?}");
        assert!(parts.windows(2).all(|pair| pair[0].0 + pair[0].1 < pair[1].0), "{parts:?}");
    }

    #[test]
    fn nothing_on_a_card_is_wider_than_the_card() {
        let long = "任务WM".repeat(200);
        let title = format!("标题 {long}");
        let node = Node { id: long.clone(), title, role: long, ..crate::picture::samples::node(1) };
        let card = Card::of_task(&node);
        assert!(width(&card.heading, 13.5) < WIDTH - 2.0 * PAD - 20.0);
        assert_eq!(card.lines.len(), 2);
        assert!(card.lines.iter().all(|line| width(line, 12.0) <= WIDTH - 2.0 * PAD));
        assert_eq!(card.tooltip[0], node.id, "the tooltip has it all");
    }
}
