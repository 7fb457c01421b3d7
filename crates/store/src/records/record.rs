//! The shape of each record: what stands in a line of the journal. Fields are written in this order, and left out when
//! they say nothing: the bytes of a record stay the same from version to version.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// One record. Tasks stand by their ids, times in microseconds since 1970, words as `core` has them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Record<'r> {
    Began(At),
    Recovered(At),
    #[serde(borrow)]
    Intended(Intended<'r>),
    Doubted(At),
    #[serde(borrow)]
    Claimed(Claimed<'r>),
    #[serde(borrow)]
    Used(Used<'r>),
    #[serde(borrow)]
    Completed(Completed<'r>),
    #[serde(borrow)]
    Failed(Failed<'r>),
    #[serde(borrow)]
    Interrupted(Interrupted<'r>),
    #[serde(borrow)]
    Skipped(Skipped<'r>),
    Reset(Tasks<'r>),
    Returned(Tasks<'r>),
    Added(Tasks<'r>),
    Replanned(Replanned<'r>),
    Decided(Decided<'r>),
    #[serde(borrow)]
    Cancelled(Cancelled<'r>),
    Advised(Advised<'r>),
    Assigned(Assigned<'r>),
    WaveMerged(WaveMerged<'r>),
    Limited(Limited<'r>),
    Paused(Paused<'r>),
    Resumed(At),
    Draining(At),
    Halted(Halted<'r>),
    Stopping(At),
    Finished(At),
    /// Of another version; never written.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct At {
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Intended<'r> {
    #[serde(borrow)]
    pub(super) tasks: Attempts<'r>,
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Claimed<'r> {
    #[serde(borrow)]
    pub(super) task: Cow<'r, str>,
    pub(super) attempt: u32,
    pub(super) slot: u32,
    pub(super) fast_advance: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) choice: u32,
    pub(super) at: i64,
    /// As the user calls it, for those who look; the rules do not ask.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<Cow<'r, str>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Used<'r> {
    #[serde(borrow)]
    pub(super) task: Cow<'r, str>,
    pub(super) attempt: u32,
    pub(super) agent: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) attach: Option<Cow<'r, str>>,
    pub(super) tokens_in: Count,
    pub(super) tokens_cached: Count,
    pub(super) tokens_out: Count,
    pub(super) wall_ms: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost_micros: Option<Count>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turns: Option<Count>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) tokens_stored: Count,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) estimated: bool,
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Completed<'r> {
    #[serde(borrow)]
    pub(super) task: Cow<'r, str>,
    pub(super) attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) findings: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) judged: Option<Reviewed<'r>>,
    pub(super) at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_output: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<i64>,
}

/// What follows from a completed task for others; a part of its record.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Reviewed<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verdict: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) complexity: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ask: Option<Cow<'r, str>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) rejected: Vec<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) send_back: Option<Vec<Cow<'r, str>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) critique: Option<Cow<'r, str>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failed<'r> {
    #[serde(borrow)]
    pub(super) task: Cow<'r, str>,
    pub(super) attempt: u32,
    pub(super) class: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<i64>,
    pub(super) error: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) again: Option<i64>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) over: bool,
    pub(super) at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_output: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Interrupted<'r> {
    #[serde(borrow)]
    pub(super) task: Cow<'r, str>,
    pub(super) attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) again: Option<i64>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) over: bool,
    pub(super) at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_output: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<i64>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Skipped<'r> {
    #[serde(borrow)]
    pub(super) task: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dependency_failed: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dependency_skipped: Option<Cow<'r, str>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) no_dependency_failed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) too_simple: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) complexity: Option<Cow<'r, str>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) switched_off: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) person: Option<Cow<'r, str>>,
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Tasks<'r> {
    pub(super) tasks: Vec<Cow<'r, str>>,
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Replanned<'r> {
    pub(super) changed: Vec<Cow<'r, str>>,
    pub(super) removed: Vec<Cow<'r, str>>,
    pub(super) digest: Cow<'r, str>,
    pub(super) tasks: u32,
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Decided<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) checkpoint: Option<Cow<'r, str>>,
    pub(super) action: Cow<'r, str>,
    pub(super) tasks: Vec<Cow<'r, str>>,
    pub(super) text: Cow<'r, str>,
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Cancelled<'r> {
    #[serde(borrow)]
    pub(super) task: Cow<'r, str>,
    pub(super) attempt: u32,
    pub(super) then: Cow<'r, str>,
    pub(super) reason: Cow<'r, str>,
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Advised<'r> {
    pub(super) tasks: Vec<Cow<'r, str>>,
    pub(super) text: Cow<'r, str>,
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Assigned<'r> {
    pub(super) tasks: Vec<Cow<'r, str>>,
    pub(super) agent: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<Cow<'r, str>>,
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WaveMerged<'r> {
    pub(super) wave: u32,
    pub(super) then: Cow<'r, str>,
    pub(super) at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Limited<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) most: Option<u32>,
    pub(super) at: i64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Paused<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) told: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wave_failed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) checkpoint: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cause: Option<Cow<'r, str>>,
    pub(super) at: i64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Halted<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) measure: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) used: Option<Count>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) budget: Option<Count>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<Count>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_logged_in: Option<Cow<'r, str>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) no_room: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) part_done: bool,
    pub(super) at: i64,
}

/// A number that every reader of JSON can read again, however large it was.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Count(pub(super) u64);

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0.min(i64::MAX.unsigned_abs()))
    }
}

/// Attempts by task: an object whose order is kept.
#[derive(Debug)]
pub(super) struct Attempts<'r>(pub(super) Vec<(Cow<'r, str>, u32)>);

impl Serialize for Attempts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(task, attempt)| (task, attempt)))
    }
}

impl<'r, 'de: 'r> Deserialize<'de> for Attempts<'r> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Borrowed if nothing in it is escaped.
        #[derive(Deserialize)]
        struct Name<'r>(#[serde(borrow)] Cow<'r, str>);

        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(Cow<'de, str>, u32)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("attempts by task")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::with_capacity(map.size_hint().unwrap_or_default());
                while let Some((Name(task), attempt)) = map.next_entry()? {
                    all.push((task, attempt));
                }
                Ok(all)
            }
        }
        deserializer.deserialize_map(InOrder).map(Self)
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
