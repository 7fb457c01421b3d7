//! The page at its limits: a finished run of 100,000 tasks (or of as many as are asked for) and a log of a million lines, in Chromium.
//! `cargo xtask bench ui` prints how soon the first views are there, how smoothly they scroll, and how much memory the tab and
//! the server take. Chromium and `cargo xtask agents` are needed.

#![expect(clippy::disallowed_methods, reason = "a benchmark makes files of its own")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use team_executor_testkit::World;

const TASKS: usize = 100_000;
const LINES: usize = 1_000_000;
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/ui.mjs");

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let tasks = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(TASKS);
    let binary = std::env::var("TEAM_EXECUTOR_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_team-executor").to_owned());
    let world = World::new(binary);
    world.write(".workflow/.team/TC-many/tasks.csv", table(tasks)?);
    world.write(".workflow/.team/TC-log/tasks.csv", "id,title,deps,role\nA,Print much,,worker\n");
    let mut out = std::io::stdout();
    let begin = Instant::now();
    quiet(&mut world.command(&["run", "--session=TC-many", "-y", "-c", "16", "--agent-command", "true"]))?;
    writeln!(out, "a run of {tasks} tasks took {:.1} s", begin.elapsed().as_secs_f64())?;
    let print = format!(
        "seq -f 'line %.0f of the log, with some words' 1 {}; echo 'the needle'; seq 1 {}",
        LINES * 9 / 10,
        LINES / 10 - 1
    );
    quiet(&mut world.command(&["run", "--session=TC-log", "-y", "--agent-command", &print]))?;
    let (mut served, address) = serve(&world)?;
    let before = memory(&served, "VmRSS");
    let names: Vec<String> = fs::read_dir(world.dir().join(".workflow/.csv-wave"))?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let find = |part: &str| names.iter().find(|name| name.contains(part)).cloned().unwrap_or_default();
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/agents/node_modules");
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    let mut node = Command::new("node");
    node.arg(SCRIPT).arg(target).arg(chromium).arg(&address).arg(find("many")).arg(find("log"));
    let told = node.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    writeln!(out, "{}", String::from_utf8_lossy(&told.stdout).trim())?;
    let (most, now) = (memory(&served, "VmHWM"), memory(&served, "VmRSS"));
    writeln!(out, "the server: {before} MiB at first, {most} MiB at most, {now} MiB at the end")?;
    served.kill()?;
    served.wait()?;
    Ok(())
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
