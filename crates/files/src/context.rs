//! The rule of `context_from`: a task takes context only from tasks that exist.

use std::sync::Arc;

use team_executor_core::Task;

use crate::code::Code;
use crate::fields;
use crate::finding::{Finding, Findings};
use crate::json::Value;

/// Says which entries of a task's `context_from`, which stands at `place`, name no task.
pub(crate) fn check(
    task: &Task,
    place: Value<'_, '_>,
    exists: impl Fn(&str) -> bool,
    file: &Arc<str>,
    findings: &mut Findings,
) {
    for unknown in task.context_from.iter().filter(|id| !exists(id.as_str())) {
        let item = place.items().find(|item| fields::text_of(*item).is_some_and(|id| id.trim() == unknown.as_str()));
        let message = format!("task '{}' takes context from '{unknown}', which does not exist", task.id);
        let finding = Finding::error(Code::UnknownContext, message);
        let finding = finding.at(file, item.unwrap_or(place).span(), "no task has this id");
        findings.push(finding.help(format!("remove '{unknown}' from `context_from`, or add the task")));
    }
}
