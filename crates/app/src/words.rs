//! Numbers of things in words.

/// `1 task`, `2 tasks`.
pub fn count(n: usize, what: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{n} {what}{ending}")
}
