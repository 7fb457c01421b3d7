//! The published JSON Schemas, by name. Those of a session's files come from the shapes that the readers use.

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
    source: Source,
}

/// Where a schema comes from.
#[derive(Debug)]
enum Source {
    /// The shape that the reader of the file uses.
    Shape(&'static Type),
    /// A text; a test compares it with its reader.
    Text(&'static str),
}

impl Schema {
    /// The JSON Schema.
    pub fn text(&self) -> String {
        match self.source {
            Source::Shape(shape) => shape::schema(self.name, self.title, shape),
            Source::Text(text) => text.to_owned(),
        }
    }

    /// The schema of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|schema| schema.name == name)
    }
}

/// Every schema.
pub static ALL: &[Schema] = &[
    Schema { name: "team-session", title: "team-session.json", source: Source::Shape(&tc::team_session::SHAPE) },
    Schema { name: "task-analysis", title: "task-analysis.json", source: Source::Shape(&tc::task_analysis::SHAPE) },
    Schema {
        name: "role-spec",
        title: "front matter of role-specs/<role>.md",
        source: Source::Shape(&tc::role_spec::SHAPE),
    },
    Schema {
        name: "lifecycle",
        title: "team-session.json or session.json with a task_list",
        source: Source::Shape(&lifecycle::SHAPE),
    },
    Schema { name: "tasks", title: "tasks.json", source: Source::Shape(&tasks_json::SHAPE) },
    Schema {
        name: "tasks-list",
        title: "tasks.json that is an array",
        source: Source::Shape(&tasks_json::list::SHAPE),
    },
    Schema { name: "tasks-csv", title: "a row of tasks.csv and results.csv", source: Source::Shape(&tasks_csv::SHAPE) },
    Schema {
        name: "task-file",
        title: ".task/<task>.json or tasks/<task>.json",
        source: Source::Shape(&task_files::SHAPE),
    },
    Schema { name: "chain", title: "session.json with a chain", source: Source::Shape(&chain::SHAPE) },
    Schema { name: "discovery", title: "discoveries/<task>.json", source: Source::Shape(&discovery::SHAPE) },
    Schema { name: "board", title: "a line of discoveries.ndjson", source: Source::Shape(&board::SHAPE) },
    Schema { name: "message", title: "a line of .msg/messages.jsonl", source: Source::Shape(&messages::SHAPE) },
    Schema { name: "role-state", title: ".msg/meta.json", source: Source::Shape(&role_state::SHAPE) },
    Schema { name: "registry", title: "agents/registry.json", source: Source::Shape(&registry::SHAPE) },
    Schema {
        name: "artifact",
        title: "artifacts/<task>/artifact-manifest.json",
        source: Source::Shape(&manifest::SHAPE),
    },
    Schema {
        name: "result",
        title: "the result of a worker, at $TEAM_EXECUTOR_RESULT",
        source: Source::Text(include_str!("schemas/result.schema.json")),
    },
    Schema {
        name: "attention",
        title: "needs and problems of `status --format json`",
        source: Source::Text(include_str!("schemas/attention.schema.json")),
    },
    Schema {
        name: "config",
        title: "team-executor.toml and config.toml",
        source: Source::Text(include_str!("schemas/config.schema.json")),
    },
];
