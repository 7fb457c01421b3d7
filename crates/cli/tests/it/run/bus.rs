//! The message bus, used by people and by workers inside a run, some of them hostile.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStringExt as _;

use serde_json::Value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Run, World};

use super::{arguments, column, folder, read, run, tasks};

/// The program, for workers.
pub(super) const BIN: &str = env!("CARGO_BIN_EXE_team-executor");

pub(super) fn data(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
}

fn messages(world: &World) -> Vec<Value> {
    let list = data(&world.run(&["msg", "list", "--session=S", "--format", "json"]));
    list["messages"].as_array().expect("messages").clone()
}

fn said(world: &World, name: &str) -> Vec<String> {
    messages(world).iter().map(|message| message[name].as_str().unwrap_or_default().to_owned()).collect()
}

/// R: E-10
#[test]
fn people_send_read_and_broadcast_messages() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let msg = |args: &[&str]| {
        let run = world.run(&[&["msg"], args, &["--session=S"]].concat());
        assert_eq!(run.code, Some(0), "{run}");
        run
    };
    assert_eq!(msg(&["log", "hello"]).stdout, "MSG-001 user -> all [message] hello\n");
    msg(&["log", "half done", "--from", "worker", "--to", "lead", "--type", "state_update", "--data", "{\"step\": 2}"]);
    assert_eq!(
        msg(&["broadcast", "we use UTC", "--wisdom", "decisions"]).stdout,
        "MSG-003 user -> all [broadcast] we use UTC\n"
    );
    let lines = read(world.dir().join("S/.msg/messages.jsonl"));
    let second: Value = serde_json::from_str(lines.lines().nth(1).expect("a line")).expect("JSON");
    let keys: Vec<_> = second.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["data", "from", "id", "summary", "to", "ts", "type"]);
    assert_eq!(read(world.dir().join("S/wisdom/decisions.md")), "# Decisions\n- [user] we use UTC\n");
    assert_eq!(read(world.dir().join("S/.msg/meta.json")), "{\n  \"worker\": {\"step\": 2}\n}\n");

    assert_eq!(msg(&["list", "--from", "worker"]).stdout, "MSG-002 worker -> lead [state_update] half done\n");
    assert_eq!(msg(&["list", "--to", "lead", "--last", "2"]).stdout.lines().count(), 2);
    assert_eq!(msg(&["list", "--type", "none"]).stdout, "No messages\n");
    assert_eq!(msg(&["read", "MSG-002"]).stdout, "MSG-002 worker -> lead [state_update] half done\n  {\"step\": 2}\n");
    let missing = world.run(&["msg", "read", "MSG-9", "--session=S"]);
    assert_eq!(missing.code, Some(2), "{missing}");
    assert!(
        missing.stderr.contains("there is no message 'MSG-9'\nhelp: see the last ones: team-executor msg list"),
        "{missing}"
    );
    let status = msg(&["status"]).stdout;
    assert!(
        status.contains("worker: 1 message; last: MSG-002 worker -> lead [state_update] half done\n  {\"step\": 2}\n")
    );
    assert!(status.contains("user: 2 messages; last: MSG-003"), "{status}");
    let status = data(&msg(&["status", "--format", "json"]));
    assert_eq!(status["roles"][1]["state"]["step"], 2, "{status}");

    assert_eq!(msg(&["get-state"]).stdout, "A pending: \nB pending: \n");
    assert_eq!(run(&world, "echo found $TEAM_EXECUTOR_TASK", &[]).code, Some(0));
    let state = data(&msg(&["get-state", "B", "--format", "json"]));
    assert_eq!(
        (&state["tasks"][0]["status"], &state["tasks"][0]["findings"]),
        (&"completed".into(), &"found B".into())
    );
    assert_eq!(world.run(&["msg", "get-state", "C", "--session=S"]).code, Some(2));
    let nowhere = world.run(&["msg", "list"]);
    assert!(nowhere.stderr.starts_with("error: Session required."), "{nowhere}");
}

/// R: E-10
#[test]
fn worker_message_has_its_true_role_and_attempt() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    world.write("other/tasks.csv", "id,title,role,deps,status\nX,Do X,r,,pending\n");
    let worker = format!(
        r#"cd /; cat >/dev/null
        {BIN} msg log "from $TEAM_EXECUTOR_TASK" --to lead --data '{{"attempt":"forged","n":1}}' || exit 1
        TEAM_EXECUTOR_ROLE=lead {BIN} msg log 'by variable' || exit 2
        {BIN} msg log forged --from lead && exit 3
        TEAM_EXECUTOR_TASK=X {BIN} msg log forged && exit 4
        TEAM_EXECUTOR_ATTEMPT=${{TEAM_EXECUTOR_ATTEMPT%/*}}/7 {BIN} msg log forged && exit 5
        {BIN} msg log forged --session={other} && exit 6
        {BIN} msg broadcast "learned in $TEAM_EXECUTOR_TASK" || exit 7
        env | grep ^TEAM_EXECUTOR_ | sed 's/=/="/; s/$/"/; s/^/export /' > "$TEAM_EXECUTOR_ARTIFACTS/env"
        echo said"#,
        other = world.dir().join("other").display()
    );
    let done = run(&world, &worker, &["--retries", "0"]);
    assert_eq!(done.code, Some(0), "{done}\n{:?}", column(&world, "error"));
    assert_eq!(said(&world, "from"), ["worker"; 6]);
    assert_eq!(said(&world, "summary")[..3], ["from A", "by variable", "learned in A"]);
    let attempt = messages(&world)[0]["data"]["attempt"].as_str().expect("an attempt").to_owned();
    assert!(attempt.starts_with("EX-S-") && attempt.ends_with("/A/1"), "{attempt}");
    assert_eq!((&messages(&world)[0]["data"]["n"], &messages(&world)[0]["task_id"]), (&1.into(), &"A".into()));
    assert_eq!(
        read(world.dir().join("S/wisdom/learnings.md")),
        "# Learnings\n- [A] learned in A\n- [B] learned in B\n"
    );
    // A process with the environment of an attempt that is over may not report for it.
    let env = folder(&world).join("artifacts/A/env");
    let script = format!(". {}; exec {BIN} msg log late", env.display());
    let late = std::process::Command::new("sh").args(["-c", &script]).limited_output();
    assert_eq!(late.status.code(), Some(2));
    let error = String::from_utf8_lossy(&late.stderr).into_owned();
    assert!(error.contains("/A/1 is not running\nhelp: "), "{error}");
    assert_eq!(messages(&world).len(), 6);
}

/// R: E-10
#[test]
fn empty_message_is_refused_and_unknown_recipient_reported() {
    let world = tasks(&[("A", "")]);
    for words in [&["log", " "][..], &["broadcast", ""]] {
        let empty = world.run(&[&["msg"], words, &["--session=S"]].concat());
        assert_eq!(empty.code, Some(2), "{empty}");
        assert!(empty.stderr.contains("error: the message is empty, so nothing was said\nhelp: "), "{empty}");
    }
    assert!(!world.dir().join("S/.msg/messages.jsonl").exists());
    let near = world.run(&["msg", "log", "hi", "--to", "wroker", "--session=S"]);
    let warning = "the session has no role 'wroker'; did you mean worker?";
    assert!(near.code == Some(0) && near.stderr == format!("warning: {warning}\n"), "{near}");
    let data = world.run(&["msg", "log", "hi", "--to", "wroker", "--session=S", "--format", "json"]);
    assert!(data.stderr.is_empty() && data.stdout.contains(warning), "{data}");
    for known in ["worker", "all", "user"] {
        let said = world.run(&["msg", "log", "hi", "--to", known, "--session=S"]);
        assert!(said.code == Some(0) && said.stderr.is_empty(), "{said}");
    }
}

#[test]
fn twenty_writers_at_once_lose_nothing() {
    let ids: Vec<String> = (0..20).map(|number| format!("T-{number}")).collect();
    let world = tasks(&ids.iter().map(|id| (id.as_str(), "")).collect::<Vec<_>>());
    let worker = format!("for n in 1 2 3; do {BIN} msg log \"$TEAM_EXECUTOR_TASK $n\" || exit 1; done");
    let done = run(&world, &worker, &["-c", "20", "--retries", "0"]);
    assert_eq!(done.code, Some(0), "{done}");
    let ids: BTreeSet<_> = said(&world, "id").into_iter().collect();
    let summaries: BTreeSet<_> = said(&world, "summary").into_iter().collect();
    assert_eq!((ids.len(), summaries.len(), messages(&world).len()), (60, 60, 60));
    assert_eq!(ids.last().map(String::as_str), Some("MSG-060"));
}

#[test]
fn hostile_lines_cost_only_themselves_and_are_named() {
    let world = tasks(&[("A", "")]);
    let worker = format!(
        r#"log=$TEAM_EXECUTOR_SESSION/.msg/messages.jsonl
        {BIN} msg log one || exit 1
        head -c 1100000 /dev/zero | tr '\0' x >> $log; echo >> $log
        printf '{{"id":"MSG-\377"}}\n{{"torn' >> $log
        {BIN} msg log two || exit 2
        {BIN} msg log big --data "\"$(head -c 100000 /dev/zero | tr '\0' y)\"" && exit 3
        {BIN} msg log odd --data '{{oops' && exit 4
        {BIN} msg log "$(printf 'a\033[2Jb\nc')" || exit 5
        echo done"#
    );
    let done = run(&world, &worker, &["--retries", "0"]);
    assert_eq!(done.code, Some(0), "{done}\n{:?}", column(&world, "error"));
    let errors = read(folder(&world).join("logs/A.1.err"));
    assert!(errors.contains("the limit is 65536\nhelp: write it to a file"), "{errors}");
    assert!(errors.contains("error: the data is not JSON: "), "{errors}");
    assert_eq!(said(&world, "summary"), ["one", "two", "a\u{1b}[2Jb\nc"]);
    assert_eq!(said(&world, "id"), ["MSG-001", "MSG-002", "MSG-003"]);
    let list = world.run(&["msg", "list", "--session=S"]);
    for line in ["line 2 cannot be read", "line 3 cannot be read", "line 4 cannot be read"] {
        assert!(list.stderr.contains(&format!("warning: .msg/messages.jsonl: {line} and was skipped")), "{list}");
    }
    assert!(list.stdout.ends_with("MSG-003 worker -> all [message] a␛[2Jb␊c\n"), "{list}");
    let warnings = &data(&world.run(&["msg", "list", "--session=S", "--format", "json"]))["warnings"];
    assert_eq!(warnings.as_array().map(Vec::len), Some(3), "{warnings}");
    // Bytes that are no text are refused before anything is written.
    let bytes = std::ffi::OsString::from_vec(b"a\xff".to_vec());
    let odd = world.command(&["msg", "log", "--session=S"]).arg(bytes).limited_output();
    assert_eq!(odd.status.code(), Some(2));
    assert_eq!(messages(&world).len(), 3);
}

#[test]
fn a_worker_sees_what_its_task_builds_on() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "")]);
    let worker = format!(
        r#"case $TEAM_EXECUTOR_TASK in
        B) {BIN} msg get-state --format json > "$TEAM_EXECUTOR_ARTIFACTS/own"
           {BIN} msg get-state C > "$TEAM_EXECUTOR_ARTIFACTS/other" ;;
        *) echo '{{"status":"completed","findings":"f"}}' > "$TEAM_EXECUTOR_RESULT" ;;
        esac"#
    );
    assert_eq!(world.run(&arguments("--session=S", &worker, &["-c", "1"])).code, Some(0));
    let own: Value = super::json(folder(&world).join("artifacts/B/own"));
    let shown: Vec<_> =
        own["tasks"].as_array().expect("tasks").iter().map(|task| (&task["id"], &task["status"])).collect();
    assert_eq!(shown, [(&Value::from("A"), &Value::from("completed"))]);
    let other = read(folder(&world).join("artifacts/B/other"));
    assert!(other == "C ready: \n" || other == "C completed: f\n", "{other}");
}
