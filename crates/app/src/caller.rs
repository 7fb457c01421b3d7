//! Who asks: a person who names a session, or a worker whose environment names its attempt.

use std::path::{Path, PathBuf};

use team_executor_agents::environment::{ATTEMPT, SESSION};
use team_executor_core::{Graph, RoleName, Session};
use team_executor_engine::bus::{Attempt, state};
use team_executor_engine::control::{self, Caller as CalledBy};
use team_executor_engine::runs;
use team_executor_files::{Code, Finding};

use crate::App;
use crate::environment::Place;
use crate::error::Error;
use crate::open::{Opened, Reading};

/// Who asks, and about which session.
#[derive(Debug)]
pub struct Caller {
    place: Place,
    /// How the session was named.
    pub path: PathBuf,
    /// If a worker asks, its attempt.
    pub attempt: Option<Attempt>,
}

impl App {
    /// Who asks about a session, by the arguments and the environment. A worker has no session but its own.
    pub fn caller(&self, session: Option<&Path>) -> Result<Caller, Error> {
        let attempt = self.attempt()?;
        let path = session.or(attempt.as_ref().map(|attempt| attempt.session.as_path())).map(Path::to_owned);
        let place = self.place(path.as_deref())?;
        if let Some(own) = attempt.as_ref().map(|attempt| &attempt.session).filter(|own| **own != place.folder) {
            let finding = Finding::error(Code::Usage, "a worker has no session but its own");
            return Err(finding.help(format!("leave --session out; it is {}", own.display())).into());
        }
        Ok(Caller { place, path: path.unwrap_or_default(), attempt })
    }

    /// The attempt of the worker that asks, if one does.
    pub fn attempt(&self) -> Result<Option<Attempt>, Error> {
        Ok(Attempt::from_environment(|name| self.variable(name).map(str::to_owned))?)
    }
}

impl Caller {
    /// What the caller uses.
    pub fn app(&self) -> &App {
        &self.place.app
    }

    /// The folder of the session, absolute.
    pub fn folder(&self) -> &Path {
        &self.place.folder
    }

    /// Where the user is.
    pub fn current(&self) -> &Path {
        &self.place.current
    }

    /// Reads the tasks of the session: workers ask often, and need no more.
    pub fn open(&self, reading: Reading) -> Result<Opened, Error> {
        self.place.app.open_tasks(Some(&self.path), reading)
    }

    /// The session as its run says it is now.
    pub fn now(&self, session: &Session, graph: &Graph) -> Result<Session, Error> {
        let now = match &self.attempt {
            Some(attempt) => state::of_run(session, graph, &attempt.run),
            None => state::now(session, graph, &self.place.folder, &self.place.current),
        };
        Ok(now?)
    }

    /// Refuses a worker that hides its attempt: it would speak as the user.
    pub fn must_be_person(&self) -> Result<(), Error> {
        if self.attempt.is_none() && is_worker_of(&self.place) {
            let what = "a worker may only speak for its own attempt, and its environment names none";
            let help = "leave the TEAM_EXECUTOR_ variables of the worker as they are";
            return Err(Finding::error(Code::Usage, what).help(help).into());
        }
        Ok(())
    }

    /// Refuses a worker that would steer the run that it is part of.
    pub fn must_not_steer(&self) -> Result<(), Error> {
        must_not_be_its_own(&self.place)
    }

    /// In whose name something is said: a worker's role, or whatever name a person gives.
    pub fn name(&self, given: Option<&str>, reading: Reading) -> Result<String, Error> {
        let Some(attempt) = &self.attempt else {
            self.must_be_person()?;
            return Ok(given.unwrap_or("user").to_owned());
        };
        let opened = self.open(reading)?;
        let (session, graph) = opened.runnable()?;
        let role: &RoleName = &attempt.verified(session, graph)?.role;
        if let Some(other) = given.filter(|given| *given != role.as_str()) {
            let what = format!("a worker speaks as its role '{role}', not as '{other}'");
            return Err(Finding::error(Code::Usage, what).help("leave --from out").into());
        }
        Ok(role.to_string())
    }
}

/// Refuses what would let a worker steer the run that it is part of, whatever its environment says.
pub(crate) fn must_not_be_its_own(place: &Place) -> Result<(), Error> {
    let app = &place.app;
    let own = app.variable_os(SESSION).filter(|_| app.variable_os(ATTEMPT).is_some());
    if own.is_some_and(|own| Path::new(own) == place.folder) || is_worker_of(place) {
        let finding = Finding::error(Code::Usage, "a worker may not control its own run");
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
