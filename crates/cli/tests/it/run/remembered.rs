//! A run remembers the options of its start, and believes only its own user.

use std::fs;

use team_executor_testkit::limited::*;
use team_executor_testkit::{Pulse, World};

use super::{DID, arguments, column, folder, read, run, tasks};

/// Three tasks side by side, whose run was killed while as many were at work as may be.
fn killed(options: &[&str]) -> (World, Pulse) {
    let world = tasks(&[("A", ""), ("B", ""), ("C", "")]);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let worker = format!("[ -e go ] && exec echo did; exec 9>{}; printf . >&9; sleep 600", pulse.arg());
    let mut executor = world.command(&arguments("--session=S", &worker, options)).spawn().expect("it starts");
    pulse.wait_alive(1);
    executor.kill().expect("it is killed");
    executor.limited_wait();
    pulse.wait_dead();
    world.write("go", "");
    (world, pulse)
}

/// What a run remembers.
fn options(world: &World) -> serde_json::Value {
    let text = read(folder(world).join(".executor/options"));
    serde_json::from_str(text.lines().next().expect("a line")).expect("an object")
}

#[test]
fn killed_run_resumes_with_the_options_of_its_start() {
    let (world, _pulse) = killed(&["-c", "1", "--retries", "7", "--time-limit", "5m"]);
    let resumed = world.run(&["resume", "--session=S"]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert_eq!(column(&world, "findings"), ["did"; 3]);
    for word in ["--agent-command ", " --concurrency 1", " --retries 7", " --time-limit 5m"] {
        assert!(resumed.stderr.contains(word), "{resumed}");
    }
}

#[test]
fn config_says_what_comes_from_the_start_of_the_run() {
    let (world, _pulse) = killed(&["-c", "1", "--retries", "7"]);
    let shown = world.run(&["config", "--session=S", "--retries", "3"]);
    assert_eq!(shown.code, Some(0), "{shown}");
    let whence = |key: &str| {
        let line = shown.stdout.lines().find(|line| line.split_whitespace().next() == Some(key));
        line.map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")).expect(key)
    };
    assert_eq!(whence("defaults.concurrency"), "1 --concurrency of the run's start");
    assert_eq!(whence("defaults.retries"), "3 --retries");
    assert!(whence("defaults.agent").ends_with("--agent-command of the run's start"), "{shown}");
    let shown = world.run(&["config", "--session=S", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let entry = all["settings"].as_array().and_then(|all| all.iter().find(|entry| entry["key"] == "defaults.retries"));
    let entry = entry.expect("the setting");
    assert_eq!((&entry["value"], &entry["source"], &entry["flag"]), (&7.into(), &"run".into(), &"--retries".into()));
}

#[test]
fn options_given_again_win_and_are_remembered() {
    let (world, _pulse) = killed(&["-c", "1", "--retries", "7"]);
    let again = world.run(&["run", "--session=S", "--agent-command", "exit 1", "--retries", "0", "-y"]);
    assert_eq!(again.code, Some(1), "{again}");
    let there = options(&world);
    assert_eq!(
        (&there["agent_command"], &there["retries"], &there["concurrency"]),
        (&"exit 1".into(), &0.into(), &1.into())
    );
    let named = world.run(&["run", "--session=S", "--agent", "rehearsal"]);
    assert_eq!(named.code, Some(1), "it is finished: {named}");
    assert_eq!(world.run(&["retry", "--failed", "--session=S"]).code, Some(0));
    let named = world.run(&["resume", "--session=S", "--agent", "rehearsal"]);
    assert!(named.code == Some(0) || named.stderr.contains("not confirmed"), "{named}");
    let agreed = world.run(&["resume", "--session=S", "--agent", "rehearsal", "-y"]);
    assert_eq!(agreed.code, Some(0), "{agreed}");
    let there = options(&world);
    assert_eq!((&there["agent"], there.get("agent_command")), (&"rehearsal".into(), None));
}

#[test]
fn retry_and_resume_of_a_finished_run_need_no_options() {
    let world = tasks(&[("A", "")]);
    let failed = run(&world, "[ -e go ] && exec echo did; exit 1", &["--retries", "0"]);
    assert_eq!(failed.code, Some(1), "{failed}");
    world.write("go", "");
    let retried = world.run(&["retry", "--failed", "--session=S"]);
    let line = retried.stdout.lines().find_map(|line| line.strip_prefix("Go on, with the options of the run: "));
    assert_eq!(world.shell(line.expect("a command")).code, Some(0), "{retried}");
    assert_eq!(column(&world, "findings"), ["did"]);
}

/// A project whose session and run another user made, and the file in it that says how the run was started.
fn cloned() -> (World, std::path::PathBuf) {
    let theirs = tasks(&[("A", ""), ("B", "A")]);
    theirs.copy_tree(theirs.dir().join("S"), ".workflow/.team/S");
    let session = "--session=.workflow/.team/S";
    assert_eq!(theirs.run(&arguments(session, "exit 1", &["--retries", "0"])).code, Some(1));
    assert_eq!(theirs.run(&["retry", "--failed", session]).code, Some(0));
    let mine = tasks(&[("A", "")]);
    // There is a key.
    assert_eq!(mine.run(&arguments("--session=S", DID, &[])).code, Some(0));
    let own = read(folder(&mine).join(".executor/options"));
    let id = folder(&theirs).file_name().expect("a name").to_string_lossy().into_owned();
    fs::rename(mine.dir().join(".workflow"), mine.dir().join("own")).expect("moved");
    mine.copy_tree(theirs.dir().join(".workflow"), ".workflow");
    mine.write("signed", own);
    let options = mine.dir().join(format!(".workflow/.csv-wave/{id}/.executor/options"));
    assert!(options.exists());
    (mine, options)
}

const CLONED: &str = "--session=.workflow/.team/S";

#[test]
fn cloned_run_starts_no_program_without_consent() {
    let (world, options) = cloned();
    let own = read(world.dir().join("signed"));
    let own = own.lines().nth(1).expect("a signature");
    assert_eq!(own.len(), 64);
    let evil = r#"{"version":1,"agent_command":"touch STOLEN","yes":true,"agreed":[]}"#;
    for signature in ["", &"0".repeat(64), own] {
        fs::write(&options, format!("{evil}\n{signature}\n")).expect("planted");
        for words in [&["resume", CLONED][..], &["resume", CLONED, "-y"], &["run", CLONED, "-y"]] {
            let refused = world.run(words);
            assert!(refused.code == Some(2) && !world.dir().join("STOLEN").exists(), "{refused}");
        }
        let told = world.run(&["resume", CLONED, "-y"]);
        assert!(told.stderr.contains("touch STOLEN") && told.stderr.contains("--trust-project"), "{told}");
    }
    // What the other user really wanted counts no more than that.
    let real = r#"{"version":1,"agent":"evil"}"#;
    fs::write(&options, format!("{real}\n\n")).expect("planted");
    world.write("team-executor.toml", "[agents.evil]\ncommand = \"touch STOLEN\"\n");
    let refused = world.run(&["resume", CLONED, "-y"]);
    assert!(refused.code == Some(2) && !world.dir().join("STOLEN").exists(), "{refused}");
    // The user's own choice is not in doubt, and is remembered as such.
    assert_eq!(world.run(&arguments(CLONED, "exit 1", &["--retries", "0"])).code, Some(1));
    assert_eq!(world.run(&["retry", "--failed", CLONED]).code, Some(0));
    assert_eq!(world.run(&["resume", CLONED]).code, Some(1), "it needs no options now");
    assert!(!world.dir().join("STOLEN").exists());
}

/// Who may bring a project may bring everything in it.
#[test]
fn key_inside_the_project_is_no_key() {
    let (mut world, options) = cloned();
    let home = world.dir().display().to_string();
    world.env("HOME", &home);
    world.write(".local/state/team-executor/key", [7; 32]);
    assert_eq!(world.run(&arguments(CLONED, "exit 1", &["--retries", "0"])).code, Some(1));
    assert_eq!(world.run(&["retry", "--failed", CLONED]).code, Some(0));
    assert_eq!(read(&options).lines().nth(1), Some(""), "it is not signed");
    let refused = world.run(&["resume", CLONED]);
    assert_eq!(refused.code, Some(2), "{refused}");
}

#[test]
fn agreement_does_not_cover_another_program_of_the_project() {
    let world = tasks(&[("A", "")]);
    let config = |command: &str| {
        let agent = format!("[defaults]\nagent = \"mine\"\nretries = 0\n[agents.mine]\ncommand = \"{command}\"\n");
        world.write("team-executor.toml", format!("{agent}env = {{ PASS = \"s3cr3t\" }}\n"));
    };
    config("exit 1");
    let refused = world.run(&["run", "--session=S", "-y"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert_eq!(world.run(&["run", "--session=S", "-y", "--trust-project"]).code, Some(1));
    assert_eq!(world.run(&["retry", "--failed", "--session=S"]).code, Some(0));
    assert_eq!(world.run(&["resume", "--session=S"]).code, Some(1), "the same program again");
    assert_eq!(world.run(&["retry", "--failed", "--session=S"]).code, Some(0));
    config("touch STOLEN");
    let refused = world.run(&["resume", "--session=S"]);
    assert!(refused.code == Some(2) && !world.dir().join("STOLEN").exists(), "{refused}");
}

#[test]
fn values_of_variables_are_not_remembered() {
    let world = tasks(&[("A", "")]);
    let agent = "[defaults]\nagent = \"mine\"\n[agents.mine]\ncommand = \"true\"\nenv = { PASS = \"s3cr3t\" }\n";
    world.write("team-executor.toml", agent);
    assert_eq!(world.run(&["run", "--session=S", "-y", "--trust-project"]).code, Some(0));
    let found = world.shell("grep -rl s3cr3t .workflow S ../home");
    assert_eq!((found.code, found.stdout.as_str()), (Some(1), ""), "{found}");
    let (world, _pulse) = killed(&["--env", "PASS=s3cr3t"]);
    let resumed = world.run(&["resume", "--session=S"]);
    assert!(resumed.code == Some(0) && resumed.stderr.contains("give --env PASS=VALUE"), "{resumed}");
    let found = world.shell("grep -rl s3cr3t .workflow S ../home");
    assert_eq!((found.code, found.stdout.as_str()), (Some(1), ""), "{found}");
}
