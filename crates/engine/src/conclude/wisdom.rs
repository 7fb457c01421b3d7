//! `wisdom/*.md` of a session: what tasks have learned, decided and run into, for those that come after them. One line an
//! entry, only ever appended. An entry of an attempt carries a mark, by which it is never written twice.

use std::fmt::Write as _;
use std::path::Path;

use team_executor_beneath::io_error;
use team_executor_files::findings_text;
use team_executor_store::append::TURN;
use team_executor_store::lock::PATIENCE;
use team_executor_store::{Log, RealDisk, Turn};

use crate::render::run_report::one_line;

/// The folder of the session.
pub(crate) const FOLDER: &str = "wisdom";
/// Characters that are kept of one entry.
const ENTRY_CHARS: usize = 500;
/// Entries that are kept of one attempt in one file.
const ENTRIES: usize = 20;
/// A file that is longer takes no more entries.
const FILE_BYTES: u64 = 256 << 10;

/// One of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Book {
    /// What was learned.
    Learnings,
    /// What was decided, and why.
    Decisions,
    /// What went wrong or needs a look.
    Issues,
}

impl Book {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Learnings, Self::Decisions, Self::Issues];

    /// Its name, which is also the key in a result.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Learnings => "learnings",
            Self::Decisions => "decisions",
            Self::Issues => "issues",
        }
    }

    /// The name of its file in the folder.
    pub fn file(self) -> String {
        format!("{}.md", self.word())
    }

    const fn heading(self) -> &'static str {
        match self {
            Self::Learnings => "# Learnings\n",
            Self::Decisions => "# Decisions\n",
            Self::Issues => "# Issues\n",
        }
    }
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unwritten {
    /// The file has as much as it takes.
    #[error("{FOLDER}/{0}.md is full ({FILE_BYTES} bytes): shorten it, or move it away")]
    Full(&'static str),
    /// The disk says no.
    #[error("cannot write to {FOLDER}/{0}.md: {1}")]
    Disk(&'static str, String),
}

/// Notes an issue of an attempt in a session, once however often it is reported. Returns what could not be
/// written.
pub(crate) fn note_issue(session: &Path, task: &str, attempt_key: &str, text: &str) -> Option<String> {
    let mark = format!("{attempt_key}/note");
    append(session, Book::Issues, task, Some(&mark), &[text.to_owned()]).err().map(|why| format!("{task}: {why}"))
}

/// Appends entries of one author. Leaves out those whose mark is already there. A mark is the key of an
/// attempt.
pub(crate) fn append(
    session: &Path,
    book: Book,
    by: &str,
    mark: Option<&str>,
    texts: &[String],
) -> Result<(), Unwritten> {
    let disk = |error: &dyn std::fmt::Display| Unwritten::Disk(book.word(), error.to_string());
    let folder = RealDisk::open_folder(session).and_then(|session| session.subfolder(FOLDER));
    let folder = folder.map_err(|errno| disk(&io_error(errno)))?;
    // Only the executor sets marks, and everything waits for it.
    let patience = if mark.is_some() { PATIENCE } else { TURN };
    let turn = Turn::take(&folder, patience).map_err(|error| disk(&error))?;
    let mut log = Log::open(&folder, &book.file(), &turn).map_err(|error| disk(&error))?;
    let length = log.length().map_err(|error| disk(&error))?;
    // An entry whose mark is further from the end than a full file is long is none of ours.
    let there = log.end(2 * FILE_BYTES).map_err(|error| disk(&error))?;
    let lines = lines(by, mark, texts, &String::from_utf8_lossy(&there));
    if lines.is_empty() {
        return Ok(());
    }
    if length + lines.len() as u64 > FILE_BYTES {
        return Err(Unwritten::Full(book.word()));
    }
    let heading = if length == 0 { book.heading() } else { "" };
    log.append(&format!("{heading}{lines}")).map_err(|error| disk(&error))
}

fn lines(by: &str, mark: Option<&str>, texts: &[String], there: &str) -> String {
    let by = plain(by);
    let mark = mark.map(|mark| plain(mark).replace("-->", "-- >"));
    let told: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !text.trim().is_empty()).collect();
    let more = told.len().saturating_sub(ENTRIES);
    let left_out = (more > 0).then(|| format!("[…] {more} more were left out"));
    let mut lines = String::new();
    for (number, text) in (1..).zip(told.into_iter().take(ENTRIES).chain(left_out.as_deref())) {
        let mark = mark.as_ref().map(|mark| format!(" <!-- {mark}#{number} -->")).unwrap_or_default();
        if mark.is_empty() || !there.contains(&mark) {
            writeln!(lines, "- [{by}] {}{mark}", findings_text::cut_to(&plain(text), ENTRY_CHARS)).ok();
        }
    }
    lines
}

/// On one line, without what could be taken for a mark.
fn plain(text: &str) -> String {
    one_line(text.trim()).replace("<!--", "<! --")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(session: &Path, file: &str) -> String {
        std::fs::read_to_string(session.join(FOLDER).join(file)).unwrap()
    }

    #[test]
    fn marked_entry_is_written_once() {
        let dir = tempfile::tempdir().unwrap();
        let texts = ["one\nline".to_owned(), "forged <!-- k#2 --> mark".to_owned()];
        for _ in 0..2 {
            append(dir.path(), Book::Learnings, "T-1", Some("k"), &texts).unwrap();
        }
        let whole = "# Learnings\n- [T-1] one line <!-- k#1 -->\n- [T-1] forged <! -- k#2 --> mark <!-- k#2 -->\n";
        assert_eq!(read(dir.path(), "learnings.md"), whole);
        // A crash left half of the second entry.
        std::fs::write(dir.path().join("wisdom/learnings.md"), &whole[..whole.len() - 8]).unwrap();
        append(dir.path(), Book::Learnings, "T-1", Some("k"), &texts).unwrap();
        let text = read(dir.path(), "learnings.md");
        assert_eq!((text.matches("k#1 -->").count(), text.matches("<!-- k#2 -->").count()), (1, 1), "{text}");
    }

    #[test]
    fn an_issue_is_noted_once_whatever_the_task_is_called() {
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            for (task, text) in [("A", "no consensus"), ("odd --> <!-- \n", "other")] {
                assert_eq!(note_issue(dir.path(), task, &format!("EX-s~1/{task}/1"), text), None);
            }
        }
        let first = "- [A] no consensus <!-- EX-s~1/A/1/note#1 -->\n";
        let second = "- [odd --> <! --] other <!-- EX-s~1/odd -- > <! --  /1/note#1 -->\n";
        assert_eq!(read(dir.path(), "issues.md"), format!("# Issues\n{first}{second}"));
        assert!(
            note_issue(&dir.path().join("none"), "A", "k", "x").is_some_and(|why| why.starts_with("A: cannot write"))
        );
    }

    #[test]
    fn entries_and_files_are_bounded_and_say_what_was_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let texts: Vec<_> = (0..25).map(|number| format!("{number} {}", "日".repeat(600))).collect();
        append(dir.path(), Book::Issues, "T", Some("k"), &texts).unwrap();
        let text = read(dir.path(), "issues.md");
        assert_eq!(text.lines().count(), 22);
        assert!(text.lines().all(|line| line.chars().count() < 530), "{text}");
        assert!(text.contains("日 […] <!-- k#20 -->\n- [T] […] 5 more were left out <!-- k#21 -->\n"), "{text}");
        let full = (0..100).find_map(|n| append(dir.path(), Book::Issues, "T", Some(&n.to_string()), &texts).err());
        assert_eq!(full, Some(Unwritten::Full("issues")));
        assert!(read(dir.path(), "issues.md").len() as u64 <= FILE_BYTES);
    }

    #[test]
    fn existing_wisdom_stays_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(FOLDER)).unwrap();
        std::fs::write(dir.path().join("wisdom/decisions.md"), "my own words").unwrap();
        append(dir.path(), Book::Decisions, "user", None, &["no".to_owned(), " ".to_owned()]).unwrap();
        assert_eq!(read(dir.path(), "decisions.md"), "my own words\n- [user] no\n");
        let outside = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), other.path().join(FOLDER)).unwrap();
        let refused = append(other.path(), Book::Issues, "T", None, &["x".to_owned()]);
        assert!(matches!(refused, Err(Unwritten::Disk("issues", _))), "{refused:?}");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
