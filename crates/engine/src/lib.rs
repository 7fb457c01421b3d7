//! Joins the rules, the disk and the workers: one dispatcher owns the state of a run, everything else sends it messages.
//!
//! Reading order: [`options`] and [`worker`] (what is run, how and by whom), [`run_at`] (the run's folder, its lock, its journal), `prompt` and
//! `assign` (what a worker is given), `views`, `discovery` and `layout` (what people and agents read), `replay` (from the
//! journal to the state), `dispatcher` (the loop), [`notice`] (what faces are told), [`report`] (how it came out), [`control`]
//! (what others ask).

mod assign;
mod clock;
pub mod conductor;
pub mod control;
mod discovery;
mod dispatcher;
mod inbox;
mod layout;
pub mod notice;
pub mod options;
mod outcome;
mod prompt;
mod prompts;
mod replay;
pub mod report;
pub mod run_at;
pub mod runs;
mod status;
mod views;
pub mod worker;

pub use dispatcher::run;
pub use notice::Notice;
pub use options::{Failure, Options};
pub use report::Report;
pub use status::{Running, Status, prompt, status};
pub use worker::{Worker, Workers};
