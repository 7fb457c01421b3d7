//! How many workers that do nothing go through warm keepers in a second, and what each costs.

#![expect(clippy::disallowed_methods, reason = "a benchmark makes files of its own")]

use std::io::{PipeReader, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Instant;

use team_executor_agents::{Assignment, KeeperEvent, Keepers, Leftover, Limits};

const TASKS: usize = 2000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Nothing is removed between two rounds: on ext4 each new file would search through what was just removed.
    let dir = tempfile::tempdir()?;
    for slots in [1, 4, 16] {
        let round = dir.path().join(slots.to_string());
        std::fs::create_dir(&round)?;
        measure(&round, slots)?;
    }
    Ok(())
}

fn measure(dir: &Path, slots: usize) -> Result<(), Box<dyn std::error::Error>> {
    let exe = env!("CARGO_BIN_EXE_keeper-under-test").into();
    let mut keepers = Keepers::new(exe, dir.to_owned(), 1);
    let (silence, _open) = std::io::pipe()?;
    // The keepers are warm from here on.
    (0..slots).for_each(|slot| keepers.start(slot, assignment(dir, slot)));
    let mut free = Vec::new();
    while free.len() < slots {
        ended(&mut keepers, &silence, &mut free)?;
    }
    let before = cpu()?;
    let start = Instant::now();
    for number in slots..TASKS + slots {
        while free.is_empty() {
            ended(&mut keepers, &silence, &mut free)?;
        }
        if let Some(slot) = free.pop() {
            keepers.start(slot, assignment(dir, number));
        }
    }
    while free.len() < slots {
        ended(&mut keepers, &silence, &mut free)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    // The time of keepers and workers is counted when they are gone.
    drop(keepers);
    let cpu = (cpu()? - before) * 1e3 / TASKS as f64;
    let rate = TASKS as f64 / seconds;
    writeln!(std::io::stdout(), "{slots:2} keepers: {rate:5.0} tasks/s, {cpu:.2} ms of CPU per task")?;
    Ok(())
}

/// Waits until something happens, and says which slots are free by then.
fn ended(keepers: &mut Keepers, silence: &PipeReader, free: &mut Vec<usize>) -> Result<(), Box<dyn std::error::Error>> {
    for event in keepers.wait(silence.as_fd(), None)? {
        match event {
            KeeperEvent::Ended { slot, .. } => free.push(slot),
            KeeperEvent::KeeperDied { reason, .. } => return Err(reason.into()),
            KeeperEvent::Line { .. } | KeeperEvent::Used { .. } | KeeperEvent::Woken { .. } => {}
        }
    }
    Ok(())
}

fn assignment(dir: &Path, number: usize) -> Assignment {
    Assignment {
        key: format!("bench/{number}/1"),
        program: "/bin/true".to_owned(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: dir.to_owned(),
        stdin: None,
        limits: Limits::default(),
        logs: ["out", "err"].map(|name| dir.join(format!("{number}.{name}"))),
        output_cap: 1 << 20,
        artifacts: Some(dir.join(format!("artifacts-{number}"))),
        adapter: None,
        seat: None,
        aside: dir.join("aside"),
        leftover: Leftover::Moves,
    }
}

/// Seconds of CPU that this process and those it has waited for used.
fn cpu() -> Result<f64, Box<dyn std::error::Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(4);
    let ticks: u64 = fields.map(str::parse::<u64>).sum::<Result<_, _>>()?;
    Ok(ticks as f64 / 100.0)
}
