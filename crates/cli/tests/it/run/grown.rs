//! Tasks that are added to a session whose run is open and rests.

use super::asked::ask;
use super::{DID, column, folder, read, run, tasks};

/// Puts rows behind the table of the session, as a planner does.
fn append(world: &team_executor_testkit::World, rows: &str) {
    let path = world.dir().join("S/tasks.csv");
    let table = read(&path);
    std::fs::write(path, format!("{table}{rows}")).expect("a table");
}

/// A is completed, B failed.
fn open() -> team_executor_testkit::World {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B")]);
    let stopped =
        run(&world, "test $TEAM_EXECUTOR_TASK != B || exit 9; echo did $TEAM_EXECUTOR_TASK", &["--retries", "0"]);
    assert_eq!(stopped.code, Some(1), "{stopped}");
    assert_eq!(ask(&world, &["retry", "B"]).code, Some(0));
    world
}

#[test]
fn added_tasks_run_once_and_after_what_they_depend_on() {
    let world = open();
    let new =
        world.run(&["task", "create", "D", "--title", "New", "--assignee", "worker", "--deps", "B", "--session=S"]);
    assert_eq!(new.code, Some(0), "{new}");
    append(&world, "E,,Do it,D,,csv-wave,worker,,pending,,\n");
    let done = run(&world, "echo $TEAM_EXECUTOR_TASK >> order; echo did $TEAM_EXECUTOR_TASK", &[]);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(done.stderr.contains("New tasks: D, E\n"), "{done}");
    assert_eq!(column(&world, "status"), ["completed"; 5]);
    let order = read(world.dir().join("order"));
    assert!(["B\nC\nD\nE\n", "B\nD\nC\nE\n", "B\nD\nE\nC\n"].contains(&order.as_str()), "{order}");
    assert!(read(folder(&world).join(".executor/journal")).contains("{\"type\":\"added\",\"tasks\":[\"D\",\"E\"]"));
    let again = run(&world, "exit 9", &[]);
    assert!(again.code == Some(0) && again.stdout.contains("is finished; nothing was done"), "{again}");
}

#[test]
fn waiting_task_can_wait_for_an_added_one() {
    let world = open();
    let path = world.dir().join("S/tasks.csv");
    let table = read(&path).replace("C,,Do it,B,", "C,,Do it,\"B;D\",");
    std::fs::write(&path, format!("{table}D,,Do it,,,csv-wave,worker,,pending,,\n")).expect("a table");
    let done = run(&world, "echo $TEAM_EXECUTOR_TASK >> order; echo did $TEAM_EXECUTOR_TASK", &["-c", "1"]);
    assert_eq!(done.code, Some(0), "{done}");
    let order = read(world.dir().join("order"));
    assert!(["B\nD\nC\n", "D\nB\nC\n"].contains(&order.as_str()), "{order}");
}

/// Nothing waits for B any more, and it is gone.
fn remove_b(table: &str) -> String {
    let rows = table.lines().filter(|line| !line.starts_with("B,"));
    rows.map(|line| line.replace("C,,Do it,B,", "C,,Do it,,") + "\n").collect()
}

#[test]
fn change_of_what_ran_is_refused_and_nothing_is_started() {
    let world = open();
    let path = world.dir().join("S/tasks.csv");
    let table = read(&path);
    let row = "D,,Do it,,,csv-wave,worker,,pending,,\n";
    let before = read(folder(&world).join(".executor/journal"));
    for (changed, why) in [
        (
            format!("{}{row}", table.replace("A,,Do it,,", "A,,Do it,D,")),
            "'A' has begun, so it cannot wait for a task that is new",
        ),
        (
            table.replace("A,,Do it,,,csv-wave,worker", "A,,Do it,,,csv-wave,other"),
            "'A' has begun, so its place in the",
        ),
        (table.replace("B,,Do it,A,", "B,,Do it,,"), "'B' has begun, so its place in the"),
        (remove_b(&table), "'B' has begun, so its place in the"),
        (table.replace("A,,Do it", &format!("{row}A,,Do it")), "'A' stands behind new tasks, which belong behind"),
        (format!("{table}{}", row.replace("D,,Do it,", "D,,Do it,X")), "X"),
        (format!("{table}{}", row.replace("D,,Do it,", "D,,Do it,D")), "D"),
    ] {
        std::fs::write(&path, &changed).expect("a table");
        let refused = run(&world, DID, &[]);
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{why}: {refused}");
        assert_eq!(read(&path), changed, "the user's file stays as it is");
    }
    assert_eq!(read(folder(&world).join(".executor/journal")).lines().count(), before.lines().count());
    std::fs::write(&path, &table).expect("a table");
    assert_eq!(run(&world, DID, &[]).code, Some(0));
}

#[test]
fn kill_9_right_after_tasks_were_added_loses_none() {
    let world = open();
    append(&world, "D,,Do it,,,csv-wave,worker,,pending,,\n");
    let killed =
        run(&world, "[ -e killed ] || { touch killed; kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 99; }", &[]);
    assert_ne!(killed.code, Some(0), "{killed}");
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    assert_eq!(column(&world, "status"), ["completed"; 4]);
    let journal = read(folder(&world).join(".executor/journal"));
    assert_eq!(journal.matches("\"type\":\"added\"").count(), 1, "once");
}

/// What tasks wait for that no one has tried, who does them, and whether they are there.
/// R: N-02
#[test]
fn changed_plan_of_untried_tasks_counts_at_the_next_start() {
    let world = open();
    let path = world.dir().join("S/tasks.csv");
    let table = read(&path);
    append(&world, "D,,Do it,,,csv-wave,worker,,pending,,\n");
    let swapped = read(&path).replace("C,,Do it,B,,csv-wave,worker", "C,,Do it,\"B;D\",,csv-wave,other");
    std::fs::write(&path, swapped + "E,,Do it,C,,csv-wave,worker,,pending,,\n").expect("a table");
    let worker = "echo $TEAM_EXECUTOR_TASK $TEAM_EXECUTOR_ROLE >> order; echo did $TEAM_EXECUTOR_TASK";
    let killed = run(&world, "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 99", &["-c", "1", "--only", "B"]);
    assert_ne!(killed.code, Some(0), "{killed}\n{table}");
    // Another change: what was added goes, and what waited for it does not wait any more.
    let changed = read(&path).replace("D,,Do it,,,csv-wave,worker,,pending,,\n", "").replace("\"B;D\"", "B");
    std::fs::write(&path, changed).expect("a table");
    let done = run(&world, worker, &["-c", "1"]);
    assert_eq!(done.code, Some(0), "{done}");
    let mut order: Vec<String> = read(world.dir().join("order")).lines().map(str::to_owned).collect();
    order.sort();
    assert_eq!(order, ["B worker", "C other", "E worker"]);
    assert_eq!(column(&world, "id"), ["A", "B", "C", "E"]);
    assert_eq!(column(&world, "status"), ["completed"; 4]);
    let journal = read(folder(&world).join(".executor/journal"));
    assert_eq!(journal.matches("\"type\":\"replanned\"").count(), 2, "{journal}");
    let again = run(&world, "exit 9", &[]);
    assert!(again.code == Some(0) && again.stdout.contains("is finished; nothing was done"), "{again}");
}
