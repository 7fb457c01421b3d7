//! Code that the readers and writers of a session's side files share: many files of one kind are read as if
//! they were one, and keys that no shape knows are written back as they were.

use std::borrow::Cow;
use std::sync::Arc;

use crate::code::Code;
use crate::finding::{Finding, Findings, Severity};
use crate::folder::ReadError;
use crate::json::{self, Value, Writer};
use crate::limits;
use crate::reading::{About, Reading, unreadable};
use crate::shape::Object;
use crate::span::Source;

/// Reads something and returns what was found about it, instead of adding that to the other findings.
pub(crate) fn apart<'f, T>(reading: &mut Reading<'f>, read: impl FnOnce(&mut Reading<'f>) -> T) -> (T, Findings) {
    let before = std::mem::take(&mut reading.findings);
    let result = read(reading);
    (result, std::mem::replace(&mut reading.findings, before))
}

/// The names in a folder of side files. A folder that is missing is empty.
pub(crate) fn names(reading: &mut Reading<'_>, folder: &str, about: &About) -> Vec<String> {
    match reading.folder.list(folder) {
        Ok(names) => names,
        Err(ReadError::Missing) => Vec::new(),
        Err(error) => {
            let finding = unreadable(about.subject, &folder.into(), &error);
            reading.findings.push(Finding { severity: Severity::Warning, ..finding });
            Vec::new()
        }
    }
}

/// Reads many files of one kind, until [`limits::TASKS_BYTES`] have been read. What is found in them is a warning, and
/// what several of them share is said once, with a count. Only what `read` returns has the severity that it says.
pub(crate) fn read_each<'f>(
    reading: &mut Reading<'f>,
    folder: &str,
    about: &About,
    files: impl IntoIterator<Item = Arc<str>>,
    mut read: impl FnMut(&mut Reading<'f>, &Arc<str>, &str) -> Option<Finding>,
) {
    let group: Arc<str> = folder.into();
    let mut bytes = 0;
    for file in files {
        if bytes > limits::TASKS_BYTES {
            let message = format!("{folder}/ holds more than {} bytes; the rest was not read", limits::TASKS_BYTES);
            reading.findings.push_grouped(&group, Finding::warning(Code::FileTooLarge, message).file(&file));
            return;
        }
        let (result, findings) = apart(reading, |reading| {
            let text = reading.optional_text(&file, about, Severity::Warning)?;
            let verdict = read(reading, &file, &text);
            Some((text, verdict))
        });
        let mut kept = false;
        for finding in findings.iter().cloned() {
            kept |= reading.findings.push_grouped(&group, Finding { severity: Severity::Warning, ..finding });
        }
        let Some((text, verdict)) = result else { continue };
        bytes += text.len() as u64;
        if let Some(verdict) = verdict {
            kept |= reading.findings.push_grouped(&group, verdict);
        }
        if kept {
            reading.sources.insert(file, Source::new(text));
        }
    }
}

/// Writes the entries of an object that its shape does not know, byte for byte and in their order.
pub(crate) fn write_unknown(writer: &mut Writer, original: Option<Value<'_, '_>>, shape: &Object) {
    for entry in original.into_iter().flat_map(Value::entries) {
        if shape.field(&entry.name()).is_none() {
            writer.raw_key(entry.key.raw());
            writer.raw(entry.value.raw());
        }
    }
}

/// Writes a key and its text, if there is one.
pub(crate) fn write_text(writer: &mut Writer, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        writer.key(key);
        writer.text(text);
    }
}

/// Writes a key and its value, if there is one.
pub(crate) fn write_plain(writer: &mut Writer, key: &str, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        writer.key(key);
        writer.plain(value);
    }
}

/// JSON on one line. What is not JSON, or nested too deeply to be read back from inside a line, becomes a string.
pub(crate) fn one_line(json: &str) -> Cow<'_, str> {
    // Inside brackets: it must be exactly one value, and one level of nesting is left for the line's own object.
    let wrapped = format!("[{json}]");
    if !json::parse(&wrapped).is_ok_and(|document| document.root().items().count() == 1) {
        return Cow::Owned(json::quote(json));
    }
    // Within strings JSON has no line ends, so these are white space.
    let json = json.trim_ascii();
    if json.contains(['\n', '\r']) { Cow::Owned(json.replace(['\n', '\r'], " ")) } else { Cow::Borrowed(json) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    #[test]
    fn anything_fits_on_one_line() {
        assert_eq!(one_line("{\"a\":\r\n1}"), "{\"a\":  1}");
        assert_eq!(one_line(" 1\n"), "1");
        assert_eq!(one_line("1,2"), "\"1,2\"");
        assert_eq!(one_line("1],[2"), "\"1],[2\"");
        assert_eq!(one_line("a\nb"), "\"a\\nb\"");
        assert_eq!(one_line(""), "\"\"");
        let deep = "[".repeat(limits::JSON_DEPTH) + &"]".repeat(limits::JSON_DEPTH);
        assert_eq!(one_line(&deep), format!("\"{deep}\""));
    }
}
