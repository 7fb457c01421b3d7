//! A session folder on disk: everything is opened below one directory that is held open, so no path and no link leads out.

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, statat};
use rustix::io::Errno;
use team_executor_files::{Folder, ReadError, limits};

use crate::copy::digest;
use crate::disk::reason;

/// Why a session folder cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenError {
    /// There is nothing at that path.
    Missing,
    /// There is something else than a folder.
    NotAFolder,
    /// The system says no.
    Refused(String),
}

/// A session folder that is held open.
#[derive(Debug)]
pub struct DiskFolder {
    path: PathBuf,
    root: OwnedFd,
}

impl DiskFolder {
    /// Opens the folder at a path, which may be a link.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(root) => Ok(Self { path: path.to_owned(), root }),
            Err(Errno::NOENT) => Err(OpenError::Missing),
            Err(Errno::NOTDIR) => Err(OpenError::NotAFolder),
            Err(error) => Err(OpenError::Refused(reason(error))),
        }
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last bytes of a regular file below the folder, at most so many, and how long the whole is.
    pub fn read_end(&self, path: &str, most: u64) -> Result<(Vec<u8>, u64), ReadError> {
        let (mut file, length) = self.regular(path)?;
        let mut bytes = Vec::new();
        let start = SeekFrom::Start(length.saturating_sub(most));
        let read = file.seek(start).and_then(|_| file.take(most).read_to_end(&mut bytes));
        read.map_err(|error| ReadError::Refused(error.to_string()))?;
        Ok((bytes, length))
    }

    /// How many bytes a regular file below the folder has, and their SHA-256 in hexadecimal.
    pub fn digest(&self, path: &str) -> Result<(u64, String), ReadError> {
        let digest = self.digest_unless(path, || false)?;
        digest.ok_or_else(|| ReadError::Refused(reason(Errno::CANCELED)))
    }

    /// The same; nothing as soon as it is given up, which is asked after each piece.
    pub fn digest_unless(&self, path: &str, given_up: impl Fn() -> bool) -> Result<Option<(u64, String)>, ReadError> {
        let (file, _) = self.regular(path)?;
        match digest(file, |_| if given_up() { Err(Errno::CANCELED) } else { Ok(()) }) {
            Err(Errno::CANCELED) => Ok(None),
            digest => digest.map(Some).map_err(|error| ReadError::Refused(reason(error))),
        }
    }

    /// A regular file and its size.
    fn regular(&self, path: &str) -> Result<(File, u64), ReadError> {
        let file = self.open_below(path, OFlags::empty())?;
        let stat = fstat(&file).map_err(|error| ReadError::Refused(reason(error)))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(ReadError::NotAFile);
        }
        Ok((File::from(file), u64::try_from(stat.st_size).unwrap_or(0)))
    }

    fn open_below(&self, path: &str, flags: OFlags) -> Result<OwnedFd, ReadError> {
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let opened = match openat2(&self.root, path, flags, Mode::empty(), resolve) {
            Err(Errno::NOSYS | Errno::PERM) => self.open_without_links(path, flags),
            result => result,
        };
        opened.map_err(|error| match error {
            Errno::NOENT => ReadError::Missing,
            Errno::XDEV | Errno::LOOP => ReadError::Outside,
            Errno::NOTDIR if flags.contains(OFlags::DIRECTORY) => ReadError::NotAFolder,
            Errno::NOTDIR => ReadError::Missing,
            error => ReadError::Refused(reason(error)),
        })
    }

    /// For kernels without `openat2`: one part after the other, and no link anywhere.
    fn open_without_links(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if path.starts_with('/') || parts.contains(&"..") {
            return Err(Errno::XDEV);
        }
        let last = parts.pop().unwrap_or(".");
        let mut folder = openat(&self.root, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        for part in parts {
            let step = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = openat(&folder, part, step, Mode::empty())?;
        }
        openat(&folder, last, flags | OFlags::NOFOLLOW, Mode::empty())
    }
}

impl Folder for DiskFolder {
    fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let (file, size) = self.regular(path)?;
        if size > limit {
            return Err(ReadError::TooLarge { bytes: size, limit });
        }
        // The file may grow while it is read: one byte more than the limit tells.
        let mut bytes = Vec::with_capacity(usize::try_from(size + 1).unwrap_or(0));
        let read = file.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| ReadError::Refused(error.to_string()))?;
        if bytes.len() as u64 > limit {
            return Err(ReadError::TooLarge { bytes: bytes.len() as u64, limit });
        }
        Ok(bytes)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let folder = self.open_below(path, OFlags::DIRECTORY)?;
        let refused = |error| ReadError::Refused(reason(error));
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            // A name that is not UTF-8 is no name that a session can mention.
            if let Ok(name) = entry.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
            if names.len() == limits::FOLDER_ENTRIES {
                break;
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn has(&self, path: &str) -> bool {
        statat(&self.root, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn world() -> (tempfile::TempDir, DiskFolder) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let session = dir.path().join("session");
        std::fs::create_dir_all(session.join("sub")).expect("folders");
        std::fs::write(session.join("a.txt"), "hello").expect("a file");
        std::fs::write(session.join("sub/b.txt"), "below").expect("a file");
        std::fs::write(dir.path().join("secret"), "outside").expect("a file");
        let folder = DiskFolder::open(&session).expect("the folder opens");
        (dir, folder)
    }

    #[test]
    fn regular_files_below_are_read_up_to_their_limit() {
        let (_dir, folder) = world();
        assert_eq!(folder.read("a.txt", 5), Ok(b"hello".to_vec()));
        assert_eq!(folder.read("sub/b.txt", 100), Ok(b"below".to_vec()));
        assert_eq!(folder.read("a.txt", 4), Err(ReadError::TooLarge { bytes: 5, limit: 4 }));
        assert_eq!(folder.read("none", 5), Err(ReadError::Missing));
        assert_eq!(folder.read("a.txt/x", 5), Err(ReadError::Missing));
        assert_eq!(folder.read("sub", 5), Err(ReadError::NotAFile));
        assert_eq!(folder.list("sub"), Ok(vec!["b.txt".to_owned()]));
        assert_eq!(folder.list("a.txt"), Err(ReadError::NotAFolder));
        assert_eq!(folder.read_end("a.txt", 2), Ok((b"lo".to_vec(), 5)));
        assert_eq!(folder.read_end("a.txt", 9), Ok((b"hello".to_vec(), 5)));
        assert_eq!(folder.read_end("sub", 9), Err(ReadError::NotAFile));
        assert_eq!(folder.list("none"), Err(ReadError::Missing));
    }

    /// R: S-09
    #[test]
    fn nothing_outside_is_reached_by_path_or_link() {
        let (dir, folder) = world();
        let session = dir.path().join("session");
        symlink("../secret", session.join("up")).expect("a link");
        symlink(dir.path().join("secret"), session.join("absolute")).expect("a link");
        symlink("..", session.join("folder")).expect("a link");
        symlink("a.txt", session.join("within")).expect("a link");
        symlink("loop", session.join("loop")).expect("a link");
        let absolute = dir.path().join("secret").to_string_lossy().into_owned();
        for path in ["up", "absolute", "folder/secret", "../secret", "sub/../../secret", "loop", &absolute] {
            assert_eq!(folder.read(path, 100), Err(ReadError::Outside), "{path}");
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            assert!(folder.open_without_links(path, flags).is_err(), "{path}");
        }
        assert_eq!(folder.read("within", 100), Ok(b"hello".to_vec()));
        assert_eq!(folder.list("folder"), Err(ReadError::Outside));
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let (dir, folder) = world();
        let pipe = dir.path().join("session/pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        assert_eq!(folder.read("pipe", 100), Err(ReadError::NotAFile));
    }

    #[test]
    fn what_is_no_folder_is_told_apart() {
        let (dir, _folder) = world();
        assert_eq!(DiskFolder::open(&dir.path().join("none")).err(), Some(OpenError::Missing));
        assert_eq!(DiskFolder::open(&dir.path().join("secret")).err(), Some(OpenError::NotAFolder));
    }
}
