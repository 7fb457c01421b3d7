//! The same places on two machines: the project, the program and the agent are elsewhere on each. Paths are not only in fields
//! that say so, but in prompts and arguments too, so every text is gone through.

use std::path::{Path, PathBuf};

/// From the places of one machine to those of another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Each place, and where it is on the other machine; the longest first.
    pairs: Vec<(String, String)>,
}

impl Places {
    /// Places with their counterparts. An empty one, and the root of the file system, is no place.
    pub(crate) fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let usable = |(from, _): &(String, String)| !from.is_empty() && from != "/";
        let mut pairs: Vec<_> = pairs.into_iter().filter(usable).collect();
        pairs.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        Self { pairs }
    }

    /// A text with each place in it as it is on the other machine.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut moved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((at, from, to)) = self.first(text, text.len() - rest.len()) {
            let skipped = text.len() - rest.len();
            moved.push_str(&text[skipped..at]);
            moved.push_str(to);
            rest = &text[at + from.len()..];
        }
        moved.push_str(rest);
        moved
    }

    /// The first place in a text from a position on: where it is, and what it becomes.
    fn first<'a>(&'a self, text: &str, from: usize) -> Option<(usize, &'a str, &'a str)> {
        let found = self.pairs.iter().filter_map(|(place, to)| Some((find(text, place, from)?, &**place, &**to)));
        // Of two that begin together the longest counts, which comes first.
        found.min_by_key(|(at, ..)| *at)
    }

    /// A path on the other machine.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        path.to_str().map_or_else(|| path.to_owned(), |text| self.text(text).into())
    }
}

/// Where a place begins in a text, as a whole path or the beginning of one.
fn find(text: &str, place: &str, from: usize) -> Option<usize> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || byte >= 0x80;
    let bytes = text.as_bytes();
    let mut from = from;
    while let Some(at) = text[from..].find(place).map(|at| from + at) {
        let end = at + place.len();
        let begins = at == 0 || !(is_part(bytes[at - 1]) || bytes[at - 1] == b'/');
        // A full stop that ends a sentence ends the path too.
        let next = match bytes.get(end) {
            Some(b'.') => bytes.get(end + 1).copied(),
            next => next.copied(),
        };
        if begins && next.is_none_or(|next| !is_part(next)) {
            return Some(at);
        }
        from = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        let pairs = [("/w", "/var/h/project"), ("/w/.x/keepers", "/var/h/keepers"), ("/usr/bin/claude", "claude")];
        Places::new(pairs.map(|(from, to)| (from.to_owned(), to.to_owned())))
    }

    #[test]
    fn place_is_moved_wherever_it_is_in_a_text() {
        for (text, moved) in [
            ("/w", "/var/h/project"),
            ("/w/a/b", "/var/h/project/a/b"),
            ("read /w/a, then /w.", "read /var/h/project/a, then /var/h/project."),
            ("--dir=/w {\"at\":\"/w/b\"}", "--dir=/var/h/project {\"at\":\"/var/h/project/b\"}"),
            ("/w/.x/keepers and /w/.x", "/var/h/keepers and /var/h/project/.x"),
            ("/usr/bin/claude --print", "claude --print"),
        ] {
            assert_eq!(places().text(text), moved, "{text}");
        }
    }

    #[test]
    fn longer_name_that_begins_alike_is_left_alone() {
        for text in ["/work/a", "/home/w/a", "x/w", "/w-2", "/w.old/a", "/wö", "/usr/bin/claude-2", ""] {
            assert_eq!(places().text(text), text);
        }
        assert_eq!(Places::new([("/".to_owned(), "/x".to_owned())]).text("/a"), "/a");
    }
}
