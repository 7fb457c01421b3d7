//! Programs that are run one after the other for what they do, not for a task: each in the custody of a keeper, as a worker is. What
//! they start ends with them, also what leaves their group, and all of it ends when this process is killed.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use team_executor_beneath::{Dir, How, io_error, make_shared, open_file, read_regular};

use crate::exit::{Ended, Exit};
use crate::keepers::{KeeperEvent, Keepers};
use crate::protocol::{Assignment, Leftover, Limits};
use crate::trial::Answer;

/// How long a program has to end when it is asked to.
const GRACE: Duration = Duration::from_secs(1);
/// The most that is kept of an answer, of each stream.
const ANSWER_BYTES: u64 = 64 << 10;
/// How many folders there may be of processes that were killed.
const MOST: u32 = 1000;
/// The file that is locked as long as its folder is in use.
const LOCK: &str = "lock";
const LEDGERS: &str = "keepers";
const INPUT: &str = "input";

/// Runs programs in custody, one at a time. It belongs to the thread that made it.
#[derive(Debug)]
pub struct Custodian {
    keepers: Keepers,
    all: Dir,
    /// The folder of this one, and its name.
    folder: PathBuf,
    name: String,
    _lock: File,
    /// Nothing comes by this.
    silence: (PipeReader, PipeWriter),
    asked: u64,
}

impl Custodian {
    /// Keepers are `exe`. Below `folder` there is a folder for what is running; those of processes that were killed are removed.
    pub fn open(exe: PathBuf, folder: &Path) -> io::Result<Self> {
        let all = make_shared(folder)?;
        sweep(&all);
        let name = new_folder(&all)?;
        let own = folder.join(&name);
        let lock = open_file(&own.join(LOCK), How::Append)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        all.make_dir(&format!("{name}/{LEDGERS}")).map_err(io_error)?;
        let keepers = Keepers::new(exe, own.join(LEDGERS), 0);
        Ok(Self { keepers, all, folder: own, name, _lock: lock, silence: io::pipe()?, asked: 0 })
    }

    /// Runs a program with this environment and input, and waits until nothing of it is left. It is ended when it takes longer.
    pub fn ask(
        &mut self,
        (program, args): (&Path, &[String]),
        env: &[(String, String)],
        cwd: &Path,
        input: &str,
        limit: Duration,
    ) -> io::Result<Answer> {
        let folder = self.folder.clone();
        let path = |name: &str| folder.join(name);
        self.forget(INPUT);
        open_file(&path(INPUT), How::CreateNew)?.write_all(input.as_bytes())?;
        self.asked += 1;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let limits = Limits { total_ms: Some(millis(limit)), grace_ms: Some(millis(GRACE)), ..Limits::default() };
        let assignment = Assignment {
            key: format!("{}/{}", self.name, self.asked),
            program: program.to_string_lossy().into_owned(),
            args: args.to_vec(),
            env: env.to_vec(),
            cwd: cwd.to_owned(),
            stdin: Some(path(INPUT)),
            limits,
            logs: [path("out"), path("err")],
            output_cap: ANSWER_BYTES,
            artifacts: None,
            aside: path("aside"),
            leftover: Leftover::default(),
            adapter: None,
            seat: None,
        };
        self.keepers.start(0, assignment);
        let ended = self.end();
        let printed = |name: &str| read_regular(&path(name)).unwrap_or_default();
        let (out, err) = (printed("out"), printed("err"));
        ["out", "err", INPUT].into_iter().for_each(|name| self.forget(name));
        Ok(Answer { ended: ended?, out, err })
    }

    fn end(&mut self) -> io::Result<Ended> {
        loop {
            for event in self.keepers.wait(self.silence.0.as_fd(), None)? {
                match event {
                    KeeperEvent::Ended { exit, .. } => {
                        let Exit { ended, .. } = *exit;
                        return Ok(ended);
                    }
                    KeeperEvent::KeeperDied { reason, .. } => return Err(io::Error::other(reason)),
                    KeeperEvent::Line { .. } | KeeperEvent::Used { .. } | KeeperEvent::Woken { .. } => {}
                }
            }
        }
    }

    /// Removes a file of a program, which may hold secrets.
    fn forget(&self, name: &str) {
        let _missing_already = self.all.remove(&format!("{}/{name}", self.name));
    }
}

impl Drop for Custodian {
    fn drop(&mut self) {
        self.keepers.close_all();
        let _it_is_swept_later = self.all.remove_all(&self.name);
    }
}

/// Removes the folders that no process uses any more.
fn sweep(all: &Dir) {
    for name in all.list().unwrap_or_default() {
        let lock = all.file(&format!("{name}/{LOCK}"), How::Append);
        if lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()) {
            let _swept_later = all.remove_all(&name);
        }
    }
}

/// Makes a folder of this process.
fn new_folder(all: &Dir) -> io::Result<String> {
    for nth in 0..MOST {
        let name = format!("{}-{nth}", std::process::id());
        match all.make_new_dir(&name) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(io_error(errno)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
