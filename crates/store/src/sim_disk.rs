//! A disk in memory that loses power. Each file knows which bytes are durable and which writes are not; a crash leaves
//! what a real disk may leave of the latter. The same seed gives the same disk.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use rustix::io::Errno;

use crate::disk::{Disk, DiskFile, Kind};
use crate::sim_fault::{Fault, Lies, ROOM_LEFT, Room, Sort, Strike};
use crate::sim_folder::{Change, Folder};
use crate::sim_inode::{Damage, Inode, Random};

/// A folder of a disk in memory. Clones are the same folder.
#[derive(Debug, Clone)]
pub struct SimDisk {
    pub(crate) state: Rc<RefCell<State>>,
    pub(crate) folder: usize,
}

/// A file of a [`SimDisk`]. It dies with the boot that opened it. Clones are the same open file.
#[derive(Debug, Clone)]
pub struct SimFile {
    pub(crate) disk: SimDisk,
    pub(crate) inode: usize,
    boot: u64,
    /// When the last handle is gone, so is the lock.
    open: Rc<()>,
}

impl SimDisk {
    /// An empty disk.
    pub fn new(seed: u64, lies: Lies) -> Self {
        let folders = vec![Folder::default()];
        let state = State { random: Random(seed), lies, folders, ..State::default() };
        Self { state: Rc::new(RefCell::new(state)), folder: 0 }
    }

    /// One more folder on the same disk. Syncing one of them does nothing for the names in another.
    pub fn another_folder(&self) -> Self {
        let state = &mut *self.state.borrow_mut();
        state.folders.push(Folder::default());
        Self { state: Rc::clone(&self.state), folder: state.folders.len() - 1 }
    }

    /// Plans a fault, in the place of the one that was planned.
    pub fn plan(&self, strike: Option<Strike>) {
        let state = &mut *self.state.borrow_mut();
        state.strike = strike;
        state.room = Room(state.random.index(ROOM_LEFT));
    }

    /// Whether a planned crash has struck and the machine was not started again.
    pub fn is_down(&self) -> bool {
        self.state.borrow().down
    }

    /// Only the program that was struck has ended: the machine and all open files of others go on.
    pub fn go_on(&self) {
        let state = &mut *self.state.borrow_mut();
        state.down = false;
        state.strike = None;
    }

    /// Stops the machine, and starts it with what is left on the disk.
    pub fn crash(&self, damage: Damage) {
        let state = &mut *self.state.borrow_mut();
        state.boot += 1;
        state.down = false;
        state.strike = None;
        state.locks.clear();
        if damage == Damage::Kill {
            return;
        }
        for inode in &mut state.inodes {
            let damage = if damage == Damage::Each { *state.random.pick(&Damage::ALL) } else { damage };
            inode.lose_power(damage, &mut state.random);
        }
        for folder in &mut state.folders {
            // Changes of names reach the disk in their order, however the bytes fare.
            let kept = if damage == Damage::Lost { 0 } else { state.random.index(folder.changes.len() + 1) };
            for change in folder.changes.drain(..).take(kept) {
                change.apply(&mut folder.durable);
            }
            folder.names.clone_from(&folder.durable);
        }
    }

    /// Runs one operation, with whatever strikes it.
    fn operate<T>(
        &self,
        sort: Sort,
        run: impl FnOnce(&mut State, Option<Fault>) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let state = &mut *self.state.borrow_mut();
        if state.down {
            return Err(Errno::IO);
        }
        let now = state.operations;
        state.operations += 1;
        let strike = state.strike.filter(|strike| now == strike.at || strike.sticky && now > strike.at);
        match strike.map(|strike| strike.fault) {
            Some(Fault::CrashBefore) => {
                state.down = true;
                Err(Errno::IO)
            }
            Some(Fault::CrashAfter) => {
                let result = run(state, None);
                state.down = true;
                result.and(Err(Errno::IO))
            }
            Some(Fault::Io) if sort == Sort::Sync => run(state, Some(Fault::Io)),
            Some(Fault::Io) => Err(Errno::IO),
            Some(Fault::Full) if sort.needs_room() && !strike.is_some_and(|strike| strike.sticky) => Err(Errno::NOSPC),
            Some(Fault::Full) if sort == Sort::Create && state.room.0 == 0 => Err(Errno::NOSPC),
            Some(Fault::Interrupted) if sort == Sort::Write => Err(Errno::INTR),
            fault => run(state, fault),
        }
    }

    fn rename_with(&self, from: &str, to: &str, replace: bool) -> Result<(), Errno> {
        self.operate(Sort::Other, |state, _| {
            let folder = &mut state.folders[self.folder];
            folder.find(from)?;
            if !replace && folder.names.contains_key(to) {
                return Err(Errno::EXIST);
            }
            folder.change(Change::Move(from.to_owned(), to.to_owned()));
            Ok(())
        })
    }

    fn file(&self, state: &mut State, inode: usize) -> SimFile {
        let open = Rc::new(());
        state.opened += 1;
        state.open.retain(|_, open| open.strong_count() > 0);
        state.open.insert(state.opened, Rc::downgrade(&open));
        SimFile { disk: self.clone(), inode, boot: state.boot, open }
    }
}

impl Disk for SimDisk {
    type File = SimFile;

    fn create(&self, name: &str) -> Result<SimFile, Errno> {
        self.operate(Sort::Create, |state, _| {
            let inode = state.inodes.len();
            let folder = &mut state.folders[self.folder];
            if folder.names.contains_key(name) {
                return Err(Errno::EXIST);
            }
            folder.change(Change::Add(name.to_owned(), inode));
            state.inodes.push(Inode::default());
            Ok(self.file(state, inode))
        })
    }

    fn open(&self, name: &str) -> Result<SimFile, Errno> {
        self.operate(Sort::Other, |state, _| {
            let inode = state.folders[self.folder].find(name)?;
            Ok(self.file(state, inode))
        })
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Errno> {
        self.operate(Sort::Other, |state, _| {
            let inode = state.folders[self.folder].find(name)?;
            Ok(state.inodes[inode].cached.clone())
        })
    }

    fn kind(&self, name: &str) -> Result<Kind, Errno> {
        self.operate(Sort::Other, |state, _| {
            let there = state.folders[self.folder].names.contains_key(name);
            Ok(if there { Kind::File } else { Kind::Missing })
        })
    }

    fn is_at(&self, name: &str, file: &SimFile) -> Result<bool, Errno> {
        self.operate(Sort::Other, |state, _| Ok(state.folders[self.folder].names.get(name) == Some(&file.inode)))
    }

    fn list(&self) -> Result<Vec<String>, Errno> {
        self.operate(Sort::Other, |state, _| Ok(state.folders[self.folder].names.keys().cloned().collect()))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.rename_with(from, to, true)
    }

    fn rename_new(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.rename_with(from, to, false)
    }

    fn remove(&self, name: &str) -> Result<(), Errno> {
        self.operate(Sort::Other, |state, _| {
            let folder = &mut state.folders[self.folder];
            folder.find(name)?;
            folder.change(Change::Remove(name.to_owned()));
            Ok(())
        })
    }

    fn sync_folder(&self) -> Result<(), Errno> {
        self.operate(Sort::Other, |state, _| {
            if !state.lies.sync_folder {
                let Folder { names, durable, changes } = &mut state.folders[self.folder];
                durable.clone_from(names);
                changes.clear();
            }
            Ok(())
        })
    }

    fn token(&self) -> Result<u64, Errno> {
        Ok(self.state.borrow_mut().random.next())
    }
}

impl SimFile {
    pub(crate) fn operate<T>(
        &self,
        sort: Sort,
        run: impl FnOnce(&mut Inode, Lies, Option<Fault>, &mut Room) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        self.disk.operate(sort, |state, fault| {
            if state.boot != self.boot {
                return Err(Errno::BADF);
            }
            run(&mut state.inodes[self.inode], state.lies, fault, &mut state.room)
        })
    }
}

impl DiskFile for SimFile {
    fn another(&self) -> Result<Self, Errno> {
        Ok(self.clone())
    }

    /// No operation: nothing strikes who looks at an open file.
    fn length(&self) -> Result<u64, Errno> {
        let state = self.disk.state.borrow();
        if state.down || state.boot != self.boot {
            Err(Errno::BADF)
        } else {
            Ok(state.inodes[self.inode].cached.len() as u64)
        }
    }

    fn read_all(&mut self) -> Result<Vec<u8>, Errno> {
        self.operate(Sort::Other, |inode, _, _, _| Ok(inode.cached.clone()))
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Errno> {
        self.operate(Sort::Write, |inode, lies, fault, room| {
            let offset = usize::try_from(offset).map_err(|_| Errno::FBIG)?;
            let there = inode.cached.len().saturating_sub(offset);
            let count = match fault {
                Some(Fault::Short) => bytes.len().div_ceil(2),
                Some(Fault::Full) => room.take(bytes.len(), there)?,
                _ => bytes.len(),
            };
            let already = inode.cached.get(offset..offset + count) == Some(&bytes[..count]);
            if !(lies.rewrite && already) {
                inode.write(offset, &bytes[..count]);
            }
            Ok(count)
        })
    }

    fn sync_data(&mut self) -> Result<(), Errno> {
        self.sync_first(usize::MAX)
    }

    fn sync_all(&mut self) -> Result<(), Errno> {
        self.sync_data()
    }

    fn truncate(&mut self, length: u64) -> Result<(), Errno> {
        self.operate(Sort::Other, |inode, lies, fault, room| {
            if !lies.truncate {
                let length = usize::try_from(length).map_err(|_| Errno::FBIG)?;
                room.0 += if fault.is_some() { inode.cached.len().saturating_sub(length) } else { 0 };
                inode.truncate(length);
            }
            Ok(())
        })
    }

    fn try_lock(&mut self) -> Result<bool, Errno> {
        let (own, boot, inode) = (Rc::downgrade(&self.open), self.boot, self.inode);
        self.disk.operate(Sort::Other, |state, _| {
            if state.boot != boot {
                return Err(Errno::BADF);
            }
            let holder = state.locks.entry(inode).or_default();
            if holder.strong_count() > 0 && !holder.ptr_eq(&own) {
                return Ok(false);
            }
            *holder = own;
            Ok(true)
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct State {
    random: Random,
    lies: Lies,
    strike: Option<Strike>,
    /// The bytes that still fit once the disk is full for good.
    room: Room,
    pub(crate) operations: u64,
    /// Counts starts of the machine; files of an earlier one are gone.
    boot: u64,
    down: bool,
    pub(crate) inodes: Vec<Inode>,
    pub(crate) folders: Vec<Folder>,
    /// For each inode, the open file that has its lock, if that is still open.
    locks: BTreeMap<usize, Weak<()>>,
    /// How many files were opened, and those that may still be open.
    opened: u64,
    pub(crate) open: BTreeMap<u64, Weak<()>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_after(damage: Damage, seed: u64) -> Vec<u8> {
        let disk = SimDisk::new(seed, Lies::default());
        let mut file = disk.create("a").expect("a file");
        file.write_all_at(0, b"durable").and_then(|()| file.sync_all()).expect("written");
        disk.sync_folder().expect("durable");
        file.write_all_at(7, &[b'+'; 100]).expect("written");
        disk.crash(damage);
        assert_eq!(file.read_all(), Err(Errno::BADF));
        disk.read("a").expect("the file is there")
    }

    #[test]
    fn crash_keeps_durable_data_and_damages_the_rest() {
        let spoiled = |damage, wanted: fn(&[u8]) -> bool| (0..50).any(|seed| wanted(&left_after(damage, seed)[7..]));
        for damage in Damage::ALL {
            assert!((0..50).all(|seed| left_after(damage, seed).starts_with(b"durable")), "{damage:?}");
        }
        assert_eq!(left_after(Damage::Kill, 1).len(), 107);
        assert_eq!(left_after(Damage::Lost, 1).len(), 7);
        assert!(spoiled(Damage::Torn, |rest| (1..100).contains(&rest.len())));
        assert!(spoiled(Damage::Zeros, |rest| rest.len() == 100 && rest.starts_with(b"+") && rest.ends_with(&[0])));
        assert!(spoiled(Damage::Junk, |rest| rest.iter().any(|byte| !matches!(byte, 0 | b'+'))));
        assert!(spoiled(Damage::Mixed, |rest| rest.starts_with(&[0]) && rest.ends_with(b"+")));
    }

    #[test]
    fn a_lock_falls_with_its_file_or_its_boot() {
        let disk = SimDisk::new(0, Lies::default());
        let mut first = disk.create("lock").expect("a file");
        let mut second = disk.open("lock").expect("the file");
        assert_eq!((first.try_lock(), second.try_lock(), first.try_lock()), (Ok(true), Ok(false), Ok(true)));
        drop(first);
        assert_eq!(second.try_lock(), Ok(true));
        disk.sync_folder().expect("durable");
        disk.crash(Damage::Lost);
        assert_eq!(disk.open("lock").and_then(|mut file| file.try_lock()), Ok(true));
    }
}
