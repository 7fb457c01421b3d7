//! Room that a run keeps for the day on which the disk is full: a file of real blocks, which are given up one part after the
//! other so that the journal can say what workers come to whose work is paid for already.

use rustix::io::Errno;

use crate::disk::{Disk, DiskError, DiskFile};

/// How much room a run keeps.
pub const RESERVE_BYTES: usize = 1 << 20;

/// It is given up in so many parts: the program that filled the disk may take each of them before the journal
/// does.
const PARTS: u64 = 8;

/// Room that is kept, if there was any.
#[derive(Debug)]
pub struct Reserve<F> {
    file: F,
    left: u64,
    part: u64,
}

impl<F: DiskFile> Reserve<F> {
    /// Keeps so many bytes in a file of that name, or what is there already where there is no more room.
    pub fn keep<D: Disk<File = F>>(disk: &D, name: &str, bytes: usize) -> Result<Self, DiskError> {
        let opened = match disk.open(name) {
            Err(Errno::NOENT) => disk.create(name),
            opened => opened,
        };
        let mut file = opened.map_err(DiskError::when("open", name))?;
        let before = file.length().map_err(DiskError::when("look at", name))?;
        let kept = usize::try_from(before).unwrap_or(usize::MAX);
        let mut left = before;
        if kept < bytes {
            left = bytes as u64;
            if file.write_all_at(before, &noise(bytes - kept)).is_err() {
                // Half a reserve would only take from others what they need now.
                file.truncate(before).map_err(DiskError::when("cut", name))?;
                left = before;
            }
        }
        Ok(Self { file, left, part: (bytes as u64).div_ceil(PARTS) })
    }

    /// Gives up a part, and says whether there was one.
    pub(crate) fn give(&mut self) -> bool {
        let left = self.left.saturating_sub(self.part);
        // Some file systems use blocks again only when it is durable that they are free.
        let given = self.left > 0 && self.file.truncate(left).and_then(|()| self.file.sync_all()).is_ok();
        self.left = if given { left } else { 0 };
        given
    }
}

/// Bytes that no file system makes smaller, or leaves out.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = vec![0; count];
    for word in bytes.chunks_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_ne_bytes()[..word.len()]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::real_disk::RealDisk;
    use crate::sim_disk::SimDisk;
    use crate::sim_fault::{Fault, Lies, Strike};

    #[test]
    fn it_has_real_blocks_and_gives_them_up_part_by_part() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        let mut reserve = Reserve::keep(&disk, "reserve", RESERVE_BYTES).expect("there is room");
        let found = || std::fs::metadata(dir.path().join("reserve")).expect("a file");
        assert_eq!(found().len(), RESERVE_BYTES as u64);
        std::fs::File::open(dir.path().join("reserve")).and_then(|file| file.sync_all()).expect("synced");
        assert!(found().blocks() * 512 >= RESERVE_BYTES as u64, "no hole");
        let given: Vec<bool> = (0..9).map(|_| reserve.give()).collect();
        assert_eq!((given, found().len()), ([&[true; 8][..], &[false]].concat(), 0));
        let again = Reserve::keep(&disk, "reserve", RESERVE_BYTES).expect("there is room");
        assert_eq!((again.left, found().len()), (RESERVE_BYTES as u64, RESERVE_BYTES as u64));
    }

    #[test]
    fn without_room_it_stays_as_it_was() {
        let disk = SimDisk::new(0, Lies::default());
        let mut reserve = Reserve::keep(&disk, "reserve", 4096).expect("there is room");
        assert!(reserve.give());
        drop(reserve);
        disk.plan(Some(Strike { at: disk.operations(), fault: Fault::Full, sticky: true }));
        let mut reserve = Reserve::keep(&disk, "reserve", 4096).expect("what is there is kept");
        assert_eq!((reserve.left, disk.peek("reserve", |cached, _| cached.len())), (3584, Some(3584)));
        assert!(reserve.give());
    }
}
