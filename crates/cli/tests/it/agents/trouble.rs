//! What real agents make of a service that refuses: their exit status says it or not, the task fails for its reason.

use serde_json::json;

use super::{Kind, Part, RUN, found, script, team, turns};
use crate::run::column;

const AGENTS: [&str; 3] = ["claude", "codex", "gemini"];

fn part(agent: &'static str) -> Part {
    Part { task: "WORK-001", role: "worker", agent, file: "work.md" }
}

#[test]
fn a_request_that_is_refused_fails_the_task_with_the_reason() {
    for agent in AGENTS {
        let Some((world, _model)) = team(&[part(agent)], Kind::Known) else { continue };
        script(&world, "worker", &[json!({"do": {"text": "never said"}, "fail": {"status": 400}})]);
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(1), "{agent}: {run}");
        let errors = column(&world, "error");
        assert!(errors[0].contains("scripted failure"), "{agent}: {errors:?}");
        assert_eq!(world.living("TEAM_EXECUTOR_RUN"), []);
    }
}

#[test]
fn success_without_the_demanded_artifact_fails() {
    for agent in AGENTS {
        let Some((world, _model)) = team(&[part(agent)], Kind::Known) else { continue };
        let config = std::fs::read_to_string(world.dir().join("team-executor.toml")).expect("a file");
        let promised = "[roles.worker.checks]\nfiles = [\"work.md\"]\n";
        world.write(
            "team-executor.toml",
            format!("{config}{promised}").replace("retries = 0", "retries = 0\nrounds = 0"),
        );
        script(&world, "worker", &turns(Kind::Known, "WORK-001", "work.md")[1..]);
        let run = world.run(&RUN);
        assert_ne!(run.code, Some(0), "{agent}: {run}");
        assert!(run.to_string().contains("work.md"), "{agent}: {run}");
    }
}

#[test]
fn a_quota_is_waited_for_and_costs_no_attempt() {
    let Some((world, model)) = team(&[part("claude")], Kind::Known) else { return };
    let mut turns = turns(Kind::Known, "WORK-001", "work.md");
    // Once for each try of its own.
    turns[0]["fail"] = json!({"status": 429, "times": 3, "retry-after": 1});
    script(&world, "worker", &turns);
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(0), "retries are 0: {run}");
    assert_eq!(column(&world, "findings"), [found("WORK-001")]);
    let refused = model.rest().into_iter().filter(|asked| asked.status == 429).count();
    assert_eq!(refused, 3);
}

/// Each agent uses 2014 tokens.
#[test]
fn token_budget_stops_a_run_and_more_continues_it() {
    let parts = [("A", "one"), ("B", "two"), ("C", "three")].map(|(task, role)| Part {
        task,
        role,
        agent: "codex",
        file: "work.md",
    });
    let Some((world, model)) = team(&parts, Kind::Known) else { return };
    let run = world.run(&[&RUN[..], &["--budget-tokens", "5000"]].concat());
    assert_eq!(run.code, Some(3), "{run}");
    assert!(run.stdout.contains("the budget of the run is 5000 tokens: 4028 tokens used"), "{run}");
    assert_eq!(column(&world, "status"), ["completed", "completed", "pending"]);
    let more = world.run(&[&["resume"], &RUN[1..], &["--budget-tokens", "10000"]].concat());
    assert_eq!((more.code, column(&world, "status")), (Some(0), vec!["completed".to_owned(); 3]), "{more}");
    let asked: Vec<_> = model.rest().into_iter().map(|asked| asked.worker).collect();
    assert_eq!(asked, ["one", "one", "two", "two", "three", "three"], "nothing is done twice");
    assert_eq!(world.living("TEAM_EXECUTOR_RUN"), []);
}

/// Claude is told what is left for its task, and understands it.
#[test]
fn claude_keeps_within_the_turns_of_its_task() {
    let Some((world, model)) = team(&[part("claude")], Kind::Known) else { return };
    let config = std::fs::read_to_string(world.dir().join("team-executor.toml")).expect("a file");
    let budget = "[roles.worker.budget]\nusd = 5\n[tasks.WORK-001.budget]\nturns = 1\n";
    world.write("team-executor.toml", format!("{config}{budget}"));
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(3), "{run}");
    assert!(run.stdout.contains("the budget of task WORK-001 is 1 turns: 1 turns used"), "{run}");
    assert_eq!(column(&world, "status"), ["pending"], "with more it goes on");
    assert_eq!(model.rest().len(), 1);
}
