//! A deterministic simulator of whole runs: the real dispatcher, rules, journal, lock and files on a simulated disk, with simulated
//! processes, clocks and crashes, and an auditor that looks on from outside. A seed says everything.
//!
//! Reading order: [`scenario`] (what a seed stands for), [`worker`], [`world`], `keeper` and `trouble` (the machine), `incarnation`,
//! `crew` and `desk` (one executor: the program's own loop with simulated surroundings), [`one`] (executors and crashes until a run is over), [`audit`] (what must hold),
//! [`campaign`] (many runs).

#![forbid(unsafe_code)]

pub mod audit;
pub mod campaign;
pub mod chance;
mod crew;
mod desk;
mod incarnation;
mod keeper;
mod ledger;
pub mod one;
pub mod replan;
pub mod scenario;
mod trouble;
pub mod worker;
pub mod world;
