//! What a new session is called, by its dialect.

use crate::dialect::Dialect;

/// How many words of a requirement a name has at most.
const WORDS: usize = 5;
/// How many characters a name made of them has at most.
const CHARACTERS: usize = 40;
/// What is not in a name.
const LEFT_OUT: [&str; 12] = ["a", "an", "and", "the", "to", "of", "for", "in", "on", "with", "that", "is"];

/// A short name for a requirement: its first words that are ASCII.
pub fn slug(requirement: &str) -> String {
    let words = requirement.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.map(str::to_ascii_lowercase).filter(|word| !LEFT_OUT.contains(&word.as_str()));
    let mut slug = String::new();
    for word in words.take(WORDS) {
        let between = usize::from(!slug.is_empty());
        if slug.len() + between + word.len() > CHARACTERS {
            if slug.is_empty() {
                slug.push_str(&word[..CHARACTERS]);
            }
            break;
        }
        if between > 0 {
            slug.push('-');
        }
        slug.push_str(&word);
    }
    if slug.is_empty() { "session".to_owned() } else { slug }
}

/// Whether a name given by the user can be part of a session's name.
pub fn is_slug(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.len() <= 100 && name.split('-').all(is_part)
}

/// The id of a session of a dialect, made on a day such as `2026-02-27`.
pub fn session_id(dialect: Dialect, slug: &str, day: &str) -> String {
    let digits = day.replace('-', "");
    match dialect {
        Dialect::Tc => format!("TC-{slug}-{day}"),
        Dialect::Tls => format!("TLS-{slug}-{digits}"),
        Dialect::TasksJson => format!("TEAM-{slug}-{digits}"),
        Dialect::TasksCsv => format!("CSV-{slug}-{day}"),
        Dialect::TaskFiles | Dialect::Chain => format!("{slug}-{day}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_made_of_the_first_words() {
        assert_eq!(slug("Add a login with OAuth to the shop, and tests"), "add-login-oauth-shop-tests");
        assert_eq!(slug("修复登录"), "session");
        assert_eq!(slug(""), "session");
        assert_eq!(slug(&"x".repeat(99)), "x".repeat(40));
        assert_eq!(slug(&format!("short {}", "x".repeat(60))), "short");
        assert_eq!(session_id(Dialect::Tc, "auth", "2026-02-27"), "TC-auth-2026-02-27");
        assert_eq!(session_id(Dialect::Tls, "auth", "2026-02-27"), "TLS-auth-20260227");
        assert_eq!(session_id(Dialect::TasksJson, "auth", "2026-02-27"), "TEAM-auth-20260227");
    }

    #[test]
    fn names_that_are_none() {
        for name in ["", "-", "a-", "-a", "a--b", "A", "a b", "../x", "ä", "a.b", "x".repeat(101).as_str()] {
            assert!(!is_slug(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_requirement_has_a_name(requirement in prop_oneof![any::<String>(), "[a-zA-Z ]{0,90}"]) {
            let slug = slug(&requirement);
            prop_assert!(is_slug(&slug) && slug.len() <= CHARACTERS, "{}", slug);
        }
    }
}
