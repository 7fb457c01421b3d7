//! What the user has settled beforehand: `team-executor.toml` of the project and the user's own file.
//!
//! Reading order: this file (what can be set), `read` (from TOML to settings, with the places of what is wrong; `values`
//! reads single ones, `time` and `command` their texts, `checks` what is demanded of artifacts, `budget` what may be used, `isolation` the trees of tasks), `files` (where the two files are), `defaults` (what holds for the run as a whole), `choose` (who does which
//! task, and whether the program was chosen by a trusted file), `check` and `installed` (whether it can be used), `show` and `effective` (all of it, with where it comes from).

pub(crate) mod backend;
pub(crate) mod budget;
pub(crate) mod check;
mod checks;
pub(crate) mod choose;
pub(crate) mod command;
pub(crate) mod defaults;
mod effective;
pub(crate) mod files;
mod flags;
pub(crate) mod held_back;
pub(crate) mod hire;
pub(crate) mod installed;
pub(crate) mod isolation;
pub(crate) mod machine;
pub(crate) mod on;
pub(crate) mod prices;
mod proposals;
pub(crate) mod read;
mod servers;
pub(crate) mod show;
pub(crate) mod time;
mod values;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use team_executor_agents::adapters::{Adapter, Given, Permissions, Setup};
use team_executor_core::ArtifactKind;
use team_executor_core::run::{AtCheckpoint, Cadence};
use team_executor_engine::Price;
use team_executor_files::Span;

pub(crate) use budget::Budget;
pub use budget::Dollars;
pub(crate) use checks::Checks;
pub use choose::Program;
pub use command::shown;
pub use effective::{Effective, JsonConfig};
pub(crate) use files::Config;
pub use files::{File, PROJECT_FILE};
pub use flags::Flags;
pub(crate) use proposals::Proposals;
pub use show::{Entry, quoted};
pub use time::{Time, milliseconds};
pub use values::nearest;

/// The agent that calls no model.
pub(crate) const REHEARSAL: &str = "rehearsal";
/// How many rehearsed seconds a rehearsing agent lets pass in one, unless that is set.
const REHEARSAL_SPEED: u32 = 100;

/// An agent that speaks the Agent Client Protocol.
struct Speaking {
    program: &'static str,
    /// What makes it speak that.
    args: &'static [&'static str],
    /// Which variables pass.
    passes: &'static [&'static str],
    /// How it is installed.
    install: &'static str,
}

/// Those that are always there.
const SPEAKING: [Speaking; 2] = [
    Speaking { program: "opencode", args: &["acp"], passes: &["OPENCODE_*"], install: "npm i -g opencode-ai@latest" },
    Speaking {
        program: "qwen",
        args: &["--acp"],
        passes: &["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"],
        install: "npm i -g @qwen-code/qwen-code@latest",
    },
];

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The default.
    BuiltIn,
    /// The files of the session that is run.
    Session,
    /// The user's own file.
    User(Spot),
    /// The file of the project.
    Project(Spot),
    /// The command line.
    Flag(&'static str),
    /// The command line of the start that the run remembers.
    Run(&'static str),
}

/// A place in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The file, as it is shown.
    pub file: Arc<str>,
    /// The bytes.
    pub span: Span,
    /// The line.
    pub line: usize,
}

impl Origin {
    /// The place, where it is one of a file.
    pub const fn spot(&self) -> Option<&Spot> {
        match self {
            Self::User(spot) | Self::Project(spot) => Some(spot),
            Self::BuiltIn | Self::Session | Self::Flag(_) | Self::Run(_) => None,
        }
    }

    /// A flag that was not given now is one that the run remembers.
    fn remember_unless(&mut self, given: &Flags) {
        if let Self::Flag(name) = *self
            && !given.has(name)
        {
            *self = Self::Run(name);
        }
    }
}

/// A setting and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Set<T> {
    /// What was set.
    pub(crate) value: T,
    /// By whom.
    pub(crate) from: Origin,
}

/// How long workers may take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) first_output: Option<Set<Time>>,
    pub(crate) idle: Option<Set<Time>>,
    pub(crate) total: Option<Set<Time>>,
    pub(crate) grace: Option<Set<Time>>,
    pub(crate) converge: Option<Set<Time>>,
    pub(crate) answer: Option<Set<Time>>,
}

/// What is settled for one role or one task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Own {
    /// Where its section is; the first, if there are several.
    pub(crate) from: Option<Origin>,
    /// Who does it, the one that is wanted first.
    pub(crate) agents: Option<Set<Vec<String>>>,
    /// Which model, and how hard it thinks.
    pub(crate) model: Option<Set<String>>,
    pub(crate) effort: Option<Set<String>>,
    /// Which servers of tools agents are given beside ours, and whether those of the project's `.mcp.json` are among them.
    pub(crate) mcp_servers: Option<Set<Vec<String>>>,
    pub(crate) use_mcp_json: Option<Set<bool>>,
    pub(crate) retries: Option<Set<u32>>,
    pub(crate) rounds: Option<Set<u32>>,
    /// A person judges after each of these tasks.
    pub(crate) checkpoint: Option<Set<bool>>,
    pub(crate) limits: Limits,
    pub(crate) budget: Budget,
    pub(crate) checks: Checks,
    /// Variables that workers are given beside those of their agent: names that pass from the environment, and values.
    pub(crate) pass_env: Option<Set<Vec<String>>>,
    pub(crate) env: Option<Set<Vec<(String, String)>>>,
    /// The role joins, whatever the requirement says.
    pub(crate) inject: Option<Set<bool>>,
    /// Each of these tasks has a tree of its own.
    pub(crate) isolated: Option<Set<bool>>,
    /// The files that they may change there, as patterns.
    pub(crate) scope: Option<Set<Vec<String>>>,
}

/// Who can do tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) from: Origin,
    pub(crate) kind: AgentKind,
    /// Names of variables that pass from the environment; a star stands for any end.
    pub(crate) pass_env: Vec<String>,
    /// Variables that are set.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) limits: Limits,
}

/// What sort of agent it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AgentKind {
    /// Any program, with its arguments.
    Command(Vec<String>),
    /// A known coding agent.
    Agent {
        /// Its program; the agent's own name if it is not set.
        program: String,
        /// How it is asked.
        setup: Setup,
        /// Whether it converses, if not only about interactive tasks.
        converse: Option<bool>,
    },
    /// A worker that only acts.
    Rehearsal {
        /// How many rehearsed seconds pass in one.
        speed: u32,
    },
}

impl AgentKind {
    /// The program of a known coding agent, as the user names it; empty for others.
    pub(crate) fn program(&self) -> String {
        match self {
            Self::Agent { program, .. } => program.clone(),
            Self::Command(_) | Self::Rehearsal { .. } => String::new(),
        }
    }

    /// A known coding agent as it is without settings.
    pub(crate) fn agent(adapter: Adapter, program: &str, args: &[&str]) -> Self {
        let args = args.iter().map(|word| (*word).to_owned()).collect();
        let setup = Setup {
            adapter,
            model: None,
            effort: None,
            permissions: Permissions::default(),
            mcp: true,
            servers: Vec::new(),
            args,
            converses: false,
        };
        Self::Agent { program: program.to_owned(), setup, converse: None }
    }
}

/// What one file settles, or several of them together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) concurrency: Option<Set<u32>>,
    pub(crate) cadence: Option<Set<Cadence>>,
    pub(crate) retries: Option<Set<u32>>,
    pub(crate) rounds: Option<Set<u32>>,
    /// What becomes of tasks that workers propose, and how many they may.
    pub(crate) proposals: Option<Set<Proposals>>,
    pub(crate) max_proposals: Option<Set<u32>>,
    pub(crate) at_checkpoint: Option<Set<AtCheckpoint>>,
    pub(crate) checkpoint_wait: Option<Set<Time>>,
    /// Who does a task, the one that is wanted first.
    pub(crate) agents_wanted: Option<Set<Vec<String>>>,
    pub(crate) session_may_choose: Option<Set<bool>>,
    /// Which servers of tools agents are given beside ours, and whether those of the project's `.mcp.json` are among them.
    pub(crate) mcp_servers: Option<Set<Vec<String>>>,
    pub(crate) use_mcp_json: Option<Set<bool>>,
    /// All servers that can be named.
    pub(crate) servers: BTreeMap<String, Set<Given>>,
    /// Whether tasks have trees of their own, and what becomes of what is changed in them.
    pub(crate) isolated: Option<Set<bool>>,
    pub(crate) isolation: isolation::Isolation,
    /// Folders of projects whose files may choose programs.
    pub(crate) trusted_projects: Option<Set<Vec<PathBuf>>>,
    pub(crate) limits: Limits,
    /// How long a run waits at most until an agent has quota again.
    pub(crate) quota_wait: Option<Set<Time>>,
    /// Of the whole run.
    pub(crate) budget: Budget,
    /// What models cost.
    pub(crate) prices: BTreeMap<String, Set<Price>>,
    pub(crate) agents: BTreeMap<String, Agent>,
    pub(crate) roles: BTreeMap<String, Own>,
    pub(crate) tasks: BTreeMap<String, Own>,
    /// What is demanded of each type of artifacts.
    pub(crate) artifacts: BTreeMap<ArtifactKind, Checks>,
    /// How many workers there may be on this machine, over all runs.
    pub(crate) machine_workers: Option<Set<u32>>,
    /// Where the machines of a run meet.
    pub(crate) backend: backend::Backend,
    /// What is done when something happens in a run.
    pub(crate) reactions: Vec<on::Reaction>,
}

impl Limits {
    /// These, and what they leave open from others.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            first_output: self.first_output.or(other.first_output),
            idle: self.idle.or(other.idle),
            total: self.total.or(other.total),
            grace: self.grace.or(other.grace),
            converge: self.converge.or(other.converge),
            answer: self.answer.or(other.answer),
        }
    }
}

impl Own {
    fn or(self, other: Self) -> Self {
        Self {
            from: self.from.or(other.from),
            agents: self.agents.or(other.agents),
            model: self.model.or(other.model),
            effort: self.effort.or(other.effort),
            mcp_servers: self.mcp_servers.or(other.mcp_servers),
            use_mcp_json: self.use_mcp_json.or(other.use_mcp_json),
            retries: self.retries.or(other.retries),
            rounds: self.rounds.or(other.rounds),
            checkpoint: self.checkpoint.or(other.checkpoint),
            limits: self.limits.or(other.limits),
            budget: self.budget.or(other.budget),
            checks: self.checks.or(other.checks),
            pass_env: self.pass_env.or(other.pass_env),
            env: self.env.or(other.env),
            inject: self.inject.or(other.inject),
            isolated: self.isolated.or(other.isolated),
            scope: self.scope.or(other.scope),
        }
    }
}

impl Settings {
    /// These, and what they leave open from others. An agent is taken whole: half of one program is none.
    pub(crate) fn or(self, other: Self) -> Self {
        let merged = |ours: BTreeMap<String, Own>, mut theirs: BTreeMap<String, Own>| {
            for (name, own) in ours {
                let under = theirs.remove(&name).unwrap_or_default();
                theirs.insert(name, own.or(under));
            }
            theirs
        };
        let mut agents = other.agents;
        agents.extend(self.agents);
        let mut prices = other.prices;
        prices.extend(self.prices);
        let mut servers = other.servers;
        servers.extend(self.servers);
        let mut artifacts = other.artifacts;
        for (kind, checks) in self.artifacts {
            let under = artifacts.remove(&kind).unwrap_or_default();
            artifacts.insert(kind, checks.or(under));
        }
        Self {
            concurrency: self.concurrency.or(other.concurrency),
            cadence: self.cadence.or(other.cadence),
            retries: self.retries.or(other.retries),
            rounds: self.rounds.or(other.rounds),
            proposals: self.proposals.or(other.proposals),
            max_proposals: self.max_proposals.or(other.max_proposals),
            at_checkpoint: self.at_checkpoint.or(other.at_checkpoint),
            checkpoint_wait: self.checkpoint_wait.or(other.checkpoint_wait),
            agents_wanted: self.agents_wanted.or(other.agents_wanted),
            session_may_choose: self.session_may_choose.or(other.session_may_choose),
            mcp_servers: self.mcp_servers.or(other.mcp_servers),
            use_mcp_json: self.use_mcp_json.or(other.use_mcp_json),
            servers,
            isolated: self.isolated.or(other.isolated),
            isolation: self.isolation.or(other.isolation),
            trusted_projects: self.trusted_projects.or(other.trusted_projects),
            limits: self.limits.or(other.limits),
            quota_wait: self.quota_wait.or(other.quota_wait),
            budget: self.budget.or(other.budget),
            prices,
            agents,
            roles: merged(self.roles, other.roles),
            tasks: merged(self.tasks, other.tasks),
            artifacts,
            machine_workers: self.machine_workers.or(other.machine_workers),
            backend: self.backend.or(other.backend),
            reactions: self.reactions.into_iter().chain(other.reactions).collect(),
        }
    }

    /// The defaults.
    pub(crate) fn built_in() -> Self {
        let rehearsal = Agent {
            from: Origin::BuiltIn,
            kind: AgentKind::Rehearsal { speed: REHEARSAL_SPEED },
            pass_env: Vec::new(),
            env: Vec::new(),
            limits: Limits::default(),
        };
        let known = Adapter::ALL.into_iter().map(|adapter| {
            let agent = Agent { kind: AgentKind::agent(adapter, adapter.name(), &[]), ..rehearsal.clone() };
            (adapter.name().to_owned(), agent)
        });
        let speaking = SPEAKING.iter().map(|Speaking { program, args, passes, .. }| {
            let pass_env = passes.iter().map(|name| (*name).to_owned()).collect();
            let agent = Agent { kind: AgentKind::agent(Adapter::Acp, program, args), pass_env, ..rehearsal.clone() };
            ((*program).to_owned(), agent)
        });
        let known = known.chain(speaking).chain([(REHEARSAL.to_owned(), rehearsal.clone())]);
        Self { agents: known.collect(), ..Self::default() }
    }
}
