//! What the file system under a project is like: whether one machine alone decides about its locks, and how much room it
//! has.

use std::path::Path;

use rustix::fs::{FlockOperation, flock, statfs, statvfs};
use rustix::io::Errno;
use team_executor_beneath::Dir;

use crate::disk::{DiskError, retried};

/// What a file system is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name, if it is a known one.
    pub name: Option<&'static str>,
    /// Other machines may write to it, and a lock may not reach them.
    pub is_network: bool,
    /// How many bytes the user can still write.
    pub free: u64,
    /// No more files can be made.
    pub has_all_files: bool,
}

/// With less than this free, a worker that fails may have failed for want of room.
const LEAST_FREE: u64 = 64 << 10;

impl FileSystem {
    /// Whether a program that writes to it is likely to fail.
    pub const fn is_full(&self) -> bool {
        self.free < LEAST_FREE || self.has_all_files
    }
}

/// Looks at the file system that a path is on.
pub fn file_system(path: &Path) -> Result<FileSystem, DiskError> {
    let failed = |errno| DiskError { action: "look at the file system of", name: path.display().to_string(), errno };
    let kind = u32::try_from(retried(|| statfs(path)).map_err(failed)?.f_type).ok();
    let room = retried(|| statvfs(path)).map_err(failed)?;
    let (name, is_network) = known(kind);
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    // Some file systems count no files.
    Ok(FileSystem { name, is_network, free, has_all_files: room.f_files > 0 && room.f_favail == 0 })
}

/// Whether a lock on a folder keeps a second one out. The folder is not changed.
pub fn locks_work(folder: &Path) -> Result<bool, DiskError> {
    let failed = |errno| DiskError { action: "lock", name: folder.display().to_string(), errno };
    let open = || Dir::open(folder);
    let (first, second) = (open().map_err(failed)?, open().map_err(failed)?);
    let lock = |file| retried(|| flock(file, FlockOperation::NonBlockingLockExclusive));
    match lock(&first) {
        // Another process has it at this moment, which is proof enough.
        Err(Errno::WOULDBLOCK) => return Ok(true),
        result => result.map_err(failed)?,
    }
    Ok(lock(&second) == Err(Errno::WOULDBLOCK))
}

/// The name of a file system by the number that the kernel gives it, and whether it is on a network.
fn known(kind: Option<u32>) -> (Option<&'static str>, bool) {
    let (name, is_network) = match kind {
        Some(0x6969) => ("nfs", true),
        Some(0x517B | 0xFF53_4D42 | 0xFE53_4D42) => ("smb", true),
        Some(0x5346_414F | 0x6B41_4653) => ("afs", true),
        Some(0x7375_7245) => ("coda", true),
        Some(0x0102_1997) => ("9p", true),
        Some(0x00C3_6400) => ("ceph", true),
        Some(0x0BD0_0BD0) => ("lustre", true),
        Some(0x0116_1970) => ("gfs2", true),
        Some(0x7461_636F) => ("ocfs2", true),
        Some(0x6573_5546) => ("fuse", false), // may be anything
        Some(0xEF53) => ("ext4", false),
        Some(0x5846_5342) => ("xfs", false),
        Some(0x9123_683E) => ("btrfs", false),
        Some(0x2FC1_2FC1) => ("zfs", false),
        Some(0xF2F5_2010) => ("f2fs", false),
        Some(0xCA45_1A4E) => ("bcachefs", false),
        Some(0x0102_1994) => ("tmpfs", false),
        Some(0x794C_7630) => ("overlay", false),
        _ => return (None, false),
    };
    (Some(name), is_network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_folder_has_room_and_working_locks() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let found = file_system(dir.path()).expect("a file system");
        assert!(found.free > 0 && !found.is_network, "{found:?}");
        assert_eq!(locks_work(dir.path()), Ok(true));
        assert_eq!(locks_work(dir.path()), Ok(true), "the first look left a lock");
        let missing = file_system(&dir.path().join("none")).map_err(|error| error.errno);
        assert_eq!(missing, Err(Errno::NOENT));
    }

    #[test]
    fn network_file_systems_are_known_and_fuse_is_not_taken_for_one() {
        for (kind, name) in [(0x6969, "nfs"), (0xFF53_4D42, "smb"), (0xFE53_4D42, "smb"), (0x00C3_6400, "ceph")] {
            assert_eq!(known(Some(kind)), (Some(name), true));
        }
        assert_eq!(known(Some(0x6573_5546)), (Some("fuse"), false));
        assert_eq!((known(Some(1)), known(None)), ((None, false), (None, false)));
    }
}
