//! Syncs of the simulated disk that take a while: what is written after one has begun is not made durable by it, and a crash
//! before its end may take anything that it is about.

use std::cell::Cell;
use std::rc::Rc;

use rustix::io::Errno;

use crate::sim_disk::SimFile;
use crate::sim_fault::{Fault, Sort};
use crate::syncer::Syncer;

/// Syncs a file when it is asked whether it has. Clones are the same one.
#[derive(Debug, Clone)]
pub struct SimSyncer {
    file: SimFile,
    /// How many changes the sync that is under way is about.
    begun: Rc<Cell<Option<usize>>>,
}

impl SimSyncer {
    /// Nothing is under way yet.
    pub fn new(file: SimFile) -> Self {
        Self { file, begun: Rc::default() }
    }

    /// Whether a sync has begun and not ended.
    pub fn is_under_way(&self) -> bool {
        self.begun.get().is_some()
    }
}

impl Syncer for SimSyncer {
    fn begin(&mut self) {
        self.begun.set(Some(self.file.changes()));
    }

    fn ended(&mut self) -> Option<Result<(), Errno>> {
        self.begun.take().map(|changes| self.file.sync_first(changes))
    }

    fn wait(&mut self) -> Result<(), Errno> {
        self.ended().unwrap_or(Err(Errno::IO))
    }
}

impl SimFile {
    /// How many changes are not durable. A real disk cannot tell.
    fn changes(&self) -> usize {
        self.disk.state.borrow().inodes[self.inode].pending()
    }

    /// Makes the first changes durable that are not, at most so many. A sync that fails forgets them, as Linux does.
    pub(crate) fn sync_first(&self, most: usize) -> Result<(), Errno> {
        self.operate(Sort::Sync, |inode, lies, fault, _| match fault {
            Some(Fault::Io) => {
                inode.forget(most);
                Err(Errno::IO)
            }
            _ if lies.sync => Ok(()),
            _ => {
                inode.sync(most);
                Ok(())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Disk as _, DiskFile as _};
    use crate::sim_disk::SimDisk;
    use crate::sim_fault::{Lies, Strike};
    use crate::sim_inode::Damage;

    fn written_twice() -> (SimDisk, SimFile, SimSyncer) {
        let disk = SimDisk::new(0, Lies::default());
        let mut file = disk.create("a").expect("a file");
        disk.sync_folder().expect("durable");
        let mut syncer = file.another().map(SimSyncer::new).expect("the file once more");
        file.write_all_at(0, b"before").expect("written");
        syncer.begin();
        file.write_all_at(6, b"after").expect("written");
        assert!(syncer.is_under_way());
        (disk, file, syncer)
    }

    #[test]
    fn sync_covers_only_earlier_writes() {
        let (disk, _file, mut syncer) = written_twice();
        assert_eq!((syncer.ended(), syncer.ended()), (Some(Ok(())), None));
        disk.crash(Damage::Lost);
        assert_eq!(disk.read("a"), Ok(b"before".to_vec()));
    }

    #[test]
    fn a_sync_that_fails_or_never_ends_makes_nothing_durable() {
        let (disk, _file, mut syncer) = written_twice();
        disk.plan(Some(Strike { at: disk.operations(), fault: Fault::Io, sticky: false }));
        assert_eq!((syncer.wait(), syncer.is_under_way()), (Err(Errno::IO), false));
        disk.crash(Damage::Lost);
        assert_eq!(disk.read("a"), Ok(Vec::new()));
        let (disk, _file, _syncer) = written_twice();
        disk.crash(Damage::Lost);
        assert_eq!(disk.read("a"), Ok(Vec::new()));
    }
}
