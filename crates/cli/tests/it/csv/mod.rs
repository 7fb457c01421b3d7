//! Tables whose rows are done by workers, with what comes out.

mod jobs;
mod refusals;

use std::collections::BTreeMap;
use std::path::PathBuf;

use team_executor_files::csv;
use team_executor_testkit::{Run, World};

/// A worker that reports the name of its row.
pub(crate) const REPORTS: &str =
    r#"printf '{"status":"completed","result":{"name":"%s"}}' "$TEAM_EXECUTOR_TASK" >"$TEAM_EXECUTOR_RESULT""#;

/// A row by its columns.
pub(crate) type Row = BTreeMap<String, String>;

/// A world with a table of so many rows.
pub(crate) fn table(rows: usize) -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let lines: String = (1..=rows).map(|number| format!("p{number},\"Name, {number}\"\n")).collect();
    world.write("people.csv", format!("id,name\n{lines}"));
    world
}

fn arguments<'a>(worker: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let all = ["csv", "people.csv", "--instruction", "Greet {name}", "--id-column", "id", "-y", "--agent-command"];
    [&all[..], &[worker], more].concat()
}

fn run(world: &World, worker: &str, more: &[&str]) -> Run {
    world.run(&arguments(worker, more))
}

/// What came out, beside the input.
fn outputs(world: &World) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(world.dir()).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut outputs: Vec<_> = entries.filter(|path| path.display().to_string().contains(".agent-job-")).collect();
    outputs.sort();
    outputs
}

/// The rows of the only table that came out.
pub(crate) fn rows(world: &World) -> Vec<Row> {
    let outputs = outputs(world);
    assert_eq!(outputs.len(), 1, "{outputs:?}");
    rows_of(&outputs[0])
}

fn rows_of(path: &PathBuf) -> Vec<Row> {
    let text = std::fs::read_to_string(path).expect("a table");
    let table = csv::parse(&text).expect("a table");
    let header: Vec<String> = table.header().cells().map(|cell| cell.value.into_owned()).collect();
    let row = |record: csv::Record<'_, '_>| -> Row {
        header.iter().cloned().zip(record.cells().map(|cell| cell.value.into_owned())).collect()
    };
    table.records().map(row).collect()
}

/// The session of the only job.
fn session(world: &World) -> String {
    let sessions = std::fs::read_dir(world.dir().join(".workflow/.team")).expect("there are sessions");
    let names: Vec<_> =
        sessions.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    format!("--session=.workflow/.team/{}", names[0])
}
