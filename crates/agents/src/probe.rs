//! Whether a program can be started, before anything is.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, FileType, Stat, access, stat};
use rustix::io::Errno;
use team_executor_beneath::{is_system_failure, words};

/// What the system looks through where there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// How often a program is looked at while the disk or the system fails.
const TRIES: usize = 3;

/// Why a program cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// A name that no folder of `PATH` has.
    #[error("the program '{0}' is not found in PATH")]
    NotInPath(String),
    /// A path that leads nowhere.
    #[error("there is no program at {0}")]
    Missing(PathBuf),
    /// Something else than a program.
    #[error("{0} is not executable")]
    NotExecutable(PathBuf),
    /// The disk or the system failed, which says nothing about the program.
    #[error("cannot look at {0}: {1}")]
    Failed(PathBuf, String),
}

/// Where a program is that a worker in `cwd` with this `PATH` would start: the keeper looks for it in the same way.
pub fn probe(program: &str, path: Option<&str>, cwd: &Path) -> Result<PathBuf, Unusable> {
    if program.contains('/') {
        let at = cwd.join(program.trim_start_matches("./"));
        return match look_at(&at) {
            Err(errno) if is_system_failure(errno) => Err(Unusable::Failed(at, words(errno))),
            Err(_) => Err(Unusable::Missing(at)),
            Ok(found) if is_executable(&at, &found) => Ok(at),
            Ok(_) => Err(Unusable::NotExecutable(at)),
        };
    }
    in_path(program, path)?.ok_or_else(|| Unusable::NotInPath(program.to_owned()))
}

/// Where a name leads. Folders of `PATH` that are not absolute do not count: a project could choose the program by them.
/// A folder that cannot be read is an error only if no other one has the program.
pub(crate) fn in_path(program: &str, path: Option<&str>) -> Result<Option<PathBuf>, Unusable> {
    if program.is_empty() {
        return Ok(None);
    }
    let folders = path.unwrap_or(DEFAULT_PATH).split(':').map(Path::new).filter(|folder| folder.is_absolute());
    let mut failed = None;
    for at in folders.map(|folder| folder.join(program)) {
        match look_at(&at) {
            Ok(found) if is_executable(&at, &found) => return Ok(Some(at)),
            Err(errno) if is_system_failure(errno) => failed = failed.or(Some(Unusable::Failed(at, words(errno)))),
            _ => {}
        }
    }
    failed.map_or(Ok(None), Err)
}

/// One failure of the disk or the system is no reason not to start.
fn look_at(path: &Path) -> Result<Stat, Errno> {
    let looks = (0..TRIES).map(|_| stat(path));
    let is_settled = |look: &Result<Stat, Errno>| !matches!(look, Err(errno) if is_system_failure(*errno));
    looks.into_iter().find(is_settled).unwrap_or(Err(Errno::IO))
}

fn is_executable(path: &Path, found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_program_is_found_where_a_keeper_would_find_it() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path();
        for (name, mode) in [("tool", 0o755), ("notes", 0o644)] {
            std::fs::write(cwd.join(name), "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(cwd.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let here = cwd.to_string_lossy();
        let tool = Ok(cwd.join("tool"));
        assert_eq!(probe("tool", Some(&format!("/nowhere:{here}")), Path::new("/")), tool);
        for relative in ["/nowhere::", ".", "", "bin/../."] {
            assert_eq!(probe("tool", Some(relative), cwd), Err(Unusable::NotInPath("tool".to_owned())), "{relative}");
        }
        assert_eq!(probe("./tool", None, cwd), Ok(cwd.join("./tool")));
        assert_eq!(probe("sh", None, cwd), Ok("/bin/sh".into()));
        assert_eq!(probe("tool", None, cwd), Err(Unusable::NotInPath("tool".to_owned())));
        assert_eq!(probe("notes", Some(&here), cwd), Err(Unusable::NotInPath("notes".to_owned())));
        assert_eq!(probe("./notes", None, cwd), Err(Unusable::NotExecutable(cwd.join("./notes"))));
        assert_eq!(probe("./none", None, cwd), Err(Unusable::Missing(cwd.join("./none"))));
        assert_eq!(probe(&here, None, cwd), Err(Unusable::NotExecutable(cwd.to_owned())));
        assert_eq!(probe("", None, cwd), Err(Unusable::NotInPath(String::new())));
    }
}
