//! `status`, before, while and after a session is run.

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, Screen, World};

const TASKS: &str = r#"{"session_id":"s-demo-20260101","skill":"x","pipeline":"p","requirement":"r","created_at":"2026-01-01T00:00:00Z",
"tasks":{"A":{"title":"First","description":"d","role":"dev","deps":[],"wave":1,"status":"pending"},
"B":{"title":"Second","description":"d","role":"dev","deps":["A"],"wave":2,"status":"pending"}}}"#;

/// R: E-05
#[test]
fn status_of_a_run_changes_nothing() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("demo/tasks.json", TASKS);
    insta::assert_snapshot!(world.run(&["status", "--session=demo"]), @r"
    $ team-executor status --session=demo
    ------- stdout -------
    Session s-demo-20260101 was never run
    [exit status: 0]
    ");

    let (mut alive, gate) = (Pulse::new(world.dir().join("alive")), Gate::new(world.dir().join("gate")));
    let worker = format!("printf x > {}; cat {}; echo done", alive.arg(), gate.arg());
    let mut executor = world
        .command(&["--session=demo", "--agent-command", &worker, "-y"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the executor starts");
    alive.wait_alive(1);
    let shown = world.run(&["check", "--session=demo"]);
    assert!(shown.stdout.contains("] 0/2 completed\n1 running\n"), "{shown}");
    assert!(
        shown.stdout.contains("▶ A in_progress  attempt 1, ") && shown.stdout.contains("· B pending  after A\n"),
        "{shown}"
    );
    gate.open();
    alive.wait_alive(1);
    gate.open();
    assert!(executor.limited_wait().success());

    let before = world.tree();
    let shown = world.run(&["status", "--session=demo", "--format", "json"]);
    assert_eq!(world.tree(), before, "looking changed something");
    assert!(shown.stdout.contains("\"finished\": true") && shown.stdout.contains("\"running\": []"), "{shown}");
    insta::assert_snapshot!(world.run(&["logs", "B", "--session=demo"]), @r"
    $ team-executor logs B --session=demo
    ------- stdout -------
    done
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["logs", "C", "--session=demo"]), @r"
    $ team-executor logs C --session=demo
    ------- stderr -------
    error: there is no task 'C'
    help: list the tasks: team-executor plan --session=demo
    [exit status: 2]
    ");
}

#[test]
fn unreadable_session_is_refused_in_the_usual_form() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("demo/tasks.json", "{");
    for words in [&["status"][..], &["status", "--watch"], &["checkpoint"]] {
        let refused = world.run(&[words, &["--session=demo", "--format", "json"]].concat());
        let value: serde_json::Value = serde_json::from_str(&refused.stdout).expect("JSON");
        assert_eq!((refused.code, value["type"].as_str()), (Some(2), Some("refused")), "{refused}");
        assert_eq!(value["help"][0], "see why: team-executor validate --session=demo", "{refused}");
        let told = world.run(&[words, &["--session=demo"]].concat());
        assert!(told.code == Some(2) && told.stderr.contains("tasks.json corrupt"), "{told}");
    }
}

#[test]
fn a_bar_is_as_long_as_what_was_completed() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("demo/tasks.json", TASKS);
    let failing = ["--session=demo", "--agent-command", "false", "--retries", "0", "-y"];
    assert_eq!(world.run(&failing).code, Some(1));
    let shown = world.run(&["status", "--session=demo"]);
    assert!(
        shown.stdout.contains("\n[..............................] 0/2 completed\n1 failed, 1 skipped\n"),
        "{shown}"
    );
}

#[test]
fn watchers_end_when_the_executor_is_gone() {
    let mut world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("demo/tasks.json", TASKS);
    let gate = Gate::new(world.dir().join("gate"));
    let worker = format!("echo at it; cat {}", gate.arg());
    let mut executor = Screen::start(world.command(&["--session=demo", "--agent-command", &worker, "-y"]), 80, 24);
    executor.wait_for("at it");
    world.through(["timeout", "--foreground", "60"].map(str::to_owned).into());
    let watch = |args: &[&str]| Screen::start(world.command(args), 80, 24);
    let mut watchers = [
        (watch(&["status", "--watch", "--session=demo"]), "▶ A in_progress  attempt 1", "no executor has the run"),
        (watch(&["status", "--watch", "--session=demo", "--format=json"]), "{\"version\":1", "\"executor\":false"),
        (watch(&["logs", "-f", "A", "--session=demo"]), "at it", "at it"),
    ];
    watchers.iter_mut().for_each(|(watcher, first, _)| watcher.wait_for(first));
    let killed = std::process::Command::new("kill").args(["-KILL", &executor.id().to_string()]).limited_status();
    assert!(killed.success());
    executor.end();
    for (watcher, _, last) in &mut watchers {
        assert_eq!(watcher.end().code(), Some(0), "{}", watcher.glass());
        assert!(watcher.written().contains(*last), "{}", watcher.written());
    }
    let again = world.run(&["status", "--watch", "--session=demo"]);
    assert!(again.code == Some(0) && again.stdout.contains("is unfinished\n"), "{again}");
}

#[test]
fn logs_hold_two_streams_apart_and_are_otherwise_byte_for_byte() {
    let printed = |worker: &str| {
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        world.write("demo/tasks.json", TASKS);
        assert_eq!(world.run(&["--session=demo", "--agent-command", worker, "-y"]).code, Some(0));
        world.run(&["logs", "A", "--session=demo"]).stdout
    };
    assert_eq!(printed("printf out; echo err >&2"), "out\nerr\n");
    assert_eq!(printed("echo out; printf err >&2"), "out\nerr");
    assert_eq!(printed("printf out"), "out");
    assert_eq!(printed(r"printf '\033]0;a title without an end\nnext\n'"), "\u{1b}]0;a title without an end\nnext\n");
    assert_eq!(printed(r"printf 'did\302\233 \177\033[1m'"), "did\u{9b} \u{7f}\u{1b}[1m");
}

#[test]
fn nothing_is_taken_out_of_what_goes_to_a_program() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("demo/tasks.json", TASKS.replace("\"d\"", "\"one \\u009b7m two \\u007f three\""));
    let worker = r"printf 'one \302\2337m two \177 three'";
    assert_eq!(world.run(&["--session=demo", "--agent-command", worker, "-y"]).code, Some(0));
    for args in
        [&["logs", "A"][..], &["logs", "A", "--format=json"], &["prompt", "A"], &["prompt", "A", "--format=json"]]
    {
        let run = world.run(&[args, &["--session=demo"]].concat());
        assert!(run.stdout.contains("one \u{9b}7m two \u{7f} three"), "{run}");
    }
}

#[test]
fn logs_of_all_tasks_are_prefixed_and_follow_waits() {
    let mut world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("demo/tasks.json", TASKS);
    let never = world.run(&["logs", "--session=demo"]);
    assert!(never.code == Some(2) && never.stderr.starts_with("error: no task was tried yet\nhelp: "), "{never}");
    let gate = Gate::new(world.dir().join("gate"));
    let worker = format!("echo one; printf 'err\\033[1m' >&2; test $TEAM_EXECUTOR_TASK = B || cat {}", gate.arg());
    let mut executor = Screen::start(world.command(&["--session=demo", "--agent-command", &worker, "-y"]), 80, 24);
    executor.wait_for("▶ A  dev");
    let never = world.run(&["logs", "B", "--session=demo"]);
    assert!(never.code == Some(2) && never.stderr.starts_with("error: task 'B' was never tried\n"), "{never}");
    world.through(["timeout", "--foreground", "60"].map(str::to_owned).into());
    let mut all = Screen::start(world.command(&["logs", "-f", "--session=demo"]), 80, 24);
    all.wait_for("A | one");
    let mut of_b = Screen::start(world.command(&["logs", "-f", "B", "--session=demo"]), 80, 24);
    gate.open();
    assert_eq!(of_b.end().code(), Some(0), "{}", of_b.glass());
    assert_eq!(of_b.glass().to_string(), "one\nerr␛[1m", "{}", of_b.glass());
    assert_eq!(all.end().code(), Some(0), "{}", all.glass());
    let mut seen = all.glass().screen();
    seen.sort();
    assert_eq!(seen, ["A | err␛[1m", "A | one", "B | err␛[1m", "B | one"]);
    assert_eq!(executor.end().code(), Some(0));
    let all = world.run(&["logs", "--session=demo"]);
    assert_eq!(all.stdout, "A | one\nA | err\u{1b}[1m\nB | one\nB | err\u{1b}[1m\n");
    let json = world.run(&["logs", "--session=demo", "--format=json"]).stdout;
    assert!(json.lines().count() == 4 && json.contains(r#""task":"B","attempt":1,"stream":"stderr""#), "{json}");
}
