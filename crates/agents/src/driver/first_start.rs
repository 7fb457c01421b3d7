//! The first start of Codex in a new home. It makes its databases there, and of several that do so at once all but one end with
//! an error. So they start one after the other until the first has said something.

use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;
use team_executor_beneath::Dir;

use crate::adapters::Adapter;

/// What the names of the databases of Codex end with.
const DATABASE: &str = ".sqlite";

/// Others that start in the same home wait as long as this is there.
#[derive(Debug)]
pub(super) struct FirstStart {
    /// The folder around the home, locked. The home itself may not be there yet.
    _around: Dir,
}

impl FirstStart {
    /// Waits until no other first start in this home goes on. Nothing if this is no first start, or no lock can be had.
    pub(super) fn wait(adapter: Adapter) -> Option<Self> {
        if adapter != Adapter::Codex {
            return None;
        }
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = variable("CODEX_HOME").or_else(|| Some(variable("HOME")?.join(".codex")))?;
        Self::wait_at(&home)
    }

    fn wait_at(home: &Path) -> Option<Self> {
        let around = Dir::open(home.parent()?).ok()?;
        let take = |how| retry_on_intr(|| flock(&around, how)).ok();
        if !is_new(home) {
            // Its databases may still be on the way.
            take(FlockOperation::LockShared)?;
            return None;
        }
        take(FlockOperation::LockExclusive)?;
        is_new(home).then_some(Self { _around: around })
    }
}

fn is_new(home: &Path) -> bool {
    let names = Dir::open(home).and_then(|home| home.list()).unwrap_or_default();
    !names.iter().any(|name| name.ends_with(DATABASE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_start_waits_only_for_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join(".codex");
        let first = FirstStart::wait_at(&home).expect("it is new");
        let waits = |home: &Path| {
            let around = Dir::open(home.parent().unwrap()).unwrap();
            flock(&around, FlockOperation::NonBlockingLockShared).is_err()
        };
        assert!(waits(&home));
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("state_1.sqlite"), "").unwrap();
        assert!(waits(&home), "the first has said nothing yet");
        drop(first);
        assert!(!waits(&home));
        assert!(FirstStart::wait_at(&home).is_none(), "it is not new any more");
        assert!(FirstStart::wait_at(Path::new("/")).is_none());
    }
}
