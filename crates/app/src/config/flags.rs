//! What the user says for one run; it wins over every configuration file.

use team_executor_core::run::{AtCheckpoint, Cadence};

use super::{Dollars, Time};

/// What the user says for one run. Each field is the flag of its name.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "a field is the flag of its name, which `--help` describes")]
pub struct Flags {
    pub agent: Option<String>,
    pub agent_command: Option<String>,
    pub concurrency: Option<u32>,
    pub cadence: Option<Cadence>,
    pub retries: Option<u32>,
    pub rounds: Option<u32>,
    pub at_checkpoint: Option<AtCheckpoint>,
    pub checkpoint_wait: Option<Time>,
    pub time_limit: Option<Time>,
    pub idle_limit: Option<Time>,
    pub first_output_limit: Option<Time>,
    pub budget_usd: Option<Dollars>,
    pub budget_tokens: Option<u64>,
    pub budget_turns: Option<u64>,
    pub budget_wall: Option<Time>,
    pub pass_env: Vec<String>,
    pub env: Vec<(String, String)>,
}
