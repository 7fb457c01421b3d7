//! Whatever cannot be done is said with what to do next.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use team_executor_testkit::limited::*;
use team_executor_testkit::{Run, World};

use crate::fixtures::world as holding;

const SESSION: &str = "--session=tc-spec-minimal";

/// Nothing but sentences, and at least one of them helps.
fn helps(run: &Run) {
    assert!(!matches!(run.code, Some(0) | None), "{run}");
    assert!(run.stderr.starts_with("error: "), "{run}");
    assert!(run.stderr.lines().any(|line| line.starts_with("help: ")), "{run}");
    said_for_people(&run.stderr);
}

/// No panic, no backtrace, no debug form of a value.
fn said_for_people(text: &str) {
    // Lines of files are shown as they are.
    let text: String = text.lines().filter(|line| !line.contains(" | ")).collect();
    for sign in
        ["panicked", "RUST_BACKTRACE", "stack backtrace", "Err(", "Some(", "Os {", "kind: ", " { ", "\\u{", "0x"]
    {
        assert!(!text.contains(sign), "{sign}: {text}");
    }
}

/// R: X-04
#[test]
fn every_refusal_says_what_to_do_next() {
    let mut world = holding("tc-spec-minimal");
    world.env("RUST_BACKTRACE", "1");
    world.write("file", "no folder");
    world.write("none/.workflow", "a file");
    let worker = ["--agent-command", "true"];
    let commands: &[&[&str]] = &[
        // arguments that are not understood
        &["--no-such-flag"],
        &["no-such-command"],
        &["valid"],
        &["validate", "--format", "yaml"],
        &["validate", "--dialect", "toml"],
        &["plan", "--format"],
        &["run", "-c", "many"],
        &["run", "-c", "-1"],
        &["run", "--retries", "99999999999999"],
        &["run", "--time-limit", "soon"],
        &["run", "--cadence", "tango"],
        &["logs"],
        &["logs", "A", "B"],
        &["completions"],
        &["completions", "csh"],
        &["man", "more"],
        &["sessions", "a", "b"],
        // sessions that are not there
        &["run"],
        &["validate"],
        &["plan"],
        &["status"],
        &["logs", "A"],
        &["validate", "--session="],
        &["validate", "--session=nowhere"],
        &["plan", "--session=file"],
        &["status", "--session=nowhere"],
        &["logs", "A", "--session=nowhere"],
        &["run", "--session=nowhere"],
        // what is not there in them
        &["logs", "NOPE-1", SESSION],
        &["logs", "BUILD-001", SESSION],
        &["prompt"],
        &["prompt", "A"],
        &["prompt", "NOPE-1", SESSION],
        &["resume", "--session=nowhere"],
        &["pause", SESSION],
        &["stop", "--now", SESSION],
        &["retry", SESSION],
        &["retry", "--failed", SESSION],
        &["retry", "NOPE-1", SESSION],
        &["skip", SESSION],
        &["skip", "BUILD-001", SESSION],
        &["rehearse"],
        &["rehearse", "--fail", "NOPE-1", SESSION],
        &["rehearse", "--speed", "0", SESSION],
        &["config", "--session=nowhere"],
        &["run", "--continue", "EX-nope"],
        &["run", SESSION, "--agent", "stranger", "-y"],
        &["run", SESSION, "--agent-command", "/no/such/program", "-y"],
        &["schema", "nope"],
        &["sessions"],
        &["sessions", "nowhere"],
        &["sessions", "none"],
        // what is missing for a start
        &["run", SESSION],
        &[SESSION],
        &["run", SESSION, worker[0], worker[1]],
    ];
    for args in commands {
        helps(&world.run(args));
    }
    // Each problem of an invalid session helps by itself.
    for command in ["run", "plan", "rehearse", "status", "logs A", "prompt A"] {
        let world = holding("tc-everything-wrong");
        let args: Vec<_> = command.split(' ').chain(["--session=tc-everything-wrong"]).collect();
        helps(&world.run(&args));
    }
}

/// R: X-04
#[test]
fn a_run_that_cannot_go_on_says_what_to_do_next() {
    let args = ["run", SESSION, "--agent-command", "true", "-y"];
    let world = holding("tc-spec-minimal");
    world.write(".workflow/.csv-wave", "a file where a folder must be");
    helps(&world.run(&args));

    let mut world = holding("tc-spec-minimal");
    world.env("TEAM_EXECUTOR_DEPTH", "1000");
    helps(&world.run(&args));

    let world = holding("tc-spec-minimal");
    assert_eq!(world.run(&args).code, Some(0));
    let runs = world.dir().join(".workflow/.csv-wave").read_dir().expect("runs").flatten();
    let run = runs.map(|entry| entry.path()).find(|path| path.is_dir()).expect("a run");
    let journal = run.join(".executor/journal");
    let whole = std::fs::read(&journal).expect("a journal");
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&journal, &damaged).expect("written");
    for args in [&args[..], &["status", SESSION], &["logs", "BUILD-001", SESSION]] {
        helps(&world.run(args));
    }
    std::fs::write(&journal, &whole).expect("written");
    std::fs::write(world.dir().join("tc-spec-minimal/task-analysis.json"), "{").expect("written");
    for args in [&args[..], &["status", SESSION], &["logs", "BUILD-001", SESSION], &["plan", SESSION]] {
        helps(&world.run(args));
    }
}

/// R: X-04
#[test]
fn output_that_cannot_be_written_says_what_to_do_next() {
    let world = holding("tc-spec-minimal");
    for args in [&["validate", SESSION][..], &["plan", SESSION], &["schema"], &["man"], &["status", SESSION]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a device that is always full");
        let output =
            world.command(args).stdout(full).stderr(Stdio::piped()).spawn().expect("it starts").limited_output();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(74), "{said}");
        assert!(said.starts_with("error: ") && said.contains("\nhelp: "), "{said}");
        said_for_people(&said);
    }
}

/// The superuser may read everything, so it gives up what lets it.
///
/// R: X-04
#[test]
fn a_session_that_may_not_be_read_says_what_to_do_next() {
    let theirs = holding("tc-spec-minimal");
    let session = theirs.dir().join("tc-spec-minimal");
    std::fs::set_permissions(&session, Permissions::from_mode(0o000)).expect("permissions");
    let argument = format!("--session={}", session.display());
    let bound = ["--bounding-set=-dac_override,-dac_read_search", env!("CARGO_BIN_EXE_team-executor")];
    let run = World::new("setpriv").run(&[&bound[..], &["plan", &argument]].concat());
    std::fs::set_permissions(&session, Permissions::from_mode(0o755)).expect("permissions");
    helps(&run);
}

/// A suggested command does what it says, and nothing else.
#[test]
fn a_suggested_command_names_the_session_as_a_shell_reads_it() {
    const SESSION: &str = "--session=a b/$(touch hit)";
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let suggests = |command: &[&str]| {
        let run = world.run(&[command, &[SESSION]].concat());
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.matches("--session=").count() == 1 && said.contains("'--session="), "{run}");
        assert!(said.contains("a b/$(touch hit)'"), "{run}");
    };
    world.write("a b/$(touch hit)/tasks.csv", "id,title,deps,role\nA,Do A,B,worker\n");
    for command in [&["logs", "A"] as &[_], &["artifacts"], &["prompt", "A"], &["run", "-y", "--format", "json"]] {
        suggests(command);
    }
    world.write(
        "a b/$(touch hit)/tasks.csv",
        "id,title,deps,role\nA,Do A,,worker\nQUALITY-1,Do QUALITY-1,A,worker\nB,Do B,QUALITY-1,worker\n",
    );
    for command in [&["pause"] as &[_], &["retry", "A"], &["artifacts"], &["logs", "A"], &["logs", "C"], &["talk"]] {
        suggests(command);
    }
    assert_eq!(world.run(&["run", SESSION, "--agent-command", "true", "-y"]).code, Some(3));
    let more: [&[&str]; 8] = [
        &["pause"],
        &["stop"],
        &["retry", "A", "--downstream"],
        &["retry", "B"],
        &["artifacts", "show", "x"],
        &["talk", "close", "A"],
        &["task", "accept", "X"],
        &["task", "update", "A", "--status", "completed"],
    ];
    more.into_iter().for_each(suggests);
    let stands = world.run(&["status", SESSION]);
    let quoted = stands.stdout.matches(&format!(" '{SESSION}'\n")).count();
    assert!(quoted > 0 && stands.stdout.matches("--session").count() == quoted, "{stands}");
    let near = holding("tc-spec-minimal");
    near.write(".workflow/.team/TC a b/x", "");
    let said = near.run(&["plan", "--session=.workflow/.team/TC a c"]);
    assert!(said.stderr.contains("did you mean '--session=.workflow/.team/TC a b'?"), "{said}");
}

/// What is suggested is not refused in turn.
#[test]
fn a_session_with_other_tasks_than_its_run_says_what_leads_on() {
    const TASKS: &str =
        "id,title,deps,role\nA,Do A,,worker\nQUALITY-1,Do QUALITY-1,A,worker\nB,Do B,QUALITY-1,worker\n";
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let run = |command| world.run(&[command, "--session=S", "--agent-command", "true", "-y"]);
    let helps = |help: &str| {
        // A task that has begun cannot be removed.
        let fewer = TASKS.replace("A,Do A,,worker\n", "").replace(",A,", ",,");
        world.write("S/tasks.csv", fewer);
        for command in [&["status"] as &[_], &["logs", "B"], &["prompt", "B"]] {
            let said = world.run(&[command, &["--session=S"]].concat());
            assert!(said.code == Some(2) && said.stderr.contains(&format!("help: {help}\n")), "{said}");
        }
    };
    world.write("S/tasks.csv", TASKS);
    assert_eq!(run("run").code, Some(3));
    let before = std::fs::read_to_string(world.dir().join("S/tasks.csv")).expect("the session is there");
    let undo = "undo the change, or move the run's folder away to begin anew";
    helps(undo);
    let refused = run("run");
    assert!(refused.code == Some(2) && refused.stderr.contains(&format!("help: {undo}\n")), "{refused}");
    world.write("S/tasks.csv", before);
    assert_eq!(run("resume").code, Some(0));
    let another = "that run is finished; begin another with: team-executor run --session=S";
    helps(another);
    world.run(&["archive", "--session=S"]);
    assert!(world.dir().join(".workflow/.archive").is_dir());
    let put_away = world.run(&["status", "--session=S"]);
    assert!(put_away.stderr.contains(another), "{put_away}");
    assert_eq!(run("run").code, Some(3), "another comes to its checkpoint");
}
