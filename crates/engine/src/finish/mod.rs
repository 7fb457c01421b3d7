//! After a run: export and archive.

pub(crate) mod archive;
pub(crate) mod export;
pub(crate) mod prune;
