//! Any session, written and read back.

use proptest::prelude::*;
use team_executor_core::{CompletionAction, Graph, Session, TaskStatus};

use super::super::{lifecycle, tasks_json, team_session};
use super::arbitrary::session;
use super::disorder::{disorder, unknown_keys};
use super::{graph, load_lifecycle, load_tasks_json, load_team_session, messages};
use crate::json;
use crate::load::Loaded;
use crate::shape::Type;

/// The text of every element of a container but one.
fn others(text: &str, container: &str, but: &str) -> Vec<String> {
    let document = json::parse(text).unwrap();
    let container = document.root().get(container).unwrap();
    let keyed = container.entries().filter(|entry| entry.name() != but).map(|entry| entry.value.raw().to_owned());
    let id = |value: &json::Value<'_, '_>| {
        ["id", "task_id"].iter().find_map(|key| value.get(key)?.as_text()).map(|id| id.into_owned())
    };
    let listed = container.items().filter(|item| id(item).is_none_or(|id| id != but)).map(|item| item.raw().to_owned());
    keyed.chain(listed).collect()
}

/// Makes a file odd, reads it and writes it over itself: it stays. One task that ends leaves the others alone.
fn stays(
    session: &Session,
    (shape, container): (&Type, &str),
    choices: &[u8],
    write: impl Fn(Option<&str>, &(Session, Graph)) -> String,
    load: impl Fn(&str) -> Loaded,
) -> Result<(), TestCaseError> {
    let strict = write(None, &(session.clone(), graph(session)));
    let odd = disorder(json::parse(&strict).unwrap().root(), shape, choices);
    let mut read = load(&odd).session.unwrap();
    prop_assert_eq!(&write(Some(&odd), &read), &odd);
    prop_assert_eq!(&write(None, &read), &strict);
    let nth = usize::from(choices[0]) % read.0.tasks.len().max(1);
    let Some(task) = read.0.tasks.get_mut(nth).filter(|task| task.status != TaskStatus::Completed) else {
        return Ok(());
    };
    (task.status, task.findings, task.error) = (TaskStatus::Completed, Some("done now".to_owned()), None);
    task.notes_in_findings = false;
    let id = task.id.to_string();
    let changed = write(Some(&odd), &read);
    prop_assert_eq!(
        unknown_keys(json::parse(&changed).unwrap().root()),
        unknown_keys(json::parse(&odd).unwrap().root())
    );
    if !container.is_empty() {
        prop_assert_eq!(others(&changed, container, &id), others(&odd, container, &id));
        prop_assert_eq!(&load(&changed).session.unwrap().0.tasks, &read.0.tasks, "{}", changed);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// R: M-01, M-03, T-01
    #[test]
    fn tasks_json_is_read_back(session in session()) {
        let graph = graph(&session);
        let text = tasks_json(None, &session, &graph);
        prop_assert_eq!(&tasks_json(Some(&text), &session, &graph), &text);
        let loaded = load_tasks_json(&text);
        prop_assert_eq!(messages(&loaded), [""; 0], "{}", text);
        let mut read = loaded.session.unwrap().0;
        read.tasks.iter_mut().for_each(|task| task.details.clear());

        let mut expected = session;
        for task in &mut expected.tasks {
            task.declared_wave = Some(graph.wave(graph.index_of(task.id.as_str()).unwrap()));
            (task.attempt_count, task.created_at, task.updated_at) = (0, None, None);
            if task.status == TaskStatus::Ready {
                task.status = TaskStatus::Pending;
            }
        }
        expected.completed_waves = (1..=graph.wave_count())
            .filter(|wave| expected.tasks.iter().all(|task| task.declared_wave != Some(*wave) || task.status.is_over()))
            .collect();
        (expected.completion, expected.roles) = (CompletionAction::Interactive, read.roles.clone());
        (expected.artifacts, expected.checkpoints, expected.injected_roles) = (Vec::new(), Vec::new(), Vec::new());
        prop_assert_eq!(read, expected);
    }

    /// R: M-01, M-03, D-01
    #[test]
    fn a_lifecycle_is_read_back(session in session()) {
        let text = lifecycle(None, &session);
        prop_assert_eq!(&lifecycle(Some(&text), &session), &text);
        let loaded = load_lifecycle(&text);
        prop_assert_eq!(messages(&loaded), [""; 0], "{}", text);
        let mut read = loaded.session.unwrap().0;
        read.tasks.iter_mut().for_each(|task| task.details.clear());

        let mut expected = session;
        for role in &mut expected.roles {
            role.responsibility = None;
        }
        (expected.completion, expected.supervision, expected.gc_rounds) = (CompletionAction::Interactive, true, 0);
        expected.active_workers = Vec::new();
        prop_assert_eq!(read, expected);
    }

    /// R: M-01, M-03
    #[test]
    fn a_team_session_is_read_back(session in session()) {
        let text = team_session(None, &session);
        prop_assert_eq!(&team_session(Some(&text), &session), &text);
        let loaded = load_team_session(&text, &session);
        prop_assert_eq!(messages(&loaded), [""; 0], "{}", text);
        let (read, _) = loaded.session.unwrap();
        prop_assert_eq!(&read.id, &session.id);
        prop_assert_eq!(&read.name, &session.name);
        prop_assert_eq!(&read.requirement, &session.requirement);
        prop_assert_eq!(read.completion, session.completion);
        prop_assert_eq!(read.created_at, session.created_at);
        prop_assert_eq!(&read.active_workers, &session.active_workers);
        let completed = session.tasks.iter().filter(|task| task.status == TaskStatus::Completed).map(|task| task.id.clone());
        prop_assert_eq!(&read.completed_tasks, &completed.collect::<Vec<_>>());
        for (read, role) in read.roles.iter().zip(&session.roles) {
            prop_assert_eq!((&read.name, &read.prefix, read.inner_loop), (&role.name, &role.prefix, role.inner_loop));
            prop_assert_eq!(&read.responsibility, &role.responsibility);
        }
        prop_assert_eq!(read.roles.len(), session.roles.len());
    }

    /// R: M-01
    #[test]
    fn one_session_goes_through_all_dialects(session in session()) {
        let text = tasks_json(None, &session, &graph(&session));
        let (of_tasks, graph) = load_tasks_json(&text).session.unwrap();
        let (of_lifecycle, _) = load_lifecycle(&lifecycle(None, &of_tasks)).session.unwrap();
        // What only tasks.json has.
        let Session { supervision, gc_rounds, active_workers, .. } = of_tasks;
        let again = tasks_json(None, &Session { supervision, gc_rounds, active_workers, ..of_lifecycle }, &graph);
        prop_assert_eq!(again, text);
    }

    /// R: M-03, P-05
    #[test]
    fn files_stay_but_for_tasks_that_changed(
        session in session(),
        choices in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let of_tasks = |original: Option<&str>, (session, graph): &(Session, Graph)| tasks_json(original, session, graph);
        stays(&session, (&crate::tasks_json::SHAPE, "tasks"), &choices, of_tasks, load_tasks_json)?;
        let of_lifecycle = |original: Option<&str>, (session, _): &(Session, Graph)| lifecycle(original, session);
        stays(&session, (&crate::lifecycle::SHAPE, "task_list"), &choices, of_lifecycle, load_lifecycle)?;
        let of_team = |original: Option<&str>, (session, _): &(Session, Graph)| team_session(original, session);
        let load_team = |text: &str| load_team_session(text, &session);
        stays(&session, (&crate::tc::team_session::SHAPE, ""), &choices, of_team, load_team)?;
    }

    #[test]
    fn any_original_gives_json(original in any::<String>(), session in session()) {
        let graph = graph(&session);
        for text in [
            tasks_json(Some(&original), &session, &graph),
            lifecycle(Some(&original), &session),
            team_session(Some(&original), &session),
        ] {
            prop_assert!(json::parse(&text).is_ok());
        }
    }
}
