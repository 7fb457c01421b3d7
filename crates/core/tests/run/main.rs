//! The rules of a run against a slow and obvious oracle, through crashes at every point; complete tables of the small
//! decisions; and what the schedule costs.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod added;
mod beats;
mod budgets;
mod cancels;
mod chains;
mod cost;
mod drive;
mod edits;
mod judging;
mod limits;
mod oracle;
mod parts;
mod plan;
mod random;
mod replans;
mod shortage;
mod tables;
mod times;
mod waves;
mod world;
