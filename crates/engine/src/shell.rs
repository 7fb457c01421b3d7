//! Commands that people are told to type: a shell must read them as they are meant.

/// A word as a shell reads it.
pub fn word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=/.,:@%+".contains(c);
    let is_plain = !word.is_empty() && word.chars().all(plain);
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The flag that names a session.
pub fn session(path: impl std::fmt::Display) -> String {
    word(&format!("--session={path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_finds_nothing_to_do_in_a_path() {
        assert_eq!(session("a/TC-1"), "--session=a/TC-1");
        assert_eq!(session("a b/$(x)"), "'--session=a b/$(x)'");
        assert_eq!(session("it's"), r"'--session=it'\''s'");
        assert_eq!(word(""), "''");
    }
}
