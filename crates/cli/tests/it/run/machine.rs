//! A limit of workers that all runs of the user on this machine share.

use std::fs::File;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, Run, World};

/// Sessions of six tasks under a limit of three workers. Each worker counts those that live, itself among them, and waits at a gate.
struct Machine {
    world: World,
    pulse: Pulse,
    /// While this end is held, readers of the gate wait.
    gate: Option<File>,
}

/// A worker holds a lock on a file of its own; what is not locked any more is of one that was killed.
const COUNTS: &str = "exec 9>here/$$; flock 9; n=0; for f in here/*; do flock -sn $f true || n=$((n+1)); done; echo $n >> seen; \
                      printf . > pulse; cat gate; rm here/$$; echo did";

impl Machine {
    fn new(workers: u32) -> Self {
        let mut world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        for session in ["ONE", "TWO"] {
            let rows: String = (1..=6).map(|nth| format!("{session}-{nth},Count,,worker\n")).collect();
            world.write(&format!(".workflow/.team/{session}/tasks.csv"), format!("id,title,deps,role\n{rows}"));
        }
        world.write("here/.keep", "");
        let agent = format!("[agents.counts]\ncommand = [\"sh\", \"-c\", '''{COUNTS}''']\n");
        let user = format!("[defaults]\nagent = \"counts\"\n{agent}[machine]\nworkers = {workers}\n");
        world.write("config/team-executor/config.toml", user);
        let home = world.dir().join("config").display().to_string();
        world.env("XDG_CONFIG_HOME", &home);
        let (pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
        let gate = File::options().read(true).write(true).open(gate.arg()).expect("a gate");
        Self { world, pulse, gate: Some(gate) }
    }

    /// Starts a session in the background; says the process of its executor.
    fn detach(&self, verb: &str, session: &str) -> i32 {
        let session = format!("--session={session}");
        let run = self.world.run(&[verb, &session, "-y", "-c", "4", "--detach", "--format", "json"]);
        assert_eq!(run.code, Some(0), "{run}");
        let last: Value = serde_json::from_str(run.stdout.lines().last().expect("an event")).expect("JSON");
        last["process"].as_i64().and_then(|pid| i32::try_from(pid).ok()).unwrap_or_else(|| panic!("no process: {last}"))
    }

    fn status(&self, session: &str) -> Run {
        self.world.run(&["status", &format!("--session={session}"), "--format", "json"])
    }

    fn running(&self, session: &str) -> usize {
        let status: Value = serde_json::from_str(&self.status(session).stdout).expect("a document");
        status["running"].as_array().map_or(0, Vec::len)
    }

    /// Lets all go on, those that wait and those that come.
    fn open(&mut self) {
        let dir = self.world.dir();
        std::fs::write(dir.join("open"), "").expect("a file");
        std::fs::rename(dir.join("open"), dir.join("gate")).expect("who comes finds nothing to wait for");
        self.gate = None;
    }

    fn ends_well(&self, session: &str) {
        let attached = self.world.run(&["attach", &format!("--session={session}")]);
        assert_eq!(attached.code, Some(0), "{attached}");
        let status = self.status(session);
        assert_eq!(status.stdout.matches("\"status\": \"completed\"").count(), 6, "{status}");
    }
}

/// R: N-04
#[test]
fn machine_limit_holds_over_two_runs_and_a_killed_executor() {
    let mut machine = Machine::new(3);
    let one = machine.detach("run", "ONE");
    machine.pulse.wait_alive(3);
    machine.detach("run", "TWO");
    let said = "Waiting: all runs on this machine share a limit of 3 workers\n";
    for session in ["ONE", "TWO"] {
        let words = ["status", &format!("--session={session}")];
        limited_until("the run to say that it waits", || {
            let status = machine.world.run(&words);
            status.stdout.contains(said).then_some(())
        });
    }
    assert_eq!((machine.running("ONE"), machine.running("TWO")), (3, 0));
    kill_process(Pid::from_raw(one).expect("a process"), Signal::KILL).expect("it lives");
    machine.pulse.wait_alive(3); // those of the other run have the place of the killed ones
    machine.detach("resume", "ONE");
    assert_eq!((machine.running("ONE"), machine.running("TWO")), (0, 3));
    machine.open();
    machine.ends_well("ONE");
    machine.ends_well("TWO");
    let seen = std::fs::read_to_string(machine.world.dir().join("seen")).expect("counts");
    let most = seen.lines().filter_map(|count| count.parse::<u32>().ok()).max();
    assert_eq!(most, Some(3), "{seen}");
}

/// A run that a worker starts would wait for the place of that worker for ever.
#[test]
fn run_inside_a_worker_needs_no_place_of_its_own() {
    let mut machine = Machine::new(1);
    machine.open();
    machine.world.write(".workflow/.team/OUT/tasks.csv", "id,title,deps,role\nOUT-1,Start another,,worker\n");
    let inner = "team-executor run --session=.workflow/.team/ONE -y --agent counts";
    let outer = machine.world.run(&["run", "--session=OUT", "-y", "--agent-command", inner]);
    assert_eq!(outer.code, Some(0), "{outer}");
    machine.ends_well("ONE");
}

/// A paused run gives back the places that it does not need.
#[test]
fn paused_run_leaves_the_machine_to_others() {
    let mut machine = Machine::new(1);
    machine.detach("run", "ONE");
    machine.pulse.wait_alive(1);
    machine.detach("run", "TWO");
    let paused = machine.world.run(&["pause", "--session=ONE"]);
    assert_eq!(paused.code, Some(0), "{paused}");
    machine.open();
    machine.ends_well("TWO");
    let resumed = machine.world.run(&["resume", "--session=ONE", "-y"]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    machine.ends_well("ONE");
}

#[test]
fn only_the_user_limits_the_machine() {
    let mut machine = Machine::new(1);
    machine.world.write("team-executor.toml", "[machine]\nworkers = 9\n");
    let refused = machine.world.run(&["run", "--session=ONE", "-y"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("a project cannot limit the runs of other projects"), "{refused}");
    machine.world.write("team-executor.toml", "");
    let shown = machine.world.run(&["config"]);
    assert!(shown.stdout.contains("machine.workers") && shown.stdout.contains(" 1 "), "{shown}");
    machine.open();
    let run = machine.world.run(&["run", "--session=ONE", "-y", "-c", "4"]);
    assert_eq!(run.code, Some(0), "{run}");
    let seen = std::fs::read_to_string(machine.world.dir().join("seen")).expect("counts");
    assert!(seen.lines().all(|count| count == "1"), "{seen}");
}
