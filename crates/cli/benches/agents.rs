//! What the executor and its keepers cost while sixteen agents are at work: Codex where it is installed
//! (`cargo xtask agents`), else programs that only wait.

#![expect(clippy::disallowed_methods, reason = "a benchmark makes files of its own")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use team_executor_testkit::{Pulse, RealAgent, ScriptedModel, World, fake_agent};

const AGENTS: usize = 16;

/// What every worker has in its environment.
const WORKER: &str = "TEAM_EXECUTOR_RUN";

fn main() -> Result<(), Box<dyn Error>> {
    let mut world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let mut table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n".to_owned();
    (1..=AGENTS).try_for_each(|n| writeln!(table, "WORK-{n:03},,Do it,,,csv-wave,worker,,pending,,"))?;
    world.write("S/tasks.csv", table);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agents");
    if let Some(codex) = RealAgent::find("codex", &folder) {
        world.write("scripts/worker.json", r#"{"turns": [{"do": {"text": "never said"}, "hang": {}}]}"#);
        let mut model = ScriptedModel::start(&world.dir().join("scripts"));
        world.through(model.network());
        let home = world.dir().with_file_name("home-of-agents");
        let recipe = codex.recipe(&model.address("worker"), &home, model.is_apart());
        let env: Vec<_> = recipe.env.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        let executor = start(&world, &format!("{:?}\nenv = {{ {} }}", recipe.command, env.join(", ")))?;
        (0..AGENTS).for_each(|_| drop(model.asked()));
        measure(&world, executor, "codex")
    } else {
        let mut pulse = Pulse::new(world.dir().join("pulse"));
        let command = [&fake_agent().display().to_string(), "beat", pulse.arg(), "hang"].map(str::to_owned);
        let executor = start(&world, &format!("{command:?}"))?;
        pulse.wait_alive(AGENTS);
        measure(&world, executor, "programs that wait (codex is not installed)")
    }
}

/// Starts a run whose workers are all at work at the same time.
fn start(world: &World, command: &str) -> Result<Child, Box<dyn Error>> {
    world
        .write("team-executor.toml", format!("[defaults]\nagent = \"worker\"\n[agents.worker]\ncommand = {command}\n"));
    let count = AGENTS.to_string();
    let mut command = world.command(&["run", "--session=S", "-y", "--trust-project", "-c", &count]);
    Ok(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
}

/// Prints what the processes take, and ends them.
fn measure(world: &World, mut executor: Child, what: &str) -> Result<(), Box<dyn Error>> {
    let agents: Vec<u32> = world.living(WORKER).into_iter().map(|(pid, _)| pid).collect();
    let keepers =
        world.living("HOME").into_iter().filter(|(pid, line)| line.contains("__keeper") && !agents.contains(pid));
    let keepers: Vec<u32> = keepers.map(|(pid, _)| pid).collect();
    let [own, kept, theirs] = [&[executor.id()][..], &keepers, &agents].map(Cost::read);
    let count = keepers.len();
    let mut out = std::io::stdout();
    writeln!(out, "{AGENTS} {what} have started: {} processes, {:.1} MiB", agents.len(), theirs.mebibytes)?;
    writeln!(out, "executor and {count} keepers: {:.1} MiB (at most 64)", own.mebibytes + kept.mebibytes)?;
    let part = 100.0 * own.seconds / theirs.seconds;
    writeln!(
        out,
        "CPU until here: agents {:.2} s, executor {:.3} s ({part:.1} %), keepers {:.3} s to start",
        theirs.seconds, own.seconds, kept.seconds
    )?;
    executor.kill()?;
    executor.wait()?;
    while !world.living(WORKER).is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// What processes take together.
struct Cost {
    /// Each page divided by those who share it.
    mebibytes: f64,
    /// Of processors, until now.
    seconds: f64,
}

impl Cost {
    fn read(pids: &[u32]) -> Self {
        Self { mebibytes: pids.iter().map(memory).sum(), seconds: pids.iter().map(cpu).sum() }
    }
}

fn memory(pid: &u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or_default() / 1024.0
}

/// Of the threads that live, to the nanosecond: ticks are too coarse for what the executor takes.
fn cpu(pid: &u32) -> f64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    texts.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}
