//! The exit codes, each with one meaning.

use std::process::ExitCode;

use team_executor_app::Kind;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything is fine; there may be warnings.
    Fine,
    /// The run is over, and some tasks failed or were skipped.
    Unfinished,
    /// Wrong usage or an invalid session; nothing was started.
    Invalid,
    /// The run was stopped on purpose and can be resumed.
    Paused,
    /// Another executor holds the session.
    Held,
    /// The program has a mistake; a run can be resumed.
    Bug,
    /// Input or output failed; a run can be resumed.
    Io,
    /// The run was interrupted and can be resumed.
    Interrupted,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Unfinished => 1,
            Self::Invalid => 2,
            Self::Paused => 3,
            Self::Held => 4,
            Self::Bug => 70,
            Self::Io => 74,
            Self::Interrupted => 130,
        }
    }
}

impl Exit {
    /// The way in which another process of this program ended. One that a signal ended was interrupted.
    pub(crate) fn from_code(code: u8) -> Self {
        let all = [Self::Fine, Self::Unfinished, Self::Invalid, Self::Paused, Self::Held, Self::Bug, Self::Io];
        all.into_iter().find(|exit| exit.code() == code).unwrap_or(Self::Interrupted)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

impl From<Kind> for Exit {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Invalid => Self::Invalid,
            Kind::Held => Self::Held,
            Kind::Io => Self::Io,
        }
    }
}
