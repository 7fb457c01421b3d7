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
        "refused: a completed task has findings\nhelp: ",
        "refused: the arguments of report_result cannot be read: unknown variant `skipped`",
        "refused: a worker can only update its own task 'A', not 'B'\nhelp: ",
        "refused: the data is not that of a result: ",
        "refused: the data is not that of a result: ",
        "refused: the result has ",
    ]) {
        assert!(answer.as_ref().is_err_and(|said| said.starts_with(why)), "{why}\n{answer:?}");
    }
    assert_eq!(answered[6], Ok(json!({"task_id": "A", "status": "completed"})));
    let again = "refused: 'A' was reported as completed already, and the first report wins\nhelp: ";
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
