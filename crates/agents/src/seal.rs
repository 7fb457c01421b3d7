//! Lines that are believed only when they are whole: JSON objects whose last field is a checksum of all before it.

use serde::Serialize;
use serde::de::DeserializeOwned;

const SEAL: &str = ",\"checksum\":\"";

/// A value, which must be written as an object, as one sealed line with its end.
pub(crate) fn seal(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut line = serde_json::to_string(value)?;
    line.pop();
    let checksum = crc32c::crc32c(line.as_bytes());
    line.push_str(SEAL);
    line.push_str(&format!("{checksum:08x}\"}}\n"));
    Ok(line)
}

/// What a sealed line says, if it is whole, with or without its end.
pub(crate) fn unseal<T: DeserializeOwned>(line: &str) -> Option<T> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let (body, seal) = line.rsplit_once(SEAL)?;
    let checksum = seal.strip_suffix("\"}")?;
    let right = format!("{:08x}", crc32c::crc32c(body.as_bytes()));
    // The seal is cut off again: what is read knows nothing of it.
    if checksum == right { serde_json::from_str(&format!("{body}}}")).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_line_is_json_with_a_checksum_and_says_the_same() {
        let value = BTreeMap::from([("a", "b,\"checksum\":\"00000000\"}\n")]);
        let line = seal(&value).unwrap();
        let json: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(json["checksum"].as_str().map(str::len), Some(8));
        assert_eq!(line.matches('\n').count(), 1);
        let read: BTreeMap<String, String> = unseal(&line).unwrap();
        assert_eq!(read["a"], value["a"]);
    }

    #[test]
    fn a_line_that_is_cut_or_changed_anywhere_is_not_believed() {
        let line = seal(&BTreeMap::from([("key", "run/T-1/1")])).unwrap();
        let read = |text: &str| unseal::<BTreeMap<String, String>>(text);
        for at in 0..line.len() - 1 {
            assert_eq!(read(&line[..at]), None, "cut at {at}");
            let mut changed = line.clone().into_bytes();
            changed[at] ^= 1;
            assert_eq!(read(str::from_utf8(&changed).unwrap()), None, "changed at {at}");
        }
    }
}
