//! `cargo xtask flakes`: runs every test again and again beside busy loops, and lists the tests that do not always pass. What a
//! failed run printed is kept in `target/flakes/`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::crash::wait;
use crate::shell::{Outcome, command, root};

/// Where the output of failed runs is kept.
const KEPT: &str = "target/flakes";
/// A binary that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(1200);
/// The name in the table for a binary that did not end as tests do.
const WHOLE: &str = "(the whole binary)";

/// How often, how long, and beside how many busy loops.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// How often all tests are run
    #[arg(long, value_name = "N", default_value_t = 50)]
    runs: u64,
    /// Stop after this many seconds
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// How many busy loops run beside the tests
    #[arg(long, value_name = "L", default_value_t = 2)]
    load: usize,
    /// Seed of the first run for random tests; each run takes the next one
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Only tests with this in their name
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// A test binary that was built.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Binary {
    /// Its package and target.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The folder that its tests run in.
    pub(crate) folder: PathBuf,
}

/// What came of all runs.
#[derive(Debug, Default)]
struct Tally {
    /// Whole ones.
    runs: u64,
    begun: u64,
    passed: u64,
    failed: u64,
    /// For each test that failed, the runs in which it did.
    failures: BTreeMap<String, Vec<u64>>,
}

/// Runs all tests as often as is wanted, or until the time is over.
pub(crate) fn run(choice: &Choice) -> Outcome {
    let binaries = build()?;
    let kept = root().join(KEPT);
    fs::create_dir_all(&kept).map_err(|error| format!("{KEPT}: {error}"))?;
    let until = choice.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let _load = Load::begin(choice.load);
    let began = Instant::now();
    let mut tally = Tally::default();
    'runs: for nth in 1..=choice.runs {
        tally.begun = nth;
        for binary in &binaries {
            let output = kept.join(format!("{nth}-{}.txt", binary.name.replace('/', "-")));
            let Some(ended) = once(binary, choice, nth, &output, until)? else { break 'runs };
            let text = fs::read_to_string(&output).unwrap_or_default();
            if tally.note(&binary.name, nth, &text, ended) {
                fs::remove_file(&output).map_err(|error| format!("{}: {error}", output.display()))?;
            }
        }
        tally.runs = nth;
        let seconds = began.elapsed().as_secs();
        println!("run {nth} of {}: {} passed, {} failed, {seconds} s", choice.runs, tally.passed, tally.failed);
    }
    tally.report(choice, began)
}

/// Builds the tests, and says where they are.
fn build() -> Outcome<Vec<Binary>> {
    let line = "cargo test --workspace --lib --bins --tests --no-run --message-format json";
    let built = command(line).stderr(Stdio::inherit()).output();
    let built = built.map_err(|error| format!("cargo could not be started: {error}"))?;
    if !built.status.success() {
        return Err("the tests cannot be built\nhelp: cargo test --workspace --no-run says why".to_owned());
    }
    let binaries: Vec<_> = String::from_utf8_lossy(&built.stdout).lines().filter_map(Binary::parse).collect();
    if binaries.is_empty() { Err("there are no tests".to_owned()) } else { Ok(binaries) }
}

impl Binary {
    /// The test binary that a line of cargo is about.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_test = message["profile"]["test"] == true;
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
        let name = format!("{}/{}", folder.file_name()?.to_str()?, message["target"]["name"].as_str()?);
        let path = message["executable"].as_str().filter(|_| is_test)?.into();
        Some(Self { name, path, folder: folder.to_owned() })
    }
}

/// Runs a binary, and says whether it ended by itself; nothing if the time was over before.
fn once(binary: &Binary, choice: &Choice, nth: u64, output: &Path, until: Option<Instant>) -> Outcome<Option<bool>> {
    let text = |error: std::io::Error| format!("{}: {error}", output.display());
    let out = File::create(output).map_err(text)?;
    let mut command = Command::new(&binary.path);
    command.args(&choice.only).current_dir(&binary.folder).env("CARGO_MANIFEST_DIR", &binary.folder);
    command.env("PROPTEST_RNG_SEED", (choice.seed + nth - 1).to_string());
    command.stdin(Stdio::null()).stdout(out.try_clone().map_err(text)?).stderr(out).process_group(0);
    let mut process = command.spawn().map_err(|error| format!("{}: {error}", binary.path.display()))?;
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let is_short = left.is_some_and(|left| left < PATIENCE);
    if wait(&mut process, left.unwrap_or(PATIENCE).min(PATIENCE))?.is_some() {
        return Ok(Some(true));
    }
    let ended = kill_process_group(Pid::from_child(&process), Signal::KILL).map_err(std::io::Error::from);
    ended.and_then(|()| process.wait()).map_err(|error| error.to_string())?;
    if is_short {
        fs::remove_file(output).map_err(text)?;
        return Ok(None);
    }
    Ok(Some(false))
}

impl Tally {
    /// Counts what a binary printed, and says whether all of its tests passed.
    fn note(&mut self, binary: &str, nth: u64, text: &str, has_ended: bool) -> bool {
        let result = text.lines().find_map(|line| line.strip_prefix("test result: ")).filter(|_| has_ended);
        let count = |what: &str| -> u64 {
            let words = result.unwrap_or_default().split(';').find(|part| part.trim_end().ends_with(what));
            words.and_then(|part| part.split_whitespace().rev().nth(1)?.parse().ok()).unwrap_or(0)
        };
        self.passed += count("passed");
        self.failed += count("failed");
        let failed = |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
        let mut failures: Vec<String> = text.lines().filter_map(failed).collect();
        if result.is_none() {
            self.failed += 1;
            failures.push(WHOLE.to_owned());
        }
        for test in &failures {
            self.failures.entry(format!("{binary} {test}")).or_default().push(nth);
        }
        failures.is_empty()
    }

    fn report(&self, choice: &Choice, began: Instant) -> Outcome {
        for (test, runs) in &self.failures {
            let seeds: Vec<_> = runs.iter().map(|nth| format!("{nth} (seed {})", choice.seed + nth - 1)).collect();
            println!("{test}\n    failed in {} of {} runs: {}", runs.len(), self.begun, seeds.join(", "));
        }
        let Self { runs, passed, failed, failures, .. } = self;
        let (seconds, load) = (began.elapsed().as_secs(), choice.load);
        println!(
            "{runs} whole runs in {seconds} s beside {load} busy loops: {passed} passed, {failed} failed, {} tests do not always pass",
            failures.len()
        );
        let kept =
            format!("what they printed is in {KEPT}; again: cargo xtask flakes --runs 1 --seed SEED --only NAME");
        if failures.is_empty() {
            Ok(())
        } else {
            Err(format!("{} tests do not always pass\nhelp: {kept}", failures.len()))
        }
    }
}

/// Loops that keep the machine busy until this is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn begin(count: usize) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        for _ in 0..count {
            let over = Arc::clone(&over);
            thread::spawn(move || while !over.load(Ordering::Relaxed) {});
        }
        Self(over)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_binaries_are_told_from_other_messages() {
        let message = |is_test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/p/crates/cli/Cargo.toml","target":{{"name":"it"}},
                "profile":{{"test":{is_test}}},"executable":"/p/target/debug/deps/it-1"}}"#
            )
        };
        let folder = PathBuf::from("/p/crates/cli");
        let path = PathBuf::from("/p/target/debug/deps/it-1");
        assert_eq!(Binary::parse(&message(true)), Some(Binary { name: "cli/it".to_owned(), path, folder }));
        assert_eq!(Binary::parse(&message(false)), None);
        assert_eq!(Binary::parse("no JSON"), None);
    }

    #[test]
    fn failures_are_counted_by_test_and_run() {
        let mut tally = Tally::default();
        let good = "test a::b ... ok\ntest result: ok. 5 passed; 0 failed; 0 ignored; 0 measured\n";
        assert!(tally.note("cli/it", 1, good, true));
        let bad = "test a::b ... FAILED\ntest result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured\n";
        assert!(!tally.note("cli/it", 2, bad, true) && !tally.note("cli/it", 3, bad, true));
        assert!(!tally.note("cli/it", 4, "test a::c ... ok\n", false), "it hangs");
        assert!(!tally.note("cli/it", 5, "", true), "it crashed");
        assert_eq!((tally.passed, tally.failed), (13, 4));
        let expected = [("cli/it (the whole binary)".to_owned(), vec![4, 5]), ("cli/it a::b".to_owned(), vec![2, 3])];
        assert_eq!(tally.failures, expected.into());
    }
}
