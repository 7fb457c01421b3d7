//! Who calls: whether a process belongs to a worker, told by the processes above it and by its cgroup, never by what it says
//! about itself. A process that loses its parents becomes a child of its keeper, or of the executor if the keeper is gone, so
//! no process of a worker gets out from below them.
//!
//! An executor knows its keepers by the numbers of its children. Everybody else knows the keepers of a run by the locks on
//! their ledgers.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use team_executor_beneath::{Dir, How};

use crate::ledger::{Entry, entries};
use crate::processes::{self, number};
use crate::{cgroup, locks, token, unix};

/// How many processes may be above a caller. One with more is not believed to be anybody's.
const DEEPEST: usize = 4096;
/// How often the processes above a caller are looked at until two looks agree.
const LOOKS: usize = 8;
/// How much of the end of a ledger is read. An entry is far shorter.
const END: u64 = 256 << 10;

/// What a process is to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// It belongs to no worker of the run: a person called, or a program of theirs.
    Outside,
    /// It belongs to a worker of the run, which makes this attempt; which one is not known if its keeper is gone.
    Worker(Option<String>),
    /// It has ended, or its parents changed whenever they were looked at.
    Unknown,
}

/// The process at the other end of a socket.
#[derive(Debug)]
pub struct Peer {
    /// Its number. A worker's can always be seen from the namespace of those who started it, so one without a number is none.
    pid: i32,
    /// Holds the process, so that its number is not given away unnoticed. Nothing before Linux 6.5.
    held: Option<OwnedFd>,
}

impl Peer {
    /// The process that connected, as the kernel noted it then; nothing if it is gone.
    pub fn from_socket(socket: impl AsFd) -> Option<Self> {
        let pid = unix::peer_number(socket.as_fd()).ok()?;
        let held = unix::peer_process(socket.as_fd()).ok()?;
        Some(Self { pid, held })
    }

    /// What it is to the run of this executor.
    pub fn calls_executor(&self) -> Caller {
        if self.pid == 0 { Caller::Outside } else { self.unless_gone(calls_executor(self.pid)) }
    }

    /// What it is to the run whose ledgers are in this folder.
    pub fn calls_run(&self, ledgers: &Path) -> Caller {
        if self.pid == 0 { Caller::Outside } else { self.unless_gone(calls_run(ledgers, self.pid)) }
    }

    /// A look at a process number counts only if the number belonged to this process all the time.
    fn unless_gone(&self, seen: Caller) -> Caller {
        let Some(held) = &self.held else { return seen };
        let mut ended = [PollFd::new(held, PollFlags::IN)];
        match poll(&mut ended, Some(&Timespec::default())) {
            Ok(0) => seen,
            _ => Caller::Unknown,
        }
    }
}

/// What this process is to the run whose ledgers are in a folder.
pub fn this_process(ledgers: &Path) -> Caller {
    calls_run(ledgers, number(rustix::process::getpid()))
}

/// Whether a token is the secret of an attempt, by the proof that its keeper wrote down before it began.
pub fn is_token(ledgers: &Path, attempt: &str, token: &str) -> bool {
    let Ok(folder) = Dir::open(ledgers) else { return false };
    let proof = token::proof(token);
    let names = folder.list().unwrap_or_default();
    let started = names.iter().filter_map(|name| last_started(&folder, name));
    { started }.any(|last| last.key == attempt && last.proof.as_ref() == Some(&proof))
}

/// The keepers of this process, and the attempt that each of them has.
static KEEPERS: Mutex<BTreeMap<i32, Option<String>>> = Mutex::new(BTreeMap::new());

fn keepers() -> MutexGuard<'static, BTreeMap<i32, Option<String>>> {
    KEEPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a keeper, which is known as one before anybody can look.
pub(crate) fn known(start: impl FnOnce() -> io::Result<Pid>) -> io::Result<Pid> {
    let mut keepers = keepers();
    let pid = start()?;
    keepers.insert(number(pid), None);
    Ok(pid)
}

/// A keeper has this attempt from now on, or none.
pub(crate) fn has(keeper: Pid, attempt: Option<&str>) {
    if let Some(known) = keepers().get_mut(&number(keeper)) {
        *known = attempt.map(str::to_owned);
    }
}

/// A keeper is gone.
pub(crate) fn forget(keeper: Pid) {
    keepers().remove(&number(keeper));
}

/// Whether a process is a keeper of this one.
pub(crate) fn is_known(pid: i32) -> bool {
    keepers().contains_key(&pid)
}

fn calls_executor(pid: i32) -> Caller {
    let Some(above) = above(pid) else { return Caller::Unknown };
    let keepers = keepers();
    if let Some(attempt) = above.iter().find_map(|pid| keepers.get(pid)) {
        return Caller::Worker(attempt.clone());
    }
    // Processes of a killed keeper are below this process, and may be in a cgroup of it.
    let me = number(rustix::process::getpid());
    let is_left = above[1..].contains(&me) || cgroup::is_within(pid, |name| cgroup::is_of(name, me));
    if is_left { Caller::Worker(None) } else { Caller::Outside }
}

fn calls_run(ledgers: &Path, pid: i32) -> Caller {
    let Ok(folder) = Dir::open(ledgers) else { return Caller::Outside };
    let names = folder.list().unwrap_or_default();
    if names.is_empty() {
        return Caller::Outside;
    }
    let Some(above) = above(pid) else { return Caller::Unknown };
    let held = locks::all();
    for above in above {
        let mut locks = held.iter().filter(|held| held.by == above);
        if let Some(name) = locks.find_map(|lock| names.iter().find(|name| is_ledger(lock, &folder, name))) {
            return Caller::Worker(last_started(&folder, name).map(|last| last.key));
        }
    }
    let within = |cgroup: &Path| {
        let name = cgroup.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        name.is_some_and(|ours| cgroup::is_within(pid, |name| name == ours))
    };
    let mut started = names.iter().filter_map(|name| last_started(&folder, name));
    match started.find(|last| last.cgroup.as_deref().is_some_and(within)) {
        Some(last) => Caller::Worker(Some(last.key)),
        None => Caller::Outside,
    }
}

fn is_ledger(lock: &locks::Held, folder: &Dir, name: &str) -> bool {
    folder.stat(name).is_ok_and(|file| lock.is_ledger(&file))
}

/// The worker that a keeper started last.
struct Started {
    key: String,
    proof: Option<String>,
    cgroup: Option<std::path::PathBuf>,
}

fn last_started(folder: &Dir, name: &str) -> Option<Started> {
    let mut file = folder.file(name, How::Read).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END))).ok()?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end).ok()?;
    let started = entries(&end).filter_map(|entry| match entry {
        Entry::Started { key, proof, cgroup, .. } => Some(Started { key, proof, cgroup }),
        _ => None,
    });
    started.last()
}

/// The numbers of a process and of those above it. Nothing if it is gone, or if two looks never agree: a process above may
/// end in between, and its number be given away.
fn above(pid: i32) -> Option<Vec<i32>> {
    let mut before = look_above(pid)?;
    for _ in 0..LOOKS {
        let now = look_above(pid)?;
        if now == before {
            return Some(now);
        }
        before = now;
    }
    None
}

fn look_above(pid: i32) -> Option<Vec<i32>> {
    let mut above = vec![pid];
    let mut parent = processes::one(pid)?.parent;
    while parent > 0 {
        if above.len() == DEEPEST {
            return None;
        }
        above.push(parent);
        // One that cannot be seen is the last that is known.
        parent = processes::one(parent).map_or(0, |process| process.parent);
    }
    Some(above)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn processes_above_are_named_up_to_the_first_one() {
        let me = number(rustix::process::getpid());
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let found = above(child.id().cast_signed()).unwrap();
        assert_eq!(found[..2], [child.id().cast_signed(), me]);
        assert_eq!(found[1..], above(me).unwrap());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(above(child.id().cast_signed()), None, "it is gone");
    }

    #[test]
    fn child_of_executor_is_a_worker_and_executor_is_none() {
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert_eq!(calls_executor(number(pid)), Caller::Worker(None));
        known(|| Ok(pid)).unwrap();
        has(pid, Some("r/A/1"));
        assert_eq!(calls_executor(number(pid)), Caller::Worker(Some("r/A/1".to_owned())));
        forget(pid);
        assert_eq!(calls_executor(number(rustix::process::getpid())), Caller::Outside);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(calls_executor(number(pid)), Caller::Unknown);
    }

    #[test]
    fn caller_that_is_gone_is_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let mut child =
            Command::new(team_executor_testkit::fake_agent()).arg("say").arg(&path).arg("x").spawn().unwrap();
        let (socket, _) = listener.accept().unwrap();
        let peer = Peer::from_socket(&socket).unwrap();
        assert_eq!((peer.pid, peer.calls_executor()), (child.id().cast_signed(), Caller::Worker(None)));
        assert_eq!(peer.calls_run(dir.path()), Caller::Outside, "no ledger is there that anybody has locked");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(peer.calls_executor(), Caller::Unknown);
        assert_eq!(Peer::from_socket(&socket).map_or(Caller::Unknown, |peer| peer.calls_executor()), Caller::Unknown);
    }

    #[test]
    fn caller_in_a_namespace_above_is_outside() {
        assert_eq!(Peer { pid: 0, held: None }.calls_executor(), Caller::Outside);
    }
}
