//! What stops a run, and what is wrong with one.

use serde_json::{Value, json};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, World};

use super::{only, paste, paste_action, requests, status};
use crate::coding_agents::{CLAUDE, CLAUDE_OK, USER, claude_says, fake, world as agents};
use crate::run::ends::end;
use crate::run::times::moment;
use crate::run::{column, folder, run, start, tasks};

/// Waits until a run has a problem of this kind.
pub(crate) fn until(world: &World, kind: &str) -> Value {
    limited_until(kind, || {
        let status = status(world);
        let found = status["problems"].as_array().is_some_and(|all| all.iter().any(|one| one["kind"] == kind));
        found.then(|| only(&status, "problems", kind))
    })
}

/// R: U-01
#[test]
fn login_and_budget_that_stop_a_run_are_needs() {
    let world = agents(&[("A", ""), ("B", "")]);
    fake(&world, CLAUDE, "cat >/dev/null; [ -e in ] || { echo 'Error: not logged in' >&2; exit 1; }\n");
    world.write(USER, "[defaults]\nagent = \"claude\"\nretries = 0\nconcurrency = 1\n");
    assert_eq!(world.run(&["run", "--session=S", "-y"]).code, Some(3));
    let login = only(&status(&world), "needs", "login");
    assert_eq!(login["task"], "A");
    assert!(login["why"].as_str().is_some_and(|why| why.contains("log in with `claude /login`")), "{login:#}");
    fake(&world, CLAUDE, &claude_says(CLAUDE_OK));
    let done = paste(&world, &login);
    assert_eq!((done.code, column(&world, "status")), (Some(0), vec!["completed".to_owned(); 2]), "{done}");

    let world = agents(&[("A", ""), ("B", "")]);
    fake(&world, CLAUDE, &claude_says(CLAUDE_OK));
    world.write(USER, "[defaults]\nagent = \"claude\"\nconcurrency = 1\n");
    assert_eq!(world.run(&["run", "--session=S", "-y", "--budget-usd", "0.25"]).code, Some(3));
    let before = status(&world);
    let budget = only(&before, "needs", "budget");
    assert_eq!((&budget["why"], &budget["actions"][0]["request"]), (&before["reason"], &Value::Null));
    assert_eq!(budget["do"], "team-executor resume --session=S --budget-usd 0.50");
    let done = paste(&world, &budget);
    assert_eq!((done.code, column(&world, "status")), (Some(0), vec!["completed".to_owned(); 2]), "{done}");
}

/// R: U-01
#[test]
fn failures_name_what_was_skipped_and_how_to_retry() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B"), ("-1", "")]);
    let worker = r"case $TEAM_EXECUTOR_TASK in A|-1) [ -e ok ] || { printf '\033[2J<img src=x onerror=alert(1)>\n' >&2; exit 7; };; esac";
    assert_eq!(run(&world, worker, &["--retries", "0"]).code, Some(1));
    let before = status(&world);
    assert_eq!((&before["attention_counts"]["failed"], &before["problems"][2]["kind"]), (&2.into(), &"skipped".into()));
    let skipped = only(&before, "problems", "skipped");
    assert_eq!(
        (&skipped["task"], &skipped["why"]),
        (&"A".into(), &"2 tasks were skipped because A failed: B, C".into())
    );
    let text = world.run(&["status", "--session=S"]).stdout;
    assert!(text.starts_with("Problems: 3\n  failed ") && !text.contains('\u{1b}'), "{text}");
    assert!(text.contains("exit code 7: <img src=x onerror=alert(1)>\n"), "{text}");
    let failed: Vec<&Value> =
        before["problems"].as_array().expect("a list").iter().filter(|one| one["kind"] == "failed").collect();
    for one in &failed {
        assert!(one["why"].as_str().is_some_and(|why| why.starts_with("exit code 7: ")), "{one:#}");
        let log = paste_action(&world, one, "Log");
        assert!(log.code == Some(0) && log.stdout.contains("onerror"), "{log}");
        assert_eq!(requests(one)[0].2["tasks"], json!([one["task"]]));
        let retried = paste(&world, one);
        assert_eq!(retried.code, Some(0), "{retried}");
    }
    assert_eq!(status(&world)["problems"], json!([]), "the skipped tasks come back with what they wait for");
    world.write("ok", "");
    let done = paste(&world, &only(&status(&world), "needs", "stopped"));
    assert_eq!((done.code, column(&world, "status")), (Some(0), vec!["completed".to_owned(); 4]), "{done}");
}

/// R: U-01
#[test]
fn work_out_of_rounds_and_changed_artifacts_are_problems() {
    let world = tasks(&[("A", ""), ("B", "")]);
    world.write("team-executor.toml", "[tasks.A.checks]\nfiles = [\"work.md\"]\n");
    let worker = "[ $TEAM_EXECUTOR_TASK = A ] && [ ! -e ok ] || echo made >$TEAM_EXECUTOR_ARTIFACTS/work.md";
    assert_eq!(run(&world, worker, &["--rounds", "0"]).code, Some(3), "a person is asked too");
    let found = only(&status(&world), "problems", "out_of_rounds");
    assert!(found["why"].as_str().is_some_and(|why| why.contains("work.md")), "{found:#}");
    world.write("ok", "");
    assert_eq!(paste(&world, &found).code, Some(0));
    let done = paste(&world, &only(&status(&world), "needs", "stopped"));
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(status(&world)["problems"], json!([]));

    let artifacts = folder(&world).join("artifacts");
    std::fs::remove_file(artifacts.join("A/work.md")).expect("it was delivered");
    let missing = only(&status(&world), "problems", "artifact");
    assert_eq!(
        (&missing["task"], &missing["why"]),
        (&"A".into(), &"artifacts/A/work.md is missing since it was delivered".into())
    );
    let verified = paste(&world, &missing);
    assert!(
        verified.code == Some(1) && verified.to_string().contains("is missing since it was delivered"),
        "{verified}"
    );
    std::fs::write(artifacts.join("A/work.md"), "made\n").expect("it is put back");
    std::fs::write(artifacts.join("B/work.md"), "something longer\n").expect("it is changed");
    let changed = only(&status(&world), "problems", "artifact");
    assert_eq!(
        (&changed["task"], &changed["why"]),
        (&"B".into(), &"artifacts/B/work.md changed since it was delivered".into())
    );
    let retried = paste_action(&world, &changed, "Redo");
    assert_eq!(retried.code, Some(0), "{retried}");
}

/// R: U-01
#[test]
fn silent_slow_and_retried_workers_are_problems() {
    let world = tasks(&[("A", ""), ("B", ""), ("C", ""), ("D", "A;B;C")]);
    let gate = Gate::new(world.dir().join("gate"));
    let worker = format!(
        "[ $TEAM_EXECUTOR_TASK = D ] || exit 0; [ -e once ] || {{ : >once; exit 5; }}; echo did; cat {}",
        gate.arg()
    );
    let executor = start(&world, &worker);
    let retrying = until(&world, "retrying");
    assert!(retrying["why"].as_str().is_some_and(|why| why.ends_with("exit code 5")), "{retrying:#}");
    assert_eq!(paste(&world, &retrying).code, Some(0));
    let slow = until(&world, "slow");
    assert_eq!(slow["task"], "D");
    assert!(slow["why"].as_str().is_some_and(|why| why.starts_with("at work for ")), "{slow:#}");
    let log = paste(&world, &slow);
    assert!(log.code == Some(0) && log.stdout.ends_with("did\n"), "{log}");
    gate.open();
    assert_eq!(end(executor).0, Some(0));

    let world = tasks(&[("A", "")]);
    world.write("team-executor.toml", "[defaults.limits]\nidle = \"12s\"\n");
    let gate = Gate::new(world.dir().join("gate"));
    let executor = start(&world, &format!("echo did; cat {}", gate.arg()));
    let silent = until(&world, "silent");
    assert!(silent["why"].as_str().is_some_and(|why| why.contains("; it fails after 12")), "{silent:#}");
    assert_eq!(paste(&world, &silent).code, Some(0));
    let labels: Vec<String> = requests(&silent).into_iter().map(|(label, ..)| label).collect();
    assert_eq!(labels, ["Log", "Restart", "Cancel"]);
    gate.open();
    assert_eq!(end(executor).0, Some(0));
}

/// R: U-01
#[test]
fn agent_without_quota_is_a_problem_with_its_end() {
    let world = agents(&[("A", "")]);
    let refused = r#""subtype":"success","is_error":true,"api_error_status":429,"result":"Rate limit reached, try again in 600s","usage":{}"#;
    fake(&world, CLAUDE, &format!("{}\nexit 1", claude_says(refused)));
    world.write(USER, "[defaults]\nagent = \"claude\"\n");
    let mut command = world.command(&["run", "--session=S", "-y", "--retries", "0"]);
    let mut executor =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    let quota = until(&world, "quota");
    assert!(quota["why"].as_str().is_some_and(|why| why.starts_with("no quota for claude, ")), "{quota:#}");
    assert!(moment(&quota["since"]) < moment(&quota["until"]), "{quota:#}");
    assert_eq!(paste(&world, &quota).code, Some(0));
    executor.kill().expect("killed");
    executor.limited_wait();
}

/// The most that is listed of a kind; all are counted.
#[test]
fn long_lists_are_cut_and_counted() {
    let ids: Vec<String> = (0..150).map(|nth| format!("T{nth}")).collect();
    let all: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "")).collect();
    let world = tasks(&all);
    assert_eq!(run(&world, "exit 7", &["--retries", "0", "-c", "8"]).code, Some(1));
    let status = status(&world);
    assert_eq!(status["problems"].as_array().map(Vec::len), Some(100));
    assert_eq!(status["attention_counts"]["failed"], 150);
    let text = world.run(&["status", "--session=S"]).stdout;
    assert!(text.starts_with("Problems: 150\n") && text.contains("\n  … and 140 more with --format json\n"), "{text}");
    assert_eq!(world.run(&["retry", "--failed", "--session=S"]).code, Some(0));
}
