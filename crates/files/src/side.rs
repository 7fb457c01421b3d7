//! What the readers and writers of a session's side files have in common: findings set apart until they can be placed,
//! and keys that no shape knows, which are written back as they were.

use std::borrow::Cow;

use crate::finding::Findings;
use crate::json::{self, Value, Writer};
use crate::reading::Reading;
use crate::shape::Object;

/// Reads something and returns what was found about it, instead of adding that to the other findings.
pub(crate) fn apart<'f, T>(reading: &mut Reading<'f>, read: impl FnOnce(&mut Reading<'f>) -> T) -> (T, Findings) {
    let before = std::mem::take(&mut reading.findings);
    let result = read(reading);
    (result, std::mem::replace(&mut reading.findings, before))
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
