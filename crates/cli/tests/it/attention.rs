//! What needs a person and what is wrong: in every kind of which a run can be made, with commands that work when pasted.

pub(crate) mod problems;

use serde_json::Value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Run, Terminal, World};

use crate::conversations::asked::{ASKS, asking};
use crate::run::ends::{Waiting, end, wait_for};
use crate::run::{DID, column, run, tasks};

/// How the run of a world stands. Whatever it needs is as the published schema says.
#[track_caller]
pub(crate) fn status(world: &World) -> Value {
    let shown = world.run(&["status", "--session=S", "--format", "json"]);
    let status = serde_json::from_str(&shown.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"));
    let schema: Value = serde_json::from_str(&world.run(&["schema", "attention"]).stdout).expect("a schema");
    let schema = jsonschema::options().should_validate_formats(true).build(&schema).expect("a schema");
    let wrong: Vec<String> = schema.iter_errors(&status).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:?}: {shown}");
    status
}

/// The one need or problem of a kind.
#[track_caller]
pub(crate) fn only(status: &Value, list: &str, kind: &str) -> Value {
    let of_kind: Vec<&Value> =
        status[list].as_array().expect("a list").iter().filter(|one| one["kind"] == kind).collect();
    assert_eq!(of_kind.len(), 1, "{kind}: {status:#}");
    assert_eq!(status["attention_counts"][kind], 1, "{status:#}");
    assert_eq!(of_kind[0]["do"], of_kind[0]["actions"][0]["command"], "{status:#}");
    of_kind[0].clone()
}

/// Types what it says to do.
#[track_caller]
pub(crate) fn paste(world: &World, item: &Value) -> Run {
    world.shell(item["do"].as_str().expect("a command"))
}

/// Types one of the things that can be done.
#[track_caller]
pub(crate) fn paste_action(world: &World, item: &Value, label: &str) -> Run {
    let actions = item["actions"].as_array().expect("actions");
    let action = actions.iter().find(|action| action["label"] == label).unwrap_or_else(|| panic!("{label}: {item:#}"));
    world.shell(action["command"].as_str().expect("a command"))
}

#[track_caller]
fn requests(item: &Value) -> Vec<(String, String, Value)> {
    let actions = item["actions"].as_array().expect("actions").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    actions.map(|action| (text(&action["label"]), text(&action["to"]), action["request"].clone())).collect()
}

/// R: U-01
#[test]
fn permission_that_an_agent_asks_for_is_a_need() {
    for (label, finding) in [("Allow", "allowed"), ("Deny", "denied")] {
        let world = asking("edit", "", ASKS);
        let mut executor = crate::conversations::start(&world);
        wait_for(&mut executor, "A asks to use edit: Writing to a.md");
        let need = only(&status(&world), "needs", "permission");
        assert_eq!((&need["task"], &need["why"]), (&"A".into(), &"asks to use edit: Writing to a.md".into()));
        assert!(need["since"].as_str().is_some_and(|since| since.ends_with('Z')), "{need:#}");
        let answer = |allow| serde_json::json!({"task": "A", "answer": {"question": 1, "allow": allow}});
        let expected = [("Allow", true), ("Deny", false)];
        let expected = expected.map(|(label, allow)| (label.to_owned(), "talk".to_owned(), answer(allow)));
        assert_eq!(requests(&need), expected);
        let text = world.run(&["status", "--session=S"]).stdout;
        assert!(text.starts_with("Needs you: 1\n  permission A"), "{text}");
        assert!(text.contains("\n    Allow: team-executor talk allow A --session=S --question=1\n"), "{text}");
        let pasted = paste_action(&world, &need, label);
        assert_eq!(pasted.code, Some(0), "{pasted}");
        assert_eq!(end(executor).0, Some(0));
        assert_eq!(column(&world, "findings"), [finding]);
        assert_eq!(status(&world)["needs"], serde_json::json!([]));
    }
}

/// R: U-01
#[test]
fn checkpoint_is_a_need_and_its_decisions_work() {
    let reject = r#"{"status":"completed","findings":"no","data":{"verdict":"reject","critique":"no tests\u001b[2J"}}"#;
    let worker = format!(
        "if [ $TEAM_EXECUTOR_TASK = REVIEW ] && [ ! -e fine ]; then echo '{reject}' >$TEAM_EXECUTOR_RESULT; fi"
    );
    for (label, action) in
        [("Approve", "resume"), ("Send back", "improve"), ("Recheck", "recheck"), ("Add a note", "feedback")]
    {
        let world = tasks(&[("A", ""), ("B", ""), ("REVIEW", "A;B"), ("SHIP", "REVIEW")]);
        let stopped = run(&world, &worker, &["--rounds", "0"]);
        assert_eq!(stopped.code, Some(3), "{stopped}");
        let before = status(&world);
        let need = only(&before, "needs", "checkpoint");
        assert_eq!(before["needs"][0], need, "it comes first");
        assert_eq!(need["task"], "REVIEW");
        let why = "work was sent back as often as it may be: no tests\u{1b}[2J";
        assert_eq!(need["why"], why);
        let text = world.run(&["status", "--session=S"]).stdout;
        assert!(!text.contains('\u{1b}') && text.contains("no tests␛[2J"), "{text}");
        let requests = requests(&need);
        let request = &requests.iter().find(|(one, ..)| one == label).unwrap_or_else(|| panic!("{label}: {need:#}")).2;
        assert_eq!((&request["request"], &request["action"]), (&"decide".into(), &action.into()), "{need:#}");
        let pasted = paste_action(&world, &need, label);
        assert_eq!(pasted.code, Some(0), "{label}: {pasted}");
        world.write("fine", "");
        let go_on = only(&status(&world), "needs", "stopped");
        let done = paste(&world, &go_on);
        assert_eq!(done.code, Some(0), "{label}: {done}");
        assert_eq!(column(&world, "status"), ["completed"; 4], "{label}");
        assert_eq!(status(&world)["needs"], serde_json::json!([]));
    }
}

/// R: U-01
#[test]
fn wave_that_failed_is_a_need() {
    let world = tasks(&[]);
    world.write("S/tasks.csv", "id,title,deps,role,run_on\nA,Do A,,worker,\nB,Do B,A,worker,failure\n");
    let worker = format!("test -e ok || exit 7; {DID}");
    let args = [
        "run",
        "--session=S",
        "--agent-command",
        &worker,
        "--cadence",
        "wave",
        "--retries",
        "0",
        "--on-complete",
        "auto_keep",
    ];
    let mut terminal = Terminal::start(world.command(&args));
    terminal.wait_for("Start? [Y/n]").say("y").wait_for("and Enter\n");
    let need = only(&status(&world), "needs", "wave_failed");
    assert!(need["why"].as_str().is_some_and(|why| why.starts_with("every task of wave 1 failed")), "{need:#}");
    world.write("ok", "");
    let retried = paste(&world, &need);
    assert_eq!(retried.code, Some(0), "{retried}");
    let paused = only(&status(&world), "needs", "paused");
    assert_eq!(paused["actions"][0]["request"]["request"], "resume", "{paused:#}");
    let resumed = paste(&world, &paused);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    terminal.wait_for("1 skipped, 1 of 2 completed\n");
    let (code, shown) = terminal.end();
    assert_eq!(
        (code, column(&world, "status")),
        (Some(1), vec!["completed".to_owned(), "skipped".to_owned()]),
        "{shown}"
    );
}

/// R: U-01
#[test]
fn proposed_task_is_a_need_until_a_person_decides() {
    for (label, left) in [("Accept", 2), ("Decline", 1)] {
        let world = tasks(&[("A", "")]);
        let propose = "team-executor task create 'X 1' --title 'the title' --assignee worker";
        let done = run(&world, &format!("[ $TEAM_EXECUTOR_TASK != A ] || {propose}; {DID}"), &[]);
        assert_eq!(done.code, Some(0), "{done}");
        let need = only(&status(&world), "needs", "proposal");
        assert_eq!((&need["task"], &need["why"]), (&"X 1".into(), &"proposed by A for worker: the title".into()));
        assert!(need["since"].is_string(), "{need:#}");
        let pasted = paste_action(&world, &need, label);
        assert_eq!(pasted.code, Some(0), "{pasted}");
        let list = world.run(&["task", "list", "--session=S"]).stdout;
        assert_eq!(list.lines().count(), left, "{list}");
        if label == "Decline" {
            assert_eq!(status(&world)["needs"], serde_json::json!([]));
        }
    }
}

/// R: U-01
#[test]
fn paused_and_stopped_runs_say_how_they_go_on() {
    let mut waiting = Waiting::new();
    let executor = waiting.start();
    assert_eq!(waiting.world.run(&["pause", "--session=S", "--reason", "lunch"]).code, Some(0));
    let paused = only(&status(&waiting.world), "needs", "paused");
    assert_eq!((&paused["why"], &paused["actions"][0]["to"]), (&"lunch".into(), &"control".into()));
    assert!(paused["since"].is_string(), "{paused:#}");
    assert_eq!(paste(&waiting.world, &paused).code, Some(0));
    assert_eq!(status(&waiting.world)["needs"], serde_json::json!([]));
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(0));

    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    executor.kill().expect("killed");
    executor.limited_wait();
    waiting.pulse.wait_dead();
    let stopped = only(&status(&waiting.world), "needs", "stopped");
    assert_eq!(
        (&stopped["why"], &stopped["actions"][0]["to"]),
        (&"no executor has the run; 2 tasks to do".into(), &"start".into())
    );
    std::fs::remove_file(waiting.world.dir().join("gate")).expect("the gate is there");
    waiting.world.write("gate", "");
    let done = waiting.world.shell(&format!("cat pulse >/dev/null & {}", stopped["do"].as_str().expect("a command")));
    assert_eq!(done.code, Some(0), "{done}");
}
