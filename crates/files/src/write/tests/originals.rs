//! What is written into files of users: what changed, and nothing else.

use team_executor_core::{
    ActiveWorker, Phase, Role, Session, SessionId, SessionStatus, Task, TaskId, TaskStatus, Timestamp,
};

use super::super::{lifecycle, tasks_json, team_session};
use super::arbitrary::{role_name, task_id};
use super::{graph, load_lifecycle, load_tasks_json, load_team_session};
use crate::{json, limits};

/// R: M-03, P-05
#[test]
fn a_changed_task_leaves_the_rest_of_tasks_json() {
    let original = "\u{FEFF}{ \"x1\": [1,  2.50,\t{\"a\" :null}], \"topic\": \"\\u0072\", \"\": 1e400, \"mode\": \"p\",
        \"skill\": \"s\", \"x\\u0032\": \"\\ud800\", \"created_at\": \"2026-03-24\", \"tasks\": [
          { \"x3\": {\"k\":  1}, \"blockedBy\": \"\", \"id\": 7, \"role\": \"dev\", \"status\": \"done\", \"findings\": \"f\",
            \"error\": \"\", \"title\": \"\\u0054\", \"phase\": \"analysis\", \"x4\": 1, \"deps\": [] },
          { \"id\": \"B\", \"subject\": \"s\", \"role\": \"dev\", \"depends_on\": \"7\", \"status\": \"todo\", \"x5\": -0.0 }
        ], \"x6\": {} }\r\n";
    let (mut session, graph) = load_tasks_json(original).session.unwrap();
    assert_eq!(tasks_json(Some(original), &session, &graph), original);
    session.tasks[1].status = TaskStatus::Completed;
    session.tasks[1].findings = Some("it works".to_owned());
    let expected = original
        .replace("\"todo\", \"x5\": -0.0", "\"completed\", \"x5\": -0.0, \"findings\": \"it works\"")
        .replace("\"x6\": {}", "\"x6\": {}, \"completed_waves\": [1,2]");
    assert_eq!(tasks_json(Some(original), &session, &graph), expected);
    assert_eq!(load_tasks_json(&expected).session.unwrap().0.tasks, session.tasks);
    session.tasks.push(Task { title: "More".to_owned(), ..Task::new(task_id(1), role_name(0)) });
    let more = tasks_json(Some(original), &session, &super::graph(&session));
    assert!(more.contains("\"it works\" },\r\n") || more.contains("\"it works\" },\n          {\r\n"), "{more}");
    assert_eq!(load_tasks_json(&more).session.unwrap().0.tasks.len(), 3, "{more}");
}

/// R: M-03, P-05
#[test]
fn a_changed_task_leaves_the_rest_of_a_lifecycle() {
    let original = r#"{ "x1": { "b": 1, "a":[ ] }, "status": "active", "session_id": "TLS-a-20260305",
        "updated_at": "2026-04-28T10:46:15.2828602+08:00",
        "task_list": { "A": { "x2": 0.10, "role": "dev", "phase": "impl", "blockedBy": [], "deps": [], "status": "in-progress",
            "metadata": { "x3": [ ], "error_message": "old" } } },
        "artifact_registry": [ { "x4": 1, "id": "a", "artifact_type": "code", "path": "a", "creator_role": "dev",
            "validation_status": "pending", "metadata": { "x5": "", "file_size": 1 } } ],
        "checkpoint_history": [ { "x6": 1 }, { "x7": 1, "user_action": "resume" } ],
        "roles": [ "dev", { "x8": 1, "name": "b", "task_prefix": "B-*" } ], "session_directory": "/somewhere", "x9": null }"#;
    let (mut session, _) = load_lifecycle(original).session.unwrap();
    assert_eq!(lifecycle(Some(original), &session), original);
    session.tasks[0].error = None;
    session.tasks[0].status = TaskStatus::Completed;
    let expected =
        original.replace(r#""in-progress""#, r#""completed""#).replace(r#"[ ], "error_message": "old" }"#, "[ ] }");
    assert_eq!(lifecycle(Some(original), &session), expected);
    session.tasks.push(Task { phase: Some(Phase::Test), ..Task::new(task_id(1), role_name(0)) });
    let (read, _) = load_lifecycle(&lifecycle(Some(original), &session)).session.unwrap();
    assert_eq!((read.tasks.len(), read.tasks[0].status), (2, TaskStatus::Completed));
}

/// R: M-03, P-05
#[test]
fn a_changed_task_leaves_the_rest_of_a_team_session() {
    let original = r#"{ "x1": [ 1 ], "session_id": "TC-1", "task_description": "r", "status": "active",
        "team_name": "t", "roles": [ "planner", { "x2": 1, "name": "执行者", "prefix": "E", "inner_loop": "dynamic" } ],
        "completion_action": "report_only", "active_workers": [ "w1", { "x3":1, "taskId": "A", "agent": "w2" } ],
        "completed_tasks": [],
        "pipeline": { "x4": {}, "dependency_graph": { "A": {  "depends_on": [], "role": "planner" } } } }"#;
    let planned = Session {
        tasks: vec![Task::new(TaskId::parse("A").unwrap(), role_name(0))],
        roles: vec![Role::new(role_name(0)), Role::new(role_name(1))],
        ..Session::new(SessionId::parse("TC-1").unwrap())
    };
    let (mut session, _) = load_team_session(original, &planned).session.unwrap();
    assert_eq!(team_session(Some(original), &session), original);
    session.tasks[0].status = TaskStatus::Completed;
    session.active_workers.push(ActiveWorker { task: None, agent: "w3".to_owned() });
    let expected = original
        .replace(r#""w2" } ]"#, r#""w2" },{"agent_id":"w3"}]"#)
        .replace(r#"[ "w1", {"#, r#"["w1",{"#)
        .replace("\"completed_tasks\": []", "\"completed_tasks\": [\n          \"A\"\n        ]")
        .replace("\"planner\" } } } }", "\"planner\" } }, \"tasks_completed\": 1 } }");
    assert_eq!(team_session(Some(original), &session), expected);
}

/// R: M-02
#[test]
fn each_dialect_writes_only_its_own_words() {
    let written = |text: &str, path: &[&str]| {
        let document = json::parse(text).unwrap();
        path.iter()
            .fold(document.root(), |value, name| value.get(name).or_else(|| value.items().next()).unwrap())
            .as_text()
            .unwrap()
            .into_owned()
    };
    let mut session = Session::new(SessionId::parse("S").unwrap());
    session.tasks.push(Task::new(TaskId::parse("A").unwrap(), role_name(0)));
    let graph = graph(&session);
    for (status, of_tasks_json) in
        TaskStatus::ALL.iter().zip(["pending", "pending", "in_progress", "completed", "failed", "skipped"])
    {
        session.tasks[0].status = *status;
        assert_eq!(written(&tasks_json(None, &session, &graph), &["tasks", "A", "status"]), of_tasks_json);
        assert_eq!(written(&lifecycle(None, &session), &["task_list", "0", "status"]), status.word());
    }
    for (status, of_tc) in
        SessionStatus::ALL.iter().zip(["active", "active", "paused", "completed", "paused", "completed"])
    {
        session.status = *status;
        assert_eq!(written(&team_session(None, &session), &["status"]), of_tc);
        assert_eq!(written(&lifecycle(None, &session), &["status"]), status.word());
    }
}

#[test]
fn the_list_of_completed_tasks_is_kept_true() {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    let id = |name: &str| TaskId::parse(name).unwrap();
    for (name, status) in [
        ("A", TaskStatus::Completed),
        ("B", TaskStatus::Pending),
        ("C", TaskStatus::Failed),
        ("D", TaskStatus::Completed),
        ("E", TaskStatus::Pending),
    ] {
        session.tasks.push(Task { status, ..Task::new(id(name), role_name(0)) });
    }
    session.completed_tasks = ["D", "X", "C", "B", "D"].map(id).to_vec();
    for (original, expected) in [
        (r#"["D", "B",  "A"]"#, r#"["D", "B",  "A"]"#),
        (r#"["D", "B"]"#, r#"["D", "B", "A"]"#),
        (r#"["X"]"#, r#"["A","B","D"]"#),
    ] {
        let text = team_session(Some(&format!(r#"{{ "status": "active", "completed_tasks": {original} }}"#)), &session);
        assert!(text.contains(&format!(r#""completed_tasks": {expected}"#)), "{text}");
    }
}

#[test]
fn long_findings_are_cut_and_kept() {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    session.created_at = Some(Timestamp::from_micros(0));
    session.tasks.push(Task::new(TaskId::parse("A").unwrap(), role_name(0)));
    let graph = graph(&session);
    let mut text = None;
    for (chars, is_cut) in [(limits::FINDINGS_CHARS, false), (limits::FINDINGS_CHARS + 1, true), (1, false)] {
        session.tasks[0].findings = Some("é".repeat(chars));
        session.tasks[0].status = TaskStatus::Completed;
        let written = tasks_json(text.as_deref(), &session, &graph);
        let document = json::parse(&written).unwrap();
        let task = document.root().get("tasks").and_then(|tasks| tasks.get("A")).unwrap();
        let findings = task.get("findings").unwrap().as_text().unwrap();
        assert_eq!(findings.chars().count(), chars.min(limits::FINDINGS_CHARS));
        assert_eq!(task.get("findings_full").is_some(), is_cut);
        let (read, _) = load_tasks_json(&written).session.unwrap();
        assert_eq!(read.tasks[0].findings, session.tasks[0].findings);
        text = Some(written);
    }
    session.tasks[0].status = TaskStatus::Completed;
    for unsaid in [None, Some(String::new())] {
        session.tasks[0].findings = unsaid;
        assert!(tasks_json(text.as_deref(), &session, &graph).contains("\"findings\": \"nothing was reported\""));
    }
}

/// R: P-05
#[test]
fn a_task_that_only_the_file_has_stays() {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    session.tasks.push(Task::new(TaskId::parse("A").unwrap(), role_name(0)));
    let original = r#"{ "tasks": { "New": { "role": "dev", "blockedBy": [ "A" ] }, "A": { "role": "dev" } } }"#;
    assert_eq!(tasks_json(Some(original), &session, &graph(&session)), original);
    let original = r#"{ "status":"active", "task_list": { "New": { "role": "dev" } } }"#;
    let text = lifecycle(Some(original), &session);
    assert!(
        text.starts_with(r#"{ "status":"active", "task_list": { "New": { "role": "dev" }, "A": {"id":"A""#),
        "{text}"
    );
}

/// R: P-05
#[test]
fn new_values_take_the_layout_of_their_neighbours() {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    session.tasks.push(Task::new(TaskId::parse("A").unwrap(), role_name(0)));
    session.tasks[0].findings = Some("f".to_owned());
    for (original, expected) in [
        ("{\"tasks\":{\"A\":{\"role\":\"dev\"}}}", "{\"tasks\":{\"A\":{\"role\":\"dev\",\"findings\":\"f\"}}}"),
        (
            "{\r\n\t\"tasks\": [\r\n\t\t{\r\n\t\t\t\"id\" : \"A\"\r\n\t\t}\r\n\t]\r\n}",
            "{\r\n\t\"tasks\": [\r\n\t\t{\r\n\t\t\t\"id\" : \"A\",\r\n\t\t\t\"findings\" : \"f\"\r\n\t\t}\r\n\t]\r\n}",
        ),
        ("{\n\"tasks\": {\n\"A\": {}\n}\n}", "{\n\"tasks\": {\n\"A\": {\n  \"findings\": \"f\"\n}\n}\n}"),
    ] {
        assert_eq!(tasks_json(Some(original), &session, &graph(&session)), expected);
    }
}

#[test]
fn duplicate_field_is_written_once() {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    let id = TaskId::parse("A").unwrap();
    session.tasks.push(Task::new(id.clone(), role_name(0)));
    let worker = |agent: &str, task| ActiveWorker { task, agent: agent.to_owned() };
    session.active_workers = vec![worker("w1", Some(id.clone())), worker("w2", Some(id)), worker("w3", None)];
    let text = tasks_json(None, &session, &graph(&session));
    assert!(json::parse(&text).unwrap().repeated_keys().is_empty(), "{text}");
    assert!(text.contains("\"active_agents\": {\n    \"A\": \"w1\"\n  }"), "{text}");
}

#[test]
fn a_pipeline_of_another_dialect_is_not_written() {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    for (pipeline, written) in
        [(None, "full-lifecycle"), (Some("quick"), "full-lifecycle"), (Some("spec-only"), "spec-only")]
    {
        session.pipeline = pipeline.map(str::to_owned);
        assert!(lifecycle(None, &session).contains(&format!("\"pipeline_type\": \"{written}\"")));
    }
}

#[test]
fn unreadable_time_stays() {
    let session = Session::new(SessionId::parse("S").unwrap());
    let text = tasks_json(Some(r#"{ "created_at": "yesterday", "tasks": {} }"#), &session, &graph(&session));
    assert!(text.contains("\"created_at\": \"yesterday\""));
}
