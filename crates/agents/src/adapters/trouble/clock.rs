//! Times of day in the words of agents: `try again at 4:54 AM`, `resets 3pm (Europe/Berlin)`. They are where the user is, unless
//! a zone is named.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// The words before the time of day of a quota reset.
const BEFORE: &[&str] = &["try again at ", "resets at ", "reset at ", "resets "];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The first moment from now on that a text in small letters names, in milliseconds since 1970, unless it is too far away.
pub(super) fn reset(small: &str, now_ms: u64, longest_ms: u64) -> Option<u64> {
    let rests = BEFORE.iter().filter_map(|before| small.split_once(before).map(|(_, rest)| rest));
    let at = rests.filter_map(|rest| moment(rest, now_ms)).next()?;
    (now_ms..=now_ms.saturating_add(longest_ms)).contains(&at).then_some(at)
}

fn moment(rest: &str, now_ms: u64) -> Option<u64> {
    let zone = rest.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(zone, _)| zone);
    let zone = zone.and_then(|zone| TimeZone::get(zone).ok()).unwrap_or_else(TimeZone::system);
    let now = Timestamp::from_millisecond(i64::try_from(now_ms).ok()?).ok()?.to_zoned(zone.clone());
    let (day, rest) = day(rest, now.year()).map_or((None, rest), |(day, rest)| (Some(day), rest));
    let time = time(rest)?;
    let at = match day {
        Some(day) => day.to_datetime(time).to_zoned(zone).ok()?,
        None => {
            let today = now.date().to_datetime(time).to_zoned(zone).ok()?;
            if today < now { today.checked_add(1.day()).ok()? } else { today }
        }
    };
    u64::try_from(at.timestamp().as_millisecond()).ok()
}

/// A day such as `nov 20th, 2026`, and what follows on it.
fn day(text: &str, this_year: i16) -> Option<(jiff::civil::Date, &str)> {
    let month = MONTHS.iter().position(|month| text.starts_with(month))?;
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start_matches(['.', ' ']);
    let (day, rest) = number(rest)?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start_matches([',', ' ']);
    let (year, rest) = number(rest).filter(|(year, _)| *year > 999).unwrap_or((this_year.unsigned_abs(), rest));
    let day = i8::try_from(day).ok()?;
    let date = jiff::civil::Date::new(i16::try_from(year).ok()?, i8::try_from(month + 1).ok()?, day).ok()?;
    Some((date, rest.trim_start_matches([',', ' ']).trim_start_matches("at ")))
}

/// A time of day: `4:54 am`, `3pm`, `16:05`.
fn time(text: &str) -> Option<Time> {
    let (hour, rest) = number(text)?;
    let (minute, rest) = match rest.strip_prefix(':') {
        Some(rest) => number(rest)?,
        None => (0, rest),
    };
    let has_minutes = text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(':');
    let half = rest.trim_start_matches(' ');
    let hour = match hour {
        1..=12 if half.starts_with("am") || half.starts_with("a.m") => hour % 12,
        1..=12 if half.starts_with("pm") || half.starts_with("p.m") => hour % 12 + 12,
        0..=23 if has_minutes => hour,
        _ => return None,
    };
    Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0).ok()
}

fn number(text: &str) -> Option<(u16, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon of 2026-11-18 in UTC.
    const NOON: u64 = 1_795_003_200_000;
    const HOUR: u64 = 3_600_000;
    const WEEK: u64 = 8 * 24 * HOUR;

    fn hours(text: &str) -> Option<u64> {
        reset(text, NOON, WEEK).map(|at| (at - NOON) / HOUR)
    }

    #[test]
    fn time_of_day_is_the_next_one_in_its_zone() {
        assert_eq!(hours("or try again at 4:54 am (utc)."), Some(16));
        assert_eq!(hours("limit reached. resets 3pm (utc)"), Some(3));
        assert_eq!(hours("resets 3pm (europe/berlin)"), Some(2));
        assert_eq!(hours("resets at 12:30 (utc)"), Some(0));
        assert_eq!(hours("try again at nov 20th, 2026 4:54 am (utc)."), Some(40));
        assert_eq!(hours("try again at 12:00 am (utc)"), Some(12));
    }

    #[test]
    fn text_without_time_of_day_names_none() {
        for text in [
            "try again at once",
            "resets soon",
            "try again at 25:00 (utc)",
            "resets 3",
            "try again at feb 30th 1pm (utc)",
            "",
        ] {
            assert_eq!(hours(text), None, "{text}");
        }
        assert_eq!(hours("try again at dec 31st, 2026 4:54 am (utc)"), None, "too far away");
    }

    /// R: A-12
    #[test]
    fn codex_names_a_time_where_the_user_is() {
        let local = TimeZone::system();
        let at = reset("you've hit your usage limit. try again at 4:54 am.", NOON, WEEK).unwrap();
        let at = Timestamp::from_millisecond(i64::try_from(at).unwrap()).unwrap().to_zoned(local);
        assert_eq!((at.hour(), at.minute()), (4, 54));
    }
}
