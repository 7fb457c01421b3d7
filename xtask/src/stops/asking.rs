//! How and when the executor of a run is told to stop.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::crash::chance::Chance;
use crate::crash::scenario::{runs, session};
use crate::crash::{GLANCE, PATIENCE};
use crate::shell::Outcome;

/// The longest time between a start and a stop.
const LONGEST_MS: u64 = 250;
/// How long an executor may take to begin, or to come to the next worker.
const BEGINNING: Duration = Duration::from_secs(5);

/// When it must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) kind: Kind,
    delay: Duration,
}

/// What is waited for before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    Anytime,
    /// The executor can be told, and hands out the first tasks.
    Beginning,
    /// A worker has ended, and the next one is about to start.
    AfterAnEnd,
}

impl Moment {
    pub(super) fn random(chance: &mut Chance) -> Self {
        let (kind, micros) = match chance.below(3) {
            0 => (Kind::Anytime, LONGEST_MS * 1000),
            1 => (Kind::Beginning, chance.pick(&[0, 3000, 30_000])),
            _ => (Kind::AfterAnEnd, chance.pick(&[0, 1000, 5000])),
        };
        Self { kind, delay: Duration::from_micros(chance.below(micros)) }
    }
}

/// Tells the executor of the only run to stop, and waits for its answer. Says when it was asked; nothing if there was no one
/// to ask, or nothing to stop.
pub(super) fn stop(binary: &Path, dir: &Path, moment: Moment) -> Outcome<Option<Instant>> {
    if moment.kind == Kind::Anytime {
        thread::sleep(moment.delay);
        return by_command(binary, dir);
    }
    let before = ends(dir);
    let mut connected = None;
    let until = Instant::now() + BEGINNING;
    while connected.is_none() && Instant::now() < until {
        connected = socket(dir).and_then(|path| UnixStream::connect(path).ok());
        thread::sleep(GLANCE / 4);
    }
    let Some(connected) = connected else { return Ok(None) };
    let until = Instant::now() + Duration::from_millis(LONGEST_MS);
    while moment.kind == Kind::AfterAnEnd && ends(dir) == before && Instant::now() < until {
        thread::yield_now();
    }
    thread::sleep(moment.delay);
    by_socket(connected)
}

fn by_command(binary: &Path, dir: &Path) -> Outcome<Option<Instant>> {
    let until = Instant::now() + BEGINNING;
    loop {
        let asked = Instant::now();
        let mut command = Command::new(binary);
        command.args(["stop", "--now"]).arg(session(dir)).current_dir(dir).stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("{}: {error}", binary.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => return Ok(Some(asked)),
            Some(2) => return Ok(None),
            // It begins or ends, and says: ask again.
            Some(74) if said.contains("does not listen") && asked < until => thread::sleep(GLANCE),
            _ => return Err(format!("`stop --now` ended with {}: {said}", output.status)),
        }
    }
}

fn by_socket(mut connected: UnixStream) -> Outcome<Option<Instant>> {
    let asked = Instant::now();
    connected.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
    // One that is ending does not listen any more.
    connected.write_all(b"{\"version\":1,\"request\":\"stop\"}\n").ok();
    let mut answer = String::new();
    BufReader::new(connected).read_line(&mut answer).ok();
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    Ok((answer["stage"].is_string() && answer["refused"].is_null()).then_some(asked))
}

/// The control socket of the only run.
fn socket(dir: &Path) -> Option<PathBuf> {
    let run = fs::read_dir(runs(dir)).ok()?.flatten().map(|entry| entry.path()).find(|path| path.is_dir())?;
    Some(run.join(".executor/control"))
}

/// How many workers have said that they end.
fn ends(dir: &Path) -> usize {
    let log = fs::read_to_string(dir.join("log")).unwrap_or_default();
    log.lines().filter(|line| line.ends_with(" end")).count()
}
