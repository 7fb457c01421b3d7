//! What a worker prints and reads.

use team_executor_agents::exit::Printed;
use team_executor_agents::{Ended, KeeperEvent};

use crate::world::World;

#[test]
fn a_flood_is_drained_and_capped_and_counted() {
    let world = World::new();
    let mut assignment = world.assignment("a", &["flood", "50000000", "print", "the end"]);
    assignment.output_cap = 10_000;
    let exit = world.run_assignment(assignment);
    assert_eq!(exit.ended, Ended::Exit(0));
    assert_eq!(exit.out, Printed { bytes: 50_000_008, dropped: 49_990_008 });
    let log = world.out("a");
    assert_eq!(log.len(), 10_000 + "\n[49990008 bytes left out]\n".len());
    assert!(log.ends_with("x\nthe end\n"));
    assert_eq!(exit.last_line.as_deref(), Some("the end"));
}

#[test]
fn bytes_that_are_no_text_stay_as_they_are_in_the_log() {
    let world = World::new();
    let exit = world.run("a", &["not-utf8"]);
    assert_eq!(world.log("a", "out.log"), b"\xff\xfe\x80\n");
    assert_eq!(exit.last_line.as_deref(), Some("\u{fffd}\u{fffd}\u{fffd}"));
}

#[test]
fn a_worker_that_asks_gets_the_prompt_or_an_end_and_never_waits() {
    let world = World::new();
    assert_eq!(world.run("none", &["read-stdin"]).last_line.as_deref(), Some("0 bytes:"));
    let mut assignment = world.assignment("prompt", &["read-stdin"]);
    let prompt = world.attempt("prompt").join("prompt.md");
    // More than one argument could hold.
    std::fs::write(&prompt, "p".repeat(200_000)).unwrap();
    assignment.stdin = Some(prompt);
    let said = world.run_assignment(assignment).last_line.unwrap();
    assert!(said.starts_with("200000 bytes: ppp"), "{said}");
}

#[test]
fn worker_has_only_its_given_environment_and_files() {
    let world = World::new();
    let mut assignment = world.assignment("env", &["env"]);
    assignment.env = vec![("ONE".into(), "1".into()), ("TWO".into(), "a b".into())];
    world.run_assignment(assignment);
    assert_eq!(world.out("env"), "ONE=1\nTWO=a b\n");
    world.run("fds", &["fds"]);
    assert_eq!(world.out("fds").trim_end(), inherited().join(" "));
}

/// The open files that every process started by this test inherits, because the parent of the test left them
/// open.
fn inherited() -> Vec<String> {
    let mut numbers: Vec<String> = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fdinfo").unwrap() {
        let entry = entry.unwrap();
        let info = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or("02000000");
        let is_closed_on_exec = u32::from_str_radix(flags.trim(), 8).unwrap() & 0o2_000_000 != 0;
        let number = entry.file_name().into_string().unwrap();
        if !is_closed_on_exec || ["0", "1", "2"].contains(&number.as_str()) {
            numbers.push(number);
        }
    }
    numbers.sort();
    numbers
}

#[test]
fn the_screen_sees_the_last_line_while_the_worker_runs() {
    let world = World::new();
    let gate = world.gate("gate");
    world.start(0, world.assignment("a", &["print", "half way", "hold", gate.arg()]));
    let text = loop {
        if let KeeperEvent::Line { text, .. } = world.any() {
            break text;
        }
    };
    assert_eq!(text, "half way");
    gate.open();
    assert_eq!(world.ended().ended, Ended::Exit(0));
}
