//! How a worker ended, and the text in which that is kept: JSON whose last field is a checksum of all before it, so that
//! half a file, or a file with a changed byte, is never believed.

use serde::{Deserialize, Serialize};

/// How one attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Of the attempt.
    pub key: String,
    /// What ended it.
    pub ended: Ended,
    /// When it was started, in milliseconds of the wall clock since 1970.
    pub started_at: u64,
    /// When the last of its processes was gone, likewise.
    pub ended_at: u64,
    /// How long it took by a clock that nobody sets.
    pub ran_ms: u64,
    /// What came of its standard output.
    pub out: Stream,
    /// What came of its standard error.
    pub err: Stream,
    /// How many processes it left behind when it ended by itself. They were killed.
    pub leaked: usize,
    /// The last line of its standard output that is not empty, without control characters.
    pub last_line: Option<String>,
}

/// What ended a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It ended by itself with this code.
    Exit(i32),
    /// A signal that we did not send.
    Signal(i32),
    /// We ended it, because it took too long.
    Limit(Limit),
    /// We ended it, because the executor said so.
    Stopped,
    /// We ended it, because the executor was gone.
    Interrupted,
    /// It never ran, for this reason.
    CouldNotStart(String),
}

/// Which limit a worker ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// It printed nothing at all.
    FirstOutput,
    /// It printed nothing more.
    Idle,
    /// It took too long in all.
    Total,
}

/// What came of an output stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// How much was printed.
    pub bytes: u64,
    /// How much of that is not in the log.
    pub dropped: u64,
}

impl Exit {
    /// An attempt of which nothing ran.
    pub(crate) fn without_run(key: &str, ended: Ended, now: u64) -> Self {
        Self {
            key: key.to_owned(),
            ended,
            started_at: now,
            ended_at: now,
            ran_ms: 0,
            out: Stream::default(),
            err: Stream::default(),
            leaked: 0,
            last_line: None,
        }
    }

    /// The text of the file.
    pub(crate) fn to_text(&self) -> Result<String, serde_json::Error> {
        let whole = serde_json::to_string(self)?;
        let body = whole.strip_suffix('}').unwrap_or(&whole);
        Ok(format!("{body}{}", seal(body)))
    }

    /// What the text of a file says, if it is whole.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let (body, _) = text.rsplit_once(SEAL)?;
        let exit = if text.strip_prefix(body)? == seal(body) { text } else { return None };
        serde_json::from_str(exit).ok()
    }
}

const SEAL: &str = ",\"checksum\":\"";

fn seal(body: &str) -> String {
    format!("{SEAL}{:08x}\"}}\n", crc32c::crc32c(body.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit() -> Exit {
        let mut exit = Exit::without_run("run/T-1/1", Ended::Limit(Limit::Idle), 1_700_000_000_000);
        exit.last_line = Some("a \"checksum\":\" inside".into());
        exit
    }

    #[test]
    fn the_text_is_json_with_a_checksum_and_says_the_same() {
        let text = exit().to_text().unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["ended"]["limit"], "idle");
        assert_eq!(json["checksum"].as_str().map(str::len), Some(8));
        assert_eq!(Exit::from_text(&text), Some(exit()));
    }

    #[test]
    fn a_text_that_is_cut_or_changed_anywhere_is_not_believed() {
        let text = exit().to_text().unwrap();
        for at in 0..text.len() {
            assert_eq!(Exit::from_text(&text[..at]), None, "cut at {at}");
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(Exit::from_text(&changed), None, "changed at {at}");
        }
    }
}
