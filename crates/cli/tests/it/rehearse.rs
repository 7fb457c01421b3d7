//! Rehearsals: the whole run beforehand, on a copy.

use std::path::{Path, PathBuf};

use team_executor_testkit::{Run, Tree, World};

use crate::fixtures::world as fixture;

const EXAMPLE: &str = ".workflow/.team/TC-repository-report-2026-11-15";
const STAGE: &str = ".workflow/.rehearsal/.workflow";

/// The bundled session where sessions live.
fn example() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/TC-repository-report-2026-11-15");
    world.copy_tree(root, EXAMPLE);
    world
}

fn rehearse(world: &World, session: &str, more: &[&str]) -> Run {
    let session = format!("--session={session}");
    world.run(&[&["rehearse", &session, "--speed", "2000"], more].concat())
}

/// The folder of the only rehearsed run.
fn folder(world: &World) -> PathBuf {
    let runs = std::fs::read_dir(world.dir().join(STAGE).join(".csv-wave")).expect("there are runs");
    let mut runs: Vec<_> = runs.map(|run| run.expect("a run").path()).filter(|path| path.is_dir()).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.remove(0)
}

#[test]
fn a_rehearsal_shows_the_run_and_leaves_the_session_as_it_is() {
    let world = example();
    let before = Tree::read(&world.dir().join(EXAMPLE));
    for _ in 0..2 {
        let run = rehearse(&world, EXAMPLE, &[]);
        assert_eq!(run.code, Some(0), "{run}");
        assert_eq!(Tree::read(&world.dir().join(EXAMPLE)), before);
        let lines: Vec<&str> = run.stdout.lines().collect();
        assert!(lines[0].starts_with("Rehearsed: no model was called and no work was done"), "{run}");
        assert_eq!(lines.iter().filter(|line| line.starts_with("Wave ")).count(), 5, "{run}");
        assert_eq!(lines.iter().filter(|line| line.starts_with("  ✓ ") && line.contains('#')).count(), 7, "{run}");
        assert!(lines.iter().any(|line| line.starts_with("Makespan        ")), "{run}");
        assert!(lines.contains(&"Pipeline complete: 7/7 tasks completed"), "{run}");
        assert!(run.stdout.contains(&format!("\nFiles           {STAGE}")), "{run}");
    }
    assert!(!world.dir().join(".workflow/.csv-wave").exists());
    let sessions = world.run(&["sessions"]).stdout;
    assert_eq!(sessions.lines().count(), 2, "{sessions}");
    let run = folder(&world);
    let artifact = std::fs::read_to_string(run.join("artifacts/REPORT-001/rehearsal.md")).expect("an artifact");
    assert!(artifact.starts_with("# Rehearsed: REPORT-001\n"), "{artifact}");
    let table = std::fs::read_to_string(run.join("tasks.csv")).expect("a table");
    assert_eq!(table.matches("rehearsed, nothing was done").count(), 7, "{table}");
    // What is real afterwards is a first run.
    let real = world.run(&["--session", EXAMPLE, "--agent-command", "echo real", "-y"]);
    assert!(
        real.stdout.contains("Pipeline complete: 7/7 tasks completed") && real.stderr.contains("7 to do"),
        "{real}"
    );
}

#[test]
fn a_task_that_fails_shows_what_would_be_skipped() {
    let world = example();
    let run = rehearse(&world, EXAMPLE, &["--fail", "SURVEY-003", "--slow", "HISTORY-001"]);
    assert_eq!(run.code, Some(1), "{run}");
    let line = |id: &str| run.stdout.lines().find(|line| line.contains(id)).unwrap_or_default().to_owned();
    assert!(line("SURVEY-003").starts_with("  ✗ ") && line("SURVEY-003").ends_with("  failed, 4 attempts"), "{run}");
    for (id, because) in [("REPORT-001", "SURVEY-003"), ("CHECK-001", "REPORT-001"), ("REPORT-002", "CHECK-001")] {
        let reason = format!("skipped: dependency {because} ");
        assert!(line(id).starts_with("  – ") && line(id).contains(&reason), "{run}");
    }
    assert!(
        run.stdout.contains("Would be skipped: 3 tasks\n") && run.stdout.contains("Run failed: 1 failed, 3 skipped, "),
        "{run}"
    );
    let table = std::fs::read_to_string(folder(&world).join("tasks.csv")).expect("a table");
    let seconds = table.split("HISTORY-001 by historian in ").nth(1).and_then(|rest| rest.split(' ').next());
    assert!(seconds.and_then(|text| text.parse().ok()).is_some_and(|seconds: u32| seconds >= 300), "{table}");
}

#[test]
fn rehearsal_uses_settings_and_runs_no_agent() {
    let world = example();
    let toml = "[defaults]\nagent = \"evil\"\nretries = 1\ncadence = \"wave\"\n[agents.evil]\ncommand = \"touch pwned\"\n\
                [agents.rehearsal]\ncommand = \"touch pwned\"\n[tasks.CHECK-001]\nretries = 0\nagent = \"evil\"\n";
    world.write("team-executor.toml", toml);
    let run = rehearse(&world, EXAMPLE, &["--fail", "SURVEY-002", "--fail", "SURVEY-001"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stderr.contains("Wave 1 is complete\n") && run.stdout.contains("  failed, 2 attempts\n"), "{run}");
    let run = rehearse(&world, EXAMPLE, &["--fail", "CHECK-001", "--cadence", "beat"]);
    assert!(run.stdout.contains("  failed, 1 attempt\n") && !run.stderr.contains("Wave"), "{run}");
    assert!(!world.dir().join("pwned").exists() && !world.dir().join(".workflow/.rehearsal/pwned").exists());
}

#[test]
fn rehearsed_trouble_for_a_finished_task_has_no_effect() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let table = "id,title,description,deps,role,wave,status\nA,A,Do it,,dev,1,completed\nB,B,Do it,A,dev,2,pending\n";
    world.write("S/tasks.csv", table);
    let run = rehearse(&world, "S", &["--fail", "A", "--slow", "B"]);
    assert!(run.code == Some(0), "{run}");
    assert!(run.stderr.contains("warning: A is completed already, so --fail changes nothing about it\n"), "{run}");
    assert!(!run.stderr.contains("--slow"), "{run}");
}

#[test]
fn unknown_task_is_named_before_anything_is_copied() {
    let world = example();
    let before = world.tree();
    let run = rehearse(&world, EXAMPLE, &["--fail", "SURVEY-9"]);
    assert_eq!(run.code, Some(2), "{run}");
    let said = "error: there is no task 'SURVEY-9'\nhelp: did you mean SURVEY-001?\nhelp: list the tasks:";
    assert!(run.stderr.contains(said), "{run}");
    assert_eq!(world.tree(), before);
}

/// Of each dialect some, with departures, odd ids and state from before.
#[test]
fn sessions_of_every_dialect_are_rehearsed_to_their_end() {
    for name in [
        "tasks-csv-spec-literal",
        "tasks-csv-statuses",
        "tasks-json-aliases",
        "tasks-json-spec-literal",
        "tasks-json-inner-loop-role",
        "tc-bare-array-nodes",
        "tc-capabilities-with-tasks",
        "tc-spec-literal",
        "tc-spec-minimal",
        "tls-spec-literal",
    ] {
        let world = fixture(name);
        to_its_end(&world, name);
    }
}

/// A real session, where a collection of them lies beside the checkout.
#[test]
fn the_golden_session_is_rehearsed_in_both_cadences() {
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/team/TC-golden-data-batch-20260324");
    if !golden.is_dir() {
        return;
    }
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.copy_tree(golden, "golden");
    to_its_end(&world, "golden");
    let run = rehearse(&world, "golden", &["--cadence", "wave"]);
    assert!(run.stdout.contains("Pipeline complete: 10/10 tasks completed\n"), "{run}");
}

#[track_caller]
fn to_its_end(world: &World, session: &str) {
    let before = Tree::read(&world.dir().join(session));
    let run = rehearse(world, session, &["-c", "8"]);
    assert!(matches!(run.code, Some(0 | 1)), "{run}");
    let is_over = |line: &str| line.starts_with("Pipeline complete: ") || line.starts_with("Run failed: ");
    assert!(run.stdout.lines().any(is_over), "{run}");
    assert_eq!(Tree::read(&world.dir().join(session)), before, "{session}");
}
