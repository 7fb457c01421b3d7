//! A cgroup (version 2) around a keeper and its workers: the one thing that still ends them all when the keeper itself was
//! killed. Where none can be made everything works without it, and `doctor` says so.
//!
//! The keeper is inside with its workers, from its first moment where the kernel can do that: moving a process into another
//! cgroup took up to 17 ms here while staying costs nothing.

#![expect(clippy::disallowed_methods, reason = "files of the kernel and of the machine, none of a run")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::rand::{GetRandomFlags, getrandom};

/// How the name of each of ours begins.
const PREFIX: &str = "team-executor-";

/// How long killed processes may take to be gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// How old an empty one is before it is removed by another executor. One that was just made may belong to an executor that
/// cannot be seen from here and is about to start a keeper in it.
const YOUTH: Duration = Duration::from_secs(60);

/// A cgroup of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes one below the cgroup of this process, if that is possible. No other ever has its name: a process
    /// that finds it in a ledger later kills what is inside, and the number of a process is given away again.
    pub(crate) fn create() -> Option<Self> {
        let mut token = [0; size_of::<u64>()];
        let filled = getrandom(&mut token, GetRandomFlags::empty()).ok()?;
        let name = format!("{PREFIX}{}-{:016x}", std::process::id(), u64::from_ne_bytes(token));
        let path = home().filter(|_| filled == token.len())?.join(name);
        fs::create_dir(&path).ok()?;
        // Without this file (before Linux 5.14) it would be no help.
        if path.join("cgroup.kill").exists() {
            return Some(Self(path));
        }
        drop(fs::remove_dir(&path));
        None
    }

    /// The one at a path, if it could be one of ours.
    pub(crate) fn named(path: &Path) -> Option<Self> {
        let ours = path.file_name()?.to_str()?.starts_with(PREFIX);
        let is_plain = path.components().all(|part| !matches!(part, std::path::Component::ParentDir));
        (ours && is_plain && path.starts_with(mount()?) && path.is_dir()).then(|| Self(path.to_owned()))
    }

    /// The one that a process is in, if it is one of ours.
    pub(crate) fn from_pid(pid: i32) -> Option<Self> {
        Self::named(&around(&pid.to_string())?)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Whether a process is inside.
    pub(crate) fn holds(&self, pid: u32) -> bool {
        let processes = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        processes.lines().any(|line| line.parse() == Ok(pid))
    }

    /// Takes a process in, with all that it will start.
    pub(crate) fn take(&self, pid: u32) -> io::Result<()> {
        fs::write(self.0.join("cgroup.procs"), pid.to_string())
    }

    /// Kills all inside and waits until they are gone. Says how many there were; a cgroup that is gone had none, and one
    /// may be removed by another executor as soon as it is empty.
    pub(crate) fn kill(&self) -> io::Result<usize> {
        let processes = unless_gone(fs::read_to_string(self.0.join("cgroup.procs")))?;
        unless_gone(fs::write(self.0.join("cgroup.kill"), "1"))?;
        let until = Instant::now() + PATIENCE;
        while unless_gone(fs::read_to_string(self.0.join("cgroup.events")))?.contains("populated 1") {
            if Instant::now() > until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(processes.lines().count())
    }

    /// Removes it, unless its last process did; there must be none inside.
    pub(crate) fn remove(self) -> io::Result<()> {
        unless_gone(fs::remove_dir(self.0))
    }

    /// Leaves it, as the last one inside, and removes it.
    pub(crate) fn leave(self) -> io::Result<()> {
        let above = self.0.parent().ok_or(io::ErrorKind::NotFound)?;
        fs::write(above.join("cgroup.procs"), std::process::id().to_string())?;
        self.remove()
    }
}

/// Removes empty cgroups of executors that are gone. One that was killed together with an idle keeper, or before its
/// keeper was inside, could not do so itself.
pub(crate) fn remove_abandoned() {
    for path in abandoned().iter().filter(|path| !is_young(path)) {
        // One with a process inside cannot be removed.
        let _in_use = fs::remove_dir(path);
    }
}

fn is_young(cgroup: &Path) -> bool {
    let made = fs::metadata(cgroup).and_then(|found| found.modified());
    let age = made.map(|made| SystemTime::now().duration_since(made).unwrap_or_default());
    age.is_ok_and(|age| age < YOUTH)
}

/// The cgroups of executors that are gone. A keeper that still ends its workers may be inside.
pub fn abandoned() -> Vec<PathBuf> {
    let entries = home().and_then(|home| fs::read_dir(home).ok()).into_iter().flatten().filter_map(Result::ok);
    let is_abandoned = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let executor = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse::<u32>().ok());
        executor.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
    };
    entries.filter(is_abandoned).map(|entry| entry.path()).collect()
}

/// A keeper removes its cgroup when its executor is gone, and the next executor may look at it just then.
fn unless_gone<T: Default>(result: io::Result<T>) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_no_device(&error) => Ok(T::default()),
        result => result,
    }
}

/// What an open file of a removed cgroup says.
fn is_no_device(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error())
}

/// The cgroup that this process is in.
fn home() -> Option<PathBuf> {
    around("self")
}

/// The cgroup that a process is in.
fn around(process: &str) -> Option<PathBuf> {
    let own = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(mount()?.join(path))
}

/// Whether a process is in a cgroup whose name, or that of one above, is meant.
pub(crate) fn is_within(pid: i32, is_meant: impl Fn(&str) -> bool) -> bool {
    let own = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mut paths = own.lines().filter_map(|line| line.strip_prefix("0::/"));
    paths.any(|path| path.split('/').any(|name| name.starts_with(PREFIX) && is_meant(name)))
}

/// Whether a name is that of a cgroup which an executor made.
pub(crate) fn is_of(name: &str, executor: i32) -> bool {
    name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')).is_some_and(|(pid, _)| pid.parse() == Ok(executor))
}

/// Where the tree of cgroups is.
fn mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let path = fields.next()?;
        (fields.next()? == "cgroup2").then(|| PathBuf::from(path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_could_be_ours_is_named() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("team-executor-1-1");
        fs::create_dir(&folder).unwrap();
        assert_eq!(Cgroup::named(&folder), None);
        if let Some(mount) = mount() {
            assert_eq!(Cgroup::named(&mount), None);
            assert_eq!(Cgroup::named(&mount.join("team-executor-none-0")), None);
            assert_eq!(Cgroup::named(&mount.join("..").join("team-executor-1-1")), None);
        }
    }

    #[test]
    fn one_that_was_made_can_be_removed() {
        if let Some(cgroup) = Cgroup::create() {
            let path = cgroup.path().to_owned();
            assert_eq!(Cgroup::named(&path), Some(cgroup.clone()));
            assert_eq!(cgroup.kill().unwrap(), 0);
            cgroup.clone().remove().unwrap();
            assert!(!path.exists());
            // Another one may have been faster.
            assert_eq!(cgroup.kill().unwrap(), 0);
            cgroup.remove().unwrap();
        }
    }

    #[test]
    fn killed_processes_count_despite_concurrent_removal() {
        for _ in 0..20 {
            let Some(cgroup) = Cgroup::create() else { return };
            let mut inside = std::process::Command::new("/bin/sleep").arg("60").spawn().unwrap();
            assert!(!cgroup.holds(inside.id()));
            cgroup.take(inside.id()).unwrap();
            assert!(cgroup.holds(inside.id()));
            let inside_pid = inside.id().cast_signed();
            assert!(is_within(inside_pid, |name| is_of(name, std::process::id().cast_signed())));
            assert!(!is_within(inside_pid, |name| is_of(name, inside_pid)));
            assert_eq!(Cgroup::from_pid(inside.id().cast_signed()), Some(cgroup.clone()));
            let path = cgroup.path().to_owned();
            let other = thread::spawn(move || while fs::remove_dir(&path).is_err() {});
            assert_eq!(cgroup.kill().unwrap(), 1);
            inside.wait().unwrap();
            other.join().unwrap();
            cgroup.remove().unwrap();
        }
    }

    #[test]
    fn cgroup_names_are_unique_despite_reused_pids() {
        let Some(one) = Cgroup::create() else { return };
        let other = Cgroup::create().unwrap();
        let token = |cgroup: &Cgroup| cgroup.path().to_str().unwrap().rsplit_once('-').unwrap().1.to_owned();
        assert!(token(&one) != token(&other) && token(&one).len() == 16, "{one:?} {other:?}");
        one.remove().and_then(|()| other.remove()).unwrap();
    }

    #[test]
    fn empty_cgroups_of_dead_executors_are_removed() {
        let Some(ours) = Cgroup::create() else { return };
        let mut dead = std::process::Command::new("/bin/true").spawn().unwrap();
        dead.wait().unwrap();
        let theirs = ours.path().with_file_name(format!("{PREFIX}{}-1", dead.id()));
        fs::create_dir(&theirs).unwrap();
        assert!(abandoned().contains(&theirs) && !abandoned().contains(&ours.path().to_owned()));
        remove_abandoned();
        assert!(theirs.exists(), "another may just have made it");
        let long_ago = fs::FileTimes::new().set_modified(SystemTime::now() - YOUTH);
        for path in [theirs.as_path(), ours.path()] {
            fs::File::open(path).and_then(|folder| folder.set_times(long_ago)).unwrap();
        }
        remove_abandoned();
        assert_eq!((theirs.exists(), ours.path().exists()), (false, true));
        ours.remove().unwrap();
    }
}
