//! A file in the folder of a run that says which refs and trees are its own. Where it is not, the run has no trees, and git is not asked.

use std::path::{Path, PathBuf};

use team_executor_beneath::read_regular;
use team_executor_store::run_folder::EXECUTOR;

/// What the file is called, in the executor's folder.
pub const MARK: &str = "trees";
/// Its first line.
const HEAD: &str = "team-executor trees 1";

/// Which trees and refs are those of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// What its refs are called.
    pub key: String,
    /// Where its trees are.
    pub home: PathBuf,
}

impl Mark {
    /// The text of the file.
    pub fn text(&self) -> String {
        format!("{HEAD}\n{}\n{}\n", self.key, self.home.display())
    }

    /// What the file of the run in a folder says, if it is there and whole.
    pub fn read(run: &Path) -> Option<Self> {
        let text = String::from_utf8(read_regular(&run.join(EXECUTOR).join(MARK)).ok()?).ok()?;
        let (head, rest) = text.split_once('\n')?;
        let (key, home) = rest.strip_suffix('\n')?.split_once('\n')?;
        (head == HEAD && !key.is_empty()).then(|| Self { key: key.to_owned(), home: PathBuf::from(home) })
    }
}
