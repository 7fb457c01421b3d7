//! The program is killed while it runs a session and started again, or started twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use team_executor_testkit::limited::*;
use team_executor_testkit::{Diary, Gate, Pulse, World};

use crate::run::{self, DID};

/// Each task with what it waits for.
const TASKS: [(&str, &[&str]); 6] =
    [("A", &[]), ("B", &[]), ("C", &["A"]), ("D", &["A", "B"]), ("E", &["C"]), ("F", &["D", "E"])];

/// How a session is run, and after how many lines of the diary each incarnation is killed. A run writes twelve at least.
const RUNS: [(&[&str], &[usize]); 3] =
    [(&["-c1"], &[1, 2, 1, 3]), (&["-c4"], &[2, 3, 2]), (&["-c2", "--cadence", "wave"], &[3, 1, 4])];

/// R: X-01
#[test]
fn killed_run_continues_without_loss_or_repeats() {
    for (flags, kills) in RUNS {
        let (world, mut diary) = session();
        let mut lines = Vec::new();
        for count in kills {
            let mut executor = start(&world, flags);
            lines.extend((0..*count).map(|_| diary.line()));
            executor.kill().expect("it can be killed");
            executor.limited_wait();
        }
        let status = start(&world, flags).limited_wait();
        assert!(status.success(), "{status}");
        // This returns only when no worker, nor anything that one left behind, is alive.
        lines.extend(diary.rest());
        check_order(&lines);
        let run = run_folder(&world);
        check_completed_once(&lines, &run);
        for name in ["tasks.csv", "results.csv"] {
            let table = std::fs::read_to_string(run.join(name)).expect("a table");
            assert_eq!(table.lines().filter(|line| line.contains(",completed,")).count(), TASKS.len(), "{table}");
        }
        let tree = world.tree();
        assert!(!tree.to_string().contains(".tmp"), "{tree}");
        let again = world.run(&arguments(&world, flags).iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(again.code, Some(0), "{again}");
        assert!(again.to_string().contains("is finished; nothing was done"), "{again}");
    }
}

#[test]
fn two_that_start_at_the_same_moment_share_one_run() {
    for _ in 0..3 {
        let (world, diary) = session();
        let both = [start(&world, &["-c3"]), start(&world, &["-c3"])];
        let ends = both.map(|mut executor| executor.limited_wait().code());
        assert!(ends.contains(&Some(0)), "{ends:?}");
        let lines = diary.rest();
        check_order(&lines);
        check_completed_once(&lines, &run_folder(&world));
        assert_eq!(lines.len(), 2 * TASKS.len(), "{lines:#?}");
    }
}

#[test]
fn views_missing_after_a_kill_are_written_by_next_start() {
    let (world, diary) = session();
    assert!(start(&world, &[]).limited_wait().success());
    assert_eq!(diary.rest().len(), 2 * TASKS.len());
    let run = run_folder(&world);
    let written = ["tasks.csv", "results.csv", "context.md"].map(|name| run.join(name));
    let before = written.each_ref().map(|path| std::fs::read_to_string(path).expect("a file"));
    // As a kill between the last record and the last file would leave it.
    let noted = run.join(".executor/rendered");
    written.iter().chain([&noted]).for_each(|path| std::fs::remove_file(path).expect("it can be removed"));
    let unfinished = world.write(".workflow/s/.tasks.json.tmp-0123456789abcdef", "{");
    assert!(start(&world, &[]).limited_wait().success());
    assert_eq!(written.each_ref().map(|path| std::fs::read_to_string(path).expect("a file")), before);
    assert!(!unfinished.exists());
}

/// The process that a worker leaves behind kills the executor and the keeper as soon as it is asked to end.
///
/// R: X-01
#[test]
fn ended_worker_is_not_repeated_if_all_are_killed_then() {
    let world = run::tasks(&[("A", "")]);
    let (mut pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
    let executor = "$(sed -n 's/^PPid:\t//p' /proc/$PPID/status)";
    let left = format!("trap \"kill -9 {executor} $PPID\" TERM; exec 9>{}; printf . >&9", pulse.arg());
    let worker = format!("({left}; while :; do sleep 0.05; done) >/dev/null & cat {}; {DID}", gate.arg());
    let mut executor = run::start(&world, &worker);
    pulse.wait_alive(1);
    gate.open();
    assert_eq!(executor.limited_wait().code(), None, "it was killed");
    let resumed = run::run(&world, "exit 9", &[]);
    assert_eq!((resumed.code, run::column(&world, "findings")), (Some(0), vec!["did A".to_owned()]), "{resumed}");
    pulse.wait_dead();
}

/// A session whose workers write `TASK ATTEMPT start` and `TASK ATTEMPT end`, and leave something behind.
fn session() -> (World, Diary) {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let diary = Diary::new(world.dir().with_file_name("diary"));
    let tasks = TASKS.map(|(id, deps)| format!("\"{id}\":{{\"title\":\"{id}\",\"role\":\"dev\",\"deps\":{deps:?}}}"));
    let text = format!("{{\"session_id\":\"s\",\"tasks\":{{{}}}}}", tasks.join(","));
    world.write(".workflow/s/tasks.json", text);
    let script = format!(
        "exec 3>>'{}'\nsay() {{ echo \"$TEAM_EXECUTOR_TASK $TEAM_EXECUTOR_ATTEMPT $1\" >&3; }}\n\
         say start\n(sleep 5; say late) >/dev/null 2>&1 &\nsay end\necho done\n",
        diary.path().display()
    );
    world.write("worker.sh", script);
    (world, diary)
}

fn arguments(world: &World, flags: &[&str]) -> Vec<String> {
    let command = format!("/bin/sh {}", world.dir().join("worker.sh").display());
    let first = ["--session=.workflow/s", "-y", "--agent-command", &command];
    first.iter().chain(flags).map(|word| (*word).to_owned()).collect()
}

fn start(world: &World, flags: &[&str]) -> Child {
    let arguments = arguments(world, flags);
    let mut command = world.command(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// The one run that there is.
fn run_folder(world: &World) -> PathBuf {
    let entries = std::fs::read_dir(world.dir().join(".workflow/.csv-wave")).expect("runs");
    let paths = entries.map(|entry| entry.expect("a run").path()).filter(|path| path.is_dir());
    let [run]: [PathBuf; 1] = paths.collect::<Vec<_>>().try_into().expect("one run");
    run
}

/// One worker per task at a time, none after its task's next one, and none before what it waits for.
fn check_order(lines: &[String]) {
    let mut latest = BTreeMap::new();
    let mut ended = Vec::new();
    for line in lines {
        let words: Vec<_> = line.split(' ').collect();
        let [task, attempt, word] = words[..] else { panic!("{line}") };
        match word {
            "start" => {
                let (_, deps) = TASKS.iter().find(|(id, _)| *id == task).expect("a known task");
                assert!(deps.iter().all(|dep| ended.contains(dep)), "{line}: {lines:#?}");
                assert!(latest.insert(task, attempt) != Some(attempt), "{line}: {lines:#?}");
            }
            "end" => {
                assert_eq!(latest.get(task), Some(&attempt), "{line}: {lines:#?}");
                ended.push(task);
            }
            _ => panic!("{line}"),
        }
    }
}

/// Each task was completed once, by the last attempt that was begun.
fn check_completed_once(lines: &[String], run: &Path) {
    let journal = std::fs::read_to_string(run.join(".executor/journal")).expect("a journal");
    for (task, _) in TASKS {
        let start = format!("{task} ");
        let last = lines.iter().rfind(|line| line.starts_with(&start) && line.ends_with(" start")).expect("a start");
        let number = last.trim_end_matches(" start").rsplit('/').next().expect("a number");
        let record = |number: &str| format!("\"type\":\"completed\",\"task\":\"{task}\",\"attempt\":{number}");
        assert_eq!(journal.matches(&record("")).count(), 1, "{task}: {journal}");
        assert!(journal.contains(&format!("{},", record(number))), "{last}: {journal}");
    }
}
