//! Requests to a run: one line of JSON through a socket in its private folder while an executor has it, straight into its
//! journal while none has.
//!
//! Reading order: [`request`] (what can be asked), [`answer`] (what is answered, in words), `server` (the executor's end of
//! the socket), [`client`] (the other end), [`offline`] (without an executor), `question` (what the executor asks).

pub mod answer;
pub mod client;
pub mod offline;
pub(crate) mod question;
pub mod request;
pub(crate) mod server;

pub use answer::Answer;
pub use client::{holder, is_heard, send};
pub use offline::{Applied, Target, apply};
pub use question::{ANSWERS, Checkpoints};
pub use request::{Permission, Request, Wanted};

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use team_executor_store::run_folder::EXECUTOR;

/// In the executor's folder: the socket.
const SOCKET: &str = "control";
/// Longer lines are refused. As many tasks fit in as a system lets one name in a command.
const LINE_BYTES: usize = 2 << 20;
/// What both ends speak.
const VERSION: i64 = 1;

/// Where the executor of the run in this folder listens.
pub(crate) fn socket(run: &Path) -> PathBuf {
    run.join(EXECUTOR).join(SOCKET)
}

/// A request, and who waits for the answer.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    /// To be told when what follows from the request is durable.
    pub(crate) reply: Sender<Answer>,
}
