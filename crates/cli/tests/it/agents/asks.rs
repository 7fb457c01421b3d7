//! Real agents that may only ask, and that are spoken to while they work.

use std::process::Stdio;

use serde_json::json;

use super::{Kind, Part, RUN, found, script, team, turns};
use crate::run::ends::{end, wait_for};
use crate::run::{column, folder, read};

fn part(agent: &'static str) -> Part {
    Part { task: "WORK-001", role: "worker", agent, file: "work.md" }
}

#[test]
fn agents_request_is_asked_and_done_when_allowed() {
    for agent in ["claude", "codex", "gemini"] {
        let Some((world, model)) = team(&[part(agent)], Kind::Conversing) else { continue };
        if agent == "codex" && !model.is_apart() {
            continue; // its sandbox needs what the machine does not allow
        }
        let config = read(world.dir().join("team-executor.toml"));
        world.write("team-executor.toml", config.replace("permissions = \"edit\"", "permissions = \"ask\""));
        let mut command = world.command(&RUN);
        let mut executor = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        wait_for(&mut executor, "WORK-001 asks to use ");
        let allowed = world.run(&["talk", "allow", "WORK-001", "--session=S"]);
        assert_eq!(allowed.code, Some(0), "{agent}: {allowed}");
        let (code, out) = end(executor);
        assert_eq!(code, Some(0), "{agent}: {out}");
        assert_eq!(column(&world, "findings"), [found("WORK-001")], "{agent}");
        assert_eq!(read(folder(&world).join("artifacts/WORK-001/work.md")), "# work.md\n", "{agent}");
    }
}

#[test]
fn slow_agent_is_urged_and_reports_partial_work() {
    for agent in ["claude", "codex", "gemini"] {
        let Some((world, _model)) = team(&[part(agent)], Kind::Conversing) else { continue };
        let config = read(world.dir().join("team-executor.toml"));
        let config = config.replace("total = \"2m\"", "total = \"5s\"\nconverge = \"10s\"");
        world.write("team-executor.toml", config.replace("permissions = \"edit\"", "permissions = \"full\""));
        let mut turns = turns(Kind::Known, "WORK-001", "work.md");
        turns[0] = json!({"do": {"shell": "tail -f /dev/null"}});
        turns.push(turns[1].clone());
        turns.push(turns[1].clone());
        script(&world, "worker", &turns);
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        assert_eq!(column(&world, "findings"), [found("WORK-001")], "{agent}");
        assert!(read(folder(&world).join("logs/WORK-001.1.out")).contains("\"team_executor\":\"urged\""), "{agent}");
        assert_eq!(world.living("TEAM_EXECUTOR_RUN"), [], "{agent}");
    }
}
