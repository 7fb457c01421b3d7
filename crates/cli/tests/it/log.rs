//! The log of the program itself: who gets one, and what it never says.

use std::os::unix::fs::symlink;

use team_executor_testkit::World;

use crate::coding_agents::USER;
use crate::run::{folder, read, run, tasks};

const SECRET: &str = "hunter2-of-the-environment";
const PROMPT: &str = "words-of-the-prompt";
const ANSWER: &str = "words-of-the-agent";

/// A run whose secrets a worker knows, with its log at the deepest level.
fn logged(world: &World, more: &[&str]) -> team_executor_testkit::Run {
    let table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n";
    world.write("S/tasks.csv", format!("{table}A,,{PROMPT},,,csv-wave,worker,,pending,,\n"));
    world.write(USER, "[agents.sh]\ncommand = \"sh work.sh\"\npass_env = [\"API_KEY\"]\n");
    let work = "cat; echo $API_KEY $TEAM_EXECUTOR_TOKEN | tee $TEAM_EXECUTOR_ARTIFACTS/known; echo WORDS >&2; exit 3";
    world.write("work.sh", work.replace("WORDS", ANSWER));
    world.run(&[&["run", "--session=S", "--agent=sh", "-y", "--retries=1"], more].concat())
}

#[test]
fn log_names_tasks_and_attempts_but_no_secret_and_no_text() {
    let mut world = tasks(&[("A", "")]);
    let home = world.dir().join("home-of-config").display().to_string();
    world.env("XDG_CONFIG_HOME", &home).env("API_KEY", SECRET).env("TEAM_EXECUTOR_LOG", "trace");
    let ended = logged(&world, &["--log=the.log"]);
    assert_eq!(ended.code, Some(1), "{ended}");
    let log = read(world.dir().join("the.log"));
    for said in
        ["lock taken", "task{id=\"A\"}:attempt{number=2}", "record=\"failed\"", "record=\"finished\"", "worker ended"]
    {
        assert!(log.contains(said), "{said}: {log}");
    }
    let known = read(folder(&world).join("artifacts/A/known"));
    let token = known.split_whitespace().last().expect("a token").to_owned();
    assert!(known.contains(SECRET) && token.len() > 10, "{known}");
    for unsaid in [SECRET, PROMPT, ANSWER, &token] {
        assert!(!log.contains(unsaid), "{unsaid}: {log}");
    }
    assert!(!ended.stderr.contains("recorded"), "{ended}");
}

#[test]
fn log_is_off_goes_to_the_terminal_or_is_appended_to_a_file() {
    let mut world = tasks(&[("A", "")]);
    let quiet = run(&world, "true", &[]);
    assert!(!quiet.stderr.contains("team_executor_engine"), "{quiet}");
    world.env("TEAM_EXECUTOR_LOG", "info");
    world.write("T/tasks.csv", read(world.dir().join("S/tasks.csv")).replace("completed", "pending"));
    let told = world.run(&["run", "--session=T", "--agent-command=true", "-y"]);
    assert!(told.stderr.contains("record=\"finished\"") && !told.stderr.contains("record=\"claimed\""), "{told}");
    world.write("the.log", "before\n");
    world.run(&["--log=the.log", "status", "--session=S"]);
    assert!(read(world.dir().join("the.log")).starts_with("before\n"));
}

#[test]
fn log_that_cannot_be_opened_or_understood_is_refused() {
    let mut world = tasks(&[("A", "")]);
    let refused = world.run(&["sessions", "--log=none/the.log"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("cannot open the log none/the.log: "), "{refused}");
    world.write("target", "");
    symlink("target", world.dir().join("link.log")).expect("a link");
    let refused = world.run(&["sessions", "--log=link.log"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("link.log: it is a link"), "{refused}");
    world.env("TEAM_EXECUTOR_LOG", "loud");
    let refused = world.run(&["sessions"]);
    assert!(
        refused.code == Some(2) && refused.stderr.contains("`loud` in TEAM_EXECUTOR_LOG is not a level"),
        "{refused}"
    );
}
