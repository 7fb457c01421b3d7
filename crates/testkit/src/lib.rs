//! What tests of the built program share: a throw-away [`World`] to run it in, a printable [`Run`], a [`Tree`] that shows
//! whether anything on disk changed, a [`Diary`] of what workers did, and a [`fake_agent()`] whose life and death are seen by
//! a [`Pulse`] and led by a [`Gate`], a [`Terminal`] with a person at it, and a [`Screen`] as such a person sees it; a
//! [`RealAgent`] and a [`Chromium`] where one is installed, and the [`ScriptedModel`] that it is given; a [`Nats`] server. Nothing is waited for without a limit
//! ([`limited`]).
//!
//! For tests only. It knows nothing of what the program does, and nothing of the machine gets in: no environment
//! variable, no home folder, no terminal. A world that cannot be set up is a failed test, so these functions panic where
//! others return errors.

#![forbid(unsafe_code)]
#![expect(clippy::panic, reason = "a test whose world cannot be set up has failed")]

mod browser;
mod built;
mod diary;
mod glass;
mod lacks;
pub mod limited;
mod model;
mod nats;
mod pulse;
mod real_agent;
mod run;
mod screen;
mod scripted_model;
mod signals;
mod terminal;
mod tree;
mod world;

pub use browser::{Chromium, modules};
pub use built::{fake_agent, xtask};
pub use diary::Diary;
pub use glass::Glass;
pub use lacks::lacks;
pub use model::serve as serve_model;
pub use nats::{Listener, Nats};
pub use pulse::{Gate, Pulse};
pub use real_agent::{RealAgent, Recipe};
pub use run::Run;
pub use screen::Screen;
pub use scripted_model::{Asked, ScriptedModel};
pub use signals::usual_signals;
pub use terminal::Terminal;
pub use tree::Tree;
pub use world::World;

use std::fmt;
use std::io;
use std::path::Path;

/// The value, or a panic that names the path.
#[track_caller]
fn must<T>(doing: impl fmt::Display, path: &Path, result: io::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("{doing} {}: {error}", path.display()))
}
