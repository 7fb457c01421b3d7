//! Durable things on disk. Nothing else in the program opens a file of a session.

mod folder;

pub use folder::{DiskFolder, OpenError};
