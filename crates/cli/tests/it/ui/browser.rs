//! The page in Chromium, driven by playwright-core: what a person sees and does.

use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Chromium, Gate, Pulse, World};

use super::{SESSION, Served, session};

/// A script that drives a browser, a step at a time.
pub(super) struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _profile: tempfile::TempDir,
}

/// The folder of what is built.
pub(super) fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("")
}

impl Browser {
    pub(super) fn start() -> Option<Self> {
        let needed = ["playwright-core", "axe-core"];
        let Chromium { program, modules } = Chromium::find(&target(), &needed, "the page in a browser")?;
        let profile = tempfile::tempdir().expect("a folder");
        let script = profile.path().join("page.mjs");
        std::fs::write(&script, include_str!("page.mjs")).expect("a script");
        let mut node = Command::new("node");
        node.arg(script).arg(modules).arg(program).env("HOME", profile.path()).env("TMPDIR", profile.path());
        let mut child = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node starts");
        let (input, output) = (child.stdin.take().expect("input"), child.stdout.take().expect("output"));
        Some(Self { child, input, output: BufReader::new(output), _profile: profile })
    }

    /// Lets the script do a step, and waits for what it says of it.
    pub(super) fn step(&mut self, name: &str, with: Value) -> Value {
        writeln!(self.input, "{}", json!({"step": name, "with": with})).expect("the script listens");
        let line = self.output.limited_line().unwrap_or_else(|| panic!("the script ended in `{name}`"));
        let told: Value = serde_json::from_str(&line).expect("JSON");
        assert!(told["error"].is_null(), "{name}: {}", told["error"].as_str().unwrap_or_default());
        told["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without its input it closes the browser and ends.
        let _asked = writeln!(self.input, "{}", json!({"step": "end"}));
        if std::thread::panicking() {
            let _killed = self.child.kill();
        }
        self.child.limited_wait();
    }
}

/// Tasks that wait at gates, each told apart by its own.
pub(super) struct Stage {
    pub(super) world: World,
    worker: String,
    pub(super) gates: Vec<Gate>,
    pub(super) alive: Vec<Pulse>,
}

impl Stage {
    /// The first tasks wait; the others say something and end.
    pub(super) fn new(world: World, waiting: &[&str]) -> Self {
        let (mut gates, mut alive, mut cases) = (Vec::new(), Vec::new(), String::new());
        for task in waiting {
            let pulse = Pulse::new(world.dir().join(format!("alive-{task}")));
            let gate = Gate::new(world.dir().join(format!("gate-{task}")));
            cases += &format!("{task}) echo waiting; printf x > {}; cat {};; ", pulse.arg(), gate.arg());
            gates.push(gate);
            alive.push(pulse);
        }
        let worker = format!(
            "case $TEAM_EXECUTOR_TASK in {cases} BAD) echo it breaks; echo it still breaks; exit 1;; esac; \
             [ ! -e fails ] || exit 1; echo note >$TEAM_EXECUTOR_ARTIFACTS/note.md; echo did $TEAM_EXECUTOR_TASK"
        );
        Self { world, worker, gates, alive }
    }

    /// Starts it; nothing is tried again, unless it says so.
    pub(super) fn run(&self, more: &[&str]) -> Child {
        let retries = if more.is_empty() { &["--retries", "0"] } else { more };
        let words = [&["run", SESSION, "--agent-command", &self.worker, "-y", "-c3"], retries].concat();
        let mut command = self.world.command(&words);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    }
}

/// A session that was never run.
pub(super) fn write_later(world: &World) {
    world.write(".workflow/.team/TC-later/tasks.csv", "id,title,deps,role\nX,Do X,,worker\nY,Do Y,X,worker\n");
}

fn kill(child: &mut Child) {
    kill_process(Pid::from_child(child), Signal::KILL).expect("it lives");
    child.limited_wait();
}

/// R: U-04
#[test]
fn killed_executor_is_said_and_resumed_run_goes_on_in_the_page() {
    let Some(mut browser) = Browser::start() else { return };
    let mut stage = Stage::new(session(&[("A", ""), ("B", "A")]), &["A"]);
    let mut executor = stage.run(&[]);
    stage.alive[0].wait_alive(1);
    let page = Served::start(&stage.world, &[]);
    let run = page.document("/api/runs")["runs"][0]["run"].as_str().expect("a run").to_owned();
    browser.step("open", json!({"address": page.address}));
    browser.step("shown", json!({"path": format!("/r/{run}"), "texts": ["running", "A"]}));
    kill(&mut executor);
    browser.step(
        "waits",
        json!({"texts": ["no executor has this run", "team-executor resume --session=.workflow/.team/TC-x"]}),
    );
    let mut resumed = stage.world.command(&["resume", SESSION, "-y"]);
    let mut resumed = resumed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    browser.step("waits", json!({"texts": ["running"], "not": ["no executor has this run"]}));
    stage.alive[0].wait_alive(1);
    stage.gates[0].open();
    assert!(resumed.limited_wait().success());
    browser.step("waits", json!({"texts": ["finished", "2 of 2"]}));
    assert_eq!(browser.step("problems", json!({})), json!([]));
}

/// R: U-04
#[test]
fn seven_tabs_are_all_kept_up_to_date() {
    let Some(mut browser) = Browser::start() else { return };
    let mut stage = Stage::new(session(&[("A", ""), ("B", "A")]), &["A"]);
    let mut executor = stage.run(&[]);
    stage.alive[0].wait_alive(1);
    let page = Served::start(&stage.world, &[]);
    let run = page.document("/api/runs")["runs"][0]["run"].as_str().expect("a run").to_owned();
    browser.step("open", json!({"address": page.address}));
    // Only the first tab has the token; the others get it from there.
    browser.step("tabs", json!({"count": 7, "path": format!("/r/{run}"), "text": "running"}));
    stage.gates[0].open();
    assert!(executor.limited_wait().success());
    browser.step("all_tabs", json!({"text": "2 of 2"}));
    assert_eq!(browser.step("problems", json!({})), json!([]));
}

/// R: U-04
#[test]
fn hostile_text_is_shown_and_does_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let title = "<img src=x onerror=window.hit=1> \u{202e}evil\u{202c} <script>window.hit=1</script>";
    world.write(".workflow/.team/TC-x/tasks.csv", format!("id,title,deps,role\nA,{title},,\"<b>role</b>\"\n"));
    let worker = "printf '<img src=x onerror=window.hit=1>\\033]0;title\\007\\033[31mred\\033[0m \\000nul \\342\\200\\256rtl\\n'; \
                  printf '<script>window.hit=1</script>' > \"$TEAM_EXECUTOR_ARTIFACTS/<img src=x onerror=hit()>.html\"; \
                  echo '<svg onload=window.hit=1>'; exit 0";
    let run = world.run(&["run", SESSION, "--agent-command", worker, "-y"]);
    assert_eq!(run.code, Some(0), "{run}");
    let page = Served::start(&world, &[]);
    let run = page.document("/api/runs")["runs"][0]["run"].as_str().expect("a run").to_owned();
    browser.step("open", json!({"address": page.address}));
    let seen = browser.step("hostile", json!({"run": run, "task": "A"}));
    assert_eq!(seen["hit"], false, "{seen}");
    let log = seen["log"].as_str().expect("text");
    assert!(log.contains("<img src=x onerror=window.hit=1>red ␀nul \u{fffd}rtl"), "{log:?}");
    assert_eq!(seen["red"], "red", "colours are classes");
    assert!(
        seen["title"].as_str().is_some_and(|text| text.contains("<img src=x") && !text.contains('\u{202e}')),
        "{seen}"
    );
    assert_eq!(browser.step("problems", json!({})), json!([]));
}

/// R: U-04
#[test]
fn page_is_accessible_in_both_colour_schemes() {
    let Some(mut browser) = Browser::start() else { return };
    let world = session(&[("WAIT", ""), ("BAD", ""), ("NEXT", "WAIT"), ("AFTER", "BAD")]);
    write_later(&world);
    let mut stage = Stage::new(world, &["WAIT"]);
    let mut executor = stage.run(&[]);
    stage.alive[0].wait_alive(1);
    let page = Served::start(&stage.world, &[]);
    let run = page.document("/api/runs")["runs"][0]["run"].as_str().expect("a run").to_owned();
    browser.step("open", json!({"address": page.address}));
    for scheme in ["light", "dark"] {
        let found = browser.step("axe", json!({"run": run, "task": "WAIT", "scheme": scheme}));
        assert_eq!(found, json!([]), "{scheme}");
    }
    browser.step("keys", json!({"run": run}));
    browser.step("narrow", json!({"run": run, "task": "WAIT"}));
    stage.gates[0].open();
    executor.limited_wait();
    assert_eq!(browser.step("problems", json!({})), json!([]));
}

/// The pictures of the documentation. They are written there only where `TEAM_EXECUTOR_SCREENSHOTS` names the folder.
#[test]
fn pictures_of_the_documentation_can_be_made() {
    let Some(mut browser) = Browser::start() else { return };
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let table = "id,title,deps,role\n\
                 PLAN-001,Plan the invoice export,,planner\n\
                 API-001,Describe the endpoints,PLAN-001,architect\n\
                 DB-001,Add the table of exports,PLAN-001,architect\n\
                 IMPL-001,Write the exporter,API-001;DB-001,builder\n\
                 IMPL-002,Write the endpoint,API-001;DB-001,builder\n\
                 IMPL-003,Show exports on the page,API-001,builder\n\
                 MAIL-001,Send a mail when it is done,DB-001,builder\n\
                 TEST-001,Test exporter and endpoint,IMPL-001;IMPL-002,tester\n\
                 TEST-002,Test the page,IMPL-003,tester\n\
                 DOC-001,Document the export,MAIL-001,writer\n\
                 REVIEW-001,Review everything,TEST-001;TEST-002;DOC-001,reviewer\n";
    world.write(".workflow/.team/TC-invoice-export/tasks.csv", table);
    let mut pulses = Vec::new();
    let mut cases = String::new();
    let mut gates = Vec::new();
    for task in ["IMPL-001", "IMPL-002", "IMPL-003"] {
        let (pulse, gate) =
            (Pulse::new(world.dir().join(format!("a-{task}"))), Gate::new(world.dir().join(format!("g-{task}"))));
        cases += &format!("{task}) echo 'edits src/export.rs'; printf x > {}; cat {};; ", pulse.arg(), gate.arg());
        pulses.push(pulse);
        gates.push(gate);
    }
    let worker = format!(
        "case $TEAM_EXECUTOR_TASK in {cases} MAIL-001) echo 'error: the mail server refused the connection'; exit 1;; esac; sleep 0.4; echo done"
    );
    let args = ["run", "--session=TC-invoice-export", "--agent-command", &worker, "-y", "-c4", "--retries", "0"];
    let mut executor = world.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    pulses.iter_mut().for_each(|pulse| pulse.wait_alive(1));
    let page = Served::start(&world, &[]);
    let run = page.document("/api/runs")["runs"][0]["run"].as_str().expect("a run").to_owned();
    browser.step("open", json!({"address": page.address}));
    let folder = std::env::var_os("TEAM_EXECUTOR_SCREENSHOTS").map_or_else(|| world.dir().to_owned(), PathBuf::from);
    let shots = [
        (format!("/r/{run}"), "MAIL-001", "page-run.png", "light", 1180),
        (format!("/r/{run}/graph"), "Wave 5", "page-graph.png", "dark", 760),
        (format!("/r/{run}/timeline"), "attempts in", "page-timeline.png", "light", 620),
        (format!("/r/{run}/t/MAIL-001?tab=log"), "refused", "page-task.png", "light", 760),
    ];
    for (path, text, name, scheme, height) in shots {
        let file = folder.join(name);
        browser.step("shoot", json!({"path": path, "text": text, "file": file, "scheme": scheme, "height": height}));
        let length = std::fs::metadata(&file).expect("a picture").len();
        assert!((5_000..400_000).contains(&length), "{name} has {length} bytes");
    }
    gates.iter().for_each(Gate::open);
    executor.limited_wait();
    assert_eq!(browser.step("problems", json!({})), json!([]));
}
