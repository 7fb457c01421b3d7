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
            self.seen.insert(mark(&decided(record.0)));
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
        let Line { crc, before, number, record, .. } = Line::parse(line)?;
        if before != self.crc || number != self.records + 1 {
            return None;
        }
        self.crc = crc;
        Some(record)
    }
}

/// A line whose checksum is right.
struct Line<'b> {
    crc: u32,
    /// The checksum of the line before.
    before: u32,
    number: usize,
    /// How many lines before it were not durable.
    open: usize,
    record: Record<'b>,
}

impl<'b> Line<'b> {
    fn parse(line: &'b [u8]) -> Option<Self> {
        let (crc, body) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        let crc = u32::from_str_radix(crc, 16).ok().filter(|crc| *crc == crc32c(body.as_bytes()))?;
        let mut fields = body.splitn(4, ' ');
        let before = u32::from_str_radix(fields.next()?, 16).ok()?;
        let (number, open) = fields.next().map(|number| number.split_once('-').unwrap_or((number, "0")))?;
        let (number, open) = (number.parse().ok()?, open.parse().ok()?);
        fields.next()?;
        Some(Self { crc, before, number, open, record: Record(fields.next()?) })
    }
}

/// How many records were durable, by what whole lines say, wherever they are.
pub(crate) fn durable(journal: &[u8]) -> usize {
    let lines =
        journal.split_inclusive(|byte| *byte == b'\n').filter_map(|line| Line::parse(line.strip_suffix(b"\n")?));
    lines.map(|line| line.number.saturating_sub(1 + line.open)).max().unwrap_or(0)
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

/// A record without the times of its attempt, which stand at its end and are no part of what was decided. No text of a
/// record has such a name in plain quotes.
fn decided(record: &str) -> String {
    let at = [",\"first_output\":", ",\"ended\":"].iter().filter_map(|name| record.find(name)).min();
    at.map_or_else(|| record.to_owned(), |at| format!("{}}}", &record[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_up_to_its_first_bad_line() {
        let good = "8a229c50 00000000 1 3 {\"kind\":\"epoch\"}\n393a4a24 8a229c50 2-1 3 {}\n";
        let mut reader = Reader::default();
        assert_eq!(reader.added(&good.as_bytes()[..60]).len(), 1);
        assert_eq!(reader.added(good.as_bytes()).len(), 1);
        assert_eq!((reader.offset, reader.has("{}"), reader.has("[]")), (good.len(), true, false));
        assert_eq!(Reader::default().added(good.replace("epoch", "epocH").as_bytes()).len(), 0);
        assert_eq!((durable(good.as_bytes()), durable(good.replace("2-1", "2").as_bytes())), (0, 0));
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
