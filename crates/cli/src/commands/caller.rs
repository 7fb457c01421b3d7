//! Who asks: a person who names a session, or a worker whose environment names its attempt.

use std::path::{Path, PathBuf};

use team_executor_agents::environment::{ATTEMPT, SESSION};
use team_executor_core::{Graph, RoleName, Session};
use team_executor_engine::bus::{Attempt, Refusal, state};
use team_executor_engine::control::{self, Caller as CalledBy};
use team_executor_engine::runs;
use team_executor_files::{Code, Finding};

use super::run::refused;
use crate::args::Reading;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open::{self, Opened, Place};

/// Who asks, and about which session.
pub(super) struct Caller {
    pub(super) place: Place,
    /// How the session was named.
    pub(super) path: PathBuf,
    /// If a worker asks, its attempt.
    pub(super) attempt: Option<Attempt>,
}

impl Caller {
    /// From the arguments and the environment. A worker has no session but its own.
    pub(super) fn of(session: Option<&Path>) -> Result<Self, Failure> {
        let attempt = Attempt::of(|name| std::env::var(name).ok()).map_err(failure)?;
        let path = session.or(attempt.as_ref().map(|attempt| attempt.session.as_path())).map(Path::to_owned);
        let place = open::place(path.as_deref())?;
        if let Some(own) = attempt.as_ref().map(|attempt| &attempt.session).filter(|own| **own != place.folder) {
            let what = "a worker has no session but its own";
            return Err(Finding::error(Code::Usage, what)
                .help(format!("leave --session out; it is {}", own.display()))
                .into());
        }
        Ok(Self { place, path: path.unwrap_or_default(), attempt })
    }

    /// Reads the tasks of the session: workers ask often, and need no more.
    pub(super) fn open(&self, reading: &Reading) -> Result<Opened, Failure> {
        open::tasks(Some(&self.path), reading)
    }

    /// The session as its run says it is now.
    pub(super) fn now(&self, session: &Session, graph: &Graph) -> Result<Session, Failure> {
        let now = match &self.attempt {
            Some(attempt) => state::of_run(session, graph, &attempt.run),
            None => state::now(session, graph, &self.place.folder, &self.place.current),
        };
        now.map_err(refused)
    }

    /// Refuses a worker that hides its attempt: it would speak as the user.
    pub(super) fn must_be_person(&self) -> Result<(), Failure> {
        if self.attempt.is_none() && is_worker_of(&self.place) {
            let what = "a worker may only speak for its own attempt, and its environment names none";
            let help = "leave the TEAM_EXECUTOR_ variables of the worker as they are";
            return Err(Finding::error(Code::Usage, what).help(help).into());
        }
        Ok(())
    }

    /// In whose name something is said: a worker's role, or whatever name a person gives.
    pub(super) fn name(&self, given: Option<&str>, reading: &Reading) -> Result<String, Failure> {
        let Some(attempt) = &self.attempt else {
            self.must_be_person()?;
            return Ok(given.unwrap_or("user").to_owned());
        };
        let opened = self.open(reading)?;
        let (session, graph) = open::runnable(&opened)?;
        let role: &RoleName = &attempt.verified(session, graph).map_err(failure)?.role;
        if let Some(other) = given.filter(|given| *given != role.as_str()) {
            let what = format!("a worker speaks as its role '{role}', not as '{other}'");
            return Err(Finding::error(Code::Usage, what).help("leave --from out").into());
        }
        Ok(role.to_string())
    }
}

/// Refuses what would let a worker steer the run that it is part of, whatever its environment says.
pub(super) fn must_not_be_its_own(place: &Place) -> Result<(), Failure> {
    let own = std::env::var_os(SESSION).filter(|_| std::env::var_os(ATTEMPT).is_some());
    if own.is_some_and(|own| Path::new(&own) == place.folder) || is_worker_of(place) {
        let finding = Finding::error(Code::Usage, "a worker does not steer the run that it is part of");
        let finding = finding.help("report your own task: team-executor task update --status STATUS");
        return Err(finding.help("or tell the team what you need: team-executor msg log TEXT").into());
    }
    Ok(())
}

/// Whether this process belongs to a worker of the newest run of a session.
fn is_worker_of(place: &Place) -> bool {
    let newest = runs::newest(&place.folder, &place.current);
    newest.is_some_and(|(_, run)| matches!(control::called_by(&run), CalledBy::Worker(_)))
}

/// Why nothing was done.
pub(super) fn failure(refusal: Refusal) -> Failure {
    let exit = if refusal.is_of_disk() { Exit::Io } else { Exit::Invalid };
    Failure::Refused(Box::new(Finding::error(Code::Usage, refusal.what).help(refusal.help)), exit)
}
