//! The folders that workers deliver to, each empty when its worker starts. A worker that delivers nothing leaves an empty
//! one, which becomes the next worker's: giving a folder another name is far cheaper than making one, and nobody finds
//! thousands of empty ones. In between it has a name that is its keeper's alone: the next attempt at the same task may be
//! another keeper's.
//!
//! Whether anything came into one is told by its time: we make it older than any other, and the system gives it a new one
//! with the first thing that comes in. That is ten times as quick as to read it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, FileTimes};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// The time of a folder into which nothing ever came, since 1970.
const NEVER: Duration = Duration::from_nanos(1);

/// What an empty folder that nobody needs is called, before the name of its keeper's ledger. No task's folder begins so.
const SPARE: &str = ".spare-";

/// The folders of one keeper.
#[derive(Debug)]
pub(super) struct Folders {
    /// What an empty one is called that nobody needs any more.
    name: OsString,
    /// Where there is such a one.
    spare: Option<PathBuf>,
}

/// Removes the empty folder that a keeper which was killed left among those of its tasks.
pub(crate) fn remove_spare(folders: &Path, ledger: &Path) {
    let _there_was_none = fs::remove_dir(folders.join(spare_name(ledger)));
}

fn spare_name(ledger: &Path) -> OsString {
    let mut name = OsString::from(SPARE);
    name.push(ledger.file_name().unwrap_or(OsStr::new("0")));
    name
}

impl Folders {
    /// None yet. No other keeper has this ledger.
    pub(super) fn new(ledger: &Path) -> Self {
        Self { name: spare_name(ledger), spare: None }
    }

    /// Sees to it that there is an empty folder at a path. What stands there is moved aside, and it is said where to.
    pub(super) fn give(&mut self, path: &Path, aside: &Path) -> io::Result<Option<PathBuf>> {
        if let Some(spare) = self.spare.take() {
            if fs::rename(&spare, path).is_ok() {
                return Ok(None);
            }
            self.spare = Some(spare);
        }
        let made = make(path);
        if !made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
            return made.map(|()| None);
        }
        if count(path) == Some(0) {
            mark(path);
            return Ok(None);
        }
        let moved = move_away(path, aside)?;
        make(path).map(|()| Some(moved))
    }

    /// Keeps a folder for the next one if nothing was delivered to it, and says how much was. Nobody writes to it any more.
    pub(super) fn take_back(&mut self, path: &Path) -> usize {
        if !is_untouched(path) {
            match count(path) {
                Some(0) => mark(path),
                left => return left.unwrap_or(0),
            }
        }
        self.throw_away();
        let spare = path.with_file_name(&self.name);
        match fs::rename(path, &spare) {
            Ok(()) => self.spare = Some(spare),
            // Something stands there; the next one is made anew.
            Err(_) => drop(fs::remove_dir(path)),
        }
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

fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)?;
    mark(path);
    Ok(())
}

/// Gives what is at a path another name that nothing has, and says which.
fn move_away(path: &Path, aside: &Path) -> io::Result<PathBuf> {
    if let Some(folder) = aside.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let name = aside.file_name().unwrap_or_default().to_string_lossy();
    let others = (2_u64..).map(|number| aside.with_file_name(format!("{name}-{number}")));
    for to in std::iter::once(aside.to_owned()).chain(others) {
        match renameat_with(CWD, path, CWD, &to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(to),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// How much is in a folder. What stands in the place of one is one thing, wherever it leads; nothing, if there is nothing.
fn count(path: &Path) -> Option<usize> {
    let is_folder = fs::symlink_metadata(path).ok()?.is_dir();
    Some(if is_folder { fs::read_dir(path).map_or(1, Iterator::count) } else { 1 })
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
        let aside = dir.path().join("aside");
        let mut folders = Folders::new(Path::new("1-0"));
        let give = |folders: &mut Folders, path| assert_eq!(folders.give(path, &aside).unwrap(), None);
        give(&mut folders, &a);
        folders.take_back(&a);
        assert_eq!(names(dir.path()), [".spare-1-0"]);
        give(&mut folders, &b);
        assert_eq!(names(dir.path()), ["b"]);
        fs::write(b.join("report.md"), "").unwrap();
        assert_eq!(folders.take_back(&b), 1);
        give(&mut folders, &c);
        folders.take_back(&c);
        give(&mut folders, &c);
        folders.take_back(&c);
        drop(folders);
        assert_eq!(names(dir.path()), ["b"]);
    }

    #[test]
    fn what_one_keeper_keeps_is_not_what_another_gives_to_the_next_attempt() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b, aside) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("aside"));
        let [mut one, mut other] = ["1-0", "1-1"].map(|ledger| Folders::new(Path::new(ledger)));
        one.give(&a, &aside).unwrap();
        assert_eq!(one.take_back(&a), 0);
        other.give(&a, &aside).unwrap();
        fs::write(a.join("report.md"), "").unwrap();
        one.give(&b, &aside).unwrap();
        assert_eq!((names(&a), names(&b)), (vec!["report.md".to_owned()], Vec::new()));
        assert_eq!((one.take_back(&b), other.take_back(&a)), (0, 1));
        drop((one, other));
        assert_eq!(names(dir.path()), ["a"]);
    }

    #[test]
    fn what_stands_where_an_empty_folder_is_to_be_kept_stays_there_and_the_folder_goes() {
        let dir = tempfile::tempdir().unwrap();
        let (a, there) = (dir.path().join("a"), dir.path().join(".spare-1-0"));
        fs::create_dir_all(there.join("mine")).unwrap();
        let mut folders = Folders::new(Path::new("ledgers/1-0"));
        folders.give(&a, &dir.path().join("aside")).unwrap();
        assert_eq!(folders.take_back(&a), 0);
        remove_spare(dir.path(), Path::new("1-0"));
        assert_eq!((names(dir.path()), names(&there)), (vec![".spare-1-0".to_owned()], vec!["mine".to_owned()]));
        fs::remove_dir(there.join("mine")).unwrap();
        remove_spare(dir.path(), Path::new("1-0"));
        assert_eq!(names(dir.path()), Vec::<String>::new());
    }

    #[test]
    fn what_stands_there_is_moved_aside_whole_and_over_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (a, aside, other) = (dir.path().join("a"), dir.path().join("quarantine/a.0"), dir.path().join("other"));
        fs::create_dir(&other).unwrap();
        let all: [&dyn Fn(); 4] = [
            &|| fs::create_dir_all(a.join("sub")).unwrap(),
            &|| fs::write(&a, "mine").unwrap(),
            &|| std::os::unix::fs::symlink(&other, &a).unwrap(),
            &|| std::os::unix::fs::symlink("nowhere", &a).unwrap(),
        ];
        for with_spare in [false, true] {
            for plant in all {
                let mut folders = Folders::new(Path::new("1-0"));
                if with_spare {
                    let other = dir.path().join("b");
                    folders.give(&other, &aside).unwrap();
                    folders.take_back(&other);
                }
                plant();
                let moved = folders.give(&a, &aside).unwrap().expect("it was moved");
                assert!(moved.symlink_metadata().is_ok() && is_untouched(&a));
                assert_eq!(folders.take_back(&a), 0);
            }
        }
        assert_eq!(names(&dir.path().join("quarantine")).len(), 8);
        assert_eq!(fs::read_to_string(dir.path().join("quarantine/a.0-2")).unwrap(), "mine");
        assert!(dir.path().join("quarantine/a.0/sub").is_dir() && names(&other).is_empty());
    }

    #[test]
    fn whatever_comes_into_a_folder_is_counted_however_it_came() {
        let dir = tempfile::tempdir().unwrap();
        let (a, other) = (dir.path().join("a"), dir.path().join("other"));
        let within = a.join("x");
        let all: [(&dyn Fn(), usize); 10] = [
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
            (&|| fs::rename(&a, &other).and_then(|()| std::os::unix::fs::symlink(&other, &a)).unwrap(), 1),
            (&|| fs::remove_dir(&a).and_then(|()| fs::write(&a, "")).unwrap(), 1),
            (&|| fs::remove_dir(&a).unwrap(), 0),
        ];
        for (nth, (change, count)) in all.into_iter().enumerate() {
            let mut folders = Folders::new(Path::new("1-0"));
            folders.give(&a, &other).unwrap();
            assert!(is_untouched(&a), "{nth}");
            change();
            assert_eq!(folders.take_back(&a), count, "{nth}");
            drop(folders);
            fs::remove_dir_all(&a).or_else(|_| fs::remove_file(&a)).ok();
            fs::remove_dir_all(&other).ok();
        }
    }
}
