//! Sessions that are made from the tasks of other tools.

use std::path::Path;

use team_executor_testkit::World;

use crate::run::arguments;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/import");
/// What a tool left, as the user names it, with how many tasks come of it and how many of them are done.
const TOOLS: [(&str, &str, u32, u32); 5] = [
    ("spec-kit/tasks.md", "spec-kit", 8, 1),
    ("task-master/tasks.json", "Task Master", 5, 2),
    ("beads", "beads", 4, 1),
    ("claude-tasks", "Claude Code tasks", 3, 1),
    ("check-list/todo.md", "check list", 5, 1),
];

fn world() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.copy_tree(Path::new(FIXTURES), "from");
    world
}

/// R: P-07
#[test]
fn tasks_of_other_tools_become_sessions_that_run() {
    let world = world();
    let before = team_executor_testkit::Tree::read(&world.dir().join("from"));
    for (path, tool, tasks, done) in TOOLS {
        for dialect in ["tc", "tls", "tasks-json", "tasks-csv"] {
            let (from, dir) = (format!("from/{path}"), format!("{}-{dialect}", path.replace(['/', '.'], "-")));
            let made = world.run(&["init", "--from", &from, "--dialect", dialect, "--dir", &dir, "--name", "x"]);
            assert_eq!(made.code, Some(0), "{made}");
            let took = format!("Took {tasks} tasks from {tool}: {done} done before, {} to do\n", tasks - done);
            assert!(made.stdout.contains(&took), "{made}");
            let strict = world.run(&["validate", &format!("--session={dir}"), "--strict"]);
            assert_eq!(strict.code, Some(0), "{strict}");
            let worker = format!("echo $TEAM_EXECUTOR_TASK >> {dir}.ran; echo did it");
            let run = world.run(&arguments(&format!("--session={dir}"), &worker, &["--retries", "0"]));
            assert_eq!(run.code, Some(0), "{run}");
            let ran = std::fs::read_to_string(world.dir().join(format!("{dir}.ran"))).expect("tasks ran");
            assert_eq!(ran.lines().count() as u32, tasks - done, "{dir}: {ran}");
        }
    }
    assert_eq!(team_executor_testkit::Tree::read(&world.dir().join("from")), before);
}

/// R: P-07
#[test]
fn import_says_what_it_took_and_what_it_left() {
    let world = world();
    let made = world.run(&["init", "--from", "from/task-master/tasks.json", "--dir", "S", "--format", "json"]);
    let made: serde_json::Value = serde_json::from_str(&made.stdout).expect("JSON");
    assert_eq!(
        made["imported"],
        serde_json::json!({
            "tool": "Task Master", "tasks": 5, "done": 2,
            "left": ["other tags with their tasks (1): later (1)",
                     "cancelled or deferred tasks; nothing waits for them any more (1): 3"],
        })
    );
    assert_eq!(made["requirement"], "Gift cards for the shop");
    let made = world.run(&["init", "--from", "from/task-master/tasks.json", "--tag", "later", "--dir", "L"]);
    assert!(made.stdout.contains("Took 1 task from Task Master: 0 done before, 1 to do"), "{made}");
}

/// R: P-07
#[test]
fn import_that_is_not_understood_is_refused_with_its_place() {
    let world = world();
    world.write("b.jsonl", "{\"id\":\"a\",\"title\":\"t\"}\n{\"id\":\"b\",\"title\":\"u\",\"dependencies\":[{\"depends_on_id\":\"c\",\"type\":\"blocks\"}]}\n");
    world.write("empty.md", "# Notes\n");
    world.write("list/1.json", "{\"id\":\"1\",\"subject\":\"a\",\"status\":\"odd\"}");
    for (path, words) in [
        ("b.jsonl", vec!["task 'b' depends on 'c', which does not exist", "b.jsonl:2:56", "help: "]),
        ("empty.md", vec!["empty.md has no tasks (check list)", "help: write a task as: - [ ] Add a login"]),
        ("list", vec!["1.json:1:34", "expected one of pending, in_progress, completed, deleted"]),
        ("none.md", vec!["none.md cannot be read"]),
        ("from/task-master/tasks.json", vec!["no tag 'x'", "the tags are: master, later"]),
    ] {
        let mut args = vec!["init", "--from", path, "--dir", "S"];
        if path.starts_with("from") {
            args.extend(["--tag", "x"]);
        }
        let refused = world.run(&args);
        assert_eq!(refused.code, Some(2), "{refused}");
        for word in words {
            assert!(refused.stderr.contains(word), "{word}: {refused}");
        }
        assert!(!world.dir().join("S").exists());
    }
}
