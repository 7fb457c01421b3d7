//! The one place that asks what time it is.

use std::sync::OnceLock;
use std::time::SystemTime;

use rustix::time::{ClockId, clock_gettime};
use team_executor_core::Timestamp;

static CLOCK: OnceLock<Clock> = OnceLock::new();

/// The wall clock as it was at one moment, and what the machine counted then.
#[derive(Debug)]
struct Clock {
    wall: i64,
    counted: i64,
}

impl Clock {
    /// What the wall clock says when the machine has counted so far, if it is never set.
    fn at(&self, counted: i64) -> Timestamp {
        Timestamp::from_micros(self.wall.saturating_add(counted.saturating_sub(self.counted)))
    }
}

/// Now: the wall clock when this was first asked, and the time since, asleep or not. Setting the wall clock
/// meanwhile changes nothing: a wait for a moment becomes neither longer nor shorter.
pub(crate) fn now() -> Timestamp {
    let clock = CLOCK.get_or_init(|| Clock { wall: wall(SystemTime::now()).as_microsecond(), counted: counted() });
    clock.at(counted())
}

/// What the wall clock says, or the last or first moment that has a date: a clock that was set wrong stops nothing.
fn wall(time: SystemTime) -> jiff::Timestamp {
    let ends = if time < SystemTime::UNIX_EPOCH { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
    jiff::Timestamp::try_from(time).unwrap_or(ends)
}

/// Microseconds since the machine was started, those included in which it slept.
fn counted() -> i64 {
    let since = clock_gettime(ClockId::Boottime);
    since.tv_sec.saturating_mul(1_000_000).saturating_add(since.tv_nsec / 1000)
}

/// Today, where the user is.
pub(crate) fn today() -> String {
    wall(SystemTime::now()).to_zoned(jiff::tz::TimeZone::system()).date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_beyond_the_year_9999_is_the_last_moment_with_a_date() {
        let at = |seconds: u64| wall(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).to_string();
        assert_eq!(at(86_400), "1970-01-02T00:00:00Z");
        assert_eq!(at(300_000_000_000), jiff::Timestamp::MAX.to_string());
        assert_eq!(wall(SystemTime::UNIX_EPOCH - std::time::Duration::from_secs(1 << 40)), jiff::Timestamp::MIN);
        let late = Timestamp::from_micros(jiff::Timestamp::MAX.as_microsecond());
        assert!(!team_executor_files::time::format(late).is_empty());
    }

    #[test]
    fn only_elapsed_time_counts_not_the_wall_clock() {
        // As if it had been an hour fast when it was first asked.
        let hour = 3_600_000_000;
        let clock = Clock { wall: wall(SystemTime::now()).as_microsecond() + hour, counted: counted() };
        let first = clock.at(counted());
        let then = clock.at(counted());
        assert!(first.as_micros() >= clock.wall && then >= first);
        assert_eq!(clock.at(clock.counted + 7).as_micros(), clock.wall + 7);
        assert!(now() <= now());
    }
}
