//! What an executor and a keeper say to each other: one JSON object per line, requests one way and answers the other.
//! Both are always the same program, so the two sides cannot be of different versions.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::adapters::{Adapter, Usage};
use crate::exit::Exit;

/// One attempt at one task: everything that a keeper must know to run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Names the attempt for ever: `<run>/<task>/<attempt>`.
    pub key: String,
    /// A path, or a name that is looked for in the `PATH` of `env`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Where it works.
    pub cwd: PathBuf,
    /// The file that it reads as its input; without one there is nothing to read.
    pub stdin: Option<PathBuf>,
    /// How long it may take.
    pub limits: Limits,
    /// Where its standard output and its standard error go, once there is any.
    pub logs: [PathBuf; 2],
    /// How many bytes of each output stream are kept: half of them from its start, half from its end.
    pub output_cap: u64,
    /// The folder that it delivers to, which is made; the folder above must be there.
    pub artifacts: Option<PathBuf>,
    /// Where what stands in the place of that folder is moved to: it is nothing that this worker delivered.
    pub aside: PathBuf,
    /// What becomes of what is in that folder.
    pub leftover: Leftover,
    /// Whose events it prints, if it is a known agent: these are counted.
    pub adapter: Option<Adapter>,
    /// What it holds of the machine's limit, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<PathBuf>,
}

/// What becomes of what is in the folder of a worker that starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leftover {
    /// It is moved aside.
    #[default]
    Moves,
    /// It stays: the worker takes up the conversation in which it was delivered.
    Stays,
    /// It stays likewise. It was not accepted, and the worker changes it, so a copy is made aside.
    StaysCopied,
}

/// How long a worker may take, in milliseconds; what is not given is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Until it prints anything.
    pub first_output_ms: Option<u64>,
    /// Between two outputs.
    pub idle_ms: Option<u64>,
    /// In all.
    pub total_ms: Option<u64>,
    /// Between being asked to end and being killed; without it, it is killed at once.
    pub grace_ms: Option<u64>,
    /// After being urged to come to an end, for one that converses; without it, it is not urged.
    pub converge_ms: Option<u64>,
    /// For a person to say whether it may do what it asks for.
    pub answer_ms: Option<u64>,
}

/// What the executor asks of a keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Run this worker.
    Run(Box<Assignment>),
    /// End this worker and all that it started.
    End {
        /// Of the attempt; any other is left alone.
        key: String,
    },
    /// End what runs, then the keeper.
    Close {},
}

/// What a keeper tells the executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeeperMessage {
    /// What it printed last, for a screen; lines are left out when they come fast.
    Line {
        /// Of the attempt.
        key: String,
        /// One line without control characters.
        text: String,
    },
    /// What a known agent has used so far.
    Used {
        /// Of the attempt.
        key: String,
        /// How much.
        usage: Box<Usage>,
    },
    /// The worker and all that it started are gone.
    Ended {
        /// How it ended; the ledger holds the same.
        exit: Box<Exit>,
        /// Why the ledger does not hold it, if so.
        unrecorded: Option<String>,
    },
}

/// A message as one line with its end.
pub(crate) fn encode(message: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// The message in a line.
pub(crate) fn decode<T: DeserializeOwned>(line: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_one_line_named_by_its_kind() {
        let line = |request: &Request| String::from_utf8(encode(request).unwrap()).unwrap();
        assert_eq!(line(&Request::Close {}), "{\"close\":{}}\n");
        assert_eq!(line(&Request::End { key: "r/a\nb/1".into() }), "{\"end\":{\"key\":\"r/a\\nb/1\"}}\n");
    }

    #[test]
    fn invalid_message_is_an_error() {
        for line in ["", "{}", "{\"run\":{}}", "{\"end\":{}}", "[", "\u{0}"] {
            assert!(decode::<Request>(line.as_bytes()).is_err(), "{line}");
        }
    }
}
