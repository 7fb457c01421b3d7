//! Every setting that counts, as a list of keys with values and where each comes from. Values of variables may be secrets
//! and are not in it.

use serde_json::{Value, json};
use team_executor_core::ExecMode;

use super::choose::{Defaults, total};
use super::{Budget, Config, Kind, Limits, Origin, Own, Set, Time, budget, checks, command, prices, servers};
use crate::args;

/// One setting.
pub(crate) struct Entry {
    /// Its sections and its name, as TOML writes them.
    pub(crate) key: String,
    /// What it is.
    pub(crate) value: Value,
    /// Who set it.
    pub(crate) from: Origin,
}

/// All of them: defaults, agents, roles, tasks.
pub(crate) fn entries(config: &Config, flags: &args::Settings) -> Vec<Entry> {
    let mut list = List(Vec::new());
    let all = &config.settings;
    let defaults = Defaults::of(config, flags);
    list.add("defaults.concurrency", json!(defaults.concurrency.value), defaults.concurrency.from);
    list.add("defaults.cadence", json!(defaults.cadence.value.word()), defaults.cadence.from);
    list.add("defaults.retries", json!(defaults.retries.value), defaults.retries.from);
    list.add("defaults.rounds", json!(defaults.rounds.value), defaults.rounds.from);
    list.add("defaults.proposals", json!(defaults.proposals.value.word()), defaults.proposals.from);
    list.add("defaults.max_proposals", json!(defaults.max_proposals.value), defaults.max_proposals.from);
    list.add("defaults.at_checkpoint", json!(defaults.at_checkpoint.value.word()), defaults.at_checkpoint.from);
    if let Some(wait) = &defaults.checkpoint_wait {
        list.add("defaults.checkpoint_wait", json!(wait.value.to_string()), wait.from.clone());
    }
    budget::show_quota_wait(&mut list, &defaults.quota_wait);
    match (&flags.agent_command, &flags.agent, &all.agents_wanted) {
        (Some(text), _, _) => list.add("defaults.agent", json!(text), Origin::Flag("--agent-command")),
        (None, Some(name), _) => list.add("defaults.agent", json!(name), Origin::Flag("--agent")),
        (None, None, Some(set)) => list.wanted("defaults", set),
        (None, None, None) => list.add("defaults.agent", Value::Null, Origin::BuiltIn),
    }
    let may = all.session_may_choose.clone().unwrap_or(Set { value: false, from: Origin::BuiltIn });
    list.add("defaults.session_may_choose", json!(may.value), may.from);
    let trusted = all.trusted_projects.clone().unwrap_or(Set { value: Vec::new(), from: Origin::BuiltIn });
    list.add("defaults.trusted_projects", json!(trusted.value), trusted.from);
    list.servers("defaults", &all.mcp_servers, &all.use_mcp_json);
    for (name, set) in &all.servers {
        list.add(&format!("mcp_servers.{}", quoted(name)), json!(servers::shown(&set.value)), set.from.clone());
    }
    list.limits("defaults", &defaults.limits);
    if defaults.limits.total.is_none() {
        for mode in ExecMode::ALL {
            let key = format!("defaults.limits.total ({mode})");
            list.add(&key, json!(total(*mode).to_string()), Origin::BuiltIn);
        }
    }
    Budget::of_flags(flags).or(all.budget.clone()).show(&mut list, "budget");
    for (name, agent) in &all.agents {
        let section = format!("agents.{}", quoted(name));
        let add = |list: &mut List, key: &str, value| list.add(&format!("{section}.{key}"), value, agent.from.clone());
        match &agent.kind {
            Kind::Command(words) => {
                add(&mut list, "kind", json!("command"));
                add(&mut list, "command", json!(command::shown(words)));
            }
            Kind::Agent { program, setup, converse } => {
                add(&mut list, "kind", json!(setup.adapter.name()));
                add(&mut list, "program", json!(program));
                if let Some(model) = &setup.model {
                    add(&mut list, "model", json!(model));
                }
                if let Some(effort) = &setup.effort {
                    add(&mut list, "effort", json!(effort));
                }
                add(&mut list, "permissions", json!(setup.permissions.word()));
                if let Some(converse) = converse {
                    add(&mut list, "converse", json!(converse));
                }
                if !setup.mcp {
                    add(&mut list, "mcp", json!(false));
                }
                if !setup.args.is_empty() {
                    add(&mut list, "args", json!(setup.args));
                }
            }
            Kind::Rehearsal { speed } => {
                add(&mut list, "kind", json!("rehearsal"));
                add(&mut list, "speed", json!(speed));
            }
        }
        if !agent.pass_env.is_empty() {
            add(&mut list, "pass_env", json!(agent.pass_env));
        }
        if !agent.env.is_empty() {
            let names: Vec<&str> = agent.env.iter().map(|(name, _)| name.as_str()).collect();
            add(&mut list, "env", json!(names));
        }
        list.limits(&section, &agent.limits);
    }
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
        if let Some(set) = &own.inject {
            self.add(&format!("{section}.inject"), json!(set.value), set.from.clone());
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
pub(crate) fn quoted(key: &str) -> String {
    let is_bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if is_bare { key.to_owned() } else { json!(key).to_string() }
}
