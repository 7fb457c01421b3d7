//! The rules of `tasks.json` that a shape cannot express: references, waves, and what must go with a status.

use std::collections::HashMap;

use team_executor_core::{Judge, Task, TaskIndex, TaskStatus};

use super::shape::TASK;
use super::{container, entries};
use crate::code::Code;
use crate::context;
use crate::draft::Drafts;
use crate::fields::{self, Named, field};
use crate::finding::{Finding, Findings};
use crate::json::{Kind, Value};

/// Texts for a completed task without findings, and for a failed or skipped task without a reason.
pub(crate) const NO_FINDINGS: &str = "nothing was reported";
pub(crate) const NO_REASON: &str = "no reason was given";

/// Says everything about the tasks of a file that breaks a rule.
pub(super) fn check(root: Value<'_, '_>, drafts: &Drafts, findings: &mut Findings) {
    let has_keys = container(root).is_some_and(|tasks| tasks.kind() == Kind::Object);
    let by_id: HashMap<&str, (TaskIndex, &Task)> =
        (0..).map(TaskIndex).zip(&drafts.tasks).map(|(index, task)| (task.id.as_str(), (index, task))).collect();
    for entry in entries(root) {
        let Some((index, task)) = by_id.get(&*entry.name).copied() else { continue };
        if has_keys {
            own_id(&entry, drafts, findings);
        }
        if let Some(place) = field(entry.value, &TASK, "context_from") {
            context::check(task, place, |id| by_id.contains_key(id), &drafts.file, findings);
        }
        wave(index, task, &by_id, drafts, findings);
        for what in incomplete(task) {
            findings.push(Finding::warning(Code::IncompleteState, what).at(&drafts.file, entry.span, ""));
        }
    }
}

/// What must go with a status and does not.
pub(crate) fn incomplete(task: &Task) -> impl Iterator<Item = &'static str> {
    let status = task.status;
    let checkpoint =
        task.judge() == Some(Judge::Supervisor) && status == TaskStatus::Completed && task.verdict.is_none();
    [
        (status == TaskStatus::Completed && task.findings.is_none(), "a completed task has no findings"),
        (status == TaskStatus::Failed && task.error.is_none(), "a failed task has no error"),
        (status == TaskStatus::Skipped && task.error.is_none(), "a skipped task has no error that says why"),
        (checkpoint, "a completed CHECKPOINT has no supervision_verdict"),
    ]
    .into_iter()
    .filter_map(|(is, what)| is.then_some(what))
}

/// Adds the findings or the error that a status requires, so that the written file is complete. Never invents
/// a verdict.
pub(crate) fn complete(task: &mut Task) {
    match task.status {
        TaskStatus::Completed if task.findings.is_none() => task.findings = Some(NO_FINDINGS.to_owned()),
        TaskStatus::Failed | TaskStatus::Skipped if task.error.is_none() => {
            task.error = Some(NO_REASON.to_owned());
        }
        _ => {}
    }
}

fn own_id(entry: &Named<'_, '_>, drafts: &Drafts, findings: &mut Findings) {
    let Some(id) = field(entry.value, &TASK, "id") else { return };
    if fields::text_of(id).is_some_and(|own| own != entry.name) {
        let message = "an `id` inside a task differs from the task's key; the key wins";
        findings.push(Finding::warning(Code::Disagreement, message).at(&drafts.file, id.span(), ""));
    }
}

fn wave(
    index: TaskIndex,
    task: &Task,
    by_id: &HashMap<&str, (TaskIndex, &Task)>,
    drafts: &Drafts,
    findings: &mut Findings,
) {
    let Some(wave) = task.declared_wave else { return };
    for (nth, dependency) in (0..).zip(&task.dependencies) {
        let before = by_id.get(dependency.as_str()).and_then(|(_, task)| task.declared_wave);
        let Some(before) = before.filter(|before| *before >= wave && *dependency != task.id) else { continue };
        let id = &task.id;
        let message = format!("task '{id}' of wave {wave} depends on '{dependency}' of wave {before}");
        let place = drafts.dependency_place(index, nth);
        let finding = Finding::error(Code::WaveOrder, message);
        let finding = finding.at(&drafts.file, place, format!("wave {before} is not before wave {wave}"));
        let help = format!("give '{id}' a wave of at least {}", before.saturating_add(1));
        findings.push(finding.help(help).help("or remove `wave`: it is computed from the dependencies"));
    }
}
