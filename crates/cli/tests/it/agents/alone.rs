//! Each agent by itself: it writes a file with its own tools, reports, and is heard.

use super::{Kind, Part, RUN, found, team};
use crate::run::{column, folder, read};

#[test]
fn claude_does_a_task() {
    does_a_task("claude");
}

#[test]
fn codex_does_a_task() {
    does_a_task("codex");
}

#[test]
fn gemini_does_a_task() {
    does_a_task("gemini");
}

#[test]
fn each_agent_does_a_task_in_a_conversation() {
    for (agent, kind) in [
        ("claude", Kind::Conversing),
        ("codex", Kind::Conversing),
        ("gemini", Kind::Conversing),
        ("gemini", Kind::Acp),
        ("opencode", Kind::Acp),
    ] {
        let part = Part { task: "WORK-001", role: "worker", agent, file: "work.md" };
        let Some((world, model)) = team(&[part], kind) else { continue };
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        assert_eq!(column(&world, "findings"), [found("WORK-001")], "{agent}");
        assert_eq!(read(folder(&world).join("artifacts/WORK-001/work.md")), "# work.md\n", "{agent}");
        let usage = world.run(&["status", "--session=S"]).stdout;
        // What opencode says is only of its last request.
        let words = if agent == "opencode" { ["1000 tokens in", " 7 out"] } else { ["2000 tokens in", " 14 out"] };
        assert!(words.iter().all(|words| usage.contains(words)), "{agent}: {usage}");
        assert_eq!(world.living("TEAM_EXECUTOR_RUN"), [], "{agent}");
        let turns: Vec<_> = model.rest().into_iter().map(|asked| (asked.turn, asked.status)).collect();
        assert_eq!(turns, [(0, 200), (1, 200)], "{agent}");
    }
}

fn does_a_task(agent: &'static str) {
    let part = Part { task: "WORK-001", role: "worker", agent, file: "work.md" };
    let Some((world, model)) = team(&[part], Kind::Command) else { return };
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), [found("WORK-001")]);
    assert_eq!(read(world.dir().join("work.md")), "# work.md\n");
    assert_eq!(world.living("TEAM_EXECUTOR_RUN"), []);
    let turns: Vec<_> = model.rest().into_iter().map(|asked| (asked.turn, asked.status)).collect();
    assert_eq!(turns, [(0, 200), (1, 200), (2, 200)]);
}
