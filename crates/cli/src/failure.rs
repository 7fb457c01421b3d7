//! What ends a command early: something in the user's world, with what to do about it.

use team_executor_files::{Finding, Findings, Sources};

use crate::exit::Exit;

/// What ends a command early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is wrong with what the user asked for.
    Usage(Box<Finding>),
    /// Something is wrong with the configuration files.
    Config(Box<(Findings, Sources)>),
    /// Writing the output failed.
    Output(std::io::Error),
}

impl Failure {
    /// Which code the shell sees.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) | Self::Config(_) => Exit::Invalid,
            // A reader that has seen enough, such as `head`, is no failure.
            Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Exit::Fine,
            Self::Output(_) => Exit::Io,
        }
    }
}

impl From<Finding> for Failure {
    fn from(finding: Finding) -> Self {
        Self::Usage(Box::new(finding))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}
