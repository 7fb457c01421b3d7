//! The built binary, from outside.

mod fixtures;
mod sentences;
mod usage;
