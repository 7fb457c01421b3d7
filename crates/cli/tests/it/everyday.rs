//! Everyday edges: edits under a paused run, words at a checkpoint, plans after a failure, long status, schemas and completion.

use std::process::{Command, Stdio};

use serde_json::Value;
use team_executor_testkit::World;
use team_executor_testkit::limited::*;

use crate::run::ends::{Waiting, end, wait_for};
use crate::run::{read, run, tasks};

fn json(world: &World, args: &[&str]) -> Value {
    let run = world.run(&[args, &["--session=S", "--format", "json"]].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
}

/// A paused executor takes in what it can; `resume` refuses the rest aloud.
#[test]
fn edit_under_a_paused_run_is_taken_or_refused_aloud() {
    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    let world = &waiting.world;
    assert_eq!(world.run(&["pause", "--session=S"]).code, Some(0));
    waiting.gate.open();
    wait_for(&mut executor, "✓ A");
    let table = world.dir().join("S/tasks.csv");
    let before = read(&table);
    let edited = before.replace("B,,Do it,", "B,,Do it with care,");
    assert!(edited != before, "{before}");
    world.write("S/tasks.csv", &edited);
    wait_for(&mut executor, "B: another text");
    // A task that has begun cannot be removed.
    let other = edited.lines().filter(|line| !line.starts_with("A,")).map(|line| line.replace(",A,", ",,") + "\n");
    let other: String = other.collect();
    assert!(other != edited, "{edited}");
    world.write("S/tasks.csv", other);
    let refused = world.run(&["resume", "--session=S"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("tasks, roles or dependencies were edited"), "{refused}");
    world.write("S/tasks.csv", edited);
    assert_eq!(world.run(&["resume", "--session=S"]).code, Some(0));
    assert_eq!(end(executor).0, Some(0));
    assert!(world.run(&["prompt", "B", "--session=S"]).stdout.contains("Do it with care"));
}

/// What was added while a run goes on is part of it after a pause.
#[test]
fn paused_run_resumes_with_the_tasks_that_were_added() {
    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    let world = &waiting.world;
    let added = world.run(&["task", "create", "C", "--title", "New", "--assignee", "worker", "--session=S"]);
    assert_eq!(added.code, Some(0), "{added}");
    assert_eq!(world.run(&["pause", "--session=S"]).code, Some(0));
    waiting.gate.open();
    wait_for(&mut executor, "✓ A");
    let resumed = world.run(&["resume", "--session=S"]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert_eq!(end(executor).0, Some(0));
}

#[test]
fn paused_run_without_edits_resumes() {
    let mut waiting = Waiting::new();
    let mut executor = waiting.start();
    let world = &waiting.world;
    assert_eq!(world.run(&["pause", "--session=S"]).code, Some(0));
    waiting.gate.open();
    wait_for(&mut executor, "✓ A");
    assert_eq!(world.run(&["resume", "--session=S"]).code, Some(0));
    assert_eq!(end(executor).0, Some(0));
}

#[test]
fn checkpoint_is_approved_or_rejected_by_these_words() {
    let world = tasks(&[("A", ""), ("QUALITY-001", "A"), ("B", "QUALITY-001")]);
    assert_eq!(run(&world, "echo $TEAM_EXECUTOR_ATTEMPT >> done", &[]).code, Some(3));
    let rejected = world.run(&["checkpoint", "reject", "too", "long", "--session=S"]);
    assert!(rejected.code == Some(0) && rejected.stdout.contains("A"), "{rejected}");
    assert_eq!(run(&world, "echo $TEAM_EXECUTOR_ATTEMPT >> done", &[]).code, Some(3));
    assert!(read(world.dir().join("done")).contains("/A/2"), "it was done again");
    assert_eq!(world.run(&["checkpoint", "approve", "--session=S"]).code, Some(0));
    assert_eq!(run(&world, "true", &[]).code, Some(0));
}

#[test]
fn plan_after_a_failed_run_agrees_with_run() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "")]);
    assert_eq!(run(&world, "test $TEAM_EXECUTOR_TASK = C", &["--retries", "0"]).code, Some(1));
    let plan = world.run(&["plan", "--session=S"]);
    assert!(plan.stdout.contains("✗ A  failed") && plan.stdout.contains("– B  skipped"), "{plan}");
    assert!(plan.stdout.contains(" (finished: 1 failed, 1 skipped)\n"), "{plan}");
    assert!(plan.stdout.ends_with("help: team-executor retry --failed --session=S\n"), "{plan}");
    assert!(world.run(&["run", "--session=S", "--agent-command", "true", "-y"]).stdout.contains("nothing was done"));
    let value = json(&world, &["plan"]);
    assert_eq!((&value["run"]["finished"], &value["ready"]), (&true.into(), &serde_json::json!([])));
    assert!(
        world.run(&["plan", "--format", "svg", "--session=S"]).stdout.contains("1 failed, 1 skipped"),
        "the picture too"
    );
    assert_eq!(world.run(&["retry", "--failed", "--session=S"]).code, Some(0));
    let value = json(&world, &["plan"]);
    assert_eq!((&value["run"]["finished"], &value["ready"]), (&false.into(), &serde_json::json!(["A"])));
}

#[test]
fn status_watch_waits_for_a_run_that_has_not_begun() {
    let world = tasks(&[("A", "")]);
    let mut command = world.command(&["status", "--watch", "--session=S"]);
    let watcher = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    assert_eq!(run(&world, "true", &[]).code, Some(0));
    let ended = watcher.limited_output();
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success() && text.contains("1/1 completed"), "{text}");
}

#[test]
fn status_of_many_tasks_shows_problems_only() {
    let ids: Vec<String> = (0..1000).map(|nth| format!("T{nth:04}")).collect();
    let all: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "")).collect();
    let world = tasks(&all);
    assert_eq!(run(&world, "test $TEAM_EXECUTOR_TASK != T0500", &["--retries", "0", "-c", "8"]).code, Some(1));
    let status = world.run(&["status", "--session=S"]);
    assert!(status.stdout.lines().count() < 30 && status.stdout.contains("✗ T0500 failed"), "{status}");
    assert!(status.stdout.contains("… 999 other tasks are completed, skipped or wait: "), "{status}");
    assert_eq!(json(&world, &["status"])["tasks"].as_array().map(Vec::len), Some(1000), "programs get all");
}

#[test]
fn what_init_writes_names_its_schema() {
    for dialect in ["tc", "tls", "tasks-json"] {
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        let made = world.run(&["init", "Add a login", "--dialect", dialect, "--dir", "S"]);
        assert_eq!(made.code, Some(0), "{made}");
        let mut named = 0;
        for file in ["team-session.json", "task-analysis.json", "tasks.json"] {
            let Ok(text) = std::fs::read_to_string(world.dir().join("S").join(file)) else { continue };
            let value: Value = serde_json::from_str(&text).expect("JSON");
            let path = value["$schema"].as_str().expect("a schema");
            let schema: Value = serde_json::from_str(&read(world.dir().join("S").join(path))).expect("JSON");
            let validator = jsonschema::validator_for(&schema).expect("a schema");
            let wrong: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert_eq!(wrong, [""; 0], "{file}");
            named += 1;
        }
        assert!(named > 0, "{dialect}");
        assert_eq!(run(&world, "true", &["--on-complete", "auto_keep"]).code.map(|code| code < 4), Some(true));
        let kept = std::fs::read_dir(world.dir().join("S")).expect("S").flatten();
        let kept = kept.filter(|file| file.path().extension().is_some_and(|ending| ending == "json"));
        let texts: Vec<String> = kept.map(|file| read(file.path())).filter(|text| text.contains("status")).collect();
        assert!(texts.iter().all(|text| text.contains("\"$schema\"")), "a run keeps it: {texts:?}");
    }
}

#[test]
fn schemas_of_config_and_result_judge_real_files() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let validator = |name: &str| {
        let schema: Value = serde_json::from_str(&world.run(&["schema", name]).stdout).expect("JSON");
        jsonschema::validator_for(&schema).expect("a schema")
    };
    let config = validator("config");
    let good = serde_json::json!({
        "defaults": {"agent": "a", "limits": {"total": 90}}, "agents": {"a": {"command": ["./x", "y"]}},
        "roles": {"dev": {"env": {"A": "b"}, "limits": {"idle": "5m"}}}, "tasks": {"T-1": {"checks": {"verify": "make"}}},
    });
    assert!(config.is_valid(&good));
    for wrong in [
        serde_json::json!({"defaults": {"agnt": "a"}}),
        serde_json::json!({"agents": {"a": {"kind": "magic"}}}),
        serde_json::json!({"defaults": {"concurrency": 0}}),
        serde_json::json!({"other": {}}),
    ] {
        assert!(!config.is_valid(&wrong), "{wrong}");
    }
    let result = validator("result");
    assert!(result.is_valid(
        &serde_json::json!({"status": "completed", "findings": "12 tests pass", "data": {"key_findings": ["x"]}})
    ));
    for wrong in [serde_json::json!({}), serde_json::json!({"status": "done"}), serde_json::json!([])] {
        assert!(!result.is_valid(&wrong), "{wrong}");
    }
}

/// What bash would offer for a command line, by the script that is printed.
fn offered(world: &World, words: &[&str]) -> Vec<String> {
    let script = world.run(&["completions", "bash"]).stdout;
    let path = world.write("complete.bash", script);
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let code = format!(
        "source {}; COMP_WORDS=({}); COMP_CWORD={}; {} \"${{COMP_WORDS[0]}}\" '{}' ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        path.display(),
        quoted.join(" "),
        words.len() - 1,
        "_team__executor_names",
        words[words.len() - 1],
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &code]).current_dir(world.dir()).env("PATH", world_path());
    let printed = bash.limited_output();
    String::from_utf8_lossy(&printed.stdout).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn world_path() -> String {
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_team-executor")).parent().expect("a folder");
    format!("{}:/usr/bin:/bin", folder.display())
}

#[test]
fn completion_knows_sessions_tasks_and_agents() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let table =
        "id,title,description,role\nIMPL-1,Build,Build it,dev\nIMPL-2,More,More of it,dev\nTEST-1,Test,Test it,dev\n";
    world.write(".workflow/.team/TC-one/tasks.csv", table);
    world.write("team-executor.toml", "[agents.mine]\ncommand = \"true\"\n");
    assert_eq!(offered(&world, &["team-executor", "logs", "IM"]), ["IMPL-1", "IMPL-2"]);
    assert_eq!(offered(&world, &["team-executor", "status", "--session", "TC"]), ["TC-one"]);
    assert_eq!(offered(&world, &["team-executor", "status", "--session", "=", "TC"]), ["TC-one"]);
    assert_eq!(offered(&world, &["team-executor", "run", "--agent", "mi"]), ["mine"]);
    assert!(offered(&world, &["team-executor", "sta"]).contains(&"status".to_owned()), "and the commands as before");
    for shell in ["zsh", "fish"] {
        assert!(world.run(&["completions", shell]).stdout.contains("complete-names"), "{shell}");
    }
    let names = world.run(&["complete-names", "retry", "IMPL-1", "TE"]);
    assert_eq!((names.code, names.stdout.as_str()), (Some(0), "TEST-1\n"));
    assert_eq!(world.run(&["complete-names"]).stdout, "");
}
