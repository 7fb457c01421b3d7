//! JSON of messages, roles and tasks for programs: the same on the command line and through tools.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use team_executor_core::{Graph, Message, Session, Task};
use team_executor_files::time;

use super::{Heard, state};

/// Items of each sort that are shown of a discovery.
const ITEMS: usize = 20;
/// Characters of each of them.
const ITEM_CHARS: usize = 500;

/// A message.
#[derive(Debug, Serialize)]
pub struct ShownMessage<'a> {
    /// `MSG-001`, …
    pub id: &'a str,
    /// When it was said.
    pub ts: Option<String>,
    /// Who says it.
    pub from: &'a str,
    /// Who is told.
    pub to: &'a str,
    /// What sort of message it is.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// In a few words.
    pub summary: &'a str,
    /// The rest.
    pub data: Option<Value>,
    /// The task that it is about.
    pub task_id: Option<&'a str>,
}

/// What a role said, and what it remembers.
#[derive(Debug, Serialize)]
pub struct ShownRole<'a> {
    /// Its name.
    pub role: &'a str,
    /// How many messages are from it.
    pub messages: usize,
    /// The last of them.
    pub last: Option<ShownMessage<'a>>,
    /// What it remembers.
    pub state: Option<Value>,
}

/// A task.
#[derive(Debug, Serialize)]
pub struct ShownTask<'a> {
    /// Unique in its session.
    pub id: &'a str,
    /// For people.
    pub title: &'a str,
    /// The work, in words.
    pub description: &'a str,
    /// The role that does it.
    pub assignee: &'a str,
    /// Where it stands.
    pub status: &'a str,
    /// What came out.
    pub findings: Option<&'a str>,
    /// Why it failed or was skipped.
    pub error: Option<&'a str>,
    /// From a reviewer.
    pub quality_score: Option<f64>,
    /// How it hangs together with others.
    pub metadata: ShownMetadata<'a>,
}

/// How a task hangs together with others.
#[derive(Debug, Serialize)]
pub struct ShownMetadata<'a> {
    /// What must be completed before.
    pub deps: Vec<&'a str>,
    /// Whose findings it is given.
    pub context_from: Vec<&'a str>,
    /// Its wave, from 1.
    pub wave: u32,
}

/// Where a task stands, with what its discovery says.
#[derive(Debug, Serialize)]
pub struct ShownState<'a> {
    /// The task.
    pub id: &'a str,
    /// Where it stands.
    pub status: &'a str,
    /// The role that does it.
    pub role: &'a str,
    /// What came out.
    pub findings: Option<&'a str>,
    /// Why it failed or was skipped.
    pub error: Option<&'a str>,
    /// From a reviewer.
    pub quality_score: Option<f64>,
    /// What its discovery says, bounded.
    pub discovery: Option<ShownDiscovery>,
}

/// What a discovery says, bounded.
#[derive(Debug, Serialize)]
pub struct ShownDiscovery {
    /// The most important points.
    pub key_findings: Vec<String>,
    /// What was decided.
    pub decisions: Vec<String>,
    /// Files that were changed.
    pub files_modified: Vec<String>,
    /// Paths of the artifacts.
    pub artifacts_produced: Vec<String>,
}

impl<'a> ShownMessage<'a> {
    /// Of a message.
    pub fn from_message(message: &'a Message) -> Self {
        Self {
            id: &message.id,
            ts: message.timestamp.map(time::format),
            from: &message.from,
            to: &message.to,
            kind: &message.kind,
            summary: &message.summary,
            data: message.data.as_deref().and_then(|data| serde_json::from_str(data).ok()),
            task_id: message.task.as_ref().map(|task| task.as_str()),
        }
    }
}

impl<'a> ShownRole<'a> {
    /// Of everybody who spoke, and of every role of the session.
    pub fn all(heard: &'a Heard, session: Option<&'a Session>) -> Vec<Self> {
        let mut roles: BTreeMap<&str, (usize, Option<&Message>)> = BTreeMap::new();
        for said in &heard.messages {
            let (count, last) = roles.entry(&said.value.from).or_default();
            (*count, *last) = (*count + 1, Some(&said.value));
        }
        for role in session.iter().flat_map(|session| &session.roles) {
            roles.entry(role.name.as_str()).or_default();
        }
        let shown = |(role, (messages, last)): (&'a str, (usize, Option<&'a Message>))| {
            let state = heard.state.get(role).and_then(|state| serde_json::from_str(state).ok());
            Self { role, messages, last: last.map(ShownMessage::from_message), state }
        };
        roles.into_iter().map(shown).collect()
    }
}

impl<'a> ShownTask<'a> {
    /// Of a task.
    pub fn from_task(task: &'a Task, graph: &Graph) -> Self {
        Self {
            id: task.id.as_str(),
            title: &task.title,
            description: &task.description,
            assignee: task.role.as_str(),
            status: task.status.word(),
            findings: task.findings.as_deref(),
            error: task.error.as_deref(),
            quality_score: task.quality_score,
            metadata: ShownMetadata {
                deps: task.dependencies.iter().map(|id| id.as_str()).collect(),
                context_from: task.context_from.iter().map(|id| id.as_str()).collect(),
                wave: graph.index_of(task.id.as_str()).map_or(0, |index| graph.wave(index)),
            },
        }
    }
}

impl<'a> ShownState<'a> {
    /// Of a task of the session in a folder, with the details of its discovery or without.
    pub fn read(task: &'a Task, folder: &Path, with_details: bool) -> Self {
        let some = |items: Vec<String>| {
            let items = items.into_iter().take(ITEMS);
            items.map(|item| item.chars().take(ITEM_CHARS).collect()).collect()
        };
        let found = if with_details { state::discovery(folder, &task.id) } else { None };
        Self {
            id: task.id.as_str(),
            status: task.status.word(),
            role: task.role.as_str(),
            findings: task.findings.as_deref(),
            error: task.error.as_deref(),
            quality_score: task.quality_score,
            discovery: found.map(|found| ShownDiscovery {
                key_findings: some(found.key_findings),
                decisions: some(found.decisions),
                files_modified: some(found.files_modified),
                artifacts_produced: some(found.artifacts_produced),
            }),
        }
    }
}
