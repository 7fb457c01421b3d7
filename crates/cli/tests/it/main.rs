//! The built binary, from outside.

mod corpus;
mod fixtures;
mod readme;
mod usage;
