//! `prune` frees what finished runs take, and nothing else.

use std::fs;

use serde_json::Value;
use team_executor_testkit::{Run, Terminal, World};

use crate::run::{arguments, folder, tasks};

const WORKER: &str = "echo some words; echo delivered >$TEAM_EXECUTOR_ARTIFACTS/a.md";
const ALL: [&str; 5] = ["prune", "--older-than", "0s", "--keep", "0"];

/// A finished run of one task, which printed and delivered something.
fn finished() -> World {
    let world = tasks(&[("A", "")]);
    let run = world.run(&arguments("--session=S", WORKER, &["--on-complete", "auto_keep"]));
    assert_eq!(run.code, Some(0), "{run}");
    world
}

fn prune(world: &World, more: &[&str]) -> Run {
    world.run(&[&ALL, more].concat())
}

fn archived(world: &World) -> String {
    let id = folder(world).file_name().expect("a name").to_string_lossy().into_owned();
    assert_eq!(world.run(&["archive", "--session=S"]).code, Some(0));
    id
}

/// R: N-05
#[test]
fn logs_of_finished_runs_go_and_everything_else_stays() {
    let world = finished();
    let before = world.tree();
    let shown = prune(&world, &["--dry-run"]);
    assert!(shown.code == Some(0) && shown.stdout.contains("its logs  11 B"), "{shown}");
    let refused = prune(&world, &[]);
    assert!(refused.code == Some(2) && refused.stderr.contains("add -y"), "{refused}");
    let newest = world.run(&["prune", "--older-than", "0s", "-y"]);
    assert!(newest.code == Some(0) && newest.stdout.contains("Nothing to free"), "{newest}");
    let young = world.run(&["prune", "--keep", "0", "-y"]);
    assert!(young.code == Some(0) && young.stdout.contains("Nothing to free"), "{young}");
    assert_eq!(world.tree(), before);
    let log = folder(&world).join("logs/A.1.out");
    assert!(log.is_file());
    let done = prune(&world, &["-y"]);
    assert!(done.code == Some(0) && done.stdout.ends_with("Freed 11 B\n"), "{done}");
    assert!(!log.exists());
    let status = world.run(&["status", "--session=S"]);
    assert!(status.code == Some(0) && status.stdout.contains("✓ A completed"), "{status}");
    assert_eq!(world.run(&["artifacts", "verify", "--session=S"]).code, Some(0));
    let logs = world.run(&["logs", "A", "--session=S"]);
    assert!(logs.code == Some(0) && logs.stderr.contains(" were pruned\n"), "{logs}");
}

/// R: N-05
#[test]
fn archived_run_goes_only_when_its_artifacts_are_elsewhere() {
    let world = finished();
    let id = archived(&world);
    let run = world.dir().join(".workflow/.archive").join(&id);
    assert_eq!(prune(&world, &["-y"]).code, Some(0));
    assert!(run.join("artifacts/A/a.md").is_file() && !run.join("logs/A.1.out").exists());
    let stays = prune(&world, &["-y"]);
    assert!(stays.stdout.contains(&format!("{id}  stays: one of its artifacts is not exported")), "{stays}");
    assert_eq!(world.run(&["export", "--session=S", "--to", "out"]).code, Some(0));
    fs::write(world.dir().join("out/artifacts/A/a.md"), "changed\n").expect("changed");
    let changed = prune(&world, &["-y"]);
    assert!(run.is_dir() && changed.stdout.contains("is not exported"), "{changed}");
    fs::write(world.dir().join("out/artifacts/A/a.md"), "delivered\n").expect("as it was");
    let data = prune(&world, &["--format", "json", "--dry-run"]);
    let data: Value = serde_json::from_str(&data.stdout).expect("JSON");
    assert_eq!((&data["dry_run"], &data["freed"][0]["part"]), (&true.into(), &"run".into()), "{data}");
    let done = prune(&world, &["-y"]);
    assert!(done.code == Some(0) && !run.exists(), "{done}");
    assert_eq!(fs::read_to_string(world.dir().join("out/artifacts/A/a.md")).expect("it stays"), "delivered\n");
    assert!(world.dir().join("S/tasks.csv").is_file());
}

#[test]
fn unfinished_runs_and_foreign_files_stay() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let half = world.run(&arguments("--session=S", WORKER, &["--only", "A"]));
    assert!(half.code.is_some(), "{half}");
    world.write(".workflow/.archive/notes.txt", "mine");
    let before = world.tree();
    let kept = prune(&world, &["-y"]);
    assert!(kept.code == Some(0) && kept.stdout.contains("stays: it is not finished"), "{kept}");
    assert_eq!(world.tree(), before);
}

/// What a killed `prune` had moved away is removed by the next one.
#[test]
fn rest_of_a_killed_prune_is_removed() {
    let world = finished();
    let id = archived(&world);
    world.write(&format!(".workflow/.archive/.pruned/{id}/journal"), "rest");
    let runs = world.run(&["runs", "--all"]);
    assert_eq!(runs.code, Some(0), "{runs}");
    assert_eq!(prune(&world, &["-y"]).code, Some(0));
    assert!(!world.dir().join(".workflow/.archive/.pruned").exists());
    assert!(world.dir().join(".workflow/.archive").join(&id).is_dir());
}

#[test]
fn person_is_asked_before_anything_goes() {
    let world = finished();
    let mut terminal = Terminal::start(world.command(&ALL));
    terminal.wait_for("Remove 11 B for good? [y/N]").say("n");
    assert_eq!(terminal.end().0, Some(2));
    assert!(folder(&world).join("logs/A.1.out").is_file());
    let mut terminal = Terminal::start(world.command(&ALL));
    terminal.wait_for("Remove 11 B for good? [y/N]").say("y");
    assert_eq!(terminal.end().0, Some(0));
    assert!(!folder(&world).join("logs/A.1.out").exists());
}
