//! The built binary, from outside.

mod corpus;
mod fixtures;
mod usage;
