//! Joins the rules, the disk and the workers: one dispatcher owns the state of a run, everything else sends it messages.
//!
//! Reading order: [`options`] and [`worker`] (what is run, how and by whom), [`run_at`] (the run's folder, its lock, its
//! journal), `prompt` and `assign` (what a worker is given), `conclude` and `patience` (what it reports, and what its attempt ends as),
//! [`wisdom`] (what others should know), [`usage`], [`prices`] and [`budget`] (what it used, what that costs, and when that is too much), [`artifacts`] with `checking` (what it
//! delivers), [`job`] (what the rows of a table must report), [`views`] and `layout` (what people and agents read), `adopt`
//! (what a person changed), `replay` (from the journal to the state), [`conductor`] and `dispatcher` (the loop), [`event`]
//! (what happened, for all who watch), [`report`] (how it came out), [`control`] (what others ask), [`bus`] (what
//! workers and people say), [`mod@export`] and [`mod@archive`] (what becomes of a run),
//! [`doctor`] (what can be wrong around a run).

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests plant files"))]
#![forbid(unsafe_code)]

mod adopt;
pub mod archive;
pub mod artifacts;
mod assign;
pub mod budget;
pub mod bus;
mod checking;
mod clock;
mod conclude;
pub mod conductor;
pub mod control;
pub mod crew;
pub mod desk;
mod diagnostics;
pub mod dispatcher;
pub mod doctor;
pub mod event;
pub mod export;
mod following;
pub mod hold;
pub mod inbox;
pub mod job;
mod layout;
mod local_crew;
pub mod options;
mod patience;
mod plan;
pub mod prices;
mod prompt;
mod prompts;
mod replay;
pub mod report;
mod resident;
pub mod run_at;
pub mod runs;
mod session_status;
pub mod shell;
mod signals;
mod status;
pub mod talk;
pub mod usage;
pub mod views;
pub mod wisdom;
pub mod worker;
mod workspace;

pub use archive::{Archived, Archiving, Which, archive};
pub use dispatcher::run;
pub use event::Event;
pub use export::{Exported, export};
pub use options::{Failure, Options};
pub use replay::{finished, rules};
pub use report::Report;
pub use session_status::keep;
pub use status::{Checkpoint, Judged, Running, Status, prompt, status};
pub use worker::{Worker, Workers};
