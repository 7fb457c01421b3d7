//! The disk as the store sees it: one folder with files in it. Every system call of the store goes through these two
//! traits, so a simulator can stand in for the disk. No policy here: what is written when is decided elsewhere.

use rustix::io::Errno;
use team_executor_beneath::words;

/// One folder, held open. Names are single path components, and links are never followed.
pub trait Disk {
    /// A file in it that is open for reading and writing.
    type File: DiskFile;

    /// Makes a file that only its owner may read; `EXIST` if there is anything of that name.
    fn create(&self, name: &str) -> Result<Self::File, Errno>;

    /// Gives a file the permissions of the one that has the name. A disk without permissions has nothing to give.
    fn permit_like(&self, _name: &str, _file: &Self::File) -> Result<(), Errno> {
        Ok(())
    }

    /// Opens a regular file that is there.
    fn open(&self, name: &str) -> Result<Self::File, Errno>;

    /// Opens a regular file that is only looked at, or locked.
    fn look_at(&self, name: &str) -> Result<Self::File, Errno> {
        self.open(name)
    }

    /// The bytes of a regular file; `FBIG` if it is larger than any that is read at once.
    fn read(&self, name: &str) -> Result<Vec<u8>, Errno>;

    /// What there is of that name.
    fn kind(&self, name: &str) -> Result<Kind, Errno>;

    /// Whether the name still leads to that file.
    fn is_at(&self, name: &str, file: &Self::File) -> Result<bool, Errno>;

    /// The names in the folder, sorted.
    fn list(&self) -> Result<Vec<String>, Errno>;

    /// Gives a file another name, in the place of what had it.
    fn rename(&self, from: &str, to: &str) -> Result<(), Errno>;

    /// Gives a file another name; `EXIST` if there is anything of that name.
    fn rename_new(&self, from: &str, to: &str) -> Result<(), Errno>;

    /// Gives each of two files the name of the other, in one step. Some disks cannot.
    fn exchange(&self, _one: &str, _other: &str) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Removes a file.
    fn remove(&self, name: &str) -> Result<(), Errno>;

    /// Makes the names durable.
    fn sync_folder(&self) -> Result<(), Errno>;

    /// An unpredictable number.
    fn token(&self) -> Result<u64, Errno>;
}

/// An open file.
pub trait DiskFile: Sized {
    /// The same open file once more: with one position among the failures that a sync is told of, and one lock.
    fn another(&self) -> Result<Self, Errno>;

    /// How many bytes it has.
    fn length(&self) -> Result<u64, Errno>;

    /// All its bytes.
    fn read_all(&mut self) -> Result<Vec<u8>, Errno>;

    /// Writes some of the bytes at an offset, and says how many.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Errno>;

    /// Makes the bytes and the length durable.
    fn sync_data(&mut self) -> Result<(), Errno>;

    /// Makes the bytes and everything about the file durable.
    fn sync_all(&mut self) -> Result<(), Errno>;

    /// Cuts the file.
    fn truncate(&mut self, length: u64) -> Result<(), Errno>;

    /// Takes the file's lock unless someone has it, and says whether it did. The lock falls when the file is closed.
    fn try_lock(&mut self) -> Result<bool, Errno>;

    /// Writes all the bytes at an offset, through short writes and interruptions.
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let mut done = 0;
        while done < bytes.len() {
            match self.write_at(offset + done as u64, &bytes[done..]) {
                Ok(0) => return Err(Errno::IO),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Missing,
    /// A regular file.
    File,
    /// A folder, a link, a pipe, a device.
    Other,
}

/// What could not be done, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot {action} {name}: {}", reason(*errno))]
pub struct DiskError {
    /// The verb, for instance `write`.
    pub action: &'static str,
    /// The file.
    pub name: String,
    /// The system's answer.
    pub errno: Errno,
}

impl DiskError {
    /// For `map_err`: adds what was tried to the system's answer.
    pub(crate) fn when(action: &'static str, name: &str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self { action, name: name.to_owned(), errno }
    }

    /// Whether nothing may be written there.
    pub fn is_forbidden(&self) -> bool {
        matches!(self.errno, Errno::ROFS | Errno::ACCESS | Errno::PERM)
    }

    /// Whether there is no room left: the user can mend that, and nothing is broken.
    pub fn is_full(&self) -> bool {
        matches!(self.errno, Errno::NOSPC | Errno::DQUOT)
    }
}

/// The system's answer in words.
pub(crate) fn reason(error: Errno) -> String {
    words(error)
}

/// Does it again for as long as a signal interrupts it.
pub(crate) fn retried<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}
