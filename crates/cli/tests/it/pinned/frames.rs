//! Frames of the live view, as they stand on the glass of a terminal.

use team_executor_testkit::{Gate, Screen, World};

use super::pin;
use crate::trees::repository;

/// A terminal that is about to show a frame, and what must be on it before it is pinned. The last text is in its last line.
#[track_caller]
fn pinned(name: &str, terminal: &mut Screen, texts: &[&str]) {
    terminal.wait_for_all(texts);
    pin(&format!("frame-{name}"), &terminal.glass().screen().join("\n"));
}

/// Two tasks at work side by side, and one behind the first.
fn waiting() -> (World, [Gate; 2]) {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let table = "id,title,description,deps,role\nA,First,Build it,,builder\nB,Second,Test it,A,tester\n\
                 C,Third,Describe it,,writer\n";
    world.write("S/tasks.csv", table);
    world.write("work.sh", WORKER);
    let gates = ["a", "c"].map(|name| Gate::new(world.dir().join(name)));
    (world, gates)
}

const WORKER: &str =
    "case $TEAM_EXECUTOR_TASK in A) echo compiling; cat a;; C) echo writing; cat c;; B) exit 3;; esac\n";

fn start(world: &World, size: (u16, u16), more: &[&str]) -> Screen {
    let args = [&["run", "--session=S", "--agent-command", "sh work.sh", "--retries=0"], more].concat();
    Screen::start(world.command(&args), size.0, size.1)
}

/// Lets the tasks end one after the other.
#[track_caller]
fn finish(terminal: &mut Screen, gates: &[Gate; 2]) {
    gates[0].open();
    terminal.wait_for("✗ B exit code 3");
    gates[1].open();
}

const AT_WORK: [&str; 5] = ["2 running, 0 ready, 1 waiting", "compiling", "writing", "▶ A  builder", "▶ C  writer"];

#[test]
fn frames_of_a_run_are_pinned() {
    let (world, gates) = waiting();
    let mut terminal = start(&world, (80, 24), &[]);
    pinned("question-before-the-start", &mut terminal, &["Start? [Y/n]"]);
    terminal.type_in("y\n");
    pinned("two-at-work", &mut terminal, &AT_WORK);
    finish(&mut terminal, &gates);
    pinned("question-at-the-end", &mut terminal, &["View results, retry failed, or done? [v/r/D]"]);
    terminal.type_in("d\n");
    assert_eq!(terminal.end().code(), Some(1));
    pin("frame-after-the-end", &terminal.glass().screen().join("\n"));
}

#[test]
fn frames_of_a_small_terminal_are_pinned() {
    let (world, gates) = waiting();
    let mut terminal = start(&world, (60, 12), &["-y"]);
    pinned("two-at-work-small", &mut terminal, &AT_WORK);
    finish(&mut terminal, &gates);
    assert_eq!(terminal.end().code(), Some(1));
    pin("frame-after-the-end-small", &terminal.glass().screen().join("\n"));
}

#[test]
fn frames_that_keys_show_are_pinned() {
    let (world, gates) = waiting();
    let mut terminal = start(&world, (100, 40), &["-y"]);
    terminal.wait_for_all(&AT_WORK);
    for (key, last) in [("?", "1-9 "), ("t", "2 C\n  writing"), ("p", "No problems")] {
        terminal.type_in(key);
        terminal.wait_for(last);
    }
    pinned("keys", &mut terminal, &AT_WORK);
    gates.iter().for_each(Gate::open);
    assert_eq!(terminal.end().code(), Some(1));
}

#[test]
fn frames_at_a_checkpoint_are_pinned() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let table = "id,title,description,deps,role\nA,First,Build it,,builder\nQUALITY-001,Look,Review it,A,reviewer\n";
    world.write("S/tasks.csv", table);
    let args = ["run", "--session=S", "--agent-command", "true", "--on-complete", "auto_keep"];
    let mut terminal = Screen::start(world.command(&args), 80, 24);
    terminal.wait_for("Start? [Y/n]");
    terminal.type_in("y\n");
    pinned("checkpoint", &mut terminal, &["? for help\n>"]);
    terminal.type_in("?\n");
    pinned("checkpoint-help", &mut terminal, &["y, approve or resume continues", "next start asks again\n>"]);
    terminal.type_in("y\n");
    assert_eq!(terminal.end().code(), Some(0), "{}", terminal.glass());
}

/// Tasks with trees whose tests wait at a gate; the second task waits at one, too.
fn isolated(list: &[(&str, &str)]) -> (World, [Gate; 2]) {
    let files = [("a", "1\n"), ("check.sh", "[ -e c ] || exec cat \"$HOME/tests\"\n")];
    let world = repository(list, "[merge]\nverify = [\"sh\", \"check.sh\"]\nbatch = 1\n", &files);
    let gates = ["tests", "second"].map(|name| Gate::new(world.dir().with_file_name("home").join(name)));
    (world, gates)
}

const IN_TREES: &str =
    "sh -c 'if [ $TEAM_EXECUTOR_TASK = A ]; then echo 2 > a; else cat \"$HOME/second\"; echo 2 > b; echo 3 > c; fi'";

/// R: U-05
#[test]
fn frames_of_tasks_with_trees_are_pinned() {
    let args = ["run", "--session=S", "--agent-command", IN_TREES, "-y", "--trust-project", "-c", "2"];
    let (world, [tests, second]) = isolated(&[("A", ""), ("B", "")]);
    let mut terminal = Screen::start(world.command(&args), 80, 24);
    terminal.wait_for("is tested with what is merged");
    second.open();
    pinned("trees-in-the-queue", &mut terminal, &["B changed 2 files", "+2 -0; waits to be merged"]);
    tests.open();
    assert_eq!(terminal.end().code(), Some(0), "{}", terminal.glass());
    let (world, [tests, _]) = isolated(&[("A", "")]);
    let mut terminal = Screen::start(world.command(&args), 80, 24);
    tests.open();
    assert_eq!(terminal.end().code(), Some(0), "{}", terminal.glass());
    pin("frame-trees-landed", &terminal.glass().screen().join("\n"));
}
