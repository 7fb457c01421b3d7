//! `tasks.json` as an array: the task list of today's team skills, `{id, subject, description, status, owner, blockedBy}`.
//! The names that tasks have under keys are known in it too.

use team_executor_core::{Complexity, ExecMode, Position, Priority, RunOn, Verdict};

use crate::fields::{DELIVERS, FILES, ID, IDS, PLANNER_NOTES, STATUS_SYNONYMS};
use crate::shape::{Field, Object, Type};

/// The role of a task that names none.
pub(super) const ROLE: &str = "worker";

/// Its shape.
pub(crate) static SHAPE: Type = Type::List(&Type::Object(&TASK));

static TEXT: Type = Type::Nullable(&Type::Text);

static TASK: Object = Object {
    about: "One task and its state",
    fields: &[
        Field::required("id", &ID, "Unique name of the task").or(&["task_id"]),
        Field::optional("subject", &Type::Text, "For people"),
        Field::optional("title", &Type::Text, "For people, where there is no `subject`"),
        Field::optional("description", &Type::Text, "What to do; without it, the subject"),
        Field::optional(
            "status",
            &Type::Word(&["pending", "in_progress", "completed", "failed", "skipped"], STATUS_SYNONYMS),
            "Its status; `pending` without it",
        ),
        Field::optional("owner", &TEXT, "Name of the role that does it; else `worker`"),
        Field::optional("role", &TEXT, "Name of the role that does it, where there is no `owner`"),
        Field::optional("blockedBy", &IDS, "Ids of the tasks that must be done before"),
        Field::optional("deps", &IDS, "The same, where there is no `blockedBy`"),
        Field::optional("wave", &Type::Whole(1), "Which wave it runs in"),
        Field::optional("context_from", &IDS, "Ids of the tasks whose findings it is given"),
        Field::optional("findings", &TEXT, "Findings, at most 500 characters"),
        Field::optional("findings_full", &Type::Text, "Full findings, where `findings` was cut"),
        Field::optional("error", &TEXT, "Why it failed or was skipped"),
        Field::optional("quality_score", &Type::Nullable(&Type::Number(0.0, 100.0)), "From reviewers, 0 to 100"),
        Field::optional("supervision_verdict", &Type::Nullable(&Type::Word(Verdict::WORDS, &[])), "From supervisors"),
        Field::optional("priority", &Type::Word(Priority::WORDS, &[]), "Priority: which ready task starts first"),
        Field::optional("exec_mode", &Type::Word(ExecMode::WORDS, &[]), "One shot or conversation"),
        Field::optional("position", &Type::Word(Position::WORDS, &[]), "Before or after the wave's one-shot tasks"),
        Field::optional("run_on", &Type::Word(RunOn::WORDS, &[]), "Which outcome of its dependencies lets it run"),
        Field::optional("min_complexity", &Type::Word(Complexity::WORDS, &[]), "How complex the work must be for it"),
        Field::optional("delivers", &FILES, DELIVERS),
        Field::optional("planner_notes", &Type::Text, PLANNER_NOTES),
    ],
};
