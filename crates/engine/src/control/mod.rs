//! Requests to a run: one line of JSON through a socket in its private folder while an executor has it, straight into its
//! journal while none has.
//!
//! Reading order: `request` (what can be asked), `answer` (what is answered, in words), `server` (the executor's end of
//! the socket), `subscribers` (those who follow), `client` (the other end), `offline` (without an executor), `question` (what the executor asks).

pub(crate) mod answer;
pub(crate) mod client;
pub(crate) mod offline;
pub(crate) mod question;
pub(crate) mod request;
pub(crate) mod server;
pub(crate) mod subscribers;

pub use answer::Answer;
pub use client::{executor, holder, is_heard, send};
pub use offline::{Target, apply};
pub use question::{ANSWERS, Checkpoints};
pub use request::{Request, ToRetry};

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;

use team_executor_agents::callers;
pub use team_executor_agents::callers::Caller;
use team_executor_store::run_folder::{EXECUTOR, KEEPERS};

use crate::circumstances::LostHost;
use crate::event::AtWork;
use serde::{Deserialize, Serialize};

/// In the executor's folder: the socket.
const SOCKET: &str = "control";
/// Longer lines are refused. As many tasks fit in as a system lets one name in a command.
const LINE_BYTES: usize = 2 << 20;
/// How long a caller waits to learn who it is; it can go on without the answer.
const GLANCE: Duration = Duration::from_secs(2);
/// What both ends speak.
const VERSION: i64 = 1;

/// Where the executor of the run in this folder listens.
pub(crate) fn socket(run: &Path) -> PathBuf {
    run.join(EXECUTOR).join(SOCKET)
}

/// Where the ledgers of the keepers of the run in this folder are.
pub(crate) fn ledgers(run: &Path) -> PathBuf {
    run.join(EXECUTOR).join(KEEPERS)
}

/// The relation of this process to the run in a folder, whatever its environment says. Where it cannot see
/// its keeper, for instance from a namespace of its own, the executor can.
pub fn called_by(run: &Path) -> Caller {
    let seen = callers::this_process(&ledgers(run));
    if matches!(seen, Caller::Worker(_)) {
        return seen;
    }
    match client::send_within(run, &Request::Whose, GLANCE) {
        Ok(Some(Answer { outcome: Ok(attempt), .. })) if !attempt.is_empty() => {
            Caller::Worker(attempt.into_iter().find(|attempt| !attempt.is_empty()))
        }
        _ => seen,
    }
}

/// What workers of the run in this folder are doing, as its executor says; nothing if there is none, or it is busy.
pub(crate) fn activity(run: &Path) -> Going {
    let answer = client::send_within(run, &Request::Activity, GLANCE);
    let lines = answer.ok().flatten().and_then(|answer| answer.outcome.ok()).unwrap_or_default();
    let machine =
        lines.iter().find_map(|line| serde_json::from_str(line).ok().map(|Limited { machine_limit }| machine_limit));
    let bounds = lines.iter().find_map(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    let lost_hosts = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Going {
        at_work: lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect(),
        machine,
        bounds,
        lost_hosts,
    }
}

/// What an executor says about its workers.
#[derive(Debug, Default)]
pub(crate) struct Going {
    /// What they are doing.
    pub(crate) at_work: Vec<AtWork>,
    /// The machine's limit, if the run waits for it.
    pub(crate) machine: Option<u32>,
    /// What bounds the run.
    pub(crate) bounds: Bounds,
    /// Other machines that are lost.
    pub(crate) lost_hosts: Vec<LostHost>,
}

/// What bounds a run, as its executor was started.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Bounds {
    /// How many workers there may be at a time.
    pub(crate) most_workers: u32,
    /// Of each budget of the whole run its measure, what is used of it, and how much there is.
    pub(crate) budgets: Vec<(String, u64, u64)>,
}

#[derive(Deserialize)]
struct Limited {
    machine_limit: u32,
}

/// Tells the executor of the run in this folder how far a worker is. Nothing depends on it, so a failure is not reported.
pub(crate) fn progress(run: &Path, attempt: &str, words: String) {
    client::send_within(run, &Request::Progress { attempt: attempt.to_owned(), words }, GLANCE).ok();
}

/// A request, and who waits for the answer.
#[derive(Debug)]
pub struct Asked {
    /// What is asked for.
    pub request: Request,
    /// To be told when what follows from the request is durable.
    pub reply: Sender<Answer>,
}
