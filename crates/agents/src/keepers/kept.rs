//! One keeper as the executor holds it: its process, the lifeline, and the cgroup around it.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;

use crate::cgroup::Cgroup;
use crate::keeper::ARGUMENT;
use crate::protocol::{Answer, Request, decode, encode};
use crate::sweep::sweep_marked;

/// A keeper.
#[derive(Debug)]
pub(super) struct Kept {
    child: Child,
    /// Its other end is the keeper's lifeline.
    requests: ChildStdin,
    cgroup: Option<Cgroup>,
    /// Tells this keeper from others that had the slot before.
    pub(super) number: u64,
    /// The attempt that it runs.
    pub(super) key: Option<String>,
}

impl Kept {
    /// Starts one. Its answers go to `on_answer`, from a thread of their own; none means that it is gone.
    pub(super) fn start(
        exe: &Path,
        number: u64,
        mut on_answer: impl FnMut(Option<Answer>) + Send + 'static,
    ) -> io::Result<Self> {
        let cgroup = Cgroup::create();
        match Self::spawn(exe, cgroup.as_ref()) {
            Ok((child, requests, answers)) => {
                // A keeper that cannot be taken in works without.
                let cgroup = match cgroup {
                    Some(cgroup) if cgroup.take(child.id()).is_err() => cgroup.remove().err().and(None),
                    cgroup => cgroup,
                };
                let kept = Self { child, requests, cgroup, number, key: None };
                thread::Builder::new()
                    .name(format!("keeper {number}"))
                    .spawn(move || listen(answers, &mut on_answer))?;
                Ok(kept)
            }
            Err(error) => {
                drop(cgroup.map(Cgroup::remove));
                Err(error)
            }
        }
    }

    /// Whether its process has not ended.
    pub(super) fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it for something.
    pub(super) fn request(&mut self, request: &Request) -> io::Result<()> {
        self.requests.write_all(&encode(request)?)
    }

    /// Puts away a keeper that has ended: ends what it left behind, and says how it ended and whether all is certainly
    /// gone.
    pub(super) fn put_away(self) -> (String, bool) {
        let Self { mut child, requests, cgroup, key, .. } = self;
        drop(requests);
        let reason = match child.wait() {
            Ok(status) => describe(status),
            Err(error) => error.to_string(),
        };
        let Some(key) = key else {
            // Nothing ran, so the cgroup is empty; the keeper may have removed it already.
            drop(cgroup.map(Cgroup::remove));
            return (reason, true);
        };
        let is_clean = match cgroup {
            Some(cgroup) => cgroup.kill().and_then(|_| cgroup.remove()).is_ok(),
            None => false,
        };
        let _as_far_as_found = if is_clean { Ok(0) } else { sweep_marked(&key) };
        (reason, is_clean)
    }

    fn spawn(exe: &Path, cgroup: Option<&Cgroup>) -> io::Result<(Child, ChildStdin, ChildStdout)> {
        let mut command = Command::new(exe);
        command.arg(ARGUMENT).args(cgroup.map(Cgroup::path)).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(answers)) => Ok((child, requests, answers)),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

/// Passes on what a keeper says until it is gone. What cannot be understood ends the listening, and with it the keeper.
fn listen(answers: ChildStdout, on_answer: &mut impl FnMut(Option<Answer>)) {
    let mut answers = BufReader::new(answers);
    let mut line = Vec::new();
    while matches!(answers.read_until(b'\n', &mut line), Ok(1..)) {
        let Ok(answer) = decode(&line) else { break };
        on_answer(Some(answer));
        line.clear();
    }
    on_answer(None);
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("the keeper ended with code {code}"),
        (None, signal) => format!("the keeper was killed by signal {}", signal.unwrap_or_default()),
    }
}
