//! The built binary, from outside.

mod corpus;
mod disk;
mod fixtures;
mod output;
mod schemas;
mod sentences;
mod usage;
