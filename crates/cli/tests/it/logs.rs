//! `logs`: what people see of what attempts printed, and the read-only commands about an earlier run.

use std::process::Stdio;

use serde_json::Value;
use team_executor_testkit::World;
use team_executor_testkit::limited::*;

use crate::run::{folder, read, run, tasks};

/// Printed by Claude Code, shortened.
const STREAM: &str = r#"{"type":"system","subtype":"init","session_id":"c","tools":["Bash"]}
{"type":"assistant","message":{"content":[{"type":"text","text":"I run the tests.\nThen \u001b[31mI report."}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"cargo test"}}]}}
{"type":"user","message":{"content":[{"tool_use_id":"t","type":"tool_result","content":"12 passed\n0 failed"}]}}
{"type":"user","message":{"content":[{"tool_use_id":"u","type":"tool_result","is_error":true,"content":"no such file"}]}}
{"type":"assistant","message":{"content":[{"type":"text","text":"All is well."}]}}
{"type":"result","subtype":"success","is_error":false,"result":"All is well.","session_id":"c"}
"#;

/// A world in which task A printed an agent's stream.
fn printed() -> World {
    let world = tasks(&[("A", "")]);
    world.write("stream.jsonl", STREAM);
    assert_eq!(run(&world, "cat stream.jsonl", &[]).code, Some(0));
    world
}

fn lines(world: &World, args: &[&str]) -> Vec<String> {
    let shown = world.run(&[&["logs", "--session=S"], args].concat());
    assert_eq!(shown.code, Some(0), "{shown}");
    shown.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn agent_stream_is_decoded_and_raw_is_not() {
    let world = printed();
    insta::assert_snapshot!(world.run(&["logs", "A", "--session=S"]), @r"
    $ team-executor logs A --session=S
    ------- stdout -------
    I run the tests.
    Then ␛[31mI report.
    → runs cargo test
      | 12 passed
      | 0 failed
      ✗ no such file
    All is well.
    [exit status: 0]
    ");
    assert_eq!(world.run(&["logs", "A", "--raw", "--session=S"]).stdout, STREAM);
    let tail = lines(&world, &["A", "--tail", "3"]);
    assert_eq!(tail, ["  | 0 failed", "  ✗ no such file", "All is well."]);
    assert_eq!(lines(&world, &["--tail", "1"]), ["A | All is well."]);
    assert_eq!(lines(&world, &["A", "--raw", "-n", "1"]).len(), 1);
    let data = lines(&world, &["A", "--format", "json"]);
    assert_eq!(data.len(), STREAM.lines().count(), "a line of the log is a line");
    let second: Value = serde_json::from_str(&data[2]).expect("JSON");
    assert_eq!(second["text"], STREAM.lines().nth(2).expect("a line"));
    assert_eq!(second["decoded"], serde_json::json!([{"kind": "call", "text": "runs cargo test", "goes_on": false}]));
}

#[test]
fn log_that_is_no_stream_is_printed_as_it_is() {
    let world = tasks(&[("A", "")]);
    let text = "{\"level\":\"info\"}\n\u{1b}[31mred\u{1b}[0m\nno end";
    world.write("text", text);
    assert_eq!(run(&world, "cat text; echo oops >&2", &[]).code, Some(0));
    assert_eq!(world.run(&["logs", "A", "--session=S"]).stdout, format!("{text}\noops\n"));
    assert_eq!(lines(&world, &["A", "--tail", "1"]), ["no end", "oops"], "of each stream");
    let first: Value = serde_json::from_str(&lines(&world, &["A", "--format", "json"])[0]).expect("JSON");
    assert_eq!(first.get("decoded"), None);
}

#[test]
fn attempts_are_chosen_by_number_or_all() {
    let world = tasks(&[("A", "")]);
    let worker = "nth=${TEAM_EXECUTOR_ATTEMPT##*/}; echo try $nth; test $nth = 2";
    assert_eq!(run(&world, worker, &["--retries", "1"]).code, Some(0));
    assert_eq!(lines(&world, &["A"]), ["try 2"]);
    assert_eq!(lines(&world, &["A", "--attempt", "1"]), ["try 1"]);
    assert_eq!(lines(&world, &["A", "--attempt", "all"]), ["A #1 | try 1", "A #2 | try 2"]);
    assert_eq!(lines(&world, &["--attempt", "1"]), ["A | try 1"]);
    let refused = world.run(&["logs", "A", "--attempt", "3", "--session=S"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("no attempt 3: its last one is 2"), "{refused}");
    assert_eq!(world.run(&["logs", "A", "--attempt", "0", "--session=S"]).code, Some(2));
}

#[test]
fn times_of_lines_are_known_to_about_a_second() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let worker = "echo old; test $TEAM_EXECUTOR_TASK = B || sleep 2.2; echo new";
    assert_eq!(run(&world, worker, &[]).code, Some(0));
    let at = |task: &str| -> Vec<String> {
        let of = |line: &String| serde_json::from_str::<Value>(line).expect("JSON")["at"].as_str().map(str::to_owned);
        lines(&world, &[task, "--format", "json"]).iter().map(|line| of(line).expect("a time")).collect()
    };
    let times = at("A");
    assert!(times[0] < times[1], "{times:?}");
    assert_eq!(lines(&world, &["A", "--since", &times[1]]), ["new"]);
    assert_eq!(lines(&world, &["A", "--since", "1h"]), ["old", "new"]);
    assert_eq!(lines(&world, &["A", "--since", "2999-01-01T00:00:00Z"]), [""; 0]);
    let stamped = lines(&world, &["A", "--timestamps", "--tail", "1"]);
    assert_eq!(stamped, [format!("{}Z new", &times[1][..19])]);
    let logs = folder(&world).join("logs");
    assert!(logs.join("A.1.out.times").exists(), "the worker printed for more than a second");
    let refused = world.run(&["logs", "A", "--since", "yesterday", "--session=S"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("`yesterday` is no time"), "{refused}");
}

#[test]
fn short_output_costs_no_further_file() {
    let world = tasks(&[("A", "")]);
    assert_eq!(run(&world, "echo did", &[]).code, Some(0));
    let logs = std::fs::read_dir(folder(&world).join("logs")).expect("logs");
    let names: Vec<_> = logs.map(|file| file.expect("a file").file_name().into_string().expect("text")).collect();
    assert_eq!(names, ["A.1.out"]);
}

#[test]
fn follower_waits_for_a_run_that_has_not_begun() {
    let world = tasks(&[("A", "")]);
    let mut command = world.command(&["logs", "-f", "A", "--session=S"]);
    let follower = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    world.write("stream.jsonl", STREAM);
    assert_eq!(run(&world, "cat stream.jsonl; sleep 1", &[]).code, Some(0));
    let ended = follower.limited_output();
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success() && text.ends_with("All is well.\n"), "{text}");
}

/// A second run of a session does what the first one has not done.
#[test]
fn work_of_an_earlier_run_is_found() {
    let world = tasks(&[("A", "")]);
    let worker = "echo did $TEAM_EXECUTOR_TASK; echo text > $TEAM_EXECUTOR_ARTIFACTS/out.md";
    assert_eq!(run(&world, worker, &[]).code, Some(0));
    let first = folder(&world).file_name().expect("a name").to_string_lossy().into_owned();
    let table = read(world.dir().join("S/tasks.csv"));
    world.write("S/tasks.csv", table + "B,,Do it,A,,csv-wave,worker,,pending,,\n");
    assert_eq!(run(&world, worker, &[]).code, Some(0));
    assert_eq!(lines(&world, &["B"]), ["did B"]);
    assert_eq!(lines(&world, &["A"]), ["did A"], "the first run did it");
    let listed = world.run(&["artifacts", "--session=S"]);
    assert!(listed.stdout.contains("B/out.md") && listed.stdout.contains("A/out.md"), "{listed}");
    assert!(listed.stdout.contains(&format!("1 artifact of the earlier run {first}")), "{listed}");
    let shown = world.run(&["artifacts", "show", "A/out.md", "--session=S"]);
    assert!(shown.code == Some(0) && shown.stdout.contains(&format!("{first}/artifacts/A/out.md")), "{shown}");
    assert_eq!(world.run(&["artifacts", "verify", "--session=S"]).code, Some(0));
    assert_eq!(world.run(&["export", "--to", "out", "--session=S"]).code, Some(0));
    assert!(["A", "B"].iter().all(|task| world.dir().join(format!("out/artifacts/{task}/out.md")).exists()));
    // The run that is named, though the session has other tasks by now.
    let named = format!("--run={first}");
    let status = world.run(&["status", "--session=S", &named, "--format", "json"]);
    let status: Value = serde_json::from_str(&status.stdout).unwrap_or_else(|_| panic!("{status}"));
    assert_eq!((&status["run"], &status["finished"]), (&first.clone().into(), &true.into()));
    let tasks = status["tasks"].as_array().expect("a list");
    assert_eq!((&tasks[0]["status"], &tasks[1]["attempt_count"]), (&"completed".into(), &0.into()), "{status}");
    for (args, words) in [
        (&["logs", "A"][..], "did A"),
        (&["events"], "A"),
        (&["prompt", "A"], "Do it"),
        (&["artifacts"], "1 artifact of run"),
        (&["export", "--to", "old"], "Exported"),
    ] {
        let shown = world.run(&[args, &["--session=S", &named]].concat());
        assert!(shown.code == Some(0) && shown.stdout.contains(words), "{shown}");
    }
    assert!(!world.dir().join("old/artifacts/B").exists());
    for unclear in ["EX-", "EX-nowhere"] {
        let refused = world.run(&["status", "--session=S", "--run", unclear]);
        assert!(refused.code == Some(2) && refused.stderr.contains(&format!("--run {first}")), "{refused}");
    }
}
