//! Reactions to events: `--on-event`, and `[[on]]` of the user's own file.

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Pulse, Run, World};

const WORKER: &str = "case $TEAM_EXECUTOR_TASK in BAD) exit 3;; esac; echo did $TEAM_EXECUTOR_TASK";

fn world() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("S/tasks.csv", "id,title,deps,role\nGOOD,Say it,,builder\nBAD,Fail,,builder\n");
    world
}

fn configure(world: &mut World, text: &str) {
    world.write("config/team-executor/config.toml", text);
    let folder = world.dir().join("config").display().to_string();
    world.env("XDG_CONFIG_HOME", &folder);
}

fn run(world: &World, more: &[&str]) -> Run {
    world.run(&[&["run", "--session=S", "--agent-command", WORKER, "-y", "--retries=0"], more].concat())
}

fn lines(world: &World, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(world.dir().join(name)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

#[test]
fn command_gets_each_event_once_and_in_order() {
    let world = world();
    let run = run(&world, &["-c1", "--on-event", "cat >> seen"]);
    assert_eq!(run.code, Some(1), "{run}");
    let seen = lines(&world, "seen");
    let begun = ["run_started", "task_started", "task_completed", "task_started", "task_failed", "run_finished"];
    assert_eq!(types(&seen), begun, "{run}");
    let numbers: Vec<_> = seen.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
}

#[test]
fn user_file_reacts_to_classes_and_types_of_events() {
    let mut world = world();
    let config = "[[on]]\nevent = 'failed'\nrun = ['sh', '-c', 'cat >> failed']\n\
                  [[on]]\nevent = 'finished'\nrun = ['sh', '-c', 'echo $TEAM_EXECUTOR_EVENT > finished']\n\
                  [[on]]\nevent = 'task_completed'\nrun = ['sh', '-c', 'cat >> completed']\n";
    configure(&mut world, config);
    let run = run(&world, &[]);
    assert_eq!(run.code, Some(1), "{run}");
    assert_eq!(lines(&world, "failed")[0]["task"], "BAD");
    assert_eq!(lines(&world, "completed")[0]["task"], "GOOD");
    let finished = std::fs::read_to_string(world.dir().join("finished")).expect("a file");
    assert_eq!(finished, "run_finished\n");
}

#[test]
fn failing_reactions_leave_the_outcome_and_are_told() {
    let mut world = world();
    let config = "[[on]]\nevent = 'all'\nrun = ['sh', '-c', 'echo no such room >&2; exit 7']\n";
    configure(&mut world, config);
    let run = run(&world, &[]);
    assert_eq!(run.code, Some(1), "the outcome of the run stays: {run}");
    let said = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("`sh -c echo no such room >&2; exit 7` failed 6 times"), "{run}");
    assert!(said.contains("exit code 7: no such room"), "{run}");
}

#[test]
fn reaction_that_hangs_does_not_hold_up_the_run() {
    let world = world();
    let mut table = String::from("id,title,role\n");
    table.extend((0..400).map(|nth| format!("T-{nth},Do it,builder\n")));
    world.write("S/tasks.csv", table);
    // The first reaction waits until the run is over; as many as have room wait behind it, and the rest are dropped.
    let hook = "until [ -e over ]; do sleep 0.02; done";
    let mut command = world.command(&["run", "--session=S", "--agent-command", "true", "-y", "--on-event", hook]);
    let executor = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    limited_until("the end of the run", || {
        let listed = world.run(&["report", "--session=S"]);
        let report: Value = serde_json::from_str(&listed.stdout).unwrap_or_default();
        (report["counts"]["completed"] == 400).then_some(())
    });
    world.write("over", "");
    let output = executor.limited_output();
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("reactions to events were dropped: too many waited"), "{said}");
}

/// What a reaction leaves behind ends with it, also what left its group, and all of it with a killed executor.
///
/// R: N-05
#[test]
fn reaction_and_all_that_it_started_end_in_custody() {
    let world = world();
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let stays = "setsid sh -c 'exec 9>pulse; printf . >&9; touch on; sleep 600' & until [ -e on ]; do sleep 0.02; done";
    for session in ["S", "T", "U"] {
        world.write(&format!("{session}/tasks.csv"), "id,title,role\nGOOD,Say it,builder\n");
    }
    let ended = world.run(&["run", "--session=S", "--agent-command", "true", "-y", "--on-event", stays]);
    assert_eq!(ended.code, Some(0), "{ended}");
    pulse.wait_alive(1);
    pulse.wait_dead();
    let hangs = "setsid sh -c 'exec 9>pulse; printf . >&9; sleep 600' & sleep 600";
    let waits = ["run", "--session=T", "--agent-command", "sleep 600", "-y", "--on-event", hangs];
    let mut executor = world.command(&waits).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    pulse.wait_alive(1);
    executor.kill().expect("it is killed");
    executor.limited_wait();
    pulse.wait_dead();
    let state = world.dir().parent().expect("a world").join("home/.local/state/team-executor/reactions");
    let folders = || std::fs::read_dir(&state).expect("a folder").count();
    assert_eq!(folders(), 1, "of the killed one");
    let swept = world.run(&["run", "--session=U", "--agent-command", "true", "-y", "--on-event", "true"]);
    assert_eq!((swept.code, folders()), (Some(0), 0), "{swept}");
}

#[test]
fn project_cannot_react_to_events() {
    let world = world();
    world.write("team-executor.toml", "[[on]]\nevent = 'all'\nrun = ['touch', 'pwned']\n");
    let run = run(&world, &["--trust-project"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("a project cannot react to events"), "{run}");
    assert!(run.stderr.contains("team-executor.toml:1:"), "{run}");
    assert!(!world.dir().join("pwned").exists(), "{run}");
}

/// R: X-04
#[test]
fn odd_reactions_are_refused_with_their_place() {
    let mut world = world();
    configure(&mut world, "[[on]]\nevent = 'task_complete'\nrun = ['true']\n");
    let unknown = run(&world, &[]);
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(unknown.stderr.contains("needs, failed, finished, all, or the type of an event"), "{unknown}");
    configure(&mut world, "[[on]]\nevent = 'needs'\n");
    assert!(run(&world, &[]).stderr.contains("one of `run`, `desktop`, `webhook`"));
    configure(&mut world, "[[on]]\nevent = 'needs'\nrun = ['no-such-program-here']\n");
    let missing = run(&world, &[]);
    assert_eq!(missing.code, Some(2), "{missing}");
    assert!(missing.stderr.contains("there is no program `no-such-program-here`"), "{missing}");
    assert!(!world.dir().join(".workflow").exists(), "nothing was started");
}

#[test]
fn webhook_is_tried_again_after_an_error() {
    if !std::path::Path::new("/usr/bin/curl").exists() {
        println!("not tried: /usr/bin/curl is missing");
        return;
    }
    let mut world = world();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    configure(&mut world, &format!("[[on]]\nevent = 'finished'\nwebhook = 'http://{address}/hook?key=s3cret'\n"));
    let server =
        std::thread::spawn(move || ["500 Internal Server Error", "200 OK"].map(|answer| serve(&listener, answer)));
    let run = run(&world, &[]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(!run.stderr.contains("webhook") && !run.stderr.contains("s3cret"), "{run}");
    limited_until("both requests", || server.is_finished().then_some(()));
    let bodies = server.join().expect("two requests");
    assert_eq!(bodies[0], bodies[1]);
    let event: Value = serde_json::from_str(&bodies[1]).expect("JSON");
    assert_eq!(event["type"], "run_finished");
}

/// Takes one request and gives its body.
fn serve(listener: &TcpListener, answer: &str) -> String {
    let (stream, _) = listener.accept().expect("a request");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    let mut reader = BufReader::new(&stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let mut byte = [0];
        reader.read_exact(&mut byte).expect("a head");
        head.push(char::from(byte[0]));
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).expect("a length");
    let mut body = vec![0; length.trim().parse().expect("a number")];
    reader.read_exact(&mut body).expect("a body");
    write!(&stream, "HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").expect("an answer");
    String::from_utf8(body).expect("a text")
}
