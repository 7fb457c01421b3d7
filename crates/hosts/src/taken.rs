//! What a host has taken: a file for each attempt, durable before the message is acknowledged, removed when its end is durable on
//! the backend. A host that comes back finds here whose ends it owes.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use team_executor_beneath::{Dir, io_error, make_ours};
use team_executor_store::{Durability, RealDisk, replace};

use crate::parcel::digest;

/// The longest record that is read.
const MOST_BYTES: u64 = 1 << 20;
const END: &str = ".json";

/// An attempt that a host has taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Taken {
    pub(crate) key: String,
    pub(crate) run: String,
    /// The project on this host; the other paths are below it.
    pub(crate) project: PathBuf,
    pub(crate) artifacts: Option<String>,
    pub(crate) result: Option<String>,
    pub(crate) logs: [String; 2],
}

/// The folder of these records.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    folder: Dir,
}

impl Records {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self { folder: make_ours(folder)? })
    }

    /// Makes a record durable.
    pub(crate) fn write(&self, taken: &Taken) -> io::Result<()> {
        let disk = RealDisk::from(self.folder.clone());
        let bytes = serde_json::to_vec(taken)?;
        replace(&disk, &name(&taken.key), &bytes, Durability::Durable).map_err(io::Error::other)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.folder.has(&name(key))
    }

    pub(crate) fn remove(&self, key: &str) -> io::Result<()> {
        match self.folder.remove(&name(key)) {
            Err(Errno::NOENT) => Ok(()),
            removed => removed.map_err(io_error),
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> io::Result<Vec<Taken>> {
        let names = self.folder.list().map_err(io_error)?;
        let records = names.iter().filter(|name| name.ends_with(END) && !name.starts_with('.'));
        records
            .map(|name| {
                let bytes = self.folder.read(name, MOST_BYTES).map_err(io_error)?;
                serde_json::from_slice(&bytes).map_err(|error| io::Error::other(format!("{name}: {error}")))
            })
            .collect()
    }
}

/// A key may be longer than a name.
fn name(key: &str) -> String {
    format!("{}{END}", &digest(key.as_bytes())[..32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_there_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::open(&dir.path().join("taken")).unwrap();
        let taken = |key: &str| Taken {
            key: key.to_owned(),
            run: "r".to_owned(),
            project: "/p".into(),
            artifacts: Some("a".to_owned()),
            result: None,
            logs: ["o".to_owned(), "e".to_owned()],
        };
        records.write(&taken("r/A/1")).unwrap();
        records.write(&taken(&"long/".repeat(100))).unwrap();
        let again = Records::open(&dir.path().join("taken")).unwrap();
        assert_eq!(again.all().unwrap().len(), 2);
        assert!(again.has("r/A/1") && !again.has("r/A/2"));
        again.remove("r/A/1").unwrap();
        again.remove("r/A/1").unwrap();
        assert_eq!(again.all().unwrap(), [taken(&"long/".repeat(100))]);
    }
}
