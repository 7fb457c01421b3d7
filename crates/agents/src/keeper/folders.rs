//! The folders that workers deliver to. A worker that delivers nothing leaves an empty one, which becomes the next
//! worker's: giving a folder another name is far cheaper than making one, and nobody finds thousands of empty ones.

use std::fs::{self, DirBuilder};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, RawDir};

/// The folders of one keeper.
#[derive(Debug, Default)]
pub(super) struct Folders {
    /// An empty one that nobody needs any more.
    spare: Option<PathBuf>,
}

impl Folders {
    /// Sees to it that there is a folder at a path. What is in it stays.
    pub(super) fn give(&mut self, path: &Path) -> io::Result<()> {
        if let Some(spare) = self.spare.take()
            && spare != path
        {
            if fs::rename(&spare, path).is_ok() {
                return Ok(());
            }
            self.spare = Some(spare);
        }
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
        }
    }

    /// Keeps a folder for the next one if nothing was delivered to it, and says how much was. Nobody writes to it any more.
    pub(super) fn take_back(&mut self, path: &Path) -> usize {
        let Ok(count) = count(path) else { return 0 };
        if count == 0 {
            self.throw_away();
            self.spare = Some(path.to_owned());
        }
        count
    }

    fn throw_away(&mut self) {
        if let Some(spare) = self.spare.take() {
            // Only if it is empty.
            let _someone_uses_it = fs::remove_dir(spare);
        }
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        self.throw_away();
    }
}

/// How much there is in a folder. The standard library would ask for more memory than a worker's end is worth.
fn count(path: &Path) -> io::Result<usize> {
    let folder = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut buffer = [MaybeUninit::uninit(); 2048];
    let mut entries = RawDir::new(folder, &mut buffer);
    let mut count = 0;
    while let Some(entry) = entries.next() {
        count += usize::from(!matches!(entry?.file_name().to_bytes(), b"." | b".."));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_empty_folder_is_used_again_and_a_full_one_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b, c) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("c"));
        let mut folders = Folders::default();
        folders.give(&a).unwrap();
        folders.take_back(&a);
        folders.give(&b).unwrap();
        assert_eq!(names(dir.path()), ["b"]);
        fs::write(b.join("report.md"), "").unwrap();
        assert_eq!(folders.take_back(&b), 1);
        folders.give(&c).unwrap();
        folders.take_back(&c);
        // A second attempt at what was delivered in part.
        folders.give(&b).unwrap();
        assert_eq!(
            (names(dir.path()), names(&b)),
            (vec!["b".to_owned(), "c".to_owned()], vec!["report.md".to_owned()])
        );
        drop(folders);
        assert_eq!(names(dir.path()), ["b"]);
    }

    #[test]
    fn what_is_no_folder_is_an_error_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        fs::write(&file, "mine").unwrap();
        let mut folders = Folders::default();
        assert!(folders.give(&file).is_err());
        assert_eq!(folders.take_back(&file), 0);
        drop(folders);
        assert_eq!(fs::read_to_string(file).unwrap(), "mine");
    }
}
