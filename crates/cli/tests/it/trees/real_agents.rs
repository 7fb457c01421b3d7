//! Real coding agents in trees of their own, against a model that follows a script.

use serde_json::{Value, json};
use team_executor_testkit::World;

use super::{authors, branch, commit, git, home, shown, trees, users};
use crate::agents::resident::resident;
use crate::agents::{Kind, Part, RUN, found, script, team, turns};
use crate::run::{column, folder, read};

/// Two tasks side by side on one file, and one that builds on both.
const TEAM: [Part; 3] = [
    Part { task: "A", role: "left", agent: "claude", file: "a.md" },
    Part { task: "B", role: "right", agent: "codex", file: "b.md" },
    Part { task: "C", role: "both", agent: "claude", file: "c.md" },
];

/// What the model does: a command in the working folder first.
fn working(command: &str, part: &Part) -> Vec<Value> {
    let first = json!({"do": {"shell": command}, "usage": {"input": 1000, "cached": 400, "output": 7}});
    [vec![first], turns(Kind::Known, part.task, part.file)].concat()
}

/// R: G-01, G-04
#[test]
fn claude_and_codex_change_one_file_side_by_side() {
    let Some((world, _model)) = team(&TEAM, Kind::Known) else { return };
    let row = |task: &str, deps: &str, role: &str| format!("{task},,Do it,{deps},{deps},csv-wave,{role},,pending,,\n");
    let head = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n";
    let rows = [row("A", "", "left"), row("B", "", "right"), row("C", "A;B", "both")].concat();
    world.write("S/tasks.csv", format!("{head}{rows}"));
    let config = read(world.dir().join("team-executor.toml"));
    let config = config.replacen("[defaults]\n", "[defaults]\nisolation = \"worktree\"\n", 1);
    // Claude runs commands only where all is allowed; Codex has its sandbox.
    let config = claude_may_run_commands(&config);
    world.write("team-executor.toml", format!("{config}\n[merge]\nverify = [\"sh\", \"check.sh\"]\n"));
    world.write("shared.txt", "A: open\n-\n-\n-\nB: open\n");
    world.write("check.sh", "grep -q '^A: ' shared.txt && grep -q '^B: ' shared.txt");
    becomes_a_repository(&world);
    for (part, command) in TEAM.iter().zip([
        "sed -i 's/^A: open/A: done/' shared.txt",
        "sed -i 's/^B: open/B: done/' shared.txt",
        "grep done shared.txt > both.txt",
    ]) {
        script(&world, part.role, &working(command, part));
    }
    let before = users(&world);
    let run = world.run(&[&RUN[..], &["-c", "2"]].concat());
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(users(&world), before, "the checkout is as it was");
    assert_eq!(column(&world, "findings"), ["A", "B", "C"].map(found));
    let branch = branch(&world);
    let log = read(folder(&world).join("logs/B.1.out"));
    assert_eq!(shown(&world, &branch, "shared.txt"), "A: done\n-\n-\n-\nB: done\n", "{log}");
    assert_eq!(shown(&world, &branch, "both.txt"), "A: done\nB: done\n", "C began with both");
    assert_eq!(authors(&world, &branch), ["A", "B", "C"]);
    for part in &TEAM {
        // Outside of the tree, where the sandbox of Codex would not let it write by itself.
        let delivered = folder(&world).join("artifacts").join(part.task).join(part.file);
        assert_eq!(read(delivered), format!("# {}\n", part.file));
    }
    assert_eq!(trees(&world), Vec::<String>::new());
    assert_eq!(world.living("TEAM_EXECUTOR_RUN"), []);
}

fn becomes_a_repository(world: &World) {
    let user = "[user]\n\tname = User\n\temail = user@localhost\n[init]\n\tdefaultBranch = main\n";
    std::fs::write(home(world).join(".gitconfig"), user).expect("a home");
    git(world, &["init", "-q"]);
    world.write(".git/info/exclude", "scripts\n");
    commit(world);
}

/// Gives each task of a team a tree of its own.
fn in_trees(world: &World) {
    let config = read(world.dir().join("team-executor.toml"));
    let config = config.replacen("[defaults]\n", "[defaults]\nisolation = \"worktree\"\n", 1);
    world.write("team-executor.toml", config);
    world.write("start.md", "start\n");
    becomes_a_repository(world);
}

/// R: G-01
#[test]
fn gemini_and_agents_of_acp_work_in_trees() {
    for (agent, kind, delivers) in [
        ("gemini", Kind::Known, true),
        // It writes nowhere but in its tree.
        ("gemini", Kind::Acp, false),
        ("qwen", Kind::Acp, true),
        ("claude", Kind::Conversing, true),
    ] {
        let parts = [
            Part { task: "A", role: "first", agent, file: "a.md" },
            Part { task: "B", role: "second", agent, file: "b.md" },
        ];
        let Some((world, _model)) = team(&parts, kind) else { continue };
        in_trees(&world);
        for part in &parts {
            let made = json!({"path": format!("made-{}.md", part.task), "content": "made\n"});
            let first = json!({"do": {"write": made}, "usage": {"input": 1000, "cached": 400, "output": 7}});
            script(&world, part.role, &[vec![first], turns(kind, part.task, part.file)].concat());
        }
        let before = users(&world);
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        assert_eq!(users(&world), before, "{agent}: the checkout is as it was");
        assert_eq!(column(&world, "findings"), ["A", "B"].map(found), "{agent}");
        let branch = branch(&world);
        assert_eq!(authors(&world, &branch), ["A", "B"], "{agent}");
        for part in &parts {
            assert_eq!(shown(&world, &branch, &format!("made-{}.md", part.task)), "made\n", "{agent}");
            let delivered = folder(&world).join("artifacts").join(part.task).join(part.file);
            let log = read(folder(&world).join(format!("logs/{}.1.out", part.task)));
            assert_eq!(delivered.is_file(), delivers, "{agent}: {log}");
        }
        assert!(!run.stderr.contains("your checkout changed"), "{agent}: {run}");
    }
}

/// R: G-01
#[test]
fn conversation_goes_on_in_the_tree_of_the_next_task() {
    for agent in ["claude", "codex"] {
        let Some((world, model, _)) = resident(agent) else { continue };
        in_trees(&world);
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        assert_eq!(column(&world, "findings"), [found("WORK-001"), found("WORK-002")], "{agent}");
        let branch = branch(&world);
        let log = read(folder(&world).join("logs/WORK-002.1.out"));
        assert_eq!(authors(&world, &branch), ["WORK-001", "WORK-002"], "{agent}: {log}");
        for file in ["one.md", "two.md"] {
            assert_eq!(shown(&world, &branch, file), "made\n", "{agent}");
            assert!(!world.dir().join(file).exists(), "{agent}");
        }
        assert!(!log.contains("not resumed"), "{agent}: {log}");
        let asked = model.rest();
        assert!(asked[2..].iter().all(|asked| asked.turn >= 2), "{agent}: {asked:?}");
    }
}

/// Gives the agents that are Claude all permissions.
fn claude_may_run_commands(config: &str) -> String {
    let mut is_claude = false;
    let lines = config.lines().map(|line| {
        if line.starts_with("kind = ") || line.starts_with('[') {
            is_claude = line == "kind = \"claude\"";
        }
        if is_claude && line.starts_with("permissions = ") { "permissions = \"full\"" } else { line }
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}
