//! A table as a job: each row is the task of one worker, and what the workers report stands behind the row's own cells.
//!
//! Reading order: `template` (an instruction with places for cells), `rows` (the table, and the tasks that it makes),
//! `file` (what a session knows about its job), `output` (the table that comes out).

mod file;
mod output;
mod rows;
mod template;
#[cfg(test)]
mod tests;

pub use file::{FILE, Job};
pub use output::{RowState, write};
pub use rows::{Item, Rows};
pub use template::Template;
