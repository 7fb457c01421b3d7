//! The ten core rules of the wave pipeline, one test each, on the built program.

use std::path::Path;

use super::{DID, column, folder, json, read, rows, run, tasks};
use team_executor_testkit::World;

const WAVE: [&str; 4] = ["--cadence", "wave", "--retries", "0"];

/// Two waves with one interactive task each.
fn waves() -> World {
    let world = tasks(&[]);
    let table = "id,title,deps,context_from,exec_mode,role\nA,Do A,,,csv-wave,r\nI,Do I,,,interactive,r\nB,Do B,A,A;I,csv-wave,r\nJ,Do J,A,,interactive,r\n";
    world.write("S/tasks.csv", table);
    world
}

/// Each worker writes when it starts and ends, one line each.
const DIARY: &str =
    "echo $TEAM_EXECUTOR_TASK start >> diary; echo did $TEAM_EXECUTOR_TASK; echo $TEAM_EXECUTOR_TASK end >> diary";

fn diary(world: &World) -> Vec<String> {
    read(world.dir().join("diary")).lines().map(str::to_owned).collect()
}

/// R: W-19
#[test]
fn rule_1_validation_is_the_first_action() {
    let world = tasks(&[]);
    world.write("S/tasks.csv", "id,title,deps,role\nA,Do A,missing,r\n");
    let before = world.tree();
    assert_eq!(run(&world, DIARY, &WAVE).code, Some(2));
    assert_eq!(world.tree(), before, "nothing happens before it");
    world.write("S/tasks.csv", "id,title,deps,role\nA,Do A,,r\n");
    let begun = run(&world, DIARY, &WAVE);
    assert!(begun.stderr.contains("begins, 1 to do"), "then it starts at once: {begun}");
}

/// R: W-19
#[test]
fn rule_2_no_wave_starts_before_the_one_before_is_merged() {
    let world = waves();
    let done = run(&world, DIARY, &WAVE);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(diary(&world), ["A start", "A end", "I start", "I end", "B start", "B end", "J start", "J end"]);
    let told = |words: &str| done.stderr.find(words).unwrap_or_else(|| panic!("{words}: {done}"));
    assert!(told("✓ I") < told("Wave 1 is complete") && told("Wave 1 is complete") < told("▶ B"));
}

/// R: W-19
#[test]
fn rule_3_master_table_holds_all_state_and_edits_count() {
    let world = waves();
    assert_eq!(run(&world, "if [ $TEAM_EXECUTOR_TASK = B ]; then exit 4; fi; echo fine", &WAVE).code, Some(1));
    assert_eq!(column(&world, "status"), ["completed", "failed", "completed", "completed"], "both sorts of tasks");
    assert_eq!(rows(&world)["B"]["error"], "exit code 4");
    let path = folder(&world).join("tasks.csv");
    std::fs::write(&path, read(&path).replace(",failed,", ",pending,")).expect("written");
    assert_eq!(run(&world, DID, &WAVE).code, Some(0));
    assert_eq!(column(&world, "findings"), ["fine", "did B", "fine", "fine"]);
}

/// R: W-19
#[test]
fn rule_4_only_inner_loops_are_interactive() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/TC-repository-report-2026-11-15");
    world.copy_tree(example, "S");
    let done = run(&world, DID, &WAVE);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(rows(&world).values().all(|row| (row["exec_mode"] == "interactive") == (row["role"] == "writer")));
    let modes = |mode: &str| rows(&world).values().filter(|row| row["exec_mode"] == mode).count();
    let results = folder(&world).join("interactive").read_dir().expect("a folder").count();
    assert_eq!(results, modes("interactive"));
    assert!(modes("csv-wave") > 0 && results > 0);
}

/// R: W-19
#[test]
fn rule_5_context_is_built_from_the_master_table() {
    let world = waves();
    let worker = "if [ $TEAM_EXECUTOR_TASK = B ]; then cp .workflow/.csv-wave/*/wave-2.csv seen; fi; echo found $TEAM_EXECUTOR_TASK";
    assert_eq!(run(&world, worker, &WAVE).code, Some(0));
    assert!(read(world.dir().join("seen")).contains("\"[Task A] found A\n\n[Task I] found I\""));
}

/// R: W-19
#[test]
fn rule_6_the_discovery_board_is_only_appended_to() {
    let world = waves();
    let line =
        "{\"ts\":\"2026-03-08T14:30:22Z\",\"worker\":\"1\",\"type\":\"pattern\",\"data\":{\"pattern_name\":\"x\"}}\n";
    let board = world.write("S/discoveries.ndjson", line);
    let worker = "echo '{\"ts\":\"2026-03-08T14:30:23Z\",\"worker\":\"2\",\"type\":\"note\",\"data\":{}}' >> $TEAM_EXECUTOR_SESSION/discoveries.ndjson; echo x";
    assert_eq!(run(&world, worker, &WAVE).code, Some(0));
    assert_eq!(run(&world, worker, &WAVE).code, Some(0), "a second start clears nothing");
    let text = read(board);
    assert!(text.starts_with(line) && text.lines().count() == 5, "{text}");
}

/// R: W-11
#[test]
fn board_is_there_from_the_start_of_a_run() {
    let looks =
        "test -f $TEAM_EXECUTOR_SESSION/discoveries.ndjson && wc -c < $TEAM_EXECUTOR_SESSION/discoveries.ndjson";
    for (before, found) in [(None, "0"), (Some("kept\n"), "5")] {
        let world = tasks(&[("A", "")]);
        let path = world.dir().join("S/discoveries.ndjson");
        before.into_iter().for_each(|text| drop(world.write("S/discoveries.ndjson", text)));
        assert_eq!(run(&world, looks, &[]).code, Some(0));
        assert_eq!((column(&world, "findings"), read(path)), (vec![found.to_owned()], before.unwrap_or("").to_owned()));
    }
    // What is no file is left alone, wherever it leads.
    let world = tasks(&[("A", "")]);
    std::os::unix::fs::symlink("../outside", world.dir().join("S/discoveries.ndjson")).expect("a link");
    assert_eq!(run(&world, "echo did it", &[]).code, Some(0));
    assert!(!world.dir().join("outside").exists());
}

/// R: W-19
#[test]
fn rule_7_dependents_of_a_failure_are_skipped_in_any_mode() {
    let world = waves();
    assert_eq!(run(&world, "if [ $TEAM_EXECUTOR_TASK = A ]; then exit 1; fi; echo x", &WAVE).code, Some(1));
    assert_eq!(column(&world, "status"), ["failed", "skipped", "completed", "skipped"]);
    assert_eq!(
        (&*rows(&world)["B"]["error"], &*rows(&world)["J"]["error"]),
        ("dependency A failed", "dependency A failed")
    );
}

/// R: W-19
#[test]
fn rule_8_every_spawn_has_its_close() {
    let world = waves();
    assert_eq!(run(&world, DID, &WAVE).code, Some(0));
    let registry = json(folder(&world).join("agents/registry.json"));
    let closed = registry["closed"].as_array().expect("a list");
    assert_eq!((registry["active"].as_array().map(Vec::len), closed.len()), (Some(0), 2), "{registry}");
    assert!(closed.iter().all(|agent| agent["closed_at"].is_string() && agent["status"] == "completed"), "{registry}");
}

/// R: W-19
#[test]
fn rule_9_tables_of_waves_are_removed() {
    let world = waves();
    assert_eq!(run(&world, DID, &WAVE).code, Some(0));
    let names = folder(&world).read_dir().expect("a folder").flatten().map(|entry| entry.file_name());
    assert!(!names.into_iter().any(|name| name.to_string_lossy().starts_with("wave-")));
}

/// R: W-19
#[test]
fn rule_10_it_goes_on_until_every_task_is_over() {
    let chain: Vec<(String, String)> =
        (0..30).map(|n| (format!("T{n}"), if n == 0 { String::new() } else { format!("T{}", n - 1) })).collect();
    let chain: Vec<(&str, &str)> = chain.iter().map(|(id, dep)| (id.as_str(), dep.as_str())).collect();
    let world = tasks(&chain);
    let done = run(&world, DID, &WAVE);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(done.stdout.contains("Pipeline complete: 30/30 tasks completed"), "{done}");
    let world = tasks(&chain);
    let done = run(&world, "if [ $TEAM_EXECUTOR_TASK = T7 ]; then exit 1; fi; echo x", &WAVE);
    assert_eq!(done.code, Some(1), "{done}");
    assert!(done.stdout.contains("Run failed: 1 failed, 22 skipped, 7 of 30 completed\n"), "{done}");
}
