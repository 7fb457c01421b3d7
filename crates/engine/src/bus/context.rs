//! The knowledge of a team for one of its workers: findings and artifacts of the tasks that its own builds
//! on, what the team has learned, what is on the board, and what it was told. Each part is bounded.

use serde::Serialize;
use serde_json::Value;
use team_executor_core::{Graph, Session, Task};
use team_executor_files::reading::Reading;
use team_executor_files::{board, time};
use team_executor_store::DiskFolder;

use super::shown::{ShownMessage, ShownState, ShownTask};
use super::{Attempt, Filter, Heard, Refusal, state};
use crate::conclude::artifacts::Shelf;
use crate::conclude::wisdom::Book;
use crate::prepare::prompt;

/// Tasks that are shown with what they found.
const TASKS: usize = 50;
/// Artifacts that are named.
const ARTIFACTS: usize = 100;
/// Discoveries that are shown, the last ones.
const DISCOVERIES: usize = 50;
/// Bytes of the longest discovery that is shown.
const DISCOVERY_BYTES: usize = 2000;
/// Messages that are shown, the last ones.
const MESSAGES: usize = 20;

/// The knowledge for an attempt whose task was verified, as JSON.
pub fn context(attempt: &Attempt, session: &Session, graph: &Graph, task: &Task) -> Result<Value, Refusal> {
    let help = "continue with your prompt";
    let now = state::of_run(session, graph, &attempt.run).map_err(|error| Refusal::new(error.to_string(), help))?;
    let built_on: Vec<&Task> = state::built_on(&now, graph, &attempt.task);
    let upstream = built_on.iter().take(TASKS).map(|task| ShownState::read(task, &attempt.session, true)).collect();
    let shelf = Shelf::at(&session.artifacts, &attempt.run, &attempt.session).ok();
    let delivered = shelf.iter().flat_map(|shelf| shelf.artifacts.iter().map(move |one| (shelf, one)));
    let is_built_on =
        |by: &Option<team_executor_core::TaskId>| built_on.iter().any(|task| by.as_ref() == Some(&task.id));
    let artifacts = delivered.filter(|(_, one)| is_built_on(&one.artifact.task)).take(ARTIFACTS);
    let artifacts = artifacts.map(|(shelf, one)| ContextArtifact {
        task: one.artifact.task.as_ref().map(ToString::to_string).unwrap_or_default(),
        path: shelf.path(one).display().to_string(),
        validation: one.artifact.validation.word(),
    });
    let folder = DiskFolder::open(&attempt.session).ok();
    let known = Book::ALL.map(|book| folder.as_ref().and_then(|folder| prompt::wisdom(folder, book)));
    let [learnings, decisions, issues] = known;
    let found = folder.as_ref().map(|folder| board::read(&mut Reading::new(folder, "")).lines).unwrap_or_default();
    let found = found[found.len().saturating_sub(DISCOVERIES)..].iter().map(|line| &line.value);
    let discoveries = found.filter(|found| found.data.len() <= DISCOVERY_BYTES).map(|found| SharedDiscovery {
        ts: found.timestamp.map(time::format),
        worker: found.worker.clone(),
        kind: found.kind.clone(),
        data: serde_json::from_str(&found.data).unwrap_or_default(),
    });
    let heard = Heard::read(&attempt.session)?;
    let filter = Filter { to: Some(task.role.to_string()), last: Some(MESSAGES), ..Filter::default() };
    let messages = filter
        .select(&heard)
        .into_iter()
        .map(|said| ShownMessage { data: None, ..ShownMessage::from_message(&said.value) });
    let own = now.tasks.iter().find(|own| own.id == task.id).unwrap_or(task);
    let context = Context {
        task: ShownTask::from_task(own, graph),
        upstream,
        artifacts: artifacts.collect(),
        wisdom: Wisdom { learnings, decisions, issues },
        discoveries: discoveries.collect(),
        messages: messages.collect(),
    };
    serde_json::to_value(context).map_err(|error| Refusal::new(error.to_string(), help))
}

#[derive(Serialize)]
struct Context<'a> {
    task: ShownTask<'a>,
    upstream: Vec<ShownState<'a>>,
    artifacts: Vec<ContextArtifact>,
    wisdom: Wisdom,
    discoveries: Vec<SharedDiscovery>,
    messages: Vec<ShownMessage<'a>>,
}

#[derive(Serialize)]
struct ContextArtifact {
    task: String,
    path: String,
    validation: &'static str,
}

#[derive(Serialize)]
struct Wisdom {
    learnings: Option<String>,
    decisions: Option<String>,
    issues: Option<String>,
}

#[derive(Serialize)]
struct SharedDiscovery {
    ts: Option<String>,
    worker: String,
    #[serde(rename = "type")]
    kind: String,
    data: Value,
}
