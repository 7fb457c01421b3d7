//! A deterministic simulator of whole runs: the real rules, journal, lock and files on a simulated disk, with simulated
//! processes, clocks and crashes, and an auditor that looks on from outside. A seed says everything.
//!
//! Reading order: [`scenario`] (what a seed stands for), [`worker`], [`world`], `keeper` and `trouble` (the machine), `start` and
//! [`executor`] (one executor), [`one`] (executors and crashes until a run is over), [`audit`] (what must hold),
//! [`campaign`] (many runs).

#![forbid(unsafe_code)]

pub mod audit;
pub mod campaign;
pub mod chance;
pub mod executor;
mod keeper;
mod ledger;
pub mod one;
pub mod scenario;
mod start;
mod trouble;
pub mod worker;
pub mod world;
