//! What ends a command early: something in the user's world, with what to do about it.

use team_executor_app::Error;
use team_executor_app::bus::Refusal;
use team_executor_files::{Finding, Findings, Sources};

use crate::args::mistakes;
use crate::exit::Exit;

/// What ends a command early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the user asked for is not done, and the shell sees this code.
    Refused(Box<Finding>, Exit),
    /// Something is wrong with files that the user wrote.
    Files(Box<(Findings, Sources)>),
    /// Writing the output failed.
    Output(std::io::Error),
}

impl Failure {
    /// Which code the shell sees.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Refused(_, exit) => *exit,
            Self::Files(_) => Exit::Invalid,
            Self::Output(_) => Exit::Io,
        }
    }

    /// The same with every suggested command as the user has to type it: by its path where `PATH` does not lead to this program.
    pub(crate) fn typed_as(mut self, program: &str) -> Self {
        if let Self::Refused(finding, _) = &mut self
            && program != NAME
        {
            finding.help.iter_mut().for_each(|help| *help = typed_as(help, program));
        }
        self
    }
}

/// The name of the program in suggested commands.
const NAME: &str = "team-executor";

/// A help text with this program in its commands: a command begins the text, or stands behind a colon or a backtick.
fn typed_as(help: &str, program: &str) -> String {
    let mut typed = String::with_capacity(help.len());
    for (at, part) in help.split_inclusive(&format!("{NAME} ")).enumerate() {
        let before = part.strip_suffix(&format!("{NAME} "));
        let begins = |before: &str| (before.is_empty() && at == 0) || before.ends_with(": ") || before.ends_with('`');
        match before {
            Some(before) if begins(before) => typed.extend([before, program, " "]),
            _ => typed.push_str(part),
        }
    }
    typed
}

impl From<Finding> for Failure {
    fn from(finding: Finding) -> Self {
        Self::Refused(Box::new(finding), Exit::Invalid)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(finding, kind) => Self::Refused(finding, kind.into()),
            Error::Files(wrong) => Self::Files(wrong),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Error::from(refusal).into()
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        mistakes::finding(&error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::typed_as;

    #[test]
    fn commands_in_help_are_typed_with_the_path() {
        for (help, typed) in [
            ("team-executor runs", "./te runs"),
            ("list them with: team-executor runs", "list them with: ./te runs"),
            ("`team-executor runs` or `team-executor sessions`", "`./te runs` or `./te sessions`"),
            ("a team-executor of version 2 made it", "a team-executor of version 2 made it"),
        ] {
            assert_eq!(typed_as(help, "./te"), typed);
        }
    }
}
