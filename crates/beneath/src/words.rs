//! What the system's answers mean here.

use rustix::io::Errno;

/// An answer of the system in words. Some have a meaning of their own in [`Dir::file`](crate::Dir::file).
pub fn words(errno: Errno) -> String {
    match errno {
        Errno::LOOP => "it is a link".to_owned(),
        Errno::ISDIR => "it is a folder".to_owned(),
        Errno::NXIO => "it is not a regular file".to_owned(),
        Errno::MLINK => "it is a hard link: another name leads to the same file".to_owned(),
        Errno::NOTSOCK => "it is not a socket".to_owned(),
        errno => {
            let text = std::io::Error::from(errno).to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}

/// Whether an answer is about the disk or the system and not about the file: it may be another one the next time.
pub const fn is_system_failure(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::IO
            | Errno::MFILE
            | Errno::NFILE
            | Errno::NOMEM
            | Errno::NOSPC
            | Errno::DQUOT
            | Errno::STALE
            | Errno::AGAIN
            | Errno::NOBUFS
            | Errno::TIMEDOUT
            | Errno::REMOTEIO
            | Errno::NODEV
    )
}

/// The same as an error of the standard library, which says so when it is shown.
pub fn io_error(errno: Errno) -> std::io::Error {
    match errno {
        Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::MLINK | Errno::NOTSOCK => std::io::Error::other(words(errno)),
        errno => errno.into(),
    }
}
