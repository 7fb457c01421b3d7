//! A timeline for programs. The shape is stable: fields are added, never renamed or removed, within one `version`.

use serde::Serialize;
use team_executor_core::Session;
use team_executor_files::time::format;

use super::{Bar, Timeline};

/// A run on its time axis.
#[derive(Debug, Serialize)]
pub struct JsonTimeline<'a> {
    version: u32,
    run: &'a str,
    began: String,
    ended: String,
    duration_ms: u128,
    most_at_a_time: usize,
    attempts: Vec<JsonBar<'a>>,
    chain: Vec<JsonLink<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonBar<'a> {
    task: &'a str,
    attempt: u32,
    slot: u32,
    agent: &'a str,
    ready: String,
    started: String,
    first_output: Option<String>,
    ended: String,
    checked: String,
    outcome: &'static str,
    critical: bool,
}

#[derive(Debug, Serialize)]
struct JsonLink<'a> {
    task: &'a str,
    attempt: u32,
    because: &'static str,
    of: Option<&'a str>,
    gap_ms: u128,
}

impl Timeline {
    /// For programs.
    pub fn json<'a>(&'a self, session: &'a Session) -> JsonTimeline<'a> {
        let id = |bar: &Bar| session.tasks[bar.task.get()].id.as_str();
        let bar = |bar: &'a Bar| JsonBar {
            task: id(bar),
            attempt: bar.attempt,
            slot: bar.slot,
            agent: &bar.agent,
            ready: format(bar.ready),
            started: format(bar.started),
            first_output: bar.first_output.map(format),
            ended: format(bar.ended),
            checked: format(bar.over),
            outcome: bar.word(),
            critical: bar.on_chain,
        };
        let before = std::iter::once(None).chain(self.chain.iter().map(Some));
        let links = self.chain.iter().zip(before).map(|(link, before)| JsonLink {
            task: id(&self.bars[link.bar]),
            attempt: self.bars[link.bar].attempt,
            because: link.because.words(),
            of: before.map(|before| id(&self.bars[before.bar])),
            gap_ms: link.gap.as_millis(),
        });
        JsonTimeline {
            version: 1,
            run: &self.run,
            began: format(self.began),
            ended: format(self.end),
            duration_ms: self.length().as_millis(),
            most_at_a_time: self.most,
            attempts: self.bars.iter().map(bar).collect(),
            chain: links.collect(),
        }
    }
}
