//! The one way to replace a file: a new file beside it, then its name. A reader sees the old file or the new one, whole.

use rustix::io::Errno;

use crate::disk::{Disk, DiskError, DiskFile, Kind};

/// What a crash may do to the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Nothing.
    Durable,
    /// A power cut may bring the old file back: the user's, which must not be lost, while it is replaced again and again.
    Whole,
    /// A power cut may take it: it can be rendered again from the journal.
    Rendered,
}

/// Why a file was not replaced for good. What has the name is the old file or the new one, whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceError {
    /// The name belongs to a folder, a link or a pipe: none of our files.
    #[error("{0} is not a regular file")]
    NotAFile(String),
    /// The disk says no.
    #[error("{0}")]
    Disk(#[from] DiskError),
}

/// Replaces a file, which keeps its permissions, or makes one that only its owner may read.
pub fn replace<D: Disk>(disk: &D, name: &str, bytes: &[u8], durability: Durability) -> Result<(), ReplaceError> {
    let failed = |action| DiskError::when(action, name);
    let there = disk.kind(name).map_err(failed("look at"))?;
    if there == Kind::Other {
        return Err(ReplaceError::NotAFile(name.to_owned()));
    }
    let temporary = temporary(disk, name)?;
    let mut file = disk.create(&temporary).map_err(failed("create"))?;
    let permitted = if there == Kind::File { disk.permit_like(name, &file) } else { Ok(()) };
    let filled = permitted.and_then(|()| fill(&mut file, bytes, durability));
    let placed = filled.and_then(|()| disk.rename(&temporary, name));
    if let Err(errno) = placed {
        // The next run removes what is left.
        disk.remove(&temporary).ok();
        return Err(failed("write")(errno).into());
    }
    if durability == Durability::Durable {
        disk.sync_folder().map_err(failed("sync the folder of"))?;
    }
    Ok(())
}

/// Replaces a file only if it still says what was read of it, and says whether it did. A writer that comes in between keeps its
/// file: what has the name is what that writer put there, also where it writes on after this. A power cut may bring the old
/// file back.
pub fn replace_unchanged<D: Disk>(disk: &D, name: &str, read: &[u8], bytes: &[u8]) -> Result<bool, ReplaceError> {
    let failed = |action| DiskError::when(action, name);
    let is_unchanged = || disk.read(name).is_ok_and(|there| there == read);
    if !is_unchanged() {
        return Ok(false);
    }
    let temporary = temporary(disk, name)?;
    let mut file = disk.create(&temporary).map_err(failed("create"))?;
    let permitted = disk.permit_like(name, &file);
    let filled = permitted.and_then(|()| fill(&mut file, bytes, Durability::Whole));
    let placed = filled.and_then(|()| {
        if !is_unchanged() {
            return Ok(false);
        }
        match disk.exchange(&temporary, name) {
            Err(Errno::NOSYS | Errno::INVAL) => return disk.rename(&temporary, name).map(|()| true),
            exchanged => exchanged?,
        }
        // The replaced file is read under its temporary name, where no other program finds it.
        let mut before = disk.read(&temporary)?;
        if before == read {
            return Ok(true);
        }
        let mut put = bytes.to_vec();
        loop {
            disk.exchange(&temporary, name)?;
            let out = disk.read(&temporary)?;
            if out == put {
                return Ok(false);
            }
            (put, before) = (before, out); // yet another one, which is newer
        }
    });
    disk.remove(&temporary).ok(); // the next run removes what is left
    placed.map_err(|errno| failed("write")(errno).into())
}

/// Makes a file of a name that is free, for good; `EXIST` if there is anything of that name.
pub(crate) fn place_new<D: Disk>(disk: &D, name: &str, bytes: &[u8]) -> Result<(), DiskError> {
    let failed = |action| DiskError::when(action, name);
    let temporary = temporary(disk, name)?;
    let mut file = disk.create(&temporary).map_err(failed("create"))?;
    let filled = fill(&mut file, bytes, Durability::Durable);
    if let Err(errno) = filled.and_then(|()| disk.rename_new(&temporary, name)) {
        // The next run removes what is left.
        disk.remove(&temporary).ok();
        return Err(failed("write")(errno));
    }
    disk.sync_folder().map_err(failed("sync the folder of"))
}

/// Removes a file; that it is not there is fine.
pub fn remove<D: Disk>(disk: &D, name: &str) -> Result<(), DiskError> {
    match disk.remove(name) {
        Err(errno) if errno != Errno::NOENT => Err(DiskError::when("remove", name)(errno)),
        _ => Ok(()),
    }
}

/// Removes what replacements that a crash ended have left behind, and says how many files that were.
pub fn sweep<D: Disk>(disk: &D) -> Result<usize, DiskError> {
    let mut swept = 0;
    for name in strays(disk)? {
        remove(disk, &name)?;
        swept += 1;
    }
    Ok(swept)
}

/// Temporary files of replacements that a crash ended, or that go on.
pub fn strays<D: Disk>(disk: &D) -> Result<Vec<String>, DiskError> {
    let mut found = Vec::new();
    for name in disk.list().map_err(DiskError::when("list", "the folder"))? {
        if is_temporary(&name) && disk.kind(&name).map_err(DiskError::when("look at", &name))? == Kind::File {
            found.push(name);
        }
    }
    Ok(found)
}

/// The name that an unfinished file was to get.
pub fn replaces(temporary: &str) -> Option<&str> {
    is_temporary(temporary).then(|| temporary.strip_prefix('.')?.rsplit_once(MARK)).flatten().map(|(name, _)| name)
}

const MARK: &str = ".tmp-";

/// A name for a file that is not whole yet.
fn temporary<D: Disk>(disk: &D, name: &str) -> Result<String, DiskError> {
    let token = disk.token().map_err(DiskError::when("make a name for", name))?;
    Ok(format!(".{name}{MARK}{token:016x}"))
}

fn is_temporary(name: &str) -> bool {
    name.starts_with('.')
        && name.rsplit_once(MARK).is_some_and(|(name, token)| {
            name.len() > 1 && token.len() == 16 && token.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        })
}

fn fill(file: &mut impl DiskFile, bytes: &[u8], durability: Durability) -> Result<(), Errno> {
    file.write_all_at(0, bytes)?;
    if durability == Durability::Rendered { Ok(()) } else { file.sync_all() }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::real_disk::RealDisk;

    fn world() -> (tempfile::TempDir, RealDisk) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        (dir, disk)
    }

    #[test]
    fn a_file_is_made_and_replaced_and_nothing_is_left_behind() {
        let (_dir, disk) = world();
        for (bytes, durability) in
            [("one", Durability::Durable), ("two", Durability::Whole), ("three", Durability::Rendered)]
        {
            assert_eq!(replace(&disk, "tasks.csv", bytes.as_bytes(), durability), Ok(()));
            assert_eq!(disk.read("tasks.csv"), Ok(bytes.as_bytes().to_vec()));
        }
        assert_eq!(disk.list(), Ok(vec!["tasks.csv".to_owned()]));
    }

    #[test]
    fn file_that_another_writer_changed_is_not_replaced() {
        let (dir, disk) = world();
        let path = dir.path().join("tasks.json");
        std::fs::write(&path, "one").expect("a file");
        assert_eq!(replace_unchanged(&disk, "tasks.json", b"one", b"two"), Ok(true));
        assert_eq!(disk.read("tasks.json"), Ok(b"two".to_vec()));
        assert_eq!(replace_unchanged(&disk, "tasks.json", b"one", b"three"), Ok(false));
        assert_eq!(disk.read("tasks.json"), Ok(b"two".to_vec()));
        assert!(replace_unchanged(&disk, "none", b"", b"x").is_ok_and(|is_replaced| !is_replaced));
        assert_eq!(disk.list(), Ok(vec!["tasks.json".to_owned()]));
    }

    #[test]
    fn a_file_keeps_its_permissions_and_a_new_one_is_private() {
        let (dir, disk) = world();
        let path = dir.path().join("tasks.csv");
        let mode = || std::fs::metadata(&path).expect("a file").permissions().mode() & 0o7777;
        assert_eq!(replace(&disk, "tasks.csv", b"one", Durability::Durable), Ok(()));
        assert_eq!(mode(), 0o600);
        for kept in [0o644, 0o400, 0o664] {
            std::fs::set_permissions(&path, Permissions::from_mode(kept)).expect("permissions");
            assert_eq!(replace(&disk, "tasks.csv", b"two", Durability::Durable), Ok(()));
            assert_eq!(mode(), kept);
        }
    }

    #[test]
    fn links_and_folders_are_left_alone() {
        let (dir, disk) = world();
        let outside = tempfile::tempdir().expect("another folder");
        std::fs::write(outside.path().join("theirs"), "kept").expect("a file");
        symlink(outside.path().join("theirs"), dir.path().join("link")).expect("a link");
        disk.subfolder("folder").expect("a folder");
        for name in ["link", "folder"] {
            let refused = replace(&disk, name, b"x", Durability::Durable);
            assert_eq!(refused, Err(ReplaceError::NotAFile(name.to_owned())));
        }
        assert!(matches!(replace(&disk, "../out", b"x", Durability::Durable), Err(ReplaceError::Disk(_))));
        assert_eq!(std::fs::read(outside.path().join("theirs")).expect("a file"), b"kept");
        assert_eq!(disk.list(), Ok(vec!["folder".to_owned(), "link".to_owned()]));
    }

    #[test]
    fn only_our_own_temporary_files_are_swept() {
        let (_dir, disk) = world();
        let kept = [".tmp-0123456789abcdef", ".a.tmp-0123456789ABCDEF", ".a.tmp-0123", "a.tmp-0123456789abcdef"];
        for name in kept.iter().chain(&[".a.tmp-0123456789abcdef", ".tasks.csv.tmp-ffffffffffffffff"]) {
            disk.create(name).expect("a file");
        }
        disk.subfolder(".b.tmp-0123456789abcdef").expect("a folder");
        assert_eq!(sweep(&disk), Ok(2));
        let mut names = disk.list().expect("names");
        names.retain(|name| name != ".b.tmp-0123456789abcdef");
        names.sort_by_key(|name| kept.iter().position(|k| k == name));
        assert_eq!(names, kept);
    }
}
