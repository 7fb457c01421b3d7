//! What a run remembers of its last start: a line of JSON that the caller chooses, and below it the signature of the user who
//! started it. A project may bring the folder of a run with it, so only a signed line says what the user wanted.

use std::path::Path;

use team_executor_beneath::ours;
use team_executor_store::run_folder::{EXECUTOR, OPTIONS};
use team_executor_store::{Durability, Key, RealDisk, replace};

use crate::options::Failure;

/// A longer file is none of ours.
const MAX_BYTES: u64 = 1 << 20;
/// What the signature is for, so that no other text of the user's can stand in for options.
const CONTEXT: &str = "options of a run";

/// What a start leaves for the next one.
#[derive(Debug)]
pub struct Remembered {
    /// One line.
    pub text: String,
    /// The user's, if there is one.
    pub key: Option<Key>,
}

/// What an earlier start left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// One line.
    pub text: String,
    /// This user wrote it, for the run at this place.
    pub is_signed: bool,
}

impl Remembered {
    /// Replaces what an earlier start of the run in a folder left, unless it is the same.
    pub(crate) fn put(&self, executor: &RealDisk, run: &Path) -> Result<(), Failure> {
        let signature = self.key.as_ref().map(|key| sign(key, run, &self.text)).unwrap_or_default();
        let text = format!("{}\n{signature}\n", self.text);
        if file(run).is_some_and(|there| there == text) {
            return Ok(());
        }
        let path = run.join(EXECUTOR).join(OPTIONS);
        let put = replace(executor, OPTIONS, text.as_bytes(), Durability::Durable);
        put.map_err(|error| Failure::disk("write", &path)(std::io::Error::other(error)))
    }
}

impl Recorded {
    /// What the run in a folder remembers; nothing if it began before runs did.
    pub fn read(run: &Path, key: Option<&Key>) -> Option<Self> {
        let text = file(run)?;
        let (line, signature) = text.strip_suffix('\n')?.split_once('\n')?;
        let is_signed = key.is_some_and(|key| sign(key, run, line) == signature);
        Some(Self { text: line.to_owned(), is_signed })
    }
}

fn file(run: &Path) -> Option<String> {
    let bytes = ours::open(&run.join(EXECUTOR)).and_then(|folder| folder.read(OPTIONS, MAX_BYTES));
    String::from_utf8(bytes.ok()?).ok()
}

/// The path is a part of it: a line that was signed for another run says nothing about this one.
fn sign(key: &Key, run: &Path, text: &str) -> String {
    key.sign(&[CONTEXT, &run.to_string_lossy()], text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::run_at::open_folder;

    #[test]
    fn options_are_signed_for_one_run_by_one_user() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("EX-1");
        let executor = run.join(EXECUTOR);
        std::fs::create_dir_all(&executor).unwrap();
        let key = |name: &str| Key::find_or_make(&dir.path().join(name));
        assert_eq!(Recorded::read(&run, key("me").as_ref()), None);
        let mine = Remembered { text: "{\"a\":1}".to_owned(), key: key("me") };
        mine.put(&open_folder(&executor).unwrap(), &run).unwrap();
        let is_signed = |run: &Path, key: Option<Key>| Recorded::read(run, key.as_ref()).unwrap().is_signed;
        assert_eq!(Recorded::read(&run, None).unwrap().text, mine.text);
        assert_eq!(
            (is_signed(&run, key("me")), is_signed(&run, key("you")), is_signed(&run, None)),
            (true, false, false)
        );
        let copy = dir.path().join("EX-2");
        std::fs::create_dir_all(copy.join(EXECUTOR)).unwrap();
        std::fs::copy(executor.join(OPTIONS), copy.join(EXECUTOR).join(OPTIONS)).unwrap();
        assert!(!is_signed(&copy, key("me")));
        let text = std::fs::read_to_string(executor.join(OPTIONS)).unwrap();
        for changed in [text.replace('1', "2"), "{\"a\":1}\n\n".to_owned()] {
            std::fs::write(executor.join(OPTIONS), changed).unwrap();
            assert!(!is_signed(&run, key("me")));
        }
        let unsigned = Remembered { text: mine.text, key: None };
        unsigned.put(&open_folder(&executor).unwrap(), &run).unwrap();
        assert!(!is_signed(&run, key("me")));
    }
}
