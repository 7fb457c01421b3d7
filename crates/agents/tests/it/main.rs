//! Keepers and workers as real processes. No test waits by the clock: a [`Pulse`](team_executor_testkit::Pulse) tells when
//! a process lives and when it is dead.

#![expect(clippy::disallowed_methods, reason = "tests plant files")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what these helpers cannot do is a failed test"
)]

mod contract;
mod crash;
mod custody;
mod ends;
mod exited;
mod limits;
mod orders;
mod output;
mod pool;
mod stopped;
mod world;
