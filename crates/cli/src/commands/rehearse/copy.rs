//! The stage of a rehearsal: a copy of the session in a project of its own, which the next rehearsal replaces.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use team_executor_files::csv_job;
use team_executor_store::run_folder::WORKFLOW;
use team_executor_store::{Holder, Lock, LockError, RealDisk, RealFile};

/// Below `.workflow/` of a project: its rehearsals.
const REHEARSAL: &str = ".rehearsal";
/// Whoever has it rehearses.
const LOCK: &str = "lock";

/// A stage that is set. Nobody else rehearses in the project while it stands.
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
        std::fs::create_dir_all(&base).map_err(|error| refused("make", &base, error))?;
        if base.is_symlink() {
            // What is replaced below it might be somebody else's.
            return Err(refused("use", &base, io::Error::other("it is a link")));
        }
        let disk = RealDisk::open_folder(&base).map_err(|error| refused("open", &base, error.into()))?;
        let mut lock = Lock::take(&disk, LOCK, Duration::ZERO).map_err(|error| match error {
            LockError::Held { by } => Refusal::Held(by),
            LockError::Disk(error) => refused("lock", &base, io::Error::other(error.to_string())),
        })?;
        let signed = lock.sign(&Holder::this_process(0));
        signed.map_err(|error| refused("lock", &base, io::Error::other(error.to_string())))?;
        let inner = base.join(WORKFLOW);
        match std::fs::remove_dir_all(&inner) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(refused("replace", &inner, error)),
            _ => {}
        }
        let target = inner.join(".team").join(session.file_name().unwrap_or(OsStr::new("session")));
        copy(session, &target).map_err(|error| refused("copy the session to", &target, error))?;
        Ok(Self { session: target, lock })
    }
}

/// Copies the files of a session. A link to a file in it becomes that file; other links are left out, because what is
/// written through them would not be the copy's, and so is what is no file.
fn copy(session: &Path, target: &Path) -> io::Result<()> {
    let mut folders = vec![(session.to_owned(), target.to_owned())];
    while let Some((from, to)) = folders.pop() {
        std::fs::create_dir_all(&to)?;
        for entry in std::fs::read_dir(&from)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let is_inside = || path.canonicalize().is_ok_and(|real| real.starts_with(session) && real.is_file());
            if kind.is_dir() && entry.file_name() != WORKFLOW {
                folders.push((path, to.join(entry.file_name())));
            } else if entry.file_name() == csv_job::FILE {
                // Who rehearses has no results.
            } else if kind.is_file() || (kind.is_symlink() && is_inside()) {
                std::fs::copy(&path, to.join(entry.file_name()))?;
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
