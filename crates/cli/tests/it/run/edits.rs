//! What a person may change while nothing runs.

use std::path::PathBuf;

use team_executor_testkit::World;

use super::{DID, column, folder, json, read, rows, run, tasks};

/// A was completed, B failed, C was skipped because of it, D completed.
fn finished() -> World {
    let world = tasks(&[("A", ""), ("B", ""), ("C", "B"), ("D", "A")]);
    let worker = "if [ $TEAM_EXECUTOR_TASK = B ]; then exit 1; fi; echo first";
    assert_eq!(run(&world, worker, &["--retries", "0"]).code, Some(1));
    assert_eq!(column(&world, "status"), ["completed", "failed", "skipped", "completed"]);
    world
}

/// A run that stopped after its first wave, of which every task failed.
fn stopped() -> World {
    let world = tasks(&[]);
    world.write(
        "S/tasks.csv",
        "id,title,deps,role,run_on\nA,one,,worker,\nB,two,A,worker,always\nC,three,A,worker,always\n",
    );
    assert_eq!(run(&world, "false", &["--cadence", "wave", "--retries", "0"]).code, Some(3));
    assert_eq!(column(&world, "status"), ["failed", "pending", "pending"]);
    world
}

fn edit(path: PathBuf, from: &str, to: &str) {
    let text = read(&path);
    assert!(text.contains(from), "{from}: {text}");
    std::fs::write(path, text.replacen(from, to, 1)).expect("written");
}

fn table(world: &World) -> PathBuf {
    folder(world).join("tasks.csv")
}

/// The row of a task, up to its status, with another status.
fn set(world: &World, task: &str, status: &str) {
    let now = rows(world)[task]["status"].clone();
    let text = read(table(world));
    let row = text.lines().find(|line| line.starts_with(&format!("{task},"))).expect("a row").to_owned();
    edit(table(world), &row, &row.replacen(&format!(",{now},"), &format!(",{status},"), 1));
}

/// R: W-05
#[test]
fn failed_task_set_to_pending_reruns_with_skipped_ones() {
    let world = finished();
    set(&world, "B", "pending");
    let again = run(&world, "echo second", &[]);
    assert_eq!(again.code, Some(0), "{again}");
    assert!(again.stderr.contains("taken over: B: failed -> pending\n"), "{again}");
    assert_eq!(column(&world, "findings"), ["first", "second", "second", "first"]);
    let quiet = run(&world, DID, &[]);
    assert!(quiet.stdout.contains("is finished; nothing was done"), "{quiet}");
}

/// R: W-05
#[test]
fn completed_task_set_to_pending_reruns_with_dependents() {
    let world = finished();
    set(&world, "A", "pending");
    let again = run(&world, "echo second", &[]);
    assert!(again.stderr.contains("taken over: A: completed -> pending (with everything that depends on"), "{again}");
    assert_eq!(column(&world, "findings"), ["second", "", "", "second"]);
}

/// R: W-05
#[test]
fn reset_task_may_have_its_results_emptied() {
    let world = finished();
    edit(table(&world), ",failed,,exit code 1", ",pending,,");
    edit(table(&world), ",completed,first,", ",pending,,");
    let again = run(&world, "echo second", &[]);
    assert_eq!(again.code, Some(0), "{again}");
    assert!(again.stderr.contains("taken over: B: failed -> pending\n"), "{again}");
    assert_eq!(column(&world, "findings"), ["second", "second", "second", "second"]);
    assert_eq!(column(&world, "error"), [""; 4]);

    for (from, to, why) in [
        (",failed,,exit code 1", ",failed,,", "refused: B: error `exit code 1` -> ``"),
        (",failed,,exit code 1", ",pending,done,", "refused: B: findings `` -> `done`"),
    ] {
        let world = finished();
        edit(table(&world), from, to);
        let refused = run(&world, DID, &[]);
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{refused}");
    }
}

/// R: W-05
#[test]
fn a_task_that_waits_can_be_skipped_and_be_given_another_text() {
    let world = stopped();
    set(&world, "C", "skipped");
    edit(table(&world), "B,two,", "B,another title,");
    let prompt = "cat > prompt-$TEAM_EXECUTOR_TASK; echo fine";
    let done = run(&world, prompt, &["--cadence", "wave", "--retries", "0"]);
    assert_eq!(done.code, Some(1), "{done}");
    assert!(
        done.stderr.contains("taken over: C: ready -> skipped\n")
            || done.stderr.contains("taken over: C: pending -> skipped\n"),
        "{done}"
    );
    assert!(done.stderr.contains("taken over: B: another title\n"), "{done}");
    assert_eq!(column(&world, "status"), ["failed", "completed", "skipped"]);
    assert!(read(world.dir().join("prompt-B")).contains("title: another title\n"));
    assert!(!world.dir().join("prompt-C").exists());
    assert!(read(world.dir().join("S/tasks.csv")).contains("B,another title,"), "the plan has it too");
}

/// R: W-05
#[test]
fn untried_skipped_task_can_get_another_text() {
    let world = finished();
    set(&world, "B", "pending");
    edit(table(&world), "C,,Do it,", "C,,Do it better,");
    let again = run(&world, "cat > prompt-$TEAM_EXECUTOR_TASK; echo second", &[]);
    assert_eq!(again.code, Some(0), "{again}");
    assert!(again.stderr.contains("taken over: C: another description\n"), "{again}");
    assert!(read(world.dir().join("prompt-C")).contains("Do it better"), "{again}");
}

/// R: W-05
#[test]
fn illegal_edit_is_refused_named_and_kept() {
    let world = stopped();
    let before = read(table(&world));
    set(&world, "B", "completed");
    edit(table(&world), "C,three,", "C,changed,");
    let edited = read(table(&world));
    let refused = run(&world, "touch ran", &["--cadence", "wave"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(
        refused.stderr.contains("refused: B: ready -> completed (a person can only set pending and skipped)")
            || refused.stderr.contains("refused: B: pending -> completed (a person can only set pending and skipped)"),
        "{refused}"
    );
    assert!(refused.stderr.contains("help: the edited file is kept as tasks.csv.edited-1"), "{refused}");
    assert!(!world.dir().join("ran").exists(), "nothing was started");
    assert_eq!(read(folder(&world).join("tasks.csv.edited-1")), edited);
    assert_eq!(read(table(&world)), before, "all of it, or nothing");
    let done = run(&world, DID, &["--cadence", "wave"]);
    assert_eq!(done.code, Some(1), "the same command continues without it: {done}");
    assert_eq!(column(&world, "title"), ["one", "two", "three"]);
}

#[test]
fn a_table_that_cannot_be_read_or_has_other_rows_is_refused() {
    for (from, to, why) in [
        ("A,one", "A,\"one", "refused: line 2: "),
        ("B,two", "E,two", "refused: E: a row was added"),
        (",A,", ",,", "refused: B: deps `A` -> ``"),
        ("A,one", "A,other", "refused: A: another title, but it was tried already"),
    ] {
        let world = stopped();
        edit(table(&world), from, to);
        let refused = run(&world, DID, &["--cadence", "wave"]);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains(why), "{refused}");
        assert!(folder(&world).join("tasks.csv.edited-1").exists());
    }
}

/// What was rendered before a kill is older than the journal. That is no edit, and an edit of it changes only what it says.
#[test]
fn after_a_kill_only_what_a_person_changed_counts() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B"), ("D", "C")]);
    let kills =
        "if [ $TEAM_EXECUTOR_TASK = B ]; then kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 99; fi; echo first";
    assert_eq!(run(&world, kills, &["-c", "1"]).code, None, "the executor is killed");
    edit(table(&world), "D,,Do it,C,,csv-wave,worker,4,pending", "D,,Do it,C,,csv-wave,worker,4,skipped");
    let done = run(&world, "echo second", &[]);
    assert_eq!(done.code, Some(1), "{done}");
    assert_eq!(done.stderr.matches("taken over: ").count(), 1, "{done}");
    assert_eq!(column(&world, "findings"), ["first", "second", "second", ""]);
    assert_eq!(column(&world, "status")[3], "skipped");
}

#[test]
fn the_sessions_own_file_can_be_edited_too() {
    let world = tasks(&[]);
    std::fs::remove_dir_all(world.dir().join("S")).expect("removed");
    let task = |deps: &str| format!("{{\"title\":\"t\",\"role\":\"r\",\"deps\":[{deps}],\"status\":\"pending\"}}");
    let state = format!("{{\"session_id\":\"s\",\"tasks\":{{\"A\":{},\"B\":{}}}}}", task(""), task("\"A\""));
    let path = world.write("S/tasks.json", state);
    assert_eq!(run(&world, "false", &["--retries", "0"]).code, Some(1));
    let text = read(&path).replace("\"failed\"", "\"pending\"");
    std::fs::write(&path, text).expect("written");
    std::fs::remove_file(world.dir().join("S/discoveries/A.json")).expect("removed");
    let again = run(&world, "echo second", &[]);
    assert_eq!(again.code, Some(0), "{again}");
    assert!(again.stderr.contains("taken over: A: failed -> pending\n"), "{again}");
    assert_eq!(json(&path)["tasks"]["B"]["findings"], "second");
    assert!(!path.with_file_name("tasks.json.edited-1").exists(), "all of it was taken over: {again}");
}

/// R: W-05
#[test]
fn session_file_edits_are_copied_before_overwriting() {
    let json_file = r#"{"session_id":"s","tasks":{"A":{"title":"t","role":"r","deps":[],"status":"pending"},
        "B":{"title":"t","role":"r","deps":["A"],"status":"pending"}},"mine":1}"#;
    let csv_file = "id,title,description,deps,role,status,findings\nA,t,,,r,pending,\nB,t,,A,r,pending,\n";
    for (name, text) in [("tasks.json", json_file), ("tasks.csv", csv_file)] {
        let world = tasks(&[]);
        std::fs::remove_dir_all(world.dir().join("S")).expect("removed");
        let path = world.write(&format!("S/{name}"), text);
        let first = run(&world, "[ $TEAM_EXECUTOR_TASK = A ] && echo found", &["--retries", "0"]);
        assert_eq!(first.code, Some(1), "{first}");
        edit(path.clone(), "found", "my notes");
        let edited = read(&path);
        let next = run(&world, DID, &[]);
        let copy = format!("{name}.edited-1");
        let words = next.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("your version is kept as {copy}")), "{next}");
        assert_eq!(read(path.with_file_name(copy)), edited, "{next}");
        assert!(!read(&path).contains("my notes"), "{next}");
    }
}

/// A planner's file may say anything; what an earlier run built on a task that is set back is done again with it.
///
/// R: W-05
#[test]
fn dependents_of_a_reset_task_run_again_after_the_end() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "A"), ("D", "B;C"), ("E", ""), ("F", "E")]);
    let own = world.dir().join("S/tasks.csv");
    assert_eq!(run(&world, "echo v1", &[]).code, Some(0));
    edit(own.clone(), "worker,,completed,v1,", "worker,,pending,,");
    edit(own.clone(), "C,,Do it,A,,csv-wave,worker,,completed,", "C,,Do it,A,,csv-wave,worker,,skipped,");
    let again = run(&world, "echo v2", &[]);
    let lines: Vec<_> = again.stderr.lines().filter(|line| line.contains("taken over: ")).collect();
    assert_eq!(
        lines,
        [
            "taken over: B: completed -> pending (it depends on what was set back)",
            "taken over: D: completed -> pending (it depends on what was set back)"
        ],
        "{again}"
    );
    let text = read(own);
    let state = |id: &str| {
        let row = text.lines().find(|line| line.starts_with(&format!("{id},"))).expect("a row");
        row.split(',').skip(8).take(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(["A", "B", "E", "F"].map(state), ["completed v2", "completed v2", "completed v1", "completed v1"]);
    assert_eq!(["C", "D"].map(state), ["skipped v1", "skipped "], "{text}");
}

#[test]
fn a_task_set_back_in_tasks_json_takes_along_what_depends_on_it() {
    let world = tasks(&[]);
    std::fs::remove_dir_all(world.dir().join("S")).expect("removed");
    let task = |deps: &str| format!("{{\"title\":\"t\",\"role\":\"r\",\"deps\":[{deps}],\"status\":\"pending\"}}");
    let state = format!("{{\"session_id\":\"s\",\"tasks\":{{\"A\":{},\"B\":{}}}}}", task(""), task("\"A\""));
    let path = world.write("S/tasks.json", state);
    assert_eq!(run(&world, "echo first", &[]).code, Some(0));
    edit(path.clone(), "\"status\":\"completed\"", "\"status\":\"pending\"");
    let again = run(&world, "echo second", &[]);
    assert!(
        again.stderr.contains("taken over: B: completed -> pending (it depends on what was set back)\n"),
        "{again}"
    );
    let tasks = &json(&path)["tasks"];
    assert_eq!((&tasks["A"]["findings"], &tasks["B"]["findings"]), (&"second".into(), &"second".into()));
}
