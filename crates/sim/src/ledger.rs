//! The lines of a keeper's ledger, written and read with the program's own code.

use std::collections::BTreeMap;

use team_executor_agents::Exit;
use team_executor_agents::exit::Printed;
use team_executor_agents::ledger::{Entry, entries};
use team_executor_core::run::Work;

use crate::worker::End;

/// The name of an attempt.
pub(crate) fn key(work: Work) -> String {
    format!("simulated/T{}/{}", work.task.0, work.attempt)
}

/// What a line is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Line {
    /// An attempt begins.
    Started,
    /// Its worker has ended, and something of it is left.
    Exited(End),
    /// Nothing of it is left.
    Ended(End),
}

/// One line.
pub(crate) fn line(work: Work, line: Line) -> String {
    let entry = match line {
        Line::Started => Entry::Started { key: key(work), keeper: 1, cgroup: None, folder: None, proof: None },
        Line::Exited(end) => Entry::Exited(exit(work, end)),
        Line::Ended(end) => Entry::Ended(exit(work, end)),
    };
    entry.line().unwrap_or_default()
}

/// How an attempt ended, as its keeper tells it.
pub(crate) fn exit(work: Work, end: End) -> Exit {
    Exit {
        key: key(work),
        ended: end.ended(),
        well: false,
        started_at: 0,
        ended_at: 0,
        ran_ms: 0,
        out: Printed::default(),
        err: Printed::default(),
        first_output_ms: None,
        leaked: 0,
        last_line: None,
        artifacts: 0,
        undurable: None,
        aside: None,
        copied: None,
    }
}

/// How attempts ended by what a ledger says.
pub(crate) fn read(ledger: &[u8]) -> BTreeMap<String, Exit> {
    let ended = entries(ledger).filter_map(|entry| match entry {
        Entry::Started { .. } => None,
        Entry::Exited(exit) | Entry::Ended(exit) => Some((exit.key.clone(), exit)),
    });
    ended.collect()
}
