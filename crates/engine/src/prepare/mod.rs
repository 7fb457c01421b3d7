//! What an attempt is given: its prompt, its contract, its conversation, its working folder, the row that it must report.

pub(crate) mod assign;
pub mod job;
pub(crate) mod newcomer;
pub(crate) mod paths;
pub(crate) mod prompt;
pub(crate) mod resident;
pub(crate) mod slot_prompts;
pub mod talk;
pub(crate) mod worker;
pub(crate) mod workspace;
