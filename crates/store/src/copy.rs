//! Files that are copied out: each appears whole under its name, and nothing that has the name already is touched.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::{Dir as Entries, FileType};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use team_executor_beneath::{Dir, How, io_error};

use crate::derived::hex;
use crate::disk::{Disk, DiskError, DiskFile, Kind};
use crate::real_disk::RealDisk;
use team_executor_beneath::{open_file, open_ours};

/// How much is copied at a time.
const CHUNK: usize = 16 << 10;

/// Everything below a folder, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// Regular files: where each is, seen from the folder.
    pub files: Vec<String>,
    /// Entries that are neither regular files nor folders, or whose names are not valid UTF-8; with the
    /// reason.
    pub others: Vec<(String, &'static str)>,
}

/// A file that is at its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Its bytes.
    pub size: u64,
    /// Their SHA-256, in hexadecimal.
    pub sha256: String,
    /// It was there before.
    pub was_there: bool,
}

/// Why a file was not copied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// Something else has its name.
    #[error("{0} already exists and is another file")]
    InTheWay(String),
    /// The disk says no.
    #[error("{0}")]
    Disk(#[from] DiskError),
}

/// Looks at everything below a folder of ours without following a link. A folder that is not there is empty; a link in its
/// place is the one thing that is found, without a name.
pub fn below(folder: &Path) -> std::io::Result<Below> {
    let mut below = Below::default();
    match open_ours(folder) {
        _ if folder.is_symlink() => below.others.push((String::new(), "it is a link")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        top => below.walk(&top?).map_err(io_error)?,
    }
    below.files.sort_unstable();
    below.others.sort_unstable();
    Ok(below)
}

impl Below {
    fn walk(&mut self, top: &Dir) -> Result<(), Errno> {
        let mut waiting = vec![String::new()];
        while let Some(within) = waiting.pop() {
            let folder = match top.dir(if within.is_empty() { "." } else { &within }) {
                Err(Errno::NOENT) => continue, // it is gone since
                folder => folder?,
            };
            for entry in Entries::read_from(&folder)? {
                let entry = entry?;
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                let path = |name: &str| if within.is_empty() { name.to_owned() } else { format!("{within}/{name}") };
                let Ok(text) = name.to_str() else {
                    self.others.push((path(&name.to_string_lossy()), "its name is not valid UTF-8"));
                    continue;
                };
                match folder.stat(text).map(|found| FileType::from_raw_mode(found.st_mode)) {
                    Err(Errno::NOENT) => {}
                    Ok(FileType::Directory) => waiting.push(path(text)),
                    Ok(FileType::RegularFile) => self.files.push(path(text)),
                    Ok(FileType::Symlink) => self.others.push((path(text), "it is a link")),
                    kind => {
                        kind?;
                        self.others.push((path(text), "it is not a regular file"));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether what has that name below a folder is, byte for byte, the file; nothing if there is nothing.
pub fn is_same(from: &Path, to: &Path, path: &str) -> Result<Option<bool>, DiskError> {
    match Dir::open(to).and_then(|to| to.file(path, How::ReadAnything)) {
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::NXIO) => Ok(Some(false)),
        Err(errno) => Err(DiskError::when("look at", path)(errno)),
        Ok(there) => {
            let ours = source(from).and_then(|file| digest(file, |_| Ok(()))).map_err(DiskError::when("read", path))?;
            let theirs = digest(there, |_| Ok(())).map_err(DiskError::when("read", path))?;
            Ok(Some(ours == theirs))
        }
    }
}

/// Copies a file to a path below a folder, for good; the folders on the way are made. What is there already stays.
pub fn copy_new(from: &Path, to: &RealDisk, path: &str) -> Result<Copied, CopyError> {
    let failed = |action| DiskError::when(action, path);
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut made: Option<RealDisk> = None;
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        made = Some(made.as_ref().unwrap_or(to).subfolder(part).map_err(failed("make the folder of"))?);
    }
    let folder = made.as_ref().unwrap_or(to);
    let source = source(from).map_err(failed("read"))?;
    if folder.kind(name).map_err(failed("look at"))? == Kind::File {
        let (size, sha256) = digest(source, |_| Ok(())).map_err(failed("read"))?;
        let there = folder.read_file(name).and_then(|file| digest(file, |_| Ok(()))).map_err(failed("read"))?;
        let is_same = there == (size, sha256.clone());
        return if is_same {
            Ok(Copied { size, sha256, was_there: true })
        } else {
            Err(CopyError::InTheWay(path.to_owned()))
        };
    }
    let temporary = format!(".{name}.tmp-{:016x}", folder.token().map_err(failed("make a name for"))?);
    let mut file = folder.create(&temporary).map_err(failed("create"))?;
    let mut offset = 0;
    let copied = digest(source, |bytes| {
        file.write_all_at(offset, bytes)?;
        offset += bytes.len() as u64;
        Ok(())
    });
    let placed = copied.and_then(|copied| {
        file.sync_all()?;
        folder.rename_new(&temporary, name)?;
        folder.sync_folder()?;
        Ok(copied)
    });
    match placed {
        Ok((size, sha256)) => Ok(Copied { size, sha256, was_there: false }),
        Err(errno) => {
            folder.remove(&temporary).ok(); // what cannot be removed now has a name of its own
            let in_the_way = errno == Errno::EXIST;
            Err(if in_the_way { CopyError::InTheWay(path.to_owned()) } else { failed("write")(errno).into() })
        }
    }
}

/// A regular file, no link.
fn source(path: &Path) -> Result<File, Errno> {
    open_file(path, How::ReadAnything).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::NXIO))
}

/// How many bytes a file has and their SHA-256, while each piece is handed on.
pub(crate) fn digest(mut file: File, mut each: impl FnMut(&[u8]) -> Result<(), Errno>) -> Result<(u64, String), Errno> {
    let (mut hash, mut size, mut buffer) = (Sha256::new(), 0, [0; CHUNK]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((size, hex(&hash.finalize()))),
            Ok(count) => {
                hash.update(&buffer[..count]);
                size += count as u64;
                each(&buffer[..count])?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    fn world() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        std::fs::create_dir_all(from.join("a/b")).expect("folders");
        std::fs::create_dir(&to).expect("a folder");
        std::fs::write(from.join("a/b/c"), "abc").expect("a file");
        symlink("a/b/c", from.join("link")).expect("a link");
        (dir, from, to)
    }

    #[test]
    fn links_are_named_and_not_followed() {
        let (_dir, from, _) = world();
        symlink("a", from.join("folder")).expect("a link");
        let found = below(&from).expect("it can be read");
        assert_eq!(found.files, ["a/b/c"]);
        assert_eq!(found.others.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["folder", "link"]);
        assert_eq!(below(&from.join("missing")).expect("nothing"), Below::default());
        let behind = below(&from.join("folder")).expect("it is not read");
        assert_eq!((behind.files, behind.others), (Vec::new(), vec![(String::new(), "it is a link")]));
    }

    #[test]
    fn a_file_is_copied_once_and_never_over_another() {
        let (_dir, from, to) = world();
        let disk = RealDisk::open_folder(&to).expect("it opens");
        let source = from.join("a/b/c");
        let copy = || copy_new(&source, &disk, "x/y/c");
        let first = copy().expect("copied");
        assert_eq!((first.size, first.was_there), (3, false));
        assert_eq!(first.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(copy().map(|copied| copied.was_there), Ok(true));
        assert_eq!(is_same(&source, &to, "x/y/c"), Ok(Some(true)));
        std::fs::write(to.join("x/y/c"), "theirs").expect("written");
        assert_eq!(copy(), Err(CopyError::InTheWay("x/y/c".to_owned())));
        assert_eq!(is_same(&source, &to, "x/y/c"), Ok(Some(false)));
        assert_eq!(is_same(&source, &to, "z"), Ok(None));
        assert_eq!(std::fs::read_to_string(to.join("x/y/c")).expect("a file"), "theirs");
        assert_eq!(below(&to).expect("it can be read").files, ["x/y/c"]);
    }

    #[test]
    fn no_link_leads_elsewhere() {
        let (dir, from, to) = world();
        let outside = dir.path().join("outside");
        std::fs::create_dir(&outside).expect("a folder");
        symlink(&outside, to.join("x")).expect("a link");
        let disk = RealDisk::open_folder(&to).expect("it opens");
        assert!(matches!(copy_new(&from.join("a/b/c"), &disk, "x/c"), Err(CopyError::Disk(_))));
        assert!(matches!(copy_new(&from.join("link"), &disk, "c"), Err(CopyError::Disk(_))));
        assert_eq!(below(&outside).expect("it can be read"), Below::default());
    }
}
