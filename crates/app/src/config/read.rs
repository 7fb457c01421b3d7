//! From the text of a configuration file to its settings. Everything that is wrong is noted, not only the first.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use team_executor_agents::adapters::{Adapter, Permissions, Setup};
use team_executor_files::{Code, Finding, Findings, Source, Span};
use toml::de::{DeTable, DeValue};

use super::backend::Backend;
use super::values::{Reader, get, list, nearest};
use super::{
    Agent, AgentKind, Budget, Limits, Origin, Own, REHEARSAL_SPEED, Set, Settings, Spot, budget, checks, command,
    isolation, machine, on, prices, proposals, servers,
};

const SECTIONS: &[&str] = &[
    "defaults",
    "budget",
    "prices",
    "agents",
    "mcp_servers",
    "roles",
    "tasks",
    "artifacts",
    "isolation",
    "merge",
    "machine",
    "backend",
    "on",
];
const DEFAULTS: &[&str] = &[
    "agent",
    "agents",
    "at_checkpoint",
    "cadence",
    "checkpoint_wait",
    "concurrency",
    "isolation",
    "limits",
    "max_proposals",
    "mcp_servers",
    "proposals",
    "quota_wait",
    "retries",
    "rounds",
    "session_may_choose",
    "trusted_projects",
    "use_mcp_json",
];
const LIMITS: &[&str] = &["first_output", "idle", "total", "converge", "grace", "answer"];
const AGENT: &[&str] = &[
    "kind",
    "command",
    "program",
    "model",
    "effort",
    "permissions",
    "converse",
    "mcp",
    "args",
    "pass_env",
    "env",
    "limits",
    "speed",
];
/// What of an agent is given to the system, which knows no NUL in it.
const TEXTS: &[&str] = &["command", "program", "model", "effort", "args", "pass_env", "env"];
/// What only agents of some kinds have: commands, known coding agents, rehearsals.
const OF_KIND: [(&str, [bool; 3]); 9] = [
    ("command", [true, false, false]),
    ("program", [false, true, false]),
    ("model", [false, true, false]),
    ("effort", [false, true, false]),
    ("permissions", [false, true, false]),
    ("converse", [false, true, false]),
    ("mcp", [false, true, false]),
    ("args", [false, true, false]),
    ("speed", [false, false, true]),
];
const OWN: &[&str] = &[
    "agent",
    "agents",
    "budget",
    "checkpoint",
    "checks",
    "effort",
    "env",
    "isolation",
    "limits",
    "mcp_servers",
    "model",
    "pass_env",
    "retries",
    "rounds",
    "scope",
    "use_mcp_json",
];
const OF_ROLE: &[&str] = &[
    "agent",
    "agents",
    "budget",
    "checkpoint",
    "checks",
    "effort",
    "env",
    "inject",
    "isolation",
    "limits",
    "mcp_servers",
    "model",
    "pass_env",
    "retries",
    "rounds",
    "scope",
    "use_mcp_json",
];
const KINDS: &[&str] = &["command", "claude", "codex", "gemini", "acp", "rehearsal"];

/// Reads the text of a file. `home` is what `~` stands for.
pub(super) fn read(
    file: &Arc<str>,
    source: &Source,
    origin: fn(Spot) -> Origin,
    home: Option<&str>,
    findings: &mut Findings,
) -> Settings {
    let (root, errors) = DeTable::parse_recoverable(source.text());
    for error in &errors {
        let at = error.span().unwrap_or_default();
        let finding = Finding::error(Code::Corrupt, format!("{file} is not TOML"));
        let finding =
            finding.at(file, Span::new(at.start, at.end), error.message().lines().collect::<Vec<_>>().join(", "));
        findings.push(finding.help("correct this line; `team-executor config` then shows what was understood"));
    }
    if !errors.is_empty() {
        return Settings::default();
    }
    let root = root.get_ref();
    let mut reader = Reader { file: file.clone(), source, origin, findings };
    reader.only(root, "", SECTIONS);
    let mut settings = Settings::default();
    if let Some(table) = reader.table(root, "defaults") {
        reader.only(table, "defaults", DEFAULTS);
        settings.agents_wanted = wanted(&mut reader, table, "defaults");
        settings.cadence = reader.cadence(table, "cadence");
        settings.concurrency = reader.whole(table, "concurrency", 1);
        settings.limits = limits(&mut reader, table, "defaults");
        settings.retries = reader.whole(table, "retries", 0);
        settings.rounds = reader.whole(table, "rounds", 0);
        settings.proposals = proposals::read(&mut reader, table);
        settings.max_proposals = reader.whole(table, "max_proposals", 0);
        settings.at_checkpoint = reader.at_checkpoint(table, "at_checkpoint");
        settings.checkpoint_wait = reader.time(table, "checkpoint_wait");
        settings.quota_wait = budget::quota_wait(&mut reader, table);
        settings.session_may_choose = reader.truth(table, "session_may_choose");
        settings.mcp_servers = reader.texts(table, "mcp_servers");
        settings.use_mcp_json = reader.truth(table, "use_mcp_json");
        settings.isolated = isolation::read_kind(&mut reader, table);
        settings.trusted_projects = trusted(&mut reader, table, home);
    }
    settings.budget = Budget::read(&mut reader, root, "");
    settings.prices = prices::read(&mut reader, root);
    settings.isolation = isolation::Isolation::read(&mut reader, root, home);
    for (name, _, table) in tables(&mut reader, root, "agents") {
        if let Some(agent) = agent(&mut reader, &name, table) {
            settings.agents.insert(name, agent);
        }
    }
    let named = tables(&mut reader, root, "mcp_servers");
    settings.servers = servers::read_all(&mut reader, named.iter().map(|(name, _, table)| (name.as_str(), *table)));
    for (name, at, table) in tables(&mut reader, root, "roles") {
        let own = own(&mut reader, &format!("roles.{name}"), table, OF_ROLE);
        settings.roles.insert(name, Own { from: Some(reader.from(at)), ..own });
    }
    for (name, at, table) in tables(&mut reader, root, "tasks") {
        let own = own(&mut reader, &format!("tasks.\"{name}\""), table, OWN);
        settings.tasks.insert(name, Own { from: Some(reader.from(at)), ..own });
    }
    checks::read_kinds(&mut reader, root, &mut settings);
    settings.machine_workers = machine::read(&mut reader, root);
    settings.backend = Backend::read(&mut reader, root, home);
    settings.reactions = on::read(&mut reader, root);
    settings
}

/// Reports each name of an agent that is not defined. `settings` are those of all files together.
pub(super) fn unknown_agents(settings: &Settings, findings: &mut Findings) {
    let owns = settings.roles.values().chain(settings.tasks.values());
    for named in owns.filter_map(|own| own.agents.as_ref()).chain(&settings.agents_wanted) {
        let Some(spot) = named.from.spot() else { continue };
        for name in named.value.iter().filter(|name| !settings.agents.contains_key(*name)) {
            let finding = no_agent(settings, name);
            findings.push(finding.at(&spot.file, spot.span, "no [agents] section has this name"));
        }
    }
}

/// That there is no such agent, and which there are.
pub(crate) fn no_agent(settings: &Settings, name: &str) -> Finding {
    let names = || settings.agents.keys().map(String::as_str);
    let mut finding = Finding::error(Code::InvalidField, format!("there is no agent '{name}'"));
    if let Some(near) = nearest(name, names()) {
        finding = finding.help(format!("did you mean `{near}`?"));
    }
    let known = names().collect::<Vec<_>>().join(", ");
    finding.help(format!("define it with [agents.{name}] and `command = \"…\"`, or name one of: {known}"))
}

/// The tables of a section, each with its name and where that stands.
pub(super) fn tables<'t, 'd>(reader: &mut Reader<'_>, root: &'t DeTable<'d>, section: &str) -> Vec<Named<'t, 'd>> {
    let Some(table) = reader.table(root, section) else { return Vec::new() };
    let each = table.iter().filter_map(|(name, value)| {
        Some((name.get_ref().to_string(), name.span(), reader.as_table(name.get_ref(), value)?))
    });
    each.collect()
}

pub(super) type Named<'t, 'd> = (String, Range<usize>, &'t DeTable<'d>);

fn own(reader: &mut Reader<'_>, section: &str, table: &DeTable<'_>, keys: &[&str]) -> Own {
    reader.only(table, section, keys);
    ["model", "effort", "pass_env", "env"].iter().for_each(|key| reader.no_nul(table, key));
    let (pass_env, env) = (reader.texts(table, "pass_env"), reader.pairs(table, "env"));
    let (names, values) = (pass_env.as_ref().map(|set| &*set.value), env.as_ref().map(|set| &*set.value));
    variables(reader, table, names.unwrap_or_default(), values.unwrap_or_default());
    Own {
        from: None,
        inject: keys.contains(&"inject").then(|| reader.truth(table, "inject")).flatten(),
        agents: wanted(reader, table, section),
        model: reader.set(table, "model", "the name of a model", not_empty),
        effort: reader.set(table, "effort", EFFORT, not_empty),
        mcp_servers: reader.texts(table, "mcp_servers"),
        use_mcp_json: reader.truth(table, "use_mcp_json"),
        retries: reader.whole(table, "retries", 0),
        rounds: reader.whole(table, "rounds", 0),
        checkpoint: reader.truth(table, "checkpoint"),
        limits: limits(reader, table, section),
        budget: Budget::read(reader, table, section),
        checks: checks::read_own(reader, section, table),
        pass_env,
        env,
        isolated: isolation::read_kind(reader, table),
        scope: isolation::read_scope(reader, table),
    }
}

/// Who is wanted: one agent, or several of whom the first that can be used is used.
fn wanted(reader: &mut Reader<'_>, table: &DeTable<'_>, section: &str) -> Option<Set<Vec<String>>> {
    let one = reader.text(table, "agent").map(|set| Set { value: vec![set.value], from: set.from });
    let several =
        reader.set(table, "agents", "a list of names of agents", |value| list(value).filter(|names| !names.is_empty()));
    if let (Some(_), Some(value)) = (&one, get(table, "agents").filter(|_| several.is_some())) {
        let message = format!("[{section}] has both 'agent' and 'agents'");
        reader.wrong(message, value.span(), "which of them counts?", "remove one of them".to_owned());
    }
    several.or(one)
}

fn limits(reader: &mut Reader<'_>, table: &DeTable<'_>, section: &str) -> Limits {
    let Some(table) = reader.table(table, "limits") else { return Limits::default() };
    reader.only(table, &format!("{section}.limits"), LIMITS);
    Limits {
        first_output: reader.time(table, "first_output"),
        idle: reader.time(table, "idle"),
        total: reader.time(table, "total"),
        grace: reader.time(table, "grace"),
        converge: reader.time(table, "converge"),
        answer: reader.time(table, "answer"),
    }
}

/// What an effort is.
const EFFORT: &str = "a word that the agent knows, for instance \"low\" or \"high\"";

fn not_empty(value: &DeValue<'_>) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A known coding agent with what differs from what is built in.
fn coding_agent(reader: &mut Reader<'_>, section: &str, table: &DeTable<'_>, adapter: Adapter) -> AgentKind {
    let expected = format!("one of {}", Permissions::WORDS.join(", "));
    let program = reader.set(table, "program", "a program", not_empty);
    let model = reader.set(table, "model", "the name of a model", not_empty);
    let effort = reader.set(table, "effort", EFFORT, not_empty);
    let permissions =
        reader.set(table, "permissions", &expected, |value| Permissions::from_word(value.as_str().unwrap_or_default()));
    let mcp = reader.truth(table, "mcp");
    let args = reader.texts(table, "args");
    let converse = reader.truth(table, "converse").map(|set| set.value);
    let speaks = adapter == Adapter::Acp;
    if speaks && program.is_none() {
        let at = get(table, "kind").map(|kind| kind.span()).unwrap_or_default();
        let help = "add `program = \"PROGRAM\"`, and `args` that make it speak the Agent Client Protocol".to_owned();
        reader.wrong(format!("[{section}] has no 'program'"), at, "any program can be of this kind", help);
    }
    if let Some(value) = get(table, "effort").filter(|_| !adapter.takes_effort()) {
        let help = "remove it, and choose it in the agent's own settings".to_owned();
        reader.wrong(format!("[{section}] is of a kind that has no 'effort'"), value.span(), "", help);
    }
    let asks = permissions.as_ref().is_some_and(|set| set.value == Permissions::Ask);
    if let Some(value) = get(table, "converse").filter(|_| converse == Some(false) && (asks || speaks)) {
        let message = format!("[{section}] must converse: its permissions or its kind need that");
        reader.wrong(message, value.span(), "", "remove it".to_owned());
    }
    let setup = Setup {
        adapter,
        model: model.map(|set| set.value),
        effort: effort.map(|set| set.value),
        servers: Vec::new(),
        permissions: permissions.map(|set| set.value).unwrap_or_default(),
        mcp: mcp.is_none_or(|set| set.value),
        args: args.map(|set| set.value).unwrap_or_default(),
        converses: false,
    };
    AgentKind::Agent { program: program.map_or_else(|| adapter.name().to_owned(), |set| set.value), setup, converse }
}

/// Notes names of variables that can never be there.
fn variables(reader: &mut Reader<'_>, table: &DeTable<'_>, pass_env: &[String], env: &[(String, String)]) {
    let at = |key| get(table, key).map(|value| value.span()).unwrap_or_default();
    let is_name = |name: &str| !name.is_empty() && !name.contains('=');
    for name in pass_env {
        let begin = name.strip_suffix('*').unwrap_or(name);
        if begin.contains('*') {
            let message = format!("'{name}' in 'pass_env' has a star that is not at its end");
            let help = format!("write `{}*`, or each name", begin.split('*').next().unwrap_or_default());
            reader.wrong(message, at("pass_env"), "only at the end it stands for any end", help);
        } else if name != "*" && !is_name(begin) {
            let message = format!("'{name}' in 'pass_env' is no name of a variable");
            reader.wrong(message, at("pass_env"), "no variable is called so", "write its name only".to_owned());
        }
    }
    for (name, _) in env.iter().filter(|(name, _)| !is_name(name)) {
        let message = format!("'{name}' in 'env' is no name of a variable");
        reader.wrong(message, at("env"), "no variable is called so", "write `env = { NAME = \"value\" }`".to_owned());
    }
}

/// An agent; nothing if it has no kind or no program, which is noted.
fn agent(reader: &mut Reader<'_>, name: &str, table: &DeTable<'_>) -> Option<Agent> {
    let section = format!("agents.{name}");
    reader.only(table, &section, AGENT);
    let limits = limits(reader, table, &section);
    let pass_env = reader.texts(table, "pass_env").map(|set| set.value).unwrap_or_default();
    let env = reader.pairs(table, "env").map(|set| set.value).unwrap_or_default();
    variables(reader, table, &pass_env, &env);
    TEXTS.iter().for_each(|key| reader.no_nul(table, key));
    let speed = reader.whole(table, "speed", 1);
    let kind = reader.text(table, "kind");
    let word = kind.as_ref().map_or("command", |kind| kind.value.as_str());
    let (kind, from) = match word {
        _ if let Some(adapter) = Adapter::from_name(word) => {
            let at = get(table, "kind")?.span();
            (coding_agent(reader, &section, table, adapter), reader.from(at))
        }
        "command" => {
            let command = program(reader, &section, table)?;
            (AgentKind::Command(command.value), command.from)
        }
        "rehearsal" => {
            let at = get(table, "kind")?.span();
            (AgentKind::Rehearsal { speed: speed.map_or(REHEARSAL_SPEED, |speed| speed.value) }, reader.from(at))
        }
        other => {
            let help = match nearest(other, KINDS.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the kinds are: {}", KINDS.join(", ")),
            };
            let at = get(table, "kind")?.span();
            reader.wrong(
                format!("unknown kind of agent '{other}' in [{section}]"),
                at,
                "no agent is of this kind",
                help,
            );
            return None;
        }
    };
    let nth = match kind {
        AgentKind::Command(_) => 0,
        AgentKind::Agent { .. } => 1,
        AgentKind::Rehearsal { .. } => 2,
    };
    for (key, is_of) in OF_KIND {
        if let Some(value) = get(table, key).filter(|_| !is_of[nth]) {
            let message = format!("[{section}] is of a kind that has no '{key}'");
            reader.wrong(message, value.span(), "", "remove it, or change `kind`".to_owned());
        }
    }
    Some(Agent { from, kind, pass_env, env, limits })
}

/// The program of an agent with its arguments: a text, or a list that no shell sees.
fn program(reader: &mut Reader<'_>, section: &str, table: &DeTable<'_>) -> Option<Set<Vec<String>>> {
    const EXPECTED: &str = "a command as a text, or as a list of a program and its arguments";
    let Some(value) = get(table, "command") else {
        let at = table.keys().map(|key| key.span()).min_by_key(|span| span.start).unwrap_or_default();
        let help = "add `command = \"PROGRAM …\"`".to_owned();
        reader.wrong(format!("[{section}] has no 'command'"), at, "the program is missing", help);
        return None;
    };
    let command = reader.set(table, "command", EXPECTED, |value| match value {
        DeValue::String(text) => Some(command::words(text)),
        value => list(value),
    });
    let command = command?;
    if command.value.first().is_none_or(String::is_empty) {
        let message = format!("[{section}] has an empty 'command'");
        reader.wrong(message, value.span(), "no program", "name a program".to_owned());
        return None;
    }
    Some(command)
}

/// Folders of trusted projects: only the user can name them.
fn trusted(reader: &mut Reader<'_>, table: &DeTable<'_>, home: Option<&str>) -> Option<Set<Vec<PathBuf>>> {
    let value = get(table, "trusted_projects")?;
    if matches!(reader.from(0..0), Origin::Project(_)) {
        let help = "move it to your own configuration file; `team-executor config` says where that is".to_owned();
        let message = "a project cannot make itself trusted".to_owned();
        reader.wrong(message, value.span(), "only your own file can say this", help);
        return None;
    }
    let texts = reader.texts(table, "trusted_projects")?;
    let path = |text: &String| match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(text),
    };
    let paths: Vec<PathBuf> = texts.value.iter().map(path).collect();
    if let Some(relative) = paths.iter().find(|path| !path.is_absolute()) {
        let message = format!("a trusted project has a path that is not absolute: '{}'", relative.display());
        reader.wrong(message, value.span(), "", "write the path from `/` or from `~/`".to_owned());
        return None;
    }
    Some(Set { value: paths, from: texts.from })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;
    use team_executor_files::schemas::Schema;

    use super::*;

    #[test]
    fn published_schema_has_the_keys_that_are_read() {
        let text = Schema::named("config").unwrap().text();
        let schema: Value = serde_json::from_str(&text).unwrap();
        for (place, keys) in [
            ("", SECTIONS),
            ("/properties/defaults", DEFAULTS),
            ("/$defs/agent", AGENT),
            ("/$defs/task", OWN),
            ("/$defs/role", OF_ROLE),
            ("/$defs/limits", LIMITS),
            ("/$defs/budget", budget::KEYS),
            ("/$defs/price", prices::KEYS),
            ("/$defs/mcp_server", servers::KEYS),
            ("/$defs/checks", checks::KEYS_OF_ALL),
            ("/$defs/artifact", checks::KEYS),
            ("/$defs/on", on::KEYS),
            ("/properties/machine", machine::KEYS),
            ("/properties/backend", crate::config::backend::KEYS),
        ] {
            let section = schema.pointer(place).unwrap();
            assert_eq!(section["additionalProperties"], Value::Bool(false), "{place}");
            let known: BTreeSet<&str> = section["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(known, keys.iter().copied().collect(), "{place}");
        }
        let kinds: Vec<&str> = schema["$defs"]["agent"]["properties"]["kind"]["enum"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(kinds, KINDS);
    }
}
