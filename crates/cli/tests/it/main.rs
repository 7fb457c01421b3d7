//! The built binary, from outside.

mod fixtures;
mod usage;
