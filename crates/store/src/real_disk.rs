//! A folder on the machine's disk. Everything is reached from its open directory and by one name, so no path and no link
//! leads out; new files are 0600, folders 0700, and nothing is inherited by workers.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, fchmod, fdatasync, flock, fstat, fsync, ftruncate, statat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use team_executor_beneath::{Dir, How, ours};
use team_executor_files::limits;

use crate::disk::{Disk, DiskFile, Kind, retried};

/// A file that is read at once has no more bytes: others may have made it, of nothing.
const MOST: u64 = limits::TASKS_BYTES;

/// A folder on disk that is held open.
#[derive(Debug, Clone)]
pub struct RealDisk(Dir);

/// A file of a [`RealDisk`].
#[derive(Debug)]
pub struct RealFile(File);

impl From<Dir> for RealDisk {
    fn from(dir: Dir) -> Self {
        Self(dir)
    }
}

impl RealDisk {
    /// Opens the folder at a path. Below `.workflow` no link is followed.
    pub fn open_folder(path: &Path) -> Result<Self, Errno> {
        ours::open(path).map(Self)
    }

    /// The folder itself.
    pub const fn dir(&self) -> &Dir {
        &self.0
    }

    /// The folder of that name in this one, made durable with its name if it is missing. A link is refused.
    pub fn subfolder(&self, name: &str) -> Result<Self, Errno> {
        self.0.make_dir(component(name)?).map(Self)
    }

    /// Moves whatever has a name here to the first of `stem`, `stem-2`, … that is free in another folder, for good, and returns
    /// that name.
    pub fn move_free(&self, name: &str, to: &Self, stem: &str) -> Result<String, Errno> {
        let name = self.0.move_free(name, &to.0, stem)?;
        to.sync_folder()?;
        self.sync_folder()?;
        Ok(name)
    }

    /// A regular file of that name, to be read.
    pub(crate) fn read_file(&self, name: &str) -> Result<File, Errno> {
        self.0.file(component(name)?, How::Read)
    }

    /// A regular file of that name, made if it is missing, whose writes go to its end.
    pub(crate) fn append_file(&self, name: &str) -> Result<File, Errno> {
        self.0.file(component(name)?, How::Append)
    }
}

impl Disk for RealDisk {
    type File = RealFile;

    fn create(&self, name: &str) -> Result<RealFile, Errno> {
        self.0.file(component(name)?, How::CreateNew).map(RealFile)
    }

    fn permit_like(&self, name: &str, file: &RealFile) -> Result<(), Errno> {
        let stat = statat(&self.0, component(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        let permissions = Mode::from_raw_mode(stat.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
        retried(|| fchmod(&file.0, permissions))
    }

    fn open(&self, name: &str) -> Result<RealFile, Errno> {
        self.0.file(component(name)?, How::Write).map(RealFile)
    }

    fn look_at(&self, name: &str) -> Result<RealFile, Errno> {
        self.read_file(name).map(RealFile)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Errno> {
        self.0.read(component(name)?, MOST)
    }

    fn kind(&self, name: &str) -> Result<Kind, Errno> {
        match self.0.stat(component(name)?) {
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
        self.0.list()
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.0.rename(component(from)?, component(to)?)
    }

    fn rename_new(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.0.rename_new(component(from)?, component(to)?)
    }

    fn exchange(&self, one: &str, other: &str) -> Result<(), Errno> {
        self.0.exchange(component(one)?, component(other)?)
    }

    fn remove(&self, name: &str) -> Result<(), Errno> {
        self.0.remove(component(name)?)
    }

    fn sync_folder(&self) -> Result<(), Errno> {
        self.0.sync()
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
    fn oversized_file_is_not_read() {
        let (dir, disk) = world();
        for (bytes, result) in [(MOST + 1, Err(Errno::FBIG)), (1 << 43, Err(Errno::FBIG)), (3, Ok(vec![0; 3]))] {
            let file = File::create(dir.path().join("hole")).expect("a file");
            file.set_len(bytes).expect("longer");
            assert_eq!(disk.read("hole"), result, "{bytes}");
        }
    }

    #[test]
    fn other_than_a_file_is_not_opened() {
        let (dir, disk) = world();
        disk.subfolder("sub").expect("a folder");
        let mode = std::fs::metadata(dir.path().join("sub")).expect("a folder").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        rustix::fs::mknodat(disk.dir(), "pipe", FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        assert_eq!(disk.read("sub").err(), Some(Errno::ISDIR));
        assert_eq!(disk.read("pipe").err(), Some(Errno::NXIO));
        assert_eq!(disk.open("pipe").err(), Some(Errno::NXIO));
        let error = team_executor_beneath::read_regular(&dir.path().join("pipe")).err();
        assert_eq!(error.map(|error| error.to_string()), Some("it is not a regular file".to_owned()));
    }
}
