//! What one can do with sessions and runs, for every face: the command line, MCP and what may come. It prints nothing, reads
//! no terminal, and takes what is around it as values. What it refuses and finds is data; words and colours are a face's.
//!
//! Reading order: [`environment`] (what is around it), [`error`] and [`findings`] (what is refused, what is found), [`open`]
//! (from a name to a session) with `which` and [`sessions`] (which one is meant, which there are), [`config`] (the effective
//! config, with its trust check), [`plan`] (what a run would do) with [`history`] and [`estimate`] (how long, at what cost), [`run`] (starts or continues one), [`rehearse`], [`csv`],
//! [`status`], [`attention`] (what a person must do, what is wrong), [`logs`], [`subscribe`], [`attempts`], [`timeline`] and [`report`] (look at a run), [`changes`] (what its tasks changed in trees), [`asking`] and [`talk`] (ask a run and its agents), [`artifacts`],
//! [`machines`] (hosts, and the backend where they meet), [`putting_away`] (export, archive), [`doctor`], [`init`], [`agents`], [`caller`] (who asks on the bus), [`apart`] and [`process`] (what the
//! program starts of itself).

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests plant files"))]
#![forbid(unsafe_code)]

pub mod agents;
pub mod apart;
mod archived;
pub mod artifacts;
pub mod asking;
pub mod attempts;
pub mod attention;
pub mod caller;
pub mod changes;
mod completing;
pub mod config;
pub mod continued;
pub mod csv;
pub mod doctor;
pub mod environment;
pub mod error;
pub mod escape;
pub mod estimate;
pub mod findings;
pub mod history;
mod hooks;
pub mod init;
pub mod joining;
pub mod left;
pub mod logs;
pub mod machines;
pub mod open;
pub mod part;
pub mod plan;
pub mod process;
pub mod prune;
pub mod putting_away;
pub mod rehearse;
mod remark;
pub mod remembered;
pub mod report;
pub mod run;
pub mod sessions;
pub mod status;
pub mod subscribe;
pub mod talk;
pub mod timeline;
pub mod usage;
pub mod variables;
mod which;
mod words;

use std::sync::Arc;

// The values of a run that faces show and ask with.
pub use team_executor_engine::Book;
pub use team_executor_engine::Halted;
pub use team_executor_engine::control::{ANSWERS, Request, ToRetry, is_heard};
pub use team_executor_engine::{AttemptTimes, Report, Running, Status, TaskNote, bus, event};
pub use team_executor_engine::{FailedTask, WaveReport, seconds, took_words};
pub use team_executor_store::Changes;
pub use team_executor_store::run_folder::{EXECUTOR, JOURNAL};

pub use asking::group;
pub use environment::{Environment, project_of};
pub use error::{Error, Kind};
pub use open::{Opened, Reading};
pub use remark::Remark;
pub use which::Meant;
pub use words::{count, size};

/// What one can do with sessions and runs.
#[derive(Debug, Clone)]
pub struct App {
    env: Arc<Environment>,
}

impl App {
    /// In this environment.
    pub fn new(env: Environment) -> Self {
        Self { env: Arc::new(env) }
    }
}
