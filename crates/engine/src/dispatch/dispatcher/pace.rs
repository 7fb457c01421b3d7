//! When what happened is made durable: soon, but not before others have had a chance to share the sync.

use std::time::Duration;

/// What happened is durable after this long at the latest, or after thirty times as long as that takes.
const WITHIN: Duration = Duration::from_millis(5);
/// A sync takes at most one part in so many of the time.
const SHARE: u32 = 30;

/// Since when something is not durable, and how long it may wait. Moments are as the executor's own clock counts.
#[derive(Debug)]
pub(super) struct Pace {
    /// Since when something is not durable, nor about to be.
    since: Option<Duration>,
    within: Duration,
}

impl Pace {
    /// Everything is durable.
    pub(super) const fn new() -> Self {
        Self { since: None, within: WITHIN }
    }

    /// Notes whether everything that happened is durable, or about to be.
    pub(super) fn note(&mut self, is_covered: bool, now: Duration) {
        self.since = if is_covered { None } else { self.since.or(Some(now)) };
    }

    /// A sync took so long.
    pub(super) fn synced(&mut self, took: Duration) {
        self.within = WITHIN.max(took * SHARE);
    }

    /// How long until the next sync begins; nothing if there is nothing to make durable.
    pub(super) fn left(&self, now: Duration) -> Option<Duration> {
        self.since.map(|since| self.within.saturating_sub(now.saturating_sub(since)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn sync_waits_for_others_from_the_first_event_on() {
        let (mut pace, now) = (Pace::new(), Duration::from_secs(7));
        assert_eq!(pace.left(now), None);
        pace.note(false, now);
        assert_eq!(pace.left(now), Some(ms(5)));
        pace.note(false, now + ms(3));
        assert_eq!(pace.left(now + ms(3)), Some(ms(2)), "later events do not delay the first");
        assert_eq!(pace.left(now + ms(5)), Some(Duration::ZERO));
        assert_eq!(pace.left(now + ms(9)), Some(Duration::ZERO));
        pace.note(true, now + ms(9));
        assert_eq!(pace.left(now + ms(9)), None, "a sync is under way");
        pace.note(false, now + ms(10));
        assert_eq!(pace.left(now + ms(10)), Some(ms(5)));
    }

    #[test]
    fn slow_disk_is_synced_less_often() {
        let (mut pace, now) = (Pace::new(), Duration::from_secs(7));
        pace.note(false, now);
        pace.synced(ms(2));
        assert_eq!(pace.left(now), Some(ms(60)));
        pace.synced(Duration::from_micros(1));
        assert_eq!(pace.left(now), Some(ms(5)), "a fast one no more than every five milliseconds");
    }
}
