//! Waits until files change. The kernel tells; only where it refuses to is there a look every second.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

/// How often is looked where the kernel does not tell.
const LOOK: Duration = Duration::from_secs(1);

/// Files and folders that are watched.
pub(crate) struct Watch {
    told: Option<OwnedFd>,
}

impl Watch {
    /// Watches files, and everything directly in folders, from now on.
    pub(crate) fn new(paths: &[&Path]) -> Self {
        let told = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
        let flags = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO;
        let all = told.filter(|told| paths.iter().all(|path| add_watch(told, *path, flags).is_ok()));
        Self { told: all }
    }

    /// Waits until something has changed since the last time, or until this time is over.
    pub(crate) fn wait(&self, most: Option<Duration>) {
        let Some(told) = &self.told else {
            std::thread::sleep(most.map_or(LOOK, |most| most.min(LOOK)));
            return;
        };
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        // An interrupted wait is a short one: whoever waits looks again.
        poll(&mut [PollFd::new(told, PollFlags::IN)], most.as_ref()).ok();
        let mut told_of = [0_u8; 4096];
        while rustix::io::read(told, &mut told_of).is_ok_and(|length| length > 0) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("journal");
        std::fs::write(&file, "a").unwrap();
        let watch = Watch::new(&[&file]);
        assert!(watch.told.is_some());
        std::fs::write(&file, "ab").unwrap();
        watch.wait(None); // would wait for ever if nothing were told
        let told = watch.told.as_ref().unwrap();
        let more = poll(&mut [PollFd::new(told, PollFlags::IN)], Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap();
        assert_eq!(more, 0);
    }

    #[test]
    fn what_cannot_be_watched_is_looked_at() {
        let watch = Watch::new(&[Path::new("/nowhere/at/all")]);
        assert!(watch.told.is_none());
        watch.wait(Some(Duration::ZERO));
    }
}
