//! The rules of a team run: what a session is, which moves are legal, how tasks depend on each other.
//!
//! Reading order: `ids` and [`time`] (the alphabet), [`task`], `role`, `artifact`, `session`, [`bus`] (the
//! canonical model), [`moves`] (the three state machines), `graph` and `cycles` (what waits for what; `waves`, `near`,
//! `knot`, `cut` and `later` do the work), `complexity` and [`mod@joining`] (who joins by rule; `mention` finds words), `reconcile` and
//! [`plan`] (what a run would do), [`run`] (what a run does, step by step).
//!
//! Invariants of this crate: no files, no clock, no environment, no randomness, no threads, no hash maps with a varying
//! order, no serialisation. Everything is a value, and the same input gives the same output on every machine. Nothing
//! recurses over tasks: a chain of 100,000 tasks is an ordinary session.

#![forbid(unsafe_code)]

// The first crate of ours that is built, so that this is all that is said.
#[cfg(not(target_os = "linux"))]
compile_error!("team-executor runs on Linux only: on macOS build it in a container, on Windows in WSL");

mod artifact;
pub mod bus;
mod complexity;
mod cut;
mod cycles;
pub mod fnv;
mod graph;
mod ids;
mod index;
pub mod joining;
mod knot;
mod later;
mod lists;
mod map;
mod mention;
pub mod moves;
mod near;
pub mod plan;
mod reconcile;
mod role;
pub mod run;
mod session;
pub mod task;
pub mod time;
mod waves;

pub use artifact::{Artifact, ArtifactKind, Validation};
pub use bus::{Checkpoint, CheckpointAction, Discovery, Message};
pub use complexity::{Assessment, Complexity};
pub use cycles::Cycle;
pub use graph::{Edge, Graph, Problem, Sealed, TaskIndex};
pub use ids::{ArtifactId, InvalidId, RoleName, SessionId, TaskId};
pub use joining::{Joining, joining};
pub use moves::IllegalMove;
pub use near::letters_apart;
pub use plan::{Plan, RoleLoad};
pub use reconcile::{Cause, Change, Reconciliation, Unlisting};
pub use role::{InjectionTrigger, Role, RoleKind};
pub use session::{ActiveWorker, CompletionAction, Reported, Session, SessionStatus};
pub use task::{Brief, Detail, ExecMode, Given, Judge, Phase, Position, Priority, RunOn, Task, TaskStatus, Verdict};
pub use time::{Millis, Timestamp};
