//! Sessions that are run to an end by real workers, with what they leave.

mod again;
mod asked;
mod bus;
pub(crate) mod cancel;
mod completion;
mod continued;
mod core_rules;
mod edits;
pub(crate) mod ends;
mod files;
mod growing;
mod grown;
mod judged;
mod knowledge;
pub(crate) mod limit;
mod machine;
mod parts;
mod reconcile;
mod remembered;
mod replanned;
pub(crate) mod times;
mod verbs;
mod views;
pub(crate) mod with;
mod workers;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use team_executor_files::csv;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Run, World};

/// A worker that says which task it did.
pub(crate) const DID: &str = "echo did $TEAM_EXECUTOR_TASK";

/// A world with a session of these tasks in `S`, each with what it waits for.
pub(crate) fn tasks(tasks: &[(&str, &str)]) -> World {
    let mut table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n".to_owned();
    for (id, deps) in tasks {
        writeln!(table, "{id},,Do it,{deps},,csv-wave,worker,,pending,,").expect("a string");
    }
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("S/tasks.csv", table);
    world
}

pub(crate) fn arguments<'a>(session: &'a str, worker: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", session, "--agent-command", worker, "-y"], more].concat()
}

/// What a worker does until the journal of the only run has a word, or for ten seconds.
pub(crate) fn until_recorded(word: &str) -> String {
    let journal = ".workflow/.csv-wave/EX-*/.executor/journal";
    format!("for n in $(seq 500); do grep -qs {word} {journal} && break; sleep 0.02; done")
}

/// Runs `S` with a worker to an end.
pub(crate) fn run(world: &World, worker: &str, more: &[&str]) -> Run {
    world.run(&arguments("--session=S", worker, more))
}

/// Starts a run of `S`.
pub(crate) fn start(world: &World, worker: &str) -> Child {
    let mut command = world.command(&arguments("--session=S", worker, &[]));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

pub(crate) fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).limited_status();
    assert!(sent.success());
}

/// The folder of the only run.
pub(crate) fn folder(world: &World) -> PathBuf {
    let runs = std::fs::read_dir(world.dir().join(".workflow/.csv-wave")).expect("there are runs");
    let runs: Vec<_> = runs.map(|run| run.expect("a run").path()).filter(|path| path.is_dir()).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0].clone()
}

pub(crate) fn read(path: impl Into<PathBuf>) -> String {
    let path = path.into();
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn json(path: impl Into<PathBuf>) -> Value {
    let path = path.into();
    serde_json::from_str(&read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of the run's `tasks.csv` by task and column.
pub(crate) fn rows(world: &World) -> BTreeMap<String, BTreeMap<String, String>> {
    let text = read(folder(world).join("tasks.csv"));
    let table = csv::parse(&text).expect("a table");
    let header: Vec<String> = table.header().cells().map(|cell| cell.value.into_owned()).collect();
    let row = |record: csv::Record<'_, '_>| -> BTreeMap<String, String> {
        header.iter().cloned().zip(record.cells().map(|cell| cell.value.into_owned())).collect()
    };
    table.records().map(row).map(|row| (row["id"].clone(), row)).collect()
}

/// One column of all rows, in the order of the ids.
pub(crate) fn column(world: &World, name: &str) -> Vec<String> {
    rows(world).into_values().map(|mut row| row.remove(name).unwrap_or_default()).collect()
}
