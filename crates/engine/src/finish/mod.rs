//! What becomes of a run that is over: exported, archived.

pub mod archive;
pub mod export;
