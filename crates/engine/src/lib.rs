//! Joins the rules, the disk and the workers: one dispatcher owns the state of a run, everything else sends it messages.
//!
//! Reading order, along the life of a run: [`options`] (what is run, and how), [`begin`] (its folder, lock and journal),
//! [`prepare`] (what an attempt is given), [`dispatch`] (the loop, and the seams where work is done), [`conclude`] (what an attempt
//! ended as), [`cost`] (what it used), [`render`] (the files that people read), [`finish`] (export and archive). Around these:
//! [`event`] (what happened, for all who watch), [`control`] (requests to a run), [`bus`] (messages of workers and people), `status`
//! and [`runs`] (a look at a run), [`doctor`] (the machine and a run's files).

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests plant files"))]
#![forbid(unsafe_code)]

pub mod begin;
pub mod bus;
mod clock;
pub mod conclude;
pub mod control;
pub mod cost;
mod diagnostics;
pub mod dispatch;
pub mod doctor;
pub mod event;
pub mod finish;
pub mod options;
pub mod prepare;
pub mod render;
pub mod runs;
pub mod shell;
mod status;

pub use begin::replay::{finished, rules};
pub use dispatch::dispatcher::run;
pub use event::Event;
pub use finish::archive::{Archived, Archiving, Which, archive};
pub use finish::export::{Exported, export};
pub use options::{Failure, Options};
pub use prepare::worker::{Worker, Workers};
pub use render::run_report::Report;
pub use render::session_status::keep;
pub use status::{Checkpoint, Running, Status, TaskNote, prompt, status};
