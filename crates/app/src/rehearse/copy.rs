//! The stage of a rehearsal: a copy of the session in a project of its own, which the next rehearsal replaces.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use team_executor_beneath::{Dir, How, io_error, make_shared};
use team_executor_files::csv_job;
use team_executor_store::run_folder::WORKFLOW;
use team_executor_store::{Holder, Lock, LockError, RealDisk, RealFile};

/// Below `.workflow/` of a project: its rehearsals.
const REHEARSAL: &str = ".rehearsal";
/// Its holder rehearses.
const LOCK: &str = "lock";

/// A stage that is set. No other rehearsal starts in the project while it stands.
pub(super) struct Stage {
    /// The copy of the session.
    pub(super) session: PathBuf,
    /// Held while it stands.
    pub(super) lock: Lock<RealFile>,
}

/// Why a stage could not be set.
pub(super) enum Refusal {
    /// Another rehearsal goes on.
    Held(String),
    /// What was tried and why it failed.
    Disk(String, io::Error),
}

impl Stage {
    /// Copies a session to where the last rehearsal was. The session and the project stay as they are otherwise.
    pub(super) fn set(project: &Path, session: &Path) -> Result<Self, Refusal> {
        let base = project.join(WORKFLOW).join(REHEARSAL);
        let refused = |what: &str, path: &Path, error| Refusal::Disk(format!("{what} {}", path.display()), error);
        // A link is refused: what is replaced below it might be of others.
        let dir = make_shared(&base).map_err(|error| refused("make", &base, error))?;
        let disk = RealDisk::from(dir.clone());
        let mut lock = Lock::take(&disk, LOCK, Duration::ZERO).map_err(|error| match error {
            LockError::Held { by } => Refusal::Held(by),
            LockError::Disk(error) => refused("lock", &base, io::Error::other(error.to_string())),
        })?;
        let signed = lock.sign(&Holder::this_process(0));
        signed.map_err(|error| refused("lock", &base, io::Error::other(error.to_string())))?;
        let inner = base.join(WORKFLOW);
        match dir.remove_all(WORKFLOW) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(refused("replace", &inner, io_error(errno))),
        }
        let name = session.file_name().and_then(|name| name.to_str()).unwrap_or("session");
        let target = inner.join(".team").join(name);
        let copied = Dir::open(session).and_then(|session| {
            let target = dir.make_shared_dir(&format!("{WORKFLOW}/.team/{name}"))?;
            copy(&session, &target)
        });
        copied.map_err(|errno| refused("copy the session to", &target, io_error(errno)))?;
        Ok(Self { session: target, lock })
    }
}

/// Copies the files of a session. A link to a file in it becomes that file; other links are left out, because what is
/// written through them would not be the copy's, and so is what is no file.
fn copy(session: &Dir, target: &Dir) -> Result<(), Errno> {
    let mut folders = vec![".".to_owned()];
    while let Some(within) = folders.pop() {
        let (from, to) = (session.dir(&within)?, target.make_shared_dir(&within)?);
        for name in from.list()? {
            let path = format!("{within}/{name}");
            if from.has_dir(&name) {
                folders.extend((name != WORKFLOW).then_some(path));
            } else if name != csv_job::FILE // a rehearsal has no results
                && let Ok(mut source) = session.file_inside(&path, How::ReadAnything)
            {
                let mut copy = to.file(&name, How::CreateShared)?;
                io::copy(&mut source, &mut copy).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_copy_holds_nothing_that_leads_out_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().canonicalize().unwrap();
        let session = project.join(".workflow/.team/S");
        std::fs::create_dir_all(session.join("sub")).unwrap();
        std::fs::create_dir_all(session.join(".workflow")).unwrap();
        std::fs::write(session.join("sub/a"), "a").unwrap();
        std::fs::write(project.join("secret"), "s").unwrap();
        symlink("sub/a", session.join("inside")).unwrap();
        symlink("../../../secret", session.join("outside")).unwrap();
        symlink("sub", session.join("folder")).unwrap();
        symlink("nowhere", session.join("dangling")).unwrap();
        for round in 0..2 {
            let stage = Stage::set(&project, &session).ok().unwrap();
            assert_eq!(stage.session, project.join(".workflow/.rehearsal/.workflow/.team/S"));
            let mut names: Vec<_> =
                std::fs::read_dir(&stage.session).unwrap().map(|e| e.unwrap().file_name()).collect();
            names.sort();
            assert_eq!(names, ["inside", "sub"], "round {round}");
            assert!(!stage.session.join("inside").is_symlink());
            std::fs::write(stage.session.join("left"), "by the last one").unwrap();
        }
    }

    #[test]
    fn one_rehearses_at_a_time_and_not_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("S");
        std::fs::create_dir(&session).unwrap();
        let first = Stage::set(dir.path(), &session).ok().unwrap();
        assert!(matches!(Stage::set(dir.path(), &session), Err(Refusal::Held(_))));
        drop(first);
        assert!(Stage::set(dir.path(), &session).is_ok());

        let other = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(other.path().join(".workflow")).unwrap();
        std::fs::create_dir_all(dir.path().join("precious/.workflow")).unwrap();
        symlink(dir.path().join("precious"), other.path().join(".workflow/.rehearsal")).unwrap();
        assert!(matches!(Stage::set(other.path(), &session), Err(Refusal::Disk(..))));
        assert!(dir.path().join("precious/.workflow").is_dir());
    }
}
