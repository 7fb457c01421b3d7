//! Lengths of time as people write them: `90`, `90s`, `30m`, `2h`, `30d`, `500ms`, `none`.

use std::fmt;
use std::str::FromStr;

/// The units, the longest first; days are read and shown as hours.
const UNITS: [(&str, u64); 5] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1), ("d", 86_400_000)];

/// What can be written, for people.
pub(crate) const EXPECTED: &str = "seconds, or a text such as \"90s\", \"30m\", \"2h\" or \"none\"";

/// A limit in milliseconds, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Option<u64>);

impl Time {
    /// So many seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Some(seconds.saturating_mul(1000)))
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        match milliseconds(text) {
            Some(millis) if millis > 0 => Ok(Self(Some(millis))),
            Some(_) => Err("nothing can be done in no time; `none` means no limit".to_owned()),
            None => Err(format!("expected {EXPECTED}")),
        }
    }
}

/// The milliseconds of a number and its unit; seconds without one.
pub fn milliseconds(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = if unit.is_empty() { "s" } else { unit };
    let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*millis)
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(millis) = self.0 else { return f.pad("none") };
        let (name, unit) = UNITS.iter().find(|(_, unit)| millis % unit == 0).copied().unwrap_or(("ms", 1));
        f.pad(&format!("{}{name}", millis / unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown_as_people_write_them() {
        let millis = |text: &str| text.parse::<Time>().map(|time| time.0);
        assert_eq!(millis("90"), Ok(Some(90_000)));
        assert_eq!(millis("30m"), Ok(Some(1_800_000)));
        assert_eq!(millis("500ms"), Ok(Some(500)));
        assert_eq!(millis("30d"), Ok(Some(2_592_000_000)));
        assert_eq!(millis("none"), Ok(None));
        for wrong in ["", "m", "1w", "1.5h", "-1", "1 m", "99999999999999999999", "18446744073709551615h", "0", "0s"] {
            assert!(millis(wrong).is_err(), "{wrong}");
        }
        let shown = |text: &str| text.parse::<Time>().map(|time| time.to_string());
        for (text, same) in
            [("5400", "90m"), ("7200s", "2h"), ("1500ms", "1500ms"), ("none", "none"), ("61", "61s"), ("1d", "24h")]
        {
            assert_eq!(shown(text), Ok(same.to_owned()));
        }
    }
}
