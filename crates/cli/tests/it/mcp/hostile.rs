//! Workers that mean harm: what they say for others, out of time or without measure is refused or bounded, the run goes on,
//! and nothing else changes.

use serde_json::json;

use super::{BIN, answers, calls, lines, logged};
use crate::run::{column, folder, read, run, tasks};

/// The end of a call that is not heard.
const NOT_AT_WORK: &str = "is not running\nhelp: a worker may only report for its own running attempt";

#[test]
fn a_worker_cannot_speak_for_another_task_or_with_an_old_token() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B")]);
    let report = [("report_result", json!({"status": "failed", "error": "sabotage"}))];
    let (forged, other, old, late) = ("forged", "other", "old", "late");
    let [forged, other, old, late] = [forged, other, old, late].map(|name| calls(&world, name, &report));
    // The first attempt at A keeps its variables and fails; the second one uses them, and so does B.
    let worker = format!(
        r#"keep=$(dirname "$TEAM_EXECUTOR_SESSION")/kept
        case $TEAM_EXECUTOR_TASK in
        A)  if [ ! -e "$keep" ]; then env | grep '^TEAM_EXECUTOR_' | sed "s/'/'\\\\''/g; s/=\(.*\)/='\1'/; s/^/export /" > "$keep"; exit 1; fi
            (export TEAM_EXECUTOR_TASK=C; {BIN} mcp < /dev/null; test $? = 2) || exit 3
            (export TEAM_EXECUTOR_TASK=C TEAM_EXECUTOR_ATTEMPT=$(echo $TEAM_EXECUTOR_ATTEMPT | sed s,/A/2,/C/1,) \
                TEAM_EXECUTOR_RESULT=$(echo $TEAM_EXECUTOR_RESULT | sed s/A.2/C.1/); {other})
            (export TEAM_EXECUTOR_ATTEMPT=$(echo $TEAM_EXECUTOR_ATTEMPT | sed 's,~[^/]*/,~0/,'); {forged})
            (. "$keep"; {old}) ;;
        B)  (. "$keep"; {late}) ;;
        esac"#
    );
    let done = run(&world, &worker, &["--retries", "1"]);
    assert_eq!(done.code, Some(0), "{done}");
    for name in ["forged", "other", "old", "late"] {
        let answer = answers(&world, name);
        assert!(answer[0].as_ref().is_err_and(|said| said.ends_with(NOT_AT_WORK)), "{name}: {answer:?}");
    }
    assert_eq!(column(&world, "status"), ["completed"; 3]);
    assert!(!folder(&world).join("agents/C.1.result.json").exists());
}

#[test]
fn bad_lines_from_a_client_cost_only_themselves() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let found = |data: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{{"name":"add_discovery","arguments":{{"type":"x","data":{data}}}}}}}"#
        )
    };
    let mut all = lines(&[]).into_bytes();
    for line in [
        deep(100_000),
        found(&format!(r#"{{"x":{}}}"#, deep(100_000))),
        found(&format!(r#"{{"x":{}}}"#, deep(100))),
        "{\"jsonrpc\"".to_owned(),
        "[]".to_owned(),
    ] {
        all.extend(line.as_bytes());
        all.push(b'\n');
    }
    all.extend(b"{\"jsonrpc\":\"2.0\",\"id\":78,\"method\":\"tools/list\",\"x\":\"\xff\xfe\"}\n\x00\x01\xff\n");
    world.write("bad", all);
    let good = [("report_result", json!({"status": "completed", "findings": "still there"}))];
    world.write("good", lines(&good).lines().last().expect("a call").to_owned() + "\n");
    // A line of 200 MB goes through a process that may not have so much.
    let worker = format!(
        "test $TEAM_EXECUTOR_TASK = A || exit 0
        (cat bad; head -c 200000000 /dev/zero | tr '\\0' x; echo; cat good) \
            | (ulimit -v 160000; MALLOC_ARENA_MAX=1 {BIN} mcp) > good.out || exit 9"
    );
    let done = run(&world, &worker, &["--retries", "0"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(column(&world, "findings")[0], "still there", "{}", read(world.dir().join("good.out")));
    let answered = answers(&world, "good");
    assert!(answered[0].as_ref().is_err_and(|said| said.starts_with("refused: not JSON: ")), "{answered:?}");
    assert_eq!(read(world.dir().join("S/discoveries.ndjson")), "");
}

#[test]
fn ten_thousand_calls_at_once_are_taken_at_a_pace() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let flood: Vec<_> =
        (0..10_000).map(|n| ("add_discovery", json!({"type": "pattern", "data": {"pattern_name": n}}))).collect();
    world.write("flood", lines(&flood));
    let worker = format!("test $TEAM_EXECUTOR_TASK = A || exit 0; timeout 2 {BIN} mcp < flood > flood.out; true");
    let done = run(&world, &worker, &[]);
    assert_eq!(done.code, Some(0), "{done}");
    let board = logged(&world.dir().join("S"), "discoveries.ndjson");
    let answered = answers(&world, "flood").len();
    assert!((50..=400).contains(&board.len()) && board.len() >= answered, "{} {answered}", board.len());
    assert_eq!(column(&world, "status"), ["completed"; 2]);
}
