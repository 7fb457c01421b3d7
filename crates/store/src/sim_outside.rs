//! The simulated disk from outside: what is on it can be looked at, and spoiled, and that is no operation of any program.

use crate::sim_disk::SimDisk;
use crate::sim_inode::Inode;

impl SimDisk {
    /// Looks at a file from outside, which is no operation: what programs see, and what no power cut can take.
    pub fn peek<T>(&self, name: &str, look: impl FnOnce(&[u8], &[u8]) -> T) -> Option<T> {
        let state = &*self.state.borrow();
        let folder = &state.folders[self.folder];
        let inode = *folder.names.get(name)?;
        let durable = if folder.durable.get(name) == Some(&inode) { &state.inodes[inode].durable[..] } else { &[] };
        Some(look(&state.inodes[inode].cached, durable))
    }

    /// The names in the folder, seen from outside.
    pub fn names(&self) -> Vec<String> {
        self.state.borrow().folders[self.folder].names.keys().cloned().collect()
    }

    /// A number that changes when any file does.
    pub fn fingerprint(&self) -> u64 {
        let state = self.state.borrow();
        let mark = |inode: &Inode| u64::from(crc32c::crc32c(&inode.cached)) << 32 | inode.cached.len() as u64;
        state.inodes.iter().fold(0, |sum, inode| sum.rotate_left(7) ^ mark(inode))
    }

    /// How many files are open.
    pub fn open_files(&self) -> usize {
        let state = self.state.borrow();
        state.open.values().filter(|open| open.strong_count() > 0).count()
    }

    /// How many operations there were.
    pub fn operations(&self) -> u64 {
        self.state.borrow().operations
    }

    /// Flips one bit of what is durable.
    pub fn flip(&self, name: &str, bit: usize) {
        self.rot(name, |inode| inode.flip(bit));
    }

    /// Puts one durable block in the place of another, as a write that went to the wrong place does.
    pub fn misplace(&self, name: &str, from: usize, to: usize) {
        self.rot(name, |inode| inode.misplace(from, to));
    }

    fn rot(&self, name: &str, rot: impl FnOnce(&mut Inode)) {
        let state = &mut *self.state.borrow_mut();
        let inode = state.folders[self.folder].names.get(name);
        if let Some(inode) = inode.and_then(|inode| state.inodes.get_mut(*inode)) {
            rot(inode);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::disk::{Disk as _, DiskFile as _};
    use crate::sim_disk::SimDisk;
    use crate::sim_fault::Lies;

    #[test]
    fn durable_changes_differ_from_others() {
        let disk = SimDisk::new(0, Lies::default());
        let seen = || disk.peek("a", |cached, durable| (cached.to_vec(), durable.to_vec()));
        let other = disk.another_folder();
        let mut file = disk.create("a").expect("a file");
        file.write_all_at(0, b"0123456789abcdef0123").and_then(|()| file.sync_all()).expect("written");
        other.sync_folder().expect("synced");
        assert_eq!(seen().map(|(_, durable)| durable.len()), Some(0), "its name is not durable");
        disk.sync_folder().expect("synced");
        file.write_all_at(20, b"+").expect("written");
        assert_eq!(seen().map(|(cached, durable)| (cached.len(), durable.len())), Some((21, 20)));
        assert_eq!((disk.names(), other.names(), disk.open_files()), (vec!["a".to_owned()], vec![], 1));
        let before = (disk.operations(), disk.fingerprint());
        disk.flip("a", 0);
        assert_eq!(seen().map(|(cached, durable)| (cached[0], durable[0])), Some((b'1', b'1')));
        assert_ne!(disk.fingerprint(), before.1);
        disk.misplace("a", 0, 1); // there is no second whole block
        disk.flip("a", 0);
        assert_eq!((disk.operations(), disk.fingerprint()), before);
        drop(file);
        assert_eq!(disk.open_files(), 0);
    }
}
