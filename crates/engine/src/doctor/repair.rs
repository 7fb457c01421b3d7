//! The repairs that lose nothing which could still be used: a damaged journal is cut after a copy was made,
//! and what a crash left unfinished is removed. The next run renders the tables and reports again.

use std::path::Path;

use team_executor_beneath::make_ours;
use team_executor_store::lock::PATIENCE;
use team_executor_store::run_folder::{EXECUTOR, JOURNAL, LOCK};
use team_executor_store::{DiskError, Holder, Lock, LockError, cut_damage, sweep};

use super::run::{is_alive, open};
use crate::begin::run_at;
use crate::options::Failure;

/// What was done.
#[derive(Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The journal was damaged and was cut; all of it is in this file beside it.
    pub copy: Option<String>,
    /// How many unfinished files were removed.
    pub removed: usize,
}

/// Repairs the run in a folder, while no other process has it.
pub fn repair(path: &Path) -> Result<Repaired, Failure> {
    let failed =
        |error: DiskError| Failure::Disk { action: "repair", path: path.to_owned(), reason: error.to_string() };
    let folder = path.join(EXECUTOR);
    // Another program may have removed it.
    make_ours(&folder).map_err(Failure::disk("make", &folder))?;
    let executor = open(&folder)?;
    let mut lock = Lock::take(&executor, LOCK, PATIENCE).map_err(|error| match error {
        LockError::Held { by } => Failure::Held(by),
        LockError::Disk(error) => failed(error),
    })?;
    // A worker whose record is given up would get a twin.
    if is_alive(path)? {
        return Err(Failure::StillRunning(path.display().to_string()));
    }
    let removed = sweep(&executor).map_err(failed)? + sweep(&open(path)?).map_err(failed)?;
    let copy = cut_damage(&executor, JOURNAL, run_at::durable(path)).map_err(failed)?;
    if copy.is_some() {
        run_at::forget_length(&executor).map_err(|error| Failure::Disk {
            action: "repair",
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        // As after a power cut, the next executor must not rely on what this start of the machine was told.
        lock.sign(&Holder { boot: String::new(), ..Holder::this_process(0) }).map_err(failed)?;
    }
    Ok(Repaired { copy, removed })
}
