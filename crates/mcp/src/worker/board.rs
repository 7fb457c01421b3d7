//! `add_discovery`: what the worker found that others can use, on the board of the session.

use rmcp::model::Tool;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use team_executor_app::bus::{self, Refusal};

use super::Worker;
use crate::tool::{Effect, tool};

/// The name of the tool.
pub(super) const ADD_DISCOVERY: &str = "add_discovery";

/// The tools that this file offers.
pub(super) const TOOLS: &[fn() -> Tool] = &[|| {
    let about = "Share a discovery with other workers while you work: one line on the team's discovery board. A \
         discovery that is already there is not added again.";
    tool::<AddDiscovery>(ADD_DISCOVERY, about, Effect::Adds)
}];

/// Something that was found.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddDiscovery {
    /// What sort it is: implementation, test_result, review_comment, pattern, or a word of your own
    #[serde(rename = "type")]
    kind: String,
    /// The discovery itself. By these it is known: implementation by file and function, test_result by test_name,
    /// review_comment by file and line, pattern by pattern_name
    data: Map<String, Value>,
}

/// Adds a discovery to the board.
pub(super) fn add_discovery(worker: &Worker, wanted: AddDiscovery) -> Result<Value, Refusal> {
    worker.verified()?;
    let added = bus::discover(&worker.attempt, &wanted.kind, &Value::Object(wanted.data).to_string())?;
    Ok(json!({"added": added, "worker": worker.attempt.task, "type": wanted.kind}))
}
