//! The programs of this crate and of `xtask`, built when they are first asked for: tests of another crate do not build them by themselves.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::limited::output_of;

/// A build may have to wait for another one.
const BUILD_LIMIT: Duration = Duration::from_secs(900);

/// The program `fake-agent`. What it can do is said at the top of `src/bin/fake-agent.rs`.
#[track_caller]
pub fn fake_agent() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("fake-agent"))
}

/// The program `scripted-model`.
#[track_caller]
pub(crate) fn scripted_model() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("scripted-model"))
}

/// The chores of the project.
#[track_caller]
pub fn xtask() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("xtask"))
}

#[track_caller]
fn build(name: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--bin", name, "--message-format", "json"]);
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let chores = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/Cargo.toml");
    command.arg("--manifest-path").arg(if name == "xtask" { chores } else { here });
    let Ok(child) = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
        panic!("cargo cannot be run")
    };
    let output = output_of(child, BUILD_LIMIT);
    let messages = String::from_utf8_lossy(&output.stdout);
    let path = messages.split("\"executable\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let errors = String::from_utf8_lossy(&output.stderr);
    path.map_or_else(|| panic!("{name} cannot be built: {errors}"), PathBuf::from)
}
