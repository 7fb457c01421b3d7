//! A task says what to do, in whatever field; one without a word cannot be given to a worker.

use std::collections::HashSet;

use team_executor_core::{Role, RoleName, Task, TaskIndex};

use crate::code::Code;
use crate::draft::Drafts;
use crate::finding::{Finding, Findings};
use crate::tasks_csv::ROW;

/// Takes `skill` and `args` for what a task without a description asks for.
pub(crate) fn in_words(task: &mut Task) {
    if !task.description.is_empty() {
        return;
    }
    let of = |name: &str| task.details.iter().find(|detail| detail.name.eq_ignore_ascii_case(name));
    let Some(skill) = of("skill") else { return };
    let args = of("args").map(|args| format!(" {}", args.text.trim())).unwrap_or_default();
    task.description = format!("{}{args}", skill.text.trim());
}

/// Says which tasks that are still to be done say nothing, where their role has no instructions either.
pub(crate) fn check(drafts: &Drafts, roles: &[Role], help: &str, findings: &mut Findings) {
    let instructed: HashSet<&RoleName> =
        roles.iter().filter(|role| role.spec.is_some()).map(|role| &role.name).collect();
    for (index, task) in (0..).map(TaskIndex).zip(&drafts.tasks) {
        if !task.status.is_over() && !has_words(task) && !instructed.contains(&task.role) {
            let message = format!("task '{}' does not say what to do", task.id);
            let finding = Finding::error(Code::NothingToDo, message);
            let finding =
                finding.at(drafts.file_of(index), drafts.place(index), "no title, no description, no other text");
            findings.push(finding.help(help));
        }
    }
}

fn has_words(task: &Task) -> bool {
    let said = |text: &str| !text.trim().is_empty();
    // Neither when and by whom something is to be done says what, nor does a number.
    let asks = |name: &str, text: &str| {
        let known = ROW.field(&name.to_lowercase()).map(|(_, field, _)| field.name);
        known.is_none_or(|known| matches!(known, "title" | "description"))
            && !name.ends_with("_at")
            && text.chars().any(char::is_alphabetic)
    };
    said(&task.title)
        || said(&task.description)
        || task.brief.is_some()
        || task.planner_notes.as_deref().is_some_and(said)
        || task.details.iter().any(|detail| asks(&detail.name, &detail.text))
}
