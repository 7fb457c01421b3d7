//! The start of a worker, and of what ends with us: all of the unsafe code there is. The standard library's way asks the
//! kernel about each of its 64 signals in the child, twice, and maps a new stack for it: that cost more than everything else
//! that a keeper does for a short task.
//!
//! The child borrows the keeper's memory until it has become the worker's program, and the keeper stands still as long. In
//! that time it only makes system calls on what was prepared for it: nothing is allocated, freed or locked. A keeper has one
//! thread, so there is nobody else whose memory it could meet.

#![expect(unsafe_code, reason = "a child that borrows its parent's memory can be had in no other way")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::ptr;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// The child calls nothing that needs much of it.
const STACK: usize = 64 * 1024;
/// The keeper's own input and outputs, which a worker's cannot be.
const STANDARD: c_int = 3;
/// The only one there is without deadlines and the like.
static NO_PRIORITY: libc::sched_param = libc::sched_param { sched_priority: 0 };

/// A program to be started, and everything that it is given.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    /// Its file.
    pub(crate) file: &'a Path,
    /// Its name for itself, then its arguments.
    pub(crate) args: Vec<CString>,
    /// `NAME=value` each.
    pub(crate) env: Vec<CString>,
    /// Where it works.
    pub(crate) cwd: &'a Path,
    /// Its standard input, output and error.
    pub(crate) streams: [BorrowedFd<'a>; 3],
}

/// A process that was started. Its parent must wait for it.
#[derive(Debug)]
pub(crate) struct Started {
    /// Its number.
    pub(crate) pid: Pid,
    /// Tells when it has ended; none where the kernel does not know such descriptors.
    pub(crate) end: Option<OwnedFd>,
}

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
    /// What is asked of the kernel beside what is needed: a descriptor that tells when the child has ended.
    wish: c_int,
    /// This process gives way to others, which its children do not inherit.
    gives_way: bool,
}

/// What the child is given, and what it leaves when it does not become the program.
struct Errand {
    file: *const c_char,
    args: *const *const c_char,
    env: *const *const c_char,
    cwd: *const c_char,
    streams: [c_int; 3],
    gives_way: bool,
    /// The number of the error, and whether it came with the folder.
    failed: Option<(c_int, bool)>,
}

impl Spawner {
    pub(crate) fn new() -> Self {
        Self { stack: vec![0; STACK].into_boxed_slice(), wish: libc::CLONE_PIDFD, gives_way: false }
    }

    /// From now on this process takes the processor from nobody when it wakes: whoever runs goes on, which may be a worker
    /// that has just begun. Its children are scheduled as it was. Nothing changes if somebody has chosen how.
    pub(crate) fn give_way(&mut self) {
        // SAFETY: the one asks about this process, the other reads what it is handed, which lives as long.
        self.gives_way = unsafe {
            libc::sched_getscheduler(0) == libc::SCHED_OTHER
                && libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const NO_PRIORITY) == 0
        };
    }

    /// Starts a program in a process group of its own, with no signal blocked or ignored. Descriptors that are not marked to
    /// be closed go with it. The caller has no other thread.
    pub(crate) fn start(&mut self, program: &Program<'_>) -> Result<Started, NotStarted> {
        let of = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(|nul| NotStarted::Other(nul.into()));
        let (file, cwd) = (of(program.file)?, of(program.cwd)?);
        let (args, env) = (pointers(&program.args), pointers(&program.env));
        let streams = program.streams.map(|stream| stream.as_raw_fd());
        if streams.iter().any(|stream| *stream < STANDARD) {
            return Err(NotStarted::Other(io::ErrorKind::InvalidInput.into()));
        }
        let mut errand = Errand {
            file: file.as_ptr(),
            args: args.as_ptr(),
            env: env.as_ptr(),
            cwd: cwd.as_ptr(),
            streams,
            gives_way: self.gives_way,
            failed: None,
        };
        match self.run(&mut errand) {
            Err(NotStarted::Other(error))
                if self.wish != 0 && errand.failed.is_none() && error.raw_os_error() == Some(libc::EINVAL) =>
            {
                // There are kernels, and programs that act as one, which know no such descriptors.
                self.wish = 0;
                self.run(&mut errand)
            }
            started => started,
        }
    }

    /// Sends a child on its errand.
    fn run(&mut self, errand: &mut Errand) -> Result<Started, NotStarted> {
        errand.failed = None;
        let mut end: c_int = -1;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD | self.wish;
        // SAFETY: the stack grows down from the end of a buffer that nothing else uses until this returns, which is when the
        // child no longer runs on it. What the errand points to lives as long, and this thread, the only one, stands still.
        // No signal is handled in the child: all are blocked here. The descriptor is ours alone, if there is one.
        unsafe {
            let before = blocked();
            let top = self.stack.as_mut_ptr_range().end.cast::<c_void>();
            let pid = libc::clone(become_program, top, flags, ptr::from_mut(errand).cast(), &raw mut end);
            let error = io::Error::last_os_error();
            libc::sigprocmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
            let end = (end >= 0).then(|| OwnedFd::from_raw_fd(end));
            let Some(pid) = (pid > 0).then(|| Pid::from_raw(pid)).flatten() else {
                return Err(NotStarted::Other(error));
            };
            match ptr::read_volatile(&raw const errand.failed) {
                None => Ok(Started { pid, end }),
                Some((errno, is_folder)) => {
                    libc::waitpid(pid.as_raw_pid(), ptr::null_mut(), 0);
                    let error = io::Error::from_raw_os_error(errno);
                    Err(if is_folder { NotStarted::NoFolder(error) } else { NotStarted::Other(error) })
                }
            }
        }
    }
}

/// Where texts are, with the null that ends such a list.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

/// Blocks every signal; says which were blocked before.
unsafe fn blocked() -> libc::sigset_t {
    // SAFETY: both sets are written whole before they are read.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    }
}

/// The child. It must not panic, allocate or return.
extern "C" fn become_program(errand: *mut c_void) -> c_int {
    let errand = errand.cast::<Errand>();
    // SAFETY: the parent stands still and keeps what it prepared. Handlers of signals are forgotten when the program begins;
    // what this process ignores would be ignored by it too.
    unsafe {
        let Errand { file, args, env, cwd, streams, gives_way, .. } = *errand;
        if gives_way {
            libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const NO_PRIORITY);
        }
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGPIPE, &raw const default, ptr::null_mut());
        let mut in_place = libc::setpgid(0, 0) == 0;
        for (target, stream) in (0..).zip(streams) {
            in_place = in_place && libc::dup2(stream, target) >= 0;
        }
        let is_there = in_place && libc::chdir(cwd) == 0;
        if is_there {
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
            libc::execve(file, args, env);
        }
        ptr::write_volatile(&raw mut (*errand).failed, Some((*libc::__errno_location(), in_place && !is_there)));
        libc::_exit(127)
    }
}

/// Has a program killed when the thread that starts it is gone, also by kill -9. For what is started for a moment and has no
/// keeper; what it starts in turn is not reached.
pub(crate) fn ends_with_us(command: &mut Command) -> &mut Command {
    let us = Pid::from_raw(std::process::id().cast_signed());
    let tell = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // Whoever is gone by now tells nobody any more.
        if getppid() == us { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec it makes two system calls, and an error is a number: nothing is allocated or locked.
    unsafe { command.pre_exec(tell) }
}

/// A text as a program takes it.
pub(crate) fn text(text: &str) -> io::Result<CString> {
    Ok(CString::new(text)?)
}

/// A variable of its environment.
pub(crate) fn variable(name: &str, value: &str) -> io::Result<CString> {
    let mut text = String::with_capacity(name.len() + value.len() + 2);
    text.push_str(name);
    text.push('=');
    text.push_str(value);
    Ok(CString::new(text)?)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;
    use std::os::fd::AsFd as _;

    use rustix::process::{WaitOptions, waitpid};

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
        let started = Spawner::new().start(&program)?;
        assert!(started.end.is_some());
        drop(pipe);
        let mut printed = String::new();
        out.read_to_string(&mut printed).unwrap();
        let (_, status) = waitpid(Some(started.pid), WaitOptions::empty()).unwrap().unwrap();
        Ok((printed, status.exit_status()))
    }

    fn null() -> File {
        File::options().read(true).write(true).open("/dev/null").unwrap()
    }

    fn policy(pid: i32) -> c_int {
        // SAFETY: it asks about a process, or about this thread.
        unsafe { libc::sched_getscheduler(pid) }
    }

    /// A program that is given nothing.
    fn bare<'a>(file: &'a str, null: &'a File) -> Program<'a> {
        let (args, env) = (vec![text(file).unwrap()], Vec::new());
        Program { file: Path::new(file), args, env, cwd: Path::new("/"), streams: [null.as_fd(); 3] }
    }

    #[test]
    fn a_program_has_what_it_was_given_and_nothing_else() {
        let (printed, code) = told("echo $A; pwd; env | sort | cut -d= -f1 | tr '\\n' ' '; exit 7", "/usr").unwrap();
        assert_eq!((printed.as_str(), code), ("b c\n/usr\nA PWD ", Some(7)));
        // Whoever started this process may have left it some descriptors.
        let mut others = std::process::Command::new("/bin/sh");
        let others = others.args(["-c", "ls /proc/self/fd"]).stderr(std::process::Stdio::null()).output().unwrap();
        assert_eq!(told("ls /proc/self/fd", "/").unwrap().0, String::from_utf8(others.stdout).unwrap());
    }

    #[test]
    fn what_this_process_ignores_and_blocks_is_not_inherited_and_it_leads_its_own_group() {
        let (printed, _) =
            told("cut -d' ' -f5 /proc/$$/stat; echo $$; exec grep -E 'Sig(Ign|Blk)' /proc/$$/status", "/").unwrap();
        let lines: Vec<_> = printed.lines().collect();
        assert_eq!(lines[0], lines[1]);
        let set = |line: &str| u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        let broken_pipe = 1 << (libc::SIGPIPE - 1);
        assert_eq!((set(lines[2]), set(lines[3]) & broken_pipe), (0, 0), "{printed}");
    }

    #[test]
    fn who_gives_way_starts_programs_that_do_not() {
        let null = null();
        // As a thread of its own, which is what the kernel schedules.
        let (own, program) = std::thread::spawn(move || {
            let mut spawner = Spawner::new();
            spawner.give_way();
            let started = spawner.start(&bare("/bin/cat", &null)).unwrap();
            let program = policy(started.pid.as_raw_pid());
            waitpid(Some(started.pid), WaitOptions::empty()).unwrap();
            (policy(0), program)
        })
        .join()
        .unwrap();
        assert_eq!((own, program), (libc::SCHED_BATCH, libc::SCHED_OTHER));
    }

    #[test]
    fn a_kernel_without_descriptors_for_processes_starts_them_too() {
        let null = null();
        // What no kernel takes: handlers of signals are shared only with memory, and threads only with both.
        let mut spawner = Spawner { wish: libc::CLONE_THREAD, ..Spawner::new() };
        let started = spawner.start(&bare("/bin/true", &null)).unwrap();
        assert!(started.end.is_none() && spawner.wish == 0);
        let (_, status) = waitpid(Some(started.pid), WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(0));
    }

    #[test]
    fn what_is_missing_is_told_and_no_process_is_left() {
        assert!(
            matches!(told("true", "/nowhere"), Err(NotStarted::NoFolder(error)) if error.kind() == io::ErrorKind::NotFound)
        );
        let error = Spawner::new().start(&bare("/nowhere/at/all", &null())).unwrap_err();
        assert!(matches!(error, NotStarted::Other(error) if error.kind() == io::ErrorKind::NotFound));
        assert_eq!(text("a\0b").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
