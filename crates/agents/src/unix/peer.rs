//! The process at the other end of a socket, as the kernel noted it when that connected.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr;

/// The number of the process that connected; 0 if it is in a namespace that cannot be seen from here.
pub(crate) fn peer_number(socket: BorrowedFd<'_>) -> io::Result<i32> {
    // SAFETY: the kernel writes such a value, all of whose bit patterns are valid.
    unsafe { option(socket, libc::SO_PEERCRED, libc::ucred { pid: 0, uid: 0, gid: 0 }) }.map(|peer| peer.pid)
}

/// Holds the process that connected. Nothing where the kernel does not offer that, which is before Linux 6.5; an error if the
/// process is gone.
pub(crate) fn peer_process(socket: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    // SAFETY: the kernel writes a number, and no other code owns the descriptor.
    unsafe {
        match option::<c_int>(socket, libc::SO_PEERPIDFD, -1) {
            Ok(fd) => Ok((fd >= 0).then(|| OwnedFd::from_raw_fd(fd))),
            Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// An option of a socket. The value must be of the type that the kernel writes for it.
unsafe fn option<T: Copy>(socket: BorrowedFd<'_>, option: c_int, mut value: T) -> io::Result<T> {
    let mut size = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes no more than there is room for, and the caller answers for the type.
    let done = unsafe {
        let place = ptr::from_mut(&mut value).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, place, &raw mut size)
    };
    if done == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}
