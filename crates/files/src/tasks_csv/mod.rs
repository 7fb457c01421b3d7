//! `tasks.csv`: the `tasks-csv` dialect, and the tables that are made from it for a wave and for people.
//!
//! The reader is tolerant, the writer strict. Columns outside the format are ignored here, and survive.

mod cells;
mod columns;
mod details;
mod odd;
mod patch;
mod read;
mod replan;
#[cfg(test)]
mod tests;
mod wave;
mod write;

pub(crate) use columns::JOB;
pub use columns::{ROW, SHAPE};
pub(crate) use odd::corrupt;
pub use patch::patch;
pub(crate) use read::findings_by_id;
pub use read::{ABOUT, read};
pub(crate) use replan::replan;
pub use wave::write_wave;
pub(crate) use write::harmless;
pub use write::{write, write_results};
