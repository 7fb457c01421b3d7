//! Whether files have changed, as the system tells it.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use rustix::io::{Errno, read};

/// Everything that can change what is read of a folder's files.
const ALL: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF);

/// What can change which names there are in a folder.
const NAMES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF);

/// What adds to files and folders.
const GROWTH: WatchFlags = WatchFlags::MODIFY.union(WatchFlags::CREATE).union(WatchFlags::MOVED_TO);

/// How long a wait lasts where the system does not tell.
const LOOK: Duration = Duration::from_secs(1);

/// Whether the system tells of changes to files.
pub fn changes_are_told() -> bool {
    notifier().is_ok()
}

fn notifier() -> Result<OwnedFd, Errno> {
    init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
}

/// What has changed in some folders. To look costs next to nothing as long as nothing has.
#[derive(Debug)]
pub struct Changes(Option<OwnedFd>);

impl Changes {
    /// Those in folders from now on. One that is missing is noticed when it appears, if the folder that it is in comes before
    /// it.
    pub fn watch<'p>(folders: impl IntoIterator<Item = &'p Path>) -> Self {
        let Ok(changes) = notifier() else { return Self(None) };
        let is_watched = |folder| matches!(add_watch(&changes, folder, ALL), Ok(_) | Err(Errno::NOENT));
        let all = folders.into_iter().all(is_watched);
        Self(all.then_some(changes))
    }

    /// Also those of one file in a folder where others change all the time.
    #[must_use]
    pub fn and_of(self, folder: &Path, file: &str) -> Self {
        let Self(Some(changes)) = self else { return self };
        let watch = |path, flags| matches!(add_watch(&changes, path, flags), Ok(_) | Err(Errno::NOENT));
        let both = watch(folder, NAMES) && watch(&folder.join(file), ALL);
        Self(both.then_some(changes))
    }

    /// Those that add to files, or put something into folders, from now on.
    pub fn adding_to(paths: &[&Path]) -> Self {
        let all = |changes: &OwnedFd| paths.iter().all(|path| add_watch(changes, *path, GROWTH).is_ok());
        Self(notifier().ok().filter(all))
    }

    /// Waits until there are some since the last time, or until this time is over; about a second where the system
    /// cannot tell. It may end early.
    pub fn wait(&self, most: Option<Duration>) {
        let Self(Some(changes)) = self else {
            std::thread::sleep(most.map_or(LOOK, |most| most.min(LOOK)));
            return;
        };
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        poll(&mut [PollFd::new(changes, PollFlags::IN)], most.as_ref()).ok();
        let mut told = [0_u8; 4096];
        while read(changes, &mut told).is_ok_and(|length| length > 0) {}
    }

    /// The same, and ends when something can be read from `other`, or that is closed; says whether it is.
    pub fn wait_beside(&self, other: BorrowedFd<'_>, most: Option<Duration>) -> bool {
        let most = if self.0.is_some() { most } else { Some(most.map_or(LOOK, |most| most.min(LOOK))) };
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        let mut all: Vec<PollFd<'_>> = vec![PollFd::from_borrowed_fd(other, PollFlags::IN)];
        all.extend(self.0.as_ref().map(|changes| PollFd::new(changes, PollFlags::IN)));
        poll(&mut all, most.as_ref()).ok();
        let is_over = !all[0].revents().is_empty();
        let mut told = [0_u8; 4096];
        while self.0.as_ref().is_some_and(|changes| read(changes, &mut told).is_ok_and(|length| length > 0)) {}
        is_over
    }

    /// Waits for so long at most, and says whether there were more in that time; never where the system cannot tell.
    pub fn goes_on_within(&self, most: Duration) -> bool {
        let Self(Some(changes)) = self else {
            std::thread::sleep(most);
            return false;
        };
        let most = Timespec::try_from(most).ok();
        poll(&mut [PollFd::new(changes, PollFlags::IN)], most.as_ref()).ok();
        let (mut told, mut more) = ([0_u8; 4096], false);
        while read(changes, &mut told).is_ok_and(|length| length > 0) {
            more = true;
        }
        more
    }

    /// Whether there are none; never where the system cannot tell.
    pub fn are_none(&self) -> bool {
        self.0.as_ref().is_some_and(|changes| read(changes, &mut [0u8; 512]) == Err(Errno::AGAIN))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_change_is_waited_for_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("journal");
        fs::write(&file, "a").unwrap();
        let changes = Changes::adding_to(&[&file]);
        fs::write(&file, "ab").unwrap();
        assert!(changes.0.is_some());
        changes.wait(None); // would wait for ever if nothing were told
        assert!(changes.are_none());
    }

    #[test]
    fn a_path_that_cannot_be_watched_is_looked_at() {
        let changes = Changes::adding_to(&[Path::new("/nowhere/at/all")]);
        assert!(changes.0.is_none());
        changes.wait(Some(Duration::ZERO));
    }

    #[test]
    fn one_file_is_watched_among_others_that_change() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        fs::write(&other, "").unwrap();
        let from_now = || Changes::watch([]).and_of(dir.path(), "one");
        let changes = from_now();
        fs::write(&other, "grows").unwrap();
        assert!(changes.are_none());
        for text in ["made", "changed"] {
            let changes = from_now();
            fs::write(&one, text).unwrap();
            assert!(!changes.are_none(), "{text}");
        }
        let changes = from_now();
        fs::rename(&other, &one).unwrap();
        assert!(!changes.are_none());
    }

    #[test]
    fn whatever_changes_is_noticed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (top, below) = (dir.path(), dir.path().join("below"));
        let from_now = || Changes::watch([top, below.as_path()]);
        let file = below.join("file");
        let all: [&dyn Fn(); 8] = [
            &|| fs::create_dir(&below).unwrap(),
            &|| fs::write(&file, "1").unwrap(),
            &|| fs::write(&file, "2").unwrap(),
            &|| fs::rename(&file, below.join("other")).unwrap(),
            &|| fs::rename(below.join("other"), top.join("file")).unwrap(),
            &|| fs::rename(top.join("file"), &file).unwrap(),
            &|| fs::remove_file(&file).unwrap(),
            &|| fs::remove_dir(&below).unwrap(),
        ];
        for (nth, change) in all.iter().enumerate() {
            let changes = from_now();
            assert!(changes.are_none() && changes.are_none(), "{nth}");
            change();
            assert!(!changes.are_none(), "{nth}");
        }
        fs::create_dir(&below).unwrap();
        let changes = from_now();
        fs::read_dir(&below).unwrap();
        fs::create_dir(top.join("other")).unwrap();
        assert!(!changes.are_none());
        let changes = from_now();
        fs::write(top.join("other/file"), "not watched").unwrap();
        assert!(changes.are_none());
    }
}
