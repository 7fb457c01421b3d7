//! The published JSON Schemas, by name. They come from the shapes that the readers use.

use crate::shape::{self, Type};
use crate::{tasks_json, tc};

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
    Schema { name: "tasks", title: "tasks.json", shape: &tasks_json::SHAPE },
];
