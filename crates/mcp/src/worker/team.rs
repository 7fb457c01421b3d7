//! `team_msg`, `progress` and `capability_gap`: what the worker says to its team, and what it hears.

use rmcp::model::Tool;
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use team_executor_app::Book;
use team_executor_app::bus::{self, Draft, Filter, Heard, Refusal, ShownMessage, ShownRole, ShownState, log, state};
use team_executor_core::Task;

use super::{Worker, value};
use crate::tool::{Effect, tool};

pub(super) const TEAM_MSG: &str = "team_msg";
pub(super) const PROGRESS: &str = log::PROGRESS;
pub(super) const CAPABILITY_GAP: &str = "capability_gap";

/// Messages that are listed or read unless a number is given, and at most.
const MESSAGES: (usize, usize) = (20, 100);
/// Bytes of the data of all messages that are read at once; the rest are shown without.
const DATA_BYTES: usize = 128 << 10;
/// Tasks whose state is told at once.
const TASKS: usize = 50;

/// The tools that this file offers.
pub(super) const TOOLS: &[fn() -> Tool] = &[
    || {
        let about = "The message bus of your team. log sends a message as your role; broadcast sends it to all \
             roles and adds it to the team's wisdom; list shows one line for each message, read shows them in full; status shows the last message and the state of each role; get_state shows the status and findings of tasks, by default of those that yours builds on.";
        tool::<TeamMsg>(TEAM_MSG, about, Effect::Adds)
    },
    || tool::<Progress>(PROGRESS, "Report your progress to your team, in a few words.", Effect::Adds),
    || {
        let about = "Report a capability that your task needs and no role in the team has. The user sees it, \
             with the options; your task \
                     goes on, so do what can be done without.";
        tool::<CapabilityGap>(CAPABILITY_GAP, about, Effect::Adds)
    },
];

/// What is done with the message bus.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamMsg {
    /// What to do
    operation: Operation,
    /// log, broadcast: in a few words, at most 500 characters
    summary: Option<String>,
    /// log: who is told, all if it is left out; list, read: only what is said to this role
    to: Option<String>,
    /// list, read: only from this role
    from: Option<String>,
    /// log: what sort of message it is; with state_update your role remembers the data. list, read: only of this type
    #[serde(rename = "type")]
    kind: Option<String>,
    /// log, broadcast: the rest
    data: Option<Map<String, Value>>,
    /// broadcast: where it is noted, learnings if it is left out
    wisdom: Option<Noted>,
    /// read: the one message with this id
    id: Option<String>,
    /// list, read: so many of the last ones, 20 if it is left out
    #[schemars(range(min = 1, max = 100))]
    last: Option<usize>,
    /// get_state: which tasks
    #[serde(default)]
    tasks: Vec<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Operation {
    Log,
    Read,
    List,
    Status,
    Broadcast,
    GetState,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Noted {
    Learnings,
    Decisions,
    Issues,
}

/// How far a worker is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Progress {
    /// In a few words
    summary: String,
    /// How much of it is done, 0 to 100
    #[schemars(range(max = 100))]
    percent: Option<u8>,
}

/// The capability that no role in the team has.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CapabilityGap {
    /// What is missing, in a sentence
    gap: String,
}

#[derive(Serialize)]
struct Messages<'a> {
    messages: Vec<ShownMessage<'a>>,
    warnings: &'a [String],
}

/// Carries out one operation on the bus.
pub(super) fn team_msg(worker: &Worker, wanted: TeamMsg) -> Result<Value, Refusal> {
    let (_, task) = worker.verified()?;
    match wanted.operation {
        Operation::Log => {
            let (to, kind) = (wanted.to.as_deref().unwrap_or(log::ALL), wanted.kind.as_deref().unwrap_or("message"));
            say(worker, task, to, kind, &summary(&wanted)?, wanted.data)
        }
        Operation::Broadcast => {
            let book = match wanted.wisdom.unwrap_or(Noted::Learnings) {
                Noted::Learnings => Book::Learnings,
                Noted::Decisions => Book::Decisions,
                Noted::Issues => Book::Issues,
            };
            let (summary, data) = (summary(&wanted)?, text(wanted.data));
            let draft = draft(worker, task, log::ALL, "broadcast", &summary, data.as_deref());
            let message = bus::broadcast(&worker.attempt.session, &draft, book)?;
            value(&json!({"id": message.id}))
        }
        Operation::List | Operation::Read => heard(worker, wanted),
        Operation::Status => {
            let heard = Heard::read(&worker.attempt.session)?;
            let roles = ShownRole::all(&heard, worker.session.get().map(|(session, _)| session));
            value(&json!({"roles": roles, "warnings": heard.warnings}))
        }
        Operation::GetState => get_state(worker, &wanted.tasks),
    }
}

/// Tells the team how far the worker is.
pub(super) fn progress(worker: &Worker, wanted: Progress) -> Result<Value, Refusal> {
    let (_, task) = worker.verified()?;
    let data = wanted.percent.map(|percent| Map::from_iter([("percent".to_owned(), json!(percent.min(100)))]));
    say(worker, task, log::ALL, PROGRESS, &wanted.summary, data)
}

/// Reports a missing capability to the user.
pub(super) fn capability_gap(worker: &Worker, wanted: CapabilityGap) -> Result<Value, Refusal> {
    let (_, task) = worker.verified()?;
    if wanted.gap.trim().is_empty() {
        return Err(Refusal::new("nothing is missing", "say in a sentence which capability is missing"));
    }
    let data = Map::from_iter([(CAPABILITY_GAP.to_owned(), json!(wanted.gap))]);
    say(worker, task, log::ALL, CAPABILITY_GAP, &wanted.gap, Some(data))
}

fn say(
    worker: &Worker,
    task: &Task,
    to: &str,
    kind: &str,
    summary: &str,
    data: Option<Map<String, Value>>,
) -> Result<Value, Refusal> {
    let data = text(data);
    let message = bus::log(&worker.attempt.session, &draft(worker, task, to, kind, summary, data.as_deref()))?;
    value(&json!({"id": message.id}))
}

fn draft<'a>(
    worker: &'a Worker,
    task: &'a Task,
    to: &'a str,
    kind: &'a str,
    summary: &'a str,
    data: Option<&'a str>,
) -> Draft<'a> {
    Draft { from: task.role.as_str(), to, kind, summary, data, attempt: Some(&worker.attempt) }
}

fn text(data: Option<Map<String, Value>>) -> Option<String> {
    data.map(|data| Value::Object(data).to_string())
}

fn summary(wanted: &TeamMsg) -> Result<String, Refusal> {
    let summary = wanted.summary.clone().filter(|summary| !summary.trim().is_empty());
    summary.ok_or_else(|| Refusal::new("there is nothing to say", "give a summary"))
}

fn heard(worker: &Worker, wanted: TeamMsg) -> Result<Value, Refusal> {
    let heard = Heard::read(&worker.attempt.session)?;
    let last = wanted.last.unwrap_or(MESSAGES.0).clamp(1, MESSAGES.1);
    let last = Some(last).filter(|_| wanted.id.is_none());
    let filter = Filter { from: wanted.from, to: wanted.to, kind: wanted.kind, last };
    let mut messages = filter.select(&heard);
    if let Some(id) = &wanted.id {
        messages.retain(|said| said.value.id == *id);
        if messages.is_empty() {
            return Err(Refusal::new(format!("there is no message '{id}'"), "list shows the last ones"));
        }
    }
    let mut room = if matches!(wanted.operation, Operation::Read) { DATA_BYTES } else { 0 };
    // The last ones are whole.
    let mut shown: Vec<_> = messages
        .into_iter()
        .rev()
        .map(|said| {
            let bytes = said.value.data.as_ref().map_or(0, String::len);
            let message = ShownMessage::from_message(&said.value);
            let fits = bytes <= room;
            room -= if fits { bytes } else { 0 };
            ShownMessage { data: message.data.filter(|_| fits), ..message }
        })
        .collect();
    shown.reverse();
    value(&Messages { messages: shown, warnings: &heard.warnings[..heard.warnings.len().min(MESSAGES.0)] })
}

fn get_state(worker: &Worker, wanted: &[String]) -> Result<Value, Refusal> {
    let now = worker.now()?;
    let (_, graph) = worker.opened()?;
    let tasks = match wanted {
        [] => state::built_on(&now, graph, &worker.attempt.task),
        wanted => wanted.iter().map(|id| super::task(&now, graph, id)).collect::<Result<_, _>>()?,
    };
    let left_out = tasks.len().saturating_sub(TASKS);
    let tasks = tasks.iter().take(TASKS).map(|task| ShownState::read(task, &worker.attempt.session, true));
    value(&json!({"tasks": tasks.collect::<Vec<_>>(), "left_out": left_out}))
}
