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
}
