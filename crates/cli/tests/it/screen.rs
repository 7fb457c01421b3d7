//! What a person sees on a terminal.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Screen, World};

const HEAD: &str = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n";

/// A world with a session of these rows in `S`: id, title, dependencies, mode and role.
fn world(rows: &[[&str; 5]]) -> World {
    let row =
        |[id, title, deps, mode, role]: &[&str; 5]| format!("{id},{title},Do it,{deps},,{mode},{role},1,pending,,\n");
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let rows: String = rows.iter().map(row).collect();
    world.write("S/tasks.csv", format!("{HEAD}{rows}"));
    world
}

fn arguments<'a>(worker: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["--session=S", "--agent-command", worker, "--retries", "0"], more].concat()
}

fn start(world: &World, worker: &str, more: &[&str], (columns, rows): (u16, u16)) -> Screen {
    Screen::start(world.command(&arguments(worker, more)), columns, rows)
}

/// Two tasks that say something and wait at a gate, and one behind the first.
fn waiting() -> (World, [Gate; 2], String) {
    let world = world(&[
        ["A", "First", "", "csv-wave", "builder"],
        ["B", "Second", "A", "csv-wave", "builder"],
        ["任务", "Third", "", "csv-wave", "tester"],
    ]);
    let gates = ["a", "b"].map(|name| Gate::new(world.dir().join(name)));
    let worker = r#"case $TEAM_EXECUTOR_TASK in
        A) printf 'compiling\033[2J 正在编译\n'; cat a; echo x > "$TEAM_EXECUTOR_ARTIFACTS/parts.txt" ;;
        B) echo tests; cat b ;;
    esac; echo did $TEAM_EXECUTOR_TASK"#;
    (world, gates, worker.to_owned())
}

#[test]
fn a_run_is_seen_while_it_goes_on_and_leaves_a_clean_terminal() {
    let (world, [a, b], worker) = waiting();
    let mut terminal = start(&world, &worker, &["-y"], (60, 24));
    terminal.wait_for("▶ A  builder   0:0");
    terminal.wait_for("compiling 正在编译");
    terminal.wait_for("] 1/3  0:0");
    terminal.wait_for("1 running, 0 ready, 1 waiting");
    terminal.wait_for(", about ");
    a.open();
    terminal.wait_for("▶ B  builder   0:0");
    terminal.wait_for("] 2/3  0:0");
    b.open();
    assert_eq!(terminal.end().code(), Some(0));
    let left = terminal.glass().history();
    let told: Vec<_> = left.iter().filter(|line| line.starts_with(['▶', '✓'])).map(String::as_str).collect();
    assert_eq!(told.len(), 6, "each task began and ended: {left:#?}");
    assert!(told[0].starts_with("▶ A (builder)") && told[5].starts_with("✓ B [3/3] did B"), "{left:#?}");
    assert!(!left.iter().any(|line| line.contains(" running, ") || line.contains("] 2/3  ")), "{left:#?}");
    assert!(left.contains(&"Pipeline complete: 3/3 tasks completed".to_owned()), "{left:#?}");
}

#[test]
fn more_workers_than_a_small_terminal_has_lines_are_counted() {
    let names: Vec<String> = (1..=9).map(|nth| format!("W{nth}")).collect();
    let rows: Vec<[&str; 5]> = names.iter().map(|name| [name.as_str(), "", "", "csv-wave", "worker"]).collect();
    let world = world(&rows);
    let gates: Vec<Gate> = names.iter().map(|name| Gate::new(world.dir().join(name))).collect();
    let mut terminal =
        start(&world, "echo 很长的一行字很长的一行字很长的一行字; cat $TEAM_EXECUTOR_TASK", &["-y", "-c9"], (40, 10));
    terminal.wait_for("9 running, 0 ready, 0 waiting");
    terminal.wait_for("  and 7 more");
    terminal.wait_for("▶ W2  worker   0:0");
    terminal.wait_for("很长的一行");
    assert!(terminal.glass().screen().len() <= 10);
    terminal.resize(20, 4);
    terminal.wait_for("  and 9 more");
    gates.iter().for_each(Gate::open);
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn an_interrupted_run_leaves_a_clean_terminal() {
    let (world, [a, _], worker) = waiting();
    let mut terminal = start(&world, &worker, &["-y"], (80, 24));
    terminal.wait_for("▶ A  builder");
    let sent = Command::new("kill").args(["-INT", &terminal.id().to_string()]).limited_status();
    assert!(sent.success());
    terminal.wait_for("Stopping after ");
    a.open();
    assert_eq!(terminal.end().code(), Some(3));
    let left = terminal.glass().history();
    assert!(!left.iter().any(|line| line.contains(" running, ")), "{left:#?}");
    assert!(left.iter().any(|line| line.starts_with("Resume with: team-executor ")), "{left:#?}");
}

/// R: X-05
#[test]
fn where_it_is_not_wanted_there_is_no_live_view() {
    let mut world = world_of_one();
    world.env("TERM", "dumb");
    let mut terminal = start(&world, "echo fine", &["-y"], (80, 24));
    assert_eq!(terminal.end().code(), Some(0));
    assert!(!terminal.written().contains('\u{1b}'), "{:?}", terminal.written());
    assert!(terminal.glass().to_string().contains("✓ A [1/1] fine\n"), "{}", terminal.glass());
    let world = world_of_one();
    let mut terminal = start(&world, "echo fine", &["-y", "--no-progress"], (80, 24));
    assert_eq!(terminal.end().code(), Some(0));
    assert!(!terminal.written().contains("running, "), "{:?}", terminal.written());
}

/// R: X-05
#[test]
fn no_color_keeps_the_live_view() {
    let (mut world, [a, b], worker) = waiting();
    world.env("NO_COLOR", "1");
    let mut terminal = start(&world, &worker, &["-y"], (80, 24));
    terminal.wait_for("▶ A  builder   0:0");
    let mut watcher = Screen::start(world.command(&["status", "--session=S", "--watch"]), 80, 24);
    watcher.wait_for("▶ A in_progress  attempt 1, 0 s");
    [a, b].iter().for_each(Gate::open);
    for terminal in [&mut terminal, &mut watcher] {
        assert_eq!(terminal.end().code(), Some(0));
        let styles = terminal.written().split("\u{1b}[").skip(1);
        let mut styles =
            styles.filter(|it| it.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'));
        assert_eq!(styles.next(), None, "{:?}", terminal.written());
    }
}

/// R: W-17
#[test]
fn tasks_are_shown_and_confirmed_before_the_start() {
    let world = world(&[
        ["A", "First", "", "csv-wave", "builder"],
        ["B", "Second", "A", "interactive", "tester"],
        ["C", "Third", "A", "csv-wave", "tester"],
    ]);
    let before = world.tree();
    for answer in ["n\n", "what?\n", "\u{4}"] {
        let mut terminal = start(&world, "true", &[], (80, 24));
        terminal.wait_for("Start? [Y/n]");
        let seen = terminal.glass().to_string();
        let breakdown = "Session S: 3 tasks in 2 waves\n\
                         Wave 1, 1 task\n  A  builder               First\n\
                         Wave 2, 2 tasks\n  B  tester   interactive  Second  after A\n  C  tester                Third  after A\n\
                         --agent-command runs: true\nStart? [Y/n]";
        assert!(seen.ends_with(breakdown), "{seen}");
        terminal.type_in(answer);
        assert_eq!(terminal.end().code(), Some(2), "{}", terminal.glass());
        assert!(terminal.glass().to_string().ends_with("Nothing was started"), "{}", terminal.glass());
        assert_eq!(world.tree(), before, "nothing was confirmed");
    }
    for (answer, more) in [("y\n", &[][..]), ("", &["-y"])] {
        let world = world_of_one();
        let mut terminal = start(&world, "true", more, (80, 24));
        if !answer.is_empty() {
            terminal.wait_for("Start? [Y/n]");
            terminal.type_in(answer);
            terminal.wait_for("Your choice [1]:");
            terminal.type_in("4\n");
            terminal.wait_for("### A: A");
            terminal.type_in("2\n");
        }
        assert_eq!(terminal.end().code(), Some(0), "{}", terminal.glass());
        assert_eq!(terminal.written().contains("Start?"), !answer.is_empty());
        assert!(
            terminal.glass().to_string().contains("Pipeline complete: 1/1 tasks completed"),
            "{}",
            terminal.glass()
        );
    }
}

#[test]
fn at_the_last_question_a_signal_ends_the_program() {
    let world = world_of_one();
    let mut terminal = start(&world, "true", &[], (80, 24));
    terminal.wait_for("Start? [Y/n]");
    terminal.type_in("y\n");
    terminal.wait_for("Your choice [1]:");
    let sent = Command::new("kill").args(["-INT", &terminal.id().to_string()]).limited_status();
    assert!(sent.success());
    assert_eq!(terminal.end().signal(), Some(2), "{}", terminal.glass());
}

/// A session with a checkpoint, at a terminal where it has come to that.
fn at_checkpoint() -> (World, Screen) {
    let world = world(&[
        ["A", "First", "", "csv-wave", "builder"],
        ["QUALITY-001", "Second", "A", "csv-wave", "tester"],
        ["B", "Third", "QUALITY-001", "csv-wave", "builder"],
    ]);
    let mut terminal = start(&world, "true", &["--on-complete", "auto_keep"], (90, 24));
    terminal.wait_for("Start? [Y/n]");
    terminal.type_in("y\n");
    terminal.wait_for("? for help\n>");
    (world, terminal)
}

#[test]
fn typed_answer_is_visible() {
    let (_world, mut terminal) = at_checkpoint();
    terminal.type_in("feedback mind the g");
    terminal.wait_for("> feedback mind the g");
    assert!(!terminal.glass().to_string().contains(" running, "), "{}", terminal.glass());
    terminal.type_in("ap\n");
    terminal.wait_for("Decided after QUALITY-001: feedback: mind the gap\n>");
    terminal.type_in("resume\n");
    assert_eq!(terminal.end().code(), Some(0), "{}", terminal.glass());
    let left = terminal.glass().history();
    assert!(left.contains(&"> resume".to_owned()) && !left.contains(&">".to_owned()), "{left:#?}");
}

#[test]
fn any_byte_can_be_typed_at_a_question() {
    let world = world_of_one();
    let mut terminal = start(&world, "true", &[], (80, 24));
    terminal.wait_for("Start? [Y/n]");
    terminal.type_in(b"\xff\n");
    assert_eq!(terminal.end().code(), Some(2), "{}", terminal.glass());
    assert!(terminal.glass().to_string().ends_with("Nothing was started"), "{}", terminal.glass());
    let (_world, mut terminal) = at_checkpoint();
    terminal.type_in(b"\xe9\n");
    terminal.wait_for("unknown answer; type y to approve, improve TEXT, revise TASK");
    terminal.type_in("?\n");
    terminal.wait_for("y, approve or resume continues");
    terminal.type_in("y\n");
    assert_eq!(terminal.end().code(), Some(0), "{}", terminal.glass());
}

#[test]
fn interrupt_without_workers_ends_at_once() {
    let (_world, mut terminal) = at_checkpoint();
    let sent = Command::new("kill").args(["-INT", &terminal.id().to_string()]).limited_status();
    assert!(sent.success());
    assert_eq!(terminal.end().code(), Some(3), "{}", terminal.glass());
    let left = terminal.glass().history();
    assert!(left.contains(&"Stopping; no worker runs".to_owned()), "{left:#?}");
}

fn world_of_one() -> World {
    world(&[["A", "", "", "csv-wave", "worker"]])
}

#[test]
fn a_breakdown_of_many_tasks_is_cut_and_says_where_to_see_all() {
    let names: Vec<String> = (0..100).map(|nth| format!("T{nth:02}")).collect();
    let rows: Vec<[&str; 5]> = (0..100)
        .map(|nth| [&*names[nth], "", if nth < 12 { "" } else { &*names[nth - 12] }, "csv-wave", "worker"])
        .collect();
    let world = world(&rows);
    let mut terminal = start(&world, "true", &[], (80, 100));
    terminal.wait_for("Start? [Y/n]");
    let seen = terminal.glass().screen();
    let told = |line: &str| seen.iter().filter(|seen| *seen == line).count();
    assert_eq!(told("Session S: 100 tasks in 9 waves"), 1, "{seen:#?}");
    assert_eq!(told("  … and 2 more"), 4, "{seen:#?}");
    assert_eq!(told("… and 52 tasks in 5 more waves"), 1, "{seen:#?}");
    assert_eq!(told("See all of them with: team-executor plan --session=S"), 1, "{seen:#?}");
    terminal.type_in("n\n");
    assert_eq!(terminal.end().code(), Some(2));
}

/// R: E-08, W-18
#[test]
fn end_of_a_run_lists_deliveries_and_next_steps() {
    let world = world(&[
        ["A", "First", "", "csv-wave", "builder"],
        ["B", "Second", "", "csv-wave", "tester"],
        ["C", "Third", "B", "csv-wave", "tester"],
    ]);
    let worker = r#"mkdir "$TEAM_EXECUTOR_ARTIFACTS/in"; echo x > "$TEAM_EXECUTOR_ARTIFACTS/in/it.txt"; test $TEAM_EXECUTOR_TASK = A || test -e go"#;
    let mut terminal = start(&world, worker, &[], (120, 50));
    terminal.wait_for("Start? [Y/n]");
    terminal.type_in("\n");
    terminal.wait_for("View results, retry failed, or done? [v/r/D]");
    let run = world.dir().join(".workflow/.csv-wave").read_dir().expect("runs").flatten();
    let run = run.map(|entry| entry.path()).find(|path| path.is_dir()).expect("a run");
    let near = run.strip_prefix(world.dir()).expect("below").display().to_string();
    let seen = terminal.glass().screen();
    let begin = seen.iter().position(|line| line.starts_with("Run failed: ")).expect("a summary");
    let expected = format!(
        "Run failed: 1 failed, 1 skipped, 1 of 3 completed\n✗ B (tester) exit code 1\n  team-executor logs B --session=S\n  \
         wave 1: 1 failed, 0 skipped\n  wave 2: 0 failed, 1 skipped\n\
         Session         S\nFiles           {near}\n\
         Deliverables    artifacts/A/in/it.txt (A, builder)\n\
         Roles           builder 1/1, tester 0/2\nArtifacts       1 passed\nDuration        "
    );
    let report = seen[begin..].join("\n");
    assert!(report.starts_with(&expected), "{report}");

    terminal.type_in("v\n");
    terminal.wait_for("- artifacts/A/in/it.txt by A (builder)");
    let context = std::fs::read_to_string(run.join("context.md")).expect("a report");
    for part in [
        "Run failed: 1 failed, 1 skipped, 1 of 3 completed\n",
        "- failed: B (tester): exit code 1\n",
        "- wave 1: 1 failed, 0 skipped\n",
        "- roles: builder 1/1, tester 0/2\n",
    ] {
        assert!(context.contains(part), "{part}: {context}");
    }
    world.write("go", "");
    terminal.type_in("r\n");
    terminal.wait_for("Pipeline complete: 3/3 tasks completed");
    terminal.wait_for("Keep Active");
    terminal.type_in("2\n");
    assert_eq!(terminal.end().code(), Some(0));
    assert!(run.join("results.csv").is_file());
}

#[test]
fn a_run_can_be_watched_from_another_terminal() {
    let (world, [a, b], worker) = waiting();
    let mut executor = start(&world, &worker, &["-y"], (80, 24));
    executor.wait_for("▶ A  builder");
    let mut watcher = Screen::start(world.command(&["status", "--session=S", "--watch"]), 80, 24);
    watcher.wait_for("▶ A in_progress  attempt 1, 0 s");
    let mut small = Screen::start(world.command(&["status", "--session=S", "-w"]), 60, 9);
    small.wait_for("▶ A in_progress  attempt 1");
    assert!(!small.glass().to_string().contains("任务"), "only what runs has room: {}", small.glass());
    let mut follower = Screen::start(world.command(&["logs", "-f", "A", "--session=S"]), 80, 24);
    follower.wait_for("compiling␛[2J 正在编译");
    a.open();
    follower.wait_for("did A");
    assert_eq!(follower.end().code(), Some(0), "the attempt has ended");
    watcher.wait_for("▶ B in_progress");
    b.open();
    for terminal in [&mut watcher, &mut small, &mut executor] {
        assert_eq!(terminal.end().code(), Some(0));
    }
    for terminal in [&watcher, &small] {
        let left = terminal.glass().history();
        assert_eq!(left.iter().filter(|line| line.ends_with(" is finished")).count(), 1, "{left:#?}");
        assert!(!left.iter().any(|line| line.contains("in_progress")), "{left:#?}");
    }
}
