//! The log of an attempt in windows: so many lines from one on, the end of it, or where a text stands in it.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use bytes::Bytes;
use serde::Serialize;
use team_executor_app::Error;
use team_executor_app::logs::{Attempts, Form, Lines, Query, What};
use team_executor_core::TaskIndex;
use team_executor_files::{Code, Finding};
use tokio::sync::mpsc;

use crate::watched::{Looked, Watched};

/// The most lines of a window, and the most places of a search.
pub(crate) const MOST: usize = 2000;
/// The longest line that is shown whole.
const LINE_CHARS: usize = 8 << 10;
/// What the first error of a log is found by.
const ERRORS: [&str; 7] = ["error", "panicked", "exception", "traceback", "failed", "failure", "fatal"];
/// How much of a log is sent at a time.
const PIECE: usize = 64 << 10;

/// Which log is meant.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) task: String,
    /// Which attempt; 0 for the last.
    pub(crate) attempt: u32,
    pub(crate) is_err: bool,
    /// As it was written, if it is the stream of an agent.
    pub(crate) is_raw: bool,
}

/// Which part of it is wanted.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// From a line on; from the end if there is no number.
    Lines { from: Option<u64>, most: usize },
    /// Where a text stands.
    Text { text: String },
    /// Where the first error stands.
    Error,
}

/// A part of a log.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Window {
    version: u32,
    attempt: u32,
    attempts: u32,
    /// It is the stream of an agent, in words.
    decoded: bool,
    /// How many lines and bytes there are.
    total: u64,
    bytes: u64,
    /// The number of the first line, from 0.
    from: u64,
    lines: Vec<String>,
    /// Of decoded lines, what they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kinds: Vec<&'static str>,
    /// Where a text stands, and how many lines have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hits: Option<Vec<u64>>,
    hits_total: u64,
    /// The attempt goes on.
    grows: bool,
}

/// Reads a part of a log.
pub(crate) fn window(watched: &Watched, looked: &Looked, log: &Log, wanted: &Wanted) -> Result<Window, Error> {
    let (_, _, task) = looked.opened.task(&log.task)?;
    let (attempt, attempts) = attempt(looked, task, log)?;
    let grows =
        looked.status.is_heard && looked.status.running.iter().any(|one| one.task == task && one.attempt == attempt);
    let window = Window { version: 1, attempt, attempts, grows, ..Window::default() };
    let Some(mut lines) = open(watched, log, attempt)? else { return Ok(window) };
    if !log.is_raw && !log.is_err && lines.is_stream().map_err(unreadable)? {
        return decoded(watched, looked, log, attempt, wanted, window);
    }
    lines.grow().map_err(unreadable)?;
    let mut window = Window { total: lines.count(), bytes: lines.bytes(), ..window };
    match wanted {
        Wanted::Lines { from, most } => {
            let from = from.unwrap_or(u64::MAX).min(window.total.saturating_sub(if from.is_none() {
                *most as u64
            } else {
                0
            }));
            window.from = from;
            let read = lines.read(from, *most).map_err(unreadable)?;
            window.lines = read.iter().map(|line| shown(&line.bytes, line.left_out)).collect();
        }
        Wanted::Text { text } => found(&mut window, lines.search(&[text], MOST).map_err(unreadable)?),
        Wanted::Error => found(&mut window, lines.search(&ERRORS, 1).map_err(unreadable)?),
    }
    Ok(window)
}

fn found(window: &mut Window, hits: team_executor_app::logs::Hits) {
    (window.hits, window.hits_total) = (Some(hits.lines), hits.total);
}

fn shown(bytes: &[u8], left_out: u64) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    if left_out > 0 {
        text.push_str(&format!(" … {left_out} more bytes"));
    }
    text
}

fn attempt(looked: &Looked, task: TaskIndex, log: &Log) -> Result<(u32, u32), Error> {
    let attempts = looked.status.attempts.get(task.get()).copied().unwrap_or(0);
    match log.attempt {
        0 => Ok((attempts, attempts)),
        number if number <= attempts => Ok((number, attempts)),
        number => {
            let message = format!("task '{}' has no attempt {number}: its last one is {attempts}", log.task);
            Err(Finding::error(Code::Usage, message).help("choose one of its attempts").into())
        }
    }
}

fn open(watched: &Watched, log: &Log, attempt: u32) -> Result<Option<Lines>, Error> {
    let [out, err] = team_executor_app::logs::paths(&watched.known.folder, &log.task, attempt);
    Lines::open(if log.is_err { &err } else { &out }).map_err(unreadable)
}

fn unreadable(error: std::io::Error) -> Error {
    let finding = Finding::error(Code::FileUnreadable, format!("cannot read the log: {error}"));
    finding.help("once the cause is gone, reload the page").into()
}

/// A part of what an agent's stream says. All of it is decoded for that, and only the part is kept.
fn decoded(
    watched: &Watched,
    looked: &Looked,
    log: &Log,
    attempt: u32,
    wanted: &Wanted,
    mut window: Window,
) -> Result<Window, Error> {
    let form = Form::Text { in_lines: true };
    let query = Query {
        task: Some(&log.task),
        attempts: Attempts::Number(attempt),
        tail: None,
        since: None,
        follow: false,
        form,
    };
    let needles: Vec<String> = match wanted {
        Wanted::Lines { .. } => Vec::new(),
        Wanted::Text { text } => vec![text.to_lowercase()],
        Wanted::Error => ERRORS.map(str::to_owned).to_vec(),
    };
    let (mut lines, mut hits, mut total) = (VecDeque::new(), Vec::new(), 0_u64);
    let mut first = 0;
    watched.app.logs(&looked.opened, query)?.read(&mut |piece| {
        if piece.stream != "stdout" {
            return;
        }
        let number = total;
        total += 1;
        if let Wanted::Lines { from, most } = wanted {
            if from.is_some_and(|from| number < from || lines.len() >= *most) {
                return;
            }
            let kind = if let What::Said(kind, _) = piece.what { kind.word() } else { "plain" };
            let text: String = piece.text().chars().take(LINE_CHARS).collect();
            if lines.is_empty() {
                first = number;
            }
            lines.push_back((text, kind));
            if lines.len() > *most {
                lines.pop_front();
                first += 1;
            }
        } else {
            let text = piece.text().to_lowercase();
            let is_hit = needles.iter().any(|needle| text.contains(needle.as_str()));
            if is_hit {
                window.hits_total += 1;
                if hits.len() < MOST {
                    hits.push(number);
                }
            }
        }
    })?;
    (window.lines, window.kinds) = lines.into_iter().unzip();
    (window.from, window.total, window.decoded) = (first, total, true);
    window.hits = (!needles.is_empty()).then_some(hits);
    Ok(window)
}

/// The file of a log.
pub(crate) fn file(watched: &Watched, looked: &Looked, log: &Log) -> Result<Option<File>, Error> {
    let (_, _, task) = looked.opened.task(&log.task)?;
    let (attempt, _) = attempt(looked, task, log)?;
    let [out, err] = team_executor_app::logs::paths(&watched.known.folder, &log.task, attempt);
    Ok(team_executor_beneath::open_regular(if log.is_err { &err } else { &out }).ok())
}

/// Sends a file piece by piece, no faster than it is taken.
pub(crate) async fn send(file: File, pieces: mpsc::Sender<Bytes>) {
    let (mut at, mut piece) = (0, vec![0; PIECE]);
    loop {
        match file.read_at(&mut piece, at) {
            Ok(length @ 1..) if pieces.send(Bytes::copy_from_slice(&piece[..length])).await.is_ok() => {
                at += length as u64;
            }
            _ => return,
        }
    }
}
