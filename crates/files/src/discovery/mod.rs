//! `discoveries/<task_id>.json`: what one task found, written when it is over.

mod check;
mod format;
#[cfg(test)]
mod tests;

pub use check::check_all;
pub use format::{ABOUT, FOLDER, SHAPE, TaskDiscovery, from_value, read, write};
