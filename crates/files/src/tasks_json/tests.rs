//! Departures of real files: those that are understood, and those that are refused.

use team_executor_core::{SessionStatus, Task, TaskStatus};

use crate::code::Code;
use crate::draft::Drafts;
use crate::finding::Severity;
use crate::folder::MemoryFolder;
use crate::load::{Loaded, load};
use crate::reading::Reading;
use crate::span::Span;

const HEAD: &str = r#""session_id": "S-1", "skill": "s", "pipeline": "p", "requirement": "r",
    "created_at": "2026-03-24T12:00:00Z""#;

fn read(text: &str) -> Loaded {
    load(&MemoryFolder::default().with("tasks.json", text), "folder-1", None)
}

/// A session whose only task, or whose tasks, are these.
fn with_tasks(tasks: &str) -> Loaded {
    read(&format!("{{ {HEAD}, \"tasks\": {tasks} }}"))
}

/// A complete task with these fields on top.
fn task(more: &str) -> String {
    let comma = if more.is_empty() { "" } else { ", " };
    format!(r#"{{ "title": "t", "description": "d", "role": "dev"{comma}{more} }}"#)
}

/// The messages about `tasks.json` itself: these sessions have no discoveries, which completed tasks would
/// need.
fn messages(loaded: &Loaded, severity: Severity) -> Vec<&str> {
    let findings = loaded.findings.iter().filter(|f| f.severity == severity);
    findings.map(|f| f.message.as_str()).filter(|message| *message != "a completed task has no discovery").collect()
}

/// The warnings of a session that can be run.
fn warnings(loaded: &Loaded) -> Vec<&str> {
    assert_eq!(messages(loaded, Severity::Error), [""; 0]);
    assert!(loaded.session.is_some());
    messages(loaded, Severity::Warning)
}

fn tasks(loaded: &Loaded) -> &[Task] {
    &loaded.session.as_ref().unwrap().0.tasks
}

/// The codes and messages of the errors of a session that cannot be run.
fn errors(loaded: &Loaded) -> Vec<(Code, &str)> {
    assert!(loaded.session.is_none());
    let errors = loaded.findings.iter().filter(|f| f.severity == Severity::Error);
    errors.map(|f| (f.code, f.message.as_str())).collect()
}

#[test]
fn a_file_as_the_format_says_has_no_findings() {
    let loaded = with_tasks(&format!(
        r#"{{ "A": {}, "B": {} }}"#,
        task(r#""deps": [], "wave": 1, "status": "completed", "findings": "f", "error": null"#),
        task(r#""deps": ["A"], "context_from": ["A"], "wave": 2, "status": "pending", "findings": null"#),
    ));
    assert_eq!(warnings(&loaded), [""; 0]);
    let (session, graph) = loaded.session.as_ref().unwrap();
    assert_eq!((session.id.as_str(), session.name.as_str(), session.requirement.as_str()), ("S-1", "s", "r"));
    assert_eq!(session.pipeline.as_deref(), Some("p"));
    assert_eq!(graph.wave_count(), 2);
    assert_eq!(session.tasks[0].findings.as_deref(), Some("f"));
    assert_eq!(session.tasks[1].context_from.len(), 1);
}

/// R: T-01
#[test]
fn each_structural_rule_has_its_own_error() {
    let complete = |more: &str| task(&format!(r#""status": "pending", {more}"#));
    let free = complete(r#""deps": [], "wave": 1"#);
    let cases = [
        (format!(r#"{{ "A": {free}, "A": {free} }}"#), Code::DuplicateKey, "Invalid session: tasks.json corrupt"),
        (
            format!(r#"{{ "A": {} }}"#, complete(r#""deps": ["X"], "wave": 1"#)),
            Code::UnknownDependency,
            "task 'A' depends on 'X', which does not exist",
        ),
        (
            format!(r#"{{ "A": {} }}"#, complete(r#""deps": [], "wave": 1, "context_from": ["X"]"#)),
            Code::UnknownContext,
            "task 'A' takes context from 'X', which does not exist",
        ),
        (
            format!(r#"{{ "A": {}, "B": {} }}"#, task(r#""deps": ["B"]"#), task(r#""deps": ["A"]"#)),
            Code::Cycle,
            "circular dependency: A -> B -> A",
        ),
        (
            format!(r#"{{ "A": {free}, "B": {} }}"#, complete(r#""deps": ["A"], "wave": 1"#)),
            Code::WaveOrder,
            "task 'B' of wave 1 depends on 'A' of wave 1",
        ),
    ];
    for (tasks, code, message) in cases {
        let loaded = with_tasks(&tasks);
        assert_eq!(errors(&loaded).first(), Some(&(code, message)), "{tasks}");
    }

    let text = format!(r#"{{ {HEAD}, "tasks": {{ "A": {free} }} }}"#);
    let folder = MemoryFolder::default().with("tasks.json", text).with("roles/reviewer/role.md", "");
    let loaded = load(&folder, "folder-1", None);
    assert_eq!(errors(&loaded), [(Code::UnknownRole, "role 'dev' is not in roles/")]);
}

/// R: T-01
#[test]
fn an_array_with_one_id_twice_is_refused() {
    let twice = task(r#""id": "A", "deps": [], "wave": 1, "status": "pending""#);
    let loaded = with_tasks(&format!("[{twice}, {twice}]"));
    assert_eq!(errors(&loaded), [(Code::DuplicateId, "task id 'A' is not unique")]);
}

#[test]
fn a_bare_array_is_the_tasks() {
    let loaded = read(
        r#"[{ "id": "A", "title": "t", "description": "d", "role": "dev", "deps": [], "wave": 1,
        "status": "pending" }]"#,
    );
    assert_eq!(warnings(&loaded), [""; 0]);
    assert_eq!(loaded.session.as_ref().unwrap().0.id.as_str(), "folder-1");
    assert_eq!(tasks(&loaded)[0].id.as_str(), "A");
}

#[test]
fn tasks_may_be_an_array_with_ids_even_numeric_ones() {
    let one = task(r#""id": 1, "deps": [], "wave": 1, "status": "pending""#);
    let two = task(r#""task_id": "2", "deps": [1], "wave": 2, "status": "pending""#);
    let loaded = with_tasks(&format!("[{one}, {two}]"));
    assert_eq!(
        warnings(&loaded),
        [
            "`tasks` that is an array was read with the ids inside its elements",
            "an id that is a number was read as text",
            "`task_id` was read as `id`",
        ]
    );
    assert_eq!(tasks(&loaded)[1].dependencies[0].as_str(), "1");
}

#[test]
fn a_task_of_an_array_needs_an_id() {
    let loaded = with_tasks(&format!("[{}]", task(r#""deps": [], "wave": 1, "status": "pending""#)));
    assert_eq!(
        errors(&loaded),
        [(Code::MissingField, "Invalid session: tasks.json missing required field 'tasks[].id'")]
    );
}

#[test]
fn an_id_inside_a_task_does_not_count_where_there_is_a_key() {
    let loaded = with_tasks(&format!(
        r#"{{ "A": {}, "C": {} }}"#,
        task(r#""id": "A", "deps": [], "wave": 1, "status": "pending""#),
        task(r#""id": "B", "deps": [], "wave": 1, "status": "pending""#),
    ));
    assert_eq!(warnings(&loaded), ["an `id` inside a task differs from the task's key; the key wins"]);
    assert_eq!(tasks(&loaded)[1].id.as_str(), "C");
}

#[test]
fn fields_have_other_names() {
    for alias in ["depends_on", "dependencies", "blockedBy", "blocked_by", "dependsOn"] {
        let loaded = with_tasks(&format!(
            r#"{{ "A": {}, "B": {} }}"#,
            task(r#""deps": [], "wave": 1, "status": "pending""#),
            task(&format!(r#""{alias}": "A", "phase": "impl", "wave": 2, "status": "pending""#)),
        ));
        assert_eq!(
            warnings(&loaded),
            [
                "`phase` was read as `pipeline_phase`",
                format!("`{alias}` was read as `deps`").as_str(),
                "a list of ids that is one string was split at `;` and `,`",
            ]
        );
        assert_eq!(tasks(&loaded)[1].dependencies[0].as_str(), "A");
    }
    for (alias, name) in [
        ("pipeline_mode", "pipeline"),
        ("mode", "pipeline"),
        ("topic", "requirement"),
        ("task_description", "requirement"),
        ("raw_input", "requirement"),
    ] {
        let head = HEAD.replace(&format!("\"{name}\""), &format!("\"{alias}\""));
        let loaded = read(&format!("{{ {head}, \"tasks\": {{}} }}"));
        assert_eq!(warnings(&loaded), [format!("`{alias}` was read as `{name}`")]);
        let session = &loaded.session.as_ref().unwrap().0;
        assert_eq!((session.pipeline.as_deref(), session.requirement.as_str()), (Some("p"), "r"));
    }
}

#[test]
fn of_two_spellings_the_first_counts() {
    let other = task(r#""deps": [], "wave": 1, "status": "pending""#);
    let read = |both: &str| with_tasks(&format!(r#"{{ "A": {other}, "B": {other}, "C": {} }}"#, task(both)));
    let rest = r#""wave": 2, "status": "pending""#;

    let loaded = read(&format!(r#""deps": ["A"], "blockedBy": [], {rest}"#));
    assert_eq!(warnings(&loaded), ["`blockedBy` was ignored, because `deps` is there too"]);
    assert_eq!(tasks(&loaded)[2].dependencies[0].as_str(), "A");

    let loaded = read(&format!(r#""blockedBy": ["A"], "deps": "A", {rest}"#));
    assert_eq!(
        warnings(&loaded),
        ["`deps` was ignored, because another spelling of it comes first", "`blockedBy` was read as `deps`"]
    );
    assert_eq!(tasks(&loaded)[2].dependencies.len(), 1);
}

#[test]
fn an_empty_error_is_none() {
    let loaded =
        with_tasks(&format!(r#"{{ "A": {} }}"#, task(r#""deps": [], "wave": 1, "status": "pending", "error": """#)));
    assert_eq!(warnings(&loaded), ["an empty `error` was read as none"]);
    assert_eq!(tasks(&loaded)[0].error, None);
}

#[test]
fn missing_field_has_a_default() {
    let loaded =
        read(r#"{ "tasks": { "A": { "role": "dev", "title": "Build it" }, "B": { "role": "dev", "hint": "look" } } }"#);
    assert_eq!(
        warnings(&loaded),
        [
            "`session_id` is missing: the folder's name is used",
            "`skill` is missing: it is not needed to run",
            "`pipeline` is missing: it is not needed to run",
            "`requirement` is missing: it is empty",
            "`created_at` is missing: it is unknown",
            "`description` is missing: the title is used",
            "`deps` is missing: the task waits for nothing",
            "`wave` is missing: it was computed from the dependencies",
            "`status` is missing: `pending` is used",
            "`title` is missing: the id is shown instead",
        ]
    );
    let (session, _) = loaded.session.as_ref().unwrap();
    assert_eq!((session.id.as_str(), session.pipeline.as_deref(), session.created_at), ("folder-1", None, None));
    assert_eq!((session.tasks[0].description.as_str(), session.tasks[1].label()), ("Build it", "B"));
}

/// R: M-02
#[test]
fn real_status_words_are_understood() {
    for (word, status) in [
        ("planned", TaskStatus::Pending),
        ("blocked", TaskStatus::Pending),
        ("ready", TaskStatus::Pending),
        ("running", TaskStatus::InProgress),
        ("done", TaskStatus::Completed),
        ("pass", TaskStatus::Completed),
        ("warning", TaskStatus::Completed),
        ("timed_out", TaskStatus::Failed),
        ("cancelled", TaskStatus::Skipped),
    ] {
        let state = format!(r#""deps": [], "wave": 1, "status": "{word}", "findings": "f", "error": "e""#);
        let loaded = with_tasks(&format!(r#"{{ "A": {} }}"#, task(&state)));
        assert_eq!(warnings(&loaded), [format!("`status` `{word}` was read as `{}`", status.word())]);
        assert_eq!(tasks(&loaded)[0].status, status);
    }
    let loaded = with_tasks(&format!(r#"{{ "A": {} }}"#, task(r#""deps": [], "wave": 1, "status": """#)));
    assert_eq!(warnings(&loaded), ["an empty `status` was read as `pending`"]);
    let loaded = with_tasks(&format!(r#"{{ "A": {} }}"#, task(r#""deps": [], "wave": 1, "status": "maybe""#)));
    let message = "Invalid session: tasks.json invalid field 'tasks.A.status'";
    assert_eq!(errors(&loaded), [(Code::InvalidField, message)]);
}

#[test]
fn the_session_may_say_where_it_stands() {
    for (word, status) in [("paused", SessionStatus::Paused), ("done", SessionStatus::Completed)] {
        let loaded = read(&format!("{{ {HEAD}, \"status\": \"{word}\", \"tasks\": {{}} }}"));
        assert_eq!(loaded.session.as_ref().unwrap().0.status, status);
    }
}

/// R: T-01
#[test]
fn missing_field_of_a_status_is_reported() {
    let state = |id: &str, status: &str| {
        format!(r#""{id}": {}"#, task(&format!(r#""deps": [], "wave": 1, "status": "{status}""#)))
    };
    let all =
        [state("A", "completed"), state("B", "failed"), state("C", "skipped"), state("CHECKPOINT-1", "completed")];
    let loaded = with_tasks(&format!("{{ {} }}", all.join(", ")));
    assert_eq!(
        warnings(&loaded),
        [
            "a completed task has no findings",
            "a failed task has no error",
            "a skipped task has no error that says why",
            "a completed CHECKPOINT has no supervision_verdict",
        ]
    );
    let (session, _) = loaded.session.unwrap();
    let said: Vec<_> = session.tasks.iter().filter_map(|task| task.error.as_ref().or(task.findings.as_ref())).collect();
    assert!(said.iter().any(|said| *said == "nothing was reported"), "{said:?}");
    assert_eq!(said.iter().filter(|said| **said == "no reason was given").count(), 2, "{said:?}");
}

#[test]
fn context_that_is_one_string_is_checked_too() {
    let more = r#""deps": [], "context_from": "A; X", "wave": 1, "status": "pending""#;
    let loaded = with_tasks(&format!(r#"{{ "A": {} }}"#, task(more)));
    assert_eq!(errors(&loaded), [(Code::UnknownContext, "task 'A' takes context from 'X', which does not exist")]);
}

#[test]
fn whole_findings_count_where_findings_were_cut() {
    let more = r#""deps": [], "wave": 1, "status": "completed", "findings": "sho", "findings_full": "short""#;
    let loaded = with_tasks(&format!(r#"{{ "A": {} }}"#, task(more)));
    assert_eq!(tasks(&loaded)[0].findings.as_deref(), Some("short"));
}

#[test]
fn beside_another_dialect_it_is_the_state_of_what_that_plans() {
    let planned = team_executor_core::TaskId::parse("A").unwrap();
    let role = team_executor_core::RoleName::parse("dev").unwrap();
    let mut drafts = Drafts::new("task-analysis.json".into());
    drafts.push(Task::new(planned, role), Span::new(0, 1), []);
    let state = task(r#""deps": [], "wave": 1, "status": "completed", "findings": "f", "quality_score": 7"#);
    let folder = MemoryFolder::default()
        .with("tasks.json", format!(r#"{{ {HEAD}, "tasks": {{ "X": {state}, "A": {state}, "Y": {state} }} }}"#));
    let mut reading = Reading::new(&folder, "f");
    let dev = team_executor_core::Role::new(drafts.tasks[0].role.clone());
    super::overlay(&mut reading, &mut drafts, &[dev]);

    let [task, x, y] = &drafts.tasks[..] else { panic!() };
    assert_eq!((x.id.as_str(), y.id.as_str(), x.role.as_str()), ("X", "Y", "dev"));
    assert_eq!((task.status, task.findings.as_deref()), (TaskStatus::Completed, Some("f")));
    assert_eq!((task.title.as_str(), task.quality_score), ("t", Some(7.0)));
    assert_eq!(reading.findings.iter().count(), 0, "{:?}", reading.findings);
    super::overlay(&mut reading, &mut Drafts::new("task-analysis.json".into()), &[]);
    let unknown = reading.findings.iter().next().expect("a finding");
    assert_eq!(unknown.message, "task 'X' of tasks.json has no known role");
    let span = unknown.place.as_ref().unwrap().span.unwrap();
    assert_eq!(span.slice(reading.sources.get("tasks.json").unwrap().text()), "\"X\"");
}

/// R: P-05, M-06
#[test]
fn spellings_of_dependencies_must_agree() {
    let text = |other: &str| {
        format!(
            r#"{{"tasks":[{{"id":"A","title":"a","role":"r"}},{{"id":"B","title":"b","role":"r","deps":["A"],"blockedBy":{other}}}]}}"#
        )
    };
    for (other, is_valid) in [(r#"["A"]"#, true), (r#""A""#, true), ("[]", true), ("null", true), (r#"["B"]"#, false)] {
        let loaded = crate::load(&crate::MemoryFolder::default().with("tasks.json", text(other)), "s", None);
        assert_eq!(loaded.session.is_some(), is_valid, "{other}");
        let message = "`deps` and `blockedBy` of one task name different tasks";
        assert_eq!(loaded.findings.iter().any(|finding| finding.message == message), !is_valid, "{other}");
    }
}
