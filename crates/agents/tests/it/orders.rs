//! Requests that reach a keeper while its worker begins or ends. The test is the executor, so it says what comes when.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};
use team_executor_agents::{Assignment, Ended, Exit};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse};

use crate::world::{LONG, assignment, exe, ledgers, written};

/// Less than the time after which a keeper looks at its worker whatever happens.
const AT_ONCE: Duration = Duration::from_secs(4);

/// A keeper that the test talks to.
pub(crate) struct Keeper {
    pub(crate) process: Child,
    requests: Option<ChildStdin>,
    answers: mpsc::Receiver<String>,
}

impl Keeper {
    pub(crate) fn new(dir: &Path) -> Self {
        let mut command = Command::new(exe());
        command.arg("__keeper").arg(ledgers(dir).join("1-0")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let (sender, answers) = mpsc::channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { requests: process.stdin.take(), process, answers }
    }

    /// All of it arrives at once.
    pub(crate) fn ask(&mut self, requests: &[Value]) {
        let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
        self.requests.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    }

    fn signal(&self, signal: Signal) {
        let _gone_already = kill_process(Pid::from_child(&self.process), signal);
    }

    /// Its worker, held by a descriptor that can be read when the worker has ended.
    fn worker(&self) -> OwnedFd {
        let pid = self.process.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        let worker = Pid::from_raw(children.trim().parse().unwrap()).unwrap();
        pidfd_open(worker, PidfdFlags::empty()).unwrap()
    }

    /// How its worker ended.
    fn ended(&self, within: Duration) -> Exit {
        loop {
            let line = self.answers.recv_timeout(within).expect("the end of the worker in time");
            let mut answer: Value = serde_json::from_str(&line).unwrap();
            if answer.get("ended").is_some() {
                return serde_json::from_value(answer["ended"]["exit"].take()).unwrap();
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Alone, it ends its worker and itself.
        drop(self.requests.take());
        self.signal(Signal::CONT);
        while self.answers.recv_timeout(LONG).is_ok() {}
        self.process.kill().ok();
        self.process.limited_wait();
    }
}

fn end(assignment: &Assignment) -> Value {
    json!({ "end": { "key": assignment.key } })
}

#[test]
fn stop_that_comes_with_the_assignment_is_obeyed_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut keeper = Keeper::new(dir.path());
    let assignment = assignment(dir.path(), "a", &["hang"]);
    keeper.ask(&[json!({ "run": assignment }), end(&assignment)]);
    assert_eq!(keeper.ended(AT_ONCE).ended, Ended::Stopped);
}

/// A worker ends with 0 while its keeper is stopped, so that the keeper finds its end and something else at the same time.
fn ends_unseen(dir: &Path) -> (Keeper, Assignment) {
    let mut keeper = Keeper::new(dir);
    let (mut pulse, gate) = (Pulse::new(dir.join("pulse")), Gate::new(dir.join("gate")));
    let script = ["print", "done", "beat", pulse.arg(), "hold", gate.arg(), "exit", "0"];
    let assignment = assignment(dir, "a", &script);
    keeper.ask(&[json!({ "run": assignment })]);
    pulse.wait_alive(1);
    let worker = keeper.worker();
    keeper.signal(Signal::STOP);
    gate.open();
    let mut ended = [PollFd::new(&worker, PollFlags::IN)];
    assert_eq!(poll(&mut ended, Some(&Timespec { tv_sec: 60, tv_nsec: 0 })), Ok(1), "it ends");
    (keeper, assignment)
}

#[test]
fn worker_that_ended_before_a_stop_was_read_has_ended_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (mut keeper, assignment) = ends_unseen(dir.path());
    keeper.ask(&[end(&assignment)]);
    keeper.signal(Signal::CONT);
    let exit = keeper.ended(LONG);
    assert_eq!((exit.ended, exit.last_line.as_deref()), (Ended::Exit(0), Some("done")));
}

#[test]
fn worker_that_ended_before_its_executor_has_ended_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (mut keeper, assignment) = ends_unseen(dir.path());
    drop(keeper.requests.take());
    keeper.signal(Signal::CONT);
    assert_eq!(written(dir.path(), &assignment.key).map(|exit| exit.ended), Some(Ended::Exit(0)));
}

/// A shell that ends with 0 when it is asked to end.
fn obedient(dir: &Path, pulse: &Pulse) -> Assignment {
    let script = format!("trap 'exit 0' TERM; exec 3>{}; printf . >&3; while :; do sleep 0.05; done", pulse.arg());
    let path = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    let mut assignment = Assignment { env: path, ..assignment(dir, "a", &[]) };
    (assignment.program, assignment.args) = ("/bin/sh".to_owned(), vec!["-c".to_owned(), script]);
    assignment.limits.grace_ms = Some(60_000);
    assignment
}

#[test]
fn stopped_worker_that_ends_well_is_noted_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut pulse = Pulse::new(dir.path().join("pulse"));
    let mut keeper = Keeper::new(dir.path());
    let assignment = obedient(dir.path(), &pulse);
    keeper.ask(&[json!({ "run": assignment })]);
    pulse.wait_alive(1);
    keeper.ask(&[end(&assignment)]);
    let exit = keeper.ended(LONG);
    assert_eq!((exit.ended, exit.well), (Ended::Stopped, true), "its result decides");
}
