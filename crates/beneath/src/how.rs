//! What a file is opened for.

use rustix::fs::{Mode, OFlags};

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// To be read. A file of holes is refused, as for every other use: its bytes would fill the memory, and the program
    /// wrote none like it.
    Read,
    /// To be read, however large it is and however little of it is real.
    ReadAnything,
    /// To be read and written in place.
    Write,
    /// To be appended to and read. It is made, for its owner only, if it is missing.
    Append,
    /// To be read and written. It is made, for its owner only; there must be nothing of its name.
    CreateNew,
    /// The same for a file of the user's: who may read it is said by the umask.
    CreateShared,
}

impl How {
    pub(crate) const fn flags(self) -> OFlags {
        match self {
            Self::Read | Self::ReadAnything => OFlags::RDONLY,
            Self::Write => OFlags::RDWR,
            Self::Append => OFlags::RDWR.union(OFlags::APPEND).union(OFlags::CREATE),
            Self::CreateNew | Self::CreateShared => OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL),
        }
    }

    /// Who may use a file that is made.
    pub(crate) const fn mode(self) -> Mode {
        match self {
            Self::Read | Self::ReadAnything | Self::Write => Mode::empty(),
            Self::Append | Self::CreateNew => Mode::RUSR.union(Mode::WUSR),
            Self::CreateShared => Mode::from_raw_mode(0o666),
        }
    }

    /// Whether the file is a new one, always.
    pub(crate) const fn makes(self) -> bool {
        matches!(self, Self::CreateNew | Self::CreateShared)
    }

    /// Whether bytes that exist are changed in place: then no other name may lead to them.
    pub(crate) const fn changes_in_place(self) -> bool {
        matches!(self, Self::Write | Self::Append)
    }
}
