//! A file of the simulated disk: what is durable, what the kernel holds, and what a power cut leaves of the difference.

/// What a crash does to everything that is not durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Nothing: the program is killed, the machine goes on.
    Kill,
    /// All of it is lost.
    Lost,
    /// The first writes are kept, one is torn at some byte.
    Torn,
    /// Lengths are kept; from some byte on there are zeros.
    Zeros,
    /// Lengths are kept; from some byte on there is junk.
    Junk,
    /// Lengths are kept; from some byte on there is what was there long ago.
    Stale,
    /// Lengths are kept; each small block is new, old, or zeros.
    Mixed,
    /// Lengths are kept; some small blocks are where others belong.
    Misplaced,
    /// Each file fares in a way of its own.
    Each,
}

impl Damage {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Kill,
        Self::Lost,
        Self::Torn,
        Self::Zeros,
        Self::Junk,
        Self::Stale,
        Self::Mixed,
        Self::Misplaced,
        Self::Each,
    ];
}

/// The size of what a disk writes at once. Real ones have 512 bytes; small ones find more with short files.
const BLOCK: usize = 16;

/// A file: programs see `cached`, the disk has `durable`, and `pending` is between the two.
#[derive(Debug, Default)]
pub(crate) struct Inode {
    pub(crate) cached: Vec<u8>,
    pub(crate) durable: Vec<u8>,
    pending: Vec<Pending>,
    /// What was at each offset before it was lost or cut.
    old: Vec<u8>,
}

#[derive(Debug)]
enum Pending {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

impl Inode {
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        put(&mut self.cached, offset, bytes);
        self.pending.push(Pending::Write(offset, bytes.to_vec()));
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.remember();
        self.cached.truncate(length);
        self.pending.push(Pending::Truncate(length));
    }

    /// How many changes are not durable.
    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Makes the first changes durable that are not, at most so many.
    pub(crate) fn sync(&mut self, most: usize) {
        for pending in self.pending.drain(..most.min(self.pending.len())) {
            pending.apply(&mut self.durable);
        }
    }

    /// Forgets that the first changes are not durable.
    pub(crate) fn forget(&mut self, most: usize) {
        self.pending.drain(..most.min(self.pending.len()));
    }

    /// Flips one bit everywhere.
    pub(crate) fn flip(&mut self, bit: usize) {
        for bytes in [&mut self.durable, &mut self.cached] {
            if let Some(byte) = bytes.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }

    /// Puts a block in the place of another, everywhere.
    pub(crate) fn misplace(&mut self, from: usize, to: usize) {
        for bytes in [&mut self.durable, &mut self.cached] {
            copy_block(bytes, from, to);
        }
    }

    /// Leaves what a power cut leaves.
    pub(crate) fn lose_power(&mut self, damage: Damage, random: &mut Random) {
        let mut left = self.durable.clone();
        match damage {
            Damage::Kill => left.clone_from(&self.cached),
            Damage::Lost | Damage::Each => {}
            Damage::Torn => self.apply_some(&mut left, random),
            Damage::Misplaced => {
                let base = left.len();
                for pending in &self.pending {
                    pending.apply(&mut left);
                }
                misplace_some(&mut left, base, random);
            }
            Damage::Zeros | Damage::Junk | Damage::Stale | Damage::Mixed => {
                let base = left.clone();
                for pending in &self.pending {
                    pending.apply(&mut left);
                }
                self.spoil(&mut left, &base, damage, random);
            }
        }
        self.remember();
        self.pending.clear();
        self.durable.clone_from(&left);
        self.cached = left;
    }

    /// Applies the first changes, and of the next one the first bytes.
    fn apply_some(&self, left: &mut Vec<u8>, random: &mut Random) {
        let whole = random.index(self.pending.len() + 1);
        for pending in &self.pending[..whole] {
            pending.apply(left);
        }
        if let Some(Pending::Write(offset, bytes)) = self.pending.get(whole) {
            put(left, *offset, &bytes[..random.index(bytes.len() + 1)]);
        }
    }

    /// Spoils what was written last. Where something durable is overwritten, a block is the old or the new one.
    fn spoil(&self, left: &mut [u8], base: &[u8], damage: Damage, random: &mut Random) {
        let first = self.pending.iter().map(Pending::first).min().unwrap_or(left.len()).min(left.len());
        // Half of the time nothing of it got through.
        let through = random.index(2) * random.index(left.len() - first + 1);
        let from = first + through;
        let mut block = 0;
        for (at, byte) in left.iter_mut().enumerate().skip(first) {
            if at == first || at % BLOCK == 0 {
                block = random.index(3);
            }
            let old = self.old.get(at).copied().unwrap_or(0);
            *byte = match (damage, base.get(at)) {
                (Damage::Mixed, Some(base)) if block != 0 => *base,
                (Damage::Mixed, None) if block == 1 => old,
                (Damage::Mixed, None) if block == 2 => 0,
                (Damage::Mixed, _) => *byte,
                _ if at < from => *byte,
                (_, Some(base)) => *base,
                (Damage::Junk, None) => random.next().to_le_bytes()[0],
                (Damage::Stale, None) => old,
                (_, None) => 0,
            };
        }
    }

    fn remember(&mut self) {
        put(&mut self.old, 0, &self.cached);
    }
}

impl Pending {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(offset, new) => put(bytes, *offset, new),
            Self::Truncate(length) => bytes.truncate(*length),
        }
    }

    fn first(&self) -> usize {
        match self {
            Self::Write(offset, _) => *offset,
            Self::Truncate(length) => *length,
        }
    }
}

/// Puts some blocks behind `base` where other ones behind it belong.
fn misplace_some(bytes: &mut [u8], base: usize, random: &mut Random) {
    let (first, end) = (base.div_ceil(BLOCK), bytes.len() / BLOCK);
    for _ in 0..random.index(4) * usize::from(first < end) {
        copy_block(bytes, first + random.index(end - first), first + random.index(end - first));
    }
}

/// Copies one whole block over another; both are counted from the start of the file.
fn copy_block(bytes: &mut [u8], from: usize, to: usize) {
    if (from.max(to) + 1) * BLOCK <= bytes.len() {
        bytes.copy_within(from * BLOCK..(from + 1) * BLOCK, to * BLOCK);
    }
}

/// Puts bytes at an offset; what is missing before them is zeros.
fn put(bytes: &mut Vec<u8>, offset: usize, new: &[u8]) {
    let end = offset + new.len();
    if !new.is_empty() && bytes.len() < end {
        bytes.resize(end, 0);
    }
    if !new.is_empty() {
        bytes[offset..end].copy_from_slice(new);
    }
}

/// Numbers from a seed (SplitMix64).
#[derive(Debug, Clone, Default)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of the choices, of which there is at least one.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap_or(0)
    }
}
