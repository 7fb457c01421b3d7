//! The tools that change how a run goes on while it does: each does what the command of its name does.

use rmcp::model::{JsonObject, Tool};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::Value;
use team_executor_app::asking::assignment;
use team_executor_app::bus::Refusal;
use team_executor_app::{Request, group};
use team_executor_core::run;

use super::Call;
use super::sessions::ask_or_note;
use crate::tool::{self, Effect, tool};

/// The tools that this file offers.
pub(super) const TOOLS: &[fn() -> Tool] = &[
    || {
        tool::<Limit>(
            "limit",
            "Change how many workers run at a time, in all or of one role or agent; workers beyond it finish",
            Effect::Adds,
        )
    },
    || {
        tool::<Cancel>(
            "cancel",
            "End the worker of one task; the task fails, is skipped or begins anew, and the others go on",
            Effect::Adds,
        )
    },
];

/// Which worker is ended.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cancel {
    /// The session's folder
    session: String,
    /// The task
    task: String,
    /// What becomes of the task; it fails unless given
    then: Option<Then>,
    /// Why, for people
    reason: Option<String>,
    /// For `retry`: what to do differently; the next attempt is told so
    feedback: Option<String>,
    /// For `retry`: give the task to this agent from now on, as AGENT or AGENT:MODEL
    with: Option<String>,
}

/// What becomes of a task whose worker is ended.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Then {
    Fail,
    Skip,
    Retry,
}

/// How many workers there may be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Limit {
    /// The session's folder
    session: String,
    /// How many at a time; without it the limit is lifted
    #[schemars(range(min = 1))]
    workers: Option<u32>,
    /// Limit the workers of this role only
    role: Option<String>,
    /// Limit the workers of this agent only
    agent: Option<String>,
}

/// Carries out a call; nothing if it is another file's tool.
pub(super) async fn call(call: &Call<'_>, name: &str, given: Option<JsonObject>) -> Result<Option<Value>, Refusal> {
    let answer = match name {
        "limit" => {
            let Limit { session, workers, role, agent } = tool::arguments(name, given)?;
            if role.is_some() && agent.is_some() {
                let what = "a limit is for a role or for an agent, not for both".to_owned();
                return Err(Refusal { what, help: "call `limit` twice".to_owned() });
            }
            let group = group(role.as_deref(), agent.as_deref())?;
            ask_or_note(call, &session, Request::Limit { group, most: workers }).await?
        }
        "cancel" => {
            let Cancel { session, task, then, reason, feedback, with } = tool::arguments(name, given)?;
            let then = match then {
                None | Some(Then::Fail) => run::Cancel::Fail,
                Some(Then::Skip) => run::Cancel::Skip,
                Some(Then::Retry) => run::Cancel::Retry,
            };
            if (feedback.is_some() || with.is_some()) && then != run::Cancel::Retry {
                let what =
                    "only a task that begins anew can be told something, or be given to another agent".to_owned();
                return Err(Refusal { what, help: "say `then`: `retry`".to_owned() });
            }
            let reason = reason.unwrap_or_else(|| "cancelled by a client".to_owned());
            let (feedback, with) = (feedback.unwrap_or_default(), with.as_deref().map(assignment).transpose()?);
            let request = Request::Cancel { task, then, reason, feedback, with };
            ask_or_note(call, &session, request).await?
        }
        _ => return Ok(None),
    };
    Ok(Some(answer))
}
