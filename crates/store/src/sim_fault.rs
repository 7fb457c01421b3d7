//! What can go wrong at an operation of the simulated disk, and the lies that test the tests.

use rustix::io::Errno;

/// What happens at an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The device fails. A sync that fails forgets what it should have made durable, as Linux does.
    Io,
    /// There is no room; only what needs room fails. If that happens for good, a few bytes still fit, and what is cut off
    /// makes room.
    Full,
    /// A write takes some of the bytes.
    Short,
    /// A write is interrupted.
    Interrupted,
    /// The machine stops before it.
    CrashBefore,
    /// The machine stops after it.
    CrashAfter,
}

/// When a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strike {
    /// The number of the operation, from 0.
    pub at: u64,
    /// What happens.
    pub fault: Fault,
    /// Whether it happens at all later operations too.
    pub sticky: bool,
}

/// Lies that a broken program would tell itself, to see whether tests notice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lies {
    /// Syncing a file does nothing.
    pub sync: bool,
    /// Syncing the folder does nothing.
    pub sync_folder: bool,
    /// Cutting a file does nothing.
    pub truncate: bool,
    /// Bytes that are already in the file are not written again.
    pub rewrite: bool,
}

/// Fewer bytes than this still fit when the disk is full for good.
pub(crate) const ROOM_LEFT: usize = 200;

/// How many bytes still fit.
#[derive(Debug, Default)]
pub(crate) struct Room(pub(crate) usize);

impl Room {
    /// How much of a write fits, of which some is there already.
    pub(crate) fn take(&mut self, wanted: usize, there: usize) -> Result<usize, Errno> {
        let count = wanted.min(there + self.0);
        self.0 -= count.saturating_sub(there);
        if count > 0 || wanted == 0 { Ok(count) } else { Err(Errno::NOSPC) }
    }
}

/// What an operation does, as far as faults care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Create,
    Write,
    Sync,
    Other,
}

impl Sort {
    pub(crate) fn needs_room(self) -> bool {
        matches!(self, Self::Create | Self::Write)
    }
}
