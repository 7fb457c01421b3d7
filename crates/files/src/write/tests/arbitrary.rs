//! Sessions in which everything may be anything that a session can hold.

use proptest::prelude::*;
use team_executor_core::{
    ActiveWorker, Artifact, ArtifactId, ArtifactKind, Checkpoint, CheckpointAction, CompletionAction, Complexity,
    ExecMode, InjectionTrigger, Phase, Position, Priority, Role, RoleKind, RoleName, RunOn, Session, SessionId,
    SessionStatus, Task, TaskId, TaskStatus, Timestamp, Validation, Verdict,
};

use crate::lifecycle::PIPELINES;

/// Names that need quoting or are not ASCII.
pub(super) const ROLES: [&str; 3] = ["planner", "执行者", "code reviewer"];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z\"\\\\\n ]{0,20}"]
}

fn filled() -> impl Strategy<Value = String> {
    text().prop_filter("a visible character", |text| !text.trim().is_empty())
}

fn time() -> impl Strategy<Value = Timestamp> {
    // The years 1970 to 2100.
    (0..4_102_444_800_000_000_i64).prop_map(Timestamp::from_micros)
}

fn one_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

/// The id of the nth task.
pub(super) fn task_id(number: usize) -> TaskId {
    TaskId::parse(&format!("任务 \"{number}\"")).unwrap()
}

/// The name of the nth role.
pub(super) fn role_name(number: usize) -> RoleName {
    RoleName::parse(ROLES[number]).unwrap()
}

prop_compose! {
    /// A task whose state is complete: what must go with its status is there.
    fn task(number: usize)(
        (title, description) in (text(), text()),
        role in 0..ROLES.len(),
        dependencies in prop::collection::btree_set(0..number.max(1), 0..3),
        context in prop::collection::btree_set(0..=number, 0..3),
        (phase, priority, status) in (one_of(Phase::ALL), one_of(Priority::ALL), one_of(TaskStatus::ALL)),
        (mode, position, run_on) in (one_of(ExecMode::ALL), one_of(Position::ALL), one_of(RunOn::ALL)),
        attempts in 0..5_u32,
        (findings, error) in (filled(), filled()),
        (has_findings, has_error) in any::<(bool, bool)>(),
        score in prop::option::of(0.0..=100.0_f64),
        verdict in prop::option::of(one_of(Verdict::ALL)),
        min_complexity in prop::option::of(one_of(Complexity::ALL)),
        delivers in prop::collection::vec("[a-z]{1,8}(/[a-zéß]{1,8})?\\.md", 0..3),
        (created, updated) in (prop::option::of(time()), prop::option::of(time())),
    ) -> Task {
        let mut task = Task::new(task_id(number), role_name(role));
        (task.title, task.description) = (title, description);
        task.dependencies = dependencies.into_iter().filter(|other| *other < number).map(task_id).collect();
        task.context_from = context.into_iter().map(task_id).collect();
        (task.phase, task.priority, task.status) = (Some(phase), priority, status);
        (task.exec_mode, task.position, task.run_on) = (mode, position, run_on);
        task.attempt_count = attempts;
        let is_over = status == TaskStatus::Failed || status == TaskStatus::Skipped;
        task.findings = (has_findings || status == TaskStatus::Completed).then_some(findings);
        task.error = (has_error || is_over).then_some(error);
        (task.quality_score, task.verdict, task.min_complexity) = (score, verdict, min_complexity);
        (task.created_at, task.updated_at, task.delivers) = (created, updated, delivers);
        task.take_planner_notes();
        if task.title.trim().is_empty() {
            task.title = format!("Do {number}");
        }
        task
    }
}

prop_compose! {
    fn artifact(number: usize)(
        (kind, validation) in (one_of(ArtifactKind::ALL), one_of(Validation::ALL)),
        version in prop::option::of("[0-9]{1,3}\\.[0-9]{1,3}"),
        summary in prop::option::of(text()),
        checksum in prop::option::of(filled()),
        size in prop::option::of(0..i64::MAX as u64),
        priority in prop::option::of(one_of(Priority::ALL)),
        created in prop::option::of(time()),
        has_task in any::<bool>(),
    ) -> Artifact {
        let id = |number| ArtifactId::parse(&format!("artifact-{number}")).unwrap();
        Artifact {
            id: id(number),
            kind,
            path: format!("artifacts/{number}.md"),
            creator: role_name(0),
            version,
            validation,
            validation_summary: summary,
            dependencies: (0..number).map(id).collect(),
            task: has_task.then(|| task_id(0)),
            priority,
            created_at: created,
            file_size: size,
            checksum,
        }
    }
}

prop_compose! {
    fn role(number: usize)(
        (kind, trigger) in (one_of(RoleKind::ALL), one_of(InjectionTrigger::ALL)),
        threshold in prop::option::of(one_of(Complexity::ALL)),
        (keywords, capabilities) in (prop::collection::vec(text(), 0..3), prop::collection::vec(text(), 0..3)),
        phases in prop::collection::vec(1..=5_u8, 0..3),
        inner_loop in any::<bool>(),
        responsibility in prop::option::of(text()),
    ) -> Role {
        let mut role = Role::new(role_name(number));
        role.prefix = format!("PRE{number}");
        (role.kind, role.trigger, role.complexity_threshold) = (Some(kind), trigger, threshold);
        (role.keywords, role.capabilities, role.phase_execution) = (keywords, capabilities, phases);
        (role.inner_loop, role.responsibility) = (inner_loop, responsibility);
        role
    }
}

prop_compose! {
    fn checkpoint()(
        (id, context) in (text(), text()),
        timestamp in prop::option::of(time()),
        action in one_of(CheckpointAction::ALL),
    ) -> Checkpoint {
        Checkpoint { id, timestamp, action, context }
    }
}

prop_compose! {
    /// A session in which everything that a dialect may hold is there.
    pub(super) fn session()(
        tasks in (0..6_usize).prop_flat_map(|count| (0..count).map(task).collect::<Vec<_>>()),
        roles in (0..ROLES.len()).map(role).collect::<Vec<_>>(),
        artifacts in (0..3_usize).prop_flat_map(|count| (0..count).map(artifact).collect::<Vec<_>>()),
        checkpoints in prop::collection::vec(checkpoint(), 0..3),
        (name, requirement) in (filled(), text()),
        status in one_of(SessionStatus::ALL),
        completion in one_of(CompletionAction::ALL),
        pipeline in one_of(PIPELINES),
        supervision in any::<bool>(),
        (created, later) in (time(), 0..1_000_000_i64),
        agents in prop::collection::vec(text(), 0..3),
        gc_rounds in 0..9_u32,
    ) -> Session {
        let mut session = Session::new(SessionId::parse("TLS-任务-20260305").unwrap());
        (session.name, session.requirement, session.status) = (name, requirement, status);
        (session.completion, session.pipeline, session.supervision) = (completion, Some(pipeline.to_owned()), supervision);
        session.created_at = Some(created);
        session.updated_at = Some(Timestamp::from_micros(created.as_micros() + later));
        session.injected_roles = (0..agents.len()).map(role_name).collect();
        let worker = |(number, agent)| ActiveWorker { task: Some(task_id(number)), agent };
        session.active_workers = agents.into_iter().enumerate().map(worker).collect();
        session.gc_rounds = gc_rounds;
        (session.tasks, session.roles, session.checkpoints) = (tasks, roles, checkpoints);
        // A session of a role that works in a loop has no one-shot tasks of it; one without tasks made nothing.
        for task in &mut session.tasks {
            if session.roles.iter().any(|role| role.name == task.role && role.inner_loop) {
                task.exec_mode = ExecMode::Interactive;
            }
        }
        session.artifacts = if session.tasks.is_empty() { Vec::new() } else { artifacts };
        if session.status == SessionStatus::Completed && session.tasks.iter().any(|task| !task.status.is_over()) {
            session.status = SessionStatus::Active;
        }
        session
    }
}
