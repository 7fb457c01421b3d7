//! The one place that asks what time it is.

use team_executor_core::Timestamp;

/// Now, by the wall clock.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
}

/// Today, where the user is.
pub(crate) fn today() -> String {
    jiff::Zoned::now().date().to_string()
}
