use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use team_executor_testkit::Diary;

use super::{Served, answer};
use crate::run::{DID, tasks};

#[test]
fn a_session_is_judged_planned_rehearsed_run_and_reported() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let worker = format!("{DID}; echo out >$TEAM_EXECUTOR_ARTIFACTS/o.md");
    let mut client = Served::new(&world, &["--agent-command", &worker]);
    let session = json!({"session": "S"});
    assert_eq!(client.call("validate", &session).expect("a document")["valid"], true);
    assert_eq!(client.call("plan", &session).expect("a document")["ready"], json!(["A"]));
    assert!(client.call("report", &session).expect_err("there is none").contains("was never run"));
    let rehearsed = client.call("rehearse", &session).expect("it is rehearsed");
    assert_eq!(rehearsed["tasks"][1]["status"], "completed", "{rehearsed}");
    let ran = client.call("run", &session).expect("it is run");
    assert_eq!((&ran["ending"], &ran["counts"]["completed"]), (&json!("completed"), &json!(2)));
    assert_eq!(client.progress.last().expect("progress")["progress"], 2.0);
    let status = client.call("status", &session).expect("a document");
    assert_eq!((&status["finished"], &status["artifacts"][0]["id"]), (&json!(true), &json!("A/o.md")));
    let logs = client.call("logs", &json!({"session": "S", "task": "A"})).expect("lines");
    assert_eq!(logs["lines"], json!([{"stream": "stdout", "text": "did A"}]));
    let report = client.call("report", &session).expect("a report");
    assert!(report["report"].as_str().expect("text").contains("2/2 tasks completed"), "{report}");
    std::fs::write(report["path"].as_str().expect("a path"), "日".repeat(200_000)).expect("a long report");
    let report = client.call("report", &session).expect("a part of it");
    let shown = report["report"].as_str().expect("text");
    assert_eq!((shown.len() + 2) >> 10, 512, "a character is not cut in two");
    assert_eq!(report["left_out"], 600_000 - shown.len());
}

#[test]
fn changes_of_trees_are_answered_with_files_and_patch() {
    let world = crate::trees::repository(&[("A", "")], "", &[("a.txt", "1\n")]);
    let ran = crate::trees::run(&world, "sh -c 'echo 2 > a.txt; echo new > new'", &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let mut client = Served::new(&world, &["--agent-command", DID]);
    let all = client.call("changes", &json!({"session": "S"})).expect("a document");
    assert_eq!((&all["tasks"][0]["state"], &all["files"], &all["patch"]), (&json!("merged"), &json!(2), &Value::Null));
    assert_eq!(all["tasks"][0]["files_changed"][0], json!({"path": "a.txt", "added": 1, "removed": 1}));
    let one = client.call("changes", &json!({"session": "S", "task": "A", "patch": true})).expect("a document");
    assert!(one["patch"].as_str().expect("text").contains("-1\n+2\n"), "{one}");
    let unknown = client.call("changes", &json!({"session": "S", "task": "B"})).expect_err("there is none");
    assert!(unknown.contains("there are no changes of a task 'B'"), "{unknown}");
}

#[test]
fn server_starts_itself_only_for_runs() {
    let world = tasks(&[("A", "")]);
    // The server runs from a copy of the program, whose place a script takes that notes how it is started.
    let (own, started) = (world.dir().join("own"), world.dir().join("started"));
    std::fs::copy(env!("CARGO_BIN_EXE_team-executor"), &own).expect("a copy");
    let mut client = Served::at(&own, &world, &["--agent-command", "echo did"]);
    std::fs::remove_file(&own).expect("the server goes on without its file");
    let script = format!(
        "#!/bin/sh\necho \"$1 $2\" >>{}\nexec {} \"$@\"\n",
        started.display(),
        env!("CARGO_BIN_EXE_team-executor")
    );
    std::fs::write(&own, script).expect("a script");
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).expect("it can be started");
    let session = json!({"session": "S"});
    for tool in ["validate", "plan", "status", "report", "retry", "pause", "answer", "logs"] {
        let more = json!({"session": "S", "task": "A", "action": "resume"});
        let known = if matches!(tool, "answer" | "logs") { &more } else { &session };
        let _refused = client.call(tool, known);
    }
    client.ask("resources/list", &json!({}));
    assert!(!started.exists(), "{}", std::fs::read_to_string(&started).unwrap_or_default());
    assert_eq!(client.call("run", &session).expect("it is run")["ending"], "completed");
    for tool in ["validate", "plan", "status", "report"] {
        client.call(tool, &session).expect("a document");
    }
    client.call("logs", &json!({"session": "S", "task": "A"})).expect("lines");
    client.read("team-executor://graph/S").expect("a picture");
    assert_eq!(std::fs::read_to_string(&started).expect("what was started"), "__detached run\n");
}

#[test]
fn of_a_very_long_answer_a_client_is_given_what_it_has_room_for() {
    let ids: Vec<_> = (0..6_000).map(|nth| format!("T-{nth}")).collect();
    let world = tasks(&ids.iter().map(|id| (id.as_str(), "")).collect::<Vec<_>>());
    let mut client = Served::new(&world, &[]);
    let plan = client.call("plan", &json!({"session": "S"})).expect("a part of it");
    let shown = plan["tasks"].as_array().expect("tasks").len();
    assert!(plan.to_string().len() < 1 << 20 && shown > 1_000, "{shown}");
    assert_eq!((&plan["counts"], &plan["left_out"]["tasks"]), (&json!({"ready": 6_000}), &json!(6_000 - shown)));
}

#[test]
fn the_report_the_graph_and_what_was_delivered_can_be_read() {
    let world = tasks(&[("A", "")]);
    world.copy_tree(world.dir().join("S"), ".workflow/.team/T");
    let worker = "echo 'made with care' >$TEAM_EXECUTOR_ARTIFACTS/o.md";
    let mut client = Served::new(&world, &["--agent-command", worker]);
    client.call("run", &json!({"session": ".workflow/.team/T"})).expect("it is run");
    let listed = client.ask("resources/list", &json!({}));
    let listed = listed["result"]["resources"].as_array().expect("resources").clone();
    let uri = |part: &str| {
        let found = listed.iter().filter_map(|one| one["uri"].as_str()).find(|uri| uri.contains(part));
        found.unwrap_or_else(|| panic!("{part}: {listed:?}")).to_owned()
    };
    let svg = client.read(&uri("//graph/")).expect("a picture");
    assert!(svg.starts_with("<svg") && svg.contains(">A<"), "{svg}");
    assert!(client.read(&uri("//report/")).expect("a report").contains("1/1 tasks completed"));
    assert_eq!(client.read(&uri("//artifact/")).expect("a file"), "made with care\n");
    for wrong in
        ["team-executor://report/none", "team-executor://x/y", "file:///etc/passwd", "team-executor://report/%"]
    {
        assert!(client.read(wrong).is_err(), "{wrong}");
    }
    let templates = client.ask("resources/templates/list", &json!({}));
    assert_eq!(templates["result"]["resourceTemplates"].as_array().map(Vec::len), Some(3));
}

#[test]
fn unawaited_run_is_paused_and_resumed() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let gate = Diary::new(world.dir().with_file_name("gate"));
    let worker = format!("echo $TEAM_EXECUTOR_TASK >'{}'; read _ <'{}'", diary.path().display(), gate.path().display());
    let mut client = Served::new(&world, &["--agent-command", &worker]);
    let begun = client.call("run", &json!({"session": "S", "wait_seconds": 0})).expect("it is begun");
    assert_eq!(begun["goes_on"], true, "{begun}");
    assert_eq!(diary.line(), "A");
    let paused = client.call("pause", &json!({"session": "S", "reason": "look"})).expect("it is paused");
    assert_eq!(paused["stage"], "paused", "{paused}");
    let status = client.call("status", &json!({"session": "S"})).expect("a document");
    assert_eq!((&status["executor"], &status["reason"]), (&json!(true), &json!("look")));
    assert!(status["talk"].is_object(), "{status}");
    let refused = client.call("answer", &json!({"session": "S", "action": "allow", "task": "A"}));
    assert!(refused.expect_err("it asks nothing").contains("refused: "));
    client.call("resume", &json!({"session": "S"})).expect("it goes on");
    let mut open = std::fs::File::options().write(true).open(gate.path()).expect("a gate");
    std::io::Write::write_all(&mut open, b"go\n").expect("an open gate");
    assert_eq!(diary.line(), "B");
    std::io::Write::write_all(&mut open, b"go\n").expect("an open gate");
    let finished = |status: &Value| status["finished"] == true && status["executor"] == false;
    let over = (0..500).any(|_| client.call("status", &json!({"session": "S"})).is_ok_and(|status| finished(&status)));
    assert!(over, "it is not over");
}

#[test]
fn a_run_that_goes_on_is_waited_for_by_the_same_call() {
    let world = tasks(&[("A", "")]);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let gate = Diary::new(world.dir().with_file_name("gate"));
    let worker = format!("echo $TEAM_EXECUTOR_TASK >'{}'; read _ <'{}'", diary.path().display(), gate.path().display());
    let flags = ["--agent-command", worker.as_str()];
    let mut first = Served::new(&world, &flags);
    first.begin_call("run", &json!({"session": "S"}));
    assert_eq!(diary.line(), "A");
    first.kill();
    let mut second = Served::new(&world, &flags);
    let on = second.call("run", &json!({"session": "S", "wait_seconds": 1})).expect("it is waited for");
    assert_eq!(on["goes_on"], true, "{on}");
    second.call("pause", &json!({"session": "S"})).expect("it is paused");
    let paused = second.call("run", &json!({"session": "S"})).expect_err("it would never end");
    assert!(paused.contains("the run is paused") && paused.contains("`resume`"), "{paused}");
    second.call("resume", &json!({"session": "S"})).expect("it goes on");
    let call = second.begin_call("run", &json!({"session": "S"}));
    let mut open = std::fs::File::options().write(true).open(gate.path()).expect("a gate");
    std::io::Write::write_all(&mut open, b"go\n").expect("an open gate");
    let came = answer(&second.wait(call)).expect("what came out");
    assert_eq!(came["ending"], "completed", "{came}");
}

#[test]
fn a_client_answers_at_a_checkpoint_and_lets_tasks_run_again() {
    let world = tasks(&[("A", ""), ("QUALITY-001", "A"), ("C", "QUALITY-001")]);
    let worker = "test $TEAM_EXECUTOR_TASK = C && test ! -e fixed && exit 1; true";
    let mut client = Served::new(&world, &["--agent-command", worker, "--retries", "0"]);
    let session = json!({"session": "S"});
    assert_eq!(client.call("run", &session).expect("it stops")["ending"], "paused");
    let status = client.call("status", &session).expect("a document");
    assert_eq!(status["checkpoint"]["task"], "QUALITY-001");
    let revise = client.call("answer", &json!({"session": "S", "action": "revise"}));
    assert!(revise.expect_err("which?").contains("`revise` needs a task"));
    let text = "-y looks like a flag";
    client.call("answer", &json!({"session": "S", "action": "resume", "text": text})).expect("it is decided");
    let failed = client.call("run", &session).expect("it ends");
    assert_eq!(failed["ending"], "completed_with_failures", "{failed}");
    assert!(failed["decisions"][0].as_str().expect("a line").contains(text), "{failed}");
    world.write("fixed", "");
    client.call("retry", &session).expect("it is noted");
    assert_eq!(client.call("resume", &session).expect("it ends")["ending"], "completed");
}
