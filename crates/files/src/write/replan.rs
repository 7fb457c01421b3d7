//! A changed plan in the text that a user wrote: what is planned of tasks, and which of them are there. Every other byte stays.

use std::collections::HashMap;

use team_executor_core::{Graph, Session, Task, TaskIndex};

use super::lifecycle::task as of_lifecycle;
use super::overlay::Fields;
use super::patch::patched;
use super::task_analysis::node;
use super::tasks_json::task as of_tasks_json;
use crate::dialect::Dialect;
use crate::fields::field;
use crate::json::{Kind, Value};
use crate::shape::Object;
use crate::{lifecycle, tasks_csv, tasks_json, tc};

/// What a planner says about a task, by the names of all formats.
pub(crate) const PLANNED: &[&str] =
    &["title", "description", "role", "deps", "dependencies", "depends_on", "priority", "wave"];

/// A plan: tasks, and how they hang together.
type Plan<'a> = (&'a Session, &'a Graph);

/// The text of the file in which the tasks of a session are planned, changed from one plan to another; nothing if the format has
/// no such file, or the file is not what it was. Tasks that only the new plan has are not written.
pub fn replanned(dialect: Dialect, original: &str, before: Plan<'_>, after: Plan<'_>) -> Option<String> {
    let tasks = |(session, graph): Plan<'_>| -> HashMap<String, (Task, u32)> {
        let tasks = (0..).map(TaskIndex).zip(&session.tasks);
        tasks.map(|(index, task)| (task.id.to_string(), (task.clone(), graph.wave(index)))).collect()
    };
    let (was, is) = (tasks(before), tasks(after));
    let list: List<'_> = match dialect {
        Dialect::TasksCsv => return tasks_csv::replan(original, before, after),
        Dialect::TasksJson => List {
            shape: &tasks_json::TASK,
            key: "id",
            find: &tasks_json::container,
            fields: &|(task, wave)| of_tasks_json(task, *wave),
        },
        Dialect::Tls => List {
            shape: &lifecycle::shape::TASK,
            key: "id",
            find: &|root| field(root, &lifecycle::shape::OBJECT, "task_list"),
            fields: &|(task, _)| of_lifecycle(task),
        },
        Dialect::Tc => List {
            shape: &tc::task_analysis::NODE,
            key: "id",
            find: &|root| field(root, &tc::task_analysis::OBJECT, "dependency_graph"),
            fields: &|(task, _)| node(task),
        },
        Dialect::TaskFiles | Dialect::Chain => return None,
    };
    list.patched(original, &was, &is)
}

type Tasks = HashMap<String, (Task, u32)>;

/// How a format holds its tasks.
struct List<'a> {
    shape: &'static Object,
    /// The field by which a task is known, where it has no key.
    key: &'static str,
    find: &'a dyn for<'d, 's> Fn(Value<'d, 's>) -> Option<Value<'d, 's>>,
    fields: &'a dyn for<'t> Fn(&'t (Task, u32)) -> Fields<'t>,
}

impl List<'_> {
    fn patched(&self, original: &str, was: &Tasks, is: &Tasks) -> Option<String> {
        patched(original, |patch, root| {
            let container = (self.find)(root)?;
            let mut removed = Vec::new();
            let keyed = container.entries().map(|entry| (entry.name().into_owned(), entry.value));
            let named = container.items().map(|item| (self.name(item), item));
            for (nth, (name, value)) in keyed.chain(named).enumerate() {
                match (was.get(&name), is.get(&name)) {
                    (Some(was), Some(is)) if value.kind() == Kind::Object => {
                        let (was, is) = ((self.fields)(was).only(PLANNED), (self.fields)(is).only(PLANNED));
                        patch.object(self.shape, value, &was, &is);
                    }
                    (Some(_), None) => removed.push(nth),
                    _ => {}
                }
            }
            patch.splice(container, &removed, &[]);
            Some(())
        })
    }

    fn name(&self, item: Value<'_, '_>) -> String {
        let name = field(item, self.shape, self.key).and_then(Value::as_text);
        name.map(|name| name.into_owned()).unwrap_or_default()
    }
}
