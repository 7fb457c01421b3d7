//! From how a worker ended to what the rules are told.

use std::path::Path;

use rustix::io::Errno;
use serde_json::json;
use team_executor_agents::outcome::{Outcome as Judged, Produced, judge};
use team_executor_agents::{Ended, Exit};
use team_executor_beneath::{io_error, is_system_failure, ours, words};
use team_executor_core::run::{ErrorClass, Judgement, Outcome};

use crate::options::Failure;
use crate::patience::patiently;

/// The most that is read of a result.
pub(crate) const RESULT_BYTES: u64 = 1 << 20;

/// What an attempt came to, by how it ended, what it reported and what it left.
pub(crate) fn of(exit: &Exit, produced: &Produced<'_>) -> Outcome {
    of_ended(&exit.ended, produced)
}

/// The same, of which only the end is known.
pub(crate) fn of_ended(ended: &Ended, produced: &Produced<'_>) -> Outcome {
    match (judge(ended, produced), ended) {
        (Judged::Completed { findings }, _) => Outcome::completed(Some(findings)),
        (Judged::Interrupted, _) => Outcome::Interrupted,
        (Judged::Failed { error, .. }, Ended::Limit(_)) => Outcome::TimedOut { error },
        (Judged::Failed { error, .. }, Ended::CouldNotStart(_)) => Outcome::CouldNotStart { error },
        (Judged::Failed { error, .. }, _) => Outcome::Failed { class: ErrorClass::Transient, error },
    }
}

/// What an attempt came to, with what it says about the work of others, or why that is not enough.
pub(crate) fn judged(outcome: Outcome, said: Result<Option<Judgement>, String>) -> Outcome {
    match (outcome, said) {
        (Outcome::Completed { findings, .. }, Ok(judgement)) => {
            Outcome::Completed { findings, judgement: judgement.map(Box::new) }
        }
        (Outcome::Completed { .. }, Err(error)) => Outcome::Failed { class: ErrorClass::Transient, error },
        (outcome, _) => outcome,
    }
}

/// The text of a result. What is there but cannot be read is empty, which no result is: it decides, and not the exit status.
pub(crate) fn result(path: &Path) -> Option<String> {
    match written(path) {
        Ok(written) => Some(written?.unwrap_or_default()),
        Err(_) => Some(String::new()),
    }
}

/// The same for an outcome: what cannot be read is a result that says why, unless the disk or the system failed.
pub(crate) fn explained(path: &Path) -> Result<Option<String>, Failure> {
    let unreadable =
        |why| json!({"status": "failed", "error": format!("its result cannot be read: {why}")}).to_string();
    let written = written(path).map_err(|errno| Failure::disk("read", path)(io_error(errno)))?;
    Ok(written.map(|written| written.unwrap_or_else(unreadable)))
}

/// What was written as a result, or why it is none. Fails only if the disk or the system does.
fn written(path: &Path) -> Result<Option<Result<String, String>>, Errno> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(None);
    };
    match patiently(|| ours::open(folder)?.read(name, RESULT_BYTES)) {
        Err(errno) if is_system_failure(errno) => Err(errno),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::FBIG) => {
            let length = ours::look_at(path).map_or(0, |found| found.st_size);
            Ok(Some(Err(format!("it has {length} bytes, and at most {RESULT_BYTES} are read"))))
        }
        Err(errno) => Ok(Some(Err(words(errno)))),
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            Ok(Some(Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())))
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_result_that_cannot_be_read_says_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        let judged = || {
            let text = explained(&path).unwrap();
            of_ended(&Ended::Exit(0), &Produced { result: text.as_deref(), ..Produced::default() })
        };
        let failed = |why: &str| {
            let error = format!("its result cannot be read: {why}");
            assert_eq!(judged(), Outcome::Failed { class: ErrorClass::Transient, error });
        };
        assert_eq!(result(&path), None);
        mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        failed("it is not a regular file");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        failed("it is a folder");
        std::fs::remove_dir(&path).unwrap();
        let done = r#"{"status":"completed","findings":"found it"}"#;
        std::fs::write(&path, format!("{done}{}", " ".repeat(1 << 20))).unwrap();
        failed("it has 1048620 bytes, and at most 1048576 are read");
        std::fs::write(&path, " \n").unwrap();
        failed("it is empty");
        std::fs::write(&path, format!("\u{feff}{done}")).unwrap();
        assert_eq!(judged(), Outcome::completed(Some("found it".to_owned())));
    }
}
