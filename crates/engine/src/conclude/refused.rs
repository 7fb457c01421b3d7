//! Why something that stands where a result is expected is none. One sentence each, and nowhere else.

use rustix::io::Errno;
use team_executor_beneath::words;
use team_executor_files::json::Malformed;

/// The most that is read of a result.
pub(crate) const RESULT_BYTES: u64 = 1 << 20;

/// Why a result cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// A link, a folder, a pipe, or something that may not be opened.
    #[error("{0}")]
    NoFile(String),
    #[error("it has {0} bytes, and at most {RESULT_BYTES} are read")]
    TooLarge(u64),
    #[error("it is not UTF-8 from byte {0} on")]
    NotUtf8(usize),
    #[error("it is empty")]
    Empty,
    #[error("it is not an object")]
    NotAnObject,
    /// It is no JSON, or nested too deep.
    #[error("{message} (line {line})")]
    Malformed { line: usize, message: String },
}

impl Refused {
    /// A file with so many bytes could not be read.
    pub(super) fn by_errno(errno: Errno, bytes: u64) -> Self {
        if errno == Errno::FBIG { Self::TooLarge(bytes) } else { Self::NoFile(words(errno)) }
    }

    pub(super) fn malformed(text: &str, malformed: &Malformed) -> Self {
        let before = text.get(..malformed.span.start as usize).unwrap_or(text);
        Self::Malformed { line: before.matches('\n').count() + 1, message: malformed.message.clone() }
    }

    /// For people: what an attempt fails with that left it.
    pub(crate) fn sentence(&self) -> String {
        format!("its result cannot be read: {self}")
    }
}
