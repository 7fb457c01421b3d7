//! What each tool does for a worker in a run.

use serde_json::json;

use super::{answers, calls, logged};
use crate::run::{column, folder, json as json_of, run, tasks};

#[test]
fn a_worker_reports_its_own_result_once_and_only_if_it_is_valid() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "")]);
    let a = calls(
        &world,
        "a",
        &[
            ("report_result", json!({"status": "completed"})),
            ("report_result", json!({"status": "skipped", "findings": "f"})),
            ("report_result", json!({"status": "completed", "findings": "f", "task_id": "B"})),
            ("report_result", json!({"status": "completed", "findings": "f", "data": {"verification": "hoped"}})),
            ("report_result", json!({"status": "completed", "findings": "f", "quality_score": 101})),
            ("report_result", json!({"status": "completed", "findings": "x".repeat(1_100_000)})),
            ("report_result", json!({"status": "completed", "findings": "it is done", "data": {"decisions": ["d"]}})),
            ("report_result", json!({"status": "failed", "error": "after all not"})),
            ("no_such_tool", json!({})),
        ],
    );
    let c = calls(&world, "c", &[("report_result", json!({"status": "failed", "error": "no database"}))]);
    let worker = format!("case $TEAM_EXECUTOR_TASK in A) {a} ;; C) {c} ;; esac");
    let done = run(&world, &worker, &["--retries", "0"]);
    assert_eq!(done.code, Some(1), "{done}");
    assert_eq!(column(&world, "status"), ["completed", "completed", "failed"]);
    assert_eq!(
        (column(&world, "findings")[0].as_str(), column(&world, "error")[2].as_str()),
        ("it is done", "no database")
    );
    let answered = answers(&world, "a");
    for (answer, why) in answered.iter().zip([
        "refused: a completed task needs findings\nhelp: ",
        "refused: the arguments of report_result cannot be read: unknown variant `skipped`",
        "refused: a worker can only update its own task 'A', not 'B'\nhelp: ",
        "refused: the data is not that of a result: ",
        "refused: the data is not that of a result: ",
        "refused: the result has ",
    ]) {
        assert!(answer.as_ref().is_err_and(|said| said.starts_with(why)), "{why}\n{answer:?}");
    }
    assert_eq!(answered[6], Ok(json!({"task_id": "A", "status": "completed"})));
    let again = "refused: 'A' was already reported as completed; the first report wins\nhelp: ";
    assert!(answered[7].as_ref().is_err_and(|said| said.starts_with(again)), "{answered:?}");
    assert_eq!(answered[8], Err("there is no tool 'no_such_tool'; tools/list names them all".to_owned()));
    let result = json_of(folder(&world).join("agents/A.1.result.json"));
    assert_eq!((&result["findings"], &result["data"]["decisions"][0]), (&"it is done".into(), &"d".into()));
}

#[test]
fn discoveries_of_workers_are_on_the_board_once() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let found = |name: &str| ("add_discovery", json!({"type": "pattern", "data": {"pattern_name": name}}));
    let a = calls(&world, "a", &[found("facade"), found("facade"), ("add_discovery", json!({"type": "x", "data": 1}))]);
    let b = calls(&world, "b", &[found("facade"), found("visitor")]);
    let worker = format!("case $TEAM_EXECUTOR_TASK in A) {a} ;; B) {b} ;; esac");
    assert_eq!(run(&world, &worker, &[]).code, Some(0));
    let added = |name: &str| answers(&world, name).into_iter().map(|answer| answer.map(|said| said["added"] == true));
    let (of_a, of_b) = (added("a").collect::<Vec<_>>(), added("b").collect::<Vec<_>>());
    assert_eq!((&of_a[..2], &of_b[..]), (&[Ok(true), Ok(false)][..], &[Ok(false), Ok(true)][..]));
    assert!(of_a[2].as_ref().is_err_and(|said| said.contains("invalid type: integer")), "{of_a:?}");
    let board = logged(&world.dir().join("S"), "discoveries.ndjson");
    let of = |name: &str| board.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    assert_eq!((of("worker"), of("type")), (vec!["A".into(), "B".into()], vec!["pattern".into(), "pattern".into()]));
    assert!(world.run(&["validate", "--session=S"]).code == Some(0), "the board is a good one");
}

#[test]
fn outside_of_a_run_nothing_is_served() {
    let world = tasks(&[("A", "")]);
    let before = world.tree();
    let alone = world.run(&["mcp"]);
    assert_eq!(alone.code, Some(2), "{alone}");
    assert!(alone.stderr.contains("no worker started this") && alone.stderr.contains("\nhelp: "), "{alone}");
    assert_eq!((alone.stdout.as_str(), world.tree()), ("", before));
}

#[test]
fn task_tools_follow_the_task_commands() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "")]);
    let b = calls(
        &world,
        "b",
        &[
            ("TaskList", json!({"assignee": "worker"})),
            ("TaskList", json!({"status": "completed", "assignee": "stranger"})),
            ("TaskGet", json!({"id": "A"})),
            ("TaskGet", json!({"id": "X"})),
            ("TaskUpdate", json!({"id": "A", "status": "failed", "error": "sabotage"})),
            ("TaskUpdate", json!({"status": "pending"})),
            ("TaskUpdate", json!({"status": "skipped", "error": "no"})),
            ("TaskUpdate", json!({"status": "completed"})),
            ("TaskUpdate", json!({"id": "B", "status": "in_progress"})),
            ("team_msg", json!({"operation": "get_state"})),
            ("team_msg", json!({"operation": "log", "summary": "s", "type": "state_update", "data": {"step": 2}})),
            ("team_msg", json!({"operation": "status"})),
            ("team_msg", json!({"operation": "broadcast", "summary": "we use UTC", "wisdom": "decisions"})),
            ("team_msg", json!({"operation": "read", "type": "state_update"})),
            ("team_msg", json!({"operation": "read", "id": "MSG-9"})),
            ("team_msg", json!({"operation": "log"})),
            ("get_context", json!({})),
            ("TaskUpdate", json!({"id": "B", "status": "failed", "error": "no database"})),
        ],
    );
    let done = run(&world, &format!("[ $TEAM_EXECUTOR_TASK = B ] || exec echo did; {b}"), &["--retries", "0"]);
    assert_eq!(done.code, Some(1), "{done}");
    assert_eq!(column(&world, "status"), ["completed", "failed", "completed"]);
    assert_eq!(column(&world, "error")[1], "no database");
    let answered = answers(&world, "b");
    let said = |nth: usize| answered[nth].clone().expect("an answer");
    let ids = |value: &serde_json::Value| -> Vec<_> {
        value["tasks"].as_array().expect("tasks").iter().map(|task| task["id"].clone()).collect()
    };
    assert_eq!((ids(&said(0)), ids(&said(1))), (vec!["A".into(), "B".into(), "C".into()], vec![]));
    let on_line = world.run(&["task", "get", "A", "--session=S", "--format", "json"]).stdout;
    let on_line: serde_json::Value = serde_json::from_str(&on_line).expect("JSON");
    assert_eq!(said(2)["task"], on_line["task"], "the same as on the command line");
    for (nth, why) in [
        (3, "refused: there is no task 'X'\nhelp: TaskList"),
        (4, "refused: a worker can only update its own task 'B', not 'A'"),
        (5, "refused: task cannot go from in_progress to pending"),
        (6, "refused: task cannot go from in_progress to skipped"),
        (7, "refused: a completed task needs findings"),
        (14, "refused: there is no message 'MSG-9'"),
        (15, "refused: there is nothing to say"),
    ] {
        assert!(answered[nth].as_ref().is_err_and(|said| said.starts_with(why)), "{why}\n{:?}", answered[nth]);
    }
    assert_eq!(said(8), json!({"id": "B", "status": "in_progress"}));
    assert_eq!((ids(&said(9)), &said(9)["tasks"][0]["findings"]), (vec!["A".into()], &"did".into()));
    assert_eq!(said(11)["roles"][0]["state"]["step"], 2);
    assert_eq!((said(12)["id"].as_str(), said(13)["messages"][0]["data"]["step"].as_u64()), (Some("MSG-002"), Some(2)));
    let context = said(16);
    assert_eq!((&context["task"]["id"], &context["upstream"][0]["id"]), (&"B".into(), &"A".into()));
    assert_eq!(context["wisdom"]["decisions"], "- [B] we use UTC");
    assert_eq!(context["messages"][1]["summary"], "we use UTC");
}
