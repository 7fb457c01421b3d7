//! Sessions of the `tls` dialect: what the format demands, what real files do, and what cannot be understood.

use team_executor_core::Complexity;
use team_executor_core::{
    ArtifactKind, CheckpointAction, ExecMode, InjectionTrigger, Phase, Priority, RoleKind, SessionStatus, TaskStatus,
    Validation,
};

use super::slug;
use crate::code::Code;
use crate::finding::Severity;
use crate::folder::MemoryFolder;
use crate::load::{Loaded, load};
use crate::time;

/// The examples of the specification, made complete.
const EXAMPLE: &str = r#"{
  "session_id": "TLS-auth-impl-20260305", "slug": "auth-impl",
  "created_at": "2026-03-05T09:00:00Z", "updated_at": "2026-03-05T12:00:00Z",
  "status": "active", "pipeline_type": "impl-only",
  "artifact_registry": {
    "plan-v1": { "artifact_id": "plan-v1", "artifact_type": "document", "path": "artifacts/plan.md",
      "creator_role": "planner", "validation_status": "passed" },
    "impl-v1": { "artifact_id": "impl-v1", "artifact_type": "code", "path": "artifacts/auth-service.ts",
      "creator_role": "executor", "version": "1.0", "validation_status": "passed",
      "validation_summary": "95% covered", "dependencies": ["plan-v1"],
      "metadata": { "created_at": "2026-03-05T11:30:00Z", "task_id": "IMPL-001", "priority": "P0",
        "file_size": 15420, "checksum": "sha256:abc123" } }
  },
  "task_list": [
    { "id": "PLAN-001", "role": "planner", "phase": "spec", "status": "completed", "priority": "P0" },
    { "id": "IMPL-001", "role": "executor", "phase": "impl", "dependencies": ["PLAN-001"], "status": "ready",
      "priority": "P2", "title": "Build", "context_from": ["PLAN-001"],
      "metadata": { "created_at": "2026-03-05T10:00:00Z", "updated_at": "2026-03-05T10:01:00Z",
        "attempt_count": 2, "error_message": "timed out" } }
  ],
  "roles": [
    { "name": "executor", "type": "specialist", "task_prefix": "IMPL-*", "injection_trigger": "keywords",
      "injection_criteria": { "keywords": ["auth"], "complexity_threshold": "high" },
      "capabilities": ["code_generation"], "inner_loop": true, "phase_execution": [1, 5] }
  ],
  "injected_roles": ["security-expert"],
  "checkpoint_history": [
    { "checkpoint_id": "C1", "timestamp": "2026-03-05T11:00:00Z", "user_action": "revise", "context": "again" }
  ],
  "session_directory": ".workflow/.team/TLS-auth-impl-20260305/"
}"#;

fn read(text: &str) -> Loaded {
    load(&MemoryFolder::default().with("session.json", text), "folder-1", None)
}

fn messages(loaded: &Loaded) -> Vec<&str> {
    loaded.findings.iter().map(|finding| finding.message.as_str()).collect()
}

/// What is found when one piece of the example is another.
fn found(piece: &str, other: &str) -> Vec<(Code, Severity, String)> {
    assert!(EXAMPLE.contains(piece), "{piece}");
    let loaded = read(&EXAMPLE.replacen(piece, other, 1));
    loaded.findings.iter().map(|finding| (finding.code, finding.severity, finding.message.clone())).collect()
}

fn error(piece: &str, other: &str) -> (Code, String) {
    match &found(piece, other)[..] {
        [(code, Severity::Error, message)] => (*code, message.clone()),
        found => panic!("{other}: {found:?}"),
    }
}

fn warning(piece: &str, other: &str) -> (Code, String) {
    match &found(piece, other)[..] {
        [(code, Severity::Warning, message)] => (*code, message.clone()),
        found => panic!("{other}: {found:?}"),
    }
}

/// R: D-01, M-01
#[test]
fn every_field_of_the_specification_is_read() {
    let loaded = read(EXAMPLE);
    assert_eq!(messages(&loaded), [""; 0]);
    let (session, graph) = loaded.session.unwrap();
    let at = |text| time::parse(text).map(|read| read.time);
    assert_eq!((session.id.as_str(), session.name.as_str()), ("TLS-auth-impl-20260305", "auth-impl"));
    assert_eq!((session.status, session.pipeline.as_deref()), (SessionStatus::Active, Some("impl-only")));
    assert_eq!((session.created_at, session.updated_at), (at("2026-03-05T09:00:00Z"), at("2026-03-05T12:00:00Z")));
    assert_eq!(session.injected_roles[0].as_str(), "security-expert");
    assert_eq!(session.checkpoints[0].action, CheckpointAction::Revise);
    assert_eq!((session.checkpoints[0].id.as_str(), session.checkpoints[0].context.as_str()), ("C1", "again"));

    let [plan, build] = &session.tasks[..] else { panic!() };
    assert_eq!((plan.status, plan.phase, plan.priority), (TaskStatus::Completed, Some(Phase::Spec), Priority::P0));
    assert_eq!((build.status, build.phase, build.priority), (TaskStatus::Ready, Some(Phase::Impl), Priority::P2));
    assert_eq!((build.attempt_count, build.error.as_deref()), (2, Some("timed out")));
    assert_eq!((build.created_at, build.updated_at), (at("2026-03-05T10:00:00Z"), at("2026-03-05T10:01:00Z")));
    assert_eq!((build.title.as_str(), build.context_from[0].as_str()), ("Build", "PLAN-001"));
    assert_eq!((plan.exec_mode, build.exec_mode), (ExecMode::CsvWave, ExecMode::Interactive));
    assert_eq!(graph.wave_count(), 2);

    let [executor, planner] = &session.roles[..] else { panic!() };
    assert_eq!((executor.kind, executor.prefix.as_str()), (Some(RoleKind::Specialist), "IMPL"));
    assert_eq!((executor.trigger, executor.keywords.len()), (InjectionTrigger::Keywords, 1));
    assert_eq!(executor.complexity_threshold, Some(Complexity::High));
    assert_eq!(
        (&executor.capabilities[..], &executor.phase_execution[..]),
        (&["code_generation".to_owned()][..], &[1, 5][..])
    );
    assert_eq!((planner.name.as_str(), planner.prefix.as_str(), planner.inner_loop), ("planner", "PLAN", false));

    let [_, artifact] = &session.artifacts[..] else { panic!() };
    assert_eq!((artifact.id.as_str(), artifact.kind), ("impl-v1", ArtifactKind::Code));
    assert_eq!((artifact.path.as_str(), artifact.creator.as_str()), ("artifacts/auth-service.ts", "executor"));
    assert_eq!((artifact.version.as_deref(), artifact.validation), (Some("1.0"), Validation::Passed));
    assert_eq!(artifact.dependencies[0].as_str(), "plan-v1");
    assert_eq!(artifact.task.as_ref().map(|task| task.as_str()), Some("IMPL-001"));
    assert_eq!((artifact.priority, artifact.file_size), (Some(Priority::P0), Some(15420)));
    assert_eq!(artifact.checksum.as_deref(), Some("sha256:abc123"));
    assert_eq!(artifact.created_at, at("2026-03-05T11:30:00Z"));
}

/// R: D-01
#[test]
fn every_enum_of_the_specification_is_checked() {
    for (piece, other, field) in [
        (r#""status": "active""#, r#""status": "open""#, "status"),
        ("impl-only", "quick", "pipeline_type"),
        (r#""type": "specialist""#, r#""type": "boss""#, "roles[0].type"),
        (r#""keywords","#, r#""sometimes","#, "roles[0].injection_trigger"),
        (r#""high""#, r#""huge""#, "roles[0].injection_criteria.complexity_threshold"),
        (r#""artifact_type": "code""#, r#""artifact_type": "song""#, "artifact_registry.impl-v1.artifact_type"),
        (
            r#""validation_status": "passed" }"#,
            r#""validation_status": "fine" }"#,
            "artifact_registry.plan-v1.validation_status",
        ),
        (r#""phase": "spec""#, r#""phase": "later""#, "task_list[0].phase"),
        (r#""status": "ready""#, r#""status": "maybe""#, "task_list[1].status"),
        (r#""priority": "P2""#, r#""priority": "P3""#, "task_list[1].priority"),
        ("revise", "ignore", "checkpoint_history[0].user_action"),
        ("[1, 5]", "[1, 6]", "roles[].phase_execution"),
        (r#""attempt_count": 2"#, r#""attempt_count": -1"#, "task_list[1].metadata.attempt_count"),
    ] {
        // Without its code an artifact is not read, and what depends on it is wrong as well: the first error is meant.
        let found = found(piece, other);
        let message = format!("Invalid session: session.json invalid field '{field}'");
        assert_eq!(found.first(), Some(&(Code::InvalidField, Severity::Error, message)), "{other}");
    }
    let (code, _) = error("impl-only", "quick");
    assert_eq!(code, Code::InvalidField);
    let loaded = read(&EXAMPLE.replace("impl-only", "quick"));
    assert_eq!(
        loaded.findings.iter().next().unwrap().help[0],
        "write one of spec-only, impl-only, full-lifecycle, enhanced-parallel"
    );
}

/// R: D-01
#[test]
fn missing_required_field_is_an_error_others_have_defaults() {
    let missing = |field| format!("Invalid session: session.json missing required field '{field}'");
    for (piece, other, field) in [
        (r#""session_id""#, r#""x""#, "session_id"),
        (r#""status": "active""#, r#""x": 1"#, "status"),
        (r#""id": "PLAN-001", "#, "", "task_list[0].id"),
        (r#""role": "planner", "#, "", "task_list[0].role"),
        (r#""path": "artifacts/plan.md""#, r#""x": 1"#, "artifact_registry.plan-v1.path"),
    ] {
        let found = found(piece, other);
        assert_eq!(found.first(), Some(&(Code::MissingField, Severity::Error, missing(field))), "{other}");
    }
    let bare = read(
        r#"{ "session_id": "TLS-a-b-20260305", "status": "created",
        "task_list": [{ "id": "x1", "role": "dev" }] }"#,
    );
    assert_eq!(
        messages(&bare),
        [
            "`slug` is missing: it is taken from `session_id`",
            "`pipeline_type` is missing: `full-lifecycle` is used",
            "`phase` is missing: it has none",
            "`status` is missing: `pending` is used",
            "`priority` is missing: `P1` is used",
        ]
    );
    let (session, _) = bare.session.unwrap();
    assert_eq!((session.name.as_str(), session.pipeline.as_deref()), ("a-b", Some("full-lifecycle")));
    let task = &session.tasks[0];
    assert_eq!((task.phase, task.status, task.priority), (None, TaskStatus::Pending, Priority::P1));
}

#[test]
fn a_slug_is_an_id_without_its_ends() {
    for (id, expected) in [
        ("TLS-auth-20260305", "auth"),
        ("auth", "auth"),
        ("TLS-x-1", "x-1"),
        ("TLS-20260305", "20260305"),
        ("a-20260305", "a"),
    ] {
        assert_eq!(slug(id), expected);
    }
}

#[test]
fn real_files_do_these_things() {
    let deps = |name: &str| warning(r#""dependencies": ["PLAN-001"]"#, &format!(r#""{name}": ["PLAN-001"]"#));
    for name in ["deps", "depends_on", "blockedBy"] {
        assert_eq!(deps(name), (Code::FieldAlias, format!("`{name}` was read as `dependencies`")));
    }
    let done = warning(r#""status": "completed""#, r#""status": "done""#);
    assert_eq!(done.1, "`status` `done` was read as `completed`");
    let version = warning(r#""1.0""#, r#""v1""#);
    assert_eq!(version, (Code::OtherForm, "a version not written as `1.0` was kept unchanged".to_owned()));
    let role = warning("\"roles\": [", "\"roles\": [ \"planner\",");
    assert_eq!(role.1, "a role that is a string was read as its name");

    let keyed = read(
        r#"{ "session_id": "S", "slug": "s", "status": "active", "pipeline_type": "spec-only",
        "artifact_registry": [{ "id": "a", "artifact_type": "code", "path": "a", "creator_role": "dev",
            "validation_status": "pending" }],
        "task_list": { "A": { "role": "dev", "phase": "spec", "status": "pending", "priority": "P0" } } }"#,
    );
    assert_eq!(
        messages(&keyed),
        [
            "`artifact_registry` that is an array was read with the ids inside its elements",
            "`id` was read as `artifact_id`",
            "`task_list` that is an object was read with its keys as ids",
        ]
    );
    let (session, _) = keyed.session.unwrap();
    assert_eq!((session.tasks[0].id.as_str(), session.artifacts[0].id.as_str()), ("A", "a"));
}

/// R: D-01
#[test]
fn artifacts_keep_the_invariants() {
    let invalid = |message: &str| (Code::InvalidArtifact, message.to_owned());
    assert_eq!(
        error("artifacts/plan.md", "artifacts/auth-service.ts"),
        invalid("artifacts 'plan-v1' and 'impl-v1' have one path")
    );
    assert_eq!(
        error(r#"["plan-v1"]"#, r#"["plan-v2"]"#),
        invalid("artifact 'impl-v1' builds on 'plan-v2', which does not exist")
    );
    assert_eq!(
        error(r#""task_id": "IMPL-001""#, r#""task_id": "IMPL-009""#),
        invalid("artifact 'impl-v1' was made by task 'IMPL-009', which does not exist")
    );
    assert_eq!(
        error(r#"["plan-v1"]"#, r#"["plan-v1", "a\nb"]"#),
        (Code::InvalidId, "'a\nb' cannot be an artifact id".to_owned())
    );
    assert_eq!(
        error(r#""artifact_id": "impl-v1""#, r#""artifact_id": "impl-v2""#),
        invalid("artifact 'impl-v1' is called 'impl-v2' in its own manifest")
    );
    let one = r#"{ "artifact_id": "a", "artifact_type": "code", "path": "PATH", "creator_role": "dev",
        "validation_status": "pending" }"#;
    let twice = format!("[{}, {}]", one.replace("PATH", "x"), one.replace("PATH", "y"));
    let loaded = read(&format!(
        r#"{{ "session_id": "S", "slug": "s", "status": "active", "pipeline_type": "spec-only",
            "artifact_registry": {twice}, "task_list": [] }}"#
    ));
    let error = loaded.findings.iter().find(|finding| finding.severity == Severity::Error).unwrap();
    assert_eq!((error.code, error.message.as_str()), (Code::InvalidArtifact, "artifact id 'a' is not unique"));
}

/// R: S-09
#[test]
fn an_artifact_stays_in_the_session_folder() {
    for path in ["/etc/passwd", "../x", "a/../../b", "~/x", "C:/x"] {
        let message = "the path of artifact 'plan-v1' leaves the session folder";
        assert_eq!(error("artifacts/plan.md", path), (Code::LeavesSession, message.to_owned()), "{path}");
    }
}

#[test]
fn a_session_should_agree_with_itself() {
    assert_eq!(
        warning("2026-03-05T12:00:00Z", "2026-03-05T08:00:00Z"),
        (Code::Disagreement, "`updated_at` is before `created_at`".to_owned())
    );
    assert_eq!(
        warning(r#""status": "active""#, r#""status": "completed""#),
        (Code::IncompleteState, "the session is completed but has unfinished tasks".to_owned())
    );
    assert_eq!(
        error(r#""context_from": ["PLAN-001"]"#, r#""context_from": ["PLAN-009"]"#),
        (Code::UnknownContext, "task 'IMPL-001' takes context from 'PLAN-009', which does not exist".to_owned())
    );
}

#[test]
fn unregistered_artifact_of_a_task_is_reported() {
    let named = |artifact: &str| found(r#""attempt_count": 2"#, artifact);
    for known in
        [r#""artifacts": ["impl-v1", "artifacts/plan.md"]"#, r#""artifact_id": "plan-v1""#, r#""artifacts": []"#]
    {
        assert_eq!(named(known), [], "{known}");
    }
    for unknown in [r#""artifacts": ["impl-v1", "impl-v2"]"#, r#""artifact_id": "x""#, r#""artifact": "y""#] {
        let message = "a task names an artifact that the registry lacks".to_owned();
        assert_eq!(named(unknown), [(Code::InvalidArtifact, Severity::Warning, message)], "{unknown}");
    }
}

/// R: D-01
#[test]
fn ids_of_any_pattern_are_tasks() {
    assert_eq!(found(r#""id": "IMPL-001""#, r#""id": "DEV-FE-01""#)[0].0, Code::InvalidArtifact);
    let renamed = read(&EXAMPLE.replace("IMPL-001", "DEV-FE-01"));
    assert_eq!(messages(&renamed), [""; 0]);
}

#[test]
fn the_list_of_roles_counts_before_their_instructions() {
    let spec = "---\nrole: x\ninner_loop: true\n---\n";
    let folder = |text: &str| {
        let folder = MemoryFolder::default().with("team-session.json", text);
        folder.with("role-specs/executor.md", spec).with("role-specs/planner.md", spec)
    };
    let inner_loops = |text: &str| {
        let (session, _) = load(&folder(text), "f", None).session.unwrap();
        assert_eq!(session.role("executor").unwrap().spec.as_deref(), Some("role-specs/executor.md"));
        let modes: Vec<_> = session.tasks.iter().map(|task| task.exec_mode).collect();
        (session.role("executor").unwrap().inner_loop, session.role("planner").unwrap().inner_loop, modes)
    };
    let both = vec![ExecMode::Interactive; 2];
    assert_eq!(inner_loops(EXAMPLE), (true, true, both.clone()));
    let settled = EXAMPLE.replace(r#""inner_loop": true"#, r#""inner_loop": false"#);
    assert_eq!(inner_loops(&settled), (false, true, vec![ExecMode::Interactive, ExecMode::CsvWave]));
    let unsettled = EXAMPLE.replace(r#""inner_loop": true, "#, "");
    assert_eq!(inner_loops(&unsettled), (true, true, both));
}

#[test]
fn sentences_name_the_file_that_was_read() {
    let loaded = load(&MemoryFolder::default().with("team-session.json", r#"{ "task_list": 1 }"#), "f", None);
    assert!(messages(&loaded).contains(&"Invalid session: team-session.json invalid field 'task_list'"));
    let broken = load(&MemoryFolder::default().with("session.json", "{"), "f", Some(crate::Dialect::Tls));
    assert_eq!(messages(&broken), ["Invalid session: session.json corrupt"]);
    let missing = load(&MemoryFolder::default(), "f", Some(crate::Dialect::Tls));
    assert_eq!(messages(&missing), ["Invalid session: session.json missing"]);
}
