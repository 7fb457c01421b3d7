//! A part of a plan, as a person names it: which tasks are run. The others stay pending.

use std::collections::BTreeSet;

use team_executor_core::{Graph, Session, TaskIndex};
use team_executor_files::{Code, Finding};

use crate::config::nearest;
use crate::error::Error;

/// Which part of a plan is run. What several of these name is what all of them name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// These tasks.
    pub only: Vec<String>,
    /// Also everything that what is named depends on.
    pub with_deps: bool,
    /// This task and everything that it depends on.
    pub until: Option<String>,
    /// This task and everything that depends on it.
    pub from: Option<String>,
    /// The tasks of this role.
    pub role: Option<String>,
    /// The tasks of this wave.
    pub wave: Option<u32>,
}

impl Part {
    /// The tasks of the part; nothing where no part is named.
    pub(crate) fn tasks(&self, session: &Session, graph: &Graph) -> Result<Option<BTreeSet<TaskIndex>>, Error> {
        let Self { only, with_deps, until, from, role, wave } = self;
        if *self == Self::default() {
            return Ok(None);
        }
        let all = || (0..).map(TaskIndex).take(graph.len());
        let mut named: Vec<BTreeSet<TaskIndex>> = Vec::new();
        if !only.is_empty() {
            named.push(only.iter().map(|id| task(id, session, graph)).collect::<Result<_, _>>()?);
        }
        if let Some(until) = until {
            named.push(reached([task(until, session, graph)?].into(), |task| graph.dependencies(task)));
        }
        if let Some(from) = from {
            named.push(reached([task(from, session, graph)?].into(), |task| graph.dependents(task)));
        }
        if let Some(role) = role {
            let of_role = |index: &TaskIndex| session.tasks[index.get()].role.as_str() == role;
            named.push(must_be_some(all().filter(of_role).collect(), || format!("no task has the role '{role}'"))?);
        }
        if let Some(wave) = wave {
            let of_wave = |index: &TaskIndex| graph.wave(*index) == *wave;
            named.push(must_be_some(all().filter(of_wave).collect(), || {
                format!("there is no wave {wave}: the plan has {}", graph.wave_count())
            })?);
        }
        let both = named.into_iter().reduce(|one, other| &one & &other).unwrap_or_default();
        let part = must_be_some(both, || "no task is in all that was named".to_owned())?;
        Ok(Some(if *with_deps { reached(part, |task| graph.dependencies(task)) } else { part }))
    }
}

fn must_be_some(tasks: BTreeSet<TaskIndex>, why: impl FnOnce() -> String) -> Result<BTreeSet<TaskIndex>, Error> {
    if tasks.is_empty() {
        let finding = Finding::error(Code::Usage, why());
        return Err(finding.help("see tasks, roles and waves: team-executor plan").into());
    }
    Ok(tasks)
}

fn task(id: &str, session: &Session, graph: &Graph) -> Result<TaskIndex, Error> {
    graph.index_of(id).ok_or_else(|| {
        let finding = Finding::error(Code::Usage, format!("there is no task '{id}'"));
        match nearest(id, session.tasks.iter().map(|task| task.id.as_str())) {
            Some(near) => finding.help(format!("did you mean {near}?")).into(),
            None => finding.help("list the tasks: team-executor plan").into(),
        }
    })
}

/// These tasks and all that are reached from them.
fn reached<'g>(from: BTreeSet<TaskIndex>, next: impl Fn(TaskIndex) -> &'g [TaskIndex]) -> BTreeSet<TaskIndex> {
    let (mut seen, mut open) = (from.clone(), Vec::from_iter(from));
    while let Some(task) = open.pop() {
        open.extend(next(task).iter().filter(|task| seen.insert(**task)));
    }
    seen
}

#[cfg(test)]
mod tests {
    use team_executor_core::{RoleName, SessionId, Task, TaskId};

    use super::*;

    /// A1 and A2, B after both, C after B; B is a tester's.
    fn plan() -> (Session, Graph) {
        let id = |text: &str| TaskId::parse(text).unwrap();
        let rows: [(&str, &[&str], &str); 4] =
            [("A1", &[], "dev"), ("A2", &[], "dev"), ("B", &["A1", "A2"], "tester"), ("C", &["B"], "dev")];
        let tasks = rows.map(|(name, on, role)| Task {
            dependencies: on.iter().map(|on| id(on)).collect(),
            ..Task::new(id(name), RoleName::parse(role).unwrap())
        });
        let graph = Graph::seal(&tasks).graph.unwrap();
        (Session { tasks: tasks.into(), ..Session::new(SessionId::parse("S").unwrap()) }, graph)
    }

    fn chosen(part: &Part) -> Result<Option<String>, String> {
        let (session, graph) = plan();
        let tasks = part.tasks(&session, &graph).map_err(|error| error.to_string())?;
        let ids = |tasks: BTreeSet<TaskIndex>| {
            tasks.into_iter().map(|task| session.tasks[task.get()].id.to_string()).collect::<Vec<_>>().join(" ")
        };
        Ok(tasks.map(ids))
    }

    #[test]
    fn each_way_to_name_a_part_chooses_its_tasks() {
        let some = |text: &str| Some(text.to_owned());
        let only = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        for (part, expected) in [
            (Part::default(), None),
            (Part { only: only(&["C", "A1"]), ..Part::default() }, some("A1 C")),
            (Part { only: only(&["B"]), with_deps: true, ..Part::default() }, some("A1 A2 B")),
            (Part { until: some("B"), ..Part::default() }, some("A1 A2 B")),
            (Part { from: some("A2"), ..Part::default() }, some("A2 B C")),
            (Part { from: some("A2"), until: some("B"), ..Part::default() }, some("A2 B")),
            (Part { role: some("dev"), ..Part::default() }, some("A1 A2 C")),
            (Part { wave: Some(1), ..Part::default() }, some("A1 A2")),
        ] {
            assert_eq!(chosen(&part), Ok(expected), "{part:?}");
        }
    }

    #[test]
    fn part_without_tasks_is_refused() {
        for (part, why) in [
            (Part { only: vec!["B1".to_owned()], ..Part::default() }, "there is no task 'B1'"),
            (Part { role: Some("stranger".to_owned()), ..Part::default() }, "no task has the role 'stranger'"),
            (Part { wave: Some(9), ..Part::default() }, "there is no wave 9: the plan has 3"),
            (Part { wave: Some(1), from: Some("C".to_owned()), ..Part::default() }, "no task is in all that was named"),
        ] {
            assert!(chosen(&part).unwrap_err().contains(why), "{why}");
        }
    }
}
