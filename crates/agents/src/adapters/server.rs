//! The tools that an agent is given for its task: this program as a server of the Model Context Protocol, which the agent
//! starts itself. It knows whose worker it serves by the variables of the attempt; agents do not always pass those on, so
//! they are told in the agent's own configuration.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::token::TOKEN;

/// What agents call it.
pub const NAME: &str = "executor";
/// What makes the program such a server.
const ARGUMENT: &str = "mcp";
/// How the variables of an attempt begin.
const OURS: &str = "TEAM_EXECUTOR_";

/// How the server of an attempt's tools is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    program: String,
    env: Vec<(String, String)>,
}

/// A server of tools that the user gives an agent beside ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// What agents call it.
    pub name: String,
    /// How it is reached.
    pub by: Reached,
}

/// How a server of tools is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reached {
    /// The agent starts it.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that are set for it.
        env: Vec<(String, String)>,
    },
    /// It runs already, and is spoken to over HTTP.
    Url {
        /// Where.
        url: String,
        /// What is sent with each request.
        headers: Vec<(String, String)>,
    },
}

impl Given {
    /// The entry in `mcpServers` of `session/new`, in the Agent Client Protocol.
    pub fn of_session(&self) -> Value {
        let pairs = |pairs: &[(String, String)]| -> Vec<Value> {
            pairs.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
        };
        match &self.by {
            Reached::Program { command, args, env } => {
                json!({"name": self.name, "command": command, "args": args, "env": pairs(env)})
            }
            Reached::Url { url, headers } => {
                json!({"type": "http", "name": self.name, "url": url, "headers": pairs(headers)})
            }
        }
    }

    fn for_claude(&self) -> Value {
        match &self.by {
            Reached::Program { command, args, env } => {
                json!({"type": "stdio", "command": command, "args": args, "env": object(env), "alwaysLoad": true})
            }
            Reached::Url { url, headers } => {
                json!({"type": "http", "url": url, "headers": object(headers), "alwaysLoad": true})
            }
        }
    }

    fn for_codex(&self) -> Vec<String> {
        let mut settings = match &self.by {
            Reached::Program { command, args, env } => {
                vec![("command", json!(command).to_string()), ("args", json!(args).to_string()), ("env", inline(env))]
            }
            Reached::Url { url, headers } => {
                vec![("url", json!(url).to_string()), ("http_headers", inline(headers))]
            }
        };
        settings.push(("default_tools_approval_mode", json!("approve").to_string()));
        for_codex(&self.name, &settings)
    }
}

/// The arguments that give Claude our server and others. Without `alwaysLoad` their tools would hide behind a search for tools.
pub(super) fn claude_servers(ours: Option<&Server>, given: &[Given], asks: bool) -> Vec<String> {
    let mut all = Map::new();
    all.extend(ours.map(|ours| (NAME.to_owned(), ours.entry())));
    all.extend(given.iter().map(|one| (one.name.clone(), one.for_claude())));
    if all.is_empty() {
        return Vec::new();
    }
    // A person who wants to be asked is asked about tools of others too.
    let others = given.iter().filter(|_| !asks).map(|one| one.name.as_str());
    let allowed: Vec<_> = ours.map(|_| NAME).into_iter().chain(others).map(|name| format!("mcp__{name}")).collect();
    let config = json!({"mcpServers": all}).to_string();
    let allowed = (!allowed.is_empty()).then(|| ["--allowedTools".to_owned(), allowed.join(",")]);
    ["--mcp-config".to_owned(), config].into_iter().chain(allowed.into_iter().flatten()).collect()
}

/// The arguments that give Codex our server and others.
pub(super) fn codex_servers(ours: Option<&Server>, given: &[Given]) -> Vec<String> {
    let ours = ours.map(Server::for_codex).unwrap_or_default();
    ours.into_iter().chain(given.iter().flat_map(Given::for_codex)).collect()
}

fn object(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
}

/// A table of TOML in a line. A text in JSON is a text in TOML.
fn inline(pairs: &[(String, String)]) -> String {
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{}={}", json!(name), json!(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

fn for_codex(name: &str, settings: &[(&str, String)]) -> Vec<String> {
    settings.iter().flat_map(|(key, value)| ["-c".to_owned(), format!("mcp_servers.{name}.{key}={value}")]).collect()
}

impl Server {
    /// For the worker that is given an environment; nothing if the path of the program is no text.
    pub fn for_worker(program: &Path, environment: &[(String, String)]) -> Option<Self> {
        // Everybody can read the arguments of a process. Below its keeper the server needs no secret.
        let ours = environment.iter().filter(|(name, _)| name.starts_with(OURS) && name != TOKEN);
        Some(Self { program: program.to_str()?.to_owned(), env: ours.cloned().collect() })
    }

    /// The entry in `mcpServers` of `session/new`, in the Agent Client Protocol.
    pub fn of_session(&self) -> Value {
        let env = self.env.iter().map(|(name, value)| json!({"name": name, "value": value}));
        json!({"name": NAME, "command": self.program, "args": [ARGUMENT], "env": env.collect::<Vec<_>>()})
    }

    fn entry(&self) -> Value {
        json!({"type": "stdio", "command": self.program, "args": [ARGUMENT], "env": object(&self.env), "alwaysLoad": true})
    }

    /// The arguments for Codex. Unless its calls are approved beforehand, each of them fails.
    fn for_codex(&self) -> Vec<String> {
        let settings = [
            ("command", json!(self.program).to_string()),
            ("args", json!([ARGUMENT]).to_string()),
            ("env", inline(&self.env)),
            ("default_tools_approval_mode", json!("approve").to_string()),
            ("required", json!(true).to_string()),
        ];
        for_codex(NAME, &settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Server {
        let environment =
            [("PATH", "/bin"), ("TEAM_EXECUTOR_TASK", "it's \"A\"\n"), ("KEY", "secret"), (TOKEN, "secret")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Server::for_worker(Path::new("/bin/team executor"), &environment).unwrap()
    }

    #[test]
    fn server_command_names_only_the_attempt() {
        let claude = claude_servers(Some(&server()), &[], false);
        let config: Value = serde_json::from_str(&claude[1]).unwrap();
        let entry = &config["mcpServers"]["executor"];
        assert_eq!(entry["env"], json!({"TEAM_EXECUTOR_TASK": "it's \"A\"\n"}));
        assert_eq!((&entry["command"], &entry["alwaysLoad"]), (&json!("/bin/team executor"), &json!(true)));
        assert_eq!(claude[2..], ["--allowedTools", "mcp__executor"]);
        let codex = server().for_codex();
        assert_eq!(codex[..2], ["-c", r#"mcp_servers.executor.command="/bin/team executor""#]);
        assert_eq!(codex[5], r#"mcp_servers.executor.env={"TEAM_EXECUTOR_TASK"="it's \"A\"\n"}"#);
        let env = json!([{"name": "TEAM_EXECUTOR_TASK", "value": "it's \"A\"\n"}]);
        assert_eq!(server().of_session()["env"], env);
    }

    #[test]
    fn servers_of_the_user_stand_beside_ours() {
        let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let given = [
            Given {
                name: "docs".to_owned(),
                by: Reached::Program { command: "docs".to_owned(), args: vec!["-x".to_owned()], env: pair("A-B", "1") },
            },
            Given { name: "web".to_owned(), by: Reached::Url { url: "http://x/".to_owned(), headers: pair("k", "v") } },
        ];
        let claude = claude_servers(Some(&server()), &given, false);
        let config: Value = serde_json::from_str(&claude[1]).unwrap();
        let names: Vec<_> = config["mcpServers"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["docs", "executor", "web"]);
        assert_eq!(config["mcpServers"]["web"]["headers"], json!({"k": "v"}));
        assert_eq!(claude[3], "mcp__executor,mcp__docs,mcp__web");
        assert_eq!(claude_servers(Some(&server()), &given, true)[3], "mcp__executor", "others are asked about");
        assert_eq!(claude_servers(None, &[], false), [""; 0]);
        let codex = codex_servers(None, &given);
        assert!(codex.contains(&r#"mcp_servers.docs.env={"A-B"="1"}"#.to_owned()), "{codex:?}");
        assert!(codex.contains(&r#"mcp_servers.web.url="http://x/""#.to_owned()), "{codex:?}");
        assert_eq!(given[1].of_session()["headers"], json!([{"name": "k", "value": "v"}]));
    }
}
