//! What coding agents report, and what they owe: a good report counts however the agent ends, a failure never counts as success,
//! and the next attempt knows why it is made. The agents are scripts that print what the real ones do.

use serde_json::{Value, json};
use team_executor_testkit::{Run, World};

use crate::coding_agents::{CLAUDE, CLAUDE_OK, CLAUDE_SAID, CODEX, GEMINI, USER, claude_says, fake, world};
use crate::run::{column, folder, read, rows};

fn run(world: &World, more: &[&str]) -> Run {
    world.run(&[&["run", "--session=S", "-y", "--retries", "0"], more].concat())
}

/// A line that a script prints.
fn echo(event: &Value) -> String {
    format!("printf '%s\\n' '{}'\n", event.to_string().replace('\'', r"'\''"))
}

/// Gemini that says these words, and ends well.
fn gemini_says(words: &str) -> String {
    let init = json!({"type": "init", "session_id": "g-1", "model": "pro"});
    let said = json!({"type": "message", "role": "assistant", "content": words, "delta": true});
    let done = json!({"type": "result", "status": "success", "stats": {"input_tokens": 1}});
    format!("cat >/dev/null\n{}{}{}", echo(&init), echo(&said), echo(&done))
}

/// R: A-11
#[test]
fn good_report_counts_whatever_the_exit_code() {
    let world = world(&[("A", ""), ("B", ""), ("C", "")]);
    fake(&world, CLAUDE, &format!("{}\nexit 1", claude_says(CLAUDE_OK)));
    fake(&world, GEMINI, &format!("{}\nexit 7", gemini_says(r#"{"status":"completed","findings":"g"}"#)));
    let killed = claude_says(CLAUDE_OK).replace("c-1", "c-2");
    fake(&world, ("killed", CLAUDE.1), &format!("{killed}\nkill -9 $$"));
    let config = "[defaults]\nagent = \"claude\"\n[agents.killed]\nkind = \"claude\"\nprogram = \"killed\"\n\
                  [tasks.B]\nagent = \"gemini\"\n[tasks.C]\nagent = \"killed\"\n";
    world.write(USER, config);
    let run = run(&world, &[]);
    assert_eq!(
        (run.code, column(&world, "findings")),
        (Some(0), ["All done.", "g", "All done."].map(str::to_owned).into()),
        "{run}"
    );
}

/// R: A-11
#[test]
fn failure_in_prose_never_counts_as_success() {
    let spellings = [
        r#"I tried. {"status":"failed","error":"no compiler"}"#,
        r#"{"status":"failed","error":"no compiler"} Sorry."#,
        "My report:\n```json\n{\"status\": \"failed\", \"error\": \"no compiler\"}\n```\nThat is all.",
        r#"{"STATUS": "FAILED", "error": "no compiler"}"#,
        r#"{"report": {"status": "failed", "error": "no compiler"}}"#,
        "{'status': 'failed', 'error': 'no compiler'}",
        "**Status:** failed, there is no compiler",
        "I could not do the task: there is no compiler",
    ];
    let ids: Vec<String> = (0..spellings.len()).map(|nth| format!("T{nth}")).collect();
    let tasks: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "")).collect();
    let world = world(&tasks);
    let cases = ids.iter().zip(spellings).map(|(id, words)| format!("{id}) {} ;;\n", gemini_says(words)));
    fake(&world, GEMINI, &format!("case $TEAM_EXECUTOR_TASK in\n{}esac", cases.collect::<String>()));
    let run = run(&world, &["--agent", "gemini"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert_eq!(column(&world, "status"), vec!["failed"; spellings.len()], "{run}");
    assert!(column(&world, "error").iter().all(|error| error.contains("compiler")), "{run}");
}

/// R: A-11
#[test]
fn gemini_in_a_loop_has_not_completed() {
    let world = world(&[("A", "")]);
    let looped = json!({"type": "error", "severity": "warning", "message": "Loop detected, stopping execution"});
    let says = gemini_says(r#"{"status":"completed"}"#);
    let (before, done) = says.rsplit_once("printf").expect("its last line");
    fake(&world, GEMINI, &format!("{before}{}printf{done}", echo(&looped)));
    let run = run(&world, &["--agent", "gemini"]);
    assert_eq!(
        (run.code, rows(&world)["A"]["error"].as_str()),
        (Some(1), "Loop detected, stopping execution"),
        "{run}"
    );
}

/// The agent keeps what it was asked: the first time it says nothing that is a report.
fn asked_twice(says: &str, reports: &str) -> String {
    format!(
        "echo $(printf %s \"$*\" | tr '\\n' ' ') >>args; cat >stdin-$TEAM_EXECUTOR_TASK\n\
         case \"$*\" in *resume*) {reports} ;; *) {says} ;; esac"
    )
}

/// R: A-11
#[test]
fn owed_report_is_asked_for_once_by_resuming_the_session() {
    let world = world(&[("A", ""), ("B", ""), ("C", "")]);
    let claude = asked_twice(&claude_says(CLAUDE_SAID), &claude_says(CLAUDE_OK));
    fake(&world, CLAUDE, &claude.replace("cat >/dev/null\n", ""));
    let codex = |words: &str| {
        let said = json!({"type": "item.completed", "item": {"type": "agent_message", "text": words}});
        let begun = json!({"type": "thread.started", "thread_id": "x-1"});
        let done = json!({"type": "turn.completed", "usage": {"input_tokens": 1}});
        format!("{}{}{}", echo(&begun), echo(&said), echo(&done))
    };
    fake(&world, CODEX, &asked_twice(&codex("Done, I think."), &codex(r#"{"status":"completed","findings":"x"}"#)));
    fake(&world, GEMINI, &asked_twice(&gemini_says("Done."), &gemini_says("Done!")).replace("cat >/dev/null\n", ""));
    world.write(USER, "[defaults]\nagent = \"claude\"\nconcurrency = 1\n[tasks.B]\nagent = \"codex\"\n[tasks.C]\nagent = \"gemini\"\n");
    let run = run(&world, &[]);
    assert_eq!(run.code, Some(1), "{run}");
    assert_eq!(column(&world, "findings"), ["All done.", "x", ""]);
    assert_eq!(rows(&world)["C"]["error"], "it ended without a report, and said: Done!");
    let args = read(world.dir().join("args"));
    let args: Vec<_> = args.lines().collect();
    assert_eq!(args.len(), 6, "each is asked once more: {args:?}");
    for (line, words) in [(1, " --resume c-1"), (3, " resume x-1 -"), (5, " --resume g-1")] {
        assert!(args[line].ends_with(words) && !args[line - 1].contains("resume"), "{args:?}");
    }
    let asked = read(world.dir().join("stdin-A"));
    assert!(asked.starts_with("Your report cannot be used:\n- there is no JSON object with a status\n"), "{asked}");
    let log = read(folder(&world).join("logs/A.1.out"));
    assert!(log.contains("\"team_executor\":\"asked again\""), "{log}");
}

/// R: A-11
#[test]
fn two_invalid_reports_and_a_last_word_are_no_completion() {
    let world = world(&[("A", "")]);
    let invalid = |words: &str| claude_says(&CLAUDE_SAID.replace("All done.", words));
    let body =
        asked_twice(&invalid(r#"{\"status\":\"completed\",\"quality_score\":\"high\"}"#), &invalid("All good now."));
    fake(&world, CLAUDE, &body.replace("cat >/dev/null\n", ""));
    let run = run(&world, &["--agent", "claude"]);
    let error = "it ended without a report, and said: All good now.";
    assert_eq!((run.code, rows(&world)["A"]["error"].as_str()), (Some(1), error), "{run}");
}

/// R: A-11
#[test]
fn denied_call_does_not_undo_what_was_delivered_and_reported() {
    let world = world(&[("A", ""), ("B", "")]);
    let denied = r#""permission_denials":[{"tool_name":"Write","tool_input":{"file_path":"/etc/x"}}],"subtype""#;
    let says = claude_says(&CLAUDE_OK.replacen("\"subtype\"", denied, 1)).replacen("\"permission_denials\":[],", "", 1);
    let body = format!("case $TEAM_EXECUTOR_TASK in A) echo made >\"$TEAM_EXECUTOR_ARTIFACTS/a.md\" ;; esac\n{says}");
    fake(&world, CLAUDE, &body);
    let run = run(&world, &["--agent", "claude"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert_eq!(column(&world, "status"), ["completed", "failed"], "B delivered nothing: {run}");
    let told = "A: it may not use Write (/etc/x); `permissions` of the agent decides that";
    assert!(run.stderr.split_whitespace().collect::<Vec<_>>().join(" ").contains(told), "{run}");
    assert!(rows(&world)["B"]["error"].contains("Write (/etc/x)"), "{run}");
}

/// R: A-13
#[test]
fn retry_gets_the_last_error_and_the_files() {
    let world = world(&[("A", "")]);
    let fails = r#"{\"status\":\"failed\",\"error\":\"no compiler in PATH\"}"#;
    let body = format!(
        "cat >prompt-$TEAM_EXECUTOR_ATTEMPT_NR\nif mkdir once 2>/dev/null; then echo half >\"$TEAM_EXECUTOR_ARTIFACTS/half.md\"\n{}\nelse {}\nfi",
        claude_says(&CLAUDE_SAID.replace("All done.", fails)),
        claude_says(CLAUDE_OK)
    );
    let body =
        body.replace("cat >/dev/null\n", "").replace("$TEAM_EXECUTOR_ATTEMPT_NR", "${TEAM_EXECUTOR_ATTEMPT##*/}");
    fake(&world, CLAUDE, &body);
    let run = world.run(&["run", "--session=S", "-y", "--agent", "claude", "--retries", "1"]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(!read(world.dir().join("prompt-1")).contains("## Why the last attempt failed"));
    let prompt = read(world.dir().join("prompt-2"));
    assert!(
        prompt.contains("## Why the last attempt failed\n") && prompt.contains("\nno compiler in PATH\n"),
        "{prompt}"
    );
    let left = folder(&world).join("quarantine/A.1");
    assert!(prompt.contains(&format!("are in {}. ", left.display())), "{prompt}");
    assert_eq!(read(left.join("half.md")), "half\n");
}

/// R: A-13
#[test]
fn failed_check_goes_back_into_the_same_session() {
    let world = world(&[("A", "")]);
    let body = format!(
        "echo $(printf %s \"$*\" | tr '\\n' ' ') >>args; cat >prompt-${{TEAM_EXECUTOR_ATTEMPT##*/}}\n\
         case \"$*\" in *'--resume c-1') echo more >>\"$TEAM_EXECUTOR_ARTIFACTS/a.md\" ;; *) echo one >\"$TEAM_EXECUTOR_ARTIFACTS/a.md\" ;; esac\n{}",
        claude_says(CLAUDE_OK).replace("cat >/dev/null\n", "")
    );
    fake(&world, CLAUDE, &body);
    world.write(USER, "[defaults]\nagent = \"claude\"\n[roles.worker.checks]\nverify = \"grep -q more $TEAM_EXECUTOR_ARTIFACTS/a.md\"\n");
    let run = run(&world, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    let args = read(world.dir().join("args"));
    assert_eq!(args.lines().filter(|line| line.ends_with("--resume c-1")).count(), 1, "{args}");
    assert_eq!(read(folder(&world).join("artifacts/A/a.md")), "one\nmore\n", "it went on with its own files");
    assert_eq!(read(folder(&world).join("quarantine/A.1/a.md")), "one\n", "the rejected version is kept");
    assert!(run.stderr.contains("A: rejected files are copied to quarantine/A.1\n"), "{run}");
    let prompt = read(world.dir().join("prompt-2"));
    assert!(prompt.contains("## What was not accepted") && prompt.contains("grep -q more"), "{prompt}");
}

/// R: A-13
#[test]
fn rejection_goes_back_into_the_same_session() {
    let world = world(&[("A", ""), ("B", "A")]);
    let body = format!(
        "echo $(printf %s \"$*\" | tr '\\n' ' ') >>args; cat >prompt-${{TEAM_EXECUTOR_ATTEMPT##*/}}\n\
         echo again >>\"$TEAM_EXECUTOR_ARTIFACTS/a.md\"\n{}",
        claude_says(CLAUDE_OK).replace("cat >/dev/null\n", "")
    );
    fake(&world, CLAUDE, &body);
    let rejection = json!({"status": "completed", "findings": "no",
        "data": {"verdict": "reject", "rejects": ["A"], "critique": "name the risks"}});
    let critic =
        format!("[ -e reviewed ] || {{ touch reviewed; echo '{rejection}' >$TEAM_EXECUTOR_RESULT; }}; echo fine");
    world.write("critic.sh", critic);
    world.write(
        USER,
        "[defaults]\nagent = \"claude\"\n[agents.critic]\ncommand = \"sh critic.sh\"\n[tasks.B]\nagent = \"critic\"\n",
    );
    let run = run(&world, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    let args = read(world.dir().join("args"));
    assert_eq!(
        (args.lines().count(), args.lines().filter(|line| line.ends_with("--resume c-1")).count()),
        (2, 1),
        "{args}"
    );
    assert_eq!(read(folder(&world).join("artifacts/A/a.md")), "again\nagain\n", "it went on with its own files");
    assert_eq!(read(folder(&world).join("quarantine/A.1/a.md")), "again\n", "the rejected version is kept");
    assert!(read(world.dir().join("prompt-2")).contains("name the risks"));
}
