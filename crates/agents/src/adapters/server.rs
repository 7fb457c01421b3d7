//! The tools that an agent is given for its task: this program as a server of the Model Context Protocol, which the agent
//! starts itself. It knows whose worker it serves by the variables of the attempt; agents do not always pass those on, so
//! they are told in the agent's own configuration.

use std::path::Path;

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

impl Server {
    /// For the worker that is given an environment; nothing if the path of the program is no text.
    pub fn of(program: &Path, environment: &[(String, String)]) -> Option<Self> {
        // Everybody can read the arguments of a process. Below its keeper the server needs no secret.
        let ours = environment.iter().filter(|(name, _)| name.starts_with(OURS) && name != TOKEN);
        Some(Self { program: program.to_str()?.to_owned(), env: ours.cloned().collect() })
    }

    /// The entry in `mcpServers` of `session/new`, in the Agent Client Protocol.
    pub fn of_session(&self) -> Value {
        let env = self.env.iter().map(|(name, value)| json!({"name": name, "value": value}));
        json!({"name": NAME, "command": self.program, "args": [ARGUMENT], "env": env.collect::<Vec<_>>()})
    }

    /// The arguments for Claude. Without `alwaysLoad` its tools would hide behind a search for tools.
    pub(super) fn for_claude(&self) -> Vec<String> {
        let env: Map<_, _> = self.env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let entry =
            json!({"type": "stdio", "command": self.program, "args": [ARGUMENT], "env": env, "alwaysLoad": true});
        let config = json!({"mcpServers": {NAME: entry}}).to_string();
        ["--mcp-config".to_owned(), config, "--allowedTools".to_owned(), format!("mcp__{NAME}")].into()
    }

    /// The arguments for Codex. Unless its calls are approved beforehand, each of them fails.
    pub(super) fn for_codex(&self) -> Vec<String> {
        // A text in JSON is a text in TOML.
        let env: Vec<_> = self.env.iter().map(|(name, value)| format!("{name}={}", json!(value))).collect();
        let settings = [
            ("command", json!(self.program).to_string()),
            ("args", json!([ARGUMENT]).to_string()),
            ("env", format!("{{{}}}", env.join(","))),
            ("default_tools_approval_mode", json!("approve").to_string()),
            ("required", json!(true).to_string()),
        ];
        settings
            .iter()
            .flat_map(|(key, value)| ["-c".to_owned(), format!("mcp_servers.{NAME}.{key}={value}")])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Server {
        let environment =
            [("PATH", "/bin"), ("TEAM_EXECUTOR_TASK", "it's \"A\"\n"), ("KEY", "secret"), (TOKEN, "secret")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Server::of(Path::new("/bin/team executor"), &environment).unwrap()
    }

    #[test]
    fn an_agent_is_told_how_to_start_the_server_and_nothing_but_the_attempt() {
        let claude = server().for_claude();
        let config: Value = serde_json::from_str(&claude[1]).unwrap();
        let entry = &config["mcpServers"]["executor"];
        assert_eq!(entry["env"], json!({"TEAM_EXECUTOR_TASK": "it's \"A\"\n"}));
        assert_eq!((&entry["command"], &entry["alwaysLoad"]), (&json!("/bin/team executor"), &json!(true)));
        assert_eq!(claude[2..], ["--allowedTools", "mcp__executor"]);
        let codex = server().for_codex();
        assert_eq!(codex[..2], ["-c", r#"mcp_servers.executor.command="/bin/team executor""#]);
        assert_eq!(codex[5], r#"mcp_servers.executor.env={TEAM_EXECUTOR_TASK="it's \"A\"\n"}"#);
        let env = json!([{"name": "TEAM_EXECUTOR_TASK", "value": "it's \"A\"\n"}]);
        assert_eq!(server().of_session()["env"], env);
    }
}
