//! The folders that workers deliver to. A worker that delivers nothing leaves an empty one, which becomes the next
//! worker's: giving a folder another name is far cheaper than making one, and nobody finds thousands of empty ones.
//!
//! Whether anything came into one is told by its time: we make it older than any other, and the system gives it a new one
//! with the first thing that comes in. That is ten times as quick as to read it.

use std::fs::{self, DirBuilder, File, FileTimes};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// The time of a folder into which nothing ever came, since 1970.
const NEVER: Duration = Duration::from_nanos(1);

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
            Err(error) => Err(error),
            Ok(()) => {
                mark(path);
                Ok(())
            }
        }
    }

    /// Keeps a folder for the next one if nothing was delivered to it, and says how much was. Nobody writes to it any more.
    pub(super) fn take_back(&mut self, path: &Path) -> usize {
        if !is_untouched(path) {
            match fs::read_dir(path).map(Iterator::count) {
                Ok(0) => mark(path),
                left => return left.unwrap_or(0),
            }
        }
        self.throw_away();
        self.spare = Some(path.to_owned());
        0
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

/// Gives an empty folder the time by which it is known. One that does not take it is read each time.
fn mark(path: &Path) {
    let never = FileTimes::new().set_modified(UNIX_EPOCH + NEVER);
    let _it_is_read_then = File::open(path).and_then(|folder| folder.set_times(never));
}

/// Whether it is a folder of ours into which nothing ever came.
fn is_untouched(path: &Path) -> bool {
    let never = (NEVER.as_secs().cast_signed(), NEVER.subsec_nanos().into());
    fs::symlink_metadata(path).is_ok_and(|folder| folder.is_dir() && (folder.mtime(), folder.mtime_nsec()) == never)
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
    fn whatever_comes_into_a_folder_is_counted_however_it_came() {
        let dir = tempfile::tempdir().unwrap();
        let (a, other) = (dir.path().join("a"), dir.path().join("other"));
        let within = a.join("x");
        let all: [(&dyn Fn(), usize); 8] = [
            (&|| {}, 0),
            (&|| fs::write(&within, "").unwrap(), 1),
            (&|| fs::create_dir(&within).unwrap(), 1),
            (&|| std::os::unix::fs::symlink("nowhere", &within).unwrap(), 1),
            (&|| fs::write(&within, "").and_then(|()| fs::remove_file(&within)).unwrap(), 0),
            (
                &|| fs::remove_dir(&a).and_then(|()| fs::create_dir(&a)).and_then(|()| fs::write(&within, "")).unwrap(),
                1,
            ),
            (&|| fs::rename(&a, &other).and_then(|()| fs::create_dir_all(&within)).unwrap(), 1),
            (&|| fs::remove_dir(&a).unwrap(), 0),
        ];
        for (nth, (change, count)) in all.into_iter().enumerate() {
            let mut folders = Folders::default();
            folders.give(&a).unwrap();
            assert!(is_untouched(&a), "{nth}");
            change();
            assert_eq!(folders.take_back(&a), count, "{nth}");
            folders.give(&a).unwrap();
            assert_eq!(folders.take_back(&a), count, "{nth}: again");
            drop(folders);
            fs::remove_dir_all(&a).or_else(|_| fs::remove_file(&a)).ok();
            fs::remove_dir_all(&other).ok();
        }
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
