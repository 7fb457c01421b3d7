use team_executor_core::{Graph, RoleName, SessionId, Task, TaskId};

use super::*;

fn session(tasks: &[(&str, &str)]) -> (Session, Graph) {
    let mut session = Session::new(SessionId::parse("S").unwrap());
    session.tasks = tasks
        .iter()
        .map(|(id, after)| Task {
            dependencies: after.split(';').filter_map(|id| TaskId::parse(id).ok()).collect(),
            ..Task::new(TaskId::parse(id).unwrap(), RoleName::parse("dev").unwrap())
        })
        .collect();
    let graph = Graph::seal(&session.tasks).graph.unwrap();
    (session, graph)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// An attempt by task, slot, and when it was ready, started, ended and over.
fn attempt(task: u32, slot: u32, [ready, started, ended, over]: [i64; 4]) -> Bar {
    let times = AttemptTimes {
        attempt: 1,
        agent: "a".into(),
        slot,
        ready: Some(at(ready)),
        started: at(started),
        first_output: None,
        ended: Some(at(ended)),
        checked: Some(at(over)),
        outcome: Some("completed"),
        error: None,
        is_sent_back: false,
    };
    bar(TaskIndex(task), &times, at(1000))
}

fn chained(bars: &[Bar], graph: &Graph) -> Vec<(u32, Because, u64)> {
    let chain = chain::find(bars, graph, at(0));
    chain.iter().map(|link| (bars[link.bar].task.get() as u32, link.because, link.gap.as_secs())).collect()
}

#[test]
fn chain_follows_dependencies_slots_retries_and_holds() {
    let (_, graph) = session(&[("A", ""), ("B", "A"), ("C", ""), ("D", "")]);
    // A, then B; C has a slot of its own and is short. B waited 3 s although a slot was free.
    let bars = [attempt(0, 0, [0, 0, 9, 10]), attempt(2, 1, [0, 0, 4, 4]), attempt(1, 0, [10, 13, 20, 20])];
    assert_eq!(chained(&bars, &graph), [(0, Because::Began, 0), (1, Because::DependsOn, 3)]);
    // D waited for the slot that C had.
    let bars = [attempt(0, 0, [0, 0, 5, 5]), attempt(2, 1, [0, 0, 7, 7]), attempt(3, 1, [0, 7, 30, 30])];
    assert_eq!(chained(&bars, &graph), [(2, Because::Began, 0), (3, Because::HadItsSlot, 0)]);
    // A fails at 5 and is tried again after a wait.
    let mut bars = [attempt(0, 0, [0, 0, 5, 5]), attempt(0, 0, [8, 8, 12, 12])];
    (bars[0].outcome, bars[1].attempt) = (Some("failed"), 2);
    assert_eq!(chained(&bars, &graph), [(0, Because::Began, 0), (0, Because::Retried, 3)]);
    // A is sent back by B, which judged it.
    let mut bars = [attempt(0, 0, [0, 0, 5, 5]), attempt(1, 0, [5, 5, 9, 9]), attempt(0, 0, [9, 9, 20, 20])];
    (bars[0].is_sent_back, bars[2].attempt) = (true, 2);
    assert_eq!(chained(&bars, &graph), [(0, Because::Began, 0), (1, Because::DependsOn, 0), (0, Because::SentBack, 0)]);
    assert_eq!(chained(&[], &graph), []);
}

/// Ends that come at the very moment of a start lead into no circle.
#[test]
fn attempts_without_length_make_no_endless_chain() {
    let (_, graph) = session(&[("A", ""), ("B", ""), ("C", "")]);
    let bars: Vec<Bar> = (0..3).map(|task| attempt(task, 0, [0, 5, 5, 5])).collect();
    assert!(chained(&bars, &graph).len() <= 3);
}

#[test]
fn ends_and_starts_at_one_moment_share_a_slot() {
    let bars = [attempt(0, 0, [0, 0, 5, 5]), attempt(1, 0, [0, 5, 9, 9]), attempt(2, 1, [0, 1, 3, 3])];
    assert_eq!(most(&bars), 2);
}

/// R: U-02
#[test]
fn large_timeline_is_a_small_picture_of_slots() {
    let ids: Vec<String> = (0..100_000).map(|nth| format!("T<{nth}>")).collect();
    let pairs: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "")).collect();
    let (session, graph) = session(&pairs);
    let slots = 8;
    let bars: Vec<Bar> = (0..100_000_i64)
        .map(|nth| {
            let (turn, slot) = (nth / slots, u32::try_from(nth % slots).unwrap());
            attempt(u32::try_from(nth).unwrap(), slot, [0, turn, turn + 1, turn + 1])
        })
        .collect();
    let chain = chain::find(&bars, &graph, at(0));
    assert_eq!(chain.len(), 12_500, "one of the slots, from the first to the last");
    let most = most(&bars);
    let timeline = Timeline { run: "EX".to_owned(), began: at(0), end: at(12_500), bars, chain, tasks: 100_000, most };
    let svg = timeline.to_svg(&session);
    assert!(svg.len() < 4_000_000, "{}", svg.len());
    let document = roxmltree::Document::parse(&svg).unwrap();
    let names: Vec<_> = document
        .descendants()
        .filter(|node| node.is_element())
        .filter_map(|node| node.text())
        .filter(|text| text.starts_with("slot "))
        .collect();
    assert_eq!(names.len(), 8);
    let mut trace = Vec::new();
    timeline.write_trace(&session, &mut trace).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert_eq!(events.iter().filter(|event| event["ph"] == "X").count(), 100_000);
}
