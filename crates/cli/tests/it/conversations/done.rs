//! What comes of a conversation: a report, once more if it does not fit, and never a failure that looks like success.

use serde_json::Value;

use super::{RUN, configure, log, put, world};
use crate::run::{column, folder, read, rows};

#[test]
fn acp_agent_completes_a_task_with_known_usage() {
    let world = world(&["A"], "echo made >\"$TEAM_EXECUTOR_ARTIFACTS/out.md\"; done_with 'by protocol'", "");
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), ["by protocol"]);
    assert_eq!(read(folder(&world).join("artifacts/A/out.md")), "made\n");
    let heard = read(world.dir().join("heard"));
    let methods: Vec<String> = heard
        .lines()
        .filter_map(|line| Some(serde_json::from_str::<Value>(line).ok()?["method"].as_str()?.to_owned()))
        .collect();
    // The first greeting only asks who it is.
    assert_eq!(methods, ["initialize", "initialize", "session/new", "session/prompt"], "{heard}");
    assert!(heard.contains("## Role Assignment") && heard.contains("TEAM_EXECUTOR_RESULT is the file"), "{heard}");
    let status = world.run(&["status", "--session=S", "--format", "json"]).stdout;
    let status: Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!(status["usage"]["total"]["tokens_in"], 100, "{status}");
    assert_eq!(status["usage"]["attempts"][0]["session_id"], "s-1", "{status}");
    assert!(!folder(&world).join(".executor/talk/A.1").exists(), "its door is gone");
    assert_eq!(world.living("TEAM_EXECUTOR_RUN"), []);
}

#[test]
fn silent_conversation_times_out() {
    let world = world(&["A"], "say 'wait a moment'", "idle = \"200ms\"");
    let run = world.run(&RUN);
    assert_eq!((run.code, rows(&world)["A"]["error"].as_str()), (Some(1), "timed out: no more output"), "{run}");
}

#[test]
fn conversation_ending_in_an_error_fails_with_its_reason() {
    let body = "case $TEAM_EXECUTOR_TASK in A) say 'unexpected status 400 Bad Request'; turn end_turn ;; *) turn refusal ;; esac";
    let world = world(&["A", "B"], body, "");
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(1), "{run}");
    let errors = column(&world, "error");
    assert_eq!(errors[0], "it ended without a report, and said: unexpected status 400 Bad Request");
    assert_eq!(errors[1], "the agent stopped: refusal");
}

#[test]
fn wrong_report_is_asked_for_once_more() {
    let body = "case $n in 1) say '{\"status\":\"perhaps\",\"findings\":[]}'; turn end_turn ;; *) done_with 'as asked' ;; esac";
    let world = world(&["A"], body, "");
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), ["as asked"]);
    let heard = read(world.dir().join("heard"));
    assert_eq!(heard.matches("session/new").count(), 1, "{heard}");
    let wrong = r"- `status` must be `completed` or `failed`\n- `findings` must be a text\n";
    assert!(heard.contains(wrong), "{heard}");
    assert!(log(&world, "A").contains("\"team_executor\":\"asked again\""));

    let never = super::world(&["A"], "say 'I am done.'; turn end_turn", "");
    let run = never.run(&RUN);
    assert_eq!(run.code, Some(1), "{run}");
    assert_eq!(read(never.dir().join("heard")).matches("session/prompt").count(), 2, "once more, not for ever");
    assert_eq!(rows(&never)["A"]["error"], "it ended without a report, and said: I am done.");
}

/// Qwen ends so: what it says behind its report must find a reader, else it exits with 1.
/// R: A-11
#[test]
fn last_words_of_an_agent_are_heard_until_it_has_ended() {
    let body = "echo made >\"$TEAM_EXECUTOR_ARTIFACTS/out.md\"; done_with \"did $TEAM_EXECUTOR_TASK\"";
    let tasks: Vec<String> = (0..50).map(|nth| format!("T{nth:02}")).collect();
    let ids: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let world = world(&ids, "", "");
    // It reads to the end of its input, then prints much, and fails if its output is not read.
    let flood = "trap '' PIPE\ni=0; while [ $i -lt 200 ]; do i=$((i+1)); printf '{\"last\":\"%2000s\"}\\n' $i || exit 1; done\nput '{\"last\":\"word\"}' || exit 1\n";
    let agent = super::ACP.replace("PROMPTED", body).replace("LOADS", "false");
    put(&world, "agent", &format!("{agent}{flood}"));
    let table = read(world.dir().join("S/tasks.csv")).replace("interactive", "csv-wave");
    world.write("S/tasks.csv", table);
    let run = world.run(&[RUN.as_slice(), &["-c", "4"]].concat());
    assert_eq!(run.code, Some(0), "{run}");
    let status = column(&world, "status");
    assert_eq!(status.iter().filter(|status| *status == "completed").count(), 50, "{run}");
    for task in &tasks {
        assert!(log(&world, task).ends_with("{\"last\":\"word\"}\n"), "{task}");
    }
}

#[test]
fn program_without_the_protocol_is_refused_before_start() {
    let world = world(&["A"], "", "");
    for (text, why) in [
        ("#!/bin/sh\nexit 0\n", "ends without speaking the Agent Client Protocol: is it the right program?"),
        (
            "#!/bin/sh\nread -r line; echo '{\"id\":1,\"result\":{\"protocolVersion\":2}}'; cat >/dev/null\n",
            "does not speak version 1 of the Agent Client Protocol",
        ),
    ] {
        put(&world, "agent", text);
        let run = world.run(&RUN);
        assert!(run.code == Some(2) && run.stderr.contains(why), "{run}");
    }
    let listed = world.run(&["agents", "fake"]);
    assert!(
        listed.stdout.contains("not usable: ")
            && listed.stdout.contains("help: install the newest with: the command of its makers, or correct"),
        "{listed}"
    );
    assert!(!world.dir().join(".workflow").exists());
    configure(&world, "", "converse = false");
    let run = world.run(&RUN);
    assert!(run.stderr.contains("[agents.fake] must converse: its permissions or its kind need that"), "{run}");
}
