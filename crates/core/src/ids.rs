//! Names that are checked once, when they enter, and are cheap to clone afterwards.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// The longest id that is accepted, in bytes. Ids become file names, log fields and environment values.
pub(crate) const MAX_ID_BYTES: usize = 200;

/// Why a text cannot be an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// Nothing, or nothing but white space.
    #[error("it is empty")]
    Empty,
    /// More than `MAX_ID_BYTES`.
    #[error("it has {bytes} bytes, the limit is {MAX_ID_BYTES}")]
    TooLong {
        /// How many bytes it has.
        bytes: usize,
    },
    /// A control character: it would break lines, logs and process arguments.
    #[error("it contains the control character U+{code:04X}")]
    ControlCharacter {
        /// The character's code point.
        code: u32,
    },
    /// White space at its start or end, which no person sees and no two files agree on.
    #[error("it begins or ends with white space")]
    Padded,
}

fn check(text: &str) -> Result<(), InvalidId> {
    if (1..=MAX_ID_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(()); // as nearly all are
    }
    if text.trim().is_empty() {
        return Err(InvalidId::Empty);
    }
    if text.len() > MAX_ID_BYTES {
        return Err(InvalidId::TooLong { bytes: text.len() });
    }
    if let Some(bad) = text.chars().find(|c| c.is_control()) {
        return Err(InvalidId::ControlCharacter { code: bad.into() });
    }
    if text.trim() != text {
        return Err(InvalidId::Padded);
    }
    Ok(())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Accepts what can be a file name part, a log field and an environment value; says why not otherwise.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                check(text)?;
                Ok(Self(Arc::from(text)))
            }

            /// The text as it was written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

id!(
    /// Names one task within its session, for instance `IMPL-001`, `DEV-FE-001` or `1`.
    TaskId
);
id!(
    /// Names one role, for instance `developer`.
    RoleName
);
id!(
    /// Names one session, for instance `TC-auth-2026-02-27`.
    SessionId
);
id!(
    /// Names one artifact within its session, for instance `product-brief-v1`.
    ArtifactId
);

impl TaskId {
    /// Whether this id belongs to a role with that task prefix: `IMPL-002` belongs to `IMPL`, `IMPLX-1` does not.
    pub fn has_prefix(&self, prefix: &str) -> bool {
        let prefix = prefix.trim_end_matches(['*', '-']);
        !prefix.is_empty() && self.0.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: D-01
    #[test]
    fn real_ids_are_accepted() {
        for id in [
            "IMPL-001",
            "IMPL-PHASE2",
            "DEV-FE-001",
            "1",
            "impl-001",
            "IMPL-0001",
            "-001",
            "任务-1",
            "a b",
            "x".repeat(200).as_str(),
        ] {
            assert_eq!(TaskId::parse(id).map(|t| t.to_string()), Ok(id.to_owned()));
        }
    }

    #[test]
    fn id_that_breaks_lines_or_paths_is_refused() {
        assert_eq!(TaskId::parse(""), Err(InvalidId::Empty));
        assert_eq!(TaskId::parse(" \t"), Err(InvalidId::Empty));
        assert_eq!(TaskId::parse(" A"), Err(InvalidId::Padded));
        assert_eq!(TaskId::parse("A\0B"), Err(InvalidId::ControlCharacter { code: 0 }));
        assert_eq!(TaskId::parse("A\u{85}B"), Err(InvalidId::ControlCharacter { code: 0x85 }));
        assert_eq!(TaskId::parse(&"x".repeat(201)), Err(InvalidId::TooLong { bytes: 201 }));
    }

    #[test]
    fn prefixes_match_whole_words() {
        let has = |id, prefix| TaskId::parse(id).is_ok_and(|t| t.has_prefix(prefix));
        assert!(has("IMPL-002", "IMPL"));
        assert!(has("IMPL-002", "IMPL-*"));
        assert!(has("FIX-STOP-1", "FIX-STOP"));
        assert!(has("IMPL", "IMPL"));
        assert!(!has("IMPLX-1", "IMPL"));
        assert!(!has("IMPL-1", ""));
        assert!(!has("IMPL-1", "*"));
    }
}
