//! What a journal held when it was opened.

use crate::line::Seq;
use crate::recover::{Recovered, Torn};

/// The records of a journal that was opened.
#[derive(Debug, PartialEq, Eq)]
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
    /// The records in their order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        self.recovered.records.iter().map(|record| Record {
            seq: record.seq,
            epoch: record.epoch,
            json: &self.text[record.json.clone()],
        })
    }

    /// What was cut off because it was never committed.
    pub fn torn(&self) -> Option<Torn> {
        self.recovered.tail
    }
}
