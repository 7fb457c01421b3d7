//! `agents/registry.json`: which interactive agents run and which have been closed. Rendered for people; never read.

use team_executor_core::{TaskId, Timestamp};

use crate::fields::ID;
use crate::json::{Layout, Writer};
use crate::shape::{Field, Object, Other, Type};
use crate::side::write_text;
use crate::time;

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
        Field::optional("status", &Type::Nullable(&Type::Text), "How it ended").or(&["state"]),
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

/// The file for a registry.
pub fn write(registry: &Registry) -> String {
    let mut writer = Writer::new(Layout::Pretty);
    writer.begin_object();
    for (name, agents) in [("active", &registry.active), ("closed", &registry.closed)] {
        writer.key(name);
        writer.begin_array();
        agents.iter().for_each(|agent| write_agent(&mut writer, agent));
        writer.end_array();
    }
    writer.end_object();
    writer.finish()
}

fn write_agent(writer: &mut Writer, agent: &Agent) {
    writer.begin_object();
    write_text(writer, "id", Some(&agent.id));
    write_text(writer, "task_id", agent.task.as_ref().map(TaskId::as_str));
    write_text(writer, "role", agent.role.as_deref());
    write_text(writer, "spawned_at", agent.spawned_at.map(time::format).as_deref());
    write_text(writer, "closed_at", agent.closed_at.map(time::format).as_deref());
    write_text(writer, "status", agent.status.as_deref());
    writer.end_object();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn known_fields_are_written() {
        let running = Agent { id: "a".to_owned(), role: Some("tester".to_owned()), ..Agent::default() };
        let closed_at = Some(Timestamp::from_micros(0));
        let closed = Agent { id: "b".to_owned(), task: TaskId::parse("T-1").ok(), closed_at, ..Agent::default() };
        let written = write(&Registry { active: vec![running], closed: vec![closed] });
        let lines: Vec<_> = written.lines().map(|line| line.trim().trim_end_matches(',')).collect();
        let expected = ["{", "\"active\": [", "{", "\"id\": \"a\"", "\"role\": \"tester\"", "}", "]", "\"closed\": ["];
        assert_eq!(lines[..8], expected, "{written}");
        assert_eq!(lines[9..11], ["\"id\": \"b\"", "\"task_id\": \"T-1\""], "{written}");
        assert!(lines[11].starts_with("\"closed_at\": \"1970-01-01T00:00:00"), "{written}");
    }

    #[test]
    fn the_published_schema_demands_what_the_format_demands() {
        assert_eq!(samples::required(&SHAPE), ["active", "closed"]);
    }
}
