//! A timeline for people: how many were at work, a bar for each task, and the chain that made the run as long as it was. Where there
//! are more tasks than lines, those of the chain and the longest ones are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use team_executor_app::attempts::between;
use team_executor_app::timeline::{Bar, Because, Link, Timeline};
use team_executor_app::{count, seconds};
use team_executor_core::{Session, TaskIndex, Timestamp};
use unicode_width::UnicodeWidthStr as _;

use crate::escape;

/// The widest and the narrowest that bars are, and the widest that names are.
const BARS: usize = 60;
const LEAST: usize = 10;
const NAME: usize = 24;
/// What a cell shows, the later over the earlier: nothing, waiting, checked, at work, sent back, failed.
const CELLS: [char; 6] = [' ', '·', '▒', '█', '▚', '✗'];
/// Heights of what was at work at a time.
const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// How many columns the words behind a bar have.
const WORDS: usize = 26;

/// What there is room for.
pub(super) struct Shown {
    pub(super) lines: Vec<String>,
    /// Something was left out.
    pub(super) is_cut: bool,
}

/// The lines, at most so many, unless the header alone has more.
pub(super) fn shown(timeline: &Timeline, session: &Session, width: usize, rows: usize) -> Shown {
    let tasks = by_task(timeline);
    let widest = tasks.keys().map(|task| id(session, *task).width()).max().unwrap_or(0).clamp(7, NAME);
    let bars = width.saturating_sub(widest + WORDS + 4).clamp(LEAST, BARS);
    let view = View { timeline, session, widest, bars };
    let mut lines = view.head(width);
    // One line for the command that shows all, and the prompt.
    let room = rows.saturating_sub(lines.len() + 3);
    let chain = view.chain(width, room / 2);
    let shown = view.chosen(&tasks, room.saturating_sub(chain.len() + 1));
    let hidden = tasks.len() - shown.len();
    lines.extend(shown.iter().map(|task| view.row(*task, &tasks[task])));
    if hidden > 0 {
        lines.push(format!("  … and {}", count(hidden, "other task")));
    }
    let is_cut = hidden > 0 || chain.len() < timeline.chain.len();
    lines.extend(chain);
    Shown { lines, is_cut }
}

fn id(session: &Session, task: TaskIndex) -> String {
    escape::line(session.tasks[task.get()].id.as_str())
}

fn by_task(timeline: &Timeline) -> BTreeMap<TaskIndex, Vec<&Bar>> {
    let mut tasks = BTreeMap::<TaskIndex, Vec<&Bar>>::new();
    timeline.bars.iter().for_each(|bar| tasks.entry(bar.task).or_default().push(bar));
    tasks
}

/// How long attempts were at work or checked.
fn busy(bars: &[&Bar]) -> Duration {
    bars.iter().map(|bar| between(bar.started, bar.over)).sum()
}

struct View<'a> {
    timeline: &'a Timeline,
    session: &'a Session,
    widest: usize,
    bars: usize,
}

impl View<'_> {
    fn head(&self, width: usize) -> Vec<String> {
        let Timeline { run, bars, tasks, most, .. } = self.timeline;
        let tried = count(bars.len(), "attempt");
        let head = format!(
            "{run}: {}, {tried} at {}, at most {most} at a time",
            seconds(self.timeline.length()),
            count(*tasks, "task")
        );
        let legend = "· ready, waiting  █ at work  ▒ being checked  ▚ sent back  ✗ failed or lost  * chain";
        let label = escape::pad("at work", self.widest);
        vec![escape::cut(&head, width), escape::cut(legend, width), format!("  {label} {}", self.heights())]
    }

    /// The column of a moment.
    fn column(&self, at: Timestamp) -> usize {
        let (part, whole) = (between(self.timeline.began, at).as_micros(), self.timeline.length().as_micros().max(1));
        usize::try_from(part * self.bars as u128 / whole).unwrap_or(self.bars).min(self.bars - 1)
    }

    /// How many were at work on average in each column, in parts of the most.
    fn heights(&self) -> String {
        let cell = (self.timeline.length().as_secs_f64() / self.bars as f64).max(1e-9);
        let mut work = vec![0.0_f64; self.bars];
        let at = |time: Timestamp| between(self.timeline.began, time).as_secs_f64() / cell;
        for bar in &self.timeline.bars {
            let (from, to) = (at(bar.started), at(bar.over).min(self.bars as f64));
            for (nth, work) in
                work.iter_mut().enumerate().take(self.column(bar.over) + 1).skip(self.column(bar.started))
            {
                *work += (to.min(nth as f64 + 1.0) - from.max(nth as f64)).max(0.0);
            }
        }
        let most = self.timeline.most.max(1) as f64;
        let height = |work: f64| HEIGHTS[((work / most * 8.0).ceil() as usize).min(8)];
        work.into_iter().map(height).collect()
    }

    /// The tasks that are shown, by their first start.
    fn chosen(&self, tasks: &BTreeMap<TaskIndex, Vec<&Bar>>, most: usize) -> Vec<TaskIndex> {
        let mut all: Vec<TaskIndex> = tasks.keys().copied().collect();
        if all.len() > most {
            let is_linked = |task: &TaskIndex| tasks[task].iter().any(|bar| bar.on_chain);
            all.sort_by_key(|task| (!is_linked(task), std::cmp::Reverse(busy(&tasks[task]))));
            all.truncate(most);
        }
        all.sort_by_key(|task| (tasks[task].first().map(|bar| bar.started), *task));
        all
    }

    fn row(&self, task: TaskIndex, bars: &[&Bar]) -> String {
        let mut cells = vec![0_usize; self.bars];
        let mut fill = |from: Timestamp, to: Timestamp, what: usize| {
            let (from, to) = (self.column(from), self.column(to));
            for cell in &mut cells[from..=to] {
                *cell = (*cell).max(what);
            }
        };
        for bar in bars {
            if bar.ready < bar.started {
                fill(bar.ready, bar.started, 1);
            }
            if bar.ended < bar.over {
                fill(bar.ended, bar.over, 2);
            }
            fill(bar.started, bar.ended, if bar.is_sent_back { 4 } else { 3 });
            if matches!(bar.outcome, Some("failed" | "interrupted")) {
                fill(bar.over, bar.over, 5);
            }
        }
        let shown: String = cells.into_iter().map(|cell| CELLS[cell]).collect();
        let mark = if bars.iter().any(|bar| bar.on_chain) { '*' } else { ' ' };
        let name = escape::pad(&escape::cut(&id(self.session, task), self.widest), self.widest);
        let more = if bars.len() > 1 { format!(", {} attempts", bars.len()) } else { String::new() };
        let word = bars.last().map_or("", |bar| if bar.outcome == Some("completed") { "" } else { bar.word() });
        let word = if word.is_empty() { String::new() } else { format!(", {word}") };
        format!("{mark} {name} {shown} {}{more}{word}", seconds(busy(bars)))
    }

    /// The chain in words, at most so many lines: where there are more links, the longest ones.
    fn chain(&self, width: usize, most: usize) -> Vec<String> {
        let chain = &self.timeline.chain;
        if chain.is_empty() || most < 2 {
            return Vec::new();
        }
        let length = |link: &Link| {
            let bar = &self.timeline.bars[link.bar];
            link.gap + between(bar.started, bar.over)
        };
        let mut shown: Vec<usize> = (0..chain.len()).collect();
        let room = most.saturating_sub(2).max(1);
        if shown.len() > room {
            shown.sort_by_key(|nth| std::cmp::Reverse(length(&chain[*nth])));
            shown.truncate(room);
        }
        let shown: BTreeSet<usize> = shown.into_iter().collect();
        let left = chain.len() - shown.len();
        let mut lines = vec!["Why it took so long:".to_owned()];
        for nth in shown {
            let (link, bar) = (&chain[nth], &self.timeline.bars[chain[nth].bar]);
            let before = nth.checked_sub(1).map(|before| &self.timeline.bars[chain[before].bar]);
            let why = match before {
                Some(before) if link.because == Because::Retried || before.task == bar.task => {
                    format!("{} attempt {}", link.because.words(), before.attempt)
                }
                Some(before) => format!("{} {}", link.because.words(), id(self.session, before.task)),
                None => link.because.words().to_owned(),
            };
            let gap = if link.gap >= Duration::from_millis(100) {
                format!(" after {}", seconds(link.gap))
            } else {
                String::new()
            };
            let took = seconds(between(bar.started, bar.over));
            lines.push(escape::cut(&format!("  {} {took}: {why}{gap}", id(self.session, bar.task)), width));
        }
        if left > 0 {
            lines.push(format!("  … and {} that took less", count(left, "other link")));
        }
        lines
    }
}
