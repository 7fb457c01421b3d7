use std::os::unix::fs::symlink;

use serde_json::json;

use super::Served;
use crate::csv::REPORTS;
use crate::run::tasks;

#[test]
fn paths_outside_the_client_roots_are_refused() {
    let world = tasks(&[("A", "")]);
    let root = world.dir().join("root");
    world.write("outside/t.csv", "a\n1\n");
    world.write("root/t.csv", "a\n1\n");
    world.copy_tree(world.dir().join("S"), "root/S");
    symlink("../S", root.join("link")).expect("a link");
    symlink("../outside", root.join("folder")).expect("a link");
    let before = world.tree();
    let mut client = Served::with_roots(&world, &["--agent-command", REPORTS], &[&root]);
    let outside = "is outside the roots of this client";
    for session in ["../S", "link", world.dir().join("S").to_str().expect("text")] {
        for tool in ["validate", "plan", "rehearse", "run", "status", "resume", "retry", "pause", "report"] {
            let refused = client.call(tool, &json!({"session": session})).expect_err("it is outside");
            assert!(refused.contains(outside), "{tool} {session}: {refused}");
        }
        assert!(client.call("logs", &json!({"session": session, "task": "A"})).is_err());
        assert!(client.call("answer", &json!({"session": session, "action": "resume"})).is_err());
    }
    for (table, output) in
        [("../outside/t.csv", "o.csv"), ("folder/t.csv", "o.csv"), ("t.csv", "../o.csv"), ("t.csv", "folder/o.csv")]
    {
        let wanted = json!({"csv_path": table, "instruction": "x", "output_csv_path": output});
        let refused = client.call("spawn_agents_on_csv", &wanted).expect_err("it is outside");
        assert!(refused.contains(outside), "{table} {output}: {refused}");
    }
    let uri = format!("team-executor://graph/{}", world.dir().join("S").display().to_string().replace('/', "%2F"));
    assert!(client.read(&uri).expect_err("it is outside").contains(outside));
    assert_eq!(world.tree(), before);
    assert_eq!(client.call("validate", &json!({"session": "S"})).expect("it is inside")["valid"], true);
}

#[test]
fn links_in_a_run_show_nothing_outside_of_the_roots() {
    const SECRET: &str = "the-secret-of-another-project";
    let world = tasks(&[("A", "")]);
    let root = world.dir().join("root");
    let secret = world.write("outside/secret", SECRET);
    world.copy_tree(world.dir().join("S"), "root/S");
    let mut client = Served::with_roots(&world, &["--agent-command", "echo did"], &[&root]);
    client.call("run", &json!({"session": "S"})).expect("it is done");
    let runs = std::fs::read_dir(root.join(".workflow/.csv-wave")).expect("runs").flatten();
    let run = runs.map(|run| run.path()).find(|path| path.is_dir()).expect("a run");
    for name in ["logs/A.1.out", "context.md", "results.csv", "tasks.csv"] {
        std::fs::remove_file(run.join(name)).expect("it was written");
        symlink(&secret, run.join(name)).expect("a link");
    }
    for (tool, arguments) in [
        ("logs", json!({"session": "S", "task": "A"})),
        ("report", json!({"session": "S"})),
        ("status", json!({"session": "S"})),
    ] {
        let answer = format!("{:?}", client.call(tool, &arguments));
        assert!(!answer.contains(SECRET), "{tool}: {answer}");
    }
}

#[test]
fn only_the_user_chooses_commands() {
    let world = tasks(&[("A", "")]);
    let mut client = Served::new(&world, &[]);
    for argument in ["agent", "agent_command", "flags", "trust_project", "env"] {
        let refused = client.call("run", &json!({"session": "S", argument: "touch made"})).expect_err("it is refused");
        assert!(refused.contains("unknown field"), "{refused}");
    }
    let refused = client.call("run", &json!({"session": "S"})).expect_err("no agent was chosen");
    assert!(refused.contains("no agent was named"), "{refused}");
    // What looks like a flag is none.
    let refused = client.call("logs", &json!({"session": "S", "task": "--help"})).expect_err("there is no such task");
    assert!(refused.contains("'--help'"), "{refused}");
    world.write("team-executor.toml", "[defaults]\nagent = \"a\"\n[agents.a]\ncommand = [\"touch\", \"made\"]\n");
    let refused = client.call("run", &json!({"session": "S"})).expect_err("the project is not trusted");
    assert!(refused.contains("--trust-project"), "{refused}");
    assert!(!world.dir().join("made").exists());
    drop(client);
    let done = Served::new(&world, &["--trust-project"]).call("run", &json!({"session": "S"})).expect("it is done");
    assert_eq!(done["ending"], "completed", "{done}");
    assert!(world.dir().join("made").exists());
}

#[test]
fn serve_takes_run_flags_and_calls_name_sessions() {
    let world = tasks(&[("A", "")]);
    let worker = world.run(&["mcp", "--agent", "claude"]);
    assert!(worker.code == Some(2) && worker.stderr.contains("add --serve to serve a client"), "{worker}");
    let session = world.run(&["mcp", "--serve", "--session=S"]);
    assert!(session.code == Some(2) && session.stderr.contains("`mcp` takes no --session"), "{session}");
}
