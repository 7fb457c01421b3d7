//! What the requests of all wire formats have in common, and how an action becomes a call of a tool that the agent has.

use std::path::Path;

use serde_json::{Value, json};

use super::script::{Action, Usage};

/// What an agent wants to know.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Ask {
    /// The names of the tools that it offers.
    pub(super) tools: Vec<String>,
    /// How many replies of the model the conversation has.
    pub(super) replies: usize,
    /// The schema that the answer has to follow.
    pub(super) schema: Option<Value>,
    /// Whether the answer is wanted in events.
    pub(super) streams: bool,
}

/// What the model answers.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) number: usize,
    pub(super) part: Part,
    pub(super) usage: Usage,
}

/// The one thing in an answer.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    Text(String),
    Call { tool: String, arguments: Value },
}

/// In front of the agent's folder in what agents tell their models.
const FOLDER: [&str; 4] =
    ["orking directory: ", "orking in the directory: ", "<cwd>", "Workspace Directories:**\n  - "];

impl Ask {
    /// A question that no worker asked: a title, a choice of model and the like come without tools.
    pub(super) fn is_aside(&self) -> bool {
        self.tools.is_empty()
    }

    /// A short answer to that, which follows the schema.
    pub(super) fn aside(&self) -> Part {
        let Some(schema) = &self.schema else { return Part::Text("ok".to_owned()) };
        let fields = schema["properties"].as_object().into_iter().flatten();
        let fields = fields.map(|(name, schema)| (name.clone(), sample(schema))).collect();
        Part::Text(Value::Object(fields).to_string())
    }

    /// The action as text or as a call. An agent without a tool for it gets a message that its test will see.
    pub(super) fn part(&self, action: Action, body: &Value) -> Part {
        match action {
            Action::Text(text) => Part::Text(text),
            Action::Json(value) => match self.tools.iter().find(|tool| *tool == "StructuredOutput") {
                Some(tool) => Part::Call { tool: tool.clone(), arguments: value },
                None => Part::Text(value.to_string()),
            },
            Action::Write { path, content, below } => {
                let folder = below.map_or_else(|| folder(body, &FOLDER), |words| folder(body, &[&words]));
                let path = Path::new(folder.unwrap_or_default()).join(path).to_string_lossy().into_owned();
                let known = [
                    ("Write", json!({"file_path": path, "content": content})),
                    ("write_file", json!({"file_path": path, "content": content})),
                    ("write", json!({"filePath": path, "content": content})),
                ];
                self.call(known).unwrap_or_else(|| self.shell(&writing(&path, &content)))
            }
            Action::Shell(command) => self.shell(&command),
            Action::Tool { name, arguments } => match self.tools.iter().find(|tool| is_of_server(tool, &name)) {
                Some(tool) => Part::Call { tool: tool.clone(), arguments },
                None => Part::Text(format!("no server offers {name} here: {}", self.tools.join(", "))),
            },
        }
    }

    fn shell(&self, command: &str) -> Part {
        let known = [
            ("Bash", json!({"command": command, "description": "scripted"})),
            ("exec_command", json!({"cmd": command})),
            ("run_shell_command", json!({"command": command, "is_background": false})),
            ("bash", json!({"command": command, "description": "scripted"})),
        ];
        let none = || Part::Text(format!("no known tool runs a command here: {}", self.tools.join(", ")));
        self.call(known).unwrap_or_else(none)
    }

    fn call<const N: usize>(&self, known: [(&str, Value); N]) -> Option<Part> {
        let (tool, arguments) = known.into_iter().find(|(name, _)| self.tools.iter().any(|tool| tool == name))?;
        Some(Part::Call { tool: tool.to_owned(), arguments })
    }
}

/// Whether an agent calls the tool of a server so: with words in front, then underscores or a dot.
fn is_of_server(tool: &str, name: &str) -> bool {
    tool.strip_suffix(name).is_some_and(|front| front.ends_with(['_', '.']))
}

/// A folder that the agent told the model, behind one of these marks.
fn folder<'a>(body: &'a Value, marks: &[&str]) -> Option<&'a str> {
    let mut waiting = vec![body];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => {
                let behind = marks.iter().find_map(|mark| text.split_once(mark).map(|(_, behind)| behind));
                let path = behind.and_then(|text| text.split(['\n', '<', '`', '"', ',']).next());
                // Claude adds where a conversation was before.
                let path = path.map(|path| path.split(" (was ").next().unwrap_or(path).trim_end());
                if let Some(path) = path.filter(|path| path.starts_with('/')) {
                    return Some(path);
                }
            }
            Value::Array(values) => waiting.extend(values),
            Value::Object(fields) => waiting.extend(fields.values()),
            _ => {}
        }
    }
    None
}

/// A command that writes a file.
fn writing(path: &str, content: &str) -> String {
    let parent = Path::new(path).parent().map(Path::to_string_lossy).filter(|parent| !parent.is_empty());
    let parent = quoted(&parent.unwrap_or_else(|| ".".into()));
    format!("mkdir -p {parent} && printf %s {} > {}", quoted(content), quoted(path))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Something that follows a simple schema.
fn sample(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or_default().to_ascii_lowercase().as_str() {
        "object" => json!({}),
        "array" => json!([]),
        "integer" | "number" => json!(1),
        "boolean" => json!(false),
        _ => json!("ok"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(tools: &[&str]) -> Ask {
        Ask { tools: tools.iter().map(|tool| (*tool).to_owned()).collect(), ..Ask::default() }
    }

    fn call(tool: &str, arguments: Value) -> Part {
        Part::Call { tool: tool.to_owned(), arguments }
    }

    #[test]
    fn file_is_written_by_the_available_tool() {
        let write = || Action::Write { path: "a/it's.md".to_owned(), content: "x'y\n".to_owned(), below: None };
        let told = [
            json!([{"text": "Env:\n - Primary working directory: /home/some one\nelse"}]),
            json!("- **Workspace Directories:**\n  - /home/some one\n- more"),
            json!({"a": {"b": "<env><cwd>/home/some one</cwd>"}}),
        ];
        let path = "/home/some one/a/it's.md";
        for body in told {
            let part = with(&["Bash", "Write"]).part(write(), &body);
            assert_eq!(part, call("Write", json!({"file_path": path, "content": "x'y\n"})));
        }
        let below = Some("the folder is ".to_owned());
        let below = Action::Write { path: "b.md".to_owned(), content: String::new(), below };
        let part = with(&["Write"]).part(below, &json!(["<cwd>/a</cwd>", "The rest: the folder is /c/d, and more"]));
        assert_eq!(part, call("Write", json!({"file_path": "/c/d/b.md", "content": ""})));
        let part = with(&["write"]).part(write(), &Value::Null);
        assert_eq!(part, call("write", json!({"filePath": "a/it's.md", "content": "x'y\n"})));
        let part = with(&["exec_command"]).part(write(), &Value::Null);
        let command = r"mkdir -p 'a' && printf %s 'x'\''y
' > 'a/it'\''s.md'";
        assert_eq!(part, call("exec_command", json!({"cmd": command})));
    }

    #[test]
    fn a_value_is_structured_output_where_that_is_offered() {
        let value = json!({"status": "completed"});
        let part = with(&["Bash", "StructuredOutput"]).part(Action::Json(value.clone()), &Value::Null);
        assert_eq!(part, call("StructuredOutput", value.clone()));
        let part = with(&["Bash"]).part(Action::Json(value), &Value::Null);
        assert_eq!(part, Part::Text(r#"{"status":"completed"}"#.to_owned()));
    }

    #[test]
    fn the_tool_of_a_server_is_found_whatever_stands_in_front() {
        let action = || Action::Tool { name: "report".to_owned(), arguments: json!({"a": 1}) };
        for tool in ["mcp__executor__report", "mcp__executor.report", "mcp_executor_report"] {
            assert_eq!(with(&["reporter", tool]).part(action(), &Value::Null), call(tool, json!({"a": 1})));
        }
        let none = with(&["Read"]).part(action(), &Value::Null);
        assert_eq!(none, Part::Text("no server offers report here: Read".to_owned()));
    }

    #[test]
    fn agent_without_shell_gets_a_message() {
        let part = with(&["Read", "Grep"]).part(Action::Shell("ls".to_owned()), &Value::Null);
        assert_eq!(part, Part::Text("no known tool runs a command here: Read, Grep".to_owned()));
    }

    #[test]
    fn side_request_gets_an_answer_of_its_schema() {
        assert!(with(&[]).is_aside());
        assert_eq!(with(&[]).aside(), Part::Text("ok".to_owned()));
        let schema = json!({"type": "object", "properties": {"n": {"type": "INTEGER"}, "t": {"enum": ["x", "y"]}}});
        let ask = Ask { schema: Some(schema), ..Ask::default() };
        assert_eq!(ask.aside(), Part::Text(r#"{"n":1,"t":"x"}"#.to_owned()));
    }
}
