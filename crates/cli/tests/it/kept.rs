//! The smallest session for each shape that planners write, before and after a run, in `fixtures/runs/`: `before` is
//! copied and run, and must be `after` then, byte for byte. `args.txt`, if there, holds further arguments, and `said.txt`
//! words that the run prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use team_executor_testkit::World;

use crate::run::{DID, arguments};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs")
}

/// Every file below a folder that is the user's.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
            let bytes = std::fs::read(&path).expect("a file");
            found.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    found
}

/// A text in which the time of the run is always the same.
fn timeless(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\"updated_at\"").and_then(|at| Some(at + rest[at..].find(": \"")? + 3)) {
        out.push_str(&rest[..at]);
        out.push_str("NOW");
        rest = &rest[at + rest[at..].find('"').expect("the end of a text")..];
    }
    out + rest
}

/// A run of a fixture, with its world.
fn run(name: &str) -> (World, team_executor_testkit::Run) {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.copy_tree(root().join(name).join("before"), "S");
    let args = std::fs::read_to_string(root().join(name).join("args.txt")).unwrap_or_default();
    let run = world.run(&arguments("--session=S", DID, &args.split_whitespace().collect::<Vec<_>>()));
    (world, run)
}

/// R: P-05
#[test]
fn user_files_change_only_where_tasks_did() {
    let mut names: Vec<_> =
        std::fs::read_dir(root()).expect("fixtures").flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let name = name.to_string_lossy();
        let (world, run) = run(&name);
        let expected = root().join(&*name).join("after");
        let theirs = files(&root().join(&*name).join("before"));
        let mut found = files(&world.dir().join("S"));
        found.retain(|file, _| theirs.contains_key(file));
        found.values_mut().for_each(|text| *text = timeless(text));
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            for (file, text) in &found {
                let path = expected.join(file);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                std::fs::write(path, text).expect("written");
            }
        }
        assert_eq!(found, files(&expected), "{name}: {run}");
        let said = std::fs::read_to_string(root().join(&*name).join("said.txt")).unwrap_or_default();
        for line in said.lines() {
            assert!(format!("{}{}", run.stdout, run.stderr).contains(line), "{name}: {line}\n{run}");
        }
    }
}

/// R: P-05
#[test]
fn a_finished_session_that_runs_again_is_left_alone() {
    for name in ["csv-quotes", "tasks-json-spellings"] {
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        world.copy_tree(root().join(name).join("after"), "S");
        let before = files(&world.dir().join("S"));
        for _ in 0..2 {
            let run = world.run(&arguments("--session=S", DID, &[]));
            assert_eq!(run.code, Some(0), "{run}");
            let mut found = files(&world.dir().join("S"));
            found.retain(|file, _| before.contains_key(file));
            assert_eq!(found, before, "{name}");
        }
    }
}

/// The order in which tasks started.
fn starts(run: &team_executor_testkit::Run) -> Vec<String> {
    let started = run.stderr.lines().filter_map(|line| line.trim_start().strip_prefix("▶ "));
    started.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Each worker fails unless every task of an earlier wave, by its name, has ended.
const IN_ORDER: &str = "case $TEAM_EXECUTOR_TASK in B*) [ -e A1 ] && [ -e A2 ];; C*) [ -e B1 ] && [ -e B2 ];; esac && touch $TEAM_EXECUTOR_TASK && echo did it";

/// R: P-03
#[test]
fn waves_without_dependencies_are_kept_in_both_cadences() {
    let csv = "id,description,wave\nC1,Do it,3\nA1,Do it,1\nB1,Do it,2\nA2,Do it,1\nB2,Do it,2\n";
    let task =
        |id: &str, wave: u32| format!("{{\"id\":\"{id}\",\"description\":\"Do it\",\"role\":\"r\",\"wave\":{wave}}}");
    let json = [task("C1", 3), task("A1", 1), task("B1", 2), task("A2", 1), task("B2", 2)].join(",");
    for (file, text) in [("S/tasks.csv", csv.to_owned()), ("S/tasks.json", format!("{{\"tasks\":[{json}]}}"))] {
        for cadence in ["beat", "wave"] {
            let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
            let path = world.write(file, &text);
            let run = world.run(&arguments("--session=S", IN_ORDER, &["--cadence", cadence, "--retries", "0"]));
            assert_eq!(run.code, Some(0), "{run}");
            assert_eq!(starts(&run), ["A1", "A2", "B1", "B2", "C1"], "{run}");
            assert!(!run.stderr.contains("note: "), "{run}");
            let after = std::fs::read_to_string(path).expect("the table");
            assert!(
                file.ends_with("json")
                    || after.starts_with("id,description,wave,status,findings\nC1,Do it,3,completed"),
                "{after}"
            );
        }
    }
}

/// R: P-03
#[test]
fn planned_waves_stand_wave_by_wave_and_in_the_file() {
    let table = "id,description,deps,wave,status,findings,error\nA,Do it,,1,pending,,\nB,Do it,A,2,pending,,\nC,Do it,,7,pending,,\n";
    for (cadence, order) in [("wave", ["A", "B", "C"]), ("beat", ["A", "C", "B"])] {
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        let path = world.write("S/tasks.csv", table);
        let run = world.run(&arguments("--session=S", DID, &["--cadence", cadence]));
        assert_eq!(starts(&run), order, "{run}");
        assert_eq!(run.stderr.matches("note: beat cadence starts tasks when").count(), usize::from(cadence == "beat"));
        let after = std::fs::read_to_string(path).expect("the table");
        assert!(after.contains("\nC,Do it,,7,completed,did C,\n"), "{after}");
    }
}

/// A world in which files beside the table report A and B as completed.
fn unmerged() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.copy_tree(root().join("csv-results-beside/before"), "S");
    world
}

/// R: P-04
#[test]
fn unmerged_results_are_named_and_planned_as_done() {
    let world = unmerged();
    let before = world.tree();
    let valid = world.run(&["validate", "--session=S"]);
    assert_eq!(valid.code, Some(0), "{valid}");
    let named = "tasks that results.csv, wave-1-results.csv report as completed count as completed: A, B\n";
    assert!(valid.stdout.contains(named), "{valid}");
    assert!(valid.stdout.contains("help: add --ignore-results to run them again"), "{valid}");
    assert_eq!(world.run(&["validate", "--session=S", "--strict"]).code, Some(2));
    let ignored = world.run(&["validate", "--session=S", "--strict", "--ignore-results"]);
    assert!(!ignored.stdout.contains("report as completed"), "{ignored}");
    let plan = world.run(&["plan", "--session=S"]);
    assert!(plan.stdout.contains("A: pending -> completed (wave-1-results.csv reports it)"), "{plan}");
    assert!(plan.stdout.contains("B: pending -> completed (results.csv reports it)"), "{plan}");
    assert_eq!(world.tree(), before);
}

/// R: P-04
#[test]
fn unmerged_results_are_not_paid_again() {
    let world = unmerged();
    let prompt = "cat \"$TEAM_EXECUTOR_PROMPT\" > prompt-$TEAM_EXECUTOR_TASK 2>/dev/null || cat > prompt-$TEAM_EXECUTOR_TASK; echo did it";
    let run = world.run(&arguments("--session=S", prompt, &[]));
    assert_eq!((run.code, starts(&run)), (Some(0), vec!["C".to_owned()]), "{run}");
    assert!(run.stderr.contains("corrected: A: pending -> completed (wave-1-results.csv reports it)\n"), "{run}");
    let given = std::fs::read_to_string(world.dir().join("prompt-C")).expect("a prompt");
    assert!(given.contains("the field is there") && given.contains("checked, twice"), "{given}");
    let again = world.run(&arguments("--session=S", DID, &[]));
    assert!(again.stdout.contains("is finished; nothing was done"), "{again}");

    let world = unmerged();
    let run = world.run(&arguments("--session=S", DID, &["--ignore-results"]));
    assert_eq!((run.code, starts(&run)), (Some(0), ["A", "B", "C"].map(str::to_owned).to_vec()), "{run}");
}

/// R: P-04
#[test]
fn results_that_contradict_each_other_start_nothing() {
    let world = unmerged();
    world.write("S/wave-2-results.csv", "id,status,error\nA,failed,it broke\n");
    let run = world.run(&arguments("--session=S", DID, &[]));
    assert_eq!(run.code, Some(2), "{run}");
    assert!(
        run.stderr.contains("error: task 'A' is completed in wave-1-results.csv, but failed in wave-2-results.csv\n"),
        "{run}"
    );
    assert_eq!(world.run(&arguments("--session=S", DID, &["--ignore-results"])).code, Some(0));
}

/// A task that a person sets back after the run is run again, whatever an old file says.
///
/// R: P-04
#[test]
fn a_task_set_back_after_a_run_ignores_old_results() {
    let world = unmerged();
    assert_eq!(world.run(&arguments("--session=S", DID, &[])).code, Some(0));
    let path = world.dir().join("S/tasks.csv");
    let text = std::fs::read_to_string(&path).expect("the table");
    std::fs::write(&path, text.replace("completed,the field is there", "pending,")).expect("written");
    let run = world.run(&arguments("--session=S", DID, &[]));
    assert_eq!((run.code, starts(&run)), (Some(0), ["A", "C"].map(str::to_owned).to_vec()), "{run}");
}
