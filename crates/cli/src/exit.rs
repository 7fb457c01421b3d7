//! The exit codes, each with one meaning.

use std::process::ExitCode;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is fine; there may be warnings.
    Fine,
    /// Wrong usage or an invalid session; nothing was started.
    Invalid,
    /// Input or output failed.
    Io,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Invalid => 2,
            Self::Io => 74,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
