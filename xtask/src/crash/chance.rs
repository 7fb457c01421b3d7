//! Numbers that look like chance and are the same for the same seed on every machine.

/// A sequence of choices.
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The sequence of a seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below another one; 0 where there is none.
    pub(crate) const fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        if end == 0 { 0 } else { mixed % end }
    }

    /// An index into a list of this length.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// One of several numbers.
    pub(crate) fn pick(&mut self, all: &[u64]) -> u64 {
        all.get(self.index(all.len())).copied().unwrap_or_default()
    }

    /// True once in so many times.
    pub(crate) const fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_everything_and_another_one_something_else() {
        let take = |seed| {
            let mut chance = Chance::new(seed);
            (0..8).map(|_| chance.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
        assert!(take(1).iter().all(|number| *number < 1000));
        assert_eq!(Chance::new(1).index(0), 0);
    }
}
