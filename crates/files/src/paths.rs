//! Paths that stand in files: below the session folder or not at all.

/// Why a path cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Outside {
    /// Nothing is named.
    #[error("the path is empty")]
    Empty,
    /// It begins at the root of a file system.
    #[error("the path is absolute")]
    Absolute,
    /// It goes up.
    #[error("the path goes up with `..`")]
    GoesUp,
    /// It holds what no path holds.
    #[error("the path contains a control character")]
    ControlCharacter,
}

/// Whether a path stays inside the folder that it is relative to, as far as its text tells. Links are the reader's duty.
pub fn inside(path: &str) -> Result<(), Outside> {
    if path.trim().is_empty() {
        return Err(Outside::Empty);
    }
    if path.chars().any(char::is_control) {
        return Err(Outside::ControlCharacter);
    }
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    if path.starts_with(['/', '\\', '~']) || drive {
        return Err(Outside::Absolute);
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Err(Outside::GoesUp);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: S-09
    #[test]
    fn only_paths_below_are_inside() {
        for fine in ["role-specs/a.md", "a", "./a", "a..b/c", "...", "任务/甲.md"] {
            assert_eq!(inside(fine), Ok(()), "{fine}");
        }
        for (path, why) in [
            ("", Outside::Empty),
            (" ", Outside::Empty),
            ("/etc/passwd", Outside::Absolute),
            ("C:/x", Outside::Absolute),
            ("d:\\x", Outside::Absolute),
            ("\\\\host\\share", Outside::Absolute),
            ("~/x", Outside::Absolute),
            ("..", Outside::GoesUp),
            ("a/../../b", Outside::GoesUp),
            ("a\\..\\b", Outside::GoesUp),
            ("a\0b", Outside::ControlCharacter),
        ] {
            assert_eq!(inside(path), Err(why), "{path}");
        }
    }
}
