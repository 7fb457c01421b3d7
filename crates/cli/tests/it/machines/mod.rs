//! Runs on several machines: hosts are processes with folders of their own, which meet at a nats-server on loopback.

mod faults;
mod rights;
mod runs;

use std::collections::BTreeMap;
use std::io::BufReader;
use std::process::{Child, ChildStdout, Stdio};

use team_executor_testkit::limited::*;
use team_executor_testkit::{Nats, World, lacks};

use crate::run;

const BINARY: &str = env!("CARGO_BIN_EXE_team-executor");

/// A server; without one the test says what it could not look at.
fn server(untested: &str) -> Option<Nats> {
    let nats = Nats::start(BINARY);
    if nats.is_none() {
        lacks("nats-server", untested);
    }
    nats
}

/// A host that runs as long as this lives.
struct Host {
    process: Child,
    lines: BufReader<ChildStdout>,
    name: String,
}

impl Host {
    /// Starts one in a world of its own, and waits until it takes work.
    fn start(world: &World, nats: &Nats, name: &str, more: &[&str]) -> Self {
        let mut host = Self::begin(world, nats, name, more);
        host.wait_for("is ready");
        host
    }

    fn begin(world: &World, nats: &Nats, name: &str, more: &[&str]) -> Self {
        let (url, folder) = (nats.url(), world.dir().with_file_name(name));
        let folder = folder.display().to_string();
        let words = [&["host", "--backend", &url, "--name", name, "--workdir", &folder][..], more].concat();
        let mut command = world.command(&words);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("it starts");
        let lines = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, lines, name: name.to_owned() }
    }

    /// Waits for a line with these words, and returns it.
    fn wait_for(&mut self, words: &str) -> String {
        loop {
            let line = self.lines.limited_line().unwrap_or_else(|| panic!("{}: no `{words}`", self.name));
            if line.contains(words) {
                return line.trim_end().to_owned();
            }
        }
    }

    fn signal(&self, signal: &str) {
        let sent = std::process::Command::new("kill").args([signal, &self.process.id().to_string()]).limited_status();
        assert!(sent.success());
    }

    fn kill(&mut self) {
        let _gone_already = self.process.kill();
        self.process.limited_wait();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A run of `S` with this backend, to its end.
fn run_with(world: &World, nats: &Nats, worker: &str, more: &[&str]) -> team_executor_testkit::Run {
    let url = nats.url();
    run::run(world, worker, &[&["--backend", &url], more].concat())
}

/// A run that goes on.
fn start_with(world: &World, nats: &Nats, worker: &str, more: &[&str]) -> Child {
    let url = nats.url();
    let words = [&["--backend", &url], more].concat();
    let mut command = world.command(&run::arguments("--session=S", worker, &words));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// How many lines of the journal say that an attempt at a task was completed.
fn completions(world: &World) -> BTreeMap<String, usize> {
    let journal = run::read(run::folder(world).join(".executor/journal"));
    let mut found = BTreeMap::new();
    for rest in journal.split("\"type\":\"completed\",\"task\":\"").skip(1) {
        *found.entry(rest.split('"').next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    found
}
