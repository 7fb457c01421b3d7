//! How much there is to a piece of work.

use crate::task::words;

words! {
    /// How much there is to a piece of work.
    Complexity {
        /// One pair of hands.
        Low = "low",
        /// Several parts.
        Medium = "medium",
        /// Needs a design, and specialists to look at it.
        High = "high",
    }
}
