//! One keeper as the executor holds it: its process, the lifeline, its ledger, and the cgroup around it.

#![expect(clippy::disallowed_methods, reason = "files of the kernel and of the machine, none of a run")]

use std::ffi::CString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, kill_process, waitid, waitpid};

use crate::callers;
use crate::cgroup::Cgroup;
use crate::exit::Exit;
use crate::keeper::{ARGUMENT, GAVE_UP, complete};
use crate::ledger;
use crate::open_files;
use crate::orphans;
use crate::protocol::{Assignment, KeeperMessage, Request, decode, encode};
use crate::sweep::sweep_marked;
use crate::unix::{Program, start_within, variable};

/// Where a program finds its libraries, for one that was installed in an odd place.
const LOADER: &str = "LD_LIBRARY_PATH";

/// A keeper that was found stopped more often than this without a pause is not woken again.
const MOST_STOPS: u32 = 5;

/// A keeper.
#[derive(Debug)]
pub(super) struct Kept {
    /// Its number, which is its own until it has ended and that is known.
    pid: Pid,
    ended: Option<WaitStatus>,
    /// Its other end is the keeper's lifeline. Nothing if something could not be said by it.
    requests: Option<PipeWriter>,
    answers: PipeReader,
    /// Of an answer that has not come whole.
    part: Vec<u8>,
    ledger: PathBuf,
    cgroup: Option<Cgroup>,
    /// How long its worker has to end when it is asked to.
    grace: Duration,
    /// The attempt that it runs.
    pub(super) key: Option<String>,
    /// When it must have answered.
    due: Option<Instant>,
    /// How often it was late.
    late: u32,
    /// How often it was found stopped, one time after the other.
    stops: u32,
    /// The folder that the last of its workers which deliver something delivers to.
    folder: Option<PathBuf>,
    /// Its last worker is one of these.
    is_delivering: bool,
}

/// What became of a keeper's last attempt.
#[derive(Debug)]
pub(super) struct Gone {
    /// How the keeper ended, in words for people.
    pub(super) reason: String,
    /// How the attempt ended, if the keeper wrote that down before.
    pub(super) exit: Option<Exit>,
}

impl Kept {
    /// Starts one.
    pub(super) fn start(exe: &Path, ledger: PathBuf) -> io::Result<Self> {
        let cgroup = Cgroup::create();
        let started = io::pipe().and_then(|(input, requests)| {
            let (answers, output) = io::pipe()?;
            let pid = callers::known(|| begin(exe, &ledger, cgroup.as_ref(), input, output))?;
            Ok((pid, requests, answers))
        });
        match started {
            Ok((pid, requests, answers)) => {
                // It starts nothing before it is asked to.
                open_files::restore(pid);
                let (requests, part) = (Some(requests), Vec::new());
                Ok(Self {
                    pid,
                    ended: None,
                    requests,
                    answers,
                    part,
                    ledger,
                    cgroup,
                    grace: Duration::ZERO,
                    key: None,
                    due: None,
                    late: 0,
                    stops: 0,
                    folder: None,
                    is_delivering: false,
                })
            }
            Err(error) => {
                drop(cgroup.map(Cgroup::remove));
                Err(error)
            }
        }
    }

    /// The folder that the last of its workers which deliver something delivers to.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// What to wait for.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.answers.as_fd()
    }

    /// Whether its process has not ended. One that has must be put away.
    pub(super) fn lives(&mut self) -> bool {
        let ended = wait(self.pid, WaitOptions::NOHANG);
        self.ended = ended.unwrap_or_default();
        matches!(ended, Ok(None))
    }

    /// Asks it to run a worker, and to say how that ended: soon after the worker's time, if it has a limit.
    pub(super) fn run(&mut self, assignment: Assignment, patience: Duration) -> io::Result<()> {
        callers::has(self.pid, Some(&assignment.key));
        let (total, grace) = (assignment.limits.total_ms, assignment.limits.grace_ms.unwrap_or(0));
        let folder = assignment.artifacts.clone();
        self.request(&Request::Run(Box::new(assignment)))?;
        self.is_delivering = folder.is_some();
        self.folder = folder.or_else(|| self.folder.take());
        self.grace = Duration::from_millis(grace);
        let total = total.map(Duration::from_millis);
        (self.due, self.late) = (total.and_then(|total| self.within(total.saturating_add(patience))), 0);
        Ok(())
    }

    /// It has nothing to answer.
    pub(super) fn rest(&mut self) {
        callers::has(self.pid, None);
        (self.due, self.late) = (None, 0);
    }

    /// It must say soon that its worker has ended, or end itself, unless it is late with that already.
    pub(super) fn hurry(&mut self, patience: Duration) {
        if self.late == 0 {
            (self.due, self.late) = (self.within(patience), 1);
        }
    }

    /// Whether something is expected of it.
    pub(super) const fn is_awaited(&self) -> bool {
        self.key.is_some() || self.due.is_some()
    }

    /// When it must have answered.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Does something about one that has not answered in time: it may have been stopped, then it is woken. If that does not
    /// help it is killed, and what it leaves is ended as it is for any keeper that died.
    pub(super) fn rouse(&mut self, now: Instant, patience: Duration) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.due = self.within(patience);
        self.late += 1;
        if self.late == 1 {
            self.wake();
        } else {
            let _gone_already = kill_process(self.pid, Signal::KILL);
        }
    }

    /// Looks whether something has stopped it, wakes it then, and says so. One that is stopped again each time is killed.
    pub(super) fn wake_if_stopped(&mut self) -> bool {
        // The kernel tells each stop once, and only as long as it lasts.
        let stopped = waitid(WaitId::Pid(self.pid), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
        if !matches!(stopped, Ok(Some(_))) {
            self.stops = 0;
            return false;
        }
        self.stops += 1;
        if self.stops > MOST_STOPS {
            let _gone_already = kill_process(self.pid, Signal::KILL);
            return false;
        }
        self.wake();
        true
    }

    /// After some time, and what its worker has to end.
    fn within(&self, time: Duration) -> Option<Instant> {
        Instant::now().checked_add(time.saturating_add(self.grace))
    }

    /// Lets it go on if something has stopped it.
    fn wake(&self) {
        let _gone_already = kill_process(self.pid, Signal::CONT);
    }

    /// Asks it for something. One that cannot be asked is hung up on: it ends its worker, and itself.
    pub(super) fn request(&mut self, request: &Request) -> io::Result<()> {
        let request = encode(request)?;
        // One that is stopped would not read it, and we might wait for that.
        self.wake();
        let Some(requests) = &mut self.requests else { return Err(io::ErrorKind::BrokenPipe.into()) };
        requests.write_all(&request).inspect_err(|_| self.requests = None)
    }

    /// Reads once what it says; there must be something to read. Nothing means that it is gone, or talks nonsense, which
    /// comes to the same.
    pub(super) fn hear(&mut self, buffer: &mut [u8]) -> Option<Vec<KeeperMessage>> {
        let count = match rustix::io::read(&self.answers, &mut *buffer) {
            Err(Errno::INTR | Errno::AGAIN) => return Some(Vec::new()),
            Ok(0) | Err(_) => return None,
            Ok(count) => count,
        };
        self.part.extend_from_slice(&buffer[..count]);
        let end = self.part.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = self.part[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let answers = lines.map(decode).collect::<Result<Vec<_>, _>>().ok();
        self.part.drain(..end);
        answers
    }

    /// Puts away a keeper that has ended or is of no use: ends what it left behind, and says what became of its attempt.
    pub(super) fn put_away(self) -> Gone {
        let Self { pid, ended, requests, answers, cgroup, ledger, key, late, stops, folder, is_delivering, .. } = self;
        drop((requests, answers));
        let ended = ended.map_or_else(|| wait(pid, WaitOptions::empty()), |status| Ok(Some(status)));
        let reason = match ended {
            Ok(_) if stops > MOST_STOPS => "the keeper was stopped again and again, and was killed".to_owned(),
            Ok(_) if late > 1 => "the keeper did not answer and was killed".to_owned(),
            Ok(status) => describe(status),
            Err(error) => error.to_string(),
        };
        callers::forget(pid);
        if let Some(cgroup) = cgroup {
            // The keeper may have removed it already; whatever is left is found below.
            let _as_far_as_possible = cgroup.kill().and_then(|_| cgroup.remove());
        }
        orphans::end();
        let Some(key) = key else { return Gone { reason, exit: None } };
        let (mut exit, is_gone) = ledger::ended(&ledger, &key).unzip();
        if is_gone != Some(true) {
            let _as_far_as_found = sweep_marked(&[key.as_str()].into());
            if let (Some(exit), Some(folder)) = (&mut exit, folder.filter(|_| is_delivering)) {
                complete(exit, &folder);
            }
        }
        Gone { reason, exit }
    }
}

/// Starts the process of a keeper, in its cgroup if the kernel can do that. Else it goes there itself. Of our environment it has
/// what it cannot begin without: what a worker needs comes with its assignment, and its workers could read the rest.
fn begin(exe: &Path, ledger: &Path, cgroup: Option<&Cgroup>, input: PipeReader, output: PipeWriter) -> io::Result<Pid> {
    let loader = std::env::var(LOADER).ok();
    let args = [Path::new(ARGUMENT), ledger].into_iter().chain(cgroup.map(Cgroup::path));
    if let Some(cgroup) = cgroup {
        let (folder, null) = (File::open(cgroup.path())?, File::options().write(true).open("/dev/null")?);
        let words = std::iter::once(exe).chain(args.clone()).map(|word| CString::new(word.as_os_str().as_bytes()));
        let program = Program {
            file: exe,
            args: words.collect::<Result<_, _>>()?,
            env: loader.iter().map(|path| variable(LOADER, path)).collect::<io::Result<_>>()?,
            cwd: Path::new("/"),
            streams: [input.as_fd(), output.as_fd(), null.as_fd()],
        };
        if let Some(pid) = start_within(folder.as_fd(), &program)? {
            return Ok(pid);
        }
    }
    let mut command = Command::new(exe);
    command
        .args(args)
        .env_clear()
        .envs(loader.map(|path| (LOADER, path)))
        .current_dir("/")
        .stdin(input)
        .stdout(output)
        .stderr(Stdio::null());
    Ok(Pid::from_child(&command.spawn()?))
}

/// How a child ended, if it has.
fn wait(pid: Pid, how: WaitOptions) -> Result<Option<WaitStatus>, Errno> {
    Ok(retry_on_intr(|| waitpid(Some(pid), how))?.map(|(_, status)| status))
}

fn describe(status: Option<WaitStatus>) -> String {
    match status.map(|status| (status.exit_status(), status.terminating_signal())) {
        Some((Some(code), _)) if code == i32::from(GAVE_UP) => {
            "it could not end all that its worker started".to_owned()
        }
        Some((Some(code), _)) => format!("the keeper ended with code {code}"),
        Some((None, signal)) => format!("the keeper was killed by signal {}", signal.unwrap_or_default()),
        None => "the keeper ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn a_keeper_that_cannot_be_asked_is_hung_up_on() {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = Kept::start(Path::new("/bin/true"), dir.path().join("ledger")).unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        kept.requests = Some(OwnedFd::from(full).into());
        assert_eq!(kept.request(&Request::Close {}).unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(kept.requests.is_none(), "the end of its lifeline tells it");
        assert_eq!(kept.request(&Request::Close {}).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(kept.put_away().exit, None);
    }
}
