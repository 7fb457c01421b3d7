//! The shape of `tasks.json`, with every departure of real files that is understood.

use team_executor_core::{Complexity, ExecMode, Position, Priority, RunOn, SessionStatus, Verdict};

use crate::fields::{DELIVERS, DESCRIPTIONS, FILES, ID, IDS, PLANNER_NOTES, ROLES, STATUS_SYNONYMS, TITLES, WAVES};
use crate::limits;
use crate::reading::About;
use crate::shape::{Field, Object, Other, Type};

/// What is said about it.
pub(crate) static ABOUT: About = About {
    subject: "Invalid session: tasks.json",
    schema: "tasks",
    limit: limits::TASKS_BYTES,
    if_missing: "check the path, or let the planner write the file again",
    if_wrong: "or let the planner write the file again",
};

/// Its shape.
pub(crate) static SHAPE: Type = Type::Object(&OBJECT);

pub(crate) static OBJECT: Object = Object {
    about: "The tasks of a session and their state",
    fields: &[
        Field::expected("session_id", &Type::Name, "the folder's name is used", "Unique name of the session"),
        Field::expected("skill", &Type::Text, "it is not needed to run", "The skill that planned it"),
        Field::expected("pipeline", &Type::Text, "it is not needed to run", "The pipeline that was chosen")
            .or(&["pipeline_mode", "mode"]),
        Field::expected("requirement", &Type::Text, "it is empty", "What the user asked for").or(&[
            "topic",
            "task_description",
            "raw_input",
        ]),
        Field::expected("created_at", &Type::Time, "it is unknown", "When the session was planned"),
        Field::optional("supervision", &Type::Bool, "Whether CHECKPOINT tasks are active"),
        Field::optional("completed_waves", &Type::List(&Type::Whole(1)), "Waves that are complete"),
        Field::optional("active_agents", &Type::Map(&Type::Text), "Which agent has which task"),
        Field::optional("gc_rounds", &Type::Whole(0), "Rounds of fixing so far"),
        Field::required(
            "tasks",
            &Type::Or(
                &Type::Map(&Type::Object(&TASK)),
                &[Other {
                    ty: &Type::List(&Type::Object(&TASK)),
                    understood: "`tasks` that is an array was read with the ids inside its elements",
                }],
            ),
            "Every task by its id",
        ),
        Field::optional(
            "status",
            &Type::Word(
                SessionStatus::WORDS,
                &[("in_progress", "active"), ("running", "active"), ("done", "completed")],
            ),
            "Status of the session",
        ),
        Field::optional("updated_at", &Type::Time, "When it last changed"),
    ],
};

pub(crate) static TASK: Object = Object {
    about: "One task and its state",
    fields: &[
        Field::expected("title", &Type::Text, "the id is shown instead", "For people").or(TITLES),
        Field::expected("description", &Type::Text, "the title is used", "What to do").or(DESCRIPTIONS),
        Field::required("role", &Type::Name, "Name of the role that does it").or(ROLES),
        Field::optional("pipeline_phase", &Type::Text, "The part of the pipeline").or(&["phase"]),
        Field::expected("deps", &IDS, "the task waits for nothing", "Ids of the tasks that must be done before").or(&[
            "depends_on",
            "dependencies",
            "blockedBy",
            "blocked_by",
            "dependsOn",
        ]),
        Field::optional("context_from", &IDS, "Ids of the tasks whose findings it is given"),
        Field::expected("wave", &Type::Whole(1), "it was computed from the dependencies", "Which wave it runs in")
            .or(WAVES),
        Field::expected(
            "status",
            &Type::Word(&["pending", "in_progress", "completed", "failed", "skipped"], STATUS_SYNONYMS),
            "`pending` is used",
            "Its status",
        ),
        Field::optional("findings", &Type::Nullable(&Type::Text), "Findings, at most 500 characters"),
        Field::optional("quality_score", &Type::Nullable(&Type::Number(0.0, 100.0)), "From reviewers, 0 to 100"),
        Field::optional("supervision_verdict", &Type::Nullable(&Type::Word(Verdict::WORDS, &[])), "From supervisors"),
        Field::optional(
            "error",
            &Type::Nullable(&Type::Or(
                &Type::Name,
                &[Other { ty: &Type::Text, understood: "an empty `error` was read as none" }],
            )),
            "Why it failed or was skipped",
        ),
        Field::optional("id", &ID, "Its id, where `tasks` is an array").or(&["task_id"]),
        Field::optional("priority", &Type::Word(Priority::WORDS, &[]), "Priority: which ready task starts first"),
        Field::optional("exec_mode", &Type::Word(ExecMode::WORDS, &[]), "One shot or conversation"),
        Field::optional("position", &Type::Word(Position::WORDS, &[]), "Before or after the wave's one-shot tasks"),
        Field::optional("run_on", &Type::Word(RunOn::WORDS, &[]), "Which outcome of its dependencies lets it run"),
        Field::optional("findings_full", &Type::Text, "Full findings, where `findings` was cut"),
        Field::optional("min_complexity", &Type::Word(Complexity::WORDS, &[]), "How complex the work must be for it"),
        Field::optional("delivers", &FILES, DELIVERS),
        Field::optional("planner_notes", &Type::Text, PLANNER_NOTES),
    ],
};
