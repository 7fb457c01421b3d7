//! How people reach a conversation while it goes on, and how one that takes too long comes to its end.

use serde_json::Value;
use team_executor_testkit::World;

use super::{RUN, log, pulse, start, talk, world};
use crate::run::ends::end;
use crate::run::{column, folder, read, rows};

/// R: A-07
#[test]
fn an_agent_is_spoken_to_interrupted_and_waited_for() {
    let world = world(
        &["A"],
        "case $n in 1) printf . >beats ;; *) case $line in *'the other way'*) done_with 'the other way' ;; esac ;; esac",
        "",
    );
    let mut pulse = pulse(&world);
    let executor = start(&world);
    pulse.wait_alive(1);
    let listed = talk(&world, &["--format", "json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let conversation = &listed["conversations"][0];
    assert_eq!(
        (&conversation["task"], &conversation["state"], &conversation["session_id"]),
        (&"A".into(), &"at work".into(), &"s-1".into())
    );
    let interrupted = talk(&world, &["interrupt", "A"]);
    assert_eq!(interrupted.stdout, "A: interrupted: it waits for instructions\n", "{interrupted}");
    let sent = talk(&world, &["send", "A", "the", "other way"]);
    assert!(sent.code == Some(0) && sent.stdout.starts_with("A: "), "{sent}");
    let (code, out) = end(executor);
    assert_eq!(code, Some(0), "{out}");
    assert_eq!(column(&world, "findings"), ["the other way"]);
    let heard = read(world.dir().join("heard"));
    let last = heard.lines().rfind(|line| line.contains("session/prompt")).expect("a prompt");
    assert!(
        last.contains("You were interrupted while you did this task") && last.contains("## Role Assignment"),
        "{last}"
    );
    let gone = talk(&world, &["send", "A", "too late"]);
    assert!(gone.code == Some(2) && gone.stderr.contains("no agent converses about task 'A' now\nhelp: "), "{gone}");
}

/// R: X-03
#[test]
fn conversation_ended_with_the_run_begins_again() {
    // Without another try: what failed would be over.
    let world = world(&["A"], "if [ -e again ]; then done_with 'at last'; else say 'not yet'; printf . >beats; fi", "");
    let mut pulse = pulse(&world);
    let executor = start(&world);
    pulse.wait_alive(1);
    let stopped = world.run(&["stop", "--now", "--session=S"]);
    assert_eq!(stopped.code, Some(0), "{stopped}");
    let (code, out) = end(executor);
    assert_eq!(code, Some(130), "{out}");
    assert!(!folder(&world).join(".executor/talk").exists(), "no conversation can be reached any more");
    assert_eq!((column(&world, "status"), column(&world, "error")), (vec!["pending".to_owned()], vec![String::new()]));
    world.write("again", "");
    let run = world.run(&RUN);
    assert_eq!((run.code, column(&world, "findings")), (Some(0), vec!["at last".to_owned()]), "{run}");
}

#[test]
fn conversation_closed_by_a_person_fails_for_good() {
    let world = world(&["A"], "printf . >beats", "");
    let mut pulse = pulse(&world);
    let executor = start(&world);
    pulse.wait_alive(1);
    let closed = talk(&world, &["close", "A", "--format", "json"]);
    assert!(closed.stdout.contains("\"did\": \"closed\""), "{closed}");
    assert_eq!(end(executor).0, Some(1));
    assert_eq!(rows(&world)["A"]["error"], "a person closed the conversation before it was done");
}

/// R: W-13
#[test]
fn slow_conversation_is_urged_closed_and_the_wave_goes_on() {
    let body = "case $TEAM_EXECUTOR_TASK-$n in *-1) ;; A-2) done_with 'what I have' ;; esac";
    let world = world(&["A", "B"], body, "total = \"300ms\"\nconverge = \"10s\"");
    let table = read(world.dir().join("S/tasks.csv"));
    world.write(
        "S/tasks.csv",
        format!("{table}C,,Do it,,,csv-wave,slow,1,pending,,\nD,,Do it,,,csv-wave,quick,1,pending,,\n"),
    );
    let config = read(world.dir().join("home-of-config/team-executor/config.toml"));
    let own = "[agents.sleeps]\ncommand = \"sleep 600\"\n[agents.quick]\ncommand = \"true\"\n[roles.slow]\nagent = \"sleeps\"\n\
               [roles.quick]\nagent = \"quick\"\nlimits = { total = \"1m\" }\n[tasks.B]\nlimits = { converge = \"200ms\" }\n";
    world.write("home-of-config/team-executor/config.toml", format!("{config}{own}"));
    let run = world.run(&[RUN.as_slice(), &["--cadence", "wave"]].concat());
    assert_eq!(run.code, Some(1), "{run}");
    let rows = rows(&world);
    assert_eq!(rows["A"]["findings"], "what I have");
    assert_eq!(rows["B"]["error"], "timed out: it was asked to finish and did not");
    assert_eq!((rows["C"]["error"].as_str(), rows["D"]["status"].as_str()), ("timed out", "completed"));
    for task in ["A", "B"] {
        assert!(log(&world, task).contains("\"team_executor\":\"urged\""), "{task}");
    }
    assert!(read(world.dir().join("heard")).contains("Your time is almost over"));
    let built_in = World::new(env!("CARGO_BIN_EXE_team-executor")).run(&["config", "--format", "json"]).stdout;
    let built_in: Value = serde_json::from_str(&built_in).expect("JSON");
    let settings = built_in["settings"].as_array().expect("a list");
    for (mode, time) in [("csv-wave", "30m"), ("interactive", "10m")] {
        let key = format!("defaults.limits.total ({mode})");
        assert!(settings.iter().any(|one| one["key"] == key.as_str() && one["value"] == time), "{key}: {built_in}");
    }
}
