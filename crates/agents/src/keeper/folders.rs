//! The folders that workers deliver to, each empty when its worker starts. A worker that delivers nothing
//! leaves an empty one, which becomes the next worker's: giving a folder another name is far cheaper than
//! making one, and no process finds thousands of empty ones.
//!
//! Until then it keeps its name, and the next attempt at the same task may be another keeper's. So a keeper
//! gives a folder another name, or removes it, only while a lock keeps every other process from replacing
//! folders, and only if it is still the folder that it has open. A keeper that finds a folder in its way puts
//! its own there under the same lock.
//!
//! Whether anything came into one is told by its time.
//!
//! What this brings: making and removing a folder for each task costs 34 % more CPU (`cargo xtask bench finished 3000`, with and
//! without it, interleaved: 858 and 634 µs a task on ext4).

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, FlockOperation, Stat, flock, fstat};
use rustix::io::{Errno, retry_on_intr};
use team_executor_beneath::{Dir, Near, io_error, make_ours, open_ours};

use crate::untouched::{is_untouched, mark};

/// The folders of one keeper.
#[derive(Debug)]
pub(super) struct Folders {
    /// What keepers of a run lock: the folder of their ledgers, which no worker has to do with. Nothing where there are no locks:
    /// no folder is used again there.
    lock: Option<Dir>,
    /// The folder that they are in.
    near: Near,
    all: Option<Dir>,
    /// The one that a worker has, or an empty one that none needs any more.
    held: Option<Held>,
}

/// A folder that this keeper has made, open: no other has its number meanwhile.
#[derive(Debug)]
struct Held {
    name: String,
    _open: Dir,
    number: (u64, u64),
}

/// Removes an empty folder that a keeper which was killed left in the place of its last task's. No worker may have it.
pub(crate) fn remove_left(folder: &Path) {
    let (Some(parent), Some(name)) = parts(folder) else { return };
    if let Ok(all) = open_ours(parent)
        && all.stat(name).is_ok_and(|found| is_untouched(&found))
    {
        let _it_stays_then = all.remove_dir(name);
    }
}

impl Folders {
    /// None yet.
    pub(super) fn new(ledger: &Path) -> Self {
        let lock = ledger.parent().and_then(|folder| open_ours(folder).ok());
        let lock = lock.filter(|lock| Locked::new(lock, FlockOperation::LockShared).is_some());
        Self { lock, near: Near::default(), all: None, held: None }
    }

    /// Sees to it that there is an empty folder at a path. What stands there is moved aside, and it is said where to.
    pub(super) fn give(&mut self, path: &Path, aside: &Path) -> io::Result<Option<PathBuf>> {
        let (Some(parent), Some(name)) = parts(path) else { return Err(io::ErrorKind::InvalidInput.into()) };
        if self.all.as_ref().is_none_or(|known| known.path() != parent) {
            self.throw_away();
            self.all = Some(self.near.folder_of(path)?.clone());
        }
        if self.rename_held(name) {
            return Ok(None);
        }
        self.throw_away();
        let Some(all) = &self.all else { return Err(io::ErrorKind::NotFound.into()) };
        let mut moved = None;
        let held = match Held::make(all, name) {
            Err(Errno::EXIST) => {
                let _locked = self.lock.as_ref().and_then(|lock| Locked::new(lock, FlockOperation::LockExclusive));
                match all.remove_dir(name) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(_) => moved = Some(move_away(all, name, aside)?),
                }
                Held::make(all, name)
            }
            made => made,
        };
        self.held = Some(held.map_err(io_error)?);
        Ok(moved)
    }

    /// Leaves a folder as it is, if something was delivered to it. An empty one may be another keeper's.
    pub(super) fn keep(&mut self, path: &Path) -> bool {
        let (Some(parent), Some(name)) = parts(path) else { return false };
        self.throw_away();
        if self.all.as_ref().is_none_or(|known| known.path() != parent) {
            self.all = self.near.folder_of(path).ok().cloned();
        }
        let is_full = |all: &Dir| all.dir(name).and_then(|folder| folder.count()).is_ok_and(|count| count > 0);
        self.all.as_ref().is_some_and(is_full)
    }

    /// Keeps a folder for the next one if nothing was delivered to it, and says how much was. All its writers
    /// are gone.
    pub(super) fn take_back(&mut self, path: &Path) -> usize {
        let Some(all) = &self.all else { return 0 };
        if self.lock.is_some() && self.held.as_ref().is_some_and(|held| held.is_untouched_in(all)) {
            return 0;
        }
        // Until its end is reported, the next attempt does not begin.
        self.held = None;
        let (_, Some(name)) = parts(path) else { return 0 };
        let left = count(all, name);
        if left == 0 {
            let _there_is_none = all.remove_dir(name);
        }
        left
    }

    /// Gives the empty folder a name that nothing has.
    fn rename_held(&mut self, name: &str) -> bool {
        let (Some(held), Some(all), Some(lock)) = (&mut self.held, &self.all, &self.lock) else { return false };
        let locked = Locked::new(lock, FlockOperation::LockShared);
        let is_given = locked.is_some() && held.is_untouched_in(all) && all.rename_new(&held.name, name).is_ok();
        if is_given {
            name.clone_into(&mut held.name);
        }
        is_given
    }

    fn throw_away(&mut self) {
        let (Some(held), Some(all), Some(lock)) = (self.held.take(), &self.all, &self.lock) else { return };
        let locked = Locked::new(lock, FlockOperation::LockShared);
        if locked.is_some() && held.is_untouched_in(all) {
            let _it_stays_then = all.remove_dir(&held.name);
        }
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        self.throw_away();
    }
}

impl Held {
    fn make(all: &Dir, name: &str) -> Result<Self, Errno> {
        all.make_new_dir(name)?;
        let folder = all.dir(name)?;
        let _it_is_read_then = mark(&folder);
        let number = number(&fstat(&folder)?);
        Ok(Self { name: name.to_owned(), _open: folder, number })
    }

    /// Whether it is still there, and nothing ever came into it.
    fn is_untouched_in(&self, all: &Dir) -> bool {
        all.stat(&self.name).is_ok_and(|found| number(&found) == self.number && is_untouched(&found))
    }
}

/// A lock that is given back at the end.
struct Locked<'a>(&'a Dir);

impl<'a> Locked<'a> {
    /// Waits for it; nothing if there are no locks here.
    fn new(folder: &'a Dir, how: FlockOperation) -> Option<Self> {
        retry_on_intr(|| flock(folder.as_fd(), how)).is_ok().then_some(Self(folder))
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _it_is_given_back = flock(self.0.as_fd(), FlockOperation::Unlock);
    }
}

/// The folder that something is in, and its name.
pub(super) fn parts(path: &Path) -> (Option<&Path>, Option<&str>) {
    (path.parent(), path.file_name().and_then(|name| name.to_str()))
}

fn number(found: &Stat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

/// Gives something another name that nothing has, and says where it is.
fn move_away(all: &Dir, name: &str, aside: &Path) -> io::Result<PathBuf> {
    let (Some(folder), Some(stem)) = parts(aside) else { return Err(io::ErrorKind::InvalidInput.into()) };
    let to = make_ours(folder)?;
    let name = all.move_free(name, &to, stem).map_err(io_error)?;
    Ok(folder.join(name))
}

/// How much is in the folder at a path.
pub(super) fn count_at(folder: &Path) -> usize {
    let (Some(parent), Some(name)) = parts(folder) else { return 0 };
    open_ours(parent).map_or(0, |all| count(&all, name))
}

/// How much is in a folder. What stands in the place of one is one thing, wherever it leads.
fn count(all: &Dir, name: &str) -> usize {
    match all.stat(name).map(|found| FileType::from_raw_mode(found.st_mode)) {
        Ok(FileType::Directory) => all.dir(name).and_then(|folder| folder.count()).unwrap_or(1),
        found => usize::from(found.is_ok()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{AtFlags, CWD, statat};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Where folders are made, and two keepers of one run.
    fn two(dir: &Path) -> (PathBuf, [Folders; 2]) {
        let (all, ledgers) = (dir.join("all"), dir.join("ledgers"));
        [&all, &ledgers].into_iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
        (all, ["1-0", "1-1"].map(|ledger| Folders::new(&ledgers.join(ledger))))
    }

    fn is_new(folder: &Path) -> bool {
        statat(CWD, folder, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| is_untouched(&found))
    }

    #[test]
    fn an_empty_folder_is_used_again_and_a_full_one_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (all, [mut folders, _]) = two(dir.path());
        let [a, b, c] = ["a", "b", "c"].map(|name| all.join(name));
        let give = |folders: &mut Folders, path: &Path| {
            assert_eq!(folders.give(path, &all.join("aside")).unwrap(), None);
            number(&statat(CWD, path, AtFlags::empty()).unwrap())
        };
        let first = give(&mut folders, &a);
        assert_eq!(folders.take_back(&a), 0);
        assert_eq!(give(&mut folders, &b), first);
        assert_eq!(names(&all), ["b"]);
        fs::write(b.join("report.md"), "").unwrap();
        assert_eq!(folders.take_back(&b), 1);
        assert_ne!(give(&mut folders, &c), first);
        for _ in 0..2 {
            assert_eq!(folders.take_back(&c), 0);
            give(&mut folders, &c);
        }
        assert!(is_new(&c));
        assert_eq!(folders.take_back(&c), 0);
        drop(folders);
        assert_eq!(names(&all), ["b"]);
    }

    #[test]
    fn folder_of_a_cut_off_attempt_stays_if_it_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let (all, [mut one, mut other]) = two(dir.path());
        let [a, b, aside] = ["a", "b", "aside"].map(|name| all.join(name));
        one.give(&a, &aside).unwrap();
        assert_eq!(one.take_back(&a), 0);
        assert!(!other.keep(&a) && !other.keep(&b), "an empty one is the first keeper's, and may get another name");
        fs::write(a.join("report.md"), "").unwrap();
        assert!(other.keep(&a));
        fs::write(a.join("more.md"), "").unwrap();
        assert_eq!(other.take_back(&a), 2);
        one.give(&b, &aside).unwrap();
        assert_eq!(names(&a), ["more.md", "report.md"]);
        fs::remove_dir_all(&a).and_then(|()| std::os::unix::fs::symlink(&b, &a)).unwrap();
        assert!(!other.keep(&a), "a link is not followed");
    }

    #[test]
    fn keepers_do_not_share_reused_folders() {
        let dir = tempfile::tempdir().unwrap();
        let (all, [mut one, mut other]) = two(dir.path());
        let [a, b, aside] = ["a", "b", "aside"].map(|name| all.join(name));
        one.give(&a, &aside).unwrap();
        assert_eq!(one.take_back(&a), 0);
        other.give(&a, &aside).unwrap();
        one.give(&b, &aside).unwrap();
        fs::write(a.join("report.md"), "").unwrap();
        assert_eq!((names(&a), names(&b)), (vec!["report.md".to_owned()], Vec::new()));
        assert_eq!((one.take_back(&b), other.take_back(&a)), (0, 1));
        drop((one, other));
        assert_eq!(names(&all), ["a"]);
    }

    #[test]
    fn two_keepers_that_want_the_same_folder_at_once_have_two() {
        let dir = tempfile::tempdir().unwrap();
        let (all, [mut one, mut other]) = two(dir.path());
        let (aside, mine) = (all.join("aside"), |path: &Path| number(&statat(CWD, path, AtFlags::empty()).unwrap()));
        for round in 0..3000 {
            let [a, b] = ["a", "b"].map(|name| all.join(format!("{name}{round}")));
            one.give(&a, &aside).unwrap();
            assert_eq!(one.take_back(&a), 0);
            let gate = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                let next = scope.spawn(|| {
                    gate.wait();
                    one.give(&b, &aside).map(|_| mine(&b))
                });
                gate.wait();
                other.give(&a, &aside).unwrap();
                let (ours, next) = (mine(&a), next.join().unwrap().unwrap());
                assert_eq!((mine(&a), mine(&b)), (ours, next), "round {round}");
                assert_ne!(ours, next, "round {round}");
            });
            assert_eq!((one.take_back(&b), other.take_back(&a)), (0, 0));
        }
    }

    #[test]
    fn without_locks_no_folder_is_reused_or_left_empty() {
        let dir = tempfile::tempdir().unwrap();
        let (all, _) = two(dir.path());
        let mut folders = Folders::new(&dir.path().join("nowhere/1-0"));
        for (name, delivered) in [("a", 0), ("b", 1), ("c", 0)] {
            let path = all.join(name);
            assert_eq!(folders.give(&path, &all.join("aside")).unwrap(), None);
            (0..delivered).for_each(|nth| fs::write(path.join(nth.to_string()), "").unwrap());
            assert_eq!(folders.take_back(&path), delivered);
        }
        drop(folders);
        assert_eq!(names(&all), ["b"]);
    }

    #[test]
    fn killed_keepers_folder_is_removed_only_if_unused() {
        let dir = tempfile::tempdir().unwrap();
        let (all, [mut one, mut other]) = two(dir.path());
        let [a, b, mine] = ["a", "b", "mine"].map(|name| all.join(name));
        one.give(&a, &all.join("aside")).unwrap();
        other.give(&b, &all.join("aside")).unwrap();
        fs::write(b.join("x"), "").and_then(|()| fs::remove_file(b.join("x"))).unwrap();
        fs::create_dir(&mine).unwrap();
        std::mem::forget((one, other));
        [&a, &b, &mine, &all.join("none")].into_iter().for_each(|folder| remove_left(folder));
        assert_eq!(names(&all), ["b", "mine"]);
    }

    #[test]
    fn existing_folder_is_moved_aside_over_nothing() {
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
                let (_, [mut folders, _]) = two(dir.path());
                if with_spare {
                    let other = dir.path().join("b");
                    folders.give(&other, &aside).unwrap();
                    folders.take_back(&other);
                }
                plant();
                let moved = folders.give(&a, &aside).unwrap().expect("it was moved");
                assert!(moved.symlink_metadata().is_ok() && is_new(&a));
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
            let (_, [mut folders, _]) = two(dir.path());
            folders.give(&a, &other).unwrap();
            assert!(is_new(&a), "{nth}");
            change();
            assert_eq!(folders.take_back(&a), count, "{nth}");
            drop(folders);
            fs::remove_dir_all(&a).or_else(|_| fs::remove_file(&a)).ok();
            fs::remove_dir_all(&other).ok();
        }
    }
}
