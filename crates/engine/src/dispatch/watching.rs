//! Notices what others write into the folder of the session while it is run: a coordinator that adds tasks.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use team_executor_store::Changes;

use crate::dispatch::inbox::{Message, Outbox};

/// So long nothing more must be written before it is looked at: who writes in place is not interrupted.
const QUIET: Duration = Duration::from_millis(100);
/// While something is written all the time, it is looked at this often.
const LATEST: u32 = 10;

/// Watches some folders as long as it lives.
#[derive(Debug)]
pub(crate) struct Watch {
    _end: UnixStream,
}

impl Watch {
    /// Tells the dispatcher when something changes in these folders. Those that are missing are watched when they appear.
    pub(crate) fn begin(folders: &[PathBuf], outbox: Outbox) -> io::Result<Self> {
        let (end, other) = UnixStream::pair()?;
        let changes = Changes::watch(folders.iter().map(PathBuf::as_path));
        let watch = move || {
            while !changes.wait_beside(other.as_fd(), None) {
                let mut looks = 0;
                while looks < LATEST && changes.goes_on_within(QUIET) {
                    looks += 1;
                }
                if outbox.send(Message::Edited).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("watch".to_owned()).spawn(watch)?;
        Ok(Self { _end: end })
    }
}

/// The folders in which a session says what its tasks are.
pub(crate) fn folders(session: &Path, tasks: Option<PathBuf>) -> Vec<PathBuf> {
    std::iter::once(session.to_owned()).chain(tasks).chain([session.join("role-specs")]).collect()
}
