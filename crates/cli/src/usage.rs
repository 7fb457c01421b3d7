//! What agents used, as JSON: all together, by role, by task, and attempt by attempt.

use std::collections::BTreeMap;

use serde::Serialize;
use team_executor_engine::usage::{Spent, Sum, sums};

/// What the agents of a run used.
#[derive(Debug, Serialize)]
pub(crate) struct JsonUsage<'a> {
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
}

#[derive(Debug, Serialize)]
struct JsonAttempt<'a> {
    task: &'a str,
    attempt: u32,
    role: &'a str,
    agent: &'a str,
    model: Option<&'a str>,
    session_id: Option<&'a str>,
    tokens_in: u64,
    tokens_cached: u64,
    tokens_out: u64,
    cost_usd: Option<f64>,
    turns: Option<u64>,
}

impl<'a> JsonUsage<'a> {
    /// Sums up.
    pub(crate) fn of(spent: &'a [Spent]) -> Self {
        let json = |by: BTreeMap<&'a str, Sum>| by.into_iter().map(|(key, sum)| (key, JsonSum::from(sum))).collect();
        Self {
            total: Sum::of(spent).into(),
            roles: json(sums(spent, |one| &one.role)),
            tasks: json(sums(spent, |one| &one.task)),
            attempts: spent.iter().map(JsonAttempt::from).collect(),
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
        }
    }
}

impl<'a> From<&'a Spent> for JsonAttempt<'a> {
    fn from(spent: &'a Spent) -> Self {
        let usage = &spent.usage;
        Self {
            task: &spent.task,
            attempt: spent.attempt,
            role: &spent.role,
            agent: &spent.agent,
            model: usage.model.as_deref(),
            session_id: usage.session_id.as_deref(),
            tokens_in: usage.input,
            tokens_cached: usage.cached,
            tokens_out: usage.output,
            cost_usd: usage.cost_micros.map(dollars),
            turns: usage.turns,
        }
    }
}

fn dollars(micros: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "nobody spends so many dollars")]
    let micros = micros as f64;
    micros / 1e6
}
