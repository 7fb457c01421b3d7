//! Attempts as they might come to, drawn from those that are known.

use super::Fate;
use crate::history::{Known, Pool, Sample};

/// Numbers that look like chance and are the same on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed ^ 0x5851_F42D_4C95_7F2D)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Between 0 and 1.
    pub(crate) fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About as often above 0 as below, mostly within 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.part()).sum::<f64>() - 6.0
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.next() % (len.max(1) as u64)).unwrap_or(0)
    }
}

/// One way in which things may be. What is known is itself a sample, so each run is drawn from samples that were drawn from it: where
/// little is known the range becomes wide.
pub(super) struct Drawing<'a> {
    pools: Vec<(Vec<Sample>, f64)>,
    chance: &'a mut Chance,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(known: &Known, chance: &'a mut Chance) -> Self {
        let drawn = |pool: &Pool, chance: &mut Chance| -> Vec<Sample> {
            let all = &pool.samples;
            (0..all.len()).filter_map(|_| all.get(chance.index(all.len())).copied()).collect()
        };
        let pools = known.pools.iter().map(|pool| (drawn(pool, chance), spread(&pool.samples)));
        Self { pools: pools.collect(), chance }
    }
}

impl Fate for Drawing<'_> {
    fn draw(&mut self, pool: usize) -> Sample {
        let Some((samples, spread)) = self.pools.get(pool).filter(|(samples, _)| !samples.is_empty()) else {
            return Sample { is_completed: true, ..Sample::default() };
        };
        let sample = samples[self.chance.index(samples.len())];
        let factor = (self.chance.normal() * spread).exp();
        let times = |number: u64| (number as f64 * factor) as u64;
        Sample {
            ms: times(sample.ms),
            tokens: sample.tokens.map(times),
            cost_micros: sample.cost_micros.map(times),
            ..sample
        }
    }
}

/// How far attempts may lie beside those that are known: the fewer there are, the farther (Silverman's rule, in logarithms).
fn spread(samples: &[Sample]) -> f64 {
    let logs: Vec<f64> = samples.iter().map(|one| (one.ms.max(1) as f64).ln()).collect();
    let count = logs.len().max(1) as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let deviation = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / count).sqrt();
    (1.06 * deviation * count.powf(-0.2)).min(0.5)
}
