//! The logs of real agents are text for people, by each protocol that they speak.

use super::{Kind, Part, RUN, team};

#[test]
fn logs_of_real_agents_are_decoded() {
    for (agent, kind) in [
        ("claude", Kind::Known),
        ("codex", Kind::Known),
        ("gemini", Kind::Known),
        ("claude", Kind::Conversing),
        ("codex", Kind::Conversing),
        ("gemini", Kind::Conversing),
        ("qwen", Kind::Acp),
    ] {
        let part = Part { task: "WORK-001", role: "worker", agent, file: "work.md" };
        let Some((world, _model)) = team(&[part], kind) else { continue };
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        let shown = world.run(&["logs", "WORK-001", "--session=S"]);
        let lines: Vec<&str> = shown.stdout.lines().collect();
        let calls = lines.iter().filter(|line| line.starts_with("→ ") && line.contains("work.md")).count();
        assert_eq!(calls, 1, "{agent}: {shown}");
        assert!(shown.stdout.contains("what WORK-001 found"), "{agent}: its report: {shown}");
        let is_event = |line: &&&str| line.contains("\"jsonrpc\"") || line.starts_with("{\"type\":");
        assert_eq!(lines.iter().find(is_event), None, "{agent}: {shown}");
        // The last line of each stream.
        let last = world.run(&["logs", "WORK-001", "--session=S", "--tail", "1"]);
        let count = last.stdout.lines().count();
        assert!((1..=2).contains(&count), "{agent}: {last}");
        assert!(last.stdout.lines().all(|line| lines.contains(&line)), "{agent}: {last}");
    }
}
