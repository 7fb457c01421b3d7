//! Where workers begin. The child borrows the keeper's memory until it has become the worker's program, and the keeper stands
//! still as long. A keeper has one thread, so no other thread can meet it there.
//!
//! What this brings: `std::process::Command`, which uses `posix_spawn`, costs 6 % more CPU (`cargo xtask bench finished 3000`, with
//! and without it, interleaved: 674 and 634 µs a task).

use std::ffi::c_void;
use std::io;
use std::ptr;

use rustix::process::Pid;

use super::{Errand, NO_PRIORITY, Prepared, Program, become_program, blocked};

/// The child calls nothing that needs much of it.
const STACK: usize = 64 * 1024;

/// Why a program was not started.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// It cannot work where it should.
    NoFolder(io::Error),
    /// Anything else.
    Other(io::Error),
}

/// Where children begin to run: one at a time.
#[derive(Debug)]
pub(crate) struct Spawner {
    stack: Box<[u8]>,
    /// This process gives way to others, which its children do not inherit.
    gives_way: bool,
}

impl Spawner {
    pub(crate) fn new() -> Self {
        Self { stack: vec![0; STACK].into_boxed_slice(), gives_way: false }
    }

    /// From now on this process preempts no other when it wakes: the running process goes on, which may be a
    /// worker that has just begun. Its children are scheduled as it was. Nothing changes if the user chose a
    /// policy.
    pub(crate) fn give_way(&mut self) {
        // SAFETY: the one asks about this process, the other reads what it is handed, which lives as long.
        self.gives_way = unsafe {
            libc::sched_getscheduler(0) == libc::SCHED_OTHER
                && libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const NO_PRIORITY) == 0
        };
    }

    /// Starts a program in a process group of its own, with no signal blocked, and none ignored that only
    /// this program ignores; signals that its parent ignores, as with `nohup`, stay ignored. Descriptors that
    /// are not marked to be closed go with it. The caller has no other thread, and must wait for the child.
    pub(crate) fn start(&mut self, program: &Program<'_>) -> Result<Pid, NotStarted> {
        let prepared = Prepared::new(program).map_err(NotStarted::Other)?;
        let mut errand = Errand { gives_way: self.gives_way, ..prepared.errand() };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the stack grows down from the end of a buffer that nothing else uses until this returns, which is when the
        // child no longer runs on it. What the errand points to lives as long, and this thread, the only one, stands still.
        // No signal is handled in the child: all are blocked here.
        unsafe {
            let before = blocked();
            let top = self.stack.as_mut_ptr_range().end.cast::<c_void>();
            let pid = libc::clone(become_program, top, flags, (&raw mut errand).cast());
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
            let Some(pid) = (pid > 0).then(|| Pid::from_raw(pid)).flatten() else {
                return Err(NotStarted::Other(error));
            };
            match ptr::read_volatile(&raw const errand.failed) {
                None => Ok(pid),
                Some((errno, is_folder)) => {
                    libc::waitpid(pid.as_raw_pid(), ptr::null_mut(), 0);
                    let error = io::Error::from_raw_os_error(errno);
                    Err(if is_folder { NotStarted::NoFolder(error) } else { NotStarted::Other(error) })
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::fd::AsFd as _;
    use std::path::Path;

    use rustix::process::{WaitOptions, waitpid};

    use super::super::tests::{bare, null};
    use super::super::{text, variable};
    use super::*;

    /// What a shell in a folder prints, and how it ends.
    fn told(script: &str, cwd: &str) -> Result<(String, Option<i32>), NotStarted> {
        let (mut out, pipe) = io::pipe().unwrap();
        let null = null();
        let program = Program {
            file: Path::new("/bin/sh"),
            args: ["sh", "-c", script].map(|arg| text(arg).unwrap()).into(),
            env: vec![variable("A", "b c").unwrap()],
            cwd: Path::new(cwd),
            streams: [null.as_fd(), pipe.as_fd(), null.as_fd()],
        };
        let pid = Spawner::new().start(&program)?;
        drop(pipe);
        let mut printed = String::new();
        out.read_to_string(&mut printed).unwrap();
        let (_, status) = waitpid(Some(pid), WaitOptions::empty()).unwrap().unwrap();
        Ok((printed, status.exit_status()))
    }

    fn policy(pid: i32) -> i32 {
        // SAFETY: it asks about a process, or about this thread.
        unsafe { libc::sched_getscheduler(pid) }
    }

    #[test]
    fn a_program_has_what_it_was_given_and_nothing_else() {
        let (printed, code) = told("echo $A; pwd; env | sort | cut -d= -f1 | tr '\\n' ' '; exit 7", "/usr").unwrap();
        assert_eq!((printed.as_str(), code), ("b c\n/usr\nA PWD ", Some(7)));
        // The parent of this process may have left it some descriptors.
        let mut others = std::process::Command::new("/bin/sh");
        let others = others.args(["-c", "ls /proc/self/fd"]).stderr(std::process::Stdio::null()).output().unwrap();
        assert_eq!(told("ls /proc/self/fd", "/").unwrap().0, String::from_utf8(others.stdout).unwrap());
    }

    #[test]
    fn child_has_default_signals_and_its_own_group() {
        super::super::outlive_large_files();
        let (printed, _) =
            told("cut -d' ' -f5 /proc/$$/stat; echo $$; exec grep -E 'Sig(Ign|Blk)' /proc/$$/status", "/").unwrap();
        let lines: Vec<_> = printed.lines().collect();
        assert_eq!(lines[0], lines[1]);
        let set = |line: &str| u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        let ignored = 1 << (libc::SIGPIPE - 1) | 1 << (libc::SIGXFSZ - 1);
        assert_eq!((set(lines[2]), set(lines[3]) & ignored), (0, 0), "{printed}");
    }

    #[test]
    fn yielding_parent_starts_children_with_normal_priority() {
        let null = null();
        // As a thread of its own, which is what the kernel schedules.
        let (own, program) = std::thread::spawn(move || {
            let mut spawner = Spawner::new();
            spawner.give_way();
            let pid = spawner.start(&bare("/bin/cat", &null)).unwrap();
            let program = policy(pid.as_raw_pid());
            waitpid(Some(pid), WaitOptions::empty()).unwrap();
            (policy(0), program)
        })
        .join()
        .unwrap();
        assert_eq!((own, program), (libc::SCHED_BATCH, libc::SCHED_OTHER));
    }

    #[test]
    fn missing_program_is_reported_and_leaves_no_process() {
        assert!(
            matches!(told("true", "/nowhere"), Err(NotStarted::NoFolder(error)) if error.kind() == io::ErrorKind::NotFound)
        );
        let error = Spawner::new().start(&bare("/nowhere/at/all", &null())).unwrap_err();
        assert!(matches!(error, NotStarted::Other(error) if error.kind() == io::ErrorKind::NotFound));
        assert_eq!(text("a\0b").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
