//! What is written over files of users: what they wrote stays, what the format knows becomes strict.

use team_executor_core::{
    ActiveWorker, Phase, Role, Session, SessionId, SessionStatus, Task, TaskId, TaskStatus, Timestamp,
};

use super::super::{lifecycle, tasks_json, team_session};
use super::arbitrary::{role_name, task_id};
use super::{graph, load_lifecycle, load_tasks_json, load_team_session, messages};
use crate::{json, limits};

/// Every unknown key of an object with its raw value, in order.
fn unknown<'s>(document: &'s json::Document<'s>, path: &[&str]) -> Vec<(String, &'s str)> {
    let mut value = document.root();
    for name in path {
        value = match name.parse::<usize>() {
            Ok(nth) => value.items().nth(nth).unwrap(),
            Err(_) => value.get(name).unwrap(),
        };
    }
    let odd = value.entries().filter(|entry| entry.name().starts_with('x') || entry.name().is_empty());
    odd.map(|entry| (entry.key.raw().to_owned(), entry.value.raw())).collect()
}

/// R: M-03
#[test]
fn unknown_keys_of_tasks_json_survive_and_nothing_else_is_odd() {
    let original = "\u{FEFF}{ \"x1\": [1,  2.50,\t{\"a\" :null}], \"topic\": \"\\u0072\", \"\": 1e400, \"mode\": \"p\",
        \"skill\": \"s\", \"x\\u0032\": \"\\ud800\", \"created_at\": \"2026-03-24\", \"tasks\": [
          { \"x3\": {\"k\":  1}, \"blockedBy\": \"\", \"id\": 7, \"role\": \"dev\", \"status\": \"done\", \"findings\": \"f\",
            \"error\": \"\", \"title\": \"\\u0054\", \"phase\": \"analysis\", \"x4\": 1, \"deps\": [] },
          { \"id\": \"B\", \"role\": \"dev\", \"depends_on\": \"7\", \"status\": \"timed_out\", \"error\": \"slow\", \"x5\": -0.0 }
        ], \"x6\": {} }";
    let loaded = load_tasks_json(original);
    assert!(loaded.findings.warning_count() > 10);
    let (session, graph) = loaded.session.unwrap();
    let text = tasks_json(Some(original), &session, &graph);
    assert_eq!(
        text,
        r#"{
  "x1": [1,  2.50,	{"a" :null}],
  "requirement": "\u0072",
  "": 1e400,
  "pipeline": "p",
  "skill": "s",
  "x\u0032": "\ud800",
  "created_at": "2026-03-24T00:00:00Z",
  "tasks": {
    "7": {
      "x3": {"k":  1},
      "deps": [],
      "id": "7",
      "role": "dev",
      "status": "completed",
      "findings": "f",
      "error": null,
      "title": "\u0054",
      "pipeline_phase": "analysis",
      "x4": 1,
      "description": "T",
      "wave": 1
    },
    "B": {
      "id": "B",
      "role": "dev",
      "deps": [
        "7"
      ],
      "status": "failed",
      "error": "slow",
      "x5": -0.0,
      "title": "",
      "description": "",
      "wave": 2,
      "findings": null
    }
  },
  "x6": {},
  "session_id": "f",
  "completed_waves": [
    1,
    2
  ],
  "active_agents": {}
}
"#
    );
    let again = load_tasks_json(&text);
    assert_eq!(messages(&again), ["half of a surrogate pair was read as U+FFFD; the text is kept as it is"]);
    assert_eq!(tasks_json(Some(&text), &again.session.as_ref().unwrap().0, &again.session.as_ref().unwrap().1), text);
}

/// R: M-03
#[test]
fn unknown_keys_of_a_lifecycle_survive_and_nothing_else_is_odd() {
    let original = r#"{ "x1": { "b": 1, "a":[ ] }, "status": "active", "session_id": "TLS-a-20260305",
        "updated_at": "2026-04-28T10:46:15.2828602+08:00",
        "task_list": { "A": { "x2": 0.10, "role": "dev", "phase": "impl", "blockedBy": [], "status": "in-progress",
            "metadata": { "x3": [ ], "error_message": "old" } } },
        "artifact_registry": [ { "x4": 1, "id": "a", "artifact_type": "code", "path": "a", "creator_role": "dev",
            "validation_status": "pending", "metadata": { "x5": "", "file_size": 1 } } ],
        "checkpoint_history": [ { "x6": 1 }, { "x7": 1, "user_action": "resume" } ],
        "roles": [ "dev", { "x8": 1, "name": "b", "task_prefix": "B-*" } ], "session_directory": "/somewhere", "x9": null }"#;
    let (mut session, _) = load_lifecycle(original).session.unwrap();
    session.tasks[0].error = None;
    session.tasks[0].status = TaskStatus::Completed;
    session.tasks.push(Task { phase: Some(Phase::Test), ..Task::new(task_id(1), role_name(0)) });
    let text = lifecycle(Some(original), &session);

    let document = json::parse(&text).unwrap();
    let pairs = |path: &[&str]| unknown(&document, path);
    let pair = |name: &str, raw: &'static str| (format!("\"{name}\""), raw);
    assert_eq!(pairs(&[]), [pair("x1", r#"{ "b": 1, "a":[ ] }"#), pair("x9", "null")]);
    assert_eq!(pairs(&["task_list", "0"]), [pair("x2", "0.10")]);
    assert_eq!(pairs(&["task_list", "0", "metadata"]), [pair("x3", "[ ]")]);
    assert_eq!(pairs(&["artifact_registry", "a"]), [pair("x4", "1")]);
    assert_eq!(pairs(&["artifact_registry", "a", "metadata"]), [pair("x5", "\"\"")]);
    assert_eq!(pairs(&["checkpoint_history", "0"]), [pair("x6", "1")]);
    assert_eq!(pairs(&["checkpoint_history", "1"]), [pair("x7", "1")]);
    assert_eq!(pairs(&["roles", "1"]), [pair("x8", "1")]);
    assert!(text.contains("\"2026-04-28T10:46:15.2828602+08:00\"") && text.contains("\"/somewhere\""));
    assert!(!text.contains("error_message"));

    let loaded = load_lifecycle(&text);
    // An entry of the history that says nothing stays, because it is not ours; so it is said again.
    assert_eq!(messages(&loaded), ["`user_action` is missing: the checkpoint was ignored"]);
    let (read, _) = loaded.session.unwrap();
    assert_eq!((read.tasks.len(), read.tasks[0].status), (2, TaskStatus::Completed));
    assert_eq!(lifecycle(Some(&text), &read), text);
}

/// R: M-03
#[test]
fn unknown_keys_of_a_team_session_survive_and_nothing_else_is_odd() {
    let original = r#"{ "x1": [ 1 ], "session_id": "TC-1", "task_description": "r", "status": "active",
        "team_name": "t", "roles": [ "planner", { "x2": 1, "name": "执行者", "prefix": "E", "inner_loop": "dynamic" } ],
        "completion_action": "report_only", "active_workers": [ "w1", { "x3":1, "taskId": "A", "agent": "w2" } ],
        "pipeline": { "x4": {}, "dependency_graph": { "A": {  "depends_on": [], "role": "planner" } } } }"#;
    let planned = Session {
        tasks: vec![Task::new(TaskId::parse("A").unwrap(), role_name(0))],
        roles: vec![Role::new(role_name(0)), Role::new(role_name(1))],
        ..Session::new(SessionId::parse("TC-1").unwrap())
    };
    let (mut session, _) = load_team_session(original, &planned).session.unwrap();
    session.tasks[0].status = TaskStatus::Completed;
    session.active_workers.push(ActiveWorker { task: None, agent: "w3".to_owned() });
    let text = team_session(Some(original), &session);
    assert_eq!(
        text,
        r#"{
  "x1": [ 1 ],
  "session_id": "TC-1",
  "task_description": "r",
  "status": "active",
  "team_name": "t",
  "roles": [
    {
      "name": "planner",
      "prefix": "P",
      "role_spec": "role-specs/planner.md"
    },
    {
      "x2": 1,
      "name": "执行者",
      "prefix": "E",
      "inner_loop": false,
      "role_spec": "role-specs/执行者.md"
    }
  ],
  "completion_action": "auto_keep",
  "active_workers": [
    "w1",
    { "x3":1, "taskId": "A", "agent": "w2" },
    {
      "agent_id": "w3"
    }
  ],
  "pipeline": {
    "x4": {},
    "dependency_graph": { "A": {  "depends_on": [], "role": "planner" } },
    "tasks_total": 1,
    "tasks_completed": 1
  },
  "completed_tasks": [
    "A"
  ]
}
"#
    );
    let loaded = load_team_session(&text, &planned);
    assert_eq!(messages(&loaded), [""; 0]);
    let (mut read, _) = loaded.session.unwrap();
    read.tasks[0].status = TaskStatus::Completed;
    assert_eq!(read.active_workers, session.active_workers);
    assert_eq!(team_session(Some(&text), &read), text);
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
    let text = team_session(Some(r#"{ "completed_tasks": ["D", "B",  "A"] }"#), &session);
    assert!(text.contains(r#""completed_tasks": ["D", "B",  "A"]"#), "{text}");
    assert!(text.contains(r#""tasks_completed": 3"#), "{text}");
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

#[test]
fn a_task_that_only_the_file_has_stays() {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    session.tasks.push(Task::new(TaskId::parse("A").unwrap(), role_name(0)));
    let original = r#"{ "tasks": { "New": { "role": "dev", "blockedBy": [ "A" ] }, "A": { "role": "dev" } } }"#;
    let text = tasks_json(Some(original), &session, &graph(&session));
    assert!(
        text.contains("\"New\": {\n      \"role\": \"dev\",\n      \"deps\": [ \"A\" ]\n    },\n    \"A\": {"),
        "{text}"
    );
    let original = r#"{ "task_list": { "New": { "role": "dev" } } }"#;
    let text = lifecycle(Some(original), &session);
    assert!(text.contains("\"role\": \"dev\",\n      \"id\": \"New\"\n    },\n    {\n      \"id\": \"A\""), "{text}");
}

#[test]
fn a_list_that_changed_is_written_anew() {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    for name in ["A", "B", "C"] {
        session.tasks.push(Task::new(TaskId::parse(name).unwrap(), role_name(0)));
    }
    for (original, dependencies) in [
        ("[  \"A\"]", vec!["A", "B"]),
        ("[  \"A\", \"B\"]", vec!["A"]),
        ("[  \"A\"]", vec!["B"]),
        ("[  \"A\"]", vec![]),
    ] {
        session.tasks[2].dependencies = dependencies.iter().map(|name| TaskId::parse(name).unwrap()).collect();
        let original = format!("{{ \"tasks\": {{ \"C\": {{ \"deps\": {original} }} }} }}");
        let text = tasks_json(Some(&original), &session, &graph(&session));
        let document = json::parse(&text).unwrap();
        let deps = document.root().get("tasks").unwrap().get("C").unwrap().get("deps").unwrap();
        let written: Vec<_> = deps.items().map(|item| item.as_text().unwrap()).collect();
        assert_eq!(written, dependencies);
    }
}

#[test]
fn what_stands_twice_is_written_once() {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    let id = TaskId::parse("A").unwrap();
    session.tasks.push(Task::new(id.clone(), role_name(0)));
    let worker = |agent: &str, task| ActiveWorker { task, agent: agent.to_owned() };
    session.active_workers = vec![worker("w1", Some(id.clone())), worker("w2", Some(id)), worker("w3", None)];
    let text = tasks_json(Some(r#"[{ "id": "A" }, { "id": "A" }]"#), &session, &graph(&session));
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
fn a_time_that_nobody_can_read_stays() {
    let session = Session::new(SessionId::parse("S").unwrap());
    let text = tasks_json(Some(r#"{ "created_at": "yesterday", "tasks": {} }"#), &session, &graph(&session));
    assert!(text.contains("\"created_at\": \"yesterday\""));
}
