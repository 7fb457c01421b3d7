//! Runs as tasks of the protocol of 2026-07-28.

use serde_json::{Value, json};
use team_executor_testkit::limited::limited_until;
use team_executor_testkit::{Gate, World};

use super::Served;
use crate::conversations::asked::{ASKS, asking};
use crate::run::{column, tasks};

/// What a client of that protocol says with each request; `more` are its capabilities.
fn meta(more: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": more,
    })
}

fn knows_tasks() -> Value {
    meta(&json!({"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}))
}

fn ask(client: &mut Served, method: &str, mut params: Value) -> Value {
    params["_meta"] = knows_tasks();
    client.ask(method, &params)
}

/// Starts a run, and gives the id of its task.
fn begin(client: &mut Served) -> String {
    let made = ask(client, "tools/call", json!({"name": "run", "arguments": {"session": "S"}}));
    let result = &made["result"];
    assert_eq!((&result["resultType"], &result["status"]), (&json!("task"), &json!("working")), "{made}");
    result["taskId"].as_str().expect("an id").to_owned()
}

/// Asks how a task stands until it is no longer this.
fn until_not(client: &mut Served, id: &str, status: &str) -> Value {
    loop {
        let stands = ask(client, "tasks/get", json!({"taskId": id}))["result"].clone();
        if stands["status"] != status {
            return stands;
        }
    }
}

/// R: A-08
#[test]
fn run_is_a_task_that_outlives_its_server() {
    let world = tasks(&[("A", "")]);
    let gate = Gate::new(world.dir().join("gate"));
    let worker = format!("cat {}; echo did it", gate.arg());
    let mut client = Served::bare(&world, &["--agent-command", &worker]);
    let id = begin(&mut client);
    client.kill();
    let mut client = Served::bare(&world, &["--agent-command", &worker]);
    let stands = ask(&mut client, "tasks/get", json!({"taskId": id}));
    assert_eq!(stands["result"]["status"], "working", "{stands}");
    gate.open();
    let done = until_not(&mut client, &id, "working");
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["result"]["structuredContent"]["finished"], true, "{done}");
    for wrong in [&id.replace("EX-", "EX-0"), "nothing"] {
        let refused = ask(&mut client, "tasks/get", json!({"taskId": wrong}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
}

/// R: A-08
#[test]
fn checkpoint_is_input_required_and_an_answer_goes_on() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    world.write("team-executor.toml", "[roles.worker]\ncheckpoint = true\n");
    let mut client = Served::bare(&world, &["--agent-command", "echo did it"]);
    let id = begin(&mut client);
    for nth in 0..2 {
        let stands = until_not(&mut client, &id, "working");
        assert_eq!(stands["status"], "input_required", "{stands}");
        let asked = stands["inputRequests"].as_object().expect("questions");
        let (key, question) = asked.iter().next().expect("a question");
        assert!(key.starts_with("checkpoint:"), "{key}");
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let declined = json!({"taskId": id, "inputResponses": {key: {"action": "decline"}}});
        ask(&mut client, "tasks/update", declined);
        let answer = json!({"action": "accept", "content": {"action": "resume"}});
        let told = ask(&mut client, "tasks/update", json!({"taskId": id, "inputResponses": {key: answer}}));
        assert_eq!(told["result"]["resultType"], "complete", "{nth}: {told}");
    }
    let done = until_not(&mut client, &id, "working");
    assert_eq!(done["status"], "completed", "{done}");
}

/// R: A-08
#[test]
fn permission_is_input_required_and_an_answer_goes_on() {
    let world = asking("edit", "", ASKS);
    let mut client = Served::bare(&world, &[]);
    let id = begin(&mut client);
    let stands = until_not(&mut client, &id, "working");
    assert_eq!(stands["status"], "input_required", "{stands}");
    let asked = stands["inputRequests"].as_object().expect("questions");
    let (key, question) = asked.iter().next().expect("a question");
    assert!(
        question["params"]["message"].as_str().is_some_and(|text| text.contains("edit: Writing to a.md")),
        "{question}"
    );
    let answer = json!({"action": "accept", "content": {"allow": true}});
    ask(&mut client, "tasks/update", json!({"taskId": id, "inputResponses": {key: answer}}));
    let done = until_not(&mut client, &id, "working");
    assert_eq!(done["status"], "completed", "{done}");
    // The table follows the journal.
    limited_until("the findings in the table", || (column(&world, "findings") == ["allowed"]).then_some(()));
}

/// R: A-08
#[test]
fn cancelled_task_ends_its_run() {
    let world = tasks(&[("A", "")]);
    let mut client = Served::bare(&world, &["--agent-command", "tail -f /dev/null"]);
    let id = begin(&mut client);
    let told = ask(&mut client, "tasks/cancel", json!({"taskId": id}));
    assert_eq!(told["result"]["resultType"], "complete", "{told}");
    let stands = until_not(&mut client, &id, "working");
    assert_eq!(stands["status"], "cancelled", "{stands}");
    assert_eq!(world.living("TEAM_EXECUTOR_RUN"), []);
}

/// R: A-08
#[test]
fn client_without_tasks_waits_as_before() {
    let world = tasks(&[("A", "")]);
    let mut client = Served::bare(&world, &["--agent-command", "echo did it"]);
    let call = json!({"name": "run", "arguments": {"session": "S"}, "_meta": meta(&json!({}))});
    let answer = client.ask("tools/call", &call);
    assert_eq!(answer["result"]["structuredContent"]["ending"], "completed", "{answer}");
    let refused = client.ask("tasks/get", &json!({"taskId": "x", "_meta": meta(&json!({}))}));
    assert!(refused["error"]["code"].is_i64(), "{refused}");
}

fn two_projects() -> World {
    let world = tasks(&[("A", "")]);
    world.copy_tree(world.dir().join("S"), "one/S");
    world.copy_tree(world.dir().join("S"), "two/S");
    world
}

/// R: A-08
#[test]
fn roots_of_the_command_line_bound_every_client() {
    let world = two_projects();
    let mut client = Served::bare(&world, &["--agent-command", "echo did it", "--root", "one", "two"]);
    let mut call = |session: &str| {
        ask(&mut client, "tools/call", json!({"name": "validate", "arguments": {"session": session}}))["result"].clone()
    };
    assert_eq!(call("S")["isError"], json!(false), "seen from the first root");
    let two = world.dir().join("two/S").display().to_string();
    assert_eq!(call(&two)["isError"], json!(false));
    let outside = call(&world.dir().join("S").display().to_string());
    assert!(outside.to_string().contains("outside the roots"), "{outside}");
    let refused = world.run(&["mcp", "--serve", "--root", "none"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("`--root` names no folder: none"), "{refused}");
}
