//! Tasks that workers propose: what becomes of them is the user's decision.

use serde_json::json;
use team_executor_testkit::World;

use super::{BIN, answers, calls};
use crate::run::{column, folder, run, tasks};

fn new(id: &str, more: serde_json::Value) -> (&'static str, serde_json::Value) {
    let mut task = json!({"id": id, "title": format!("the title of {id}"), "assignee": "worker"});
    task.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    ("TaskCreate", task)
}

/// The whole mapping: the verbs of the command line have these fields too (`run::verbs`), and so has `team_msg` (`run::bus`,
/// `mcp::tools`).
///
/// R: T-05
#[test]
fn proposed_tasks_are_accepted_or_declined_by_a_person() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    world.write("team-executor.toml", "[defaults]\nmax_proposals = 3\n");
    let a = calls(
        &world,
        "a",
        &[
            new("A", json!({})),
            new("C", json!({"metadata": {"deps": ["C"]}})),
            new("C", json!({"metadata": {"deps": ["B", "X"]}})),
            new("C", json!({"metadata": {"deps": ["B"], "wave": 7}})),
            new("C", json!({"assignee": "stranger"})),
            new("C", json!({"description": "do it", "metadata": {"deps": ["B"], "wave": 3}})),
            new("C", json!({})),
            new("D", json!({"title": "The title of C"})),
            new("D", json!({"metadata": {"deps": ["C"]}})),
            new("E", json!({})),
            new("F", json!({})),
        ],
    );
    let worker = format!("case $TEAM_EXECUTOR_TASK in A) {a}; {BIN} task accept C && exit 7 ;; esac; echo did");
    let done = run(&world, &worker, &[]);
    assert_eq!(done.code, Some(0), "{done}");
    let told = "warning: 3 more tasks are proposed by workers: team-executor task proposals --session=S\n";
    assert!(done.stderr.contains(told), "{done}");
    let answered = answers(&world, "a");
    for (nth, why) in [
        (0, "refused: task 'A' already exists"),
        (1, "refused: unknown dependency 'C'"),
        (2, "refused: unknown dependency 'X'"),
        (3, "refused: by its dependencies the task is in wave 3"),
        (4, "refused: unknown role 'stranger'"),
        (10, "refused: 3 tasks were proposed in this run, which is the limit"),
    ] {
        assert!(answered[nth].as_ref().is_err_and(|said| said.starts_with(why)), "{why}\n{:?}", answered[nth]);
    }
    let proposed: Vec<_> =
        answered[5..10].iter().map(|answer| answer.as_ref().expect("an answer")["proposed"].clone()).collect();
    assert_eq!(proposed, [true, false, false, true, true]);
    assert_eq!(column(&world, "id"), ["A", "B"], "the run keeps the tasks that it began with");
    let task = |args: &[&str]| world.run(&[&["task"], args, &["--session=S"]].concat());
    assert_eq!(
        task(&["proposals"]).stdout,
        "C (worker) the title of C, proposed by A\nD (worker) the title of D, proposed by A\n\
         E (worker) the title of E, proposed by A\n"
    );
    let unknown = task(&["accept", "F"]);
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(unknown.stderr.contains("no task 'F' waits to be decided on\nhelp: "), "{unknown}");
    assert_eq!((task(&["decline", "E"]).code, task(&["accept", "D", "C"]).code), (Some(0), Some(0)));
    assert_eq!(task(&["proposals"]).stdout, "No proposals\n");
    let again = run(&world, "echo did $TEAM_EXECUTOR_TASK", &[]);
    assert!(again.stdout.contains("4/4 tasks completed"), "{again}");
}

/// Runs a session whose worker of A proposes B, and whose worker of B proposes more.
fn proposing(world: &World) -> team_executor_testkit::Run {
    let a = calls(world, "a", &[new("B", json!({"metadata": {"deps": ["A"]}}))]);
    let b = calls(world, "b", &[new("C", json!({})), new("D", json!({}))]);
    run(world, &format!("case $TEAM_EXECUTOR_TASK in A) {a} ;; B) {b} ;; esac; echo did"), &[])
}

#[test]
fn proposals_run_only_if_allowed_and_bounded() {
    let world = tasks(&[("A", "")]);
    world.write("team-executor.toml", "[defaults]\nproposals = \"run\"\n");
    let refused = proposing(&world);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("a project cannot let workers add tasks to a run"), "{refused}");
    world.write("team-executor.toml", "[defaults]\nmax_proposals = 2\n");
    world.write(".config/team-executor/config.toml", "[defaults]\nproposals = \"run\"\n");
    let config = world.dir().join(".config");
    let mut world = world;
    world.env("XDG_CONFIG_HOME", &config.display().to_string());
    let done = proposing(&world);
    assert_eq!(done.code, Some(0), "{done}");
    let list = world.run(&["task", "list", "--session=S"]).stdout;
    assert_eq!(list.lines().count(), 3, "two were proposed and added, no third one: {list}");
    assert!(list.lines().all(|line| line.contains(" completed ")), "{list}");
    let last = answers(&world, "b");
    assert_eq!(last[0].as_ref().expect("an answer")["proposed"], true);
    assert!(last[1].as_ref().is_err_and(|said| said.contains("1 tasks were proposed in this run")), "{last:?}");
}

#[test]
fn refused_proposal_is_answered_to_the_worker() {
    let world = tasks(&[("A", "")]);
    world.write("team-executor.toml", "[defaults]\nproposals = \"refuse\"\n");
    let done = proposing(&world);
    assert_eq!(done.code, Some(0), "{done}");
    let why =
        "refused: a worker cannot add tasks: the run of 'A' keeps those that it began with\nhelp: say what is missing";
    let answered = answers(&world, "a");
    assert!(answered[0].as_ref().is_err_and(|said| said.starts_with(why)), "{answered:?}");
    assert!(!folder(&world).join("proposals.jsonl").exists() && !done.stderr.contains("proposed"), "{done}");
    let shown = world.run(&["config", "--format", "json"]).stdout;
    assert!(shown.contains("\"defaults.proposals\"") && shown.contains("\"refuse\""), "{shown}");
}
