//! What a worker is given of the environment: what passes, what is set for it, and what is said of what is held back.

use serde_json::Value;
use team_executor_testkit::World;

use crate::run::{run, tasks};

/// A world whose user has secrets in the environment.
fn secretive() -> World {
    let mut world = tasks(&[("A", ""), ("B", "A")]);
    world.env("GITHUB_TOKEN", "ghp_hidden").env("MY_KEY", "key_hidden").env("AWS_PROFILE", "aws_hidden");
    world
}

const SHOW: &str = "env | grep -c '^GITHUB_TOKEN=\\|^MY_KEY=\\|^EXTRA='; echo ${MY_KEY-none} ${EXTRA-none}";

fn printed(world: &World, task: &str) -> String {
    let shown = world.run(&["logs", task, "--session=S"]);
    shown.stdout.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn variables_pass_and_are_set_by_flags() {
    let world = secretive();
    assert_eq!(run(&world, SHOW, &["--pass-env", "MY_*", "--env", "EXTRA=a=b c"]).code, Some(0));
    assert_eq!(printed(&world, "A"), "key_hidden a=b c");
    for wrong in [["--env", "=x"], ["--pass-env", "A=b"], ["--pass-env", "A*B"]] {
        assert_eq!(run(&world, "true", &wrong).code, Some(2), "{wrong:?}");
    }
    let held = secretive();
    assert_eq!(run(&held, SHOW, &[]).code, Some(0));
    assert_eq!(printed(&held, "A"), "none none", "nothing passes unless it is named");
    let by_name = secretive();
    assert_eq!(run(&by_name, SHOW, &["--env", "MY_KEY"]).code, Some(0));
    assert_eq!(printed(&by_name, "A"), "key_hidden none", "a name alone passes on");
}

#[test]
fn role_and_task_have_variables_of_their_own() {
    let world = secretive();
    let config = "[agents.a]\ncommand = \"./show.sh\"\nenv = { EXTRA = \"agent\" }\n[defaults]\nagent = \"a\"\n\
                  [roles.worker]\npass_env = [\"MY_KEY\"]\nenv = { EXTRA = \"role\" }\n[tasks.B]\nenv = { EXTRA = \"task\" }\n";
    world.write("team-executor.toml", config);
    world.write("show.sh", format!("#!/bin/sh\n{SHOW}\n"));
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(world.dir().join("show.sh"), executable).expect("it is ours");
    let untrusted = world.run(&["run", "--session=S", "-y"]);
    assert!(untrusted.code == Some(2) && untrusted.stderr.contains("env EXTRA=agent, env EXTRA=role"), "{untrusted}");
    assert_eq!(world.run(&["run", "--session=S", "-y", "--trust-project"]).code, Some(0));
    assert_eq!(printed(&world, "A"), "key_hidden role");
    assert_eq!(printed(&world, "B"), "key_hidden task");
    let shown = world.run(&["prompt", "--env", "B", "--session=S"]);
    let from = |name: &str| shown.stdout.lines().find(|line| line.split_whitespace().next() == Some(name));
    assert!(from("EXTRA").is_some_and(|line| line.contains("set by the config")), "{shown}");
    assert!(from("MY_KEY").is_some_and(|line| line.contains("passed")), "{shown}");
    assert!(
        from("PATH").is_some() && from("TEAM_EXECUTOR_TASK").is_some() && from("GITHUB_TOKEN").is_none(),
        "{shown}"
    );
    assert!(!shown.stdout.contains("hidden"), "{shown}");
}

#[test]
fn variable_that_the_command_wants_is_said_to_be_held_back() {
    let world = secretive();
    let note = "GITHUB_TOKEN is set here and not passed to workers; `gh` uses it: add --pass-env GITHUB_TOKEN";
    let worker = "gh pr list; true";
    let told = run(&world, worker, &[]);
    assert!(told.code == Some(0) && told.stderr.contains(&format!("note: {note}\n")), "{told}");
    assert!(!told.stderr.contains("AWS") && !told.stderr.contains("hidden"), "{told}");
    let world = secretive();
    let told = run(&world, worker, &["--pass-env", "GITHUB_TOKEN"]);
    assert!(told.code == Some(0) && !told.stderr.contains("note:"), "{told}");
    world.write("team-executor.toml", "[agents.a]\ncommand = \"gh pr list\"\n[defaults]\nagent = \"a\"\n");
    let plan = world.run(&["plan", "--session=S"]);
    assert!(plan.stderr.contains(note), "{plan}");
    let plan = world.run(&["plan", "--session=S", "--format", "json"]);
    let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    assert_eq!(plan["held_back"], serde_json::json!([{"variables": ["GITHUB_TOKEN"], "wanted_by": "`gh`"}]));
}

/// Nothing of ours has the value: no journal, no report, no log of the program, and no command that is printed.
#[test]
fn value_of_env_is_never_written_to_disk() {
    let world = secretive();
    let secret = "s3cr3t-value";
    let pair = format!("TOKEN={secret}");
    let flags = ["--env", &pair, "--env=OTHER=s3cr3t-other", "--retries", "0", "--log", "own.log"];
    let failed = run(&world, "test $TEAM_EXECUTOR_TASK = A && test -n \"$TOKEN\"", &flags);
    assert_eq!(failed.code, Some(1), "{failed}");
    assert!(!failed.stdout.contains("s3cr3t") && !failed.stderr.contains("s3cr3t"), "{failed}");
    for (path, bytes) in files(world.dir()) {
        assert!(!String::from_utf8_lossy(&bytes).contains("s3cr3t"), "{path}");
    }
}

fn files(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path));
        } else if path.is_file() {
            found.push((path.display().to_string(), std::fs::read(&path).expect("a file")));
        }
    }
    found
}
