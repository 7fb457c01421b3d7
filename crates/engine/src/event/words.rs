//! How values of events are written: times, causes, actions and dollars.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
pub(super) const fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn word<'de, T, D: Deserializer<'de>>(read: impl FnOnce(&str) -> Option<T>, from: D) -> Result<T, D::Error> {
    let text = String::deserialize(from)?;
    read(&text).ok_or_else(|| de::Error::custom(format_args!("`{text}` is not known")))
}

/// RFC 3339 in UTC.
pub(super) mod time {
    use super::{Deserializer, Serialize as _, Serializer, word};
    use team_executor_core::Timestamp;
    use team_executor_files::time;

    pub(in super::super) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        time::format(*at).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        word(|text| time::parse(text).map(|read| read.time), from)
    }
}

/// Why a person is asked.
pub(super) mod cause {
    use super::{Deserializer, Serialize as _, Serializer, word};
    use team_executor_core::run::Cause;

    pub(in super::super) fn serialize<S: Serializer>(cause: &Cause, to: S) -> Result<S::Ok, S::Error> {
        cause.word().serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Cause, D::Error> {
        word(Cause::from_word, from)
    }
}

/// What a person has decided.
pub(super) mod action {
    use super::{Deserializer, Serialize as _, Serializer, word};
    use team_executor_core::CheckpointAction;

    pub(in super::super) fn serialize<S: Serializer>(action: &CheckpointAction, to: S) -> Result<S::Ok, S::Error> {
        action.word().serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<CheckpointAction, D::Error> {
        word(CheckpointAction::from_word, from)
    }
}

/// What becomes of a cancelled task, by its word.
pub(super) mod cancel {
    use super::{Deserializer, Serialize as _, Serializer, word};
    use team_executor_core::run::Cancel;

    pub(in super::super) fn serialize<S: Serializer>(cancel: &Cancel, to: S) -> Result<S::Ok, S::Error> {
        cancel.word().serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Cancel, D::Error> {
        word(Cancel::from_word, from)
    }
}

/// Millionths of a dollar, written as dollars.
pub(super) mod dollars {
    use super::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(micros: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        #[expect(clippy::cast_precision_loss, reason = "so many dollars are never spent")]
        micros.map(|micros| micros as f64 / 1e6).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        let dollars = Option::<f64>::deserialize(from)?;
        // A number that is out of range becomes the nearest one that is in it.
        Ok(dollars.map(|dollars| (dollars * 1e6).round() as u64))
    }
}
