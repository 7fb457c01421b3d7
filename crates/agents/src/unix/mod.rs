//! How processes start: all of the unsafe code there is. The standard library's way asks the kernel about each of its 64
//! signals in the child, twice, and maps a new stack for it: that cost more than everything else that a keeper does for a
//! short task. And it cannot start a process in a cgroup.
//!
//! The parent prepares everything for the child, which then only makes system calls: nothing is allocated,
//! freed or locked in it.

#![expect(unsafe_code, reason = "what a child does before it becomes a program can be said in no other way")]

mod ends;
mod peer;
mod spawner;
mod within;

pub(crate) use self::ends::Ends;
pub(crate) use self::peer::{peer_number, peer_process};
pub(crate) use self::spawner::{NotStarted, Spawner};
pub(crate) use self::within::start_within;

use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::ptr;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Our own input and outputs, which a child's cannot be.
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

/// The same as the kernel takes it.
struct Prepared {
    file: CString,
    args: Vec<*const c_char>,
    env: Vec<*const c_char>,
    cwd: CString,
    streams: [c_int; 3],
}

impl Prepared {
    /// What the program names must live as long.
    fn new(program: &Program<'_>) -> io::Result<Self> {
        let of = |path: &Path| Ok::<_, io::Error>(CString::new(path.as_os_str().as_bytes())?);
        let streams = program.streams.map(|stream| stream.as_raw_fd());
        if streams.iter().any(|stream| *stream < STANDARD) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (args, env) = (pointers(&program.args), pointers(&program.env));
        Ok(Self { file: of(program.file)?, args, env, cwd: of(program.cwd)?, streams })
    }

    fn errand(&self) -> Errand {
        let Self { file, args, env, cwd, streams } = self;
        Errand {
            file: file.as_ptr(),
            args: args.as_ptr(),
            env: env.as_ptr(),
            cwd: cwd.as_ptr(),
            streams: *streams,
            leads: true,
            gives_way: false,
            tell: None,
            failed: None,
        }
    }
}

/// What the child is given, and what it leaves when it does not become the program.
struct Errand {
    file: *const c_char,
    args: *const *const c_char,
    env: *const *const c_char,
    cwd: *const c_char,
    streams: [c_int; 3],
    /// It leads a process group of its own.
    leads: bool,
    /// Its parent gives way to others, and it does not.
    gives_way: bool,
    /// Where the number of an error is written to.
    tell: Option<c_int>,
    /// The number of the error, and whether it came with the folder.
    failed: Option<(c_int, bool)>,
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
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    }
}

/// Lets a signal do what it usually does.
unsafe fn as_usual(signal: c_int) {
    // SAFETY: that is no handler.
    unsafe { handle(signal, libc::SIG_DFL) }
}

/// Says what is done about a signal.
unsafe fn handle(signal: c_int, how: libc::sighandler_t) {
    // SAFETY: what the kernel is handed is plain data and whole.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = how;
        libc::sigaction(signal, &raw const action, ptr::null_mut());
    }
}

/// Lets this process wait for its children, also if its own parent ignores them: that is inherited, and the
/// kernel would forget how they ended.
pub fn wait_for_children() {
    // SAFETY: nothing in this program handles the signal.
    unsafe { as_usual(libc::SIGCHLD) }
}

/// Lets this process find out that a file may not grow (`ulimit -f`) by an error, as it does when the disk is full: it would be
/// killed without a word. What is started as in this module is not told to do the same.
pub fn outlive_large_files() {
    // SAFETY: nothing in this program handles the signal.
    unsafe { handle(libc::SIGXFSZ, libc::SIG_IGN) }
}

/// Lets this process outlive the signals that end its whole group, so that it can wait for the others. Programs that it starts
/// know nothing of it: a handler does not outlive an exec, as being ignored would.
pub(crate) fn let_others_end_first() {
    extern "C" fn nothing(_signal: c_int) {}
    let handler: extern "C" fn(c_int) = nothing;
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // SAFETY: the handler does nothing, and nothing else in a driver handles these signals.
        unsafe { handle(signal, handler as libc::sighandler_t) }
    }
}

/// Ends this process by a signal, whatever was to be done about it.
pub(crate) fn end_by(signal: c_int) {
    // SAFETY: neither call touches memory of this program.
    unsafe {
        as_usual(signal);
        libc::raise(signal);
    }
}

/// Lets this process keep memory that it has had: what is rendered again and again needs much of it, and to get it from the
/// kernel anew takes longer than to render.
pub fn keep_memory() {
    /// More than anything that is rendered.
    #[cfg(target_env = "gnu")]
    const BYTES: c_int = 32 << 20;
    // SAFETY: it sets two numbers of the allocator, which has locks of its own.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, BYTES);
    }
}

/// The child. It must not panic, allocate or return.
extern "C" fn become_program(errand: *mut c_void) -> c_int {
    let errand = errand.cast::<Errand>();
    // SAFETY: the parent's preparations are there, and no one else touches them. Handlers of signals are
    // forgotten when the program begins; what this process ignores would be ignored by it too.
    unsafe {
        let Errand { file, args, env, cwd, streams, leads, gives_way, tell, .. } = *errand;
        if gives_way {
            libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const NO_PRIORITY);
        }
        as_usual(libc::SIGPIPE);
        as_usual(libc::SIGXFSZ);
        let mut in_place = !leads || libc::setpgid(0, 0) == 0;
        for (target, stream) in (0..).zip(streams) {
            in_place = in_place && libc::dup2(stream, target) >= 0;
        }
        let is_there = in_place && libc::chdir(cwd) == 0;
        if is_there {
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
            libc::execve(file, args, env);
        }
        let errno = *libc::__errno_location();
        ptr::write_volatile(&raw mut (*errand).failed, Some((errno, in_place && !is_there)));
        if let Some(tell) = tell {
            libc::write(tell, (&raw const errno).cast(), size_of::<c_int>());
        }
        libc::_exit(127)
    }
}

/// Has a program killed when the thread that starts it is gone, also by kill -9. For what is started for a moment and has no
/// keeper; what it starts in turn is not reached.
pub(crate) fn ends_with_us(command: &mut Command) -> &mut Command {
    let us = Pid::from_raw(std::process::id().cast_signed());
    let tell = move || {
        // SAFETY: a child does not share what is done about signals, and nothing handles this one.
        unsafe { as_usual(libc::SIGXFSZ) };
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that is gone needs no answer.
        if getppid() == us { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec it makes three system calls, and an error is a number: nothing is allocated or locked.
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
    use std::os::fd::AsFd as _;

    use super::*;

    pub(super) fn null() -> File {
        File::options().read(true).write(true).open("/dev/null").unwrap()
    }

    /// A program that is given nothing.
    pub(super) fn bare<'a>(file: &'a str, null: &'a File) -> Program<'a> {
        let (args, env) = (vec![text(file).unwrap()], Vec::new());
        Program { file: Path::new(file), args, env, cwd: Path::new("/"), streams: [null.as_fd(); 3] }
    }

    #[test]
    fn process_goes_on_with_its_own_children_and_memory() {
        wait_for_children();
        keep_memory();
        let large = vec![1_u8; 40 << 20];
        drop(large);
        assert!(Command::new("/bin/true").status().is_ok_and(|status| status.success()));
    }
}
