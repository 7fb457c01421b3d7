//! Who can do tasks here, whether their programs are there and new enough, and whether they answer.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use team_executor_agents::adapters::{Adapter, Order, Permissions, Setup, Version};
use team_executor_agents::driver::say_once;
use team_executor_agents::environment::without_contract;
use team_executor_agents::{Answer, ask, probe};

use crate::App;
use crate::config::installed::{self, Installed, NotUsable, installed};
use crate::config::read::no_agent;
use crate::config::{Agent, AgentKind, Config, Origin};
use crate::environment::Place;
use crate::error::Error;

/// What an agent is asked, to see whether it answers.
const QUESTION: &str = "This is a test. Use no tools, change nothing, and reply with the single word OK.\n";
/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// One agent.
#[derive(Debug, Serialize)]
pub struct AgentRow {
    /// Its name in a configuration file.
    pub name: String,
    /// What sort of agent it is.
    pub kind: &'static str,
    program: Option<String>,
    /// What its program says that it is.
    pub version: Option<String>,
    /// The versions that it was tested with.
    pub tested: Vec<String>,
    /// It is newer than those.
    pub newer: bool,
    /// It can do tasks.
    pub usable: bool,
    /// Why not, or why its test failed.
    pub why: Option<String>,
    /// What to do then.
    pub help: Option<String>,
    /// How long its answer took, if it was tested and answered.
    pub answered_ms: Option<u64>,
}

/// All agents that were asked for.
#[derive(Debug, Serialize)]
pub struct AgentList {
    version: u32,
    /// Each of them.
    pub agents: Vec<AgentRow>,
}

/// The agents that a run can use here.
pub(crate) enum Agents {
    /// The config chooses them.
    Configured,
    /// None is chosen; the coding agents with these names are installed.
    Installed(Vec<String>),
}

impl App {
    /// Looks for the programs of coding agents, and starts none. With a config that has errors there are none.
    pub(crate) fn installed_agents(&self) -> Agents {
        let around = self.around(None).and_then(|place| Ok((place.config()?.settings, place)));
        let Ok((settings, place)) = around else { return Agents::Installed(Vec::new()) };
        if settings.agents_wanted.is_some() {
            return Agents::Configured;
        }
        let is_there = |agent: &Agent| match &agent.kind {
            AgentKind::Agent { program, setup, .. } => {
                installed::found(setup.adapter, program, &agent.env, &place).is_ok()
            }
            AgentKind::Command(_) | AgentKind::Rehearsal { .. } => false,
        };
        let there = settings.agents.iter().filter(|(_, agent)| is_there(agent));
        Agents::Installed(there.map(|(name, _)| name.clone()).collect())
    }

    /// Looks for the programs of these agents, or of all, and asks them; with `test` also for a word.
    pub fn agents(
        &self,
        session: Option<&Path>,
        names: &[String],
        test: bool,
        trust_project: bool,
    ) -> Result<AgentList, Error> {
        let place = self.around(session)?;
        let config: Config = place.config()?;
        let all = &config.settings.agents;
        if let Some(unknown) = names.iter().find(|name| !all.contains_key(*name)) {
            return Err(no_agent(&config.settings, unknown).into());
        }
        let wanted = all.iter().filter(|(name, _)| names.is_empty() || names.contains(name));
        let is_trusted = trust_project || config.trusts_project();
        // Some take seconds to answer, so they are asked side by side.
        let agents: Vec<AgentRow> = std::thread::scope(|scope| {
            let place = &place;
            let asked = wanted.map(|(name, agent)| scope.spawn(move || row(name, agent, test, is_trusted, place)));
            let asked: Vec<_> = asked.collect();
            asked.into_iter().map(|row| row.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        Ok(AgentList { version: 1, agents })
    }
}

fn row(name: &str, agent: &Agent, test: bool, is_trusted: bool, place: &Place) -> AgentRow {
    let (kind, program) = match &agent.kind {
        AgentKind::Command(words) => ("command", words.first().cloned()),
        AgentKind::Agent { program, setup, .. } => (setup.adapter.name(), Some(program.clone())),
        AgentKind::Rehearsal { .. } => ("rehearsal", None),
    };
    let mut row = AgentRow {
        name: name.to_owned(),
        kind,
        program,
        version: None,
        tested: Vec::new(),
        newer: false,
        usable: true,
        why: None,
        help: None,
        answered_ms: None,
    };
    if let AgentKind::Agent { program, setup, .. } = &agent.kind {
        row.tested = setup.adapter.tested(program).iter().map(ToString::to_string).collect();
    }
    let found = match &agent.kind {
        AgentKind::Rehearsal { .. } => Ok(()),
        AgentKind::Command(words) => {
            let program = words.first().map(String::as_str).unwrap_or_default();
            let found = probe(program, installed::path(&agent.env, place), &place.project);
            found.map(drop).map_err(NotUsable::from)
        }
        AgentKind::Agent { .. } if !is_trusted && matches!(agent.from, Origin::Project(_)) => Err(NotUsable::new(
            "the project chose its program, and is not trusted",
            "look at team-executor.toml; then add --trust-project",
        )),
        AgentKind::Agent { program, setup, .. } => installed(setup, program, &agent.env, place).map(|found| {
            row.program = Some(found.program.display().to_string());
            row.version = Some(found.version.clone()).filter(|version| !version.is_empty());
            let newest = setup.adapter.tested(program).last();
            row.newer = newest.is_some_and(|newest| Version::find(&found.version).is_some_and(|it| it > *newest));
            if test {
                let started = Instant::now();
                match tried(&found, setup, agent, place) {
                    Ok(()) => row.answered_ms = u64::try_from(started.elapsed().as_millis()).ok(),
                    Err(why) => row.why = Some(why),
                }
            }
        }),
    };
    if let Err(NotUsable { why, help, .. }) = found {
        (row.usable, row.why, row.help) = (false, Some(why), Some(help));
    }
    row
}

/// Asks an agent something, without letting it do anything.
fn tried(found: &Installed, setup: &Setup, agent: &Agent, place: &Place) -> Result<(), String> {
    let adapter = setup.adapter;
    let setup = Setup { permissions: Permissions::Read, ..setup.clone() };
    let args =
        adapter.arguments(&Order { setup: &setup, note: "Reply at once.", schema: None, server: None, beside: None });
    let passes = adapter.passes().iter().map(|name| (*name).to_owned()).chain(agent.pass_env.iter().cloned());
    let sets = adapter.sets().iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let sets: Vec<_> = sets.chain(agent.env.iter().cloned()).collect();
    let env = without_contract(&place.app.variables(), &passes.collect::<Vec<_>>(), &sets);
    if adapter == Adapter::Acp {
        let said = say_once(&found.program, &setup, &env, &place.project, QUESTION, PATIENCE)?;
        // Some say an error as their last words.
        let is_answer = said.split(|c: char| !c.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case("ok"));
        return if is_answer { Ok(()) } else { Err(format!("it was asked for OK, and said: {}", shortened(&said))) };
    }
    let answer = ask((&found.program, &args), &env, &place.project, QUESTION, PATIENCE);
    let Answer { ended, out, err } = answer.map_err(|error| error.to_string())?;
    let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let stream = adapter.read(out.as_slice(), now);
    let err = String::from_utf8_lossy(&err);
    let complaint = err.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match stream.trouble(&ended, complaint, now) {
        Some(trouble) => Err(trouble.words),
        None if stream.finished => Ok(()),
        None => Err("it did not answer in time".to_owned()),
    }
}

/// The beginning of what an agent said.
fn shortened(said: &str) -> String {
    const MOST: usize = 200;
    if said.is_empty() { "nothing".to_owned() } else { said.chars().take(MOST).collect() }
}
