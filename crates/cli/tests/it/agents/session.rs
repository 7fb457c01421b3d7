//! A team of three agents: what one finds reaches the next one and every view, also over a kill.

use std::process::Stdio;

use serde_json::{Value, json};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Asked, World};

use super::{Kind, Part, RUN, found, script, team, turns};
use crate::run::{column, folder, read};

const TEAM: [Part; 3] = [
    Part { task: "PLAN-001", role: "planner", agent: "claude", file: "plan.md" },
    Part { task: "BUILD-001", role: "builder", agent: "codex", file: "built.md" },
    Part { task: "REVIEW-001", role: "reviewer", agent: "gemini", file: "review.md" },
];

#[test]
fn three_agents_finish_a_session_with_findings_in_all_views() {
    let Some((world, model)) = team(&TEAM, Kind::Known) else { return };
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(0), "{run}");
    check(&world);
    check_usage(&world);
    let in_order = TEAM.iter().flat_map(|part| (0..2).map(|turn| answered(part.role, turn)));
    assert_eq!(model.rest(), in_order.collect::<Vec<_>>());
}

#[test]
fn three_agents_continue_after_a_kill_without_repeats() {
    let Some((world, mut model)) = team(&TEAM, Kind::Known) else { return };
    let mut turns = turns(Kind::Known, "BUILD-001", "built.md");
    turns[1]["hang"] = json!({"times": 1});
    script(&world, "builder", &turns);
    let executor = world.command(&RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut executor = executor.expect("it starts");
    let mut asked = Vec::new();
    while asked.last().is_none_or(|last: &Asked| last.status != 0) {
        asked.push(model.asked());
    }
    executor.kill().expect("it can be killed");
    executor.limited_wait();
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(0), "{run}");
    check(&world);
    asked.extend(model.rest());
    let before = [answered("planner", 0), answered("planner", 1), answered("builder", 0)].into_iter();
    let killed = Asked { status: 0, ..answered("builder", 1) };
    let after = TEAM[1..].iter().flat_map(|part| (0..2).map(|turn| answered(part.role, turn)));
    assert_eq!(asked, before.chain([killed]).chain(after).collect::<Vec<_>>());
}

fn answered(role: &str, turn: u64) -> Asked {
    Asked { worker: role.to_owned(), turn, status: 200 }
}

/// Everything is done, delivered and shown, and no process is left.
fn check(world: &World) {
    assert_eq!(world.living("TEAM_EXECUTOR_RUN"), []);
    assert_eq!(column(world, "status"), ["completed"; 3]);
    let views = ["tasks.csv", "results.csv", "context.md"].map(|name| (name, read(folder(world).join(name))));
    let tasks = world.run(&["task", "list", "--session=S", "--format", "json"]).stdout;
    let status = world.run(&["status", "--session=S", "--format", "json"]).stdout;
    assert_eq!(status.matches("\"status\": \"completed\"").count(), TEAM.len(), "{status}");
    let artifacts = world.run(&["artifacts", "--session=S", "--format", "json"]).stdout;
    for Part { task, file, .. } in TEAM {
        for (name, text) in views.iter().map(|(name, text)| (*name, text)).chain([("task list", &tasks)]) {
            assert!(text.contains(&found(task)), "{task} in {name}: {text}");
        }
        assert_eq!(read(folder(world).join("artifacts").join(task).join(file)), format!("# {file}\n"));
        assert!(artifacts.contains(file), "{artifacts}");
    }
}

/// What each reply cost is summed, whichever way an agent says it.
fn check_usage(world: &World) {
    let status = world.run(&["status", "--session=S", "--format", "json"]).stdout;
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let of = |sum: &Value| ["tokens_in", "tokens_cached", "tokens_out"].map(|key| sum[key].as_u64());
    for part in TEAM {
        let role = &status["usage"]["roles"][part.role];
        assert_eq!(of(role), [Some(2000), Some(800), Some(14)], "{}: {role}", part.agent);
    }
    assert_eq!(of(&status["usage"]["total"]), [Some(6000), Some(2400), Some(42)]);
}
