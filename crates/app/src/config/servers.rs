//! Servers of the Model Context Protocol that agents are given beside ours: those of `[mcp_servers]`, and those of the project's
//! `.mcp.json` where it counts.

use std::collections::BTreeMap;
use std::path::Path;

use rustix::io::Errno;
use serde_json::{Map, Value};
use team_executor_agents::adapters::server::NAME;
use team_executor_agents::adapters::{Given, Reached};
use team_executor_beneath::{Dir, words};
use team_executor_files::{Code, Finding, Findings, Span};
use toml::de::DeTable;

use super::values::{Reader, get, nearest};
use super::{Origin, Set, Settings, Spot, command};
use crate::error::Error;

/// Where programs list the servers of a project.
const FILE: &str = ".mcp.json";
/// A longer one is refused.
const MAX_BYTES: u64 = 1 << 20;
/// What can be set of a server.
pub(super) const KEYS: &[&str] = &["command", "args", "env", "url", "headers"];

/// Reads all servers, by their names.
pub(super) fn read_all<'t, 'd: 't>(
    reader: &mut Reader<'_>,
    all: impl Iterator<Item = (&'t str, &'t DeTable<'d>)>,
) -> BTreeMap<String, Set<Given>> {
    all.filter_map(|(name, table)| Some((name.to_owned(), read(reader, name, table)?))).collect()
}

/// Reads one server; nothing if it cannot be reached by what is there, which is noted.
fn read(reader: &mut Reader<'_>, name: &str, table: &DeTable<'_>) -> Option<Set<Given>> {
    let section = format!("mcp_servers.{name}");
    reader.only(table, &section, KEYS);
    KEYS.iter().for_each(|key| reader.no_nul(table, key));
    let at = table.keys().map(|key| key.span()).min_by_key(|span| span.start).unwrap_or_default();
    if let Some(why) = unusable(name) {
        reader.wrong(format!("[{section}] {why}"), at, "", "give it another name".to_owned());
        return None;
    }
    let (command, url) = (reader.text(table, "command"), reader.text(table, "url"));
    let args = reader.texts(table, "args").map(|set| set.value).unwrap_or_default();
    let [env, headers] =
        ["env", "headers"].map(|key| reader.pairs(table, key).map(|set| set.value).unwrap_or_default());
    let by = match (command, url) {
        (Some(command), None) if !command.value.is_empty() => Reached::Program { command: command.value, args, env },
        (None, Some(url)) if !url.value.is_empty() => Reached::Url { url: url.value, headers },
        _ => {
            let message = format!("[{section}] needs either 'command' or 'url'");
            let help = "write `command = \"PROGRAM\"` for one that agents start, or `url = \"…\"`".to_owned();
            reader.wrong(message, at, "how is it reached?", help);
            return None;
        }
    };
    let others: &[&str] = if matches!(by, Reached::Program { .. }) { &["headers"] } else { &["args", "env"] };
    for (key, value) in others.iter().filter_map(|key| Some((key, get(table, key)?))) {
        let message = format!("[{section}] is reached in a way that has no '{key}'");
        reader.wrong(message, value.span(), "", "remove it".to_owned());
    }
    Some(Set { value: Given { name: name.to_owned(), by }, from: reader.from(at) })
}

/// Why a name cannot be that of a server.
fn unusable(name: &str) -> Option<&'static str> {
    let is_word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    match (name == NAME, is_word) {
        (true, _) => Some("has the name of the server that every agent is given"),
        (_, false) => Some("may have letters, digits, `_` and `-` in its name only"),
        _ => None,
    }
}

/// Notes each name of a server that no file defines. `settings` are those of all files together.
pub(super) fn unknown(settings: &Settings, findings: &mut Findings) {
    let owns = settings.roles.values().chain(settings.tasks.values());
    for named in owns.filter_map(|own| own.mcp_servers.as_ref()).chain(&settings.mcp_servers) {
        let Some(spot) = named.from.spot() else { continue };
        for name in named.value.iter().filter(|name| !settings.servers.contains_key(*name)) {
            let finding = Finding::error(Code::InvalidField, format!("there is no MCP server '{name}'"));
            let near = nearest(name, settings.servers.keys().map(String::as_str));
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("define it with [mcp_servers.{name}] and `command = \"…\"` or `url = \"…\"`"),
            };
            findings.push(finding.at(&spot.file, spot.span, "no [mcp_servers] section has this name").help(help));
        }
    }
}

/// What is run for a server, for people.
pub(super) fn shown(given: &Given) -> String {
    match &given.by {
        Reached::Program { command: program, args, .. } => {
            let words: Vec<String> = std::iter::once(program.clone()).chain(args.iter().cloned()).collect();
            command::shown(&words)
        }
        Reached::Url { url, .. } => url.clone(),
    }
}

/// The servers of the project's `.mcp.json`; none if there is no such file.
pub(super) fn of_project(project: &Path) -> Result<Vec<Set<Given>>, Error> {
    let wrong = |why: String| {
        let finding = Finding::error(Code::Corrupt, format!("{}: {why}", project.join(FILE).display()));
        Error::from(finding.help(format!("correct it, or remove `use_mcp_json` from {}", super::files::PROJECT_FILE)))
    };
    let bytes = match Dir::open(project).and_then(|project| project.read(FILE, MAX_BYTES)) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        Err(errno) => return Err(wrong(words(errno))),
        Ok(bytes) => bytes,
    };
    let file: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(format!("it is not JSON: {error}")))?;
    let servers = file["mcpServers"].as_object().ok_or_else(|| wrong("it has no `mcpServers`".to_owned()))?;
    let from = Origin::Project(Spot { file: FILE.into(), span: Span::new(0, 0), line: 1 });
    let one = |(name, entry): (&String, &Value)| {
        let value = given(name, entry).map_err(|why| wrong(format!("the server '{name}' {why}")))?;
        Ok(Set { value, from: from.clone() })
    };
    servers.iter().map(one).collect()
}

fn given(name: &str, entry: &Value) -> Result<Given, &'static str> {
    if let Some(why) = unusable(name) {
        return Err(why);
    }
    let texts = |key: &str| {
        let list = entry[key].as_array().into_iter().flatten();
        list.map(|one| one.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    };
    let pairs = |key: &str| {
        let empty = Map::new();
        let pairs = entry[key].as_object().unwrap_or(&empty).iter();
        pairs.map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect::<Option<Vec<_>>>()
    };
    let text = |key: &str| entry[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let by = match (text("command"), text("url"), entry["type"].as_str()) {
        (Some(command), None, None | Some("stdio")) => {
            let args = texts("args").ok_or("has `args` that are no texts")?;
            Reached::Program { command, args, env: pairs("env").ok_or("has `env` that are no texts")? }
        }
        (None, Some(url), None | Some("http")) => {
            Reached::Url { url, headers: pairs("headers").ok_or("has `headers` that are no texts")? }
        }
        _ => return Err("needs either a `command` or a `url` of the type http"),
    };
    Ok(Given { name: name.to_owned(), by })
}
