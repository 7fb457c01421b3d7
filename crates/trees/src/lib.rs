//! A tree of its own for every attempt, and what attempts changed in theirs as commits of the user's repository.
//!
//! Reading order: [`Repository`] (the user's repository, and what a run is based on), [`names`] (refs and folders), [`Trees`] (the
//! trees of a run: made, and taken back as commits), [`Extras`] and `submodules` (what else is in a tree), `checks` (what a commit may hold), `merge` (what several tasks did, as one commit), `landing` (the branch that
//! the user gets), [`Overview`] (what a run has come to, for those who look), `removal` (when a tree may go).
//!
//! Of the user's repository only objects and refs below `refs/team-executor/` are written, and on landing one branch. Its index, its files,
//! its configuration and its hooks are never written. The refs are the record: each is made once, and is durable before anything builds on
//! it. All calls block; the caller has the lock of the run.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests plant files"))]
#![forbid(unsafe_code)]

mod cache;
mod case;
mod checks;
mod extras;
mod git;
mod landing;
pub mod mark;
mod merge;
pub mod names;
mod overview;
mod removal;
mod repository;
mod snapshot;
mod submodules;
#[cfg(test)]
mod tests;
mod tree;

pub use cache::Donor;
pub use extras::{Extras, Remote};
pub use git::Trouble;
pub use landing::{Land, Landed, Stage};
pub use mark::Mark;
pub use merge::Merged;
pub use overview::{Change, FileChange, Overview, Place, Total};
pub use removal::{Consent, Stored};
pub use repository::{Dirty, Repository};
pub use snapshot::{Aside, Delivered, Scope, Story};
pub use submodules::Submodules;
pub use tree::{Made, Trees};
