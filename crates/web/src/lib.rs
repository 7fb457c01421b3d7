//! The page: what there is to see of sessions and runs, in a browser on this machine, and the requests that a person sends from
//! there. It reads as `status` does and acts as the commands do, through [`team_executor_app`], so a browser cannot hurt a run.
//!
//! Reading order: [`page`] (the address, its token, and who may use them), `server` (connections and their bounds), `guard`
//! (which requests are heard), `routes` (which there are), `registry` (the runs that can be named), `watched` (one run: how it stands
//! and what changes), `documents`, `tasks`, `rest`, `pictures` and `logs` (what is answered), `acts` (what can be asked of a run), `stream`
//! (what is told without being asked), `assets` (the files of the page, as they were written).

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests plant files"))]
#![forbid(unsafe_code)]

mod acts;
mod answer;
mod assets;
mod documents;
mod guard;
mod logs;
pub mod page;
mod patient;
mod pictures;
mod registry;
mod rest;
mod routes;
mod server;
mod stream;
mod tasks;
mod watched;

pub use page::{Options, Page};
