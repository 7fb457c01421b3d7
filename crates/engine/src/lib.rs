//! Joins the rules, the disk and the workers: one dispatcher owns the state of a run, everything else sends it messages.
//!
//! Reading order, along the life of a run: `options` (what is run, and how), `begin` (its folder, lock and journal),
//! `prepare` (what an attempt is given), `dispatch` (the loop, and the seams where work is done), `conclude` (what an attempt
//! ended as), `cost` (what it used), `render` (the files that people read), `finish` (export and archive). Around these:
//! [`event`] (what happened, for all who watch), [`control`] (requests to a run), [`bus`] (messages of workers and people), `status`
//! and [`runs`] (a look at a run), [`doctor`] (the machine and a run's files).

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests plant files"))]
#![forbid(unsafe_code)]

mod attempt_times;
mod begin;
pub mod bus;
mod circumstances;
mod clock;
mod conclude;
pub mod control;
mod cost;
mod diagnostics;
mod dispatch;
pub mod doctor;
pub mod event;
mod finish;
mod options;
mod prepare;
mod render;
pub mod runs;
pub mod seam;
pub mod shell;
mod status;
pub mod trees;

pub use attempt_times::AttemptTimes;
pub use begin::remembered;
pub use begin::replay::{finished, rules};
pub use conclude::artifacts;
pub use conclude::wisdom::Book;
pub use cost::budget::{Halted, amount};
pub use cost::prices::{Price, Prices};
pub use cost::usage;
pub use dispatch::dispatcher::run;
pub use event::Event;
pub use finish::archive::{Archived, Archiving, Which, archive};
pub use finish::export::{Exported, export};
pub use finish::prune::{Freed, Prunable, Pruning, Taken};
pub use options::{Failure, Options};
pub use prepare::job;
pub use prepare::newcomer::{Choice, Chooser};
pub use prepare::talk;
pub use prepare::worker::{Worker, Workers};
pub use render::run_report::{FailedTask, Report, WaveReport, seconds, took_words};
pub use render::session_status::keep;
pub use status::{Checkpoint, Running, Status, TaskNote, prompt, status};
