//! Fills the disk of a project while it is run, again and again: on a small tmpfs a file grows at a moment by chance until
//! nothing more fits, and workers that cannot write fail. The run must stop with 74 or get through, and with room again the same
//! command must complete every task, without a worker that ended well running again.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::crash::chance::Chance;
use crate::crash::{PATIENCE, build, wait};
use crate::shell::Outcome;

/// How many tasks a session has.
const TASKS: usize = 12;
/// Each worker writes a file of this many bytes, and fails if it cannot.
const BYTES: usize = 60_000;

/// A tmpfs that is gone at the end.
struct Disk<'d>(&'d Path);

impl<'d> Disk<'d> {
    fn mount(at: &'d Path, kib: u64) -> Outcome<Self> {
        fs::create_dir_all(at).map_err(|error| error.to_string())?;
        let size = format!("size={kib}k");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "full"]).arg(at).status();
        match mounted {
            Ok(status) if status.success() => Ok(Self(at)),
            _ => Err("a tmpfs must be mounted, which only root may".to_owned()),
        }
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _it_stays_then = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

/// Runs so many sessions on disks that fill up.
pub(crate) fn run(runs: u64, seed: u64) -> Outcome {
    let own = tempfile::tempdir().map_err(|error| error.to_string())?;
    let binary = build(own.path())?;
    let (started, mut stopped) = (Instant::now(), 0);
    for nth in 0..runs {
        let dir = own.path().join(format!("run-{nth}"));
        stopped += one(&binary, &dir, seed + nth).map_err(|seen| format!("seed {}: {seen}", seed + nth))?;
    }
    let seconds = started.elapsed().as_secs_f32();
    println!("{runs} runs in {seconds:.0} s, {stopped} stops with 74; exit 1: 0, repeated 0, skipped 0");
    Ok(())
}

/// One session; says how often it stopped for want of room.
fn one(binary: &Path, dir: &Path, seed: u64) -> Outcome<u64> {
    let mut chance = Chance::new(seed);
    let disk = Disk::mount(dir, 2048 + 512 * chance.below(8))?;
    let text = |error: std::io::Error| error.to_string();
    let ran = dir.with_extension("ran");
    fs::write(&ran, "").map_err(text)?;
    fs::create_dir_all(dir.join("S")).map_err(text)?;
    let rows = (0..TASKS).map(|task| {
        let deps = if task < 3 { String::new() } else { format!("T{}", task - 3) };
        format!("T{task},Task {task},Do it,{deps},worker\n")
    });
    fs::write(dir.join("S/tasks.csv"), format!("id,title,description,deps,role\n{}", rows.collect::<String>()))
        .map_err(text)?;
    let filler = chance.index(TASKS);
    let worker = format!(
        "if [ $TEAM_EXECUTOR_TASK = T{filler} ] && [ ! -e filled ]; then cat /dev/zero >fill; : >filled; {}; fi; \
         head -c {BYTES} /dev/zero >out.$TEAM_EXECUTOR_TASK || exit 1; echo $TEAM_EXECUTOR_TASK >>'{}'",
        if chance.once_in(2) { "exit 1" } else { "true" },
        ran.display()
    );
    let mut stops = 0;
    loop {
        let code = executed(binary, dir, &worker)?;
        match code {
            0 => break,
            74 if stops < 3 => {
                stops += 1;
                if stops == 2 {
                    fs::write(dir.join("filled"), "").ok();
                    fs::write(dir.join("fill"), "").map_err(text)?; // there is room again
                }
            }
            code => return Err(format!("it ended with {code} after {stops} stops")),
        }
    }
    let mut all: Vec<String> = fs::read_to_string(&ran).map_err(text)?.lines().map(str::to_owned).collect();
    all.sort();
    let mut expected: Vec<String> = (0..TASKS).map(|task| format!("T{task}")).collect();
    expected.sort();
    drop(disk);
    if all == expected { Ok(stops) } else { Err(format!("these ended well: {all:?}")) }
}

fn executed(binary: &Path, dir: &Path, worker: &str) -> Outcome<i32> {
    let mut command = Command::new(binary);
    command.args(["run", "--session=S", "-y", "-c2", "--retries=1", "--agent-command", worker]).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = command.spawn().map_err(|error| error.to_string())?;
    let Some(status) = wait(&mut process, PATIENCE)? else {
        let _killed = process.kill().and_then(|()| process.wait());
        return Err(format!("it did not end within {:?}", Duration::from_secs(PATIENCE.as_secs())));
    };
    status.code().ok_or_else(|| format!("it was killed: {status}"))
}
