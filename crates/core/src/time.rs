//! Points in time as numbers. Nothing here can ask what time it is.

/// Microseconds since the beginning of 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since the beginning of 1970, UTC.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the beginning of 1970, UTC.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The point in time that lies so much later; the last one there is, if that is too late.
    pub fn after(self, wait: Millis) -> Self {
        Self(self.0.saturating_add(i64::try_from(wait.0.saturating_mul(1000)).unwrap_or(i64::MAX)))
    }
}

/// A length of time in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_late_time_becomes_the_last_time() {
        let at = Timestamp::from_micros;
        assert_eq!(at(5).after(Millis(2)), at(2005));
        assert_eq!(at(-5000).after(Millis(u64::MAX)), at(i64::MAX - 5000));
        assert_eq!(at(5).after(Millis(u64::MAX)), at(i64::MAX));
    }
}
