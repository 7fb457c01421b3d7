//! Two executors at once, in every way in which they can meet.

use std::process::{Child, Command, Stdio};

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, World};

use super::completions;
use crate::run::{DID, arguments, folder, run, start, tasks};

const RACES: usize = 200;

/// R: X-02
#[test]
fn two_simultaneous_starts_run_once() {
    for race in 0..RACES {
        let world = tasks(&[("A", "")]);
        let worker = "echo ran >>ran; echo done";
        let both = [start(&world, worker), start(&world, worker)];
        let ends = both.map(|one| one.limited_output());
        let codes = ends.each_ref().map(|end| end.status.code());
        assert!(codes.contains(&Some(0)), "race {race}: {ends:?}");
        assert!(codes.iter().all(|code| matches!(code, Some(0 | 4))), "race {race}: {ends:?}");
        let ran = std::fs::read_to_string(world.dir().join("ran")).expect("it ran");
        assert_eq!((ran.as_str(), completions(&folder(&world), "A")), ("ran\n", 1), "race {race}");
    }
}

/// A session that is below no `.workflow/` has its runs where it is run.
#[test]
fn a_session_that_is_run_from_another_folder_is_held() {
    let held = Held::new();
    let elsewhere = held.world.dir().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let mut second = held.world.command(&arguments("--session=../S", "echo again >>../again", &[]));
    let second = second.current_dir(&elsewhere).limited_output();
    let said = super::said(&second);
    assert!(second.status.code() == Some(4) && said.contains("another executor holds this session"), "{said}");
    assert!(!held.world.dir().join("again").exists());
    let runs = elsewhere.join(".workflow/.csv-wave");
    let made = std::fs::read_dir(runs).expect("the folder of runs").filter_map(Result::ok);
    assert_eq!(made.filter(|entry| entry.path().is_dir()).count(), 0, "no run is made in vain");
    held.finish();
}

/// A run whose only worker waits at a gate that is not in the project.
struct Held {
    world: World,
    pulse: Pulse,
    gate: Gate,
    worker: String,
    first: Child,
}

impl Held {
    fn new() -> Self {
        let world = tasks(&[("A", ""), ("B", "A")]);
        let beside = |name| world.dir().with_file_name(name);
        let (mut pulse, gate) = (Pulse::new(beside("pulse")), Gate::new(beside("gate")));
        let wait = format!("exec 9>{}; printf . >&9; cat {}", pulse.arg(), gate.arg());
        let worker = format!("if [ $TEAM_EXECUTOR_TASK = A ]; then {wait}; fi; echo did $TEAM_EXECUTOR_TASK");
        let first = start(&world, &worker);
        pulse.wait_alive(1);
        Self { world, pulse, gate, worker, first }
    }

    /// Lets the worker go on, and the run to its end.
    fn finish(mut self) -> World {
        self.gate.open();
        assert_eq!(self.first.limited_wait().code(), Some(0));
        self.pulse.wait_dead();
        assert_eq!(["A", "B"].map(|task| completions(&folder(&self.world), task)), [1, 1]);
        self.world
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.first.id().to_string()]).limited_status();
        assert!(sent.success());
    }
}

/// A holder that does not move is still the holder.
#[test]
fn a_second_one_is_refused_while_the_first_is_stopped() {
    let held = Held::new();
    held.signal("-STOP");
    let second = run(&held.world, &held.worker, &[]);
    assert_eq!(second.code, Some(4), "{second}");
    assert!(second.stderr.contains(&format!("process {} on ", held.first.id())), "{second}");
    let doctor = held.world.run(&["doctor", "--session=S", "--repair"]);
    assert_eq!(doctor.code, Some(4), "{doctor}");
    held.signal("-CONT");
    held.finish();
}

#[test]
fn another_path_to_the_session_leads_to_the_same_run() {
    let held = Held::new();
    let link = held.world.dir().join("link");
    std::os::unix::fs::symlink("S", &link).expect("a link");
    let by_link = arguments("--session=link", &held.worker, &[]);
    let second = held.world.run(&by_link);
    assert_eq!(second.code, Some(4), "{second}");
    let by_link: Vec<String> = by_link.into_iter().map(str::to_owned).collect();
    let world = held.finish();
    let again = world.run(&by_link.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(again.code == Some(0) && again.stdout.contains("is finished; nothing was done"), "{again}");
}

/// The copy is another session: it has its own run, and neither disturbs the other.
#[test]
fn a_copy_of_a_running_session_is_run_by_itself() {
    let held = Held::new();
    let copy = held.world.dir().with_file_name("copy");
    let copied = Command::new("cp").arg("-r").arg(held.world.dir()).arg(&copy).limited_status();
    assert!(copied.success());
    let args = arguments("--session=S", "echo copied $TEAM_EXECUTOR_TASK", &[]);
    let mut command = held.world.command(&args);
    let output = command.current_dir(&copy).stdout(Stdio::piped()).limited_output();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let runs = copy.join(".workflow/.csv-wave").read_dir().expect("runs").flatten();
    let runs: Vec<_> = runs.map(|run| run.path()).filter(|path| path.is_dir()).collect();
    let done: usize = runs.iter().map(|run| completions(run, "A")).sum();
    assert_eq!((runs.len(), done), (2, 1), "{runs:?}");
    held.finish();
}

/// It is still the same run, so what a crash left of its workers is its own.
#[test]
fn project_moved_after_a_crash_runs_no_second_worker() {
    let world = tasks(&[("A", "")]);
    std::fs::create_dir(world.dir().join(".workflow")).expect("a folder");
    std::fs::rename(world.dir().join("S"), world.dir().join(".workflow/S")).expect("the session is moved");
    let beside = |name| world.dir().with_file_name(name);
    let (mut pulse, gate) = (Pulse::new(beside("pulse")), Gate::new(beside("gate")));
    let worker = format!("exec 9>{}; printf . >&9; cat {}", pulse.arg(), gate.arg());
    let mut first = world.command(&arguments("--session=.workflow/S", &worker, &[]));
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    pulse.wait_alive(1);
    let executor = first.id().to_string();
    let keepers = std::fs::read_to_string(format!("/proc/{executor}/task/{executor}/children")).expect("its children");
    // It cannot do anything about the death of its keeper.
    for (signal, pids) in [("-STOP", executor.as_str()), ("-KILL", keepers.as_str()), ("-KILL", executor.as_str())] {
        let sent = Command::new("kill").arg(signal).args(pids.split_whitespace()).limited_status();
        assert!(sent.success());
    }
    first.limited_wait();
    let moved = beside("moved");
    std::fs::rename(world.dir(), &moved).expect("it is moved");
    let mut command = world.command(&arguments("--session=.workflow/S", DID, &[]));
    let output = command.current_dir(&moved).limited_output();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    pulse.wait_dead();
}
