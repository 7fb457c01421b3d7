//! A worker proposes a task that it found to be missing. A run keeps the tasks that it began with, so a proposal waits in
//! `proposals.jsonl` of its run until a person accepts it, or the user's settings do; only then it is in the session.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use team_executor_beneath::{io_error, ours};
use team_executor_core::{Graph, Session, Task, Timestamp};
use team_executor_files::{Dialect, time};
use team_executor_store::run_folder::project_root;
use team_executor_store::{Log, RealDisk};

use super::create::{self, NewTask};
use super::log::{LINE_BYTES, turn};
use super::{Attempt, Refusal};
use crate::begin::run_at;
use crate::clock;

/// The variable with the number of tasks that all workers of a run may propose together.
pub const MOST: &str = "TEAM_EXECUTOR_PROPOSALS";
/// The log, in the folder of a run.
const FILE: &str = "proposals.jsonl";
/// How much of it is read.
const LOG_BYTES: u64 = 16 << 20;

/// A task that was proposed and is not decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Unique in its session.
    pub id: String,
    /// For people.
    pub title: String,
    /// The work, in words.
    pub description: String,
    /// Who does it.
    pub role: String,
    /// What must be done before.
    pub dependencies: Vec<String>,
    /// The task whose worker proposes it.
    pub by: String,
    /// When; nothing where that cannot be read.
    pub at: Option<Timestamp>,
}

impl Proposal {
    /// The task as a request to add it.
    pub fn as_new(&self) -> NewTask<'_> {
        let Self { id, title, description, role, dependencies, .. } = self;
        NewTask { id, title, description, role, dependencies, before: &[], wave: None }
    }

    fn parse(line: &Value) -> Option<Self> {
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        Some(Self {
            id: text("id")?,
            title: text("title")?,
            description: text("description")?,
            role: text("assignee")?,
            dependencies: line["deps"].as_array()?.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect(),
            by: text("task_id")?,
            at: text("ts").and_then(|at| time::parse(&at)).map(|read| read.time),
        })
    }
}

/// Notes the proposal of an attempt that was verified; `false` if the same was proposed before. At most so many wait or
/// were decided on in a run.
pub fn propose(attempt: &Attempt, session: &Session, new: &NewTask<'_>, most: usize) -> Result<bool, Refusal> {
    if most == 0 {
        let what = format!("a worker cannot add tasks: the run of '{}' keeps those that it began with", attempt.task);
        return Err(Refusal::new(what, "say what is missing: team-executor msg log TEXT --type task_proposal"));
    }
    let (_, turn) = turn(&attempt.session)?;
    let disk = |error: &dyn std::fmt::Display| Refusal::disk("the proposal was not written", error);
    let folder = RealDisk::open_folder(&attempt.run).map_err(|errno| disk(&io_error(errno)))?;
    let mut log = Log::open(&folder, FILE, &turn).map_err(|error| disk(&error))?;
    let lines = lines(&log.end(LOG_BYTES).map_err(|error| disk(&error))?);
    let proposed: Vec<Proposal> = lines.iter().filter_map(Proposal::parse).collect();
    let is_same = |other: &&Proposal| {
        other.id == new.id || other.role == new.role && other.title.trim().eq_ignore_ascii_case(new.title.trim())
    };
    if proposed.iter().any(|other| is_same(&other)) {
        return Ok(false);
    }
    if proposed.len() >= most {
        let what = format!("{most} tasks were proposed in this run, which is the limit");
        return Err(Refusal::new(what, "put it in the findings of your result instead"));
    }
    check(session, &proposed, new)?;
    let NewTask { id, title, description, role, dependencies, .. } = new;
    let line = json!({"ts": time::format(clock::now()), "attempt": attempt.key, "task_id": attempt.task, "id": id,
                      "title": title, "description": description, "assignee": role, "deps": dependencies});
    let line = format!("{line}\n");
    if line.len() > LINE_BYTES {
        let what = format!("the proposal has {} bytes; the limit is {LINE_BYTES}", line.len());
        return Err(Refusal::new(what, "describe the task in fewer words"));
    }
    log.append(&line).and_then(|()| log.sync(&folder)).map_err(|error| disk(&error))?;
    Ok(true)
}

/// The undecided proposals of the run in a folder, in their order.
pub fn proposals(run: &Path) -> Vec<Proposal> {
    let read = ours::open(run).and_then(|run| run.read(FILE, LOG_BYTES));
    let lines = lines(&read.unwrap_or_default());
    let is_open =
        |proposal: &Proposal| !lines.iter().any(|line| line["decided"].is_string() && line["id"] == *proposal.id);
    lines.iter().filter_map(Proposal::parse).filter(is_open).collect()
}

/// The newest run of a session, with what waits in it to be decided on.
pub fn waiting(folder: &Path, current: &Path) -> (PathBuf, Vec<Proposal>) {
    let run = run_at::newest_of_all(&project_root(folder, current), folder).unwrap_or_default();
    let waiting = proposals(&run);
    (run, waiting)
}

/// How many tasks may be proposed, as the environment of a worker says it.
pub fn most(variable: impl Fn(&str) -> Option<String>) -> usize {
    variable(MOST).and_then(|most| most.parse().ok()).unwrap_or(0)
}

/// Adds a proposed task to its session, and gives the session with it. Nothing is changed unless all of it is valid.
pub fn accept(
    proposal: &Proposal,
    run: &Path,
    session: &Session,
    dialect: Dialect,
    (folder, current): (&Path, &Path),
) -> Result<Session, Refusal> {
    let with = create::create(session, dialect, folder, current, &proposal.as_new())?;
    decide(proposal, run, folder, "accepted")?;
    Ok(with)
}

/// Does not add a proposed task.
pub fn decline(proposal: &Proposal, run: &Path, folder: &Path) -> Result<(), Refusal> {
    decide(proposal, run, folder, "declined")
}

fn decide(proposal: &Proposal, run: &Path, session: &Path, word: &str) -> Result<(), Refusal> {
    let disk = |error: &dyn std::fmt::Display| Refusal::disk("the decision was not written", error);
    let (_, turn) = turn(session)?;
    let folder = RealDisk::open_folder(run).map_err(|errno| disk(&io_error(errno)))?;
    let mut log = Log::open(&folder, FILE, &turn).map_err(|error| disk(&error))?;
    let line = json!({"ts": time::format(clock::now()), "id": proposal.id, "decided": word});
    log.append(&format!("{line}\n")).and_then(|()| log.sync(&folder)).map_err(|error| disk(&error))
}

/// Refuses a task that could not be added: a used id, an unknown role, an unknown dependency, a cycle.
fn check(session: &Session, proposed: &[Proposal], new: &NewTask<'_>) -> Result<(), Refusal> {
    let has_role = session.role(new.role).is_some() || session.tasks.iter().any(|task| task.role.as_str() == new.role);
    if !has_role {
        let what = format!("unknown role '{}'", new.role);
        return Err(Refusal::new(what, "name a role of the team, or report a capability gap"));
    }
    let mut with = session.clone();
    for earlier in proposed {
        // One that is in the session by now is there already.
        with.tasks.extend(create::task(&with, &earlier.as_new()).ok());
    }
    let task: Task = create::task(&with, new)?;
    with.tasks.push(task);
    let graph = Graph::seal(&with.tasks).graph;
    let graph =
        graph.ok_or_else(|| Refusal::new("with this task the dependencies would form a cycle", "name other deps"))?;
    let wave = graph.index_of(new.id).map(|index| graph.wave(index));
    if new.wave.is_some() && new.wave != wave {
        let what = format!("by its dependencies the task is in wave {}", wave.unwrap_or_default());
        return Err(Refusal::new(what, "leave the wave out, or name other deps"));
    }
    Ok(())
}

/// The lines that can be read.
fn lines(bytes: &[u8]) -> Vec<Value> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use team_executor_core::{RoleName, SessionId, TaskId};

    use super::*;

    #[test]
    fn proposals_are_checked_counted_and_decided_on_once() {
        let dir = tempfile::tempdir().unwrap();
        let key = "r~1/A/1".to_owned();
        let (folder, task) = (dir.path().to_owned(), "A".to_owned());
        let attempt = Attempt { session: folder.clone(), run: folder, task, number: 1, key, token: None };
        let own = Task::new(TaskId::parse("A").unwrap(), RoleName::parse("dev").unwrap());
        let session = Session { tasks: vec![own], ..Session::new(SessionId::parse("S").unwrap()) };
        let new = |id, title, dependencies| NewTask {
            id,
            title,
            description: "",
            role: "dev",
            dependencies,
            before: &[],
            wave: None,
        };
        let (on_a, on_b, on_c) = (["A".to_owned()], ["B".to_owned()], ["C".to_owned()]);
        let propose = |new: &NewTask<'_>| propose(&attempt, &session, new, 2);
        assert!(super::propose(&attempt, &session, &new("B", "b", &on_a), 0).is_err(), "none may be");
        assert_eq!(propose(&new("B", "Write docs", &on_a)), Ok(true));
        for (again, why) in [(new("B", "other", &on_a), "the id"), (new("C", " write DOCS", &[]), "the title")] {
            assert_eq!(propose(&again), Ok(false), "{why}");
        }
        for (refused, why) in [
            (new("A", "x", &[]), "task 'A' already exists"),
            (new("C", "x", &on_c), "unknown dependency 'C'"),
            (NewTask { role: "stranger", ..new("C", "x", &[]) }, "unknown role 'stranger'"),
            (NewTask { wave: Some(7), ..new("C", "x", &on_b) }, "by its dependencies the task is in wave 3"),
            (NewTask { description: &"x".repeat(LINE_BYTES), ..new("C", "x", &[]) }, "the proposal has "),
        ] {
            let refusal = propose(&refused).unwrap_err();
            assert!(refusal.what.starts_with(why), "{refusal}");
        }
        assert_eq!(propose(&new("C", "c", &on_b)), Ok(true), "it builds on what was proposed");
        assert!(propose(&new("D", "d", &[])).unwrap_err().what.starts_with("2 tasks were proposed in this run"));
        let all = proposals(dir.path());
        assert_eq!(
            all.iter().map(|one| (one.id.as_str(), one.by.as_str())).collect::<Vec<_>>(),
            [("B", "A"), ("C", "A")]
        );
        decline(&all[0], dir.path(), dir.path()).unwrap();
        assert_eq!(proposals(dir.path()), all[1..]);
        assert!(propose(&new("D", "d", &[])).is_err(), "what was decided on counts");
    }
}
