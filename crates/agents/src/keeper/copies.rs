//! Copies deliveries that were not accepted, before the agent changes them in place: a revision replaces no
//! version.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use team_executor_beneath::{io_error, make_ours, open_ours};

use super::folders::parts;
use crate::durable::sync_below;

/// The name of a copy that is not whole yet. What a killed keeper left there is of no use.
pub fn unfinished_copy(folder: &str) -> String {
    format!(".{folder}.copy")
}

/// Copies a folder to a path, or to another name beside it if there is something, and says where it is. It has that name only
/// when it is whole and durable.
pub(super) fn copy_aside(folder: &Path, aside: &Path) -> io::Result<PathBuf> {
    let ((Some(parent), Some(name)), (Some(quarantine), Some(stem))) = (parts(folder), parts(aside)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (from, to) = (open_ours(parent)?, make_ours(quarantine)?);
    let unfinished = unfinished_copy(name);
    match to.remove_all(&unfinished) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(io_error(errno)),
    }
    let copied = from.copy_all(name, &to, &unfinished).map_err(io_error).and_then(|()| {
        sync_below(&quarantine.join(&unfinished)).map_err(|obstacle| io::Error::other(obstacle.reason))?;
        let name = to.move_free(&unfinished, &to, stem).map_err(io_error)?;
        to.sync().map_err(io_error)?;
        Ok(quarantine.join(name))
    });
    if copied.is_err() {
        let _it_goes_with_the_next_copy = to.remove_all(&unfinished);
    }
    copied
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn copy_is_whole_and_replaces_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, quarantine) = (dir.path().join("artifacts/A"), dir.path().join("quarantine"));
        fs::create_dir_all(folder.join("sub")).unwrap();
        let left = quarantine.join(unfinished_copy("A"));
        fs::create_dir_all(left.join("half")).unwrap();
        for (text, name) in [("first", "A.1"), ("second", "A.1-2")] {
            fs::write(folder.join("sub/x"), text).unwrap();
            let copied = copy_aside(&folder, &quarantine.join("A.1")).unwrap();
            assert_eq!(copied, quarantine.join(name));
            assert_eq!(fs::read_to_string(copied.join("sub/x")).unwrap(), text);
            assert!(!copied.join("half").exists(), "what a killed keeper left is no part of it");
            assert!(!left.exists() && folder.join("sub/x").exists());
        }
        assert!(copy_aside(&dir.path().join("artifacts/B"), &quarantine.join("B.1")).is_err());
        let mut names: Vec<_> = fs::read_dir(&quarantine).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["A.1", "A.1-2"], "a copy that failed leaves nothing");
    }
}
