//! Every pipeline in every dialect is a session that its reader understands without a word.

use std::collections::BTreeSet;

use team_executor_core::{Complexity, Graph, RoleName, Session, SessionId, Timestamp};

use super::{ALL, Head, Outline, Pipeline, SMALL, Wish, from_table, naming, role_spec, table};
use crate::dialect::Dialect;
use crate::folder::MemoryFolder;
use crate::load::load;
use crate::samples::said;

const LOW: &str = "Fix the typo in the help text";
const HIGH: &str = "Rewrite the login page and its API as distributed services with OWASP in mind and low latency";

fn head() -> Head {
    let id = SessionId::parse("TC-x-2026-02-27").unwrap();
    Head { id, name: "x".to_owned(), at: Timestamp::from_micros(1_772_150_400_000_000) }
}

fn outline(pipeline: &Pipeline, requirement: &str, complexity: Option<Complexity>, asked: &[&str]) -> Outline {
    let asked: Vec<_> = asked.iter().map(|name| RoleName::parse(name).unwrap()).collect();
    pipeline.outline(head(), &Wish { requirement, complexity, asked: &asked })
}

/// What the reader makes of an outline that was written.
fn read_back(outline: &Outline, dialect: Dialect) -> Session {
    let files = outline.files(dialect).unwrap();
    let mut folder = MemoryFolder::default();
    for file in files.iter().filter(|file| !file.path.ends_with('/')) {
        folder = folder.with(&file.path, file.text.as_str());
    }
    assert_eq!(Dialect::detect(&folder), Some(dialect));
    let loaded = load(&folder, "TC-x-2026-02-27", None);
    assert_eq!(said(&loaded.findings), [""; 0], "{dialect}");
    loaded.session.unwrap().0
}

fn ids(session: &Session) -> Vec<&str> {
    session.tasks.iter().map(|task| task.id.as_str()).collect()
}

/// R: D-11
#[test]
fn every_pipeline_is_read_back_in_every_dialect_without_a_word() {
    for pipeline in ALL.iter().chain([&SMALL]) {
        for (requirement, complexity) in
            [(LOW, None), (HIGH, None), (LOW, Some(Complexity::Low)), (LOW, Some(Complexity::High))]
        {
            let outline = outline(pipeline, requirement, complexity, &[]);
            for dialect in Dialect::MADE {
                let read = read_back(&outline, *dialect);
                assert_eq!(ids(&read), ids(&outline.session), "{} {dialect}", pipeline.name);
                for (read, made) in read.tasks.iter().zip(&outline.session.tasks) {
                    assert_eq!(
                        (&read.role, &read.dependencies, &read.context_from, read.priority, read.exec_mode),
                        (&made.role, &made.dependencies, &made.context_from, made.priority, made.exec_mode)
                    );
                    assert_eq!((read.min_complexity, &read.title), (made.min_complexity, &made.title));
                    assert_eq!(read.delivers.len(), 1, "{}", read.id);
                }
                let with_specs = read.roles.iter().filter(|role| role.spec.is_some()).count();
                assert_eq!(with_specs, outline.session.roles.len(), "{} {dialect}", pipeline.name);
                if !matches!(dialect, Dialect::TasksCsv) {
                    assert_eq!(read.requirement, requirement);
                }
            }
        }
    }
}

#[test]
fn pipeline_tables_are_valid_and_use_every_role() {
    let mut used = BTreeSet::new();
    assert_eq!(table::rows(SMALL.table).len(), SMALL.table.lines().count() - 1);
    for pipeline in &ALL {
        let rows = table::rows(pipeline.table);
        assert_eq!(rows.len(), pipeline.table.lines().count() - 1, "{}", pipeline.name);
        let known: BTreeSet<_> = rows.iter().map(|row| row.id.clone()).collect();
        assert_eq!(known.len(), rows.len(), "{}", pipeline.name);
        for row in &rows {
            assert!(row.phase.is_some() && !row.artifact.is_empty() && !row.title.is_empty(), "{row:?}");
            assert!(row.dependencies.iter().chain(&row.context_from).all(|id| known.contains(id)), "{row:?}");
            let role = role_spec::built_in(row.role.as_str()).unwrap_or_else(|| panic!("{}", row.role)).role;
            assert!(row.id.has_prefix(&role.prefix), "{row:?}");
            used.insert(row.role.to_string());
            // The deciding task is a dependency of the tasks that it decides on.
            let on_plan = row.dependencies.iter().any(|id| id.has_prefix("PLAN"));
            assert!(row.min_complexity.is_none() || on_plan, "{row:?}");
        }
        let checkpoints = known.iter().filter(|id| id.has_prefix("CHECKPOINT") || id.has_prefix("QUALITY"));
        assert!(checkpoints.count() >= 1, "{}", pipeline.name);
    }
    let built_in: BTreeSet<_> = role_spec::BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(used, built_in);
}

#[test]
fn small_team_tests_and_reviews_in_parallel() {
    let small = outline(Pipeline::fitting(Complexity::Low), LOW, None, &[]).session;
    assert_eq!(ids(&small), ["PLAN-001", "IMPL-001", "TEST-001", "REVIEW-001"]);
    assert_eq!(Graph::seal(&small.tasks).graph.unwrap().wave_count(), 3);
    let larger = [Complexity::Medium, Complexity::High].map(|level| Pipeline::fitting(level).name);
    assert_eq!(larger, ["impl-only", "full-lifecycle"]);
}

#[test]
fn complexity_decides_the_roles_of_the_enhanced_pipeline() {
    let enhanced = Pipeline::named("enhanced-parallel").unwrap();
    let with = |level| outline(enhanced, LOW, Some(level), &[]).session;
    assert_eq!(ids(&with(Complexity::Low)), ["PLAN-001", "CHECKPOINT-001", "IMPL-001", "TEST-001"]);
    let medium = ["PLAN-001", "CHECKPOINT-001", "IMPL-001", "FE-001", "BE-001", "TEST-001", "REVIEW-001"];
    assert_eq!(ids(&with(Complexity::Medium)), medium);
    let high = with(Complexity::High);
    assert_eq!(ids(&high).len(), medium.len() + 2, "the design and the look of a specialist");
    assert!(high.tasks.iter().all(|task| task.min_complexity.is_none()), "nothing is left to be decided");
    let open = outline(enhanced, LOW, None, &[]).session;
    let conditions: Vec<_> =
        open.tasks.iter().filter_map(|task| Some(format!("{} {}", task.id, task.min_complexity?))).collect();
    assert_eq!(
        conditions,
        ["ARCH-001 high", "FE-001 medium", "BE-001 medium", "SECURITY-001 high", "REVIEW-001 medium"]
    );
}

#[test]
fn specialists_join_by_requirement_or_by_user() {
    let impl_only = Pipeline::named("impl-only").unwrap();
    let joined = |requirement, asked: &[&str]| {
        let session = outline(impl_only, requirement, None, asked).session;
        let roles = session.injected_roles.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        (roles, ids(&session).join(" "))
    };
    assert_eq!(joined(LOW, &[]), (String::new(), "PLAN-001 CHECKPOINT-001 IMPL-001 TEST-001 REVIEW-001".to_owned()));
    assert_eq!(joined("Close the OWASP findings", &[]).0, "security-expert");
    assert!(joined("Close the OWASP findings", &[]).1.contains("SECURITY-001"));
    assert_eq!(joined(LOW, &["performance-expert"]).0, "performance-expert");
    assert_eq!(
        impl_only.specialists().iter().map(RoleName::as_str).collect::<Vec<_>>(),
        ["security-expert", "performance-expert"]
    );
    let enhanced =
        outline(Pipeline::named("enhanced-parallel").unwrap(), "Check the password rules", None, &[]).session;
    let security = enhanced.tasks.iter().find(|task| task.id.as_str() == "SECURITY-001").unwrap();
    assert_eq!(security.min_complexity, None, "a role that joins for a word works however simple the task is");
    let enhanced = Pipeline::named("enhanced-parallel").unwrap();
    let asked = outline(enhanced, LOW, Some(Complexity::Low), &["architect"]).session;
    assert!(ids(&asked).contains(&"ARCH-001"), "and so does a role that was asked for");
}

#[test]
fn a_table_becomes_a_session_in_every_dialect() {
    let table = "id,title,deps,role,status,exec_mode,min_complexity\n\
                 A-1,Do \"it\",,tester,completed,,\n\
                 任务,,A-1,\"odd: role #1\",failed,interactive,high\n\
                 B-2,Last,A-1;任务,odd: role #1,,,\n";
    let folder = MemoryFolder::default().with("tasks.csv", table);
    let read = load(&folder, "table", None).session.unwrap().0;
    let outline = from_table::outline(read, head(), "Make it so", from_table::History::Forgotten);
    assert_eq!(outline.unwritable_role(), None);
    assert!(outline.roles[0].text.contains("# Tester — Phase 2-4"), "what is known about testers is used");
    assert!(outline.roles[1].text.contains("- 任务\n- Last\n"), "{}", outline.roles[1].text);
    for dialect in Dialect::MADE {
        let session = read_back(&outline, *dialect);
        let tasks: Vec<_> = session
            .tasks
            .iter()
            .map(|task| {
                format!("{} {} {} {} {:?}", task.id, task.status, task.exec_mode, task.title, task.min_complexity)
            })
            .collect();
        let expected = [
            "A-1 pending csv-wave Do \"it\" None",
            "任务 pending interactive 任务 Some(High)",
            "B-2 pending interactive Last None",
        ];
        assert_eq!(tasks, expected, "{dialect}");
        assert_eq!(session.tasks[2].dependencies.len(), 2);
    }
    assert_eq!(naming::slug(&outline.session.requirement), "make-it-so");
}

#[test]
fn a_role_that_cannot_be_a_file_is_named() {
    for role in ["a/b", "../x", ".", "a\\b"] {
        let folder = MemoryFolder::default().with("tasks.csv", format!("id,title,role\nA,x,{role}\n"));
        let read = load(&folder, "table", None).session.unwrap().0;
        let outline = from_table::outline(read, head(), "", from_table::History::Forgotten);
        assert_eq!(outline.unwritable_role().map(RoleName::as_str), Some(role));
    }
}
