//! Paths and names in addresses, where everything but letters, digits and a few signs is written as `%XX`.

/// What begins the addresses of our resources.
pub(super) const SCHEME: &str = "team-executor://";

/// A name as a part of an address.
pub(super) fn encoded(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let written = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(written).collect()
}

/// What a part of an address says; nothing if it is not written as it should be.
pub(super) fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit(digits[0])? * 16 + digit(digits[1])?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The path that a `file://` address names on this machine.
pub(super) fn file(uri: &str) -> Option<String> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    decoded(path).filter(|path| path.starts_with('/') && !path.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_and_other_addresses_are_none() {
        for name in ["", "a/b c", "日本 %41", "a\n?#&=+", "-._~"] {
            let written = encoded(name);
            assert_eq!(decoded(&written).as_deref(), Some(name));
            assert!(!written.contains(['/', ' ', '?', '#', '\n']), "{written}");
        }
        for wrong in ["%", "%4", "%zz", "%ff", "%+1"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
        assert_eq!(file("file:///a%20b/c").as_deref(), Some("/a b/c"));
        assert_eq!(file("file://localhost/a").as_deref(), Some("/a"));
        for wrong in ["/a", "file://host/a", "file:a", "https://x/a", "file:///a%00"] {
            assert_eq!(file(wrong), None, "{wrong}");
        }
    }
}
