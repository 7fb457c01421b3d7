//! FNV-1a: a hash that is the same on every machine and in every version, because journals and plans hold it.

/// The hash of nothing.
pub const START: u64 = 0xcbf2_9ce4_8422_2325;

/// A hash with more bytes added to it.
pub fn add(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_are_met() {
        let hash = |text: &str| add(START, text.bytes());
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }
}
