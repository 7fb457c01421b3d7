//! The driver: a small process between a keeper and an agent that converses. To the keeper it is the worker;
//! it starts the agent as its child, speaks the agent's protocol, and prints every message that it hears as
//! it came, so that the log of the attempt is the agent's own stream. It lives and dies with the attempt:
//! ending the attempt ends both.
//!
//! Reading order: this file (what a driver is told), `dialogue` (what each protocol can do; `acp`, `claude` and `codex`
//! are the protocols, functions from messages to messages), `peer` (the agent's process), [`door`] (how others reach a
//! conversation), `talk` (the loop that brings them together). `once` runs an agent that does not converse, and asks it for the
//! report that it owes.

mod acp;
mod acp_options;
mod claude;
mod codex;
mod dialogue;
pub mod door;
mod first_start;
mod greeting;
mod once;
mod peer;
mod permission;
mod talk;
#[cfg(test)]
mod tests;

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::adapters::{Adapter, Permissions};
use crate::privacy::conceal;
pub use greeting::{greet, say_once};

/// The argument that makes the program a driver. The next one is its [`Brief`].
pub const ARGUMENT: &str = "__driver";
/// The exit code of a driver that could not begin.
const NOT_BEGUN: u8 = 127;

/// Everything that a driver is told, besides the prompt, which is its input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// Whose protocol is spoken.
    pub adapter: Adapter,
    /// It converses; else it gets its task and ends.
    pub converses: bool,
    /// The agent's program with its arguments.
    pub command: Vec<String>,
    /// The arguments that make it take up a conversation, if it takes that by arguments.
    pub resuming: Vec<String>,
    /// The conversation that it takes up, by the agent's own name for it.
    pub resume: Option<String>,
    /// Which model, where the protocol says that.
    pub model: Option<String>,
    /// How hard the agent thinks, where the protocol says that.
    pub effort: Option<String>,
    /// What the agent may do.
    pub permissions: Permissions,
    /// What it must know besides the prompt, where the protocol says that.
    pub note: String,
    /// The servers of tools that it is given, where the protocol says that.
    pub servers: Vec<Value>,
    /// Where others reach the conversation: a socket that is made.
    pub door: PathBuf,
    /// Where a person is asked, if anybody listens.
    pub control: PathBuf,
    /// The ledgers of the run's keepers. A process below one of these keepers cannot steer the conversation.
    pub ledgers: PathBuf,
    /// Where the agent may write a result, which is a report too.
    pub result: PathBuf,
    /// How it is bounded.
    pub times: Times,
}

/// How a conversation is bounded, in milliseconds; what is not given is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// When the agent is urged to come to an end.
    pub urge_ms: Option<u64>,
    /// How long it then has until it is closed.
    pub converge_ms: u64,
    /// How long a person has to answer a question; then the answer is no.
    pub answer_ms: Option<u64>,
}

impl Brief {
    /// The arguments that make this program such a driver.
    pub fn arguments(&self) -> Vec<String> {
        // It has no keys that are no text, so this cannot fail.
        let told = serde_json::to_string(self).unwrap_or_default();
        vec![ARGUMENT.to_owned(), told]
    }
}

/// Holds a conversation about the prompt on standard input.
pub fn main() -> ExitCode {
    if !began_privately() {
        return ExitCode::from(NOT_BEGUN);
    }
    let brief = std::env::args().nth(2).and_then(|told| serde_json::from_str::<Brief>(&told).ok());
    let mut prompt = String::new();
    let read = io::stdin().read_to_string(&mut prompt);
    let ended = match (brief, read) {
        (None, _) => Err("the driver got no instructions".to_owned()),
        (_, Err(error)) => Err(format!("the prompt cannot be read: {error}")),
        (Some(brief), Ok(_)) if brief.converses => talk::hold(brief, prompt),
        (Some(brief), Ok(_)) => once::hold(&brief, &prompt),
    };
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            let _unheard = writeln!(io::stderr(), "{why}");
            ExitCode::from(NOT_BEGUN)
        }
    }
}

/// Hides the environment of this process. The next executor could not find it by that, so it dies with its keeper.
/// Says whether the keeper was still there when the kernel had been told.
fn began_privately() -> bool {
    let keeper = getppid();
    conceal();
    set_parent_process_death_signal(Some(Signal::KILL)).is_err() || getppid() == keeper
}
