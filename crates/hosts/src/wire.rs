//! What a leader and a host say to each other, and under which subjects. Both may be of different versions of the program:
//! a message of another [`PROTOCOL`] is refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use team_executor_agents::adapters::Usage;
use team_executor_agents::{Assignment, Exit};

use crate::parcel::Parcel;

/// Which messages these are. It changes with anything that another version could misread.
pub const PROTOCOL: u32 = 1;

/// The stream of what hosts say about themselves: the last word of each.
pub(crate) const HOSTS: &str = "TE_HOSTS";
/// The stream of work that no host has taken yet: one message an attempt.
pub(crate) const WORK: &str = "TE_WORK";
/// The stream of how attempts ended.
pub(crate) const ENDS: &str = "TE_ENDS";
/// The stream of what workers print.
pub(crate) const LOGS: &str = "TE_LOGS";
/// The stream of files, in pieces named after what the whole is.
pub(crate) const BLOBS: &str = "TE_BLOBS";

/// A host, as it says itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    /// Which messages it understands.
    pub protocol: u32,
    /// The version of its program.
    pub version: String,
    /// Its name.
    pub host: String,
    /// Which folder it works in: the same after a restart.
    pub home: String,
    /// Which start of it this is.
    pub incarnation: String,
    /// How many workers it runs at once.
    pub slots: usize,
    /// What its user says about it.
    pub labels: BTreeMap<String, String>,
    /// The known agents that it has.
    pub agents: Vec<String>,
    /// The attempts that it runs.
    pub running: Vec<String>,
    /// It takes no more work.
    pub drains: bool,
    /// How long it goes on without the backend before it ends its workers, in milliseconds.
    pub lease_ms: u64,
}

/// An attempt for a host. Its paths are those of the leader; [`crate::places`] makes them the host's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Errand {
    pub(crate) protocol: u32,
    /// The run, by its name on all machines.
    pub(crate) run: String,
    /// What a keeper must know. Of the environment there is the contract and what is configured.
    pub(crate) assignment: Assignment,
    pub(crate) prompt: String,
    /// The folder that workers work in.
    pub(crate) project: PathBuf,
    /// The leader's program.
    pub(crate) exe: PathBuf,
    /// The ledgers of the leader's keepers.
    pub(crate) ledgers: PathBuf,
    /// Where the agent's program is there, and the name that leads to it.
    pub(crate) program: [String; 2],
    /// Variables with configured values.
    pub(crate) env: Vec<(String, String)>,
    /// Names of variables that the host gives it from its own environment.
    pub(crate) pass_env: Vec<String>,
    /// Where it may write its result.
    pub(crate) result: PathBuf,
    /// Files that it reads, below the project.
    pub(crate) files: Parcel,
}

/// How an attempt ended on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) protocol: u32,
    pub(crate) key: String,
    /// Nothing if its keeper died without a word.
    pub(crate) exit: Option<Exit>,
    /// What people should know besides.
    pub(crate) problems: Vec<String>,
    /// How long each of its logs is.
    pub(crate) logs: [u64; 2],
    /// What it handed in and delivered, below the project.
    pub(crate) files: Parcel,
}

/// What a leader asks of a host, besides work. It is asked again until it shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    /// End the worker of this attempt.
    End { key: String },
    /// Nothing more comes of this run: its files on the host can go.
    Over { run: String },
}

/// What a worker is about, said while it works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// What it printed last, for a screen.
    Line(String),
    /// What a known agent has used so far.
    Used(Box<Usage>),
}

/// A message, or where it is because it is too long for one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Envelope<T> {
    Whole(T),
    Blob { sha256: String, bytes: u64 },
}

/// A name as one part of a subject: dots, wildcards and spaces would mean something else there.
pub(crate) fn token(name: &str) -> String {
    name.bytes().fold(String::with_capacity(name.len()), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            text.push(char::from(byte));
        } else {
            let _into_a_string = write!(text, "={byte:02X}");
        }
        text
    })
}

/// The subjects, one function each. Those of a host begin with its name, so that its rights can.
pub(crate) mod subject {
    use super::token;

    pub(crate) fn presence(host: &str) -> String {
        format!("te.p.{}", token(host))
    }

    pub(crate) fn work(host: &str, key: &str) -> String {
        format!("te.w.{}.{}", token(host), token(key))
    }

    pub(crate) fn all_work(host: &str) -> String {
        format!("te.w.{}.>", token(host))
    }

    pub(crate) fn asks(host: &str) -> String {
        format!("te.c.{}", token(host))
    }

    pub(crate) fn end(host: &str, run: &str, key: &str) -> String {
        format!("te.e.{}.{}.{}", token(host), token(run), token(key))
    }

    pub(crate) fn ends_of(run: &str) -> String {
        format!("te.e.*.{}.>", token(run))
    }

    pub(crate) fn log(host: &str, run: &str, key: &str) -> String {
        format!("te.l.{}.{}.{}", token(host), token(run), token(key))
    }

    /// What a worker is about. It is in no stream.
    pub(crate) fn word(host: &str, run: &str, key: &str) -> String {
        format!("te.n.{}.{}.{}", token(host), token(run), token(key))
    }

    pub(crate) fn words_of(run: &str) -> String {
        format!("te.n.*.{}.>", token(run))
    }

    pub(crate) fn logs_of(run: &str) -> String {
        format!("te.l.*.{}.>", token(run))
    }

    pub(crate) fn piece(sha256: &str, nth: u64) -> String {
        format!("te.b.{sha256}.{nth}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_more_than_itself_in_a_subject() {
        assert_eq!(token("EX-a_1"), "EX-a_1");
        assert_eq!(token("r~1f/a.b *>/2"), "r=7E1f=2Fa=2Eb=20=2A=3E=2F2");
        assert_ne!(token("="), token("=3D"), "two names are two tokens");
        assert_eq!(subject::end("h.1", "r", "r/A/1"), "te.e.h=2E1.r.r=2FA=2F1");
    }
}
