//! `agents/registry.json`: which interactive agents run and which have been closed. Every spawn must have its close.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use team_executor_core::{TaskId, Timestamp};

use crate::fields::{self, ID, field, text, text_of};
use crate::finding::Severity;
use crate::json::{Document, Kind, Layout, Value, Writer};
use crate::limits;
use crate::reading::{About, Reading};
use crate::shape::{Field, Object, Other, Type};
use crate::side::{write_text, write_unknown};
use crate::span::Source;
use crate::time;

/// Where it is.
pub const FILE: &str = "agents/registry.json";

/// What is said about it.
pub static ABOUT: About = About {
    subject: "agents/registry.json",
    schema: "agents",
    limit: limits::SESSION_BYTES,
    if_missing: "it is written when an agent is spawned",
    if_wrong: "or remove the file: it is written again",
};

/// Its shape.
pub static SHAPE: Type = Type::Object(&OBJECT);

static OBJECT: Object = Object {
    about: "The interactive agents of a session",
    fields: &[
        Field::expected("active", &AGENTS, "none runs", "Agents that run"),
        Field::expected("closed", &AGENTS, "none was closed", "Agents that have been closed"),
    ],
};

static AGENTS: Type = Type::Or(
    &Type::List(&Type::Or(
        &Type::Object(&AGENT),
        &[Other { ty: &ID, understood: "an agent that is not an object was read as its id" }],
    )),
    &[Other { ty: &Type::Map(&Type::Text), understood: "agents that are an object were read as ids by task" }],
);

static AGENT: Object = Object {
    about: "One agent",
    fields: &[
        Field::required("id", &ID, "How the agent is named").or(&["agent_id", "agentId", "name"]),
        Field::optional("task_id", &Type::Nullable(&ID), "What it works on").or(&["task", "taskId"]),
        Field::optional("role", &Type::Nullable(&Type::Text), "Its role"),
        Field::optional("spawned_at", &Type::Nullable(&Type::Time), "When it was spawned")
            .or(&["started_at", "created_at"]),
        Field::optional("closed_at", &Type::Nullable(&Type::Time), "When it was closed").or(&["ended_at"]),
        Field::optional("status", &Type::Nullable(&Type::Text), "What became of it").or(&["state"]),
    ],
};

/// One interactive agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    /// How it is named.
    pub id: String,
    /// What it works on.
    pub task: Option<TaskId>,
    /// Its role.
    pub role: Option<String>,
    /// When it was spawned.
    pub spawned_at: Option<Timestamp>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// What became of it.
    pub status: Option<String>,
}

/// The interactive agents of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registry {
    /// Those that run.
    pub active: Vec<Agent>,
    /// Those that have been closed.
    pub closed: Vec<Agent>,
}

impl Registry {
    /// Notes that an agent was spawned.
    pub fn spawn(&mut self, agent: Agent) {
        self.active.push(agent);
    }

    /// Notes that an agent was closed; says whether it was running.
    pub fn close(&mut self, id: &str, at: Timestamp, status: &str) -> bool {
        let Some(nth) = self.active.iter().position(|agent| agent.id == id) else { return false };
        let agent = self.active.remove(nth);
        self.closed.push(Agent { closed_at: Some(at), status: Some(status.to_owned()), ..agent });
        true
    }

    /// The spawns that have no close, in the order of the file. An agent among the closed ones with the same id and the
    /// same time of spawning is the close; without a time nothing is.
    pub fn unbalanced(&self) -> impl Iterator<Item = &Agent> {
        let closed: HashSet<_> = self.closed.iter().map(Agent::key).collect();
        self.active.iter().filter(move |agent| agent.spawned_at.is_none() || !closed.contains(&agent.key()))
    }
}

impl Agent {
    /// By which two entries are the same spawn.
    fn key(&self) -> (&str, Option<Timestamp>) {
        (&self.id, self.spawned_at)
    }
}

/// Reads the registry; an empty one, if there is none.
pub fn read(reading: &mut Reading<'_>) -> Registry {
    let file: Arc<str> = FILE.into();
    let Some(text) = reading.optional_text(&file, &ABOUT, Severity::Warning) else { return Registry::default() };
    let mut registry = Registry::default();
    if let Some(document) = reading.document(&file, &ABOUT, Severity::Warning, &text) {
        reading.check(&file, &ABOUT, Severity::Warning, &document, &SHAPE);
        registry = Registry { active: agents(document.root(), "active"), closed: agents(document.root(), "closed") };
    }
    reading.sources.insert(file, Source::new(text));
    registry
}

/// The file for a registry. Keys of the original that the format does not know are kept as they were.
pub fn write(registry: &Registry, original: Option<&Document<'_>>) -> String {
    let original = original.map(Document::root);
    let known = entries(original);
    let mut writer = Writer::new(Layout::Pretty);
    writer.begin_object();
    for (name, agents) in [("active", &registry.active), ("closed", &registry.closed)] {
        writer.key(name);
        writer.begin_array();
        for agent in agents {
            write_agent(&mut writer, agent, known.get(&(agent.id.clone(), agent.spawned_at)).copied());
        }
        writer.end_array();
    }
    write_unknown(&mut writer, original, &OBJECT);
    writer.end_object();
    writer.finish()
}

fn write_agent(writer: &mut Writer, agent: &Agent, original: Option<Value<'_, '_>>) {
    writer.begin_object();
    write_text(writer, "id", Some(&agent.id));
    write_text(writer, "task_id", agent.task.as_ref().map(TaskId::as_str));
    write_text(writer, "role", agent.role.as_deref());
    write_text(writer, "spawned_at", agent.spawned_at.map(time::format).as_deref());
    write_text(writer, "closed_at", agent.closed_at.map(time::format).as_deref());
    write_text(writer, "status", agent.status.as_deref());
    write_unknown(writer, original, &AGENT);
    writer.end_object();
}

/// Every entry of both lists that is an object, by what makes it one spawn.
fn entries<'d, 's>(root: Option<Value<'d, 's>>) -> HashMap<(String, Option<Timestamp>), Value<'d, 's>> {
    let lists = ["active", "closed"].into_iter().filter_map(|name| field(root?, &OBJECT, name));
    let entries = lists.flat_map(Value::items).filter_map(|value| {
        let id = text(value, &AGENT, "id")?;
        Some(((id, fields::timestamp(value, &AGENT, "spawned_at")), value))
    });
    entries.collect()
}

fn agents(root: Value<'_, '_>, name: &str) -> Vec<Agent> {
    let Some(list) = field(root, &OBJECT, name) else { return Vec::new() };
    let by_task = list.entries().filter_map(|entry| {
        let id = text_of(entry.value)?.into_owned();
        Some(Agent { id, task: TaskId::parse(&entry.name()).ok(), ..Agent::default() })
    });
    list.items().filter_map(agent).chain(by_task).collect()
}

fn agent(value: Value<'_, '_>) -> Option<Agent> {
    if value.kind() != Kind::Object {
        return text_of(value).map(|id| Agent { id: id.into_owned(), ..Agent::default() });
    }
    Some(Agent {
        id: text(value, &AGENT, "id")?,
        task: text(value, &AGENT, "task_id").and_then(|id| TaskId::parse(&id).ok()),
        role: text(value, &AGENT, "role"),
        spawned_at: fields::timestamp(value, &AGENT, "spawned_at"),
        closed_at: fields::timestamp(value, &AGENT, "closed_at"),
        status: text(value, &AGENT, "status"),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::folder::MemoryFolder;
    use crate::json;
    use crate::samples;

    fn read_one(text: &str) -> (Registry, Vec<String>) {
        let folder = MemoryFolder::default().with(FILE, text);
        let mut reading = Reading::new(&folder, "s");
        let registry = read(&mut reading);
        (registry, samples::said(&reading.findings))
    }

    fn spawned(id: &str, at: i64) -> Agent {
        Agent { id: id.to_owned(), spawned_at: Some(Timestamp::from_micros(at)), ..Agent::default() }
    }

    #[test]
    fn every_spawn_needs_its_close() {
        let mut registry = Registry::default();
        for (id, at) in [("a", 1), ("b", 2), ("c", 3)] {
            registry.spawn(spawned(id, at));
        }
        assert!(registry.close("b", Timestamp::from_micros(9), "done"));
        assert!(!registry.close("b", Timestamp::from_micros(9), "done"));
        let left = |registry: &Registry| registry.unbalanced().map(|agent| agent.id.clone()).collect::<Vec<_>>();
        assert_eq!(left(&registry), ["a", "c"]);
        let read = read_one(&write(&registry, None)).0;
        assert_eq!(left(&read), ["a", "c"]);
        registry.spawn(spawned("b", 10));
        assert_eq!(left(&registry), ["a", "c", "b"]);
        registry.spawn(spawned("b", 2));
        assert_eq!(left(&registry), ["a", "c", "b"], "this spawn has been closed");
        registry.closed.push(Agent { id: "d".to_owned(), ..Agent::default() });
        registry.spawn(Agent { id: "d".to_owned(), ..Agent::default() });
        assert_eq!(left(&registry), ["a", "c", "b", "d"], "nobody knows which spawn was closed");
    }

    #[test]
    fn other_forms_are_understood() {
        let (registry, said) =
            read_one(r#"{"active":["x",{"agent_id":"y","task":"T-1"},{"role":"r"},3],"closed":{"T-2":"z"}}"#);
        let ids = |agents: &[Agent]| agents.iter().map(|agent| agent.id.clone()).collect::<Vec<_>>();
        assert_eq!(
            (ids(&registry.active), ids(&registry.closed)),
            (vec!["x".into(), "y".into(), "3".into()], vec!["z".into()])
        );
        assert_eq!(registry.closed[0].task.as_ref().map(TaskId::as_str), Some("T-2"));
        assert!(said.iter().all(|line| line.starts_with("Warning")));
        assert!(said.iter().any(|line| line.contains("missing required field 'active[2].id'")), "{said:#?}");
        for text in ["", "[]", "{\"active\":1}"] {
            assert_eq!(read_one(text).0, Registry::default(), "{text}");
        }
    }

    fn any_agents() -> impl Strategy<Value = Vec<Agent>> {
        let agent = (
            samples::id(),
            prop::option::of(samples::task_id()),
            prop::option::of("\\PC{0,9}"),
            prop::option::of(samples::time()),
        );
        let agent = agent.prop_map(|(id, task, role, spawned_at)| Agent {
            id,
            task,
            closed_at: spawned_at.filter(|_| role.is_some()),
            status: role.clone(),
            role,
            spawned_at,
        });
        prop::collection::vec(agent, 0..4)
    }

    #[test]
    fn the_published_schema_demands_what_the_format_demands() {
        assert_eq!(samples::required(&SHAPE), ["active", "closed"]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_without_a_word(active in any_agents(), closed in any_agents(), unknown in samples::unknown()) {
            let mut registry = Registry { active, closed };
            registry.active.insert(0, Agent { id: "kept".to_owned(), ..Agent::default() });
            let entries = samples::entries(&unknown);
            let original = format!("{{\"closed\": [{{\"id\": \"kept\"{entries}}}], \"active\": []{entries}}}");
            let original = json::parse(&original).map_err(|m| TestCaseError::fail(m.message))?;
            let text = write(&registry, Some(&original));
            prop_assert!(samples::holds(&text, &[unknown.clone(), unknown].concat()), "{}", text);
            prop_assert_eq!(read_one(&text), (registry, Vec::new()));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,80}", json in samples::json()) {
            read_one(&text);
            read_one(&format!("{{\"active\":{json},\"closed\":[{json}]}}"));
        }
    }
}
