//! How many workers that do nothing go through warm keepers in a second, and what each costs.

use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc;
use std::time::Instant;

use team_executor_agents::{Assignment, KeeperEvent, Keepers, Limits};

const TASKS: usize = 2000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Nothing is removed between two rounds: on ext4 each new file would search through what was just removed.
    let dir = tempfile::tempdir()?;
    for slots in [1, 4, 16] {
        for durable in [false, true] {
            let round = dir.path().join(format!("{slots}-{durable}"));
            std::fs::create_dir(&round)?;
            measure(&round, slots, durable)?;
        }
    }
    Ok(())
}

fn measure(dir: &Path, slots: usize, durable: bool) -> Result<(), Box<dyn std::error::Error>> {
    let (sender, events) = mpsc::channel();
    let exe = env!("CARGO_BIN_EXE_keeper-under-test").into();
    let keepers = Keepers::new(exe, move |event| drop(sender.send(event)))?;
    for number in 0..TASKS + slots {
        std::fs::create_dir(dir.join(number.to_string()))?;
    }
    let run = |slot, number| keepers.start(slot, assignment(dir, number, durable));
    let ended = || loop {
        match events.recv() {
            Ok(KeeperEvent::Ended { slot, .. }) => break Ok(slot),
            Ok(KeeperEvent::KeeperDied { reason, .. }) => break Err(reason),
            Ok(_) => {}
            Err(error) => break Err(error.to_string()),
        }
    };
    // The keepers are warm from here on.
    (0..slots).for_each(|slot| run(slot, slot));
    let mut free = (0..slots).map(|_| ended()).collect::<Result<Vec<_>, _>>()?;
    let before = cpu()?;
    let start = Instant::now();
    for number in slots..TASKS + slots {
        let slot = free.pop().map_or_else(&ended, Ok)?;
        run(slot, number);
    }
    for _ in 0..slots - free.len() {
        ended()?;
    }
    let seconds = start.elapsed().as_secs_f64();
    // The time of keepers and workers is counted when they are gone.
    drop(keepers);
    let cpu = (cpu()? - before) * 1e3 / TASKS as f64;
    let (rate, how) = (TASKS as f64 / seconds, if durable { "on disk" } else { "not synced" });
    writeln!(
        std::io::stdout(),
        "{slots:2} keepers, outcome {how:10}: {rate:5.0} tasks/s, {cpu:.2} ms of CPU per task"
    )?;
    Ok(())
}

fn assignment(dir: &Path, number: usize, durable: bool) -> Assignment {
    Assignment {
        key: format!("bench/{number}/1"),
        dir: dir.join(number.to_string()),
        program: "/bin/true".to_owned(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: dir.to_owned(),
        stdin: None,
        limits: Limits::default(),
        output_cap: 1 << 20,
        durable,
    }
}

/// Seconds of CPU that this process and those it has waited for used.
fn cpu() -> Result<f64, Box<dyn std::error::Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(4);
    let ticks: u64 = fields.map(str::parse::<u64>).sum::<Result<_, _>>()?;
    Ok(ticks as f64 / 100.0)
}
