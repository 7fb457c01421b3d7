//! The content of a journal when it was opened.

use crate::line::Seq;
use crate::recover::{Damage, Recovered, Torn, recover};

/// The records of a journal that was opened.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct History {
    pub(crate) text: String,
    pub(crate) recovered: Recovered,
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number; the first one has 1.
    pub seq: Seq,
    /// The incarnation that wrote it.
    pub epoch: u64,
    /// What it says.
    pub json: &'a str,
}

impl History {
    /// The content of a journal's bytes, read-only.
    pub fn read(mut bytes: Vec<u8>) -> Result<Self, Damage> {
        let recovered = recover(&bytes)?;
        bytes.truncate(recovered.end);
        // Every line was read as text; what is none is behind the end.
        let text = String::from_utf8(bytes).unwrap_or_default();
        Ok(Self { text, recovered })
    }

    /// The records in their order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record<'_>> + Clone {
        self.recovered.records.iter().map(|record| Record {
            seq: record.seq,
            epoch: record.epoch,
            json: self.text.get(record.json.clone()).unwrap_or_default(),
        })
    }

    /// The bytes cut off because they were never committed.
    pub fn torn(&self) -> Option<Torn> {
        self.recovered.tail
    }
}
