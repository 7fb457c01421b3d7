//! Logs of JSON lines: one object a line, only ever appended to. A line that cannot be read is skipped and
//! named, and costs no other line. Nothing here writes: the writer of each format makes the lines to append.

use std::sync::Arc;

use crate::code::Code;
use crate::finding::{Finding, Findings, Severity};
use crate::folder::ReadError;
use crate::json::{Kind, Value};
use crate::limits;
use crate::reading::{About, Reading, unreadable};
use crate::shape::Type;
use crate::side::apart;
use crate::span::{Source, Span};

/// One line: how it was understood, and how it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged<T> {
    /// How it was understood.
    pub value: T,
    /// The object as it is written, with every unknown key.
    pub raw: String,
}

/// Every line of a log that can be read, in order. A log that is missing is empty.
pub fn read<T>(
    reading: &mut Reading<'_>,
    file: &Arc<str>,
    about: &About,
    shape: &Type,
    understand: impl Fn(Value<'_, '_>) -> T,
) -> Vec<Logged<T>> {
    let bytes = match reading.folder.read(file, about.limit) {
        Ok(bytes) => bytes,
        Err(ReadError::Missing) => return Vec::new(),
        Err(error) => {
            let finding = unreadable(about.subject, file, &error);
            reading.findings.push(Finding { severity: Severity::Warning, ..finding });
            return Vec::new();
        }
    };
    let mut bytes = bytes.as_slice();
    if let Some(rest) = bytes.strip_prefix("\u{FEFF}".as_bytes()) {
        bytes = rest;
        let message = "a byte order mark at the start was skipped";
        reading.findings.push(Finding::warning(Code::ByteOrderMark, message).file(file));
    }
    let mut lines = Vec::new();
    let mut text = String::with_capacity(bytes.len());
    let mut skipped = 0;
    let before = reading.findings.iter().count();
    for (number, chunk) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let base = Span::new(text.len(), text.len()).start;
        text.push_str(&String::from_utf8_lossy(chunk));
        if chunk.trim_ascii().is_empty() {
            continue;
        }
        let (line, findings) = apart(reading, |reading| one(reading, file, about, shape, chunk, &understand));
        place(&mut reading.findings, &findings, base, Some(Severity::Warning));
        match line {
            Ok(line) => lines.push(line),
            Err(Unreadable { span, label }) => {
                skipped += 1;
                let message = match chunk.ends_with(b"\n") {
                    _ if skipped > limits::SHOWN_PER_KIND => {
                        "further lines that cannot be read were skipped".to_owned()
                    }
                    true => format!("line {number} cannot be read and was skipped"),
                    false => format!("line {number}, the last one, is incomplete and was skipped"),
                };
                let span = Span::at(base, span.start as usize, span.end as usize);
                reading.findings.push(Finding::warning(Code::SkippedLine, message).at(file, span, label));
            }
        }
    }
    if reading.findings.iter().count() > before {
        reading.sources.insert(file.clone(), Source::new(text));
    }
    lines
}

/// Why a line is skipped, and where in it.
struct Unreadable {
    span: Span,
    label: String,
}

fn one<T>(
    reading: &mut Reading<'_>,
    file: &Arc<str>,
    about: &About,
    shape: &Type,
    chunk: &[u8],
    understand: impl Fn(Value<'_, '_>) -> T,
) -> Result<Logged<T>, Unreadable> {
    if chunk.len() > limits::LOG_LINE_BYTES {
        let label = format!("{} bytes are too long; the limit is {}", chunk.len(), limits::LOG_LINE_BYTES);
        return Err(Unreadable { span: Span::new(0, 1), label });
    }
    let text = str::from_utf8(chunk).map_err(|error| {
        let at = error.valid_up_to();
        Unreadable { span: Span::new(at, at + '\u{FFFD}'.len_utf8()), label: "this is not UTF-8".to_owned() }
    })?;
    let (document, findings) = apart(reading, |reading| reading.document(file, about, Severity::Warning, text));
    let Some(document) = document else {
        let place = findings.iter().find_map(|finding| finding.place.clone());
        let span = place.as_ref().and_then(|place| place.span).unwrap_or(Span::new(0, 1));
        return Err(Unreadable { span, label: place.map(|place| place.label).unwrap_or_default() });
    };
    let root = document.root();
    if root.kind() != Kind::Object {
        return Err(Unreadable {
            span: root.span(),
            label: format!("expected an object, found {}", root.kind().name()),
        });
    }
    place(&mut reading.findings, &findings, 0, Some(Severity::Warning));
    reading.check(file, about, Severity::Warning, &document, shape);
    Ok(Logged { value: understand(root), raw: root.raw().to_owned() })
}

/// Adds findings about a line that begins at `base`, all with this severity if there is one.
pub(crate) fn place(findings: &mut Findings, of_line: &Findings, base: u32, severity: Option<Severity>) {
    for mut finding in of_line.iter().cloned() {
        finding.severity = severity.unwrap_or(finding.severity);
        for place in finding.place.iter_mut().chain(&mut finding.related) {
            place.span = place.span.map(|span| Span::at(base, span.start as usize, span.end as usize));
        }
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::folder::MemoryFolder;
    use crate::samples;

    static ABOUT: About = About { subject: "a.ndjson", schema: "a", limit: 8 << 20, if_missing: "", if_wrong: "" };

    fn read_all(bytes: &[u8]) -> (Vec<String>, Vec<String>) {
        let folder = MemoryFolder::default().with("a.ndjson", bytes);
        let mut reading = Reading::new(&folder, "s");
        let file: Arc<str> = "a.ndjson".into();
        let lines = read(&mut reading, &file, &ABOUT, &Type::Map(&Type::Anything), |value| value.raw().len());
        let findings = reading.findings.iter().map(|finding| {
            let span = finding.place.as_ref().and_then(|place| place.span);
            let at = span.zip(reading.sources.get(&file)).map(|(span, source)| source.position(span.start));
            format!("{}:{} {}", at.map_or(0, |at| at.line), at.map_or(0, |at| at.column), finding.message)
        });
        (lines.into_iter().map(|line| line.raw).collect(), findings.collect())
    }

    /// R: W-11
    #[test]
    fn lines_that_cannot_be_read_are_skipped_and_named() {
        let (lines, said) = read_all(b"{\"a\":1}\r\n\n {\"b\":} \n[]\n{\"c\":\"\xFF\"}\n{\"d\":1,\"d\":2}\n{\"e\":");
        assert_eq!(lines, ["{\"a\":1}", "{\"d\":1,\"d\":2}"]);
        assert_eq!(
            said,
            [
                "3:7 line 3 cannot be read and was skipped",
                "4:1 line 4 cannot be read and was skipped",
                "5:7 line 5 cannot be read and was skipped",
                "6:8 a.ndjson corrupt",
                "7:5 line 7, the last one, is incomplete and was skipped",
            ]
        );
    }

    #[test]
    fn a_byte_order_mark_and_a_missing_last_line_end_are_fine() {
        let (lines, said) = read_all(b"\xEF\xBB\xBF{\"a\":1}\n{\"b\":2}");
        assert_eq!(lines, ["{\"a\":1}", "{\"b\":2}"]);
        assert_eq!(said, ["0:0 a byte order mark at the start was skipped"]);
    }

    #[test]
    fn a_line_torn_inside_a_character_costs_only_itself() {
        let (lines, said) = read_all(b"{\"a\":1}\n{\"b\":\"\xE6\x97");
        assert_eq!(lines.len(), 1);
        assert_eq!(said, ["2:7 line 2, the last one, is incomplete and was skipped"]);
    }

    #[test]
    fn long_lines_and_many_bad_lines_are_bounded() {
        let long = format!("{{\"a\":\"{}\"}}\n{{}}\n", "x".repeat(limits::LOG_LINE_BYTES));
        assert_eq!(read_all(long.as_bytes()).0, ["{}"]);
        let (_, said) = read_all(&b"x\n".repeat(5000));
        assert_eq!(said.len(), limits::SHOWN_PER_KIND + 1);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[{}\\[\\]\":,a1\\n\\\\u]{0,60}") {
            read_all(&bytes);
            read_all(text.as_bytes());
        }

        #[test]
        fn good_lines_are_read_as_they_are(values in prop::collection::vec(samples::json(), 0..5)) {
            let lines: Vec<_> = values.iter().map(|value| format!("{{\"v\":{value}}}")).collect();
            let (read, said) = read_all(lines.join("\n").as_bytes());
            prop_assert_eq!(read, lines);
            prop_assert!(said.is_empty());
        }
    }
}
