//! At rest the rendered files are the user's. A record of what was last rendered tells an edit from our own work, and a
//! file that cannot be adopted is put aside, never overwritten.

use std::collections::BTreeMap;

use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use team_executor_files::json::{Layout, Writer, parse};

use crate::disk::{Disk, DiskError};
use crate::line::Seq;

/// What was last rendered, file by file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Derived(pub BTreeMap<String, Rendered>);

/// One file as it was rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rendered {
    /// The last record of the journal that is in it.
    pub seq: Seq,
    /// The SHA-256 of its bytes.
    pub sha256: [u8; 32],
}

/// How a file stands to what was last rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is as we left it.
    Unchanged,
    /// A person or a program changed it, or made it.
    Edited,
    /// It is not there.
    Missing,
}

impl Rendered {
    /// What is about to be written.
    pub fn of(bytes: &[u8], seq: Seq) -> Self {
        Self { seq, sha256: Sha256::digest(bytes).into() }
    }
}

impl Derived {
    /// As JSON text on one line.
    pub fn to_text(&self) -> String {
        let mut writer = Writer::new(Layout::Compact);
        writer.begin_object();
        for (name, rendered) in &self.0 {
            writer.key(name);
            writer.begin_object();
            writer.key("seq");
            writer.plain(rendered.seq);
            writer.key("sha256");
            writer.text(&hex(&rendered.sha256));
            writer.end_object();
        }
        writer.end_object();
        writer.finish().trim_end().to_owned()
    }

    /// From JSON text; nothing if it is not what [`Self::to_text`] writes.
    pub fn from_text(text: &str) -> Option<Self> {
        let document = parse(text).ok()?;
        if document.root().kind() != team_executor_files::json::Kind::Object {
            return None;
        }
        let mut derived = BTreeMap::new();
        for entry in document.root().entries() {
            let seq = entry.value.get("seq")?.raw().parse().ok()?;
            let sha256 = unhex(&entry.value.get("sha256")?.as_text()?)?;
            derived.insert(entry.name().into_owned(), Rendered { seq, sha256 });
        }
        Some(Self(derived))
    }
}

/// Compares a file, if it is there, with what was last rendered, if anything was.
pub fn compare(on_disk: Option<&[u8]>, last: Option<&Rendered>) -> Standing {
    match (on_disk, last) {
        (None, _) => Standing::Missing,
        (Some(bytes), Some(last)) if Rendered::of(bytes, last.seq) == *last => Standing::Unchanged,
        (Some(_), _) => Standing::Edited,
    }
}

/// Renames a file to the first free `<name>.edited-N` and gives that name. The rename is durable then.
pub fn set_aside<D: Disk>(disk: &D, name: &str) -> Result<String, DiskError> {
    for number in 1_u64.. {
        let aside = format!("{name}.edited-{number}");
        match disk.rename_new(name, &aside) {
            Ok(()) => {
                disk.sync_folder().map_err(DiskError::when("sync the folder of", &aside))?;
                return Ok(aside);
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(DiskError::when("put aside", name)(errno)),
        }
    }
    Err(DiskError::when("put aside", name)(Errno::EXIST))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real_disk::RealDisk;
    use crate::replace::{Durability, replace};

    #[test]
    fn an_edit_is_told_from_our_own_work() {
        let last = Rendered::of(b"id,title\n", 7);
        assert_eq!(compare(Some(b"id,title\n"), Some(&last)), Standing::Unchanged);
        assert_eq!(compare(Some(b"id,title\r\n"), Some(&last)), Standing::Edited);
        assert_eq!(compare(Some(b""), Some(&last)), Standing::Edited);
        assert_eq!(compare(Some(b"id,title\n"), None), Standing::Edited);
        assert_eq!(compare(None, Some(&last)), Standing::Missing);
        assert_eq!(compare(None, None), Standing::Missing);
    }

    #[test]
    fn the_record_survives_as_text() {
        let mut derived = Derived::default();
        assert_eq!(Derived::from_text(&derived.to_text()), Some(derived.clone()));
        derived.0.insert("tasks.csv".to_owned(), Rendered::of(b"abc", u64::MAX));
        derived.0.insert("odd \"name\"\n".to_owned(), Rendered::of(b"", 1));
        assert_eq!(Derived::from_text(&derived.to_text()), Some(derived.clone()));
        assert!(!derived.to_text().contains('\n'));
        // The SHA-256 of "abc", as FIPS 180 gives it.
        assert!(derived.to_text().contains("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    }

    #[test]
    fn what_is_no_record_is_none() {
        let sha = "0".repeat(64);
        assert!(Derived::from_text(&format!(r#"{{"a":{{"seq":1,"sha256":"{sha}"}}}}"#)).is_some());
        for bad in [
            "",
            "[]",
            "7",
            r#"{"a":1}"#,
            &format!(r#"{{"a":{{"seq":-1,"sha256":"{sha}"}}}}"#),
            &format!(r#"{{"a":{{"sha256":"{sha}"}}}}"#),
            r#"{"a":{"seq":1,"sha256":"00"}}"#,
            &format!(r#"{{"a":{{"seq":1,"sha256":"{}é"}}}}"#, "0".repeat(62)),
        ] {
            assert_eq!(Derived::from_text(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_edited_file_is_put_aside_and_nothing_is_overwritten() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        for nth in 1..=3 {
            let edit = format!("edit {nth}");
            replace(&disk, "tasks.csv", edit.as_bytes(), Durability::Rendered).expect("written");
            assert_eq!(set_aside(&disk, "tasks.csv"), Ok(format!("tasks.csv.edited-{nth}")));
        }
        assert_eq!(disk.read("tasks.csv.edited-1"), Ok(b"edit 1".to_vec()));
        assert_eq!(disk.read("tasks.csv.edited-3"), Ok(b"edit 3".to_vec()));
        assert_eq!(set_aside(&disk, "tasks.csv").map_err(|error| error.errno), Err(Errno::NOENT));
    }
}
