//! Reads journals and their records without any of the code that is under test.

use std::collections::BTreeSet;

use crc32c::crc32c;

/// Reads a journal that grows, up to its first bad line.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// How many bytes were good.
    pub(crate) offset: usize,
    /// How many records there were.
    pub(crate) records: usize,
    crc: u32,
    /// The records, as numbers that tell them apart.
    seen: BTreeSet<u64>,
}

impl Reader {
    /// The records that were added since.
    pub(crate) fn added<'b>(&mut self, bytes: &'b [u8]) -> Vec<Record<'b>> {
        let mut found = Vec::new();
        while let Some(length) = bytes[self.offset.min(bytes.len())..].iter().position(|byte| *byte == b'\n') {
            let Some(record) = self.line(&bytes[self.offset..self.offset + length]) else { break };
            self.offset += length + 1;
            self.records += 1;
            self.seen.insert(mark(record.0));
            found.push(record);
        }
        found
    }

    /// Whether there is such a record.
    pub(crate) fn has(&self, record: &str) -> bool {
        self.seen.contains(&mark(record))
    }

    /// A line that follows the last one.
    fn line<'b>(&mut self, line: &'b [u8]) -> Option<Record<'b>> {
        let text = std::str::from_utf8(line).ok()?;
        let (crc, body) = text.split_once(' ')?;
        let crc = u32::from_str_radix(crc, 16).ok().filter(|crc| *crc == crc32c(body.as_bytes()))?;
        let mut fields = body.splitn(4, ' ');
        let follows = u32::from_str_radix(fields.next()?, 16).ok()? == self.crc;
        let number: usize = fields.next()?.split('-').next()?.parse().ok()?;
        fields.next()?;
        let record = Record(fields.next()?);
        if !follows || number != self.records + 1 {
            return None;
        }
        self.crc = crc;
        Some(record)
    }
}

/// Where the last line begins that another one says was durable. Its end counts as part of what follows: without it, two
/// lines are one.
pub(crate) fn last_durable(journal: &[u8]) -> usize {
    let (mut starts, mut durable, mut start) = (vec![0], 0, 0);
    for line in journal.split_inclusive(|byte| *byte == b'\n') {
        let number = line.split(|byte| *byte == b' ').nth(2).and_then(|number| std::str::from_utf8(number).ok());
        let mut parts = number.unwrap_or_default().split('-').map(|part| part.parse().unwrap_or(0));
        let (number, open): (usize, usize) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        durable = durable.max(number.saturating_sub(1 + open));
        starts.push(start);
        start += line.len();
    }
    starts.get(durable).copied().unwrap_or(start)
}

/// A number that tells a text from others.
fn mark(text: &str) -> u64 {
    u64::from(crc32c(text.as_bytes())) << 32 | text.len() as u64
}

/// The text of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a>(pub(crate) &'a str);

impl<'a> Record<'a> {
    /// What follows a key, up to the end of the record.
    pub(crate) fn value(self, key: &str) -> Option<&'a str> {
        let mut from = 0;
        while let Some(at) = self.0[from..].find(key).map(|at| at + from) {
            let rest = &self.0[at + key.len()..];
            if self.0[..at].ends_with('"')
                && let Some(value) = rest.strip_prefix("\":")
            {
                return Some(value);
            }
            from = at + key.len();
        }
        None
    }

    /// A text without quotes in it.
    pub(crate) fn text(self, key: &str) -> Option<&'a str> {
        self.value(key)?.strip_prefix('"')?.split('"').next()
    }

    /// A number.
    pub(crate) fn number(self, key: &str) -> Option<i64> {
        self.value(key)?.split([',', '}']).next()?.parse().ok()
    }

    /// The number of a task.
    pub(crate) fn task(self, key: &str) -> Option<usize> {
        task(self.text(key)?)
    }

    /// The tasks of a list or a table, with the number that each has in a table.
    pub(crate) fn tasks(self) -> Vec<(usize, u32)> {
        self.list("tasks")
    }

    /// The same for another key.
    pub(crate) fn list(self, key: &str) -> Vec<(usize, u32)> {
        let list = self.value(key).unwrap_or_default();
        let list = list.trim_start_matches(['[', '{']).split([']', '}']).next().unwrap_or_default();
        let entries = list.split(',').filter_map(|entry| {
            let (name, number) = entry.split_once(':').unwrap_or((entry, "0"));
            Some((task(name.trim_matches('"'))?, number.parse().ok()?))
        });
        entries.collect()
    }
}

/// The number of the task that has this name.
pub(crate) fn task(name: &str) -> Option<usize> {
    name.strip_prefix('T')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_up_to_its_first_bad_line() {
        let good = "8a229c50 00000000 1 3 {\"kind\":\"epoch\"}\nd07e8208 8a229c50 +2 3 {}\n";
        let mut reader = Reader::default();
        assert_eq!(reader.added(&good.as_bytes()[..60]).len(), 1);
        assert_eq!(reader.added(good.as_bytes()).len(), 1);
        assert_eq!((reader.offset, reader.has("{}"), reader.has("[]")), (good.len(), true, false));
        assert_eq!(Reader::default().added(good.replace("epoch", "epocH").as_bytes()).len(), 0);
        assert_eq!(Reader::default().added(good.split_inclusive('\n').nth(1).unwrap().as_bytes()).len(), 0);
    }

    #[test]
    fn fields_are_found_by_their_keys() {
        let record = Record("{\"type\":\"failed\",\"task\":\"T12\",\"attempt\":2,\"error\":\"type\",\"again\":-5}");
        assert_eq!(
            (record.text("type"), record.task("task"), record.number("attempt")),
            (Some("failed"), Some(12), Some(2))
        );
        assert_eq!(
            (record.number("again"), record.number("over"), record.text("error")),
            (Some(-5), None, Some("type"))
        );
        assert_eq!(Record("{\"tasks\":{\"T1\":1,\"T10\":3},\"at\":1}").tasks(), [(1, 1), (10, 3)]);
        assert_eq!(Record("{\"tasks\":[\"T1\",\"T2\"],\"at\":1}").tasks(), [(1, 0), (2, 0)]);
    }
}
