//! One executor per run: a kernel lock on a file that is never removed, so it falls with its holder, however that ends.
//! The text in the file is for messages only. No pid, clock or timeout is ever taken as proof that a holder is gone.

#![expect(clippy::disallowed_methods, reason = "files of the kernel and of the machine, none of a run")]

use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::disk::{Disk, DiskError, DiskFile};

/// How long a start waits for the lock: a predecessor that was just killed may take a moment to go.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// Why the lock was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// Someone else has it.
    #[error("it is held by {by}")]
    Held {
        /// What the holder says about itself, safe to print.
        by: String,
    },
    /// The disk says no.
    #[error("{0}")]
    Disk(#[from] DiskError),
}

/// A lock that is held for as long as this lives.
#[derive(Debug)]
pub struct Lock<F> {
    file: F,
    name: String,
}

impl<F: DiskFile> Lock<F> {
    /// Takes the lock, or says who has held it for all of the time that was waited.
    pub fn take<D: Disk<File = F>>(disk: &D, name: &str, patience: Duration) -> Result<Self, LockError> {
        let started = Instant::now();
        loop {
            let mut file = open_or_create(disk, name).map_err(DiskError::when("open", name))?;
            if holds(disk, name, &mut file).map_err(DiskError::when("lock", name))? {
                tracing::info!(waited = ?started.elapsed(), "lock taken");
                return Ok(Self { file, name: name.to_owned() });
            }
            let waited = started.elapsed();
            if waited >= patience {
                return Err(LockError::Held { by: read_holder(&mut file) });
            }
            sleep(POLL.min(patience - waited));
        }
    }

    /// Whether the last holder is known to have taken the lock since the machine started: then everything
    /// that it wrote is there.
    pub fn was_held_since(&mut self, boot: &str) -> bool {
        let said = self.file.read_all().unwrap_or_default();
        !boot.is_empty() && String::from_utf8_lossy(&said).contains(&format!("boot {boot},"))
    }

    /// Says in the file who has the lock. A reader may see half of it.
    pub fn sign(&mut self, holder: &Holder) -> Result<(), DiskError> {
        let text = format!("{holder}\n");
        let written = self.file.truncate(0).and_then(|()| self.file.write_all_at(0, text.as_bytes()));
        written.map_err(DiskError::when("write", &self.name))
    }
}

/// The holder of a lock, in its own words; `None` if the lock is free. Changes nothing.
pub fn held_by<D: Disk>(disk: &D, name: &str) -> Result<Option<String>, DiskError> {
    let mut file = match disk.look_at(name) {
        Err(Errno::NOENT) => return Ok(None),
        opened => opened.map_err(DiskError::when("open", name))?,
    };
    let is_free = file.try_lock().map_err(DiskError::when("lock", name))?;
    Ok((!is_free).then(|| read_holder(&mut file)))
}

/// Who has the lock, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// When that started, in clock ticks since the machine did.
    pub started: u64,
    /// Which start of the machine that was.
    pub boot: String,
    /// The machine's name.
    pub host: String,
    /// Its epoch in the journal.
    pub epoch: u64,
}

impl Holder {
    /// This process. What the system does not tell is left empty.
    pub fn this_process(epoch: u64) -> Self {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // The name of the program is in brackets and may hold anything; the 20th field behind it is the start.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        Self {
            pid: std::process::id(),
            started: fields.split_whitespace().nth(19).and_then(|ticks| ticks.parse().ok()).unwrap_or(0),
            boot: boot(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            epoch,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, started, boot, host, epoch } = self;
        write!(f, "process {pid} on {host} (epoch {epoch}, boot {boot}, started at tick {started})")
    }
}

/// Which start of the machine this is.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

const POLL: Duration = Duration::from_millis(20);
const SHOWN_CHARS: usize = 200;

fn open_or_create<D: Disk>(disk: &D, name: &str) -> Result<D::File, Errno> {
    loop {
        match disk.open(name) {
            Err(Errno::NOENT) => {}
            result => return result,
        }
        match disk.create(name) {
            Err(Errno::EXIST) => {} // someone was faster
            result => return result,
        }
    }
}

/// Takes the lock of a file. If someone moved that away in between, another executor may lock a new one: it does not count.
fn holds<D: Disk>(disk: &D, name: &str, file: &mut D::File) -> Result<bool, Errno> {
    Ok(file.try_lock()? && disk.is_at(name, file)?)
}

fn read_holder(file: &mut impl DiskFile) -> String {
    let bytes = file.read_all().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next().unwrap_or_default().chars().take(SHOWN_CHARS);
    let line: String = line.map(|c| if c.is_control() { '?' } else { c }).collect();
    // People need the process and the machine; the rest is for the next executor.
    let shown = line.split_once(" (epoch ").map_or(line.as_str(), |(who, _)| who);
    if shown.is_empty() { "another process".to_owned() } else { shown.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real_disk::RealDisk;

    const NOW: Duration = Duration::ZERO;

    fn world() -> (tempfile::TempDir, RealDisk) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        (dir, disk)
    }

    fn refused_by(result: Result<Lock<impl DiskFile>, LockError>) -> String {
        match result {
            Err(LockError::Held { by }) => by,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("two hold it"),
        }
    }

    /// R: X-02
    #[test]
    fn second_taker_sees_the_holder_then_gets_the_lock() {
        let (_dir, disk) = world();
        let mut first = Lock::take(&disk, "lock", NOW).expect("free");
        assert_eq!(refused_by(Lock::take(&disk, "lock", NOW)), "another process");
        first.sign(&Holder::this_process(7)).expect("signed");
        let by = refused_by(Lock::take(&disk, "lock", NOW));
        assert_eq!(held_by(&disk, "lock"), Ok(Some(by.clone())));
        assert!(by.starts_with(&format!("process {} on ", std::process::id())), "{by}");
        assert!(!by.contains("boot"), "{by}");
        drop(first);
        assert_eq!((held_by(&disk, "lock"), held_by(&disk, "none")), (Ok(None), Ok(None)));
        let mut third = Lock::take(&disk, "lock", NOW).expect("free again");
        let short = Holder { pid: 1, started: 2, boot: String::new(), host: "h".to_owned(), epoch: 8 };
        third.sign(&short).expect("signed");
        assert_eq!(disk.read("lock"), Ok(b"process 1 on h (epoch 8, boot , started at tick 2)\n".to_vec()));
    }

    /// R: X-02
    #[test]
    fn a_process_that_is_killed_lets_go_of_the_lock() {
        let (dir, disk) = world();
        disk.create("lock").expect("a file");
        let script = "exec 9<>lock; flock -n 9 || exit 1; echo locked; exec sleep 60";
        let mut child = std::process::Command::new("sh")
            .args(["-c", script])
            .current_dir(dir.path())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut said = String::new();
        let out = child.stdout.take().expect("its output");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut said).expect("a line");
        assert_eq!(said, "locked\n");
        assert_eq!(refused_by(Lock::take(&disk, "lock", Duration::from_millis(50))), "another process");
        child.kill().expect("killed");
        Lock::take(&disk, "lock", PATIENCE).expect("free when the process is gone");
        child.wait().expect("reaped");
    }

    #[test]
    fn a_lock_file_that_was_moved_away_does_not_count() {
        let (_dir, disk) = world();
        let mut moved = open_or_create(&disk, "lock").expect("a file");
        disk.rename("lock", "elsewhere").expect("moved");
        let mut there = open_or_create(&disk, "lock").expect("another file");
        assert_eq!(holds(&disk, "lock", &mut moved), Ok(false));
        assert_eq!(holds(&disk, "lock", &mut there), Ok(true));
    }

    #[test]
    fn lock_text_is_shown_without_controls() {
        let (_dir, disk) = world();
        let mut held = Lock::take(&disk, "lock", NOW).expect("free");
        let hostile = format!("\u{1b}[2J\u{7}{}\nsecond", "x".repeat(500));
        held.file.write_all_at(0, hostile.as_bytes()).expect("written");
        assert_eq!(refused_by(Lock::take(&disk, "lock", NOW)), format!("?[2J?{}", "x".repeat(195)));
    }
}
