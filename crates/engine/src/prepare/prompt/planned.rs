//! What a prompt says about the task itself: everything that its planner wrote, under the planner's own names.

use std::fmt::Write as _;

use team_executor_core::{Task, TaskId};

use crate::render::run_report::one_line;

/// The section of a prompt.
pub(super) fn section(text: &mut String, task: &Task) {
    text.push_str("\n## Task\n");
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            writeln!(text, "{}: {value}", one_line(name)).ok();
        }
    };
    field("id", task.id.as_str());
    field("title", &task.title);
    field("description", &task.description);
    if let Some(brief) = &task.brief {
        field("goal", brief.goal.as_deref().unwrap_or_default());
        for (name, lines) in [
            ("steps", &brief.steps),
            ("key_files", &brief.key_files),
            ("upstream_artifacts", &brief.upstream_artifacts),
            ("success_criteria", &brief.success_criteria),
            ("constraints", &brief.constraints),
        ] {
            if !lines.is_empty() {
                field(name, &format!("\n  - {}", lines.join("\n  - ")));
            }
        }
    }
    for detail in &task.details {
        field(&detail.name, &detail.text);
    }
    field("planner_notes", task.planner_notes.as_deref().unwrap_or_default());
    let ids = |ids: &[TaskId]| ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(";");
    field("deliver in the folder for artifacts", &task.delivers.join(", "));
    field("deps", &ids(&task.dependencies));
    field("context_from", &ids(&task.context_from));
    field("wave", &task.declared_wave.map(|wave| wave.to_string()).unwrap_or_default());
    field("exec_mode", task.exec_mode.word());
    field("agent", task.agent.as_deref().unwrap_or_default());
}
