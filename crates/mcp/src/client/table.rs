//! `spawn_agents_on_csv`: an agent for each row of a table, with the arguments that Codex had for it.

use rmcp::model::{JsonObject, Tool};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Map, Value};
use team_executor_app::bus::Refusal;

use super::Call;
use super::follow::{AGAIN, Came, HELD, Until};
use crate::tool::{self, Effect, tool};

const SPAWN_AGENTS_ON_CSV: &str = "spawn_agents_on_csv";

/// The tools that this file offers.
pub(super) const TOOLS: &[fn() -> Tool] = &[|| {
    let about = "Give each row of a CSV file to its own agent, and write the results to a CSV file. The call \
         ends when all rows are done. If the call is interrupted, the job goes on; the same call continues it or returns its results.";
    tool::<SpawnAgentsOnCsv>(SPAWN_AGENTS_ON_CSV, about, Effect::Adds)
}];

/// What is done with which rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SpawnAgentsOnCsv {
    /// The table: a CSV file with a header
    csv_path: String,
    /// What to do with each row; {column} stands for its cell, {{ and }} for braces
    instruction: String,
    /// The column that names the rows; without it they are row-1, row-2 and so on
    id_column: Option<String>,
    /// The table that comes out; without it one beside the input
    output_csv_path: Option<String>,
    /// The JSON Schema that the result of each row must follow
    output_schema: Option<Map<String, Value>>,
    /// How many agents at once
    #[schemars(range(min = 1))]
    max_concurrency: Option<u32>,
    /// How long one row may take
    #[schemars(range(min = 1))]
    max_runtime_seconds: Option<u64>,
}

/// Carries out a call; nothing if it is another tool's.
pub(super) async fn call(call: &Call<'_>, name: &str, given: Option<JsonObject>) -> Result<Option<Value>, Refusal> {
    match name {
        SPAWN_AGENTS_ON_CSV => spawn(call, tool::arguments(name, given)?).await.map(Some),
        _ => Ok(None),
    }
}

async fn spawn(call: &Call<'_>, wanted: SpawnAgentsOnCsv) -> Result<Value, Refusal> {
    let table = call.roots.existing(&wanted.csv_path)?;
    let mut words =
        vec!["csv".to_owned(), table.path.display().to_string(), "-y".to_owned(), "--format=json".to_owned()];
    words.push(format!("--instruction={}", wanted.instruction));
    words.extend(wanted.id_column.map(|column| format!("--id-column={column}")));
    if let Some(output) = wanted.output_csv_path {
        words.push(format!("--output={}", call.roots.new_file(&output)?.path.display()));
    }
    words.extend(wanted.output_schema.map(|schema| format!("--output-schema={}", Value::Object(schema))));
    let mut settled = Vec::new();
    if let Some(workers) = wanted.max_concurrency {
        settled.push("concurrency");
        words.push(format!("--concurrency={workers}"));
    }
    if let Some(seconds) = wanted.max_runtime_seconds {
        settled.push("time-limit");
        words.push(format!("--max-runtime-seconds={seconds}"));
    }
    words.extend(call.flags(&settled));
    loop {
        let events = call.app.start_apart(&words, &table.root)?;
        match call.follower.follow(events, Until::Ended("csv_job"), None).await? {
            Came::Out(value) | Came::On(value) => return Ok(value),
            // The client of an earlier call may have left: this one waits for what goes on without it.
            Came::Refused(_, Some(HELD)) if !call.follower.waits(AGAIN).await => {}
            Came::Refused(refusal, _) => return Err(refusal),
        }
    }
}
