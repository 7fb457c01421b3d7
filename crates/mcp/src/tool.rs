//! What a tool is, from the type of its arguments; how arguments are read; and how a tool answers. A refusal is an answer that
//! the model reads: what is wrong, and what to do instead.

use std::any::Any;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use team_executor_app::bus::Refusal;

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It only looks.
    Looks,
    /// It adds something.
    Adds,
}

/// A tool whose arguments are a type.
pub fn tool<T: JsonSchema + Any>(name: &'static str, about: &'static str, effect: Effect) -> Tool {
    let schema = schema_for_input::<T>().unwrap_or_default();
    let mut schema = Arc::unwrap_or_clone(schema);
    schema.remove("$schema");
    let hints = ToolAnnotations::new().read_only(effect == Effect::Looks).destructive(false).open_world(false);
    Tool::new(name, about, schema).with_annotations(hints)
}

/// The arguments of a call, or what is wrong with them.
pub fn arguments<T: DeserializeOwned>(name: &str, given: Option<JsonObject>) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(given.unwrap_or_default())).map_err(|error| Refusal {
        what: format!("the arguments of {name} cannot be read: {error}"),
        help: "call it again with the arguments of its schema".to_owned(),
    })
}

/// What a call answers.
pub fn answer(result: Result<impl Serialize, Refusal>) -> Result<CallToolResult, ErrorData> {
    match result {
        Ok(value) => {
            let value = serde_json::to_value(value);
            let value = value.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            Ok(CallToolResult::structured(value))
        }
        Err(Refusal { what, help }) => {
            Ok(CallToolResult::error(vec![ContentBlock::text(format!("refused: {what}\nhelp: {help}"))]))
        }
    }
}

/// No tool has that name.
pub fn unknown(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no tool '{name}'; tools/list names them all"), None)
}
