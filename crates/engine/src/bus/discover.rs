//! A worker tells what it found: one line at the end of `discoveries.ndjson`, the board of a session. What is there already
//! is not written again.

use team_executor_beneath::io_error;
use team_executor_core::Discovery;
use team_executor_files::json::{self, Kind};
use team_executor_files::{board, limits};
use team_executor_store::{Log, RealDisk};

use super::log::{LINE_BYTES, turn};
use super::{Attempt, Refusal};
use crate::clock;

/// How much of the end of the board is searched for the same discovery; readers look at all of it.
const SEARCHED: u64 = 4 << 20;
/// Characters of the name of a sort.
const KIND_CHARS: usize = 100;

/// Adds a discovery of an attempt that was verified; `false` if it is there already. The data is JSON text, an object.
pub fn discover(attempt: &Attempt, kind: &str, data: &str) -> Result<bool, Refusal> {
    let help = "give its type as a word and its data as an object: team-executor schema board";
    let document = json::parse(data).map_err(|error| Refusal::new(format!("not JSON: {}", error.message), help))?;
    if document.root().kind() != Kind::Object {
        return Err(Refusal::new("the data of a discovery is an object", help));
    }
    if kind.trim().is_empty() || kind.chars().count() > KIND_CHARS {
        return Err(Refusal::new(format!("the type of a discovery has 1 to {KIND_CHARS} characters"), help));
    }
    let key = board::key(kind, data);
    let found = Discovery {
        timestamp: Some(clock::now()),
        worker: attempt.task.clone(),
        kind: kind.to_owned(),
        data: data.to_owned(),
        key,
    };
    let line = board::line(&found);
    if line.len() > LINE_BYTES {
        let what = format!("the discovery has {} bytes; the limit is {LINE_BYTES}", line.len());
        return Err(Refusal::new(what, "write it to a file in $TEAM_EXECUTOR_ARTIFACTS, and give its path"));
    }
    let disk = |error: &dyn std::fmt::Display| Refusal::disk("the discovery was not written", error);
    let (_, turn) = turn(&attempt.session)?;
    let folder = RealDisk::open_folder(&attempt.session).map_err(|errno| disk(&io_error(errno)))?;
    let mut log = Log::open(&folder, board::FILE, &turn).map_err(|error| disk(&error))?;
    if log.length().map_err(|error| disk(&error))? + line.len() as u64 > limits::LOG_BYTES {
        let what = format!("{} has reached its size limit", board::FILE);
        return Err(Refusal::new(what, "put it in the findings of your result instead"));
    }
    let end = log.end(SEARCHED).map_err(|error| disk(&error))?;
    if end.split(|byte| *byte == b'\n').any(|line| says_the_same(line, &found)) {
        return Ok(false);
    }
    log.append(&line).and_then(|()| log.sync(&folder)).map_err(|error| disk(&error))?;
    Ok(true)
}

/// Whether a line of the board is the same discovery: by its key, else word by word from the same worker.
fn says_the_same(line: &[u8], found: &Discovery) -> bool {
    let Some(document) = str::from_utf8(line).ok().and_then(|line| json::parse(line).ok()) else { return false };
    let root = document.root();
    let text = |name: &str| root.get(name).and_then(|value| value.as_text());
    let Some(data) = root.get("data").filter(|_| text("type").as_deref() == Some(&found.kind)) else { return false };
    match &found.key {
        Some(key) => board::key(&found.kind, data.raw()).as_ref() == Some(key),
        None => text("worker").as_deref() == Some(&found.worker) && data.raw() == found.data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_discovery_is_added_once() {
        let dir = tempfile::tempdir().unwrap();
        let by = |task: &str| Attempt {
            session: dir.path().to_owned(),
            run: dir.path().to_owned(),
            task: task.to_owned(),
            number: 1,
            key: String::new(),
            token: None,
        };
        let (a, b) = (by("A"), by("B"));
        std::fs::write(dir.path().join(board::FILE), "torn \u{fffd} junk").unwrap();
        assert_eq!(discover(&a, "test_result", r#"{"test_name":"t","status":"pass"}"#), Ok(true));
        assert_eq!(discover(&b, "test_result", r#"{"status":"fail","test_name":"t"}"#), Ok(false));
        assert_eq!(discover(&b, "test_result", r#"{"test_name":"u"}"#), Ok(true));
        assert_eq!(discover(&a, "note", r#"{"x":1}"#), Ok(true));
        assert_eq!(discover(&a, "note", r#"{"x":1}"#), Ok(false), "the same worker says the same");
        assert_eq!(discover(&b, "note", r#"{"x":1}"#), Ok(true));
        let text = std::fs::read_to_string(dir.path().join(board::FILE)).unwrap();
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.starts_with("torn \u{fffd} junk\n{\"ts\":"), "{text}");
        let long = format!(r#"{{"x":"{}"}}"#, "x".repeat(LINE_BYTES));
        for (kind, data) in [("note", "[1]"), ("note", "{"), (" ", "{}"), (&*"k".repeat(101), "{}"), ("note", &long)] {
            assert!(discover(&a, kind, data).is_err(), "{kind}");
        }
        assert_eq!(std::fs::read_to_string(dir.path().join(board::FILE)).unwrap(), text);
    }
}
