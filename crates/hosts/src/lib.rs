//! Workers on other machines: hosts, which run keepers for runs elsewhere, and the crew that gives them work over NATS JetStream.
//!
//! Reading order: `wire` (what is said, and under which subjects), `places` and `parcel` (paths and files between two machines),
//! `link` (what is needed of JetStream), [`host()`] (a host; `host_link` is its connection, `taken` what it owes), [`HostsCrew`]
//! (the crew of a run; `leader` is its connection, `roster` who is there, `record` who has what), [`check()`] and [`present`].
//!
//! Invariants of this crate: only the leader decides; a host takes nothing that is not durable on its disk, and forgets nothing
//! that is not durable on the backend; an attempt is known by its key alone, so that whatever comes late, twice or from the wrong
//! host is recognised; no value of an environment travels that was not configured.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests plant files"))]
#![forbid(unsafe_code)]

mod at_home;
mod bell;
mod crew;
mod deliver;
mod host;
mod host_link;
mod leader;
mod link;
mod log_tail;
mod look;
mod parcel;
mod places;
mod record;
mod roster;
mod taken;
mod wire;

pub use crew::{HostsCrew, Sharing};
pub use host::{HostEvent, HostOptions, host};
pub use link::{Address, Trouble};
pub use look::{Checked, Found, Seen, check, present};
pub use wire::{PROTOCOL, Presence};
