//! At rest the rendered files are the user's. A record of what was last rendered tells an edit from our own work, and an
//! edit is copied before anything is written over it.

use std::collections::BTreeMap;
use std::path::Path;

use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use team_executor_beneath::{How, free, open_file};
use team_executor_files::json::{Kind, Layout, Value, Writer, parse};
use team_executor_files::limits;

use crate::copy::digest;
use crate::disk::{Disk, DiskError};
use crate::replace::place_new;

/// What was last rendered, file by file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Derived {
    /// Which start of the machine the executor ran in that renders; nothing if everything is at rest. Files
    /// are not synced while a run goes on: after a power cut either version may be there.
    pub boot: Option<String>,
    /// The versions that a file may have, newest first: one at rest, two while it is replaced, what is there among them.
    pub files: BTreeMap<String, Vec<Rendered>>,
}

/// One version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rendered {
    /// How long the journal was that it was rendered from.
    pub journal: u64,
    /// The SHA-256 of its bytes.
    pub sha256: [u8; 32],
}

/// How a file stands to what was last rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is as we left it, or we never rendered it.
    Unchanged,
    /// A person or a program changed it.
    Edited,
    /// It is not there.
    Missing,
}

impl Rendered {
    /// What is about to be written.
    pub fn hash(bytes: &[u8], journal: u64) -> Self {
        Self { journal, sha256: Sha256::digest(bytes).into() }
    }
}

impl Derived {
    /// How a file, if it is there, stands to what was rendered.
    pub fn standing(&self, name: &str, on_disk: Option<&[u8]>) -> Standing {
        self.standing_of(name, on_disk.map(|bytes| Sha256::digest(bytes).into()))
    }

    /// The same for what a file says, of which no more is known.
    pub fn standing_as(&self, name: &str, on_disk: Rendered) -> Standing {
        self.standing_of(name, Some(on_disk.sha256))
    }

    /// The same for a file that is read piece by piece.
    pub fn standing_at(&self, name: &str, path: &Path) -> Standing {
        let file = open_file(path, How::ReadAnything).ok();
        if file.as_ref().and_then(|file| file.metadata().ok()).is_some_and(|found| found.len() > limits::TASKS_BYTES) {
            return Standing::Edited; // nothing of ours is so large, and it is not worth reading
        }
        let found = file.and_then(|file| digest(file, |_| Ok(())).ok());
        self.standing_of(name, found.and_then(|(_, sha256)| unhex(&sha256)))
    }

    fn standing_of(&self, name: &str, on_disk: Option<[u8; 32]>) -> Standing {
        let versions = self.versions(name);
        match on_disk {
            None => Standing::Missing,
            Some(_) if versions.is_empty() => Standing::Unchanged,
            Some(sha256) if versions.iter().any(|version| version.sha256 == sha256) => Standing::Unchanged,
            Some(_) => Standing::Edited,
        }
    }

    /// The versions that a file may have.
    pub fn versions(&self, name: &str) -> &[Rendered] {
        self.files.get(name).map_or(&[], Vec::as_slice)
    }

    /// Notes what is about to be written over what is there. That stays if nothing comes of it, however
    /// often, so it is never forgotten; code that overwrites the work of others has kept a copy.
    pub fn next(&mut self, name: &str, rendered: Rendered, there: Option<Rendered>) {
        let there = there.filter(|there| there.sha256 != rendered.sha256);
        let known = |there: Rendered| self.versions(name).iter().copied().find(|known| known.sha256 == there.sha256);
        let there = there.map(|there| known(there).unwrap_or(there));
        self.files.insert(name.to_owned(), [rendered].into_iter().chain(there).collect());
    }

    /// Notes what was written for good.
    pub fn is(&mut self, name: &str, rendered: Rendered) {
        self.files.insert(name.to_owned(), vec![rendered]);
    }

    /// How long the journal must be at least, from which all this was rendered. While a run goes on that counts what only
    /// the system has: nothing is known after the machine was started anew. `boot` is which start of it this is.
    pub fn journal(&self, boot: &str) -> u64 {
        let is_known = self.boot.as_ref().is_none_or(|own| own == boot && !own.is_empty());
        let versions = self.files.values().flatten().filter(|_| is_known);
        versions.map(|version| version.journal).max().unwrap_or(0)
    }

    /// The journal is only so long any more.
    pub fn cut(&mut self, journal: u64) {
        self.files.values_mut().flatten().for_each(|version| version.journal = version.journal.min(journal));
    }

    /// As JSON text on one line.
    pub fn to_text(&self) -> String {
        let mut writer = Writer::new(Layout::Compact);
        writer.begin_object();
        if let Some(boot) = &self.boot {
            writer.key("boot");
            writer.text(boot);
        }
        writer.key("files");
        writer.begin_object();
        for (name, versions) in &self.files {
            writer.key(name);
            writer.begin_array();
            for version in versions {
                writer.begin_object();
                writer.key("journal");
                writer.plain(version.journal);
                writer.key("sha256");
                writer.text(&hex(&version.sha256));
                writer.end_object();
            }
            writer.end_array();
        }
        writer.end_object();
        writer.end_object();
        writer.finish().trim_end().to_owned()
    }

    /// From JSON text; nothing if it is not what [`Self::to_text`] writes.
    pub fn from_text(text: &str) -> Option<Self> {
        let document = parse(text).ok()?;
        let boot = document.root().get("boot").and_then(Value::as_text).map(|boot| boot.into_owned());
        let files = document.root().get("files").filter(|files| files.kind() == Kind::Object)?;
        let version = |value: Value<'_, '_>| {
            let journal = value.get("journal")?.raw().parse().ok()?;
            Some(Rendered { journal, sha256: unhex(&value.get("sha256")?.as_text()?)? })
        };
        let versions = |value: Value<'_, '_>| value.items().map(version).collect::<Option<Vec<_>>>();
        let files = files.entries().map(|entry| Some((entry.name().into_owned(), versions(entry.value)?)));
        Some(Self { boot, files: files.collect::<Option<_>>()? })
    }
}

/// The SHA-256 of some bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Puts a copy of a file that is about to be written over at the first free `<name>.edited-N`, for good, and gives that
/// name. A copy that is there already is used again. What has the name is whole: without room for it there is none.
pub fn keep_copy<D: Disk>(disk: &D, name: &str, bytes: &[u8]) -> Result<String, DiskError> {
    let copied = free::numbered(&format!("{name}.edited"), |copy| match disk.read(copy) {
        Ok(there) if there == bytes => Ok(Some(())),
        Err(Errno::NOENT) => match place_new(disk, copy, bytes) {
            Err(DiskError { errno: Errno::EXIST, .. }) => Ok(None),
            placed => placed.map(Some),
        },
        _ => Ok(None),
    });
    copied.map(|(copy, ())| copy)
}

/// Gives a file that is in the way the first free name `<name>.aside-N`, and says which; nothing if it is not there.
pub fn set_aside<D: Disk>(disk: &D, name: &str) -> Result<Option<String>, DiskError> {
    match free::numbered(&format!("{name}.aside"), |aside| free::unless_taken(disk.rename_new(name, aside))) {
        Ok((aside, ())) => Ok(Some(aside)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(DiskError::when("put aside", name)(errno)),
    }
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
    use crate::sim_disk::SimDisk;
    use crate::sim_fault::{Fault, Lies, Strike};

    fn derived(versions: &[&[u8]]) -> Derived {
        let mut derived = Derived::default();
        let mut there = None;
        for bytes in versions {
            derived.next("tasks.csv", Rendered::hash(bytes, 7), there);
            there = Some(Rendered::hash(bytes, 7));
        }
        derived
    }

    #[test]
    fn edit_differs_from_our_own_work() {
        let standing = |on_disk| derived(&[b"oldest", b"old", b"new"]).standing("tasks.csv", on_disk);
        assert_eq!(standing(Some(b"new")), Standing::Unchanged);
        assert_eq!(standing(Some(b"old")), Standing::Unchanged, "it was not replaced yet");
        assert_eq!(standing(Some(b"oldest")), Standing::Edited);
        assert_eq!(standing(Some(b"")), Standing::Edited);
        assert_eq!(standing(None), Standing::Missing);
        assert_eq!(Derived::default().standing("tasks.csv", Some(b"x")), Standing::Unchanged);
        let mut at_rest = derived(&[b"old", b"new"]);
        at_rest.is("tasks.csv", Rendered::hash(b"new", 8));
        assert_eq!(at_rest.standing("tasks.csv", Some(b"old")), Standing::Edited);
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("tasks.csv");
        assert_eq!(at_rest.standing_at("tasks.csv", &path), Standing::Missing);
        for (text, standing) in [("new", Standing::Unchanged), ("old", Standing::Edited)] {
            std::fs::write(&path, text).expect("written");
            assert_eq!(at_rest.standing_at("tasks.csv", &path), standing);
        }
        std::fs::File::create(&path).and_then(|file| file.set_len(15 << 40)).expect("a hole");
        assert_eq!(at_rest.standing_at("tasks.csv", &path), Standing::Edited);
    }

    #[test]
    fn unreplaced_file_stays_known() {
        let mut derived = Derived::default();
        derived.is("tasks.csv", Rendered::hash(b"there", 7));
        for nth in 8..20 {
            derived.next("tasks.csv", Rendered::hash(&[nth], nth.into()), Some(Rendered::hash(b"there", nth.into())));
            assert_eq!(derived.standing("tasks.csv", Some(b"there")), Standing::Unchanged);
            assert_eq!(
                derived.versions("tasks.csv"),
                [Rendered::hash(&[nth], nth.into()), Rendered::hash(b"there", 7)]
            );
        }
        derived.next("tasks.csv", Rendered::hash(b"new", 20), Some(Rendered::hash(b"by others, and copied", 20)));
        assert_eq!(derived.standing("tasks.csv", Some(b"by others, and copied")), Standing::Unchanged);
        assert_eq!(derived.standing("tasks.csv", Some(b"there")), Standing::Edited);
        derived.next("tasks.csv", Rendered::hash(b"new", 21), Some(Rendered::hash(b"new", 21)));
        assert_eq!(derived.versions("tasks.csv"), [Rendered::hash(b"new", 21)]);
    }

    #[test]
    fn shorter_journal_is_damage_unless_after_a_power_cut() {
        let mut derived = Derived::default();
        assert_eq!(derived.journal("this"), 0);
        derived.is("tasks.csv", Rendered::hash(b"old", 7));
        derived.next("tasks.csv", Rendered::hash(b"new", 9), Some(Rendered::hash(b"old", 9)));
        for (boot, length) in [(None, 9), (Some("this"), 9), (Some("earlier"), 0), (Some(""), 0)] {
            derived.boot = boot.map(str::to_owned);
            assert_eq!(derived.journal("this"), length, "{boot:?}");
        }
        assert_eq!(derived.journal(""), 0);
        derived.boot = None;
        derived.cut(8);
        assert_eq!(derived.journal("this"), 8);
    }

    #[test]
    fn the_record_survives_as_text() {
        let mut derived = derived(&[]);
        assert_eq!(Derived::from_text(&derived.to_text()), Some(derived.clone()));
        derived.boot = Some("a \"boot\"\n".to_owned());
        derived.next("tasks.csv", Rendered::hash(b"abc", u64::MAX), None);
        derived.next("tasks.csv", Rendered::hash(b"abd", 1), Some(Rendered::hash(b"abc", 1)));
        derived.next("odd \"name\"\n", Rendered::hash(b"", 1), None);
        assert_eq!(Derived::from_text(&derived.to_text()), Some(derived.clone()));
        assert!(!derived.to_text().contains('\n'));
        // The SHA-256 of "abc", as FIPS 180 gives it.
        assert!(derived.to_text().contains("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    }

    #[test]
    fn invalid_derived_record_is_ignored() {
        let sha = "0".repeat(64);
        let of = |versions: &str| Derived::from_text(&format!(r#"{{"files":{{"a":{versions}}}}}"#));
        assert!(of(&format!(r#"[{{"journal":1,"sha256":"{sha}"}}]"#)).is_some());
        for bad in [
            &format!(r#"[{{"journal":-1,"sha256":"{sha}"}}]"#),
            &format!(r#"[{{"sha256":"{sha}"}}]"#),
            r#"[{"journal":1,"sha256":"00"}]"#,
            &format!(r#"[{{"journal":1,"sha256":"{}é"}}]"#, "0".repeat(62)),
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
        for bad in ["", "[]", "7", "{}", r#"{"files":1}"#] {
            assert_eq!(Derived::from_text(bad), None, "{bad}");
        }
    }

    #[test]
    fn each_edit_is_copied_once_and_nothing_is_overwritten() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        for (edit, copy) in [("one", 1), ("two", 2), ("one", 1), ("three", 3)] {
            assert_eq!(keep_copy(&disk, "tasks.csv", edit.as_bytes()), Ok(format!("tasks.csv.edited-{copy}")));
        }
        assert_eq!(disk.read("tasks.csv.edited-1"), Ok(b"one".to_vec()));
        assert_eq!(disk.list().map(|names| names.len()), Ok(3));
    }

    #[test]
    fn a_copy_is_whole_or_is_not_there() {
        let strike = |at, fault| {
            let disk = SimDisk::new(at, Lies::default());
            disk.plan(Some(Strike { at, fault, sticky: false }));
            let kept = keep_copy(&disk, "tasks.csv", b"mine");
            disk.plan(None);
            (disk, kept)
        };
        let operations = strike(u64::MAX, Fault::Io).0.operations();
        assert!(operations > 4, "{operations}");
        // The first of them looks for a copy that is there.
        for at in 1..operations {
            for fault in [Fault::Full, Fault::Io] {
                let (disk, kept) = strike(at, fault);
                let there = disk.read("tasks.csv.edited-1").ok();
                assert!(there.as_deref().is_none_or(|bytes| bytes == b"mine"), "{fault:?} at {at}: {there:?}");
                assert!(kept.is_err() || there.is_some(), "{fault:?} at {at}");
                assert_eq!(
                    keep_copy(&disk, "tasks.csv", b"mine").as_deref(),
                    Ok("tasks.csv.edited-1"),
                    "{fault:?} {at}"
                );
                assert_eq!(disk.list(), Ok(vec!["tasks.csv.edited-1".to_owned()]), "{fault:?} at {at}");
            }
        }
    }

    #[test]
    fn obstacle_is_put_aside() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let disk = RealDisk::open_folder(dir.path()).expect("the folder opens");
        for nth in 1..=2 {
            disk.create("A.json").expect("a file");
            assert_eq!(set_aside(&disk, "A.json"), Ok(Some(format!("A.json.aside-{nth}"))));
        }
        assert_eq!(set_aside(&disk, "A.json"), Ok(None));
    }
}
