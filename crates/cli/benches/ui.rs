//! The page at its limits: a finished run of 100,000 tasks (or of as many as are asked for), a log of a million lines, and a run of a
//! thousand events a second, in Chromium. `cargo xtask bench ui` prints how soon the first views are there, how smoothly they scroll,
//! how much memory the tab and the server take, and how much slower a run is with the page. `cargo xtask agents` gets what is needed.

#![expect(clippy::disallowed_methods, reason = "a benchmark makes files of its own")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use team_executor_testkit::{Chromium, World};

const TASKS: usize = 100_000;
const LINES: usize = 1_000_000;
/// Tasks that are started and completed a thousand events a second, for longer than is looked at.
const BUSY: usize = 30_000;
const BUSY_WORKER: &str = "exec sleep 0.02";
const PATIENCE: Duration = Duration::from_secs(60);
const RUNS: &str = ".workflow/.csv-wave";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/ui.mjs");

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let tasks = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(TASKS);
    let binary = std::env::var("TEAM_EXECUTOR_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_team-executor").to_owned());
    let world = World::new(binary);
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let chromium = Chromium::find(&target, &["playwright-core"], "the page").ok_or("type: cargo xtask agents")?;
    at_rest(&world, &chromium, tasks)?;
    under_load(&world, &chromium)
}

/// A finished run of many tasks, and a long log.
fn at_rest(world: &World, chromium: &Chromium, tasks: usize) -> Outcome<()> {
    let mut out = std::io::stdout();
    world.write(".workflow/.team/TC-many/tasks.csv", table(tasks)?);
    world.write(".workflow/.team/TC-log/tasks.csv", "id,title,deps,role\nA,Print much,,worker\n");
    let begin = Instant::now();
    quiet(&mut world.command(&["run", "--session=TC-many", "-y", "-c", "16", "--agent-command", "true"]))?;
    writeln!(out, "a run of {tasks} tasks took {:.1} s", begin.elapsed().as_secs_f64())?;
    let print = format!(
        "seq -f 'line %.0f of the log, with some words' 1 {}; echo 'the needle'; seq 1 {}",
        LINES * 9 / 10,
        LINES / 10 - 1
    );
    quiet(&mut world.command(&["run", "--session=TC-log", "-y", "--agent-command", &print]))?;
    let own = peak(&mut world.command(&["status", "--session=TC-many"]))?;
    let (mut served, address) = serve(world)?;
    let before = memory(&served, "VmRSS");
    let runs = [run_of(world, "many")?, run_of(world, "log")?];
    writeln!(out, "{}", in_browser(chromium, &address, &runs)?)?;
    let most = memory(&served, "VmHWM");
    served.kill()?;
    served.wait()?;
    writeln!(out, "memory to read the large run, as `status` does: {own} MiB")?;
    writeln!(out, "memory of the server: {before} MiB at first, {most} MiB at most")?;
    Ok(())
}

/// A run of a thousand events a second, with the page and without it in turn.
fn under_load(world: &World, chromium: &Chromium) -> Outcome<()> {
    world.write(".workflow/.team/TC-busy/tasks.csv", table(BUSY)?);
    let mut run = world.command(&["run", "--session=TC-busy", "-y", "-c", "16", "--agent-command", BUSY_WORKER]);
    let mut executor = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let (mut served, address) = serve(world)?;
    let begin = Instant::now();
    let name = loop {
        match run_of(world, "busy") {
            Ok(name) => break name,
            Err(error) if begin.elapsed() > PATIENCE => return Err(error),
            Err(_) => std::thread::yield_now(),
        }
    };
    let journal = world.dir().join(RUNS).join(&name).join(".executor/journal").display().to_string();
    let told = in_browser(chromium, &address, &[String::new(), String::new(), name, journal]);
    for child in [&mut served, &mut executor] {
        child.kill()?;
        child.wait()?;
    }
    writeln!(std::io::stdout(), "{}", told?)?;
    Ok(())
}

/// What the script says of these runs.
fn in_browser(chromium: &Chromium, address: &str, runs: &[String]) -> Outcome<String> {
    let mut node = Command::new("node");
    node.arg(SCRIPT).arg(&chromium.modules).arg(&chromium.program).arg(address).args(runs);
    let told = node.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    Ok(String::from_utf8_lossy(&told.stdout).trim().to_owned())
}

/// The run whose name has this word.
fn run_of(world: &World, word: &str) -> Outcome<String> {
    let names = fs::read_dir(world.dir().join(RUNS))?.flatten();
    let mut names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.find(|name| name.contains(word)).ok_or_else(|| format!("there is no run of {word}").into())
}

/// Tasks in layers, each of which waits for two of the layer before.
fn table(tasks: usize) -> Outcome<String> {
    let width = tasks.isqrt().max(1);
    let mut table = String::from("id,title,deps,role\n");
    for task in 0..tasks {
        write!(table, "WORK-{task:06},Do number {task} of the work,")?;
        if task >= width {
            let layer = (task / width - 1) * width;
            write!(table, "WORK-{:06};WORK-{:06}", layer + task * 7 % width, layer + (task * 7 + 1) % width)?;
        }
        writeln!(table, ",worker-{}", task % 7)?;
    }
    Ok(table)
}

fn serve(world: &World) -> Outcome<(Child, String)> {
    let mut child = world.command(&["ui", "--no-open"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let (_, address) = line.trim().split_once(": ").ok_or("no address")?;
    Ok((child, address.to_owned()))
}

/// How much memory a command had at most, in MiB.
fn peak(command: &mut Command) -> Outcome<u64> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut most = 0;
    while child.try_wait()?.is_none() {
        most = most.max(memory(&child, "VmHWM"));
        std::thread::yield_now();
    }
    Ok(most)
}

/// How much memory a process has, in MiB.
fn memory(child: &Child, which: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(which)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn quiet(command: &mut Command) -> Outcome<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}
