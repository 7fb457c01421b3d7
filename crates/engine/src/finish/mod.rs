//! After a run: export and archive.

pub(crate) mod archive;
mod changes;
pub(crate) mod export;
pub(crate) mod prune;
