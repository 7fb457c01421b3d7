//! The built binary, from outside.

mod corpus;
mod fixtures;
mod sentences;
mod usage;
