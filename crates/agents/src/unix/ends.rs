//! Tells a process of one thread that a child has ended. A descriptor for each child, which would tell the same, costs the kernel
//! a file and an inode for every worker.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr;

/// Can be read when a child has ended since it was last [cleared](Ends::clear). Programs that are started as in this module
/// do not inherit what it needs.
#[derive(Debug)]
pub(crate) struct Ends(OwnedFd);

impl Ends {
    /// Watches the children of this process from now on. It has no other thread.
    pub(crate) fn watch() -> io::Result<Self> {
        // SAFETY: the set is plain data that is written whole before it is read, and no other code owns the descriptor.
        unsafe {
            let mut child: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut child);
            libc::sigaddset(&raw mut child, libc::SIGCHLD);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const child, ptr::null_mut());
            let fd = libc::signalfd(-1, &raw const child, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Self(OwnedFd::from_raw_fd(fd))) }
        }
    }

    /// What ended until now was seen.
    pub(crate) fn clear(&self) {
        // However many have ended, there is one signal.
        let mut told = [MaybeUninit::uninit(); size_of::<libc::signalfd_siginfo>()];
        let _was_clear = rustix::io::read(&self.0, &mut told[..]);
    }
}

impl AsFd for Ends {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
