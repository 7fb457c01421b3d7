//! A timeline as SVG: a row for each task, or for each slot where there are too many tasks. No script, nothing from elsewhere.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter, Write as _};

use team_executor_core::{Session, TaskIndex, Timestamp};
use team_executor_engine::seconds;

use super::{Bar, Timeline};
use crate::attempts::between;
use crate::escape::xml;

/// With more tasks rows are slots.
const TASKS: usize = 400;
/// The widths of the names and of the bars; how high rows are, and where they begin.
const NAMES: f64 = 190.0;
const BARS: f64 = 960.0;
const ROW: f64 = 18.0;
const TOP: f64 = 84.0;
const MARGIN: f64 = 20.0;
/// How many letters a name has.
const LETTERS: usize = 26;
/// How many lines the time axis has.
const TICKS: u32 = 6;

/// What is shown of a bar, by what covers what.
const PARTS: [(&str, &str); 6] = [
    ("wait", "ready, waiting"),
    ("run", "at work"),
    ("check", "being checked"),
    ("back", "sent back"),
    ("fail", "failed or lost"),
    ("chain", "made the run as long as it was"),
];

const STYLE: &str = ".tl{font-family:system-ui,sans-serif;font-size:12px}.tl .page{fill:#f6f8fa}.tl text{fill:#1f2328}\
.tl .muted{fill:#59636e}.tl .grid{stroke:#d1d9e0}.tl .wait{fill:#afb8c1}.tl .run{fill:#0969da}.tl .check{fill:#9a6700}\
.tl .back{fill:#8a5a44}.tl .fail{fill:#cf222e}.tl .chain{fill:#8250df}@media (prefers-color-scheme:dark){.tl .page{fill:#0d1117}\
.tl text{fill:#f0f6fc}.tl .muted{fill:#9198a1}.tl .grid{stroke:#3d444d}.tl .wait{fill:#656f7c}.tl .run{fill:#4493f8}\
.tl .check{fill:#d29922}.tl .back{fill:#c69c85}.tl .fail{fill:#f85149}.tl .chain{fill:#ab7df8}}";

pub(super) fn draw(timeline: &Timeline, session: &Session) -> String {
    Page { timeline, session }.to_string()
}

struct Page<'a> {
    timeline: &'a Timeline,
    session: &'a Session,
}

impl Display for Page<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let (width, height) = (NAMES + BARS + 2.0 * MARGIN, TOP + ROW * rows.len() as f64 + MARGIN);
        let Timeline { run, bars, most, .. } = self.timeline;
        let title = format!("{run}: {}", seconds(self.timeline.length()));
        let about = format!("{} attempts, at most {most} at a time", bars.len());
        write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tl\" role=\"img\" aria-label=\"{}. {about}\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n<style>{STYLE}</style>\n\
             <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n\
             <text x=\"{MARGIN}\" y=\"28\" font-size=\"17\" font-weight=\"700\">{}</text>\
             <text x=\"{MARGIN}\" y=\"46\" class=\"muted\">{about}</text>\n",
            xml(&title),
            xml(&title),
        )?;
        legend(out)?;
        self.axis(out, height)?;
        for (nth, (name, bars)) in rows.iter().enumerate() {
            let y = TOP + ROW * nth as f64;
            writeln!(out, "<text x=\"{MARGIN}\" y=\"{:.0}\">{}</text>", y + 12.0, xml(&clipped(name)))?;
            self.row(out, y, bars)?;
        }
        writeln!(out, "</svg>")
    }
}

impl Page<'_> {
    /// The rows from top to bottom, each with its bars.
    fn rows(&self) -> Vec<(String, Vec<&Bar>)> {
        if self.session.tasks.len() > TASKS {
            let mut slots = BTreeMap::<u32, Vec<&Bar>>::new();
            self.timeline.bars.iter().for_each(|bar| slots.entry(bar.slot).or_default().push(bar));
            return slots.into_iter().map(|(slot, bars)| (format!("slot {}", slot + 1), bars)).collect();
        }
        let mut of_task = BTreeMap::<TaskIndex, Vec<&Bar>>::new();
        self.timeline.bars.iter().for_each(|bar| of_task.entry(bar.task).or_default().push(bar));
        let mut rows: Vec<_> = of_task.into_iter().collect();
        rows.sort_by_key(|(task, bars)| (bars.first().map(|bar| bar.started), *task));
        rows.into_iter().map(|(task, bars)| (self.session.tasks[task.get()].id.to_string(), bars)).collect()
    }

    fn x(&self, at: Timestamp) -> f64 {
        let length = self.timeline.length().as_secs_f64().max(1e-6);
        let part = between(self.timeline.began, at).as_secs_f64() / length;
        MARGIN + NAMES + BARS * part.clamp(0.0, 1.0)
    }

    fn axis(&self, out: &mut Formatter<'_>, height: f64) -> fmt::Result {
        for tick in 0..=TICKS {
            let x = MARGIN + NAMES + BARS * f64::from(tick) / f64::from(TICKS);
            let at = seconds(self.timeline.length() * tick / TICKS);
            let (anchor, bottom) = (if tick == TICKS { "end" } else { "start" }, height - MARGIN);
            writeln!(
                out,
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom:.0}\"/><text class=\"muted\" text-anchor=\"{anchor}\" \
                 x=\"{x:.1}\" y=\"{:.0}\">{at}</text>",
                TOP - 6.0
            )?;
        }
        Ok(())
    }

    /// The bars of a row. What would lie on one and the same point is drawn once.
    fn row(&self, out: &mut Formatter<'_>, y: f64, bars: &[&Bar]) -> fmt::Result {
        let mut drawn = [f64::MIN; PARTS.len()];
        for bar in bars {
            let body = match bar.outcome {
                _ if bar.is_sent_back => 3,
                Some("failed" | "interrupted") => 4,
                _ => 1,
            };
            let (ready, started, ended, over) =
                (self.x(bar.ready), self.x(bar.started), self.x(bar.ended), self.x(bar.over));
            let parts = [(0, ready, started, 7.0, 4.0), (body, started, ended, 3.0, 12.0), (2, ended, over, 3.0, 12.0)];
            let chain = bar.on_chain.then_some((5, started, over, 15.0, 3.0));
            let mut shapes = String::new();
            for (part, from, to, down, high) in parts.into_iter().chain(chain) {
                let wide = to - from;
                let is_new = to >= drawn[part] + 1.0;
                if is_new && (wide > 0.05 || part == body || part == 5) {
                    drawn[part] = to.max(from + 1.0);
                    let (class, wide) = (PARTS[part].0, wide.max(1.0));
                    let top = y + down;
                    write!(
                        shapes,
                        "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{top:.0}\" width=\"{wide:.1}\" height=\"{high}\"/>"
                    )?;
                }
            }
            if !shapes.is_empty() {
                writeln!(out, "<g><title>{}</title>{shapes}</g>", xml(&self.about(bar)))?;
            }
        }
        Ok(())
    }

    fn about(&self, bar: &Bar) -> String {
        let id = &self.session.tasks[bar.task.get()].id;
        let (waited, ran) = (seconds(between(bar.ready, bar.started)), seconds(between(bar.started, bar.ended)));
        let checked = seconds(between(bar.ended, bar.over));
        format!("{id}, attempt {}: {}\n{waited} waiting, {ran} at work, {checked} checked", bar.attempt, bar.word())
    }
}

fn legend(out: &mut Formatter<'_>) -> fmt::Result {
    let mut x = MARGIN + NAMES;
    for (class, words) in PARTS {
        let text = x + 15.0;
        writeln!(
            out,
            "<rect class=\"{class}\" x=\"{x:.0}\" y=\"37\" width=\"10\" height=\"10\"/><text class=\"muted\" x=\"{text:.0}\" \
             y=\"46\">{words}</text>"
        )?;
        x += 40.0 + 6.5 * words.len() as f64;
    }
    Ok(())
}

fn clipped(name: &str) -> String {
    match name.chars().count() {
        0..=LETTERS => name.to_owned(),
        _ => name.chars().take(LETTERS - 1).chain(['…']).collect(),
    }
}
