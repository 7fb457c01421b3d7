//! Conversations: an agent that converses is run by a driver, which others reach by a door in the executor's own folder.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use team_executor_agents::adapters::{Adapter, Given, Server, Setup};
use team_executor_agents::driver::door::{self, Answered, State, Word};
use team_executor_agents::driver::{Brief, Times};
use team_executor_agents::{Assignment, Limits};
use team_executor_beneath::{make_ours, ours};
use team_executor_core::Task;
use team_executor_store::run_folder::{EXECUTOR, component};

use crate::begin::run_at::RunAt;
use crate::control;
use crate::options::{Failure, Options};
use crate::prepare::assign::{note, server};
use crate::prepare::worker::Worker;

/// In the executor's folder: where the doors of conversations are.
const DOORS: &str = "talk";
/// How long a driver has to close a conversation before its keeper ends it.
const CLOSING_MS: u64 = 10_000;

/// The same attempt of a known coding agent, run by a driver. What the agent is given stays as it is.
pub(crate) fn driven(
    mut assignment: Assignment,
    options: &Options,
    run: &RunAt,
    task: &Task,
    attempt: u32,
    worker: &Worker,
    resume: Option<String>,
) -> Result<Assignment, Failure> {
    let Some(setup) = &worker.setup else { return Ok(assignment) };
    let (id, doors) = (task.id.as_str(), run.path.join(EXECUTOR).join(DOORS));
    let server = server(options, setup, &assignment.env).filter(|_| setup.converses);
    let times = if setup.converses { times(&mut assignment.limits) } else { Times::default() };
    if setup.converses {
        make_ours(&doors).map_err(Failure::disk("make", &doors))?;
    }
    let program = std::mem::take(&mut assignment.program);
    let resuming = resume.as_deref().filter(|_| setup.converses).map(|session| setup.adapter.resuming(session));
    let brief = Brief {
        adapter: setup.adapter,
        converses: setup.converses,
        command: std::iter::once(program).chain(std::mem::take(&mut assignment.args)).collect(),
        resuming: resuming.unwrap_or_default(),
        resume,
        model: setup.model.clone(),
        effort: setup.effort.clone(),
        permissions: setup.permissions,
        note: if setup.converses { with_own(note(setup, server.is_some()), setup) } else { String::new() },
        servers: server.iter().map(Server::of_session).chain(setup.servers.iter().map(Given::of_session)).collect(),
        door: doors.join(name(id, attempt)),
        control: control::socket(&run.path),
        ledgers: run.ledgers(),
        result: run.result(id, attempt),
        times,
    };
    assignment.program = options.exe.display().to_string();
    assignment.args = brief.arguments();
    Ok(assignment)
}

/// What the user tells Codex by an argument would be lost: its protocol says it again.
fn with_own(note: String, setup: &Setup) -> String {
    let (own, _) = setup.adapter.own_instructions(&setup.args);
    if setup.adapter == Adapter::Codex && !own.is_empty() { format!("{note}\n\n{own}") } else { note }
}

/// How a conversation is bounded; its keeper leaves it the time to come to its end.
fn times(limits: &mut Limits) -> Times {
    // One that is not urged is ended by its keeper alone.
    let urge_ms = limits.converge_ms.and(limits.total_ms);
    let times = Times { urge_ms, converge_ms: limits.converge_ms.unwrap_or(0), answer_ms: limits.answer_ms };
    if let (Some(total), Some(converge)) = (limits.total_ms, limits.converge_ms) {
        limits.total_ms = Some(total.saturating_add(converge).saturating_add(CLOSING_MS));
    }
    times
}

/// Removes the doors that were left by conversations that are gone.
pub(crate) fn close_doors(run: &RunAt) {
    let _none_are_there = ours::open(&run.path.join(EXECUTOR)).and_then(|executor| executor.remove_all(DOORS));
}

/// A conversation that goes on.
#[derive(Debug)]
pub struct Talk {
    /// The task, as files are named after it.
    pub task: String,
    /// Which attempt.
    pub attempt: u32,
    /// How it stands.
    pub state: State,
}

/// The conversations of a run that go on.
pub fn all(run: &Path) -> Vec<Talk> {
    let mut all: Vec<_> = doors(run)
        .filter_map(|(task, attempt, path)| {
            let state = door::tell(&path, &Word::State {}).ok().flatten()?.ok()?;
            Some(Talk { task, attempt, state })
        })
        .collect();
    all.sort_by(|one, other| (&one.task, one.attempt).cmp(&(&other.task, other.attempt)));
    all
}

/// Tells the conversation about a task something; nothing if there is none.
pub fn tell(run: &Path, task: &str, word: &Word) -> Result<Option<Answered>, Failure> {
    let wanted = component(task);
    let mut found: Vec<_> = doors(run).filter(|(task, ..)| *task == wanted).collect();
    found.sort_by_key(|(_, attempt, _)| std::cmp::Reverse(*attempt));
    for (_, _, path) in found {
        let told = door::tell(&path, word);
        let told = told.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                Failure::Control("the conversation did not answer in time".to_owned())
            }
            _ => Failure::disk("use", &path)(error),
        })?;
        if told.is_some() {
            return Ok(told);
        }
    }
    Ok(None)
}

/// Has the agent of an attempt end its turn and its conversation by its own protocol. Says whether its driver heard that.
pub(crate) fn wind_up(run: &Path, task: &str, attempt: u32) -> bool {
    let door = run.join(EXECUTOR).join(DOORS).join(name(task, attempt));
    matches!(door::tell(&door, &Word::WindUp {}), Ok(Some(Ok(_))))
}

fn name(task: &str, attempt: u32) -> String {
    format!("{}.{attempt}", component(task))
}

fn doors(run: &Path) -> impl Iterator<Item = (String, u32, PathBuf)> {
    let doors = run.join(EXECUTOR).join(DOORS);
    ours::list(&doors).unwrap_or_default().into_iter().filter_map(move |name| {
        let (task, attempt) = name.rsplit_once('.')?;
        Some((task.to_owned(), attempt.parse().ok()?, doors.join(&name)))
    })
}
