//! Everything below a folder at one moment.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use team_executor_core::fnv;

use crate::must;

/// Everything below a folder at one moment, to be compared with another moment. Two trees are equal only if nothing was
/// written in between, not even the same bytes again. As text it is a list of paths with size and checksum, without
/// times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree(BTreeMap<PathBuf, Entry>);

impl Tree {
    /// Looks at everything below a folder now; links are not followed.
    #[track_caller]
    pub fn read(folder: &Path) -> Self {
        let mut entries = BTreeMap::new();
        let mut waiting = vec![folder.to_owned()];
        while let Some(path) = waiting.pop() {
            let metadata = must("looking at", &path, path.symlink_metadata());
            let what = if metadata.is_dir() {
                waiting.extend(children(&path));
                What::Folder
            } else if metadata.is_symlink() {
                What::Link(must("reading the link", &path, fs::read_link(&path)))
            } else if metadata.is_file() {
                let bytes = must("reading", &path, fs::read(&path));
                What::File { bytes: bytes.len(), checksum: checksum(&bytes) }
            } else {
                What::Other
            };
            let modified = must("looking at", &path, metadata.modified());
            let name = path.strip_prefix(folder).unwrap_or(&path).to_owned();
            entries.insert(name, Entry { what, modified });
        }
        Self(entries)
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (path, entry) in self.0.iter().filter(|(path, _)| !path.as_os_str().is_empty()) {
            let path = path.display();
            match &entry.what {
                What::Folder => writeln!(f, "{path}/")?,
                What::Link(target) => writeln!(f, "{path} -> {}", target.display())?,
                What::File { bytes, checksum } => writeln!(f, "{path} {bytes} {checksum:016x}")?,
                What::Other => writeln!(f, "{path} (not a file)")?,
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    what: What,
    modified: SystemTime,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Folder,
    Link(PathBuf),
    File { bytes: usize, checksum: u64 },
    Other,
}

/// What is directly inside a folder.
#[track_caller]
pub(crate) fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = must("listing", folder, fs::read_dir(folder));
    entries.map(|entry| must("listing", folder, entry).path()).collect()
}

fn checksum(bytes: &[u8]) -> u64 {
    fnv::add(fnv::START, bytes.iter().copied())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A folder whose entries were all written long ago, so that a write now is later by any clock.
    fn old() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("sub/b"), "a").unwrap();
        fs::write(dir.path().join("a"), "").unwrap();
        std::os::unix::fs::symlink("sub/b", dir.path().join("link")).unwrap();
        for path in ["sub/b", "sub", "a", ""] {
            let file = fs::File::open(dir.path().join(path)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
        }
        dir
    }

    #[test]
    fn the_text_is_stable_and_complete() {
        assert_eq!(
            Tree::read(old().path()).to_string(),
            "a 0 cbf29ce484222325\nlink -> sub/b\nsub/\nsub/b 1 af63dc4c8601ec8c\n"
        );
    }

    #[test]
    fn looking_changes_nothing() {
        let dir = old();
        assert_eq!(Tree::read(dir.path()), Tree::read(dir.path()));
    }

    #[test]
    fn every_kind_of_write_is_noticed() {
        let writes: [fn(&Path); 6] = [
            |dir| fs::write(dir.join("sub/b"), "b").unwrap(),
            |dir| fs::write(dir.join("sub/b"), "a").unwrap(), // the same again
            |dir| fs::write(dir.join("new"), "").unwrap(),
            |dir| fs::remove_file(dir.join("a")).unwrap(),
            |dir| fs::create_dir(dir.join("sub/new")).unwrap(),
            |dir| {
                fs::write(dir.join("passing"), "").unwrap();
                fs::remove_file(dir.join("passing")).unwrap();
            },
        ];
        for (n, write) in writes.iter().enumerate() {
            let dir = old();
            let before = Tree::read(dir.path());
            write(dir.path());
            assert_ne!(Tree::read(dir.path()), before, "write number {n}");
        }
    }
}
