//! Every button of the page, pressed in Chromium on runs that go on, wait or have ended. The browser notes each button that can
//! be pressed at any time; in the end none may be left that was not.

use std::process::Stdio;

use serde_json::{Value, json};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Terminal, World};

use super::browser::{Browser, Stage, write_later};
use super::{Served, session};
use crate::conversations::asked::ASKS;
use crate::conversations::{configure, world as conversing};
use crate::run::{column, tasks};

/// What can be done about needs and problems, and in the drawer of a task.
const EXPECTED: [&str; 37] = [
    "Accept",
    "Add a note …",
    "Allow",
    "Allow edit",
    "Approve",
    "Back",
    "Cancel",
    "Cancel the task",
    "Cancel…",
    "Close the conversation",
    "Close this message",
    "Copy the command",
    "Decline",
    "Deny",
    "Deny edit",
    "Interrupt",
    "Pause",
    "Recheck",
    "Redo …",
    "Restart",
    "Restart …",
    "Restart…",
    "Resume",
    "Retry",
    "Retry …",
    "Retry all",
    "Retry with all behind it…",
    "Retry…",
    "Say",
    "Say…",
    "Send back …",
    "Show an artifact",
    "Save an artifact",
    "Skip",
    "Skip…",
    "Stop",
    "Stop now",
];

/// R: U-04
#[test]
fn every_view_opens_and_every_button_acts() {
    let Some(mut browser) = Browser::start() else { return };
    failed_waves(&mut browser);
    proposals(&mut browser);
    checkpoints(&mut browser);
    conversations(&mut browser);
    trouble(&mut browser);
    let stage = steer(&mut browser);
    deliveries(&mut browser, &stage);
    let buttons = browser.step("buttons", json!({}));
    assert_eq!(buttons["unpressed"], json!([]), "{buttons:#}");
    let pressed: Vec<&str> = buttons["pressed"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let missing: Vec<_> = EXPECTED.iter().filter(|label| !pressed.contains(label)).collect();
    assert!(missing.is_empty(), "{missing:?} of {pressed:?}");
    assert_eq!(browser.step("problems", json!({})), json!([]), "nothing went wrong in the page");
}

/// The page of the runs of a world, open in the browser.
fn open(browser: &mut Browser, world: &World) -> Served {
    let page = Served::start(world, &[]);
    browser.step("open", json!({"address": page.address}));
    page
}

/// The address of the newest run of a session.
fn run_of(page: &Served, session: &str) -> String {
    limited_until("the run in the list", || {
        let list = page.document("/api/runs");
        let runs = list["runs"].as_array().expect("runs").iter();
        let run = runs
            .filter(|run| run["session"].as_str().is_some_and(|path| path.ends_with(session)))
            .find_map(|run| run["run"].as_str());
        run.map(|run| format!("/r/{run}"))
    })
}

/// Waits until a document of the page says so.
fn until(page: &Served, path: &str, what: &str, is_so: impl Fn(&Value) -> bool) {
    limited_until(what, || is_so(&page.document(&format!("/api{}", path.replacen("/r/", "/runs/", 1)))).then_some(()));
}

/// A run that goes on: its views, its header, its failed task and the drawers of its tasks.
fn steer(browser: &mut Browser) -> Stage {
    let world =
        session(&[("WAIT", ""), ("HANG", ""), ("BAD", ""), ("NEXT", "WAIT"), ("LAST", "NEXT"), ("AFTER", "BAD")]);
    write_later(&world);
    let mut stage = Stage::new(world, &["WAIT", "HANG"]);
    let mut executor = stage.run(&[]);
    stage.alive.iter_mut().for_each(|pulse| pulse.wait_alive(1));
    let page = open(browser, &stage.world);
    let run = run_of(&page, "TC-x");
    let at = |task: &str| format!("{run}/t/{task}");
    let task = |task: &str| format!("{run}/tasks/{task}");
    browser.step("views", json!({"run": run.trim_start_matches("/r/"), "task": "WAIT"}));
    browser.step("shown", json!({"path": run, "texts": ["Problems", "BAD", "WAIT", "HANG", "Needs you"]}));
    browser.step("press", json!({"button": "Pause", "then": "Resume"}));
    browser.step("card", json!({"button": "Close this message"}));
    until(&page, &run, "the pause", |run| run["stage"] == "paused");
    browser.step("press", json!({"button": "Resume", "then": "Pause"}));
    browser.step("press", json!({"button": "Pause", "then": "Resume"}));
    browser.step("card", json!({"path": "/inbox", "button": "Resume"}));
    until(&page, &run, "its end", |run| run["stage"] == "going on");
    browser.step("card", json!({"path": run, "button": "Retry BAD …", "words": "", "label": "Cancel"}));
    browser.step("card", json!({"button": "Retry BAD …", "words": "mind the step", "send": "Retry"}));
    until(&page, &task("BAD"), "attempt 2", |task| task["attempt"] == 2 && task["status"] == "failed");
    browser.step("shown", json!({"path": format!("{}?tab=log", at("BAD")), "texts": ["it still breaks"]}));
    browser.step("search", json!({"text": "breaks", "count": 2}));
    assert_eq!(browser.step("saves", json!({"button": "Save"})), "it breaks\nit still breaks\n");
    browser.step("asked", json!({"path": at("BAD"), "button": "Retry…"}));
    browser.step("ask", json!({"path": at("BAD"), "button": "Retry…", "words": "again", "send": "Retry"}));
    until(&page, &task("BAD"), "attempt 3", |task| task["attempt"] == 3 && task["status"] == "failed");
    let behind = json!({"path": at("BAD"), "button": "Retry with all behind it…", "words": "all", "send": "Retry all"});
    browser.step("ask", behind);
    until(&page, &task("BAD"), "attempt 4", |task| task["attempt"] == 4 && task["status"] == "failed");
    browser.step("ask", json!({"path": at("HANG"), "button": "Restart…", "words": "faster", "send": "Restart"}));
    until(&page, &task("HANG"), "attempt 2", |task| task["attempt"] == 2 && task["status"] == "in_progress");
    let cancel = json!({"path": at("HANG"), "button": "Cancel…", "words": "it hangs", "send": "Cancel the task"});
    browser.step("ask", cancel);
    until(&page, &task("HANG"), "its end", |task| task["status"] == "failed");
    browser.step("ask", json!({"path": at("LAST"), "button": "Skip…", "words": "not needed", "send": "Skip"}));
    until(&page, &task("LAST"), "its end", |task| task["status"] == "skipped");
    browser.step("card", json!({"path": run, "button": "Stop"}));
    browser.step("waits", json!({"texts": ["draining"]}));
    browser.step("card", json!({"button": "Stop now"}));
    executor.limited_wait();
    browser.step("waits", json!({"texts": ["no executor has this run"]}));
    let copied = browser.step("copies", json!({}));
    assert_eq!(copied, "team-executor resume --session=.workflow/.team/TC-x");
    let mut resumed = stage.world.command(&["resume", super::SESSION, "-y"]);
    let mut resumed = resumed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    stage.gates[0].open();
    resumed.limited_wait();
    browser.step("waits", json!({"texts": ["finished", "2 of 6", "failed", "skipped"]}));
    stage
}

/// What a finished run delivered, seen, saved, and done again when it was changed.
fn deliveries(browser: &mut Browser, stage: &Stage) {
    let folder = crate::run::folder(&stage.world);
    std::fs::write(folder.join("artifacts/NEXT/note.md"), "something longer\n").expect("it was delivered");
    let page = open(browser, &stage.world);
    let run = run_of(&page, "TC-x");
    browser.step("shown", json!({"path": format!("{run}/t/NEXT?tab=artifacts"), "texts": ["note.md"]}));
    browser.step("card", json!({"button": "Show artifacts/NEXT/note.md"}));
    browser.step("waits", json!({"texts": ["something longer"]}));
    assert_eq!(browser.step("saves", json!({"button": "Save artifacts/NEXT/note.md"})), "something longer\n");
    browser.step("card", json!({"path": run, "button": "Redo NEXT …", "words": "as it was", "send": "Redo"}));
    until(&page, &format!("{run}/tasks/NEXT"), "it waits again", |task| task["status"] != "completed");
}

/// Slow workers, and a task that is tried again.
fn trouble(browser: &mut Browser) {
    let world = session(&[("A", ""), ("B", ""), ("C", ""), ("D", "A;B;C"), ("R", "A;B;C")]);
    let mut stage = Stage::new(world, &["D", "R"]);
    let mut executor = stage.run(&["--retries", "3"]);
    stage.alive.iter_mut().for_each(|pulse| pulse.wait_alive(1));
    let page = open(browser, &stage.world);
    let run = run_of(&page, "TC-x");
    let task = |task: &str| format!("{run}/tasks/{task}");
    browser.step("card", json!({"path": run, "button": "Restart D …", "words": "faster", "send": "Restart"}));
    until(&page, &task("D"), "attempt 2", |task| task["attempt"] == 2 && task["status"] == "in_progress");
    browser.step("card", json!({"path": run, "button": "Cancel D"}));
    until(&page, &task("D"), "its end", |task| task["status"] == "failed");
    browser.step("press", json!({"button": "Pause", "then": "Resume"}));
    stage.world.write("fails", "");
    stage.gates[1].open();
    browser.step("card", json!({"path": run, "button": "Skip R"}));
    until(&page, &task("R"), "its end", |task| task["status"] == "skipped");
    executor.limited_wait();
    browser.step("shown", json!({"path": run, "texts": ["finished", "3 of 5"]}));
}

/// Agents that ask, one after the other, one that is spoken to, and one that is sent away.
fn conversations(browser: &mut Browser) {
    let acts = "case $TEAM_EXECUTOR_TASK in E) case $line in *'the other way'*) done_with 'the other way';; esac;; F) ;; *) ask edit 'Writing to a.md';; esac";
    let world = conversing(&["A", "B", "C", "D", "E", "F"], acts, "");
    configure(&world, "", ASKS);
    let mut command = world.command(&["run", "--session=S", "-y"]);
    let mut executor = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let page = open(browser, &world);
    let run = run_of(&page, "S");
    let at = |task: &str| format!("{run}/t/{task}");
    browser.step("card", json!({"path": "/inbox", "button": "Allow A"}));
    browser.step("card", json!({"path": run, "button": "Deny B"}));
    browser.step("card", json!({"path": at("C"), "button": "Allow edit"}));
    browser.step("card", json!({"path": at("D"), "button": "Deny edit"}));
    browser.step("card", json!({"path": at("E"), "button": "Interrupt"}));
    browser.step("ask", json!({"path": at("E"), "button": "Say…", "words": "the other way", "send": "Say"}));
    browser.step("card", json!({"path": at("F"), "button": "Close the conversation"}));
    assert_eq!(executor.limited_wait().code(), Some(1));
    assert_eq!(column(&world, "findings"), ["allowed", "denied", "allowed", "denied", "the other way", ""]);
}

/// Each decision at a checkpoint, while no executor has the run.
fn checkpoints(browser: &mut Browser) {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let table =
        "id,title,deps,role\nA,Do A,,worker\nB,Do B,,worker\nREVIEW,Review,A;B,reviewer\nSHIP,Ship,REVIEW,worker\n";
    let reject = r#"{"status":"completed","findings":"no","data":{"verdict":"reject","critique":"no tests"}}"#;
    let worker = format!("if [ $TEAM_EXECUTOR_TASK = REVIEW ]; then echo '{reject}' >$TEAM_EXECUTOR_RESULT; fi");
    let decisions = [
        ("Approve REVIEW", None),
        ("Send back REVIEW …", Some(("with tests", "Send back"))),
        ("Recheck REVIEW", None),
        ("Redo A REVIEW …", Some(("A alone", "Redo A"))),
        ("Add a note REVIEW …", Some(("mind the tests", "Add a note"))),
    ];
    for (nth, _) in (0..).zip(&decisions) {
        world.write(&format!("S{nth}/tasks.csv"), table);
        let stopped =
            world.run(&["run", &format!("--session=S{nth}"), "--agent-command", &worker, "-y", "--rounds", "0"]);
        assert_eq!(stopped.code, Some(3), "{stopped}");
    }
    let page = open(browser, &world);
    for (nth, (button, with)) in (0..).zip(decisions) {
        let run = run_of(&page, &format!("S{nth}"));
        let mut step = json!({"path": run, "button": button});
        if let Some((words, send)) = with {
            (step["words"], step["send"]) = (words.into(), send.into());
        }
        browser.step("card", step);
        limited_until(button, || {
            let status = world.run(&["status", &format!("--session=S{nth}"), "--format", "json"]);
            let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
            (status["decisions"].as_array().map(Vec::len) == Some(1)).then_some(())
        });
    }
}

/// Tasks that a worker proposed.
fn proposals(browser: &mut Browser) {
    let world = tasks(&[("A", ""), ("B", "")]);
    let propose =
        "team-executor task create X-$TEAM_EXECUTOR_TASK --title \"about $TEAM_EXECUTOR_TASK\" --assignee worker";
    let done = crate::run::run(&world, propose, &[]);
    assert_eq!(done.code, Some(0), "{done}");
    let page = open(browser, &world);
    let run = run_of(&page, "S");
    browser.step("card", json!({"path": run, "button": "Decline X-B"}));
    browser.step("waits", json!({"texts": ["Accept"], "not": ["X-B"]}));
    browser.step("card", json!({"button": "Accept X-A"}));
    limited_until("the task in the session", || {
        world.run(&["task", "list", "--session=S"]).stdout.contains("X-A").then_some(())
    });
}

/// Waves of which every task failed: a small one and a large one.
fn failed_waves(browser: &mut Browser) {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let many: String = (1..=21).map(|nth| format!("T{nth},Do it,,worker,\n")).collect();
    world.write("S/tasks.csv", "id,title,deps,role,run_on\nA,Do A,,worker,\nB,Do B,A,worker,failure\n");
    world.write("M/tasks.csv", format!("id,title,deps,role,run_on\n{many}Z,Last,T1,worker,failure\n"));
    let waves = ["--cadence", "wave", "--retries", "0", "--on-complete", "auto_keep"];
    let begin = |session: &str| {
        let args = [&["run", session, "--agent-command", "test -e ok || exit 7"], &waves[..]].concat();
        let mut terminal = Terminal::start(world.command(&args));
        terminal.wait_for("Start? [Y/n]").say("y").wait_for("and Enter\n");
        terminal
    };
    let (mut small, large) = (begin("--session=S"), begin("--session=M"));
    let page = open(browser, &world);
    let run = run_of(&page, "M");
    browser.step("card", json!({"path": run, "button": "Retry all"}));
    browser.step("waits", json!({"texts": ["is to be retried"]}));
    browser.step("press", json!({"button": "Stop", "then": "Stop"}));
    drop(large.end());
    let run = run_of(&page, "S");
    world.write("ok", "");
    browser.step("card", json!({"path": run, "button": "Retry …", "words": "", "send": "Retry"}));
    browser.step("waits", json!({"texts": ["is to be retried"]}));
    browser.step("card", json!({"button": "Resume"}));
    small.wait_for("1 skipped, 1 of 2 completed\n");
    drop(small.end());
}
