//! The Model Context Protocol: what coding agents and other clients can call. Tools check and shape what they are given, and
//! hand it to [`team_executor_app`], which the command line uses too. Nothing is decided here.
//!
//! Reading order: [`stdio`] (how a client is served, and how much of it), [`tool`] (what a tool is and how it
//! answers), [`worker`] (the tools of a worker in a run), [`client`] (those of clients that run teams).

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests plant files"))]
#![forbid(unsafe_code)]

pub mod client;
pub mod stdio;
pub mod tool;
pub mod worker;

pub use rmcp;
