//! Reading a session folder, as a trait: this crate opens nothing itself, and tests need no disk.

use std::collections::BTreeMap;

/// Why something in the session folder cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is nothing of that name.
    #[error("it does not exist")]
    Missing,
    /// It is a folder, a device, a pipe.
    #[error("it is not a regular file")]
    NotAFile,
    /// It is not a folder.
    #[error("it is not a folder")]
    NotAFolder,
    /// The path, or a link on the way, leads out of the session folder.
    #[error("it leads out of the session folder")]
    Outside,
    /// It is larger than its limit.
    #[error("it has {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The most that is read.
        limit: u64,
    },
    /// It may not be read.
    #[error("{0}")]
    Refused(String),
    /// The disk or the system failed, which says nothing about the file.
    #[error("{0}")]
    Failed(String),
}

/// A session folder. Paths are relative to it, with `/` between their parts.
pub trait Folder {
    /// The bytes of a regular file below the folder.
    fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError>;

    /// The names in a folder below the folder, or in itself (`.`), sorted, at most [`crate::limits::FOLDER_ENTRIES`] of them.
    fn list(&self, path: &str) -> Result<Vec<String>, ReadError>;

    /// Whether there is anything of that name, readable or not.
    fn has(&self, path: &str) -> bool;

    /// The bytes of a regular file below the folder of the project, if there is one around the session.
    fn read_in_project(&self, _path: &str, _limit: u64) -> Result<Vec<u8>, ReadError> {
        Err(ReadError::Missing)
    }
}

/// A folder in memory, for tests and for fuzzing.
#[derive(Debug, Clone, Default)]
pub struct MemoryFolder(BTreeMap<String, Vec<u8>>);

impl MemoryFolder {
    /// Adds a file.
    #[must_use]
    pub fn with(mut self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.insert(path.to_owned(), bytes.into());
        self
    }
}

impl Folder for MemoryFolder {
    fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let Some(bytes) = self.0.get(path) else {
            return Err(if self.has(path) { ReadError::NotAFile } else { ReadError::Missing });
        };
        let len = bytes.len() as u64;
        if len > limit { Err(ReadError::TooLarge { bytes: len, limit }) } else { Ok(bytes.clone()) }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let prefix = if path == "." { String::new() } else { format!("{path}/") };
        let below = self.0.keys().filter_map(|name| name.strip_prefix(&prefix));
        let mut names: Vec<String> = below.filter_map(|rest| rest.split('/').next()).map(str::to_owned).collect();
        names.dedup();
        match (names.is_empty(), self.0.contains_key(path)) {
            (false, _) => Ok(names),
            (true, true) => Err(ReadError::NotAFolder),
            (true, false) => Err(ReadError::Missing),
        }
    }

    fn has(&self, path: &str) -> bool {
        let prefix = format!("{path}/");
        self.0.contains_key(path) || self.0.keys().any(|name| name.starts_with(&prefix))
    }
}
