//! The published JSON Schemas, by name. They come from the shapes that the readers use.

use crate::shape::{self, Type};
use crate::{
    board, chain, discovery, lifecycle, manifest, messages, registry, role_state, task_files, tasks_csv, tasks_json, tc,
};

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

/// Every schema.
pub static ALL: &[Schema] = &[
    Schema { name: "team-session", title: "team-session.json", shape: &tc::team_session::SHAPE },
    Schema { name: "task-analysis", title: "task-analysis.json", shape: &tc::task_analysis::SHAPE },
    Schema { name: "role-spec", title: "front matter of role-specs/<role>.md", shape: &tc::role_spec::SHAPE },
    Schema { name: "lifecycle", title: "team-session.json or session.json with a task_list", shape: &lifecycle::SHAPE },
    Schema { name: "tasks", title: "tasks.json", shape: &tasks_json::SHAPE },
    Schema { name: "tasks-list", title: "tasks.json that is an array", shape: &tasks_json::list::SHAPE },
    Schema { name: "tasks-csv", title: "a row of tasks.csv and results.csv", shape: &tasks_csv::SHAPE },
    Schema { name: "task-file", title: ".task/<task>.json or tasks/<task>.json", shape: &task_files::SHAPE },
    Schema { name: "chain", title: "session.json with a chain", shape: &chain::SHAPE },
    Schema { name: "discovery", title: "discoveries/<task>.json", shape: &discovery::SHAPE },
    Schema { name: "board", title: "a line of discoveries.ndjson", shape: &board::SHAPE },
    Schema { name: "message", title: "a line of .msg/messages.jsonl", shape: &messages::SHAPE },
    Schema { name: "role-state", title: ".msg/meta.json", shape: &role_state::SHAPE },
    Schema { name: "registry", title: "agents/registry.json", shape: &registry::SHAPE },
    Schema { name: "artifact", title: "artifacts/<task>/artifact-manifest.json", shape: &manifest::SHAPE },
];
