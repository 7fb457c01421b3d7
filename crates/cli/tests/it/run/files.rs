//! What is on disk after a run.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use team_executor_testkit::{Tree, World};

use super::{DID, arguments, column, folder, json, read, rows, run, tasks};
use crate::fixtures::world as fixture;

const CADENCES: [&str; 2] = ["beat", "wave"];

/// Runs a fixture to its end and gives its world.
fn ran(name: &str, cadence: &str, code: i32) -> World {
    let world = fixture(name);
    let session = format!("--session={name}");
    let run = world.run(&arguments(&session, DID, &["--cadence", cadence]));
    assert_eq!(run.code, Some(code), "{run}");
    world
}

/// What is completed already is not done again, and each task that is done comes after those that it waits for.
#[test]
fn a_tc_session_runs_in_both_cadences() {
    for cadence in CADENCES {
        let world = ran("tc-spec-literal", cadence, 0);
        assert_eq!(column(&world, "status"), ["completed"; 3]);
        assert_eq!(column(&world, "findings"), ["nothing was reported", "did BUILD-002", "did TEST-001"]);
        let session = json(world.dir().join("tc-spec-literal/team-session.json"));
        assert_eq!(session["status"], "completed");
        assert_eq!(session["completed_tasks"], serde_json::json!(["BUILD-001", "BUILD-002", "TEST-001"]));
        assert_eq!(session["pipeline"]["tasks_completed"], 3);
        let report = read(folder(&world).join("context.md"));
        assert!(report.contains("3/3 tasks completed"), "{report}");
        assert!(report.contains("### TEST-001: TEST-001\n\n- status: completed\n- role: tester\n"), "{report}");
        let results = read(folder(&world).join("results.csv"));
        assert_eq!(results.lines().count(), 4, "{results}");
        assert!(results.contains("did TEST-001"), "{results}");
    }
}

/// What failed before the run stays failed, with its count of attempts, and its dependents are skipped.
#[test]
fn a_tls_session_runs_in_both_cadences() {
    for cadence in CADENCES {
        let world = ran("tls-spec-literal", cadence, 1);
        assert_eq!(column(&world, "status"), ["failed", "completed", "skipped", "skipped"]);
        let session = json(world.dir().join("tls-spec-literal/team-session.json"));
        assert_eq!(session["status"], "paused");
        assert_eq!(session["task_list"][1]["metadata"]["attempt_count"], 1);
        assert_eq!(session["task_list"][2]["status"], "skipped");
        assert_eq!(session["task_list"][2]["metadata"]["error_message"], "dependency IMPL-001 failed");
        assert_eq!(session["updated_at"], session["task_list"][2]["metadata"]["updated_at"]);
        assert_eq!(session["checkpoint_history"][0]["context"], "The plan is fine");
    }
}

#[test]
fn tasks_json_session_runs_in_both_cadences() {
    for cadence in CADENCES {
        let world = fixture("tasks-json-spec-literal");
        let session = world.dir().join("tasks-json-spec-literal");
        let theirs = read(session.join("discoveries/BUILD-001.json"));
        let passes = r#"echo did $TEAM_EXECUTOR_TASK; case $TEAM_EXECUTOR_TASK in CHECKPOINT*) echo "{\"status\":\"completed\",\"findings\":\"did $TEAM_EXECUTOR_TASK\",\"supervision_verdict\":\"pass\"}" > $TEAM_EXECUTOR_RESULT; esac"#;
        let run = world.run(&arguments("--session=tasks-json-spec-literal", passes, &["--cadence", cadence]));
        assert_eq!(run.code, Some(0), "{run}");
        let state = json(session.join("tasks.json"));
        assert_eq!(state["status"], "completed");
        assert_eq!(state["tasks"]["CHECKPOINT-001"]["supervision_verdict"], "pass");
        assert_eq!(state["completed_waves"], serde_json::json!([1, 2, 3]));
        assert_eq!(state["active_agents"], serde_json::json!({}));
        assert_eq!(state["tasks"]["CHECKPOINT-001"]["findings"], "did CHECKPOINT-001");
        assert_eq!(state["tasks"]["REVIEW-001"]["quality_score"], 92.5);
        let discovery = json(session.join("discoveries/CHECKPOINT-001.json"));
        assert_eq!((&discovery["status"], &discovery["findings"]), (&"completed".into(), &"did CHECKPOINT-001".into()));
        assert_eq!(read(session.join("discoveries/BUILD-001.json")), theirs);
        let valid = world.run(&["validate", "--session=tasks-json-spec-literal"]);
        assert!(!valid.stdout.contains("has no discovery"), "{valid}");
    }
}

#[test]
fn a_tasks_csv_session_runs_in_both_cadences() {
    for cadence in CADENCES {
        let world = ran("tasks-csv-spec-literal", cadence, 1);
        assert_eq!(column(&world, "status"), ["completed", "completed", "completed", "failed"]);
        assert_eq!(column(&world, "findings"), ["The field is there", "did BUILD-002", "did TEST-001", ""]);
        let theirs = read(world.dir().join("tasks-csv-spec-literal/tasks.csv"));
        assert_eq!(theirs, read(folder(&world).join("tasks.csv")));
    }
}

#[test]
fn unknown_fields_survive_a_run() {
    let world = fixture("tc-spec-minimal");
    let path = world.dir().join("tc-spec-minimal/team-session.json");
    let text = read(&path).replacen('{', "{\n  \"zzz\": [1,   {\"b\": 2.50}],", 1);
    std::fs::write(&path, text).expect("written");
    assert_eq!(world.run(&arguments("--session=tc-spec-minimal", DID, &[])).code, Some(0));
    assert!(read(&path).contains("\"zzz\": [1,   {\"b\": 2.50}],"), "{}", read(&path));
    assert_eq!(json(&path)["status"], "completed");

    let world = tasks(&[]);
    let path = world.write("S/tasks.csv", "id,deps,role,mood,status\nA,,worker,\"good, very\",pending\n");
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    assert!(read(path).contains("\"good, very\""));
}

/// Where a task has no description, its goal says what it is about.
#[test]
fn the_table_says_what_each_task_is_about() {
    let world = ran("tc-capabilities-with-tasks", "wave", 0);
    assert_eq!(column(&world, "description"), ["A field for the code of a gift card", "The code is checked"]);
}

#[test]
fn the_users_files_keep_their_permissions() {
    let world = tasks(&[("A", "")]);
    let path = world.dir().join("S/tasks.csv");
    std::fs::set_permissions(&path, Permissions::from_mode(0o664)).expect("permissions");
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    assert!(read(&path).contains("did A"));
    assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o777, 0o664);
}

/// R: S-10
#[test]
fn optional_folders_are_made_at_the_start_and_never_overwritten() {
    let world = fixture("tc-spec-minimal");
    world.write("tc-spec-minimal/wisdom/issues.md", "mine");
    world.run(&["validate", "--session=tc-spec-minimal"]);
    assert!(!world.dir().join("tc-spec-minimal/artifacts").exists(), "only a run makes them");
    let worker = "ls -A \"$TEAM_EXECUTOR_SESSION\" > seen";
    assert_eq!(world.run(&arguments("--session=tc-spec-minimal", worker, &[])).code, Some(0));
    let seen = read(world.dir().join("seen"));
    for name in ["artifacts", "wisdom", "explorations", "discussions", ".msg", "shared-memory.json"] {
        assert!(seen.lines().any(|line| line == name), "{name} is not there for the workers: {seen}");
    }
    let session = world.dir().join("tc-spec-minimal");
    assert!(session.join(".msg").is_dir() && session.join("discussions").is_dir());
    assert_eq!(json(session.join("explorations/cache-index.json")), serde_json::json!({}));
    assert_eq!(json(session.join("shared-memory.json")), serde_json::json!({}));
    assert_eq!(read(session.join("wisdom/learnings.md")), "# Learnings\n");
    assert_eq!(read(session.join("wisdom/decisions.md")), "# Decisions\n");
    assert_eq!(read(session.join("wisdom/issues.md")), "mine");

    let world = fixture("tc-spec-literal");
    let side = ["artifacts", "wisdom", "explorations", "discussions", ".msg", "shared-memory.json"];
    let trees = || side.map(|name| Tree::read(&world.dir().join("tc-spec-literal").join(name)));
    let before = trees();
    assert_eq!(world.run(&arguments("--session=tc-spec-literal", DID, &[])).code, Some(0));
    assert_eq!(trees(), before);
}

#[test]
fn a_finished_session_is_only_looked_at() {
    for (worker, code) in [("true", 0), ("false", 1)] {
        let world = tasks(&[("A", ""), ("B", "A")]);
        let first = run(&world, worker, &["--retries", "0"]);
        assert_eq!(first.code, Some(code), "{first}");
        let before = world.tree();
        let second = run(&world, "echo again > again", &["--retries", "0"]);
        assert_eq!(second.code, Some(code), "{second}");
        assert!(second.stdout.contains(" is finished; nothing was done\n"), "{second}");
        assert!(!second.stderr.contains(" goes on"), "{second}");
        assert_eq!(world.tree(), before);
    }
}

/// The system counts what a process reads: the journal and the run's table once, the session's file to read it and again to
/// see that it is unchanged since, and little else.
#[test]
fn finished_session_is_recognised_with_few_reads() {
    let ids: Vec<String> = (0..600).map(|nth| format!("WORK-{nth:03}")).collect();
    let mut world = tasks(&ids.iter().map(|id| (id.as_str(), "")).collect::<Vec<_>>());
    assert_eq!(run(&world, "true", &["-c", "8"]).code, Some(0));
    let size = |path: PathBuf| path.metadata().expect("a file").len();
    let own = size(world.dir().join("S/tasks.csv"));
    let needed = size(folder(&world).join(".executor/journal")) + size(folder(&world).join("tasks.csv")) + 2 * own;
    let script = r#""$@"; while read -r line; do echo "$line"; done < /proc/$$/io"#;
    world.through(["sh", "-c", script, "sh"].map(str::to_owned).to_vec());
    let second = run(&world, "true", &[]);
    assert!(second.stdout.contains(" is finished; nothing was done\n"), "{second}");
    let read = second.stdout.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok()).unwrap_or(0);
    let little = needed..needed + own / 2 + 16 * 1024;
    assert!(little.contains(&read), "{read} bytes were read, {needed} are needed");
}

/// A crash between the last record and the last file.
#[test]
fn a_finished_run_that_could_not_write_everything_does_so_later() {
    let world = tasks(&[("A", "")]);
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    let path = folder(&world);
    let whole = read(path.join("results.csv"));
    for lost in [".executor/rendered", "results.csv", "context.md"] {
        std::fs::remove_file(path.join(lost)).expect("it was there");
    }
    let again = run(&world, "echo again > again", &[]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(read(path.join("results.csv")), whole);
    assert!(path.join("context.md").exists() && !world.dir().join("again").exists());
    let before = world.tree();
    run(&world, DID, &[]);
    assert_eq!(world.tree(), before);
}

/// The superuser is bound by nothing, so it gives up what lets it.
#[test]
fn a_session_that_cannot_be_written_to_is_run_nevertheless() {
    let theirs = fixture("tc-spec-minimal");
    let session = theirs.dir().join("tc-spec-minimal");
    let before = theirs.tree();
    std::fs::set_permissions(&session, Permissions::from_mode(0o555)).expect("permissions");
    let world = World::new("setpriv");
    let argument = format!("--session={}", session.display());
    let bound = ["--bounding-set=-dac_override,-dac_read_search", env!("CARGO_BIN_EXE_team-executor")];
    let run = world.run(&[&bound[..], &arguments(&argument, DID, &[])].concat());
    std::fs::set_permissions(&session, Permissions::from_mode(0o755)).expect("permissions");
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stderr.contains("warning: a file was not written: cannot create "), "{run}");
    assert_eq!(theirs.tree().to_string(), before.to_string());
    assert_eq!(rows(&world)["BUILD-002"]["findings"], "did BUILD-002");
}

/// A folder with blanks, quotes and other alphabets in its name, below the `.workflow` of a project.
#[test]
fn a_session_in_an_odd_place_is_run_in_its_project() {
    let world = tasks(&[("A", "")]);
    let name = "my 'pro\"ject/.workflow/.team/TC-会话 $HOME-2026-03-01";
    world.copy_tree(world.dir().join("S"), name);
    let session = format!("--session={name}");
    let run = world.run(&arguments(&session, "pwd", &[]));
    assert_eq!(run.code, Some(0), "{run}");
    let project = world.dir().join("my 'pro\"ject");
    let runs = project.join(".workflow/.csv-wave").read_dir().expect("runs").flatten().map(|run| run.path());
    let runs: Vec<_> = runs.filter(|path| path.is_dir()).collect();
    assert_eq!(runs.len(), 1);
    let tasks = read(runs[0].join("tasks.csv"));
    assert!(tasks.contains("my 'pro\"\"ject"), "{tasks}");
    assert!(!world.dir().join(".workflow").exists());
}

/// Real work of others, where it lies beside the checkout.
#[test]
fn golden_session_runs_in_both_cadences() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let golden = corpus.join("team/TC-golden-data-batch-20260324");
    if !golden.is_dir() {
        return;
    }
    for cadence in CADENCES {
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        world.copy_tree(&golden, "S");
        let run = run(&world, "echo 完成 $TEAM_EXECUTOR_TASK", &["--cadence", cadence]);
        assert_eq!(run.code, Some(0), "{run}");
        let rows = rows(&world);
        assert_eq!(rows.len(), 10);
        for (id, row) in &rows {
            assert_eq!((row["status"].as_str(), &row["findings"]), ("completed", &format!("完成 {id}")));
            assert!(row.values().all(|cell| !cell.contains('\u{FFFD}')), "{row:?}");
        }
        let analysis = read(golden.join("task-analysis.json"));
        let chinese = |text: &str| text.chars().any(|c| ('\u{4E00}'..='\u{9FFF}').contains(&c));
        let described: Vec<_> = rows.values().filter(|row| chinese(&row["description"])).collect();
        assert!(!described.is_empty(), "no text came through");
        for row in described {
            let first = row["description"].lines().next().unwrap_or_default();
            assert!(analysis.contains(first), "{first}");
        }
    }
}

/// The session's own file is the user's at rest: put back to the beginning, it is run again in a new run.
#[test]
fn a_session_that_was_put_back_is_run_anew() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let before = read(world.dir().join("S/tasks.csv"));
    assert_eq!(world.run(&arguments("--session=S", "echo once", &[])).code, Some(0));
    world.write("S/tasks.csv", before);
    let again = world.run(&arguments("--session=S", "echo twice", &[]));
    assert!(again.stdout.contains("Pipeline complete: 2/2 tasks completed"), "{again}");
    assert!(again.stderr.contains("✓ B [2/2] twice"), "{again}");
    let runs = world.dir().join(".workflow/.csv-wave").read_dir().expect("runs").flatten();
    assert_eq!(runs.filter(|run| run.path().is_dir()).count(), 2);
}

/// A finished run is no reason to refuse other tasks at the same place.
#[test]
fn other_tasks_after_a_finished_run_are_run_anew() {
    let world = tasks(&[("A", "")]);
    assert_eq!(world.run(&arguments("--session=S", "echo once", &[])).code, Some(0));
    let other = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\nZ,,Do it,,,csv-wave,worker,,pending,,\n";
    world.write("S/tasks.csv", other);
    let status = world.run(&["status", "--session=S"]);
    assert!(
        status.stderr.starts_with("error: the tasks of the session differ from those of its newest run EX-S-"),
        "{status}"
    );
    let again = world.run(&arguments("--session=S", "echo twice", &[]));
    assert!(again.stderr.contains("✓ Z [1/1] twice"), "{again}");
}

/// What is written passes as it stands.
#[test]
fn a_run_leaves_files_that_are_strict() {
    let world = tasks(&[]);
    world.write(
        "S/tasks.csv",
        "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n\
        A,,Do it,,,csv-wave,worker,1,pending,,\n",
    );
    let first = run(&world, "true", &["--strict"]);
    assert_eq!(first.code, Some(0), "{first}");
    let again = run(&world, "true", &["--strict"]);
    assert_eq!(again.code, Some(0), "{again}");

    let world = fixture("tasks-json-spec-literal");
    let session = world.dir().join("tasks-json-spec-literal");
    let path = session.join("tasks.json");
    std::fs::write(&path, read(&path).replace("\"completed\"", "\"pending\"")).expect("written");
    let unsaid = r#"{"status":"completed","supervision_verdict":"pass","data":{}}"#;
    let worker = format!(
        "echo '{unsaid}' > $TEAM_EXECUTOR_RESULT; echo '{unsaid}' > $TEAM_EXECUTOR_SESSION/discoveries/$TEAM_EXECUTOR_TASK.json"
    );
    let ran = world.run(&arguments("--session=tasks-json-spec-literal", &worker, &[]));
    assert_eq!(ran.code, Some(0), "{ran}");
    let strict = world.run(&["validate", "--strict", "--session=tasks-json-spec-literal"]);
    assert_eq!(strict.code, Some(0), "{strict}");
}

#[test]
fn runs_are_ignored_by_git_until_the_user_decides_otherwise() {
    let world = tasks(&[("A", "")]);
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    let ignored = world.dir().join(".workflow/.csv-wave/.gitignore");
    assert!(read(&ignored).ends_with("\n*\n"));
    std::fs::remove_file(&ignored).expect("removed");
    std::fs::remove_dir_all(folder(&world)).expect("removed");
    world.write("S/tasks.csv", read(world.dir().join("S/tasks.csv")).replace("completed", "pending"));
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    assert!(!ignored.exists(), "the user deleted it");
}
