//! The shapes of per-task files and of the files beside them.

use crate::fields::{ID, IDS};
use crate::limits;
use crate::reading::About;
use crate::shape::{Field, Object, Other, Type};

/// What is said about a task's file.
pub static ABOUT: About = About {
    subject: "Invalid session: a task file",
    schema: "task-file",
    limit: limits::DISCOVERY_BYTES,
    if_missing: "let the planner write it again",
    if_wrong: "or let the planner write the file again",
};

/// What is said about the files that say in which order tasks come.
pub(super) static BESIDE: About = About {
    subject: "Invalid session: a file beside the tasks",
    schema: "task-file",
    limit: limits::SESSION_BYTES,
    if_missing: "let the planner write it again",
    if_wrong: "or remove it and give the tasks `depends_on`",
};

/// Its shape.
pub static SHAPE: Type = Type::Object(&TASK);

/// The words of planners that review: a task that waits for its review has been done.
pub(crate) const REVIEWED: &[(&str, &str)] = &[
    ("open", "pending"),
    ("assigned", "pending"),
    ("pending_review", "completed"),
    ("done", "completed"),
    ("closed", "completed"),
];

const STATUSES: &[&str] = &[
    "pending",
    "in_progress",
    "completed",
    "failed",
    "skipped",
    "open",
    "assigned",
    "pending_review",
    "done",
    "closed",
    "container",
];

/// Other words in real files.
pub(super) const SYNONYMS: &[(&str, &str)] = &[
    ("", "pending"),
    ("blocked", "pending"),
    ("todo", "pending"),
    ("planned", "pending"),
    ("ready", "pending"),
    ("active", "in_progress"),
    ("running", "in_progress"),
    ("in-progress", "in_progress"),
    ("complete", "completed"),
    ("cancelled", "skipped"),
    ("error", "failed"),
];

pub(crate) static TASK: Object =
    Object {
        about: "One task and its state, in a file of its own",
        fields: &[
            Field::expected("id", &ID, "the file's name is used", "Unique name of the task").or(&["task_id"]),
            Field::optional("title", &Type::Text, "For people").or(&["name", "subject"]),
            Field::optional("description", &Type::Text, "What to do").or(&["prompt", "goal"]),
            Field::optional("role", &Type::Nullable(&Type::Text), "Who does it; else `meta.agent`, else `worker`")
                .or(&["assigned_to", "assignee", "owner", "agent"]),
            Field::optional("depends_on", &Type::Nullable(&IDS), "Ids of the tasks that must be done before").or(&[
                "deps",
                "dependencies",
                "blockedBy",
                "blocked_by",
                "dependsOn",
            ]),
            Field::optional("wave", &Type::Whole(1), "Which wave it runs in"),
            Field::optional("status", &Type::Word(STATUSES, SYNONYMS), "Its status; `pending` without it"),
            Field::optional("priority", &Type::Anything, "Which goes first: P0, high or critical; P2 or low"),
            Field::optional("findings", &Type::Nullable(&Type::Text), "Findings of the task"),
            Field::optional("error", &Type::Nullable(&Type::Text), "Why it failed or was skipped"),
            Field::optional("updated_at", &Type::Nullable(&Type::Time), "When it last changed"),
            Field::optional("meta", &META, "What planners note about it"),
            Field::optional("context", &CONTEXT, "What the worker needs to know"),
        ],
    };

static META: Type = Type::Or(
    &Type::Object(&META_OBJECT),
    &[Other { ty: &Type::Anything, understood: "a `meta` that is no object was only given to the worker" }],
);
pub(super) static META_OBJECT: Object = Object {
    about: "What planners note about a task",
    fields: &[Field::optional("agent", &Type::Nullable(&Type::Text), "Role that does it")],
};
static CONTEXT: Type = Type::Or(
    &Type::Object(&CONTEXT_OBJECT),
    &[Other { ty: &Type::Anything, understood: "a `context` that is no object was only given to the worker" }],
);
pub(super) static CONTEXT_OBJECT: Object = Object {
    about: "What the worker needs to know",
    fields: &[Field::optional("depends_on", &Type::Nullable(&IDS), "Ids of the tasks that must be done before")],
};
