//! Results of attempts that the journal does not know. When a damaged journal was cut, numbers of attempts come again, and a
//! result that an earlier attempt of the same number left would count for the new one. They are given other names before
//! anything starts. So is what a worker wrote to where a later one is to report.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use team_executor_beneath::{Dir, io_error, ours};
use team_executor_core::run::Run;
use team_executor_core::{Task, TaskIndex};
use team_executor_store::run_folder::component;

/// How the name of a result ends.
pub(crate) const RESULT: &str = ".result.json";

/// Gives every result another name whose attempt has not begun; says how many there were.
pub(crate) fn set_aside(agents: &Path, tasks: &[Task], rules: &Run) -> io::Result<usize> {
    let mut results = results(agents)?;
    if results.is_empty() {
        return Ok(0);
    }
    let attempts = |index| rules.view(TaskIndex(index)).map_or(0, |task| task.attempt);
    let begun: HashMap<String, u32> =
        tasks.iter().zip(0..).map(|(task, index)| (component(task.id.as_str()), attempts(index))).collect();
    results.retain(|(task, attempt, _)| begun.get(task).is_some_and(|begun| attempt > begun));
    let folder = ours::open(agents).map_err(io_error)?;
    results.iter().try_for_each(|(_, _, name)| put_aside(&folder, name).map(drop))?;
    Ok(results.len())
}

/// Gives what stands where an attempt is to write its result another name, and says which.
pub(crate) fn attempt_begins(result: &Path) -> io::Result<Option<PathBuf>> {
    let (Some(parent), Some(name)) = (result.parent(), result.file_name().and_then(|name| name.to_str())) else {
        return Ok(None);
    };
    let folder = ours::open(parent).map_err(io_error)?;
    if !folder.has(name) {
        return Ok(None);
    }
    put_aside(&folder, name).map(|name| Some(result.with_file_name(name)))
}

/// Gives a result the first name that is free, and says which.
fn put_aside(folder: &Dir, name: &str) -> io::Result<String> {
    folder.rename_free(name, &format!("{name}.stale")).map_err(io_error)
}

/// Every result: the name of its task, the number of its attempt, and its own name.
fn results(agents: &Path) -> io::Result<Vec<(String, u32, String)>> {
    let mut results = Vec::new();
    for name in ours::list(agents)? {
        let attempt = name.strip_suffix(RESULT).and_then(|attempt| attempt.rsplit_once('.'));
        if let Some((task, Ok(number))) = attempt.map(|(task, number)| (task, number.parse())) {
            results.push((task.to_owned(), number, name));
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use team_executor_core::run::{Input, Policy};
    use team_executor_core::{Graph, RoleName, TaskId, Timestamp};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn what_an_attempt_left_that_has_not_begun_keeps_its_text_under_another_name() {
        let task = |id| Task::new(TaskId::parse(id).unwrap(), RoleName::parse("r").unwrap());
        let tasks = [task("A"), task("B.1"), task("数据")];
        let graph = Graph::seal(&tasks).graph.unwrap();
        let mut rules = Run::new(&tasks, graph, Policy { slots: 1, ..Policy::default() }).unwrap();
        rules.step(Input::Start { now: Timestamp::from_micros(1) });
        let dir = tempfile::tempdir().unwrap();
        let odd = component("数据");
        let stale = format!("{odd}.1.result.json");
        for name in
            ["A.1.result.json", "A.2.result.json", "B.1.1.result.json", &stale, "slot-0.prompt.md", "C.1.result.json"]
        {
            fs::write(dir.path().join(name), name).unwrap();
        }
        fs::write(dir.path().join("A.2.result.json.stale-1"), "older").unwrap();
        // The first attempt at A runs; nothing else has begun.
        assert_eq!(set_aside(dir.path(), &tasks, &rules).unwrap(), 3);
        let mut expected: Vec<String> =
            ["A.1.result.json", "A.2.result.json.stale-1", "A.2.result.json.stale-2", "B.1.1.result.json.stale-1"]
                .map(str::to_owned)
                .into();
        expected.extend(["C.1.result.json".to_owned(), "slot-0.prompt.md".to_owned(), format!("{stale}.stale-1")]);
        assert_eq!(names(dir.path()), expected);
        assert_eq!(fs::read_to_string(dir.path().join("A.2.result.json.stale-2")).unwrap(), "A.2.result.json");
        assert_eq!(set_aside(dir.path(), &tasks, &rules).unwrap(), 0);
    }
}
