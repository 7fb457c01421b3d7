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

/// Codex makes databases in its home, and of several that did so at once all but one ended.
/// R: A-12
#[test]
fn three_codex_workers_at_once_in_a_new_home_all_do_their_tasks() {
    for kind in [Kind::Conversing, Kind::Known] {
        let part = Part { task: "WORK-001", role: "worker", agent: "codex", file: "work.md" };
        let Some((world, _model)) = team(&[part], kind) else { return };
        let row = |task: &str| format!("{task},,Do it,,,csv-wave,worker,,pending,,\n");
        let head = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n";
        world.write("S/tasks.csv", format!("{head}{}{}{}", row("A"), row("B"), row("C")));
        let run = world.run(&[&RUN[..], &["--concurrency=3"]].concat());
        assert_eq!(run.code, Some(0), "{run}");
        assert_eq!(column(&world, "status"), ["completed"; 3], "{run}");
        for task in ["A", "B", "C"] {
            assert_eq!(read(folder(&world).join("artifacts").join(task).join("work.md")), "# work.md\n", "{run}");
        }
    }
}
