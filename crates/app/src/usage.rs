//! What agents used, as JSON: all together, by role, by task, and attempt by attempt; and the budget that was in the way.

use std::collections::BTreeMap;

use serde::Serialize;
use team_executor_core::run::{Bound, Halt, Scope};
use team_executor_engine::Halted;
use team_executor_engine::event::Activity;
pub use team_executor_engine::usage::dollars as dollar_words;
pub use team_executor_engine::usage::{COLUMNS, Spent, Sum, sums, table};

/// What the agents of a run used.
#[derive(Debug, Serialize)]
pub struct JsonUsage<'a> {
    total: JsonSum,
    roles: BTreeMap<&'a str, JsonSum>,
    tasks: BTreeMap<&'a str, JsonSum>,
    attempts: Vec<JsonAttempt<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonSum {
    attempts: u64,
    tokens_in: u64,
    tokens_cached: u64,
    tokens_out: u64,
    cost_usd: Option<f64>,
    turns: Option<u64>,
    estimated: bool,
    attempts_unknown: u64,
    attempts_unpriced: u64,
}

#[derive(Debug, Serialize)]
struct JsonAttempt<'a> {
    task: &'a str,
    attempt: u32,
    role: &'a str,
    agent: &'a str,
    model: Option<&'a str>,
    session_id: Option<&'a str>,
    attach: Option<&'a str>,
    tokens_in: u64,
    tokens_cached: u64,
    tokens_out: u64,
    cost_usd: Option<f64>,
    turns: Option<u64>,
    wall_ms: u64,
    estimated: bool,
}

impl<'a> JsonUsage<'a> {
    /// Sums up.
    pub fn sum(spent: &'a [Spent]) -> Self {
        let json = |by: BTreeMap<&'a str, Sum>| by.into_iter().map(|(key, sum)| (key, JsonSum::from(sum))).collect();
        Self {
            total: Sum::total(spent).into(),
            roles: json(sums(spent, |one| &one.role)),
            tasks: json(sums(spent, |one| &one.task)),
            attempts: spent.iter().filter(|one| one.is_known()).map(JsonAttempt::from).collect(),
        }
    }
}

impl From<Sum> for JsonSum {
    fn from(sum: Sum) -> Self {
        Self {
            attempts: sum.attempts,
            tokens_in: sum.input,
            tokens_cached: sum.cached,
            tokens_out: sum.output,
            cost_usd: sum.cost_micros.map(dollars),
            turns: sum.turns,
            estimated: sum.is_estimated,
            attempts_unknown: sum.unknown,
            attempts_unpriced: sum.unpriced,
        }
    }
}

impl<'a> From<&'a Spent> for JsonAttempt<'a> {
    fn from(spent: &'a Spent) -> Self {
        let used = &spent.used;
        Self {
            task: &spent.task,
            attempt: spent.attempt,
            role: &spent.role,
            agent: &used.agent,
            model: used.model.as_deref(),
            session_id: used.session_id.as_deref(),
            attach: used.attach.as_deref(),
            tokens_in: used.input,
            tokens_cached: used.cached,
            tokens_out: used.output,
            cost_usd: used.cost_micros.map(dollars),
            turns: used.turns,
            wall_ms: used.wall_ms,
            estimated: used.is_estimated,
        }
    }
}

/// What a running agent has used so far, for people: `12k tokens, $0.14, 2 retries`. Nothing before it has said anything.
pub fn so_far(activity: &Activity) -> String {
    let Activity { input, output, cost_micros, is_estimated, .. } = *activity;
    let used = Sum { input, output, cost_micros, is_estimated, ..Sum::default() }.brief();
    let retries = match activity.retries {
        0 => None,
        1 => Some("1 retry".to_owned()),
        more => Some(format!("{more} retries")),
    };
    let used = Some(used).filter(|used| !used.is_empty());
    [used, retries].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Why a run stopped by itself.
#[derive(Debug, Serialize)]
pub struct JsonHalted<'a> {
    reason: &'a str,
    /// The task that no agent could do for lack of a login.
    not_logged_in: Option<&'a str>,
    /// The disk is full.
    no_room: bool,
    budget: Option<JsonBudget<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonBudget<'a> {
    of: &'static str,
    name: Option<&'a str>,
    measure: &'static str,
    used: u64,
    budget: u64,
    next_attempt: u64,
}

impl<'a> JsonHalted<'a> {
    /// Describes it.
    pub fn from_halted(halted: &'a Halted) -> Self {
        let reason = halted.words.as_str();
        let no_room = halted.why == Halt::NoRoom;
        let bound = match &halted.why {
            Halt::Budget(bound) => bound,
            Halt::NotLoggedIn(_) | Halt::NoRoom | Halt::PartDone => {
                return Self { reason, not_logged_in: halted.name.as_deref(), no_room, budget: None };
            }
        };
        let Bound { scope, measure, used, budget, next } = bound.as_ref();
        let of = match scope {
            Scope::Run => "run",
            Scope::Role(_) => "role",
            Scope::Task(_) => "task",
        };
        let (used, budget, next_attempt) = (*used, *budget, *next);
        let budget =
            JsonBudget { of, name: halted.name.as_deref(), measure: measure.word(), used, budget, next_attempt };
        Self { reason, not_logged_in: None, no_room, budget: Some(budget) }
    }
}

/// Millionths of a dollar as dollars.
pub fn dollars(micros: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "no budget is that large")]
    let micros = micros as f64;
    micros / 1e6
}
