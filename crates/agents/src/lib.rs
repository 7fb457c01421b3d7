//! Workers: starting them, keeping the whole process tree in custody, and ending it.
//!
//! Reading order: `protocol` (what the executor and a keeper say to each other), [`exit`] (how a worker ended),
//! [`ledger`] (what a keeper writes down), [`keeper`] (the small process that runs one worker at a time), [`Keepers`] (the
//! executor's side of it), [`Harvest`] (what is left after a crash), [`environment`] (what a worker is told), [`json`] (how what it wrote is read), [`rehearsal`] (a worker that only acts), [`adapters`] (known coding agents), [`driver`] (the process
//! that converses with one).
//!
//! Invariants of this crate: it is the only one that starts processes; it never signals a process by a number that was
//! stored; whether a worker lives is told by a lock of the kernel, never by a pid or a clock; nothing that a worker prints
//! is ever a command.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests plant files"))]

pub mod adapters;
mod browser;
pub mod callers;
mod capture;
mod cgroup;
mod custodian;
pub mod driver;
pub mod durable;
pub mod environment;
pub mod exit;
pub mod git;
mod harvest;
pub mod json;
pub mod keeper;
mod keepers;
mod last_line;
pub mod ledger;
mod locks;
mod log_times;
mod oom;
mod open_files;
mod orphans;
mod privacy;
mod probe;
mod processes;
mod protections;
mod protocol;
pub mod rehearsal;
mod seal;
mod seats;
mod stuck;
mod sweep;
pub mod token;
mod trial;
mod unix;
mod untouched;

pub use browser::browse;
pub use cgroup::abandoned;
pub use custodian::Custodian;
pub use exit::{Ended, Exit, Lack, Limit, Obstacle};
pub use harvest::Harvest;
pub use keeper::unfinished_copy;
pub use keepers::{KeeperEvent, Keepers};
pub use last_line::plain;
pub use log_times::LogTimes;
pub use privacy::guard_executor;
pub use probe::{Unusable, probe};
pub use protections::{Protections, protections};
pub use protocol::{Assignment, Leftover, Limits};
pub use seats::{Seat, Seats};
pub use trial::{Answer, ask};
pub use unix::{keep_memory, outlive_large_files, wait_for_children};
