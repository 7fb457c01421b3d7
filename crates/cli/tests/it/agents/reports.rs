//! What real agents report: a failure in prose is none the less one, and an owed report is asked for once.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Kind, Part, RUN, found, script, team, turns};
use crate::run::ends::{end, wait_for};
use crate::run::{column, folder, read, rows};

fn part(agent: &'static str) -> Part {
    Part { task: "WORK-001", role: "worker", agent, file: "work.md" }
}

/// Only the report is asked for: one turn more, and nothing is written twice.
/// R: A-11
#[test]
fn real_agents_that_owe_a_report_are_asked_by_resuming() {
    for agent in ["claude", "codex", "gemini"] {
        let Some((world, model)) = team(&[part(agent)], Kind::Known) else { continue };
        let mut turns = turns(Kind::Known, "WORK-001", "work.md");
        let words = json!({"do": {"text": "I am done."}});
        turns.insert(1, words);
        script(&world, "worker", &turns);
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        assert_eq!(column(&world, "findings"), [found("WORK-001")], "{agent}");
        let log = read(folder(&world).join("logs/WORK-001.1.out"));
        assert!(log.contains("\"team_executor\":\"asked again\""), "{agent}: {log}");
        let asked = model.rest();
        assert_eq!(asked.iter().filter(|asked| asked.turn == 0).count(), 1, "{agent} does it once: {asked:?}");
    }
}

/// R: A-11
#[test]
fn real_agents_that_fail_in_prose_have_failed() {
    let words = "I am sorry.\n```json\n{\"STATUS\": \"FAILED\", \"error\": \"no compiler\"}\n```\nTry later.";
    for (agent, kind) in [("codex", Kind::Known), ("gemini", Kind::Known), ("claude", Kind::Conversing)] {
        let Some((world, _model)) = team(&[part(agent)], kind) else { continue };
        let mut turns = turns(Kind::Known, "WORK-001", "work.md");
        turns.truncate(1);
        turns.push(json!({"do": {"text": words}}));
        script(&world, "worker", &turns);
        let run = world.run(&RUN);
        assert_eq!((run.code, column(&world, "status")), (Some(1), vec!["failed".to_owned()]), "{agent}: {run}");
        assert!(rows(&world)["WORK-001"]["error"].contains("no compiler"), "{agent}: {run}");
    }
}

/// A person says no to a command; the agent goes on without it and is done.
/// R: A-11
#[test]
fn real_agents_go_on_after_a_person_denied() {
    for agent in ["claude", "codex", "gemini"] {
        let Some((world, model)) = team(&[part(agent)], Kind::Conversing) else { continue };
        if agent == "codex" && !model.is_apart() {
            continue; // its sandbox needs what the machine does not allow
        }
        let config = read(world.dir().join("team-executor.toml"));
        world.write("team-executor.toml", config.replace("permissions = \"edit\"", "permissions = \"ask\""));
        let report = turns(Kind::Known, "WORK-001", "work.md").pop().expect("a report");
        script(&world, "worker", &[json!({"do": {"shell": "touch denied.md"}}), report]);
        let mut command = world.command(&RUN);
        let mut executor = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        wait_for(&mut executor, "WORK-001 asks to use ");
        let denied = world.run(&["talk", "deny", "WORK-001", "--session=S"]);
        assert_eq!(denied.code, Some(0), "{agent}: {denied}");
        let (code, out) = end(executor);
        assert_eq!(code, Some(0), "{agent}: {out}");
        assert_eq!(column(&world, "findings"), [found("WORK-001")], "{agent}");
        assert!(!world.dir().join("denied.md").exists(), "{agent}");
    }
}

/// The sessions of the agent are gone when its work is sent back: it begins anew, and no attempt is lost.
/// R: A-13
#[test]
fn real_agents_begin_anew_where_their_session_is_gone() {
    for (agent, sessions) in [("claude", ".claude/projects"), ("codex", ".codex/sessions")] {
        for kind in [Kind::Known, Kind::Conversing] {
            let Some((world, model)) = team(&[part(agent)], kind) else { continue };
            let home = world.dir().with_file_name("home-of-worker").join(sessions);
            let verify = format!("test -e second || {{ touch second; rm -rf {}; false; }}", home.display());
            let config = read(world.dir().join("team-executor.toml"));
            world.write("team-executor.toml", format!("{config}[roles.worker.checks]\nverify = {verify:?}\n"));
            let run = world.run(&RUN);
            assert_eq!(run.code, Some(0), "{agent}: {run}");
            assert_eq!(column(&world, "findings"), [found("WORK-001")], "{agent}");
            let log = read(folder(&world).join("logs/WORK-001.2.out"));
            assert!(log.contains("\"team_executor\":\"not resumed\""), "{agent}: {log}");
            assert!(!folder(&world).join("logs/WORK-001.3.out").exists(), "{agent}: {run}");
            assert_eq!(model.rest().iter().filter(|asked| asked.turn == 0).count(), 2, "{agent}: {run}");
        }
    }
}

/// What Claude may not do it goes on without, and a person is told.
/// R: A-11
#[test]
fn real_claude_that_was_denied_one_call_has_completed() {
    for kind in [Kind::Known, Kind::Conversing] {
        let Some((world, _model)) = team(&[part("claude")], kind) else { continue };
        let outside = world.dir().with_file_name("outside.md");
        let denied = json!({"do": {"write": {"path": outside.display().to_string(), "content": "x"}}});
        let turns = [&[denied], &turns(kind, "WORK-001", "work.md")[..]].concat();
        script(&world, "worker", &turns);
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{run}");
        assert_eq!(column(&world, "findings"), [found("WORK-001")]);
        let said = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("WORK-001: it may not use Write ("), "{run}");
        assert!(said.contains("outside.md); `permissions` of the agent decides that"), "{run}");
        assert!(!outside.exists());
    }
}

/// Gemini forgets a turn that was interrupted, so it hears its task again with the next message.
/// R: A-13
#[test]
fn interrupted_gemini_gets_its_task_again() {
    let Some((world, mut model)) = team(&[part("gemini")], Kind::Conversing) else { return };
    let mut all = turns(Kind::Known, "WORK-001", "work.md");
    all[0]["hang"] = json!({"times": 1});
    world.write("scripts/worker.json", json!({"tasks": {"WORK-001": all}}).to_string());
    let mut command = world.command(&RUN);
    let executor = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    while model.asked().status != 0 {}
    let interrupted = world.run(&["talk", "interrupt", "WORK-001", "--session=S"]);
    assert_eq!(interrupted.code, Some(0), "{interrupted}");
    let sent = world.run(&["talk", "send", "WORK-001", "go on", "--session=S"]);
    assert_eq!(sent.code, Some(0), "{sent}");
    let (code, out) = end(executor);
    assert_eq!(code, Some(0), "{out}");
    assert_eq!(column(&world, "findings"), [found("WORK-001")], "{out}");
    assert_eq!(read(folder(&world).join("artifacts/WORK-001/work.md")), "# work.md\n");
}

/// A check that fails goes back into the session, where the agent remembers what it did.
/// R: A-13
#[test]
fn real_agents_hear_of_a_failed_check_in_their_session() {
    for agent in ["claude", "codex", "gemini"] {
        let Some((world, model)) = team(&[part(agent)], Kind::Known) else { continue };
        let config = read(world.dir().join("team-executor.toml"));
        let checks = "[roles.worker.checks]\nverify = \"grep -q better $TEAM_EXECUTOR_ARTIFACTS/work.md\"\n";
        world.write("team-executor.toml", format!("{config}{checks}"));
        let mut all = turns(Kind::Known, "WORK-001", "work.md");
        let mut better: Vec<Value> = all.clone();
        better[0]["do"]["write"]["content"] = json!("better\n");
        // A file that is there must be read before some agents write it again.
        better[0]["do"] = json!({"shell": "printf better >\"$TEAM_EXECUTOR_ARTIFACTS/work.md\""});
        all.extend([better[0].clone(), better[0].clone(), better[1].clone()]);
        script(&world, "worker", &all);
        let config = read(world.dir().join("team-executor.toml"));
        world.write("team-executor.toml", config.replace("permissions = \"edit\"", "permissions = \"full\""));
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        assert_eq!(read(folder(&world).join("artifacts/WORK-001/work.md")), "better", "{agent}");
        let rejected = read(folder(&world).join("quarantine/WORK-001.1/work.md"));
        assert_eq!(rejected, all[0]["do"]["write"]["content"].as_str().unwrap(), "{agent}");
        let asked = model.rest();
        assert_eq!(asked.iter().filter(|asked| asked.turn == 0).count(), 1, "{agent} began once: {asked:?}");
    }
}
