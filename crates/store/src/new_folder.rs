//! A folder that appears whole or not at all: made beside its place under another name, synced, then given its own.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use team_executor_beneath::{Dir, How, io_error, make_shared};

use crate::disk::Disk as _;
use crate::real_disk::RealDisk;

/// Why a folder was not made. Nothing is left of it.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// Something has its name.
    #[error("{0} already exists")]
    Exists(PathBuf),
    /// The disk says no.
    #[error("cannot {action} {path}: {error}")]
    Disk {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

/// Makes a folder with these files, and the folders above it. A path that ends with `/` is a folder in it.
pub fn make_folder<'f>(target: &Path, files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Result<(), MakeError> {
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |errno| MakeError::Disk { action, path, error: io_error(errno) }
    };
    if target.symlink_metadata().is_ok() {
        return Err(MakeError::Exists(target.to_owned()));
    }
    let name = target.file_name().and_then(|name| name.to_str()).ok_or(Errno::INVAL).map_err(failed("make", target))?;
    let parent = match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let dir =
        make_shared(parent).map_err(|error| MakeError::Disk { action: "make", path: parent.to_owned(), error })?;
    let disk = RealDisk::from(dir.clone());
    let token = disk.token().map_err(failed("make a name in", parent))?;
    let temporary = format!(".{name}.tmp-{token:016x}");
    let place = || match dir.rename_new(&temporary, name) {
        // A file system that cannot promise it: a folder never takes the place of one with something in it.
        Err(Errno::INVAL | Errno::NOSYS) => dir.rename(&temporary, name),
        renamed => renamed,
    };
    let filled = fill(&dir, &temporary, files).map_err(failed("write", &parent.join(&temporary)));
    let made = filled.and_then(|()| match place() {
        Err(Errno::EXIST) => Err(MakeError::Exists(target.to_owned())),
        placed => placed.map_err(failed("make", target)),
    });
    if made.is_err() {
        // A folder that cannot be removed has a name that explains it.
        dir.remove_all(&temporary).ok();
    }
    made?;
    dir.sync().map_err(failed("sync", parent))
}

fn fill<'f>(dir: &Dir, name: &str, files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Result<(), Errno> {
    let folder = dir.make_shared_dir(name)?;
    for (path, text) in files {
        let (above, file) = path.rsplit_once('/').unwrap_or(("", path));
        let within = folder.make_shared_dir(above)?;
        if !file.is_empty() {
            let mut file = within.file(file, How::CreateShared)?;
            let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
            written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        }
        within.sync()?;
    }
    folder.sync()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn folder_is_made_with_content_and_parents() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a/b/S");
        make_folder(&target, [("x.json", "{}"), ("empty/", ""), ("one/two/y.md", "text"), ("one/z.md", "")]).unwrap();
        assert_eq!(names(&target), ["empty", "one", "x.json"]);
        assert_eq!(fs::read_to_string(target.join("one/two/y.md")).unwrap(), "text");
        assert!(target.join("empty").is_dir() && target.join("one/z.md").is_file());
        assert_eq!(names(&dir.path().join("a/b")), ["S"]);
    }

    #[test]
    fn existing_entry_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("folder")).unwrap();
        fs::write(dir.path().join("file"), "kept").unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
        for name in ["folder", "file", "link"] {
            let made = make_folder(&dir.path().join(name), [("x", "y")]);
            assert!(matches!(made, Err(MakeError::Exists(_))), "{name}");
        }
        assert_eq!(names(dir.path()), ["file", "folder", "link"]);
        assert_eq!(names(&dir.path().join("folder")), [""; 0]);
    }

    #[test]
    fn nothing_is_left_of_a_folder_that_could_not_be_finished() {
        let dir = tempfile::tempdir().unwrap();
        let made = make_folder(&dir.path().join("S"), [("x", "1"), ("y/z", "2"), ("x", "again")]);
        assert!(matches!(made, Err(MakeError::Disk { action: "write", .. })));
        assert!(make_folder(&dir.path().join(".."), [("x", "1")]).is_err());
        assert_eq!(names(dir.path()), [""; 0]);
    }
}
