//! Files below a folder that is held open. Every file of a session or a run is opened here and nowhere else:
//! no part of a path may be a link, a file must be a regular one, and no open waits for a pipe or a device.
//!
//! [`Dir::file`] is the one function; the rest of [`Dir`] names, moves and lists. [`ours`] does the same by the paths of files
//! of a run, and [`Near`] for many files in one folder.

#![expect(clippy::disallowed_methods, reason = "here and nowhere else")]
#![forbid(unsafe_code)]

mod aside;
mod copy;
mod dir;
pub mod free;
mod how;
mod near;
pub mod ours;
mod words;

pub use dir::Dir;
pub use how::How;
pub use near::Near;
pub use ours::{make_ours, make_shared, open_file, open_ours, open_regular, read_regular};
pub use words::{io_error, is_system_failure, words};
