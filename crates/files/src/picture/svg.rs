//! The SVG document: page, heading, columns, links, cards, legend. No script, no external resource.

use std::fmt::{Display, Formatter, Result, Write};

use team_executor_core::TaskStatus;

use super::card::{self, Card};
use super::layout::{Curve, Layout, Point};
use super::sheet::Sheet;
use super::text::{clip, count, number, width, wrap, xml};
use super::theme;

/// Around everything.
const MARGIN: f64 = 28.0;
/// Between the sides of a column and its cards.
const LANE: f64 = 14.0;
/// How high a column's heading is.
const LANE_HEAD: f64 = 40.0;
/// Where the columns begin.
const TOP: f64 = 106.0;
/// The least width, for the legend's sake.
const LEAST: f64 = 420.0;

/// Draws a sheet.
pub(super) fn draw(sheet: &Sheet) -> String {
    Page::new(sheet).to_string()
}

struct Page<'a> {
    sheet: &'a Sheet,
    layout: Layout,
    card_height: f64,
    /// Between the left side of the page and the first card.
    left: f64,
    width: f64,
}

impl Display for Page<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let bottom = TOP + LANE_HEAD + self.layout.height.max(60.0) + LANE;
        let mut foot = String::new();
        let height = self.foot(&mut foot, bottom + 34.0)?;
        let width = self.width;
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plan\" role=\"img\" aria-label=\"{}\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n<style>\n{}</style>\n<defs>{}{}</defs>\n\
             <rect width=\"{width}\" height=\"{height}\" class=\"page\"/>",
            xml(&self.label()),
            theme::style(),
            tip("plan-tip", "tip"),
            tip("plan-tip-critical", "tip critical"),
        )?;
        self.head(out)?;
        self.columns(out, bottom)?;
        for critical in [false, true] {
            for curve in self.layout.curves.iter().filter(|curve| curve.critical == critical) {
                self.curve(out, curve)?;
            }
        }
        let colours = theme::role_colours(self.sheet.cards.iter().map(|card| card.role.as_str()));
        for (card, at) in self.sheet.cards.iter().zip(&self.layout.cards) {
            let colour = colours.get(card.role.as_str()).copied().unwrap_or_default();
            card.draw(out, self.on_page(*at), self.card_height, colour)?;
        }
        writeln!(out, "{foot}</svg>")
    }
}

impl<'a> Page<'a> {
    fn new(sheet: &'a Sheet) -> Self {
        let card_height = sheet.cards.iter().map(Card::height).fold(0.0, f64::max);
        let layout = Layout::new(&sheet.column_of, &sheet.links, (card::WIDTH, card_height));
        let width = (layout.width + 2.0 * (MARGIN + LANE)).max(LEAST);
        let left = ((width - layout.width) / 2.0).round();
        Self { sheet, layout, card_height, left, width }
    }

    /// What the picture says, for those who cannot see it.
    fn label(&self) -> String {
        let tasks = count(self.sheet.counts.iter().sum(), "task");
        let mut label = format!("{}. {}. {tasks}", self.sheet.title, self.sheet.subtitle);
        for (status, tasks) in TaskStatus::ALL.iter().zip(self.sheet.counts).filter(|(_, tasks)| *tasks > 0) {
            label += &format!(", {} {}", number(tasks), theme::status_name(*status));
        }
        label
    }

    fn head(&self, out: &mut Formatter<'_>) -> Result {
        let room = self.width - 2.0 * MARGIN;
        for (text, y, size, style) in [
            (&self.sheet.title, 44.0, 21.0, "class=\"text\" font-weight=\"700\""),
            (&self.sheet.subtitle, 66.0, 13.0, "class=\"muted\""),
        ] {
            let text = xml(&clip(text, size, room));
            writeln!(out, "<text x=\"{MARGIN}\" y=\"{y}\" {style} font-size=\"{size}\">{text}</text>")?;
        }
        card::bar(out, &self.sheet.counts, Point { x: MARGIN, y: 82.0 }, room, 6.0)
    }

    fn columns(&self, out: &mut Formatter<'_>, bottom: f64) -> Result {
        if self.sheet.cards.is_empty() {
            let middle = self.width / 2.0;
            let room = self.width - 2.0 * MARGIN;
            return writeln!(
                out,
                "<rect x=\"{MARGIN}\" y=\"{TOP}\" width=\"{room}\" height=\"{}\" rx=\"14\" class=\"lane\"/>\
                 <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" class=\"muted\" font-size=\"14\">No tasks yet</text>",
                bottom - TOP,
                (TOP + bottom) / 2.0 + 5.0
            );
        }
        for (column, x) in self.sheet.columns.iter().zip(&self.layout.columns) {
            let left = x + self.left;
            let tasks = count(column.tasks, "task");
            let name = clip(&column.name, 12.5, card::WIDTH - 10.0 - width(&tasks, 11.5));
            writeln!(
                out,
                "<rect x=\"{}\" y=\"{TOP}\" width=\"{}\" height=\"{}\" rx=\"14\" class=\"lane\"/>\
                 <text x=\"{left}\" y=\"{}\" class=\"text\" font-size=\"12.5\" font-weight=\"600\">{}</text>\
                 <text x=\"{}\" y=\"{3}\" text-anchor=\"end\" class=\"muted\" font-size=\"11.5\">{tasks}</text>",
                left - LANE,
                card::WIDTH + 2.0 * LANE,
                bottom - TOP,
                TOP + 25.0,
                xml(&name),
                left + card::WIDTH,
            )?;
        }
        Ok(())
    }

    /// A curve to the next column; if it ends in a bend, also the straight line through that column.
    fn curve(&self, out: &mut Formatter<'_>, curve: &Curve) -> Result {
        let (from, to) = (self.on_page(curve.from), self.on_page(curve.to));
        let end = if curve.arrow { to.x - 3.0 } else { to.x };
        let (class, tip) = if curve.critical { ("edge critical", "plan-tip-critical") } else { ("edge", "plan-tip") };
        let mut thickness = if curve.critical { 2.6 } else { 1.4 };
        let of_groups = self.sheet.is_of_groups();
        if of_groups {
            thickness += 0.35 * f64::from(curve.weight.max(1).ilog2());
        }
        let reach = (end - from.x) * 0.5;
        write!(
            out,
            "<path d=\"M{:.0} {:.0}C{:.0} {:.0} {:.0} {:.0} {end:.0} {:.0}",
            from.x,
            from.y,
            from.x + reach,
            from.y,
            end - reach,
            to.y,
            to.y
        )?;
        if !curve.arrow {
            write!(out, "H{:.0}", to.x + card::WIDTH)?;
        }
        write!(out, "\" class=\"{class}\" stroke-width=\"{thickness:.1}\"")?;
        if of_groups {
            write!(out, " stroke-opacity=\"0.6\"")?;
        }
        if curve.arrow {
            write!(out, " marker-end=\"url(#{tip})\"")?;
        }
        writeln!(out, "/>")
    }

    /// The legend and the notes; says where the page ends.
    fn foot(&self, out: &mut String, top: f64) -> std::result::Result<f64, std::fmt::Error> {
        let (mut x, mut y) = (MARGIN, top);
        for (&status, tasks) in TaskStatus::ALL.iter().zip(self.sheet.counts).filter(|(_, tasks)| *tasks > 0) {
            let words = format!("{} {}", theme::status_name(status), number(tasks));
            step(&mut x, &mut y, width(&words, 12.0) + 38.0, self.width);
            writeln!(
                out,
                "{}<text x=\"{:.0}\" y=\"{y}\" class=\"muted\" font-size=\"12\">{words}</text>",
                theme::mark(status, x + 8.0, y - 4.0),
                x + 22.0
            )?;
            x += width(&words, 12.0) + 38.0;
        }
        if self.sheet.cards.iter().any(|card| card.critical) {
            step(&mut x, &mut y, 130.0, self.width);
            writeln!(
                out,
                "<path d=\"M{x:.0} {:.0}h24\" class=\"edge critical\" stroke-width=\"2.6\" marker-end=\"url(#plan-tip-critical)\"/>\
                 <text x=\"{:.0}\" y=\"{y}\" class=\"muted\" font-size=\"12\">critical path</text>",
                y - 4.0,
                x + 36.0
            )?;
        }
        for line in self.sheet.notes.iter().flat_map(|note| wrap(note, 11.0, self.width - 2.0 * MARGIN, 4)) {
            y += 20.0;
            writeln!(out, "<text x=\"{MARGIN}\" y=\"{y}\" class=\"muted\" font-size=\"11\">{}</text>", xml(&line))?;
        }
        Ok(y + MARGIN - 4.0)
    }

    fn on_page(&self, point: Point) -> Point {
        Point { x: point.x + self.left, y: point.y + TOP + LANE_HEAD }
    }
}

/// Begins a new line where the next words of the legend would not fit.
fn step(x: &mut f64, y: &mut f64, needed: f64, width: f64) {
    if *x + needed > width - MARGIN + 16.0 {
        (*x, *y) = (MARGIN, *y + 24.0);
    }
}

/// An arrow head.
fn tip(id: &str, class: &str) -> String {
    format!(
        "<marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"7\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" \
         markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0 10 5 0 10 2.5 5Z\" class=\"{class}\"/></marker>"
    )
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::super::{Picture, samples};

    fn texts(svg: &str) -> Vec<String> {
        let document = Document::parse(svg).unwrap();
        document.descendants().filter(|node| node.is_text()).filter_map(|node| node.text().map(str::to_owned)).collect()
    }

    #[test]
    fn every_picture_is_well_formed_and_always_the_same() {
        let pictures = [
            Picture::default(),
            samples::chain(1),
            samples::diamond(),
            samples::random(40, 7, 1),
            samples::random(400, 20, 2),
            samples::random(401, 20, 2),
        ];
        for picture in pictures {
            let svg = picture.to_svg();
            let document = Document::parse(&svg).unwrap();
            let root = document.root_element();
            assert_eq!(root.attribute("role"), Some("img"));
            assert!(root.attribute("aria-label").is_some_and(|label| label.contains("task")));
            assert_eq!(svg, picture.to_svg());
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        }
    }

    #[test]
    fn task_card_has_words_and_a_full_tooltip() {
        let svg = samples::diamond().to_svg();
        let texts = texts(&svg);
        for words in
            ["SPEC-001", "Write the specification", "analyst", "completed", "Wave 4", "1 task", "critical path"]
        {
            assert!(texts.iter().any(|text| text == words), "{words}");
        }
        assert!(texts.contains(&"IMPL-002\nThe mail and its template\ndeveloper · failed · wave 2".to_owned()));
        assert_eq!(svg.matches("marker-end=\"url(#plan-tip").count(), 7 + 1, "seven links, and the legend");
    }

    #[test]
    fn hostile_text_is_shown_and_not_obeyed() {
        let hostile = "</text><script>alert(1)</script> \"onload=x\" & ]]> \u{0} \u{1b}[31m \u{FFFF}";
        let mut picture = samples::diamond();
        (picture.title, picture.subtitle) = (hostile.to_owned(), hostile.to_owned());
        for node in &mut picture.nodes {
            (node.id, node.title, node.role) = (hostile.to_owned(), format!("t {hostile}"), hostile.to_owned());
        }
        for picture in [picture.clone(), samples::repeated(&picture, 100)] {
            let svg = picture.to_svg();
            let document = Document::parse(&svg).unwrap();
            let allowed = ["svg", "style", "defs", "g", "title", "rect", "circle", "path", "text", "marker"];
            for node in document.descendants().filter(|node| node.is_element()) {
                assert!(allowed.contains(&node.tag_name().name()), "{}", node.tag_name().name());
                assert!(node.attributes().all(|attribute| !attribute.name().starts_with("on")));
            }
            assert!(texts(&svg).iter().any(|text| text.starts_with("</text><script>")));
        }
    }

    #[test]
    fn strange_waves_and_edges_are_drawn_as_far_as_they_go() {
        let mut picture = samples::diamond();
        for (node, wave) in picture.nodes.iter_mut().zip([0, 7, 7, u32::MAX, 0, 9]) {
            node.wave = wave;
        }
        picture.edges.extend([(3, 3), (5, 0), (0, 1), (99, 1)]);
        let svg = picture.to_svg();
        let texts = texts(&svg);
        for words in ["No wave", "Wave 7", "Wave 9", "Wave 4294967295"] {
            assert!(texts.iter().any(|text| text == words), "{words}");
        }
        assert!(texts.iter().any(|text| text == "Not drawn: 4 links to the same or an earlier wave."), "{texts:?}");
        assert!(Document::parse(&samples::repeated(&picture, 100).to_svg()).is_ok());
    }

    #[test]
    fn a_large_plan_gives_a_small_picture() {
        let one_wave = Picture { nodes: vec![samples::node(1); 100_000], ..Picture::default() };
        for picture in [samples::random(100_000, 12, 4), samples::chain(100_000), one_wave] {
            let svg = picture.to_svg();
            assert!(svg.len() < 200_000, "{} bytes", svg.len());
            assert!(Document::parse(&svg).is_ok());
        }
    }

    #[test]
    fn nothing_is_fetched_and_nothing_is_run() {
        let svg = samples::diamond().to_svg();
        assert_eq!(svg.matches("http").count(), 1, "the name space only");
        for word in ["@import", "url(//", "<script", "<image", "<foreignObject"] {
            assert!(!svg.contains(word), "{word}");
        }
        assert!(svg.contains("@media (prefers-color-scheme:dark)"));
    }
}
