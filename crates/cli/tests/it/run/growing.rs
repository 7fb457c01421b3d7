//! The plan gets longer while a run goes on.

use std::collections::BTreeMap;
use std::process::Stdio;

use serde_json::{Value, json};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Run, World};

use super::asked::ask;
use super::ends::{Waiting, end, wait_for};
use super::{DID, arguments, column, folder, read, run};

/// Adds a task to the session `S`.
fn create(world: &World, id: &str, more: &[&str]) -> Run {
    ask(world, &[&["task", "create", id, "--title", "New", "--assignee", "worker"], more].concat())
}

/// A run whose task A waits; the others write down that they began.
fn waiting() -> Waiting {
    let mut waiting = Waiting::new();
    waiting.worker = format!("echo $TEAM_EXECUTOR_TASK >> order; {}", waiting.worker);
    waiting
}

fn order(world: &World) -> Vec<String> {
    read(world.dir().join("order")).lines().map(str::to_owned).collect()
}

/// R: N-02
#[test]
fn task_is_added_to_a_run_that_goes_on() {
    let mut waiting = waiting();
    let executor = waiting.start();
    let world = &waiting.world;
    let added = create(world, "C", &["--deps", "A,B"]);
    assert_eq!(added.code, Some(0), "{added}");
    assert!(added.stdout.contains("id: C\ntitle: New\n") && added.stdout.contains("deps: A, B\n"), "{added}");
    // What waits for nothing starts beside the one that is at work.
    let free = create(world, "D", &[]);
    assert_eq!(free.code, Some(0), "{free}");
    let watched = ask(world, &["wait", "D"]);
    let status = ask(world, &["task", "get", "C"]);
    assert!(status.stdout.contains("status: pending"), "{watched}{status}");
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(0));
    assert_eq!(order(world), ["A", "D", "B", "C"]);
    assert_eq!(column(world, "status"), ["completed"; 4]);
    let journal = read(folder(world).join(".executor/journal"));
    assert_eq!(journal.matches("\"type\":\"added\"").count(), 2, "{journal}");
    let again = run(world, "exit 9", &[]);
    assert!(again.code == Some(0) && again.stdout.contains("is finished; nothing was done"), "{again}");
}

/// R: N-02
#[test]
fn kill_9_right_after_a_task_was_added_loses_it_not() {
    let mut waiting = waiting();
    let mut executor = waiting.start();
    let added = create(&waiting.world, "C", &["--deps", "B"]);
    assert_eq!(added.code, Some(0), "{added}");
    executor.kill().expect("it is killed");
    end(executor);
    waiting.pulse.wait_dead();
    let world = &waiting.world;
    let done = run(world, DID, &[]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(column(world, "status"), ["completed"; 3]);
    let journal = read(folder(world).join(".executor/journal"));
    assert_eq!(journal.matches("\"type\":\"added\"").count(), 1, "{journal}");
    let names =
        std::fs::read_dir(world.dir().join("S")).expect("a folder").map(|file| file.expect("a file").file_name());
    let tables: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("tasks")).collect();
    assert_eq!(tables, ["tasks.csv"], "there is nothing of which a copy is kept");
}

/// R: N-02
#[test]
fn task_that_does_not_fit_is_refused_and_nothing_is_changed() {
    let mut waiting = waiting();
    let executor = waiting.start();
    let world = &waiting.world;
    let (table, journal) = (world.dir().join("S/tasks.csv"), folder(world).join(".executor/journal"));
    let before = (read(&table), read(&journal));
    for (id, more, why) in [
        ("A", &[][..], "task 'A' already exists"),
        ("C", &["--deps", "X"], "unknown dependency 'X'"),
        ("C", &["--deps", "C"], "unknown dependency 'C'"),
        ("C", &["--deps", "B", "--wave", "7"], "by its dependencies the task is in wave 3"),
    ] {
        let refused = create(world, id, more);
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{why}: {refused}");
        assert!(refused.stderr.contains("\nhelp: "), "{refused}");
    }
    assert_eq!((read(&table), read(&journal)), before);
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(0));
}

/// R: N-02
#[test]
fn illegal_edit_is_refused_until_it_is_corrected() {
    let mut waiting = waiting();
    let mut command = waiting.world.command(&arguments("--session=S", &waiting.worker, &[]));
    command.env("COLUMNS", "300").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut executor = command.spawn().expect("it starts");
    waiting.pulse.wait_alive(1);
    let world = &waiting.world;
    let table = world.dir().join("S/tasks.csv");
    let before = read(&table);
    let row = |id: &str, deps: &str| format!("{id},,Do it,{deps},,csv-wave,worker,,pending,,\n");
    for (text, why) in [
        (format!("{before}{}", row("C", "X")), "the session has errors; `validate` shows them"),
        (
            before.replace("A,,Do it,,,csv-wave,worker", "A,,Do it,,,csv-wave,other"),
            "'A' has begun, and keeps its role, mode and dependencies",
        ),
        (
            format!("id{}{}", before.split_once("id").unwrap().1.lines().next().unwrap(), "\n") + &row("B", ""),
            "'A' has begun, and cannot be removed",
        ),
        (before.replace(&row("B", "A"), &format!("{}{}", row("C", "A"), row("B", "A"))), "'C' is not behind the tasks"),
    ] {
        std::fs::write(&table, &text).expect("a table");
        wait_for(&mut executor, &format!("the session was edited, and the run goes on without that: {why}"));
        assert_eq!(read(&table), text, "the edit stays");
    }
    std::fs::write(&table, format!("{before}{}", row("C", "A"))).expect("a table");
    wait_for(&mut executor, "New tasks: C");
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(0));
    assert_eq!(column(world, "status"), ["completed"; 3]);
}

/// R: N-02
#[test]
fn edited_text_counts_for_tasks_that_were_never_tried() {
    let mut waiting = waiting();
    waiting.worker = format!("cat $TEAM_EXECUTOR_PROMPT >> prompts; {}", waiting.worker);
    let mut command = waiting.world.command(&arguments("--session=S", &waiting.worker, &["-c", "1"]));
    command.env("COLUMNS", "300").stdout(Stdio::piped()).stderr(Stdio::piped());
    let table = waiting.world.dir().join("S/tasks.csv");
    std::fs::write(&table, read(&table) + "C,,Do it,A,,csv-wave,worker,,pending,,\n").expect("a table");
    let mut executor = command.spawn().expect("it starts");
    waiting.pulse.wait_alive(1);
    let before = read(&table);
    std::fs::write(&table, before.replace("C,,Do it", "C,,Do it with care")).expect("a table");
    wait_for(&mut executor, "C: another text");
    std::fs::write(&table, before.replace("A,,Do it", "A,,Do it with care")).expect("a table");
    wait_for(&mut executor, "'A' was tried already, and keeps its text and priority");
    assert!(waiting.world.dir().join("S/tasks.csv.edited-1").exists(), "the edit is kept");
    std::fs::write(&table, before.replace("C,,Do it", "C,,Do it at last")).expect("a table");
    wait_for(&mut executor, "C: another text");
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(0));
    let prompts = read(waiting.world.dir().join("prompts"));
    assert!(prompts.contains("Do it at last") && !prompts.contains("with care"), "{prompts}");
}

/// The session's table with other rows for what waits.
fn rewrite(world: &World, change: impl FnOnce(String) -> String) {
    let table = world.dir().join("S/tasks.csv");
    std::fs::write(&table, change(read(&table))).expect("a table");
}

/// R: N-02
#[test]
fn edited_dependencies_and_roles_count_while_a_run_goes_on() {
    let mut waiting = waiting();
    waiting.worker = format!("echo $TEAM_EXECUTOR_TASK $TEAM_EXECUTOR_ROLE >> roles; {}", waiting.worker);
    let executor = waiting.start();
    let world = &waiting.world;
    rewrite(world, |table| {
        table.replace("B,,Do it,A,,csv-wave,worker", "B,,Do it,C,,csv-wave,other")
            + "C,,Do it,,,csv-wave,worker,,pending,,\n"
    });
    // B does not wait for A any more, but for a new task.
    limited_until("all but A are done", || (order(world) == ["A", "C", "B"]).then_some(()));
    let status = ask(world, &["status"]);
    assert!(status.code == Some(0) && status.stdout.contains("2/3 completed"), "{status}");
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(0));
    assert!(read(world.dir().join("roles")).contains("B other\n"));
    assert_eq!(column(world, "status"), ["completed"; 3]);
    assert_eq!(column(world, "deps"), ["", "C", ""]);
    let journal = read(folder(world).join(".executor/journal"));
    assert_eq!(journal.matches("\"type\":\"replanned\"").count(), 1, "{journal}");
    let again = run(world, "exit 9", &[]);
    assert!(again.code == Some(0) && again.stdout.contains("is finished; nothing was done"), "{again}");
}

/// R: N-02
#[test]
fn removed_task_is_gone_and_its_id_stays_used() {
    let mut waiting = waiting();
    let mut command = waiting.world.command(&arguments("--session=S", &waiting.worker, &[]));
    command.env("COLUMNS", "300").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut executor = command.spawn().expect("it starts");
    waiting.pulse.wait_alive(1);
    let world = &waiting.world;
    let row = "B,,Do it,A,,csv-wave,worker,,pending,,\n";
    rewrite(world, |table| table.replace(row, "C,,Do it,A,,csv-wave,worker,,pending,,\n"));
    wait_for(&mut executor, "The plan was edited: removed B");
    rewrite(world, |table| table + row);
    wait_for(&mut executor, "'B' was removed from this run; give the new task another id");
    rewrite(world, |table| table.replace(row, ""));
    waiting.gate.open();
    assert_eq!(end(executor).0, Some(0));
    assert_eq!(order(world), ["A", "C"]);
    assert_eq!(column(world, "id"), ["A", "C"]);
    assert!(!read(world.dir().join("S/tasks.csv")).contains("\nB,"), "it does not come back");
    let status = ask(world, &["status"]);
    assert!(status.stdout.contains("2/2 completed"), "{status}");
}

/// R: N-02
#[test]
fn kill_9_right_after_a_plan_was_edited_loses_nothing_of_it() {
    let mut waiting = waiting();
    let mut command = waiting.world.command(&arguments("--session=S", &waiting.worker, &[]));
    command.env("COLUMNS", "300").stdout(Stdio::piped()).stderr(Stdio::piped());
    let table = waiting.world.dir().join("S/tasks.csv");
    std::fs::write(&table, read(&table) + "C,,Do it,B,,csv-wave,worker,,pending,,\n").expect("a table");
    let mut executor = command.spawn().expect("it starts");
    waiting.pulse.wait_alive(1);
    let world = &waiting.world;
    rewrite(world, |table| {
        table.replace("B,,Do it,A,,csv-wave,worker,,pending,,\n", "").replace("C,,Do it,B,", "C,,Do it,A,")
    });
    wait_for(&mut executor, "The plan was edited: changed C; removed B");
    executor.kill().expect("it is killed");
    end(executor);
    waiting.pulse.wait_dead();
    let status = ask(world, &["status"]);
    assert_eq!(status.code, Some(0), "{status}");
    let done = run(world, DID, &[]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(
        (column(world, "id"), column(world, "status")),
        (vec!["A".to_owned(), "C".to_owned()], vec!["completed".to_owned(); 2])
    );
    let events = ask(world, &["events"]);
    assert!(
        events.code == Some(0) && events.stdout.contains("The plan was edited: changed C; removed B\n"),
        "{events}"
    );
}

/// A coordinator that writes the files of a session while it is run: by turns into the file and over it.
struct Coordinator<'w> {
    world: &'w World,
    file: &'static str,
    turn: usize,
}

impl Coordinator<'_> {
    /// Adds a task as a script does: reads, changes, writes.
    fn add(&mut self, change: impl FnOnce(&mut Value)) {
        let path = self.world.dir().join(self.file);
        let mut document: Value = serde_json::from_str(&read(&path)).expect("the executor leaves the file whole");
        change(&mut document);
        let text = serde_json::to_string_pretty(&document).expect("a text");
        self.turn += 1;
        if self.turn.is_multiple_of(2) {
            std::fs::write(&path, text).expect("it is written in place");
        } else {
            let aside = path.with_extension("new");
            std::fs::write(&aside, text).expect("it is written");
            std::fs::rename(&aside, &path).expect("it is put over the other");
        }
    }
}

/// Says when a task begins and ends; one waits for the coordinator, the others work for a while.
fn diary(gate: &str) -> String {
    format!(
        "echo begin $TEAM_EXECUTOR_TASK >> diary; \
         if [ $TEAM_EXECUTOR_TASK = ALPHA-001 ]; then cat {gate}; else sleep 0.1; fi; \
         echo end $TEAM_EXECUTOR_TASK >> diary; echo did $TEAM_EXECUTOR_TASK"
    )
}

/// Every task was done once, and after what it depends on.
fn assert_done(world: &World, deps: &BTreeMap<String, Vec<String>>) {
    let diary: Vec<String> = read(world.dir().join("diary")).lines().map(str::to_owned).collect();
    let at = |line: String| {
        let all: Vec<usize> = (0..diary.len()).filter(|at| diary[*at] == line).collect();
        assert_eq!(all.len(), 1, "{line}\n{diary:#?}");
        all[0]
    };
    for (task, on) in deps {
        let begin = at(format!("begin {task}"));
        assert!(begin < at(format!("end {task}")));
        for on in on {
            assert!(at(format!("end {on}")) < begin, "{task} began before {on} had ended\n{diary:#?}");
        }
    }
    assert_eq!(diary.len(), 2 * deps.len(), "{diary:#?}");
}

/// Waits until the journal says that ten tasks were added.
fn wait_for_ten(world: &World) {
    let journal = folder(world).join(".executor/journal");
    let count = || {
        let added = read(&journal);
        let added =
            added.lines().filter_map(|line| line.split_once("{\"type\":\"added\",\"tasks\":[")?.1.split_once(']'));
        added.map(|(ids, _)| ids.split(',').count()).sum::<usize>()
    };
    limited_until("ten tasks were added", || (count() == 10).then_some(()));
}

fn coordinated(
    world: &World,
    session: &str,
    file: &'static str,
    gate: &Gate,
    add: impl Fn(&mut Value, &str, &[String]),
) {
    let worker = diary(gate.arg());
    let mut command = world.command(&arguments(session, &worker, &["-c", "16"]));
    let executor = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    limited_until("it works", || world.dir().join("diary").exists().then_some(()));
    let mut deps: BTreeMap<String, Vec<String>> = (1..=30).map(|n| (format!("BASE-{n:03}"), Vec::new())).collect();
    deps.insert("ALPHA-001".to_owned(), Vec::new());
    let mut coordinator = Coordinator { world, file, turn: 0 };
    for n in 1..=10 {
        let id = format!("NEW-{n:03}");
        let on: Vec<String> = match n {
            1 => Vec::new(),
            n => vec![format!("NEW-{:03}", n - 1), format!("BASE-{:03}", 3 * n)],
        };
        coordinator.add(|document| add(document, &id, &on));
        deps.insert(id, on);
    }
    wait_for_ten(world);
    gate.open();
    let ended = executor.limited_output();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_done(world, &deps);
    let last = read(world.dir().join(file));
    assert!(deps.keys().all(|id| last.contains(&format!("\"{id}\""))), "an edit was lost: {last}");
    assert_eq!(column(world, "status"), vec!["completed"; 41]);
}

/// R: N-02
#[test]
fn coordinator_adds_tasks_to_tasks_json_beside_16_workers() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let task = |on: &[String]| json!({"title": "t", "description": "Do it", "role": "worker", "deps": on, "status": "pending"});
    let ids = (1..=30).map(|n| format!("BASE-{n:03}")).chain(["ALPHA-001".to_owned()]);
    let tasks: serde_json::Map<String, Value> = ids.map(|id| (id, task(&[]))).collect();
    let document = json!({"session_id": "s", "skill": "x", "pipeline": "p", "requirement": "r", "tasks": tasks});
    world.write("S/tasks.json", document.to_string());
    world.write("S/roles/worker/role.md", "# Worker\n");
    let gate = Gate::new(world.dir().join("gate"));
    coordinated(&world, "--session=S", "S/tasks.json", &gate, |document, id, on| document["tasks"][id] = task(on));
}

/// R: N-02
#[test]
fn coordinator_adds_tasks_to_a_tc_folder_beside_16_workers() {
    let world = crate::fixtures::world("tc-spec-minimal");
    let ids = (1..=30).map(|n| format!("BASE-{n:03}")).chain(["ALPHA-001".to_owned()]);
    let node = |on: &[String]| json!({"depends_on": on, "role": "builder"});
    let graph: serde_json::Map<String, Value> = ids.map(|id| (id, node(&[]))).collect();
    let file = "tc-spec-minimal/task-analysis.json";
    let document =
        json!({"capabilities": [{"name": "payments"}], "dependency_graph": graph, "roles": [{"name": "builder"}]});
    world.write(file, document.to_string());
    let gate = Gate::new(world.dir().join("gate"));
    coordinated(&world, "--session=tc-spec-minimal", file, &gate, |document, id, on| {
        document["dependency_graph"][id] = node(on);
    });
}

/// The tasks of a `tc` session are planned in another file than the one in which a run keeps its state.
/// R: N-02
#[test]
fn tc_session_gets_tasks_at_rest_and_while_it_runs() {
    const SESSION: &str = "--session=tc-spec-minimal";
    let world = crate::fixtures::world("tc-spec-minimal");
    let file = world.dir().join("tc-spec-minimal/task-analysis.json");
    let before = read(&file);
    let create = |id: &str, on: &str| {
        world.run(&["task", "create", id, "--title", "New", "--assignee", "builder", "--deps", on, SESSION])
    };
    let added = create("BUILD-003", "BUILD-001");
    assert_eq!(added.code, Some(0), "{added}");
    let node = r#""BUILD-003": "#;
    let grown = read(&file);
    assert!(grown.contains(node), "{grown}");
    for line in before.lines().filter(|line| line.contains("BUILD-001\":") || line.contains("capabilities")) {
        assert!(grown.contains(line), "every other line stays: {grown}");
    }
    let gate = Gate::new(world.dir().join("gate"));
    let worker = "[ $TEAM_EXECUTOR_TASK != BUILD-001 ] || cat gate; echo did $TEAM_EXECUTOR_TASK";
    let mut command = world.command(&arguments(SESSION, worker, &["--on-complete", "auto_keep"]));
    let mut executor = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_for(&mut executor, "▶ BUILD-001");
    let live = create("BUILD-004", "BUILD-002,BUILD-003");
    assert_eq!(live.code, Some(0), "{live}");
    let unknown = create("BUILD-005", "NO-1");
    assert!(unknown.code == Some(2) && unknown.stderr.contains("unknown dependency 'NO-1'"), "{unknown}");
    gate.open();
    assert_eq!(end(executor).0, Some(0));
    assert_eq!(column(&world, "findings"), ["1", "2", "3", "4"].map(|n| format!("did BUILD-00{n}")));
}
