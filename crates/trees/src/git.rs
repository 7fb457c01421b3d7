//! Calls of git, with what they failed of.

use team_executor_agents::git::{Call, Git};
use team_executor_agents::{Answer, Ended};

/// Why something cannot be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The user's repository or settings do not allow it.
    #[error("{why}")]
    Refused {
        /// Why.
        why: String,
        /// What to do, a command or a setting.
        help: String,
    },
    /// Git or the system failed.
    #[error("{0}")]
    Failed(String),
}

impl Trouble {
    pub(crate) fn refused(why: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused { why: why.into(), help: help.into() }
    }

    pub(crate) fn io(action: &str, path: &std::path::Path, error: &impl std::fmt::Display) -> Self {
        Self::Failed(format!("cannot {action} {}: {error}", path.display()))
    }
}

/// How a call ended that may say no.
pub(crate) enum Word {
    /// Exit code 0, and what was printed.
    Yes(Vec<u8>),
    /// Exit code 1, and what was printed.
    No(Vec<u8>),
}

/// Runs a command that must succeed, and returns what it prints.
pub(crate) fn must(git: &Git, call: &Call<'_>, command: &[&str]) -> Result<Vec<u8>, Trouble> {
    match ask(git, call, command)? {
        Word::Yes(out) => Ok(out),
        Word::No(_) => Err(Trouble::Failed(format!("git {} said no", command.first().unwrap_or(&"")))),
    }
}

/// The same as a line of text.
pub(crate) fn line(git: &Git, call: &Call<'_>, command: &[&str]) -> Result<String, Trouble> {
    Ok(String::from_utf8_lossy(&must(git, call, command)?).trim_end().to_owned())
}

/// Runs a command whose exit code 1 is an answer.
pub(crate) fn ask(git: &Git, call: &Call<'_>, command: &[&str]) -> Result<Word, Trouble> {
    let verb = command.first().unwrap_or(&"");
    let answer = git.call(call, command).map_err(|error| Trouble::Failed(format!("git {verb} cannot run: {error}")))?;
    answered(verb, answer)
}

/// Runs a command that must succeed: what it prints, and what it passed over because it could not be read.
pub(crate) fn seen(git: &Git, call: &Call<'_>, command: &[&str]) -> Result<(Vec<u8>, Vec<String>), Trouble> {
    let verb = command.first().unwrap_or(&"");
    let answer = git.call(call, command).map_err(|error| Trouble::Failed(format!("git {verb} cannot run: {error}")))?;
    let said = String::from_utf8_lossy(&answer.err).into_owned();
    let passed_over = said.lines().filter(|line| PASSED_OVER.iter().any(|begins| line.starts_with(begins)));
    match answered(verb, answer)? {
        Word::Yes(out) => Ok((out, passed_over.map(str::to_owned).collect())),
        Word::No(_) => Err(Trouble::Failed(format!("git {verb} said no"))),
    }
}

/// The same, if it passed over nothing.
pub(crate) fn must_see(git: &Git, call: &Call<'_>, command: &[&str]) -> Result<Vec<u8>, Trouble> {
    match seen(git, call, command)? {
        (out, passed_over) if passed_over.is_empty() => Ok(out),
        (_, passed_over) => Err(Trouble::Failed(passed_over.join("; "))),
    }
}

/// What git says when it goes on without something that is there.
const PASSED_OVER: [&str; 3] = [FOLDER, "warning: ignoring broken ref", "warning: unable to access"];
/// Begins the line that names a folder which it cannot read.
const FOLDER: &str = "warning: could not open directory '";

/// The folder that was passed over, if it cannot be read.
pub(crate) fn forbidden(line: &str) -> Option<&str> {
    line.strip_prefix(FOLDER)?.strip_suffix("': Permission denied")
}

/// What a call of git says.
pub(crate) fn answered(verb: &str, answer: Answer) -> Result<Word, Trouble> {
    let Answer { ended, out, err } = answer;
    match ended {
        Ended::Exit(0) => Ok(Word::Yes(out)),
        Ended::Exit(1) if err.is_empty() || verb == "merge-tree" => Ok(Word::No(out)),
        ended => {
            let said = String::from_utf8_lossy(&err);
            let said = said.lines().find(|line| line.starts_with("fatal: ") || line.starts_with("error: "));
            let said = said.map_or_else(|| format!("{ended:?}"), str::to_owned);
            Err(Trouble::Failed(format!("git {verb}: {said}")))
        }
    }
}

/// The texts of a list that NUL ends each of.
pub(crate) fn listed(out: &[u8]) -> Vec<String> {
    let texts = out.split(|byte| *byte == 0).filter(|text| !text.is_empty());
    texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}
