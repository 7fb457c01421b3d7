//! Asks the executor of a session's newest run. Where there is none, most requests are noted in the run itself.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use team_executor_core::run::{Assignment, Group};
use team_executor_core::{RoleName, TaskIndex};
use team_executor_engine::control::{self, Answer, Request, Target, ToRetry};
use team_executor_engine::{self as engine, runs};
use team_executor_files::{Code, Finding};

use crate::config::choose::BY_FLAG;
use crate::config::hire::Hired;
use crate::config::read::no_agent;
use crate::config::{Flags, Program};
use crate::environment::Place;
use crate::error::Error;
use crate::open::{Opened, Reading};
use crate::{App, archived, caller, escape};

/// What came of a request.
#[derive(Debug)]
pub struct Asked {
    /// The run.
    pub run: String,
    /// What the run is about now.
    pub stage: String,
    /// What was done, a line each, or why nothing was.
    pub outcome: Result<Vec<String>, Error>,
    /// Files that could not be written.
    pub warnings: Vec<String>,
    /// No executor was there: it is noted, and counts when the run goes on.
    pub is_noted: bool,
}

/// What came of a request, for programs.
#[derive(Serialize)]
struct JsonAnswer<'a> {
    version: u32,
    run: &'a str,
    stage: &'a str,
    did: &'a [String],
}

impl Serialize for Asked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let did = self.outcome.as_deref().unwrap_or_default();
        JsonAnswer { version: 1, run: &self.run, stage: &self.stage, did }.serialize(serializer)
    }
}

/// The newest run of the session that the user named.
pub(crate) struct Found {
    pub(crate) place: Place,
    pub(crate) run: String,
    pub(crate) folder: PathBuf,
}

impl Found {
    fn asked(&self, answer: Answer, session: &str) -> Asked {
        let Answer { stage, outcome, .. } = answer;
        let refused = |why: String| {
            let finding = Finding::error(Code::Usage, format!("nothing was done: {why}"));
            finding.help(format!("see how the run stands: team-executor status {session}")).into()
        };
        let run = self.run.clone();
        Asked { run, stage, outcome: outcome.map_err(refused), warnings: Vec::new(), is_noted: false }
    }
}

impl App {
    /// Asks the executor. Where there is none, nothing can be done.
    pub fn ask(&self, session: Option<&Path>, request: &Request) -> Result<Asked, Error> {
        let found = self.found(session)?;
        let named = named(session);
        match control::send(&found.folder, request) {
            Err(failure) => Err(Error::of_run(failure, &named)),
            Ok(Some(answer)) => Ok(found.asked(answer, &named)),
            Ok(None) => match control::holder(&found.folder) {
                Some(by) => {
                    let failure = format!("the executor of the run does not listen: {by}");
                    Err(Error::of_run(engine::Failure::Control(failure), &named))
                }
                None if runs::is_finished(&found.folder) => {
                    let finding = Finding::error(Code::Usage, format!("nothing runs: {} is finished", found.run));
                    Err(finding.help(format!("see how it ended: team-executor status {named}")).into())
                }
                None => {
                    let finding = Finding::error(Code::Usage, format!("nothing runs: no executor has {}", found.run));
                    Err(finding.help(format!("continue it with: team-executor resume {named}")).into())
                }
            },
        }
    }

    /// Asks the executor. Where there is none, the request is noted in the run.
    pub fn ask_or_note(&self, session: Option<&Path>, reading: Reading, request: &Request) -> Result<Asked, Error> {
        let found = self.found(session)?;
        let named = named(session);
        let is_live = control::holder(&found.folder).is_some();
        self.agent_can(session, reading, request, (&found, is_live))?;
        if let Some(answer) = control::send(&found.folder, request).map_err(|why| Error::of_run(why, &named))? {
            if answer.outcome.is_err()
                && let Ok(opened) = self.open_tasks(session, reading)
            {
                tasks_exist(&opened, request)?;
            }
            return Ok(found.asked(answer, &named));
        }
        let opened = self.open(session, reading)?;
        self.agent_exists(request, &found.place)?;
        let (session, graph) = opened.runnable()?;
        let Place { folder, current, .. } = &found.place;
        let target = Target { session, graph, dialect: opened.dialect, folder, current, run: &found.run };
        let applied = control::apply(target, request).map_err(|failure| Error::of_run(failure, &named))?;
        let mut asked = found.asked(applied.answer, &named);
        if asked.outcome.is_err()
            && let Err(unknown) = tasks_exist(&opened, request)
        {
            asked.outcome = Err(unknown);
        }
        Ok(Asked { warnings: applied.warnings, is_noted: true, ..asked })
    }

    /// Fails if a limit is for an unknown agent. An executor knows its agents itself.
    fn agent_exists(&self, request: &Request, place: &Place) -> Result<(), Error> {
        let Request::Limit { group: Group::Agent(agent), most: Some(_) } = request else { return Ok(()) };
        let config = place.config()?;
        match config.settings.agents.contains_key(agent) || agent == BY_FLAG {
            true => Ok(()),
            false => Err(no_agent(&config.settings, agent).into()),
        }
    }

    /// Fails if tasks are given to an agent that cannot do them. To what its user agreed at its start, a live executor knows itself.
    fn agent_can(
        &self,
        session: Option<&Path>,
        reading: Reading,
        request: &Request,
        (found, is_live): (&Found, bool),
    ) -> Result<(), Error> {
        let Some(to) = request.assignment() else { return Ok(()) };
        let Found { place, run, .. } = found;
        let opened = self.open(session, reading)?;
        tasks_exist(&opened, request)?;
        let remembered = self.remembered(session, Some(run));
        let flags = remembered.as_ref().map(|it| it.under(Flags::default())).unwrap_or_default();
        let (session, graph) = opened.runnable()?;
        let tasks: Vec<_> = match named_by(request) {
            [] => (0..).map(TaskIndex).take(1).collect(),
            named => named.iter().filter_map(|id| graph.index_of(id)).collect(),
        };
        let mut hired = Hired::find(place, &flags, session, &tasks, to)?;
        if !is_live {
            let is_new = |program: &&Program| !remembered.as_ref().is_some_and(|it| it.has_agreed(place, program));
            hired.must_be_trusted(is_new, false)?;
        }
        hired.must_be_usable(place)
    }

    /// Lets the executor of the newest run go on; nothing if there is none.
    pub fn resume(&self, session: Option<&Path>) -> Result<Option<Asked>, Error> {
        let Some(found) = self.find(session)? else { return Ok(None) };
        let answer = control::send(&found.folder, &Request::Resume);
        let answer = answer.map_err(|failure| Error::of_run(failure, &named(session)))?;
        Ok(answer.map(|answer| found.asked(answer, &named(session))))
    }

    /// Finds the newest run of a session; nothing if it was never run.
    pub(crate) fn find(&self, session: Option<&Path>) -> Result<Option<Found>, Error> {
        let place = self.place(session)?;
        caller::must_not_be_its_own(&place)?;
        let newest = runs::newest(&place.folder, &place.current);
        Ok(newest.map(|(run, folder)| Found { place, run, folder }))
    }

    /// Finds the newest run of a session, or says that there is none.
    pub(crate) fn found(&self, session: Option<&Path>) -> Result<Found, Error> {
        self.find(session)?.ok_or_else(|| {
            if let Some(finding) = archived::finding(self, session) {
                return finding.into();
            }
            self.never_run(&named(session)).into()
        })
    }
}

/// Names a task that there is not, and the one that was probably meant, where the session can be read.
fn tasks_exist(opened: &Opened, request: &Request) -> Result<(), Error> {
    if opened.session.is_none() {
        return Ok(());
    }
    named_by(request).iter().try_for_each(|id| opened.task(id).map(drop))
}

/// The tasks that a request names.
fn named_by(request: &Request) -> &[String] {
    match request {
        Request::Retry { which: ToRetry::Tasks(tasks), .. } | Request::Decide { tasks, .. } => tasks.as_slice(),
        Request::Skip { task, .. } | Request::Cancel { task, .. } => std::slice::from_ref(task),
        _ => &[],
    }
}

/// The agent, and its model if one is named, as a user types them: `AGENT[:MODEL]`.
pub fn assignment(text: &str) -> Result<Assignment, Error> {
    let (agent, model) = text.split_once(':').map_or((text, None), |(agent, model)| (agent, Some(model)));
    if agent.is_empty() || model.is_some_and(str::is_empty) {
        let finding = Finding::error(Code::Usage, format!("'{text}' names no agent, or no model behind the colon"));
        return Err(finding.help("name it as AGENT or AGENT:MODEL; see which there are: team-executor agents").into());
    }
    Ok(Assignment { agent: agent.to_owned(), model: model.map(str::to_owned) })
}

/// The workers that a limit is for: those of a role, those of an agent, or all.
pub fn group(role: Option<&str>, agent: Option<&str>) -> Result<Group, Error> {
    match (role, agent) {
        (Some(role), _) => RoleName::parse(role).map(Group::Role).map_err(|error| {
            let finding = Finding::error(Code::Usage, error.to_string());
            finding.help("see the roles of the session: team-executor plan").into()
        }),
        (None, Some(agent)) => Ok(Group::Agent(agent.to_owned())),
        (None, None) => Ok(Group::All),
    }
}

/// The flag that names the session as the user did, for a command to type.
pub fn named(session: Option<&Path>) -> String {
    session.map(|session| escape::session(session.display())).unwrap_or_default()
}
