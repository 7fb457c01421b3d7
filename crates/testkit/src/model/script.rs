//! What the model does, reply after reply: a file `<script>.json` in the folder of scripts.
//!
//! ```json
//! {"turns": [{"do": {"write": {"path": "plan.md", "content": "…"}}, "fail": {"status": 529, "times": 2}},
//!            {"do": {"text": "done"}, "usage": {"input": 100, "cached": 40, "output": 7}}]}
//! ```
//!
//! For a conversation about several tasks, `{"tasks": {"A-001": [ … ], "A-002": [ … ]}}` has the replies of each task.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// The replies of the model, in order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    #[serde(default)]
    turns: Vec<Turn>,
    /// By the id of the task that the conversation is about.
    #[serde(default)]
    tasks: BTreeMap<String, Vec<Turn>>,
    /// Behind the last reply the first one comes again: the agent never ends by itself.
    #[serde(default, rename = "loop")]
    loops: bool,
}

/// One reply, and what happens on the way to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    #[serde(rename = "do")]
    pub(super) action: Action,
    /// Seconds before the answer.
    #[serde(default)]
    pub(super) delay: f64,
    #[serde(default)]
    pub(super) fail: Option<Fail>,
    #[serde(default)]
    pub(super) hang: Option<Hang>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
}

/// What the model says or wants done.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    /// Says this, which ends the agent's turn.
    Text(String),
    /// Has a file written, by whichever tool the agent offers. A relative path begins in the agent's folder, or in the one
    /// that the agent names behind the words `below`.
    Write {
        path: String,
        content: String,
        #[serde(default)]
        below: Option<String>,
    },
    /// Has a command run by a shell.
    Shell(String),
    /// Has a tool of a server called, whatever the agent puts in front of its name.
    Tool { name: String, arguments: Value },
    /// Answers with a value: by the tool for structured output where the agent offers one, else as text.
    Json(Value),
}

/// Answers with an HTTP status.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Fail {
    pub(super) status: u16,
    /// The first so many times only; each worker (`script@key`) counts for itself.
    #[serde(default = "always")]
    pub(super) times: u32,
    /// The seconds after which the agent is told to come back.
    #[serde(default, rename = "retry-after")]
    pub(super) retry_after: Option<u32>,
}

/// Never answers, the first so many times.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Hang {
    #[serde(default = "always")]
    pub(super) times: u32,
}

/// The tokens that a reply is said to have cost.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Usage {
    /// All of the input, with what came from a cache.
    pub(super) input: u64,
    #[serde(default)]
    pub(super) cached: u64,
    pub(super) output: u64,
}

const fn always() -> u32 {
    u32::MAX
}

impl Script {
    /// Reads one by its name; an error is a sentence.
    pub(super) fn read(folder: &Path, name: &str) -> Result<Self, String> {
        if name.is_empty() || name.starts_with('.') {
            return Err(format!("`{name}` is no name of a script"));
        }
        let path = folder.join(format!("{name}.json"));
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The task that a conversation is about, if there are replies for each task, and how many it has about it.
    pub(super) fn about(&self, body: &Value) -> Option<(String, usize)> {
        if self.tasks.is_empty() {
            return None;
        }
        let messages = ["messages", "input", "contents"].iter().find_map(|key| body[key].as_array())?;
        let mut about: Option<(String, usize)> = None;
        for message in messages {
            if is_reply(message) {
                about.iter_mut().for_each(|(_, replies)| *replies += 1);
            } else if let Some(task) = named_task(message)
                && about.as_ref().is_none_or(|(known, _)| *known != task)
            {
                about = Some((task, 0));
            }
        }
        about
    }

    /// The same for one of its tasks.
    pub(super) fn of_task(mut self, task: &str) -> Result<Self, String> {
        let turns = self.tasks.remove(task).ok_or_else(|| format!("the script has no task `{task}`"))?;
        Ok(Self { turns, tasks: BTreeMap::new(), loops: self.loops })
    }

    /// The reply to a conversation that has so many already. Behind the last one, the last one that ends a turn is said again,
    /// or all come again.
    pub(super) fn turn(mut self, replies: usize) -> Turn {
        let replies = if self.loops { replies % self.turns.len().max(1) } else { replies };
        if replies < self.turns.len() {
            return self.turns.swap_remove(replies);
        }
        let last = self.turns.into_iter().rfind(|turn| matches!(turn.action, Action::Text(_) | Action::Json(_)));
        last.unwrap_or_else(|| Turn::plain(Action::Text("done".to_owned())))
    }
}

/// Whether a message of any wire format is one of the model.
fn is_reply(message: &Value) -> bool {
    matches!(message["role"].as_str(), Some("assistant" | "model"))
        || matches!(message["type"].as_str(), Some("function_call" | "custom_tool_call" | "local_shell_call"))
}

/// The task that a prompt is for.
fn named_task(message: &Value) -> Option<String> {
    let mut waiting = vec![message];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => {
                let behind = text.split_once("## Task\nid: ").map(|(_, behind)| behind);
                if let Some(id) = behind.and_then(|behind| behind.lines().next()) {
                    return Some(id.trim().to_owned());
                }
            }
            Value::Array(values) => waiting.extend(values),
            Value::Object(fields) => waiting.extend(fields.values()),
            _ => {}
        }
    }
    None
}

impl Turn {
    /// An answer at once.
    pub(super) fn plain(action: Action) -> Self {
        Self { action, delay: 0.0, fail: None, hang: None, usage: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Result<Script, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn turn_is_found_by_earlier_replies() {
        let all = r#"{"turns": [{"do": {"shell": "ls"}}, {"do": {"json": {"a": 1}}}, {"do": {"text": "bye"}}]}"#;
        let at = |replies| script(all).unwrap().turn(replies).action;
        assert_eq!(at(0), Action::Shell("ls".to_owned()));
        assert_eq!(at(1), Action::Json(serde_json::json!({"a": 1})));
        assert_eq!(at(2), Action::Text("bye".to_owned()));
        assert_eq!(at(77), Action::Text("bye".to_owned()));
        let loops = all.replace("]}", "], \"loop\": true}");
        assert_eq!(script(&loops).unwrap().turn(4).action, at(1));
        let never_ends = script(r#"{"turns": [{"do": {"shell": "ls"}}]}"#).unwrap();
        assert_eq!(never_ends.turn(1).action, Action::Text("done".to_owned()));
    }

    #[test]
    fn the_task_of_a_conversation_chooses_the_replies() {
        let all = r#"{"tasks": {"A": [{"do": {"text": "a"}}], "B": [{"do": {"shell": "b"}}, {"do": {"text": "b"}}]}}"#;
        let prompt =
            |id: &str| serde_json::json!({"role": "user", "content": [{"text": format!("x\n## Task\nid: {id}\n")}]});
        let reply = || serde_json::json!({"role": "assistant", "content": "done"});
        let at = |messages: Vec<Value>| script(all).unwrap().about(&serde_json::json!({"messages": messages}));
        assert_eq!(at(vec![prompt("A"), reply(), prompt("B")]), Some(("B".to_owned(), 0)));
        assert_eq!(at(vec![prompt("B"), reply(), prompt("B")]), Some(("B".to_owned(), 1)), "it was taken up");
        assert_eq!(at(vec![reply()]), None);
        assert_eq!(script(all).unwrap().of_task("B").unwrap().turn(1).action, Action::Text("b".to_owned()));
        assert_eq!(script(all).unwrap().of_task("C").unwrap_err(), "the script has no task `C`");
    }

    #[test]
    fn troubles_come_always_unless_a_number_is_said() {
        let text = r#"{"turns": [{"do": {"text": ""}, "fail": {"status": 429, "times": 2, "retry-after": 3}, "hang": {},
                                  "delay": 0.5, "usage": {"input": 9, "output": 1}}]}"#;
        let turn = script(text).unwrap().turn(0);
        assert_eq!(turn.fail, Some(Fail { status: 429, times: 2, retry_after: Some(3) }));
        assert_eq!(turn.hang, Some(Hang { times: u32::MAX }));
        assert_eq!(turn.usage, Some(Usage { input: 9, cached: 0, output: 1 }));
    }

    #[test]
    fn script_error_is_reported() {
        assert!(script(r#"{"turns": [{"do": {"text": "a"}, "dely": 1}]}"#).is_err());
        assert!(script(r#"{"turns": [{"do": {"dance": "a"}}]}"#).is_err());
        let folder = tempfile::tempdir().unwrap();
        assert!(Script::read(folder.path(), "none").unwrap_err().contains("none.json: No such file"));
        assert_eq!(Script::read(folder.path(), "..").unwrap_err(), "`..` is no name of a script");
    }
}
