//! Why something is not done, as data: what, where, why, and what to do. A face shows it and chooses its exit code.

use team_executor_engine as engine;
use team_executor_files::{Code, Finding, Findings, Sources};
use team_executor_store::JournalError;

use crate::escape;

/// What to do about a session that is not what its run began with.
pub(crate) const UNDO: &str = "undo the change, or move the run's folder away to begin anew";
/// What to do about a full disk.
pub const MAKE_ROOM: &str = "make room on the disk; df -h shows how it is used";

/// Why something is not done.
#[derive(Debug)]
pub enum Error {
    /// It was refused, for a reason of this kind.
    Refused(Box<Finding>, Kind),
    /// Something is wrong with files that the user wrote; the findings point into them.
    Files(Box<(Findings, Sources)>),
}

/// What kind of reason it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The user asked for something that cannot be done.
    Invalid,
    /// Another executor has the session.
    Held,
    /// The disk or the system failed.
    Io,
}

impl Error {
    /// The disk or the system failed.
    pub(crate) fn io(finding: Finding) -> Self {
        Self::Refused(Box::new(finding), Kind::Io)
    }

    /// Findings in files that the user wrote.
    pub(crate) fn files(findings: Findings, sources: Sources) -> Self {
        Self::Files(Box::new((findings, sources)))
    }

    /// What the engine refuses about a run of a session, which commands name by this flag.
    pub(crate) fn of_run(failure: engine::Failure, session: &str) -> Self {
        use engine::Failure as Why;
        let doctor = |named: &str| format!("team-executor doctor {named}");
        let (kind, help) = match &failure {
            Why::Held(_) => (Kind::Held, format!("wait for it to end, or end it with: team-executor stop {session}")),
            Why::Changed(_) => (Kind::Invalid, UNDO.to_owned()),
            Why::Control(_) => (Kind::Io, "ask again; `team-executor status` shows how the run stands".to_owned()),
            Why::NoAgent { .. } => (
                Kind::Invalid,
                "define it again, or `retry` the task with another; see which there are: team-executor agents"
                    .to_owned(),
            ),
            Why::TooDeep(_) => (Kind::Invalid, "start it outside of a worker".to_owned()),
            Why::Network { .. } => (
                Kind::Invalid,
                "move it to a local disk, or add --allow-network-fs if no other machine runs it".to_owned(),
            ),
            Why::Edited { .. } => (
                Kind::Invalid,
                "the same command continues without the edit; see docs/reference/runs.md for what can be edited"
                    .to_owned(),
            ),
            Why::Unfinished(_) => (Kind::Invalid, format!("run it to its end first: team-executor {session}")),
            Why::NoRun(_) => (Kind::Invalid, "list the sessions and runs: team-executor sessions".to_owned()),
            Why::Backend { .. } => (Kind::Io, "check it with: team-executor backend check".to_owned()),
            Why::Trees { help, .. } => (Kind::Invalid, help.clone()),
            Why::InTheWay(_) => (Kind::Invalid, "nothing of it was changed; choose another place or name".to_owned()),
            Why::Journal(JournalError::Damaged(_) | JournalError::Shortened { .. }) => (Kind::Io, doctor(session)),
            Why::Nameless(run) => return Self::nameless(&failure, run, Kind::Io),
            Why::Journal(JournalError::Full(_)) | Why::NoRoom(_) => (Kind::Io, MAKE_ROOM.to_owned()),
            _ => (Kind::Io, "once the cause is gone, the same command continues".to_owned()),
        };
        let mut finding = Finding::error(Code::Usage, failure.to_string());
        if let Why::Edited { refused, kept } = &failure {
            finding = refused.iter().fold(finding, |finding, line| finding.help(format!("refused: {line}")));
            let kept_as = |finding: Finding, copy| finding.help(format!("the edited file is kept as {copy}"));
            finding = kept.iter().fold(finding, kept_as);
        }
        Self::Refused(Box::new(finding.help(help)), kind)
    }

    /// A run does not say of which session it is; there are two ways out.
    pub(crate) fn nameless(failure: &engine::Failure, run: &str, kind: Kind) -> Self {
        let run = escape::shell_word(run);
        let finding = Finding::error(Code::Usage, failure.to_string());
        let finding = finding.help(format!("look at it: team-executor doctor --run={run}"));
        let give_up = format!("or put it away, to begin anew: team-executor archive {run} --give-up REASON");
        Self::Refused(Box::new(finding.help(give_up)), kind)
    }
}

impl From<Finding> for Error {
    fn from(finding: Finding) -> Self {
        Self::Refused(Box::new(finding), Kind::Invalid)
    }
}

/// The engine's refusal where no session was named.
impl From<engine::Failure> for Error {
    fn from(failure: engine::Failure) -> Self {
        Self::of_run(failure, "--session=PATH")
    }
}

impl From<engine::bus::Refusal> for Error {
    fn from(refusal: engine::bus::Refusal) -> Self {
        let kind = if refusal.is_of_disk() { Kind::Io } else { Kind::Invalid };
        Self::Refused(Box::new(Finding::error(Code::Usage, refusal.what).help(refusal.help)), kind)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(finding, _) => f.write_str(&finding.message),
            Self::Files(wrong) => {
                let messages: Vec<_> = wrong.0.iter().map(|finding| finding.message.as_str()).collect();
                f.write_str(&messages.join("; "))
            }
        }
    }
}

/// The same for clients that are answered in two texts: everything that is wrong, and what to do.
impl From<Error> for engine::bus::Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(finding, _) => Self { what: finding.message, help: finding.help.join("\n") },
            Error::Files(wrong) => {
                let (findings, sources) = *wrong;
                let place = |finding: &Finding| {
                    let place = finding.place.as_ref()?;
                    let at = sources.get(&place.file)?.position(place.span?.start);
                    Some(format!(" ({}:{}:{})", place.file, at.line, at.column))
                };
                let line = |finding: &Finding| format!("{}{}", finding.message, place(finding).unwrap_or_default());
                let what: Vec<_> = findings.iter().map(line).collect();
                let help: Vec<_> = findings.iter().flat_map(|finding| finding.help.clone()).collect();
                Self { what: what.join("\n"), help: help.join("\n") }
            }
        }
    }
}
