//! What becomes of a run that is over: exported, archived.

pub(crate) mod archive;
pub(crate) mod export;
