//! The exit codes, each with one meaning.

use std::process::ExitCode;

use team_executor_app::Kind;

/// How the program ended. `cargo xtask reference` makes a page of this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Everything is fine, and all tasks of a run are completed; there may be warnings.
    Fine = 0,
    /// The run is over, and some tasks failed or were skipped. A check failed, such as `artifacts verify` or `agents --test`.
    Unfinished = 1,
    /// The usage is wrong or the session is invalid; nothing was started.
    Invalid = 2,
    /// The run was stopped on purpose, or waits for you at a checkpoint or a budget; it can be resumed.
    Paused = 3,
    /// Another executor holds the session.
    Held = 4,
    /// team-executor has a bug; a run can be resumed.
    Bug = 70,
    /// Reading or writing failed, for instance on a full disk; a run can be resumed.
    Io = 74,
    /// The run was interrupted and can be resumed.
    Interrupted = 130,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        self as u8
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
