//! Files of earlier attempts are moved away before the next one starts: half a file never counts as a result.
//! What others put there the keeper moves to the same place, which finds it without having to look.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use team_executor_agents::unfinished_copy;
use team_executor_beneath::ours;
use team_executor_store::DiskError;
use team_executor_store::run_folder::component;

use super::FOLDER;

/// In the folder of a run.
const QUARANTINE: &str = "quarantine";

/// Where what an attempt left is moved to, if nothing is there.
pub(crate) fn place(run: &Path, task: &str, attempt: u32) -> PathBuf {
    run.join(QUARANTINE).join(format!("{}.{attempt}", component(task)))
}

/// Where what an attempt left was moved to, if it was.
pub(crate) fn find(run: &Path, task: &str, attempt: u32) -> Option<PathBuf> {
    let folder = place(run, task, attempt);
    ours::open(&folder).is_ok().then_some(folder)
}

/// Moves the folder of a task away if something is in it, and says where to. Nothing is deleted.
pub(super) fn move_away(run: &Path, task: &str, attempt: u32) -> Result<Option<String>, DiskError> {
    let name = component(task);
    let failed = |errno| DiskError { action: "move away", name: format!("{FOLDER}/{name}"), errno };
    let run = ours::open(run).map_err(failed)?;
    let from = run.dir(FOLDER).map_err(failed)?;
    match from.dir(&name).and_then(|folder| folder.count()) {
        Ok(0) | Err(Errno::NOENT) => return Ok(None),
        _ => {} // also a link or a file in the place of the folder
    }
    let to = run.make_dir(QUARANTINE).map_err(failed)?;
    let _a_killed_keeper_left_none = to.remove_all(&unfinished_copy(&name));
    let new = from.move_free(&name, &to, &format!("{name}.{attempt}")).map_err(failed)?;
    to.sync().and_then(|()| from.sync()).map_err(failed)?;
    Ok(Some(format!("{QUARANTINE}/{new}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_moved_whole_and_over_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("artifacts/A");
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(move_away(dir.path(), "A", 1), Ok(None), "an empty folder is of no interest");
        for (text, to) in [("one", "quarantine/A.1"), ("two", "quarantine/A.1-2")] {
            std::fs::create_dir_all(folder.join("sub")).unwrap();
            std::fs::write(folder.join("sub/x"), text).unwrap();
            assert_eq!(move_away(dir.path(), "A", 1), Ok(Some(to.to_owned())));
            assert_eq!(std::fs::read_to_string(dir.path().join(to).join("sub/x")).unwrap(), text);
            assert!(!folder.exists());
        }
        let left = dir.path().join("quarantine").join(unfinished_copy("A"));
        std::fs::create_dir(&left).unwrap();
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        assert_eq!(move_away(dir.path(), "A", 2), Ok(Some("quarantine/A.2".to_owned())));
        assert!(!left.exists(), "a copy that was never finished goes");
        assert_eq!(move_away(dir.path(), "none", 1), Ok(None));
    }
}
