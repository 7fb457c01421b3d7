//! Versions of programs, as they print them.

/// A version: major, minor, patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// The first version in a text.
    pub fn find(text: &str) -> Option<Self> {
        text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
            let mut numbers = word.split('.').map(str::parse);
            match (numbers.next(), numbers.next(), numbers.next()) {
                (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch))) => Some(Self(major, minor, patch)),
                _ => None,
            }
        })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::Adapter;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        for (text, version) in [
            ("2.1.325 (Claude Code)\n", Some(Version(2, 1, 325))),
            ("codex-cli 0.166.0", Some(Version(0, 166, 0))),
            ("v0.61.0-nightly.3", Some(Version(0, 61, 0))),
            ("GNU bash 5.2", None),
            ("99999999999.1.1", None),
            ("", None),
        ] {
            assert_eq!(Version::find(text), version, "{text}");
        }
        assert!(Version(0, 100, 0) > Version(0, 99, 9));
    }

    #[test]
    fn an_old_or_a_wrong_program_is_refused_in_words() {
        assert_eq!(Adapter::Claude.probe("2.1.325 (Claude Code)"), Ok(Version(2, 1, 325)));
        let old = Adapter::Claude.probe("1.0.9 (Claude Code)").unwrap_err();
        assert_eq!(old, "is version 1.0.9, but 2.1.0 or newer is required");
        assert!(Adapter::Gemini.probe("usage: gemini FILE").unwrap_err().contains("is it the right program?"));
    }
}
