//! `cargo xtask mutants`: changes one small thing at a time in the code that runs and guards workers, and lists the changes
//! that no test notices. cargo-mutants makes them; it is a tool of the user's, not a dependency.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::crash::wait;
use crate::shell::{Outcome, command, root, succeeds};

/// What is changed. A mistake in here costs finished work, or leaves processes behind.
const FILES: [&str; 7] = [
    "crates/engine/src/dispatch/dispatcher.rs",
    "crates/engine/src/dispatch/dispatcher/*.rs",
    "crates/engine/src/dispatch/conductor.rs",
    "crates/engine/src/conclude/checking.rs",
    "crates/engine/src/conclude/*.rs",
    "crates/agents/src/keeper/*.rs",
    "crates/agents/src/keepers/*.rs",
];

/// The tests of the built program that survivors of the crate's own tests meet.
const BLACK_BOX: &str = "--test it -- run:: artifacts:: conversations:: crash:: budgets:: faults::shortage";

/// Where cargo-mutants writes what it found; it names this folder itself.
const FOUND: &str = "target/mutants.out";

/// A test run that takes longer hangs, which counts as noticed.
const TEST_SECONDS: u32 = 180;
const BUILD_SECONDS: u32 = 900;

/// Tries every change, or those in some files, until all are tried or the time is over.
pub(crate) fn run(only: Option<&str>, seconds: Option<u64>) -> Outcome {
    if !succeeds("cargo mutants --version") {
        return Err("cargo-mutants is missing\nhelp: cargo install cargo-mutants --locked".to_owned());
    }
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    println!("the tests of each crate");
    let mut is_whole = pass(&first(only), until)?;
    let mut found = Found::read(&root().join(FOUND));
    if is_whole && !found.missed.is_empty() {
        println!("the tests of the built program, for what survived");
        is_whole = pass(&second(only), until)?;
        found = found.with(Found::read(&root().join(FOUND)));
    }
    found.report(is_whole)
}

fn first(only: Option<&str>) -> String {
    let files: Vec<_> = only.map_or(FILES.to_vec(), |only| vec![only]);
    let files: String = files.iter().map(|file| format!(" --file {file}")).collect();
    format!(
        "cargo mutants --workspace --output target --no-shuffle --jobs 1 --baseline skip --timeout {TEST_SECONDS} \
         --build-timeout {BUILD_SECONDS}{files}"
    )
}

/// Only what was not noticed is tried again.
fn second(only: Option<&str>) -> String {
    format!("{} --iterate --test-package team-executor -- {}", first(only), BLACK_BOX)
}

/// Runs cargo-mutants, and says whether it came to its end in time. Its exit code only says that something survived.
fn pass(line: &str, until: Option<Instant>) -> Outcome<bool> {
    println!("{line}");
    let mut process = command(line).process_group(0).spawn().map_err(|error| format!("cargo: {error}"))?;
    let left = until.map_or(Duration::MAX / 4, |until| until.saturating_duration_since(Instant::now()));
    let left = left.min(Duration::from_secs(7 * 24 * 3600));
    if wait(&mut process, left)?.is_some() {
        return Ok(true);
    }
    let ended = kill_process_group(Pid::from_child(&process), Signal::KILL).map_err(std::io::Error::from);
    ended.and_then(|()| process.wait()).map(|_| false).map_err(|error| error.to_string())
}

/// What came of the changes, each by its name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    caught: Vec<String>,
    hung: Vec<String>,
    missed: Vec<String>,
    unviable: Vec<String>,
}

impl Found {
    fn read(folder: &Path) -> Self {
        let names = |file: &str| -> Vec<String> {
            let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
            text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
        };
        let [caught, hung, missed, unviable] = ["caught.txt", "timeout.txt", "missed.txt", "unviable.txt"].map(names);
        Self { caught, hung, missed, unviable }
    }

    /// With what came of the survivors when they met other tests. Those that were not tried again have survived.
    fn with(mut self, again: Self) -> Self {
        self.missed.retain(|name| !again.caught.contains(name) && !again.hung.contains(name));
        self.caught.extend(again.caught);
        self.hung.extend(again.hung);
        self
    }

    fn report(&self, is_whole: bool) -> Outcome {
        let Self { caught, hung, missed, unviable } = self;
        let end = if is_whole { "" } else { "; the time was over before all were tried" };
        missed.iter().for_each(|name| println!("survived: {name}"));
        let [caught, hung, missed, unviable] = [caught, hung, missed, unviable].map(Vec::len);
        println!("{caught} noticed, {hung} more by a hang, {missed} survived, {unviable} do not compile{end}");
        if missed == 0 {
            return Ok(());
        }
        let help = "write a test that fails with it, or say in CONTRIBUTING.md why it changes nothing";
        Err(format!("{missed} changes are noticed by no test\nhelp: {help}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_is_to_be_changed_exists() {
        for pattern in FILES {
            let folder = pattern.trim_end_matches("/*.rs");
            assert!(root().join(folder).exists(), "{pattern}");
        }
    }

    #[test]
    fn survivors_meet_the_tests_of_the_built_program() {
        let line = second(Some("crates/engine/src/conclude/*.rs"));
        assert!(line.contains(" --iterate ") && line.contains(" --file crates/engine/src/conclude/*.rs "), "{line}");
        assert!(
            line.ends_with("-- --test it -- run:: artifacts:: conversations:: crash:: budgets:: faults::shortage"),
            "{line}"
        );
    }

    #[test]
    fn survivors_are_a_failure_unless_other_tests_notice_them() {
        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(dir.path().join(file), text).unwrap();
        write("caught.txt", "a\nb\n");
        assert_eq!(Found::read(dir.path()).report(true), Ok(()));
        write("missed.txt", "c\nd\ne\n");
        let first = Found::read(dir.path());
        assert!(first.report(true).unwrap_err().starts_with("3 changes are noticed by no test"));
        let again = Found { caught: vec!["c".to_owned()], hung: vec!["d".to_owned()], ..Found::default() };
        let both = first.with(again);
        assert_eq!((both.caught.len(), both.hung.len(), both.missed.as_slice()), (3, 1, &["e".to_owned()][..]));
    }
}
