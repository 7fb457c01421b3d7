//! Times as people and programs write them.

use std::str::FromStr;

use team_executor_core::Timestamp;

/// A time, and whether it was written as the formats demand (RFC 3339 with an offset).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTime {
    /// The time.
    pub time: Timestamp,
    /// How it was understood, if it was not written as the formats demand.
    pub departure: Option<&'static str>,
}

/// Reads a time. A date alone is its midnight UTC; a time without offset is UTC.
pub fn parse(text: &str) -> Option<ReadTime> {
    let text = text.trim();
    if let Ok(time) = jiff::Timestamp::from_str(text) {
        let departure = if text.as_bytes().get(10) == Some(&b'T') {
            None
        } else {
            Some("a time with a blank was read as RFC 3339")
        };
        return Some(ReadTime { time: Timestamp::from_micros(time.as_microsecond()), departure });
    }
    let civil = jiff::civil::DateTime::from_str(text).ok()?;
    let time = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    let departure = if text.len() <= 10 {
        "a date without a time was read as its midnight UTC"
    } else {
        "a time without an offset was read as UTC"
    };
    Some(ReadTime { time: Timestamp::from_micros(time.as_microsecond()), departure: Some(departure) })
}

/// RFC 3339 in UTC, with as many digits as are needed.
pub fn format(time: Timestamp) -> String {
    // Beyond the year 9999 there is no date to write.
    jiff::Timestamp::from_microsecond(time.as_micros()).unwrap_or(jiff::Timestamp::MAX).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_spellings_are_read() {
        let read = |text| parse(text).map(|read| (format(read.time), read.departure.is_some()));
        assert_eq!(read("2026-03-24T12:00:00Z"), Some(("2026-03-24T12:00:00Z".into(), false)));
        assert_eq!(read("2026-04-28T10:46:15.2828602+08:00"), Some(("2026-04-28T02:46:15.28286Z".into(), false)));
        assert_eq!(read("2026-03-24"), Some(("2026-03-24T00:00:00Z".into(), true)));
        assert_eq!(read("2026-03-24T12:00:00"), Some(("2026-03-24T12:00:00Z".into(), true)));
        assert_eq!(read("2026-03-24 12:00:00Z"), Some(("2026-03-24T12:00:00Z".into(), true)));
        assert_eq!(read("yesterday"), None);
        assert_eq!(read(""), None);
    }
}
