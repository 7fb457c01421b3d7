//! What the auditor checks of the files that people read, and of what is left behind.

use std::collections::BTreeMap;

use team_executor_core::TaskStatus;
use team_executor_store::sim_disk::SimDisk;

use super::model::demand;
use super::reader::task;
use super::{Auditor, Verdict};

/// The user's own file, beside the rendered ones.
pub const NOTES: &str = ".notes.tmp-of-the-user";
/// What is in it.
pub const NOTES_TEXT: &[u8] = b"no task touches this";
/// The rendered file.
pub const VIEW: &str = "tasks.csv";

impl Auditor<'_> {
    /// The view is whole and not ahead of what is durable; where `exact`, it is also not behind.
    pub fn view(&mut self, run: &SimDisk, executor: &SimDisk, exact: bool) -> Verdict {
        self.look(executor)?;
        let text = run.peek(VIEW, |cached, synced| (String::from_utf8_lossy(cached).into_owned(), cached == synced));
        let Some((text, synced)) = text else {
            demand!(!exact, "I6: there is no {VIEW}");
            return Ok(());
        };
        demand!(synced || !exact, "I6: the last {VIEW} is not durable");
        let shown = statuses(&text);
        demand!(
            shown.len() == self.facts.tasks.len(),
            "I6: {VIEW} has {} of {} tasks",
            shown.len(),
            self.facts.tasks.len()
        );
        for (number, own) in self.durable.model.tasks.iter().enumerate() {
            let shown = shown.get(&number).copied();
            // A person can want a completed task again: then an old view may say more than the journal does.
            let ahead = shown == Some(TaskStatus::Completed) && own.status != TaskStatus::Completed;
            demand!(!ahead || self.scenario.weather.requests, "I6: {VIEW} says that T{number} is completed");
            demand!(
                !exact || shown == Some(own.status),
                "I6: {VIEW} says {shown:?} of T{number}, which is {}",
                own.status
            );
        }
        Ok(())
    }

    /// Nothing is left behind, and nothing of the user's is touched.
    pub fn tidy(&self, run: &SimDisk, executor: &SimDisk) -> Verdict {
        let mut strangers = run.names().into_iter().filter(|name| name != VIEW && name != NOTES);
        demand!(strangers.next().is_none(), "I13: a file is left behind");
        let ours = ["journal", "lock", "reserve"];
        let mut strangers = executor.names().into_iter().filter(|name| !ours.contains(&name.as_str()));
        demand!(strangers.next().is_none(), "I13: a file of the executor is left behind");
        let notes = run.peek(NOTES, |cached, _| cached == NOTES_TEXT);
        demand!(notes == Some(true), "I10: the user's file has changed");
        Ok(())
    }
}

/// What a table says of each task.
fn statuses(text: &str) -> BTreeMap<usize, TaskStatus> {
    let mut lines = text.lines();
    let column = |name: &str, header: &str| header.split(',').position(|cell| cell.trim_matches('"') == name);
    let header = lines.next().unwrap_or_default();
    let (Some(id), Some(status)) = (column("id", header), column("status", header)) else { return BTreeMap::new() };
    let rows = lines.filter_map(|line| {
        let cells: Vec<&str> = line.split("\",\"").map(|cell| cell.trim_matches('"')).collect();
        let cells = if cells.len() > 1 { cells } else { line.split(',').collect() };
        let status = TaskStatus::from_word(cells.get(status)?)?;
        Some((task(cells.get(id)?)?, if status == TaskStatus::Ready { TaskStatus::Pending } else { status }))
    });
    rows.collect()
}
