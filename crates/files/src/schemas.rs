//! The published JSON Schemas, by name. They come from the shapes that the readers use.

use crate::shape::{self, Type};
use crate::{board, discovery, lifecycle, manifest, messages, registry, role_state, tasks_csv, tasks_json, tc};

/// One published schema.
#[derive(Debug)]
pub struct Schema {
    /// What it is asked for by.
    pub name: &'static str,
    /// Which file it is about.
    pub title: &'static str,
    shape: &'static Type,
}

impl Schema {
    /// The JSON Schema.
    pub fn text(&self) -> String {
        shape::schema(self.name, self.title, self.shape)
    }
}

static ROW: Type = Type::Object(&tasks_csv::ROW);

/// Every schema.
pub static ALL: &[Schema] = &[
    Schema { name: "team-session", title: "team-session.json", shape: &tc::team_session::SHAPE },
    Schema { name: "task-analysis", title: "task-analysis.json", shape: &tc::task_analysis::SHAPE },
    Schema { name: "role-spec", title: "front matter of role-specs/<role>.md", shape: &tc::role_spec::SHAPE },
    Schema { name: "lifecycle", title: "team-session.json or session.json with a task_list", shape: &lifecycle::SHAPE },
    Schema { name: "tasks", title: "tasks.json", shape: &tasks_json::SHAPE },
    Schema { name: "tasks-csv", title: "one row of tasks.csv", shape: &ROW },
    Schema { name: "discovery", title: "discoveries/<task_id>.json", shape: &discovery::SHAPE },
    Schema { name: "discoveries", title: "one line of discoveries.ndjson", shape: &board::SHAPE },
    Schema { name: "message", title: "one line of .msg/messages.jsonl", shape: &messages::SHAPE },
    Schema { name: "role-state", title: ".msg/meta.json", shape: &role_state::SHAPE },
    Schema { name: "agents", title: "agents/registry.json", shape: &registry::SHAPE },
    Schema { name: "artifact", title: "manifest of an artifact", shape: &manifest::SHAPE },
];
