//! Durable things on disk: a session, and the run that is made of it. `beneath` opens their files, here as everywhere.
//!
//! Reading order: [`folder`] (the session, read only), `disk` with `real_disk` (every system call of what is
//! written), `line`, [`mod@recover`], `history`, `syncer`, `reserve` and `journal` (the authority over a
//! run), [`lock`] (one executor), [`mod@replace`] and [`derived`] (what is rendered from the journal and
//! belongs to the user at rest), [`append`] (logs of many writers), [`run_folder`] (where all of it is),
//! `new_folder` (a session that is new), [`glance`], [`mod@examine`] and [`mod@file_system`] (reports for
//! read-only callers), `tide` and `feed` (a journal that is read while it grows).

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests plant files"))]
#![forbid(unsafe_code)]

pub mod append;
mod changes;
pub mod copy;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod crash_world;
pub mod derived;
mod disk;
pub mod examine;
mod feed;
pub mod file_system;
pub mod folder;
pub mod glance;
mod history;
mod journal;
mod key;
mod line;
pub mod lock;
mod new_folder;
mod real_disk;
pub mod records;
pub mod recover;
pub mod replace;
mod reserve;
pub mod run_folder;
#[cfg(any(test, feature = "sim"))]
pub mod sim_disk;
#[cfg(any(test, feature = "sim"))]
pub mod sim_fault;
#[cfg(any(test, feature = "sim"))]
mod sim_folder;
#[cfg(any(test, feature = "sim"))]
pub mod sim_inode;
#[cfg(any(test, feature = "sim"))]
mod sim_outside;
#[cfg(any(test, feature = "sim"))]
pub mod sim_sync;
mod syncer;
mod tide;

pub use append::{Log, Turn};
pub use changes::{Changes, changes_are_told};
pub use copy::{Below, Copied, CopyError, below, copy_new, is_same};
pub use derived::{Derived, Rendered, Standing, keep_copy, set_aside, sha256};
pub use disk::{Disk, DiskError, DiskFile, Kind};
pub use examine::{Examined, cut_damage, examine};
pub use feed::{Feed, Strange};
pub use file_system::{FileSystem, file_system, locks_work};
pub use folder::{DiskFolder, OpenError};
pub use history::{History, Record};
pub use journal::{Journal, JournalError};
pub use key::Key;
pub use line::Seq;
pub use lock::{Holder, Lock, LockError, held_by};
pub use new_folder::{MakeError, make_folder};
pub use real_disk::{RealDisk, RealFile};
pub use recover::{Damage, Flaw, Found, Recovered, Torn, recover};
pub use replace::{Durability, ReplaceError, remove, replace, replace_unchanged, replaces, strays, sweep};
pub use reserve::{RESERVE_BYTES, Reserve};
pub use syncer::{SyncThread, Syncer};
pub use tide::{Mark, Tide};
