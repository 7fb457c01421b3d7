//! The folder of the results of a run. Results of attempts that the journal does not know get other names: when a damaged
//! journal was cut, numbers of attempts come again.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use rustix::fs::fsync;
use rustix::io::{Errno, retry_on_intr};
use team_executor_beneath::{Dir, How, io_error, is_system_failure, open_ours};
use team_executor_core::run::Run;
use team_executor_core::{Task, TaskId, TaskIndex, Timestamp};
use team_executor_store::run_folder::component;
use team_executor_store::{Durability, RealDisk, replace};

use super::outcome::Found;
use super::report::{RESULT_BYTES, Refused, WorkerReport};
use crate::begin::run_at::result_name;
use crate::conclude::patience::patiently;
use crate::options::Failure;

/// How the name of a result ends.
pub(crate) const RESULT: &str = ".result.json";

/// The folder of the results of a run.
#[derive(Debug)]
pub(crate) struct Results {
    folder: Dir,
}

impl Results {
    /// Opens the folder.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self { folder: open_ours(folder)? })
    }

    /// Reads the result of an attempt, if there is something; fails only if the disk or the system does.
    pub(crate) fn read(&self, task: &TaskId, attempt: u32) -> Result<Option<Found>, Failure> {
        let (folder, name) = (&self.folder, result_name(task.as_str(), attempt));
        match patiently(|| folder.read(&name, RESULT_BYTES)) {
            Err(errno) if is_system_failure(errno) => Err(Failure::disk("read", folder.whole(&name))(io_error(errno))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Ok(Some(Err(Refused::by_errno(errno, folder.length(&name).unwrap_or_default())))),
            Ok(bytes) => Ok(Some(WorkerReport::from_bytes(bytes, task))),
        }
    }

    /// The report of an attempt, if there is one that can be read.
    pub(crate) fn report(&self, task: &TaskId, attempt: u32) -> Option<WorkerReport> {
        self.read(task, attempt).ok()??.ok()
    }

    /// When the result of an attempt was written.
    pub(crate) fn written_at(&self, task: &TaskId, attempt: u32) -> Option<Timestamp> {
        let found = self.folder.stat(&result_name(task.as_str(), attempt)).ok()?;
        let micros = i64::try_from(found.st_mtime_nsec).ok()? / 1000;
        Some(Timestamp::from_micros(found.st_mtime.checked_mul(1_000_000)?.checked_add(micros)?))
    }

    /// Makes a result that a worker wrote durable: once its end is, the worker is not asked again. Says if that failed.
    pub(super) fn make_durable(&self, task: &TaskId, attempt: u32) -> Option<String> {
        let name = result_name(task.as_str(), attempt);
        let synced = retry_on_intr(|| fsync(self.folder.file(&name, How::Read)?)).and_then(|()| self.folder.sync());
        let error = synced.err().filter(|errno| *errno != Errno::NOENT).map(io_error);
        error.map(|error| format!("{task}: a power cut may lose its result: {error}"))
    }

    /// Keeps what an agent reported where a worker would have written it. Says if that failed.
    pub(super) fn keep(&self, task: &TaskId, attempt: u32, text: &str) -> Option<String> {
        let (disk, name) = (RealDisk::from(self.folder.clone()), result_name(task.as_str(), attempt));
        let kept = replace(&disk, &name, text.as_bytes(), Durability::Durable);
        kept.err().map(|error| format!("{task}: its result was not kept: {error}"))
    }

    /// Gives something that stands where an attempt is to write its result another name, and says which.
    pub(crate) fn put_aside(&self, task: &TaskId, attempt: u32) -> io::Result<Option<String>> {
        let name = result_name(task.as_str(), attempt);
        if self.folder.has(&name) { self.rename(&name).map(Some) } else { Ok(None) }
    }

    /// Gives every result another name whose attempt has not begun; says how many there were.
    pub(crate) fn put_stale_aside(&self, tasks: &[Task], rules: &Run) -> io::Result<usize> {
        let mut results = self.list()?;
        if results.is_empty() {
            return Ok(0);
        }
        let attempts = |index| rules.view(TaskIndex(index)).map_or(0, |task| task.attempt);
        let begun: HashMap<String, u32> =
            tasks.iter().zip(0..).map(|(task, index)| (component(task.id.as_str()), attempts(index))).collect();
        results.retain(|(task, attempt, _)| begun.get(task).is_some_and(|begun| attempt > begun));
        results.iter().try_for_each(|(_, _, name)| self.rename(name).map(drop))?;
        Ok(results.len())
    }

    /// Gives a result the first name that is free, and says which.
    fn rename(&self, name: &str) -> io::Result<String> {
        self.folder.rename_free(name, &format!("{name}.stale")).map_err(io_error)
    }

    /// Every result: the name of its task, the number of its attempt, and its own name.
    fn list(&self) -> io::Result<Vec<(String, u32, String)>> {
        let result = |name: String| {
            let (task, number) = name.strip_suffix(RESULT)?.rsplit_once('.')?;
            Some((task.to_owned(), number.parse().ok()?, name))
        };
        Ok(self.folder.list().map_err(io_error)?.into_iter().filter_map(result).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use team_executor_core::run::{Input, Policy};
    use team_executor_core::{Graph, RoleName};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn result_before_its_attempt_is_kept_under_another_name() {
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
        let results = Results::open(dir.path()).unwrap();
        assert_eq!(results.put_stale_aside(&tasks, &rules).unwrap(), 3);
        let mut expected: Vec<String> =
            ["A.1.result.json", "A.2.result.json.stale-1", "A.2.result.json.stale-2", "B.1.1.result.json.stale-1"]
                .map(str::to_owned)
                .into();
        expected.extend(["C.1.result.json".to_owned(), "slot-0.prompt.md".to_owned(), format!("{stale}.stale-1")]);
        assert_eq!(names(dir.path()), expected);
        assert_eq!(fs::read_to_string(dir.path().join("A.2.result.json.stale-2")).unwrap(), "A.2.result.json");
        assert_eq!(results.put_stale_aside(&tasks, &rules).unwrap(), 0);
    }
}
