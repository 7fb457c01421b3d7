//! Numbers that look like chance and are the same for the same seed on every machine (SplitMix64).

/// A sequence of choices.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// The sequence of some numbers; other numbers have another one.
    pub fn new(numbers: &[u64]) -> Self {
        let start = |seed: u64, number: &u64| Self(seed ^ number).next().wrapping_mul(0x2545_F491_4F6C_DD1D);
        Self(numbers.iter().fold(0x5851_F42D_4C95_7F2D, start))
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below another one; 0 where there is none.
    pub const fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }

    /// A small number below another one.
    pub fn count(&mut self, end: u32) -> u32 {
        u32::try_from(self.below(u64::from(end))).unwrap_or(0)
    }

    /// An index into a list of this length.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// True once in so many times.
    pub const fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of some things, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_everything_and_another_one_something_else() {
        let take = |numbers: &[u64]| {
            let mut chance = Chance::new(numbers);
            (0..8).map(|_| chance.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(take(&[1, 2]), take(&[1, 2]));
        assert_ne!(take(&[1, 2]), take(&[2, 1]));
        assert_eq!((Chance::new(&[1]).below(0), Chance::new(&[1]).index(0)), (0, 0));
    }
}
