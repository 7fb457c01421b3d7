use team_executor_core::{RoleName, SessionId, Task, TaskId};

use super::*;

fn doer(role: &str, agent: &str, model: Option<&str>) -> Doer {
    Doer { role: role.to_owned(), agent: agent.to_owned(), model: model.map(str::to_owned) }
}

fn sample(ms: u64) -> Sample {
    Sample { ms, tokens: Some(7), cost_micros: None, is_completed: true }
}

/// R: U-03
#[test]
fn history_is_bounded_and_keeps_the_newest() {
    let mut history = History::default();
    for nth in 0..20_000_u64 {
        history.add([(doer(&format!("role {}", nth % 97), "a", Some("m")), sample(nth))]);
        if nth > 200 {
            break;
        }
    }
    let many = (0..20_000_u64).map(|nth| (doer(&format!("role {}", nth % 97), "a", Some("m")), sample(nth)));
    history.add(many);
    assert_eq!(history.len(), OF_ALL);
    assert!(history.samples.iter().all(|(_, sample)| sample.ms >= 20_000 - 97 * OF_ONE as u64));
    let one = history.samples.iter().filter(|(known, _)| known.role == "role 3").count();
    assert!(one <= OF_ONE);
}

/// R: U-03
#[test]
fn history_survives_runs_that_end_together_and_damage() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join(".workflow/.csv-wave");
    std::fs::create_dir_all(&runs).unwrap();
    assert!(History::read(dir.path()).is_empty());
    std::thread::scope(|scope| {
        for nth in 0..8 {
            let project = dir.path();
            scope.spawn(move || {
                let newer = (0..5).map(|ms| (doer(&format!("r{nth}"), "a\"b", None), sample(ms)));
                History::note(project, newer.collect()).unwrap();
            });
        }
    });
    assert_eq!(History::read(dir.path()).len(), 40);
    // What is no history is none, and is replaced; what a newer version wrote stays.
    std::fs::write(runs.join("history.json"), "{\"version\":1,\"samples\":[[1],[\"r\",\"a\",null,5,null,null,true],")
        .unwrap();
    assert!(History::read(dir.path()).is_empty());
    History::note(dir.path(), vec![(doer("r", "a", None), sample(1))]).unwrap();
    assert_eq!(History::read(dir.path()).len(), 1);
    let newer = "{\"version\":2,\"samples\":{}}";
    std::fs::write(runs.join("history.json"), newer).unwrap();
    assert!(History::note(dir.path(), vec![(doer("r", "a", None), sample(1))]).is_err());
    assert_eq!(std::fs::read_to_string(runs.join("history.json")).unwrap(), newer);
}

#[test]
fn tasks_are_known_by_role_first_and_by_others_last() {
    let mut history = History::default();
    history.add((0..3).map(|_| (doer("dev", "claude", Some("opus")), sample(100))));
    history.add((0..3).map(|_| (doer("dev", "codex", None), sample(10))));
    history.add([(doer("qa", "claude", None), sample(1))]);
    let like = |role: &str, agent: &str, model| {
        let (samples, is_own) = history.like(&doer(role, agent, model));
        (samples.len(), samples.iter().map(|one| one.ms).max(), is_own)
    };
    assert_eq!(like("dev", "claude", Some("opus")), (3, Some(100), true));
    assert_eq!(like("dev", "claude", Some("other")), (3, Some(100), true), "of the same agent");
    assert_eq!(like("dev", "codex", None), (3, Some(10), true));
    assert_eq!(like("dev", "", None), (6, Some(100), true));
    assert_eq!(like("qa", "claude", None), (4, Some(100), false), "one is not enough");
    assert_eq!(like("new", "new", None), (7, Some(100), false));
    let mut session = Session::new(SessionId::parse("S").unwrap());
    session.tasks =
        ["dev", "qa"].map(|role| Task::new(TaskId::parse(role).unwrap(), RoleName::parse(role).unwrap())).into();
    let known = history.of_tasks(&session, &Workers::default()).unwrap();
    assert_eq!(known.expected(), [55, 47]);
    assert!(History::default().of_tasks(&session, &Workers::default()).is_none());
}
