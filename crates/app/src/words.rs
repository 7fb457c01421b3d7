//! Numbers of things in words.

/// A size for people.
pub fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}

/// `1 task`, `2 tasks`.
pub fn count(n: usize, what: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{n} {what}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short_to_read() {
        assert_eq!([0, 1023, 1536, 5 << 20, u64::MAX].map(size)[..4], ["0 B", "1023 B", "1.5 KiB", "5.0 MiB"]);
    }
}
