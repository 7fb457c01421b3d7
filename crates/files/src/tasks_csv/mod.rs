//! `tasks.csv`: the `tasks-csv` dialect, and the tables that are made from it for a wave and for people.
//!
//! The table is read tolerantly and written strictly. What it says beyond the columns of the format is nobody's
//! business here, and survives.

mod cells;
mod columns;
mod odd;
mod read;
#[cfg(test)]
mod tests;
mod wave;
mod write;

pub use columns::{ROW, SHAPE};
pub use read::{ABOUT, read};
pub use wave::{Outcome, read_wave, write_wave};
pub use write::{write, write_results};
