//! Every setting that counts, as a list of keys with values and where each comes from. Values of variables may be secrets
//! and are not in it.

use serde_json::{Value, json};
use team_executor_core::ExecMode;

use super::backend::Backend;
use super::choose::total;
use super::defaults::Defaults;
use super::{
    Agent, AgentKind, Budget, Config, Flags, Limits, Origin, Own, Set, Settings, Time, budget, checks, command,
    isolation, machine, prices, servers,
};

/// One setting.
#[derive(Debug)]
pub struct Entry {
    /// Its sections and its name, as TOML writes them.
    pub key: String,
    /// What it is.
    pub value: Value,
    /// Who set it.
    pub from: Origin,
}

/// All of them: defaults, agents, roles, tasks.
pub(crate) fn entries(config: &Config, flags: &Flags) -> Vec<Entry> {
    let mut list = List(Vec::new());
    let all = &config.settings;
    list.defaults(all, flags, Defaults::choose(config, flags));
    Budget::of_flags(flags).or(all.budget.clone()).show(&mut list, "budget");
    all.isolation.show(&mut list, config.trees.clone());
    all.agents.iter().for_each(|(name, agent)| list.agent(&format!("agents.{}", quoted(name)), agent));
    prices::show(&mut list, &all.prices);
    all.roles.iter().for_each(|(name, own)| list.own(&format!("roles.{}", quoted(name)), own));
    all.tasks.iter().for_each(|(id, own)| list.own(&format!("tasks.{}", quoted(id)), own));
    all.artifacts.iter().for_each(|(kind, demanded)| checks::show(&mut list, &format!("artifacts.{kind}"), demanded));
    list.0
}

/// Settings that are being listed.
pub(super) struct List(Vec<Entry>);

impl List {
    /// One more.
    pub(super) fn add(&mut self, key: &str, value: Value, from: Origin) {
        self.0.push(Entry { key: key.to_owned(), value, from });
    }

    fn defaults(&mut self, all: &Settings, flags: &Flags, defaults: Defaults) {
        self.add("defaults.concurrency", json!(defaults.concurrency.value), defaults.concurrency.from);
        self.add("defaults.cadence", json!(defaults.cadence.value.word()), defaults.cadence.from);
        self.add("defaults.retries", json!(defaults.retries.value), defaults.retries.from);
        self.add("defaults.rounds", json!(defaults.rounds.value), defaults.rounds.from);
        self.add("defaults.proposals", json!(defaults.proposals.value.word()), defaults.proposals.from);
        self.add("defaults.max_proposals", json!(defaults.max_proposals.value), defaults.max_proposals.from);
        self.add("defaults.at_checkpoint", json!(defaults.at_checkpoint.value.word()), defaults.at_checkpoint.from);
        if let Some(wait) = &defaults.checkpoint_wait {
            self.add("defaults.checkpoint_wait", json!(wait.value.to_string()), wait.from.clone());
        }
        budget::show_quota_wait(self, &defaults.quota_wait);
        match (&flags.agent_command, &flags.agent, &all.agents_wanted) {
            (Some(text), _, _) => self.add("defaults.agent", json!(text), Origin::Flag("--agent-command")),
            (None, Some(name), _) => self.add("defaults.agent", json!(name), Origin::Flag("--agent")),
            (None, None, Some(set)) => self.wanted("defaults", set),
            (None, None, None) => self.add("defaults.agent", Value::Null, Origin::BuiltIn),
        }
        let may = all.session_may_choose.clone().unwrap_or(Set { value: false, from: Origin::BuiltIn });
        self.add("defaults.session_may_choose", json!(may.value), may.from);
        let isolated = all.isolated.clone().unwrap_or(Set { value: false, from: Origin::BuiltIn });
        self.add("defaults.isolation", json!(isolation::word(isolated.value)), isolated.from);
        let trusted = all.trusted_projects.clone().unwrap_or(Set { value: Vec::new(), from: Origin::BuiltIn });
        self.add("defaults.trusted_projects", json!(trusted.value), trusted.from);
        machine::show(self, all);
        Backend::show(self, all);
        self.servers("defaults", &all.mcp_servers, &all.use_mcp_json);
        for (name, set) in &all.servers {
            self.add(&format!("mcp_servers.{}", quoted(name)), json!(servers::shown(&set.value)), set.from.clone());
        }
        self.limits("defaults", &defaults.limits);
        if defaults.limits.total.is_none() {
            for mode in ExecMode::ALL {
                let key = format!("defaults.limits.total ({mode})");
                self.add(&key, json!(total(*mode).to_string()), Origin::BuiltIn);
            }
        }
    }

    fn agent(&mut self, section: &str, agent: &Agent) {
        let mut add = |key: &str, value| self.add(&format!("{section}.{key}"), value, agent.from.clone());
        match &agent.kind {
            AgentKind::Command(words) => {
                add("kind", json!("command"));
                add("command", json!(command::shown(words)));
            }
            AgentKind::Agent { program, setup, converse } => {
                add("kind", json!(setup.adapter.name()));
                add("program", json!(program));
                if let Some(model) = &setup.model {
                    add("model", json!(model));
                }
                if let Some(effort) = &setup.effort {
                    add("effort", json!(effort));
                }
                add("permissions", json!(setup.permissions.word()));
                if let Some(converse) = converse {
                    add("converse", json!(converse));
                }
                if !setup.mcp {
                    add("mcp", json!(false));
                }
                if !setup.args.is_empty() {
                    add("args", json!(setup.args));
                }
            }
            AgentKind::Rehearsal { speed } => {
                add("kind", json!("rehearsal"));
                add("speed", json!(speed));
            }
        }
        if !agent.pass_env.is_empty() {
            add("pass_env", json!(agent.pass_env));
        }
        if !agent.env.is_empty() {
            let names: Vec<&str> = agent.env.iter().map(|(name, _)| name.as_str()).collect();
            add("env", json!(names));
        }
        self.limits(section, &agent.limits);
    }

    fn wanted(&mut self, section: &str, set: &Set<Vec<String>>) {
        let (key, value) = match set.value.as_slice() {
            [one] => ("agent", json!(one)),
            several => ("agents", json!(several)),
        };
        self.add(&format!("{section}.{key}"), value, set.from.clone());
    }

    fn own(&mut self, section: &str, own: &Own) {
        if let Some(set) = &own.agents {
            self.wanted(section, set);
        }
        for (key, set) in [("model", &own.model), ("effort", &own.effort)] {
            if let Some(set) = set {
                self.add(&format!("{section}.{key}"), json!(set.value), set.from.clone());
            }
        }
        self.servers(section, &own.mcp_servers, &own.use_mcp_json);
        if let Some(set) = &own.retries {
            self.add(&format!("{section}.retries"), json!(set.value), set.from.clone());
        }
        if let Some(set) = &own.rounds {
            self.add(&format!("{section}.rounds"), json!(set.value), set.from.clone());
        }
        if let Some(set) = &own.checkpoint {
            self.add(&format!("{section}.checkpoint"), json!(set.value), set.from.clone());
        }
        if let Some(set) = &own.pass_env {
            self.add(&format!("{section}.pass_env"), json!(set.value), set.from.clone());
        }
        if let Some(set) = &own.env {
            let names: Vec<&str> = set.value.iter().map(|(name, _)| name.as_str()).collect();
            self.add(&format!("{section}.env"), json!(names), set.from.clone());
        }
        if let Some(set) = &own.inject {
            self.add(&format!("{section}.inject"), json!(set.value), set.from.clone());
        }
        if let Some(set) = &own.scope {
            self.add(&format!("{section}.scope"), json!(set.value), set.from.clone());
        }
        if let Some(set) = &own.isolated {
            self.add(&format!("{section}.isolation"), json!(isolation::word(set.value)), set.from.clone());
        }
        self.limits(section, &own.limits);
        own.budget.show(self, &format!("{section}.budget"));
        checks::show(self, &format!("{section}.checks"), &own.checks);
    }

    fn servers(&mut self, section: &str, named: &Option<Set<Vec<String>>>, of_file: &Option<Set<bool>>) {
        if let Some(set) = named {
            self.add(&format!("{section}.mcp_servers"), json!(set.value), set.from.clone());
        }
        if let Some(set) = of_file {
            self.add(&format!("{section}.use_mcp_json"), json!(set.value), set.from.clone());
        }
    }

    fn limits(&mut self, section: &str, limits: &Limits) {
        let all: [(&str, &Option<Set<Time>>); 6] = [
            ("first_output", &limits.first_output),
            ("idle", &limits.idle),
            ("total", &limits.total),
            ("converge", &limits.converge),
            ("grace", &limits.grace),
            ("answer", &limits.answer),
        ];
        for (name, set) in all {
            if let Some(set) = set {
                self.add(&format!("{section}.limits.{name}"), json!(set.value.to_string()), set.from.clone());
            }
        }
    }
}

/// A key as TOML writes it.
pub fn quoted(key: &str) -> String {
    let is_bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if is_bare { key.to_owned() } else { json!(key).to_string() }
}
