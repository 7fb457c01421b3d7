//! What the tools of a worker cost: from the start of the process to its first answer, its memory, and what the executor takes
//! while fifty workers call at once.

#![expect(clippy::disallowed_methods, reason = "a benchmark makes files of its own")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use team_executor_testkit::World;

const STARTS: usize = 50;
const WORKERS: usize = 50;
const CALLS: usize = 20;
const BIN: &str = env!("CARGO_BIN_EXE_team-executor");

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout();
    let mut starts = (0..STARTS).map(|_| start()).collect::<Result<Vec<_>, _>>()?;
    starts.sort_unstable();
    let most = starts.iter().map(|(_, kib)| *kib).max().unwrap_or_default();
    let millis = |nth: usize| starts[nth].0.as_secs_f64() * 1000.0;
    writeln!(
        out,
        "start to first answer: median {:.1} ms, worst of {STARTS} {:.1} ms (at most 10); resident {:.1} MiB (at most 8)",
        millis(STARTS / 2),
        millis(STARTS - 1),
        most as f64 / 1024.0
    )?;
    let (cpu, wall) = together()?;
    writeln!(
        out,
        "{WORKERS} workers with {CALLS} calls each: {:.2} s, executor {:.3} s of CPU, {:.1} % of a core (at most 5)",
        wall.as_secs_f64(),
        cpu,
        100.0 * cpu / wall.as_secs_f64()
    )?;
    Ok(())
}

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}})
}

/// How long one process takes to answer for the first time, and the most memory that it had, in KiB.
fn start() -> Result<(Duration, u64), Box<dyn Error>> {
    let mut command = Command::new(BIN);
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped());
    for (name, value) in [
        ("SESSION", "/p/S"),
        ("RUN", "EX-s-1"),
        ("TASK", "A"),
        ("RESULT", "/p/EX-s-1/agents/A.1.result.json"),
        ("ATTEMPT", "EX-s-1~5f/A/1"),
    ] {
        command.env(format!("TEAM_EXECUTOR_{name}"), value);
    }
    let began = Instant::now();
    let mut server = command.spawn()?;
    let mut input = server.stdin.take().ok_or("no input")?;
    writeln!(input, "{}", hello())?;
    let mut answer = String::new();
    BufReader::new(server.stdout.take().ok_or("no output")?).read_line(&mut answer)?;
    let took = began.elapsed();
    let status = fs::read_to_string(format!("/proc/{}/status", server.id()))?;
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    drop(input);
    server.wait()?;
    assert!(answer.contains("team-executor"), "{answer}");
    Ok((took, most.trim().trim_end_matches(" kB").parse()?))
}

/// What the executor takes of a processor while all workers call, in seconds, and how long that is.
fn together() -> Result<(f64, Duration), Box<dyn Error>> {
    let world = World::new(BIN);
    let mut table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n".to_owned();
    (1..=WORKERS).try_for_each(|n| writeln!(table, "WORK-{n:03},,Do it,,,csv-wave,worker,,pending,,"))?;
    world.write("S/tasks.csv", table);
    let mut calls = format!("{}\n{}\n", hello(), json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for n in 1..=CALLS {
        let found = json!({"type": "note", "data": {"n": n}});
        let params = json!({"name": "add_discovery", "arguments": found});
        writeln!(calls, "{}", json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}))?;
    }
    world.write("calls", calls);
    let worker = format!(
        "touch ready.$TEAM_EXECUTOR_TASK; until [ -e go ]; do sleep 0.1; done; {BIN} mcp < calls > /dev/null; \
         touch done.$TEAM_EXECUTOR_TASK; sleep 600"
    );
    let count = WORKERS.to_string();
    let mut command = world.command(&["run", "--session=S", "-y", "--agent-command", &worker, "-c", &count]);
    let mut executor = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    wait_for(&world, "ready.")?;
    let (before, began) = (cpu(executor.id()), Instant::now());
    File::create(world.dir().join("go"))?;
    wait_for(&world, "done.")?;
    let (used, took) = (cpu(executor.id()) - before, began.elapsed());
    executor.kill()?;
    executor.wait()?;
    while !world.living("TEAM_EXECUTOR_RUN").is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let board = fs::read_to_string(world.dir().join("S/discoveries.ndjson"))?;
    assert_eq!(board.lines().count(), WORKERS * CALLS, "nothing is lost");
    Ok((used, took))
}

/// Waits until each worker has left a file.
fn wait_for(world: &World, name: &str) -> Result<(), Box<dyn Error>> {
    loop {
        let files = fs::read_dir(world.dir())?.flatten();
        if files.filter(|file| file.file_name().to_string_lossy().starts_with(name)).count() == WORKERS {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Of the threads that live, to the nanosecond.
fn cpu(pid: u32) -> f64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    texts.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}
