//! Several machines: hosts that run workers for runs elsewhere, and the backend where they meet.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::App;
use crate::config::backend::{self, Reached};
use crate::error::Error;

#[cfg(feature = "nats")]
#[path = "machines/nats.rs"]
mod over;
#[cfg(not(feature = "nats"))]
#[path = "machines/without.rs"]
mod over;

pub(crate) use over::run;

/// How a host is started.
#[derive(Debug, Clone)]
pub struct HostStart {
    /// The backend, if it is named.
    pub backend: Option<String>,
    /// What the host is called; else as the machine.
    pub name: Option<String>,
    /// How many workers it runs at once.
    pub slots: u32,
    /// What its user says about it.
    pub labels: BTreeMap<String, String>,
    /// Where its files are; else below the folder for the state of this program.
    pub workdir: Option<PathBuf>,
    /// How long it goes on without the backend, in milliseconds.
    pub lease_ms: u64,
}

/// What a host tells people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum HostNews {
    /// It reached the backend and takes work.
    Ready {
        /// What it is called.
        host: String,
        /// How many workers it runs at once.
        slots: u32,
        /// The version of the server.
        server: String,
    },
    /// A worker begins.
    Started {
        /// Its attempt.
        attempt: String,
    },
    /// An attempt is over.
    Ended {
        /// Which.
        attempt: String,
        /// How, in words.
        how: String,
    },
    /// Something is wrong.
    Warning {
        /// What.
        message: String,
    },
    /// It takes no more work, and ends when its workers have.
    Draining {
        /// How many these are.
        running: usize,
    },
}

/// A host, as the backend knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostRow {
    /// What it is called.
    pub host: String,
    /// `ready`, `draining`, `missing`, `gone` or `refused`.
    pub state: &'static str,
    /// How many workers it runs at once.
    pub slots: usize,
    /// What its user says about it.
    pub labels: BTreeMap<String, String>,
    /// The known agents that it has.
    pub agents: Vec<String>,
    /// The attempts that it runs.
    pub running: Vec<String>,
    /// How many milliseconds ago it was heard of.
    pub seen_ms: u64,
    /// The version of its program.
    pub version: String,
}

/// One thing that was checked of a backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackendCheck {
    /// What.
    pub check: &'static str,
    /// `good`, `note` or `bad`.
    pub result: &'static str,
    /// In words.
    pub message: String,
}

impl App {
    /// Runs workers for runs elsewhere, until the system asks it to end.
    pub fn host(&self, start: HostStart, tell: &mut dyn FnMut(HostNews)) -> Result<(), Error> {
        over::host(self, &self.must_reach(start.backend.as_deref())?, start, tell)
    }

    /// The hosts that the backend knows of.
    pub fn hosts(&self, backend: Option<&str>) -> Result<Vec<HostRow>, Error> {
        over::hosts(&self.must_reach(backend)?)
    }

    /// Whether the backend is what runs need.
    pub fn check_backend(&self, backend: Option<&str>) -> Result<Vec<BackendCheck>, Error> {
        over::check(&self.must_reach(backend)?)
    }

    fn must_reach(&self, flag: Option<&str>) -> Result<Reached, Error> {
        use team_executor_files::{Code, Finding};
        let config = self.around(None)?.config()?;
        let reached = backend::reached(flag, self.variable(backend::VARIABLE), &config.settings)?;
        reached.ok_or_else(|| {
            let finding = Finding::error(Code::Usage, "no backend is named");
            let finding = finding.help("name it: --backend nats://HOST:PORT, or TEAM_EXECUTOR_BACKEND");
            finding.help("or write it into your own file: [backend] url = \"nats://HOST:PORT\"").into()
        })
    }
}

/// How the work of a run is shared.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "nats"), expect(dead_code, reason = "such a build refuses before it reads them"))]
pub(crate) struct Sharing {
    pub(crate) backend: Reached,
    /// How many workers there are on this machine.
    pub(crate) local: u32,
}
