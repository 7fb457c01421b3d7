//! The processes of a run, as the system shows them.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::GLANCE;
use crate::shell::Outcome;

/// A variable of the executor's environment that names the folder of the run.
pub(crate) const MARK: &str = "CRASH_RUN";

/// The processes that belong to one run: they name its folder in their environment, or in their arguments as keepers do.
#[derive(Debug)]
pub(crate) struct Mark {
    folder: Vec<u8>,
}

impl Mark {
    /// Of the run in this folder.
    pub(crate) fn new(dir: &Path) -> Self {
        Self { folder: dir.as_os_str().as_encoded_bytes().to_vec() }
    }

    /// No worker is there at this moment.
    pub(crate) fn no_worker_lives(&self) -> Outcome {
        let found = self.living(|environment| has(environment, b"TEAM_EXECUTOR_RUN="));
        if found.is_empty() { Ok(()) } else { Err(format!("the run is over and workers live: {}", found.join(", "))) }
    }

    /// No process is there, after this time at the latest.
    pub(crate) fn all_end(&self, within: Duration) -> Outcome {
        let until = Instant::now() + within;
        loop {
            let found = self.living(|_| true);
            if found.is_empty() {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(format!("the run is over and processes live: {}", found.join(", ")));
            }
            thread::sleep(GLANCE);
        }
    }

    /// The processes of the run whose environment is such, in words. One that has ended has no environment any more.
    fn living(&self, is_such: impl Fn(&[u8]) -> bool) -> Vec<String> {
        let all = all().into_iter().filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            (has(&environment, &self.folder) || has(&arguments, &self.folder)) && is_such(&environment)
        });
        let shown =
            all.filter_map(|pid| Some(format!("{pid} {}", words(&fs::read(format!("/proc/{pid}/cmdline")).ok()?))));
        shown.collect()
    }
}

/// The keepers of an executor.
pub(crate) fn keepers_of(executor: u32) -> Vec<i32> {
    let is_keeper = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name of the program is in brackets and may hold anything; the second field behind it is the parent.
        let parent = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(1)?.parse().ok());
        let is_child = parent == Some(executor);
        is_child && fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| has(&line, b"__keeper"))
    };
    all().into_iter().filter(is_keeper).collect()
}

/// Kills a process, if it is still there.
pub(crate) fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _gone_already = kill_process(pid, Signal::KILL);
    }
}

fn all() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn words(line: &[u8]) -> String {
    String::from_utf8_lossy(line).replace('\0', " ").trim_end().to_owned()
}
