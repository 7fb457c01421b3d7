//! Whether the program of a known coding agent is there, which one it really is, and whether it is new enough.

use std::path::{Path, PathBuf};
use std::time::Duration;

use team_executor_agents::adapters::{Adapter, Setup};
use team_executor_agents::driver::greet;
use team_executor_agents::environment::without_contract;
use team_executor_agents::{Ended, Unusable, ask, probe};

use super::SPEAKING;
use crate::environment::Place;
use crate::error::Kind;
use crate::escape;

/// How long a program may take to say its version. Some take seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Installed {
    /// What is started.
    pub(crate) program: PathBuf,
    /// What it says that it is.
    pub(crate) version: String,
}

/// Why a program cannot be used, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotUsable {
    pub(crate) why: String,
    pub(crate) help: String,
    /// 2, or 74 if the disk or the system failed.
    pub(crate) kind: Kind,
}

impl NotUsable {
    /// A program that is not as it must be.
    pub(crate) fn new(why: impl Into<String>, help: impl Into<String>) -> Self {
        Self { why: why.into(), help: help.into(), kind: Kind::Invalid }
    }
}

impl From<Unusable> for NotUsable {
    fn from(reason: Unusable) -> Self {
        let kind = if matches!(reason, Unusable::Failed(..)) { Kind::Io } else { Kind::Invalid };
        Self { why: reason.to_string(), help: help(&reason), kind }
    }
}

/// Looks for the program of an agent, and starts nothing. `env` are the variables that are set for it.
pub(crate) fn found(
    adapter: Adapter,
    program: &str,
    env: &[(String, String)],
    place: &Place,
) -> Result<PathBuf, NotUsable> {
    let found = probe(program, path(env, place), &place.project).map_err(|reason| match &reason {
        Unusable::NotInPath(_) => {
            NotUsable::new(reason.to_string(), format!("install it with: {}", install(adapter, program)))
        }
        _ => reason.into(),
    })?;
    Ok(adapter.native(&found).unwrap_or(found))
}

/// The same, and asks it for its version, or by the protocol that it must speak.
pub(crate) fn installed(
    setup: &Setup,
    program: &str,
    env: &[(String, String)],
    place: &Place,
) -> Result<Installed, NotUsable> {
    let adapter = setup.adapter;
    let name = program;
    let program = found(adapter, name, env, place)?;
    let env = without_contract(&place.app.variables(), &[], env);
    let version = match adapter {
        Adapter::Acp => greet((&program, &setup.args), &env, &place.project, PATIENCE),
        _ => version(adapter, &program, &env, place),
    };
    let not_usable = |why| {
        let help = format!("install the newest with: {}", install(adapter, name));
        NotUsable::new(format!("{} {why}", program.display()), help)
    };
    Ok(Installed { version: version.map_err(not_usable)?, program: program.clone() })
}

/// How a program is installed.
fn install(adapter: Adapter, program: &str) -> &'static str {
    let known = SPEAKING.iter().find(|known| adapter == Adapter::Acp && known.program == program);
    known.map_or_else(|| adapter.install(), |known| known.install)
}

/// What a program says its version is, if that is new enough.
fn version(adapter: Adapter, program: &Path, env: &[(String, String)], place: &Place) -> Result<String, String> {
    let answer = ask((program, &["--version".to_owned()]), env, &place.project, "", PATIENCE);
    let answer = answer.map_err(|error| format!("cannot be started: {error}"))?;
    match answer.ended {
        Ended::Exit(0) => adapter.probe(&String::from_utf8_lossy(&answer.out)).map(|version| version.to_string()),
        Ended::Limit(_) => Err("does not say its version in time".to_owned()),
        _ => Err("does not say its version".to_owned()),
    }
}

/// Where programs are looked for by a worker with these variables.
pub(crate) fn path<'p>(env: &'p [(String, String)], place: &'p Place) -> Option<&'p str> {
    let own = env.iter().rfind(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
    own.or_else(|| place.app.variable("PATH"))
}

/// What to do about a program that is not there.
fn help(reason: &Unusable) -> String {
    match reason {
        Unusable::NotInPath(program) => {
            format!("install {program}, or add its folder to PATH, or name it with its path")
        }
        Unusable::Missing(_) => "correct the path; it is taken from the project's folder".to_owned(),
        Unusable::NotExecutable(path) => format!("chmod +x {}", escape::shell_word(&path.display().to_string())),
        Unusable::Failed(..) => "once the cause is gone, the same command works".to_owned(),
    }
}
