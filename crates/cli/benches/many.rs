//! How long it takes until 300 workers (or as many as are asked for) are at work, until they are stopped, and until they
//! are at work again after the executor was killed. Each of them has a process of its own beside it, so that there are many
//! to look at. `cargo xtask bench many` prints it.

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::Instant;

use team_executor_testkit::{Pulse, World, fake_agent};

const WORKERS: usize = 300;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let workers = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(WORKERS);
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let mut table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n".to_owned();
    for task in 0..workers {
        writeln!(table, "T-{task},,Do it,,,csv-wave,worker,1,pending,,")?;
    }
    world.write("S/tasks.csv", table);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let agent = format!("{} spawn hang ';' beat {} hang", fake_agent().display(), pulse.arg());
    let start = || -> Outcome<Child> {
        let mut command = world.command(&["--session=S", "-y", "-c", &workers.to_string(), "--agent-command", &agent]);
        Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
    };
    let mut out = std::io::stdout();
    let mut tell = |what: &str, since: Instant| writeln!(out, "{what}: {:.2} s", since.elapsed().as_secs_f64());

    let began = Instant::now();
    let mut executor = start()?;
    pulse.wait_alive(workers);
    tell(&format!("{workers} workers at work"), began)?;

    let began = Instant::now();
    let stopped = world.run(&["stop", "--now", "--session=S"]);
    let status = executor.wait()?;
    if stopped.code != Some(0) || status.code() != Some(130) {
        return Err(format!("{stopped}\n{status}").into());
    }
    pulse.wait_dead();
    tell("stopped", began)?;

    let mut executor = start()?;
    pulse.wait_alive(workers);
    let began = Instant::now();
    executor.kill()?;
    executor.wait()?;
    pulse.wait_dead();
    tell("all of them ended after kill -9", began)?;
    let mut executor = start()?;
    pulse.wait_alive(workers);
    tell("and at work again", began)?;
    world.run(&["stop", "--now", "--session=S"]);
    executor.wait()?;
    Ok(())
}
