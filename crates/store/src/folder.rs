//! A session folder on disk: everything is opened below one directory that is held open, so no path and no link leads out.

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{AtFlags, Dir as Entries, statat};
use rustix::io::Errno;
use team_executor_beneath::{Dir, How, is_system_failure};
use team_executor_files::{Folder, ReadError, limits};

use crate::copy::digest;
use crate::disk::{reason, retried};
use crate::run_folder::project_root;

/// Why a session folder cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenError {
    /// There is nothing at that path.
    Missing,
    /// There is something else than a folder.
    NotAFolder,
    /// It may not be opened.
    Refused(String),
    /// The disk or the system failed, which says nothing about the folder.
    Failed(String),
}

/// A session folder that is held open.
#[derive(Debug)]
pub struct DiskFolder {
    dir: Dir,
    /// The first failure of the disk or the system, with the path that was read.
    failure: OnceLock<(String, String)>,
}

impl DiskFolder {
    /// Opens the folder at a path, which may be a link.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        match Dir::open(path) {
            Ok(dir) => Ok(Self { dir, failure: OnceLock::new() }),
            Err(Errno::NOENT) => Err(OpenError::Missing),
            Err(Errno::NOTDIR) => Err(OpenError::NotAFolder),
            Err(errno) if is_system_failure(errno) => Err(OpenError::Failed(reason(errno))),
            Err(errno) => Err(OpenError::Refused(reason(errno))),
        }
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The folder itself.
    pub const fn dir(&self) -> &Dir {
        &self.dir
    }

    /// The first failure of the disk or the system since it was opened: the path that was read, and the reason. What was
    /// read since then is not all that there is.
    pub fn failure(&self) -> Option<(&str, &str)> {
        self.failure.get().map(|(path, reason)| (path.as_str(), reason.as_str()))
    }

    /// The last bytes of a regular file below the folder, at most so many, and how long the whole is.
    pub fn read_end(&self, path: &str, most: u64) -> Result<(Vec<u8>, u64), ReadError> {
        let (mut file, length) = self.regular(path)?;
        let mut bytes = Vec::new();
        let start = SeekFrom::Start(length.saturating_sub(most));
        let read = file.seek(start).and_then(|_| file.take(most).read_to_end(&mut bytes));
        read.map_err(|error| self.failed(path, &error))?;
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
            digest => digest.map(Some).map_err(|errno| self.unreadable(path, errno)),
        }
    }

    /// How many bytes a regular file below the folder has.
    pub fn length(&self, path: &str) -> Result<u64, ReadError> {
        self.regular(path).map(|(_, length)| length)
    }

    /// A regular file and its size.
    fn regular(&self, path: &str) -> Result<(File, u64), ReadError> {
        let file = self.dir.file_inside(path, How::ReadAnything).map_err(|errno| self.unreadable(path, errno))?;
        let length = file.metadata().map_err(|error| self.failed(path, &error))?.len();
        Ok((file, length))
    }

    fn failed(&self, path: &str, error: &std::io::Error) -> ReadError {
        self.unreadable(path, Errno::from_io_error(error).unwrap_or(Errno::IO))
    }

    /// What the system's answer says about a file, or about the system.
    fn unreadable(&self, path: &str, errno: Errno) -> ReadError {
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => ReadError::Missing,
            Errno::XDEV | Errno::LOOP => ReadError::Outside,
            Errno::ISDIR | Errno::NXIO => ReadError::NotAFile,
            Errno::ACCESS | Errno::PERM | Errno::INVAL | Errno::ILSEQ => ReadError::Refused(reason(errno)),
            errno => {
                // The first one counts; what follows from it is no news.
                let _known = self.failure.set((path.to_owned(), reason(errno)));
                ReadError::Failed(reason(errno))
            }
        }
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
        read.map_err(|error| self.failed(path, &error))?;
        if bytes.len() as u64 > limit {
            return Err(ReadError::TooLarge { bytes: bytes.len() as u64, limit });
        }
        Ok(bytes)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let folder = self.dir.dir_inside(path).map_err(|errno| match errno {
            Errno::NOTDIR => ReadError::NotAFolder,
            errno => self.unreadable(path, errno),
        })?;
        let failed = |errno| self.unreadable(path, errno);
        let mut names = Vec::new();
        for entry in Entries::read_from(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
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

    fn read_in_project(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let root = project_root(self.path(), Path::new("."));
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { &root };
        let project = Self::open(root).map_err(|_| ReadError::Missing)?;
        let read = project.read(path, limit);
        if let Some((path, reason)) = project.failure() {
            let _known = self.failure.set((path.to_owned(), reason.to_owned()));
        }
        read
    }

    fn has(&self, path: &str) -> bool {
        match retried(|| statat(&self.dir, path, AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(_) => true,
            Err(errno) => {
                self.unreadable(path, errno);
                false
            }
        }
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
        }
        assert_eq!(folder.read("within", 100), Ok(b"hello".to_vec()));
        assert_eq!(folder.list("folder"), Err(ReadError::Outside));
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let (dir, folder) = world();
        let pipe = dir.path().join("session/pipe");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).expect("a pipe");
        assert_eq!(folder.read("pipe", 100), Err(ReadError::NotAFile));
    }

    #[test]
    fn other_than_a_folder_is_recognised() {
        let (dir, _folder) = world();
        assert_eq!(DiskFolder::open(&dir.path().join("none")).err(), Some(OpenError::Missing));
        assert_eq!(DiskFolder::open(&dir.path().join("secret")).err(), Some(OpenError::NotAFolder));
    }
}
