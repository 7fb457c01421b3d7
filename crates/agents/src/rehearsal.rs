//! The worker that only rehearses: it takes a time that its task's id decides, calls no model, does no work, and says so in
//! everything that it writes. It is this program once more, run by a keeper like any worker.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use team_executor_beneath::{io_error, open_ours};

/// The first argument of a rehearsing worker.
pub const ARGUMENT: &str = "__rehearsal";
/// What a rehearsing worker leaves among its artifacts.
pub const ARTIFACT: &str = "rehearsal.md";
/// A rehearsed task takes this long at least and at most, in seconds.
pub const SECONDS: (u64, u64) = (30, 90);
/// How many times longer a slow task takes.
pub const SLOWER: u64 = 10;

const SLOW: &str = "slow";
const FAIL: &str = "fail";

/// How a worker rehearses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Manner {
    /// How many rehearsed seconds pass in one.
    pub speed: u32,
    /// It takes [`SLOWER`] times as long.
    pub slow: bool,
    /// It fails.
    pub fails: bool,
}

impl Manner {
    /// The arguments that make this program rehearse in this manner.
    pub fn arguments(self) -> Vec<String> {
        let words = [(true, ARGUMENT), (self.slow, SLOW), (self.fails, FAIL)];
        let words = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word.to_owned());
        words.chain([self.speed.to_string()]).collect()
    }

    fn parse(arguments: &[OsString]) -> Self {
        let has = |word: &str| arguments.iter().any(|argument| argument == word);
        let speed = arguments.last().and_then(|speed| speed.to_str()?.parse().ok());
        Self { speed: speed.unwrap_or(1), slow: has(SLOW), fails: has(FAIL) }
    }
}

/// How long a task takes in a rehearsal: always the same, and different tasks differ.
pub fn duration(task: &str, slow: bool) -> Duration {
    let (least, most) = SECONDS;
    let seconds = least + u64::from(crc32c::crc32c(task.as_bytes())) % (most - least + 1);
    Duration::from_secs(if slow { seconds * SLOWER } else { seconds })
}

/// Rehearses the task in the environment. Its contract is the one of every worker.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(2).collect();
    match perform(Manner::parse(&arguments), |name| std::env::var_os(format!("TEAM_EXECUTOR_{name}"))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If it is not read, the exit status says it.
            writeln!(io::stderr(), "the rehearsal failed: {error}").ok();
            ExitCode::FAILURE
        }
    }
}

fn perform(manner: Manner, contract: impl Fn(&str) -> Option<OsString>) -> io::Result<()> {
    let given = |name: &str| contract(name).ok_or_else(|| io::Error::other(format!("TEAM_EXECUTOR_{name} is not set")));
    let (task, role) = (given("TASK")?, given("ROLE")?);
    let (task, role) = (task.to_string_lossy(), role.to_string_lossy());
    let (artifacts, result) = (PathBuf::from(given("ARTIFACTS")?), PathBuf::from(given("RESULT")?));
    let takes = duration(&task, manner.slow);
    writeln!(io::stdout(), "rehearsing {task}")?;
    std::thread::sleep(takes / manner.speed.max(1));
    let findings = format!("rehearsed, nothing was done: {task} by {role} in {} s", takes.as_secs());
    leave(&artifacts, &task, &role)?;
    let report = if manner.fails {
        json!({ "status": "failed", "error": "rehearsed failure", "findings": findings, "rehearsed": true })
    } else {
        // A supervisor must give a verdict, and a rehearsal passes.
        json!({ "status": "completed", "findings": findings, "rehearsed": true, "supervision_verdict": "pass" })
    };
    write(&result, &report.to_string())
}

fn leave(artifacts: &Path, task: &str, role: &str) -> io::Result<()> {
    let text = format!(
        "# Rehearsed: {task}\n\nA rehearsal of the role {role} left this. No model was called and no work was done.\n"
    );
    write(&artifacts.join(ARTIFACT), &text)
}

/// Makes a file; whatever has its name is set aside.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let folder = open_ours(path.parent().unwrap_or(Path::new("")))?;
    folder.create_or_set_aside(name).map_err(io_error)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn performed(task: &str, fails: bool) -> (String, String) {
        let dir = tempfile::tempdir().unwrap();
        let result = dir.path().join("result.json");
        let contract = |name: &str| match name {
            "TASK" => Some(task.into()),
            "ROLE" => Some("dev".into()),
            "ARTIFACTS" => Some(dir.path().into()),
            "RESULT" => Some(result.clone().into()),
            _ => None,
        };
        perform(Manner { speed: u32::MAX, slow: true, fails }, contract).unwrap();
        let read = |path| std::fs::read_to_string(path).unwrap();
        (read(result.clone()), read(dir.path().join(ARTIFACT)))
    }

    #[test]
    fn everything_that_it_writes_says_that_it_is_rehearsed() {
        let (result, artifact) = performed("任务 \"1\"", false);
        let result: serde_json::Value = serde_json::from_str(&result).unwrap();
        assert_eq!((&result["status"], &result["rehearsed"]), (&json!("completed"), &json!(true)));
        assert!(result["findings"].as_str().unwrap().starts_with("rehearsed, nothing was done: 任务 \"1\" by dev"));
        assert!(artifact.starts_with("# Rehearsed: 任务 \"1\"\n") && artifact.contains("No model was called"));
        let (failed, _) = performed("A", true);
        assert!(failed.contains("\"failed\"") && failed.contains("rehearsed failure"), "{failed}");
    }

    #[test]
    fn a_manner_survives_the_command_line() {
        for (slow, fails) in [(false, false), (true, false), (false, true), (true, true)] {
            let manner = Manner { speed: 250, slow, fails };
            let arguments: Vec<OsString> = manner.arguments().into_iter().skip(1).map(Into::into).collect();
            assert_eq!(Manner::parse(&arguments), manner);
        }
        assert_eq!(Manner::parse(&[]), Manner { speed: 1, slow: false, fails: false });
    }

    #[test]
    fn a_task_takes_its_own_time() {
        let seconds = |task| duration(task, false).as_secs();
        assert_eq!(seconds("A") * SLOWER, duration("A", true).as_secs());
        assert_ne!(seconds("IMPL-001"), seconds("IMPL-002"));
        assert!(["", "A", "任务"].map(seconds).iter().all(|one| (SECONDS.0..=SECONDS.1).contains(one)));
    }

    #[test]
    fn missing_contract_variable_is_named() {
        let error = perform(Manner::parse(&[]), |_| None).unwrap_err();
        assert_eq!(error.to_string(), "TEAM_EXECUTOR_TASK is not set");
    }
}
