//! The shape of a lifecycle session, with every departure of real files that is understood.

use team_executor_core::{
    CheckpointAction, Complexity, ExecMode, InjectionTrigger, Phase, Position, Priority, RoleKind, RunOn,
    SessionStatus, TaskStatus, Verdict,
};

use crate::fields::{
    DELIVERS, DESCRIPTIONS, FILES, ID, IDS, INNER_LOOP, PLANNER_NOTES, ROLES as ROLE_NAMES, STATUS_SYNONYMS, TITLES,
};
use crate::limits;
use crate::manifest;
use crate::reading::About;
use crate::shape::{Field, Object, Other, Type};

/// What is said about `team-session.json`.
pub static TEAM_SESSION: About = about("Invalid session: team-session.json");
/// What is said about `session.json`.
pub static SESSION: About = about("Invalid session: session.json");

/// The pipelines that the format knows.
pub const PIPELINES: &[&str] = &["spec-only", "impl-only", "full-lifecycle", "enhanced-parallel"];
/// The pipeline of a session that names none.
pub const DEFAULT_PIPELINE: &str = "full-lifecycle";

/// Its shape.
pub static SHAPE: Type = Type::Object(&OBJECT);

pub(crate) static OBJECT: Object = Object {
    about: "A lifecycle session: its tasks, its artifacts, and where it stands",
    fields: &[
        Field::required("session_id", &Type::Name, "Unique name of the session"),
        Field::expected("slug", &Type::Text, "it is taken from `session_id`", "Short name for people"),
        Field::optional("created_at", &Type::Time, "When the session was planned"),
        Field::optional("updated_at", &Type::Time, "When it last changed"),
        Field::required("status", &Type::Word(SessionStatus::WORDS, &[]), "Status of the session"),
        Field::expected(
            "pipeline_type",
            &Type::Word(PIPELINES, &[]),
            "`full-lifecycle` is used",
            "The pipeline that was chosen",
        ),
        Field::optional(
            "artifact_registry",
            &Type::Or(
                &Type::Map(&manifest::SHAPE),
                &[Other {
                    ty: &Type::List(&manifest::SHAPE),
                    understood: "`artifact_registry` that is an array was read with the ids inside its elements",
                }],
            ),
            "Every artifact by its id",
        ),
        Field::required(
            "task_list",
            &Type::Or(
                &Type::List(&Type::Object(&TASK)),
                &[Other {
                    ty: &Type::Map(&Type::Object(&KEYED_TASK)),
                    understood: "`task_list` that is an object was read with its keys as ids",
                }],
            ),
            "Every task, in order",
        ),
        Field::optional("injected_roles", &Type::List(&Type::Name), "Roles that joined by rule"),
        Field::optional("checkpoint_history", &Type::List(&Type::Object(&CHECKPOINT)), "What people decided"),
        Field::optional("session_directory", &Type::Text, "Path of the session on disk"),
        Field::optional("roles", &Type::List(&ROLES), "Roles, where the tasks do not name them"),
        Field::optional("requirement", &Type::Text, "What the user asked for").or(&["task_description"]),
    ],
};

pub(crate) static TASK: Object =
    Object { about: "One task and its state", fields: &task(Field::required("id", &ID, "Unique name of the task")) };

static KEYED_TASK: Object =
    Object { about: "One task and its state", fields: &task(Field::optional("id", &ID, "Its key again")) };

static METADATA_TYPE: Type = Type::Object(&METADATA);

pub(crate) static METADATA: Object = Object {
    about: "What happened to the task",
    fields: &[
        Field::optional("created_at", &Type::Time, "When it was planned"),
        Field::optional("updated_at", &Type::Time, "When it last changed"),
        Field::optional("attempt_count", &Type::Whole(0), "Attempts after the first"),
        Field::optional("error_message", &Type::Text, "Why it failed or was skipped"),
    ],
};

pub(crate) static CHECKPOINT: Object = Object {
    about: "One decision of a person",
    fields: &[
        Field::optional("checkpoint_id", &Type::Text, "Which checkpoint it was"),
        Field::optional("timestamp", &Type::Time, "When"),
        Field::expected(
            "user_action",
            &Type::Word(CheckpointAction::WORDS, &[]),
            "the checkpoint was ignored",
            "What was decided",
        ),
        Field::optional("context", &Type::Text, "In the person's words"),
    ],
};

static ROLES: Type = Type::Or(
    &Type::Object(&ROLE),
    &[Other { ty: &Type::Name, understood: "a role that is a string was read as its name" }],
);

pub(crate) static ROLE: Object = Object {
    about: "One role of the team",
    fields: &[
        Field::required("name", &Type::Name, "Name of the role"),
        Field::expected("type", &Type::Word(RoleKind::WORDS, &[]), "`pipeline` is used", "What sort of role it is"),
        Field::expected("task_prefix", &Type::Text, "it is taken from its tasks", "Prefix of the ids of its tasks"),
        Field::expected(
            "injection_trigger",
            &Type::Word(InjectionTrigger::WORDS, &[]),
            "`always` is used",
            "When it joins",
        ),
        Field::optional("injection_criteria", &Type::Object(&CRITERIA), "What makes it join"),
        Field::optional("capabilities", &Type::List(&Type::Text), "What it can do"),
        Field::optional("inner_loop", &INNER_LOOP, "Whether one worker does all its tasks, one after the other"),
        Field::optional("phase_execution", &Type::List(&Type::Whole(1)), "The phases that it goes through, 1 to 5"),
    ],
};

pub(crate) static CRITERIA: Object = Object {
    about: "What makes a role join",
    fields: &[
        Field::optional("keywords", &Type::List(&Type::Text), "Words of the requirement"),
        Field::optional("complexity_threshold", &Type::Word(Complexity::WORDS, &[]), "How complex the work must be"),
    ],
};

const fn about(subject: &'static str) -> About {
    About {
        subject,
        schema: "lifecycle",
        limit: limits::TASKS_BYTES,
        if_missing: "check the path, or let the planner write the file again",
        if_wrong: "or let the planner write the file again",
    }
}

const fn task(id: Field) -> [Field; 19] {
    [
        id,
        Field::required("role", &Type::Name, "Name of the role that does it").or(ROLE_NAMES),
        Field::expected("phase", &Type::Word(Phase::WORDS, &[]), "it has none", "The part of the lifecycle"),
        Field::optional("dependencies", &IDS, "Ids of the tasks that must be done before").or(&[
            "deps",
            "depends_on",
            "blockedBy",
            "blocked_by",
            "dependsOn",
        ]),
        Field::expected("status", &Type::Word(TaskStatus::WORDS, STATUS_SYNONYMS), "`pending` is used", "Its status"),
        Field::expected(
            "priority",
            &Type::Word(Priority::WORDS, &[]),
            "`P1` is used",
            "Priority: which ready task starts first",
        ),
        Field::optional("metadata", &METADATA_TYPE, "What happened to it"),
        Field::optional("title", &Type::Text, "For people").or(TITLES),
        Field::optional("description", &Type::Text, "What to do").or(DESCRIPTIONS),
        Field::optional("context_from", &IDS, "Ids of the tasks whose findings it is given"),
        Field::optional("findings", &Type::Nullable(&Type::Text), "Findings of the task"),
        Field::optional("exec_mode", &Type::Word(ExecMode::WORDS, &[]), "One shot or conversation"),
        Field::optional("position", &Type::Word(Position::WORDS, &[]), "Before or after the wave's one-shot tasks"),
        Field::optional("run_on", &Type::Word(RunOn::WORDS, &[]), "Which outcome of its dependencies lets it run"),
        Field::optional("quality_score", &Type::Nullable(&Type::Number(0.0, 100.0)), "From reviewers, 0 to 100"),
        Field::optional("supervision_verdict", &Type::Nullable(&Type::Word(Verdict::WORDS, &[])), "From supervisors"),
        Field::optional("min_complexity", &Type::Word(Complexity::WORDS, &[]), "How complex the work must be for it"),
        Field::optional("delivers", &FILES, DELIVERS),
        Field::optional("planner_notes", &Type::Text, PLANNER_NOTES),
    ]
}
