//! A process that is in a cgroup from its first moment. To move one there makes the kernel wait for all processors, which takes
//! some 10 ms, and nothing on the machine can be started meanwhile.
//!
//! The child has a copy of our memory, so our other threads cannot disturb it; whatever they held locked stays locked in it,
//! and it needs none of that.

use std::ffi::{c_int, c_long};
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr;

use rustix::process::{Pid, WaitOptions, waitpid};

use super::{Errand, Prepared, Program, become_program, blocked};

/// The child begins in the cgroup that is named. Since Linux 5.7.
const INTO_CGROUP: u64 = 0x2_0000_0000;
/// What we do about signals is not what the child does. Since Linux 5.5.
const CLEAR_HANDLERS: u64 = 0x1_0000_0000;

/// What the kernel takes, as far as it is needed here.
#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// Starts a program in a cgroup, whose folder is handed in. Nothing if the kernel does not do that, or not with this one.
/// Descriptors that are not marked to be closed go with it. Its parent must wait for it.
pub(crate) fn start_within(cgroup: BorrowedFd<'_>, program: &Program<'_>) -> io::Result<Option<Pid>> {
    let prepared = Prepared::new(program)?;
    let (mut told, tell) = io::pipe()?;
    let mut errand = Errand { leads: false, tell: Some(tell.as_raw_fd()), ..prepared.errand() };
    let Some(pid) = forked(cgroup, &mut errand) else { return Ok(None) };
    drop(tell);
    // It is closed when the program begins.
    let mut errno = [0; size_of::<c_int>()];
    if told.read_exact(&mut errno).is_err() {
        return Ok(Some(pid));
    }
    waitpid(Some(pid), WaitOptions::empty())?;
    Err(io::Error::from_raw_os_error(c_int::from_ne_bytes(errno)))
}

/// Sends a child on its errand, into a cgroup.
fn forked(cgroup: BorrowedFd<'_>, errand: &mut Errand) -> Option<Pid> {
    let args = CloneArgs {
        flags: INTO_CGROUP | CLEAR_HANDLERS,
        exit_signal: u64::try_from(libc::SIGCHLD).ok()?,
        cgroup: u64::try_from(cgroup.as_raw_fd()).ok()?,
        ..CloneArgs::default()
    };
    // SAFETY: without a stack, and without sharing memory, the child goes on here with copies of everything, and does nothing
    // but make system calls on what was prepared until it is another program or has ended. No signal is handled in between:
    // all are blocked here. The kernel only reads what it is handed.
    unsafe {
        let before = blocked();
        let pid: c_long = libc::syscall(libc::SYS_clone3, &raw const args, size_of::<CloneArgs>());
        if pid == 0 {
            become_program(ptr::from_mut(errand).cast());
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd as _;
    use std::path::Path;

    use super::super::tests::{bare, null};
    use super::super::{text, variable};
    use super::*;
    use crate::cgroup::Cgroup;

    #[test]
    fn a_program_begins_in_its_cgroup_with_what_it_was_given() {
        let Some(cgroup) = Cgroup::create() else { return };
        let folder = File::open(cgroup.path()).unwrap();
        let (mut out, pipe) = io::pipe().unwrap();
        let null = null();
        let script = "grep ^0:: /proc/$$/cgroup; pwd; echo $A; cut -d' ' -f5 /proc/$$/stat; \
                      exec grep -E 'Sig(Blk|Ign)' /proc/$$/status";
        let program = Program {
            file: Path::new("/bin/sh"),
            args: ["sh", "-c", script].map(|arg| text(arg).unwrap()).into(),
            env: vec![variable("A", "b c").unwrap()],
            cwd: Path::new("/usr"),
            streams: [null.as_fd(), pipe.as_fd(), null.as_fd()],
        };
        let pid = start_within(folder.as_fd(), &program).unwrap().expect("this kernel makes cgroups");
        drop(pipe);
        let mut printed = String::new();
        out.read_to_string(&mut printed).unwrap();
        waitpid(Some(pid), WaitOptions::empty()).unwrap();
        let lines: Vec<_> = printed.lines().collect();
        let name = cgroup.path().file_name().unwrap().to_str().unwrap();
        assert!(lines[0].ends_with(name), "{printed}");
        assert_eq!(lines[1..3], ["/usr", "b c"]);
        let set = |line: &str| u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!((set(lines[4]), set(lines[5]) & 1 << (libc::SIGPIPE - 1)), (0, 0), "{printed}");
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        let group = own.rsplit(") ").next().unwrap().split(' ').nth(2);
        assert_eq!(Some(lines[3]), group, "it is in the group of its parent");
        cgroup.remove().unwrap();
    }

    #[test]
    fn missing_program_and_missing_cgroup_differ() {
        let null = null();
        let folder = File::open("/").unwrap();
        assert!(start_within(folder.as_fd(), &bare("/bin/true", &null)).unwrap().is_none());
        let Some(cgroup) = Cgroup::create() else { return };
        let folder = File::open(cgroup.path()).unwrap();
        let error = start_within(folder.as_fd(), &bare("/nowhere/at/all", &null)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        cgroup.remove().unwrap();
    }
}
