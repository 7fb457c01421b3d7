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
fn who_claims_success_and_delivers_nothing_that_was_promised_has_failed() {
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
