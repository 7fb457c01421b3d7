//! What a keeper writes down: one file per keeper, which it holds locked for as long as it or any process of its workers
//! may live. Each line is sealed, so a torn end is no line at all. A worker is noted before it starts, its own end before
//! anything slow is done, and the end of all that it started before that is told. So the file says what became of every
//! attempt in it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use team_executor_beneath::{How, open_file, read_regular};

use crate::exit::Exit;
use crate::seal::{seal, unseal};

/// One line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A worker is about to start.
    Started {
        /// Of the attempt.
        key: String,
        /// The keeper's process, to be shown only.
        keeper: u32,
        /// The cgroup that all of its processes are in.
        cgroup: Option<PathBuf>,
        /// What the folder is called that it delivers to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        /// What proves the secret of the attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<String>,
    },
    /// The worker itself has ended. What it started may live on, and what it delivered is not counted and may not be durable.
    Exited(Exit),
    /// A worker and all that it started are gone.
    Ended(Exit),
}

impl Entry {
    /// The attempt that it is about.
    pub fn key(&self) -> &str {
        match self {
            Self::Started { key, .. } => key,
            Self::Exited(exit) | Self::Ended(exit) => &exit.key,
        }
    }

    /// It as a line with its end.
    pub fn line(&self) -> io::Result<String> {
        Ok(seal(self)?)
    }
}

/// The first line of a ledger: which file it is. That of a copy is another one; that of a ledger which was moved is not.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    made: (u64, u64),
}

impl Made {
    fn from_metadata(file: &fs::Metadata) -> Self {
        Self { made: (file.dev(), file.ino()) }
    }
}

/// Whether a keeper wrote into this very file, which says so. One of before that was said does not.
pub(crate) fn is_original(ledger: &[u8], file: &fs::Metadata) -> bool {
    let made = ledger.split(|byte| *byte == b'\n').find_map(|line| unseal(str::from_utf8(line).ok()?));
    made == Some(Made::from_metadata(file))
}

/// The intact content of a ledger. Damaged lines are left out.
pub fn entries(ledger: &[u8]) -> impl Iterator<Item = Entry> {
    ledger.split(|byte| *byte == b'\n').filter_map(|line| unseal(str::from_utf8(line).ok()?))
}

/// A keeper's own ledger.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: File,
    /// The last line may not be whole.
    is_torn: bool,
}

impl Ledger {
    /// A new one. An executor that finds it before it is locked is not the one that started this keeper: that one is gone,
    /// and nothing will start any more.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = open_file(path, How::CreateNew)?;
        file.lock()?;
        let mut ledger = Self { file, is_torn: false };
        if ledger.note_made().is_err() {
            // Without it the ledger is taken for a copy. A part of a line would spoil the next one.
            ledger.file.set_len(0)?;
        }
        Ok(ledger)
    }

    fn note_made(&mut self) -> io::Result<()> {
        let line = seal(&Made::from_metadata(&self.file.metadata()?))?;
        self.file.write_all(line.as_bytes())
    }

    /// Writes a line. The system has it then: a kill does not take it, a power cut may.
    pub(crate) fn note(&mut self, entry: &Entry) -> io::Result<()> {
        let line = entry.line()?;
        // A part of a line must not spoil this one.
        let line = if self.is_torn { format!("\n{line}") } else { line };
        let written = self.file.write_all(line.as_bytes());
        self.is_torn = written.is_err();
        written
    }
}

/// How an attempt ended, if a ledger says so, and whether it says that nothing of it is left.
pub(crate) fn ended(path: &Path, key: &str) -> Option<(Exit, bool)> {
    let ledger = read_regular(path).ok()?;
    let of_attempt = entries(&ledger).filter(|entry| entry.key() == key);
    of_attempt.fold(None, |found, entry| match entry {
        Entry::Started { .. } => found,
        Entry::Exited(exit) => Some((exit, false)),
        Entry::Ended(exit) => Some((exit, true)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Ended;

    fn started(key: &str) -> Entry {
        Entry::Started { key: key.to_owned(), keeper: 7, cgroup: None, folder: None, proof: None }
    }

    #[test]
    fn ledger_reads_whole_lines_and_skips_a_torn_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1-0");
        let mut ledger = Ledger::create(&path).unwrap();
        let all = [started("a"), Entry::Ended(Exit::without_run("a", Ended::Exit(0), 5)), started("b")];
        all.iter().for_each(|entry| ledger.note(entry).unwrap());
        let whole = fs::read(&path).unwrap();
        assert_eq!(entries(&whole).collect::<Vec<_>>(), all);
        assert_eq!(entries(&whole[..whole.len() - 2]).collect::<Vec<_>>(), all[..2]);
        // A page that never reached the disk: what follows it still counts.
        let mut holed = whole;
        let first = holed.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        holed[first..first + 10].fill(0);
        assert_eq!(entries(&holed).collect::<Vec<_>>(), all[1..]);
        let how = |key: &str| ended(&path, key).map(|(exit, is_gone)| (exit.ended, is_gone));
        assert_eq!((how("a"), how("b")), (Some((Ended::Exit(0), true)), None));
        ledger.note(&Entry::Exited(Exit::without_run("b", Ended::Exit(3), 6))).unwrap();
        assert_eq!(how("b"), Some((Ended::Exit(3), false)));
        assert_eq!(ended(&dir.path().join("none"), "a"), None);
    }

    #[test]
    fn line_after_a_torn_one_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1-0");
        let mut ledger = Ledger::create(&path).unwrap();
        let line = started("a").line().unwrap();
        ledger.file.write_all(&line.as_bytes()[..20]).unwrap();
        ledger.is_torn = true;
        ledger.note(&started("b")).unwrap();
        ledger.note(&started("c")).unwrap();
        assert_eq!(entries(&fs::read(&path).unwrap()).collect::<Vec<_>>(), [started("b"), started("c")]);
    }

    #[test]
    fn line_of_a_newer_program_is_left_out() {
        let text = format!("{}{}", started("a").line().unwrap(), seal(&serde_json::json!({"later": {}})).unwrap());
        assert_eq!(entries(text.as_bytes()).collect::<Vec<_>>(), [started("a")]);
    }

    #[test]
    fn moved_ledger_differs_from_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        let [path, moved, copy] = ["1-0", "moved", "copy"].map(|name| dir.path().join(name));
        Ledger::create(&path).unwrap().note(&started("a")).unwrap();
        fs::rename(&path, &moved).unwrap();
        fs::copy(&moved, &copy).unwrap();
        let is_original = |path: &Path| is_original(&fs::read(path).unwrap(), &fs::metadata(path).unwrap());
        assert!(is_original(&moved) && !is_original(&copy));
        // As it was written before.
        fs::write(&copy, started("a").line().unwrap()).unwrap();
        assert!(!is_original(&copy));
        assert_eq!(entries(&fs::read(&copy).unwrap()).collect::<Vec<_>>(), [started("a")]);
    }

    #[test]
    fn no_two_keepers_have_one_ledger() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1-0");
        let _ledger = Ledger::create(&path).unwrap();
        assert_eq!(Ledger::create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(matches!(File::open(&path).unwrap().try_lock_shared(), Err(fs::TryLockError::WouldBlock)));
    }
}
