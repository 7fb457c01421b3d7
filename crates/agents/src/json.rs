//! JSON that workers and agents wrote. Half a surrogate pair, which is what a program leaves that cuts a text inside of a
//! character, is read as U+FFFD, as everywhere else.

use std::borrow::Cow;

use serde_json::Value;

/// Reads any value.
pub fn value(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).or_else(|error| match whole_pairs(text) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(text) => serde_json::from_str(&text),
    })
}

/// The same text, with U+FFFD for each escape of half a pair. Escapes are as long as before, so that places stay.
fn whole_pairs(text: &str) -> Cow<'_, str> {
    let mut whole = Cow::Borrowed(text);
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        at += match (unit(text, at), unit(text, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                whole.to_mut().replace_range(at..at + 6, "\\ufffd");
                6
            }
            _ => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8), // an escaped backslash begins nothing
        };
    }
    whole
}

/// What the escape at a place stands for, if there is one of the long sort.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pair_is_read_and_everything_else_is_as_it_was() {
        for (json, expected) in [
            (r#""cut\ud83d""#, "cut\u{FFFD}"),
            (r#""\uD83D tail \ude00""#, "\u{FFFD} tail \u{FFFD}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"),
            (r#""\\ud83d \ud83d ü\\""#, "\\ud83d \u{FFFD} ü\\"),
            (r#""\ud83d\ude00 \u00e4""#, "😀 ä"),
        ] {
            assert_eq!(value(json).unwrap(), expected, "{json}");
        }
        for wrong in [r#""\ud8""#, r#""\u+123 \ud83d""#, r#"{"a":"\ud83d""#, "\"\\ud83d\\", "\\ü"] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
    }
}
