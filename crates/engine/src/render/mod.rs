//! What people and agents read of a run: rendered files, and the report at its end.

pub(crate) mod run_report;
pub(crate) mod session_status;
pub(crate) mod views;
