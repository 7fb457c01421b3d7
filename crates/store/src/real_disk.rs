//! A folder on the machine's disk. Everything is reached from its open directory and by one name, so no path and no link
//! leads out; new files are 0600, folders 0700, and nothing is inherited by workers.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, fchmod, fdatasync, flock, fstat, fsync,
    ftruncate, mkdirat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use team_executor_files::limits;

use crate::disk::{Disk, DiskFile, Kind, retried};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NOCTTY).union(OFlags::NONBLOCK);
/// A file that is read at once has no more bytes: others may have made it, of nothing.
const MOST: u64 = limits::TASKS_BYTES;
const OWNER_ONLY: Mode = Mode::RUSR.union(Mode::WUSR);

/// A folder on disk that is held open.
#[derive(Debug)]
pub struct RealDisk(OwnedFd);

/// A file of a [`RealDisk`].
#[derive(Debug)]
pub struct RealFile(File);

/// Opens a regular file to be read. Nothing else is opened, and nobody waits: a pipe has no end.
pub fn open_regular(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    Ok(regular(retried(|| openat(CWD, path, flags, Mode::empty()))?)?)
}

/// The bytes of a regular file.
pub fn read_regular(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl RealDisk {
    /// Opens the folder at a path, which may be a link.
    pub fn open_folder(path: &Path) -> Result<Self, Errno> {
        retried(|| openat(CWD, path, FOLDER, Mode::empty())).map(Self)
    }

    /// The folder of that name in this one, made durable with its name if it is missing. A link is refused.
    pub fn subfolder(&self, name: &str) -> Result<Self, Errno> {
        let name = component(name)?;
        match retried(|| mkdirat(&self.0, name, Mode::RWXU)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        self.sync_folder()?;
        retried(|| openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())).map(Self)
    }

    /// Moves whatever has a name here to a name in another folder, for good; `EXIST` if there is anything of that name.
    pub fn move_new(&self, name: &str, to: &Self, new_name: &str) -> Result<(), Errno> {
        let (name, new_name) = (component(name)?, component(new_name)?);
        retried(|| renameat_with(&self.0, name, &to.0, new_name, RenameFlags::NOREPLACE))?;
        to.sync_folder()?;
        self.sync_folder()
    }

    /// A regular file of that name, to be read.
    pub(crate) fn read_file(&self, name: &str) -> Result<File, Errno> {
        self.regular(name, OFlags::RDONLY)
    }

    /// A regular file of that name, made if it is missing, whose writes go to its end.
    pub(crate) fn append_file(&self, name: &str) -> Result<File, Errno> {
        self.regular(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)
    }

    fn regular(&self, name: &str, flags: OFlags) -> Result<File, Errno> {
        let name = component(name)?;
        regular(retried(|| openat(&self.0, name, FILE | flags, OWNER_ONLY))?)
    }
}

impl Disk for RealDisk {
    type File = RealFile;

    fn create(&self, name: &str) -> Result<RealFile, Errno> {
        self.regular(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL).map(RealFile)
    }

    fn permit_like(&self, name: &str, file: &RealFile) -> Result<(), Errno> {
        let stat = statat(&self.0, component(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        let permissions = Mode::from_raw_mode(stat.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
        retried(|| fchmod(&file.0, permissions))
    }

    fn open(&self, name: &str) -> Result<RealFile, Errno> {
        self.regular(name, OFlags::RDWR).map(RealFile)
    }

    fn look_at(&self, name: &str) -> Result<RealFile, Errno> {
        self.read_file(name).map(RealFile)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Errno> {
        let file = self.read_file(name)?;
        let size = fstat(&file)?.st_size;
        if size > MOST.cast_signed() {
            return Err(Errno::FBIG);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size + 1).unwrap_or(0));
        // It may grow while it is read.
        let read = file.take(MOST + 1).read_to_end(&mut bytes);
        read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        if bytes.len() as u64 > MOST { Err(Errno::FBIG) } else { Ok(bytes) }
    }

    fn kind(&self, name: &str) -> Result<Kind, Errno> {
        match statat(&self.0, component(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => Ok(Kind::File),
            Ok(_) => Ok(Kind::Other),
            Err(Errno::NOENT) => Ok(Kind::Missing),
            Err(error) => Err(error),
        }
    }

    fn is_at(&self, name: &str, file: &RealFile) -> Result<bool, Errno> {
        let held = fstat(&file.0)?;
        match statat(&self.0, component(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) => Ok((there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn list(&self) -> Result<Vec<String>, Errno> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            // A name that is not UTF-8 is none of ours.
            if let Ok(name) = entry?.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        let (from, to) = (component(from)?, component(to)?);
        retried(|| renameat(&self.0, from, &self.0, to))
    }

    fn rename_new(&self, from: &str, to: &str) -> Result<(), Errno> {
        let (from, to) = (component(from)?, component(to)?);
        retried(|| renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE))
    }

    fn remove(&self, name: &str) -> Result<(), Errno> {
        let name = component(name)?;
        retried(|| unlinkat(&self.0, name, AtFlags::empty()))
    }

    fn sync_folder(&self) -> Result<(), Errno> {
        retried(|| fsync(&self.0))
    }

    fn token(&self) -> Result<u64, Errno> {
        let mut bytes = [0; 8];
        retried(|| getrandom(&mut bytes[..], GetRandomFlags::empty()))?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

impl DiskFile for RealFile {
    fn another(&self) -> Result<Self, Errno> {
        let file = self.0.try_clone();
        file.map(Self).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    fn length(&self) -> Result<u64, Errno> {
        Ok(u64::try_from(fstat(&self.0)?.st_size).unwrap_or(0))
    }

    fn read_all(&mut self) -> Result<Vec<u8>, Errno> {
        let length = usize::try_from(self.length()?).unwrap_or(0);
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            match retried(|| rustix::io::pread(&self.0, &mut bytes[done..], done as u64))? {
                0 => break,
                count => done += count,
            }
        }
        bytes.truncate(done);
        Ok(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Errno> {
        self.0.write_at(bytes, offset).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    fn sync_data(&mut self) -> Result<(), Errno> {
        retried(|| fdatasync(&self.0))
    }

    fn sync_all(&mut self) -> Result<(), Errno> {
        retried(|| fsync(&self.0))
    }

    fn truncate(&mut self, length: u64) -> Result<(), Errno> {
        retried(|| ftruncate(&self.0, length))
    }

    fn try_lock(&mut self) -> Result<bool, Errno> {
        match retried(|| flock(&self.0, FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Refuses what is no regular file.
fn regular(file: OwnedFd) -> Result<File, Errno> {
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(File::from(file)),
        FileType::Directory => Err(Errno::ISDIR),
        _ => Err(Errno::INVAL),
    }
}

/// Refuses what is not one name in the folder.
fn component(name: &str) -> Result<&str, Errno> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) { Err(Errno::INVAL) } else { Ok(name) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn world() -> (tempfile::TempDir, RealDisk) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        (dir, disk)
    }

    #[test]
    fn files_are_written_read_cut_and_renamed() {
        let (dir, disk) = world();
        let mut file = disk.create("a").expect("a file");
        file.write_all_at(0, b"hello world").expect("written");
        file.truncate(5).expect("cut");
        file.sync_data().and_then(|()| file.sync_all()).and_then(|()| disk.sync_folder()).expect("durable");
        assert_eq!(file.read_all(), Ok(b"hello".to_vec()));
        assert_eq!(disk.create("a").err(), Some(Errno::EXIST));
        assert_eq!(disk.is_at("a", &file), Ok(true));
        disk.rename("a", "b").expect("renamed");
        assert_eq!(disk.is_at("a", &file), Ok(false));
        assert_eq!((disk.kind("a"), disk.kind("b")), (Ok(Kind::Missing), Ok(Kind::File)));
        disk.create("c").expect("a file");
        assert_eq!(disk.rename_new("b", "c"), Err(Errno::EXIST));
        assert_eq!(disk.list(), Ok(vec!["b".to_owned(), "c".to_owned()]));
        let mode = std::fs::metadata(dir.path().join("b")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        disk.remove("c").expect("removed");
        assert_eq!(disk.read("c"), Err(Errno::NOENT));
        assert_ne!(disk.token(), disk.token());
    }

    #[test]
    fn no_name_leads_out_and_no_link_is_followed() {
        let (dir, disk) = world();
        let outside = tempfile::tempdir().expect("another folder");
        std::fs::write(outside.path().join("secret"), "outside").expect("a file");
        symlink(outside.path().join("secret"), dir.path().join("link")).expect("a link");
        symlink(outside.path(), dir.path().join("folder")).expect("a link");
        for name in ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\0b"] {
            assert_eq!(disk.create(name).err(), Some(Errno::INVAL), "{name:?}");
            assert_eq!(disk.read(name).err(), Some(Errno::INVAL), "{name:?}");
        }
        assert_eq!(disk.open("link").err(), Some(Errno::LOOP));
        assert_eq!(disk.read("link").err(), Some(Errno::LOOP));
        assert_eq!(disk.create("link").err(), Some(Errno::EXIST));
        assert_eq!(disk.kind("link"), Ok(Kind::Other));
        assert!(disk.subfolder("folder").is_err());
    }

    #[test]
    fn what_is_larger_than_anything_of_ours_is_not_read() {
        let (dir, disk) = world();
        for (bytes, result) in [(MOST + 1, Err(Errno::FBIG)), (1 << 43, Err(Errno::FBIG)), (3, Ok(vec![0; 3]))] {
            let file = File::create(dir.path().join("hole")).expect("a file");
            file.set_len(bytes).expect("longer");
            assert_eq!(disk.read("hole"), result, "{bytes}");
        }
    }

    #[test]
    fn what_is_no_file_is_neither_opened_nor_waited_for() {
        let (dir, disk) = world();
        disk.subfolder("sub").expect("a folder");
        let mode = std::fs::metadata(dir.path().join("sub")).expect("a folder").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        rustix::fs::mknodat(CWD, dir.path().join("pipe"), FileType::Fifo, OWNER_ONLY, 0).expect("a pipe");
        assert_eq!(disk.read("sub").err(), Some(Errno::ISDIR));
        assert_eq!(disk.read("pipe").err(), Some(Errno::INVAL));
        assert_eq!(disk.open("pipe").err(), Some(Errno::INVAL));
        let error = read_regular(&dir.path().join("pipe")).err();
        assert_eq!(error.and_then(|error| Errno::from_io_error(&error)), Some(Errno::INVAL));
    }
}
