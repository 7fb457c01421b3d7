//! The end of a run as people see it: the verdict, the reasons, and what to type.

use team_executor_testkit::{Run, Screen, World};

/// A world with a session of these tasks, each after the one before.
fn world(tasks: &[&str]) -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let rows = tasks.iter().enumerate().map(|(nth, id)| {
        let after = nth.checked_sub(1).map_or("", |before| tasks[before]);
        format!("{id},Do {id},{after},worker\n")
    });
    world.write("S/tasks.csv", format!("id,title,deps,role\n{}", rows.collect::<String>()));
    world
}

/// Runs the session with a worker, and hides what differs from time to time.
fn shown(run: &Run) -> String {
    let text = run.to_string();
    let lines = text.lines().map(|line| match line {
        line if line.starts_with("Duration ") => "Duration        TIME".to_owned(),
        line => line.replace(&day(line), "DAY"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The day in the name of a run, or a text that is nowhere.
fn day(line: &str) -> String {
    line.split_once("EX-S-").map_or_else(|| "\u{1}".to_owned(), |(_, rest)| rest.chars().take(10).collect())
}

const FAILS: &str =
    "echo connecting >&2; echo 'cannot open database `shop`: permission denied (os error 13)' >&2; exit 7";

#[test]
fn failed_run_begins_with_the_verdict_and_the_reasons() {
    let world = world(&["A", "B", "C"]);
    let worker = format!("if [ $TEAM_EXECUTOR_TASK = B ]; then {FAILS}; fi; echo fine");
    let run = world.run(&["run", "--session=S", "-y", "--retries", "0", "--agent-command", &worker]);
    insta::assert_snapshot!(shown(&run).split_once("------- stdout -------\n").expect("output").1, @r"
    Run failed: 1 failed, 1 skipped, 1 of 3 completed
    ✗ B (worker) exit code 7: connecting; cannot open database `shop`: permission denied (os error 13)
      team-executor logs B --session=S
      wave 2: 1 failed, 0 skipped
      wave 3: 0 failed, 1 skipped
    Session         S
    Files           .workflow/.csv-wave/EX-S-DAY
    Roles           worker 1/3
    Duration        TIME
    Retry with: team-executor retry --failed --session=S
    ------- stderr -------
    Run EX-S-DAY begins, 3 to do
    ▶ A (worker)
    ✓ A [1/3] fine
    ▶ B (worker)
    ✗ B exit code 7: connecting; cannot open database `shop`: permission denied (os
      error 13)
    – C skipped: dependency B failed
    [exit status: 1]
    ");
    let status = world.run(&["status", "--session=S"]);
    assert!(status.stdout.contains("permission denied (os error 13)"), "{status}");
    let context = std::fs::read_dir(world.dir().join(".workflow/.csv-wave")).expect("runs").flatten();
    let context = context.map(|run| run.path().join("context.md")).find(|path| path.is_file()).expect("a report");
    let context = std::fs::read_to_string(context).expect("text");
    assert!(context.contains("\n- failed: B (worker): exit code 7: connecting; cannot open database"), "{context}");
}

#[test]
fn nothing_is_cut_in_a_pipe() {
    let mut world = world(&["A-task-with-a-name-that-takes-its-room"]);
    world.env("COLUMNS", "");
    let long = "word ".repeat(40);
    let worker = format!("echo '{long}end'");
    let run = world.run(&["run", "--session=S", "-y", "--agent-command", &worker]);
    assert!(run.stderr.contains(&format!("{long}end\n")), "{run}");
    let missing = world.run(&["status", "--session=a-session-that-is-nowhere"]);
    assert!(missing.stderr.lines().all(|line| line.starts_with("error: ") || line.starts_with("help: ")), "{missing}");
}

#[test]
fn verdict_of_a_long_report_is_on_the_last_screen() {
    let world = world(&["A", "B"]);
    let files = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do echo x >$TEAM_EXECUTOR_ARTIFACTS/$n.txt; done";
    let worker = format!("if [ $TEAM_EXECUTOR_TASK = B ]; then {FAILS}; fi; {files}");
    let args = ["run", "--session=S", "-y", "--retries", "0", "--no-progress", "--agent-command", &worker];
    let mut terminal = Screen::start(world.command(&args), 80, 24);
    assert_eq!(terminal.end().code(), Some(1));
    let screen = terminal.glass().screen().join("\n");
    let verdict = "Run failed: 1 failed, 1 of 2 completed";
    assert!(screen.contains(verdict), "{screen}");
    let last: Vec<_> = screen.lines().filter(|line| !line.trim().is_empty()).collect();
    assert!(last[last.len() - 1].starts_with("Retry with: "), "{screen}");
    assert_eq!(last[last.len() - 2], verdict, "{screen}");
}
