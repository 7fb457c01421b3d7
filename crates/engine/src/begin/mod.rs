//! How a run begins or goes on: its folder, lock and journal, what was planned, and what a person edited meanwhile.

pub(crate) mod edits;
pub(crate) mod hold;
pub(crate) mod layout;
pub(crate) mod plan;
pub mod remembered;
pub(crate) mod replay;
pub(crate) mod run_at;
