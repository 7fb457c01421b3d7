//! Which host has which attempt: a line is durable before an assignment leaves, so that the next executor of the run knows where
//! to ask. Lines are only added.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use team_executor_beneath::{Dir, How, io_error, make_ours};

/// In the executor's folder of a run.
const NAME: &str = "hosts";

/// What a leader knows of an attempt on a host. Paths are below the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Given {
    pub(crate) key: String,
    pub(crate) host: String,
    /// How long that host goes on without the backend, in milliseconds.
    pub(crate) lease_ms: u64,
    pub(crate) artifacts: Option<String>,
    /// Files that are in the place of these are moved here.
    pub(crate) aside: String,
    pub(crate) result: String,
    pub(crate) logs: [String; 2],
}

/// The file.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
}

impl Record {
    /// Opens the record of a run, and says what is in it, by the keys.
    pub(crate) fn open(executor: &Path) -> io::Result<(Self, BTreeMap<String, Given>)> {
        let folder: Dir = make_ours(executor)?;
        let mut file = folder.file(NAME, How::Append).map_err(io_error)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        // A line that was cut must not spoil the next one.
        if text.last().is_some_and(|byte| *byte != b'\n') {
            file.write_all(b"\n")?;
        }
        let lines = text.split(|byte| *byte == b'\n');
        let given = lines.filter_map(|line| serde_json::from_slice::<Given>(line).ok());
        Ok((Self { file }, given.map(|given| (given.key.clone(), given)).collect()))
    }

    /// Adds a line, which is durable then.
    pub(crate) fn add(&mut self, given: &Given) -> io::Result<()> {
        let mut line = serde_json::to_vec(given)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_says_who_had_an_attempt_last_despite_a_torn_line() {
        let dir = tempfile::tempdir().unwrap();
        let given = |key: &str, host: &str| Given {
            key: key.to_owned(),
            host: host.to_owned(),
            lease_ms: 1,
            artifacts: None,
            aside: "q/A.1".to_owned(),
            result: "r".to_owned(),
            logs: ["o".to_owned(), "e".to_owned()],
        };
        let (mut record, before) = Record::open(dir.path()).unwrap();
        assert!(before.is_empty());
        record.add(&given("a", "one")).unwrap();
        record.add(&given("b", "one")).unwrap();
        record.file.write_all(br#"{"key":"c","ho"#).unwrap();
        let (mut record, before) = Record::open(dir.path()).unwrap();
        assert_eq!(before.keys().collect::<Vec<_>>(), ["a", "b"]);
        record.add(&given("a", "two")).unwrap();
        let (_, before) = Record::open(dir.path()).unwrap();
        assert_eq!((before["a"].host.as_str(), before.len()), ("two", 2));
    }
}
