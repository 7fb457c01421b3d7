//! Files on their way to another machine: each by its path below a folder, small ones within the message, others by what they
//! contain. Links and other odd things stay behind.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{FileType, Mode, fchmod, fstat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use team_executor_agents::durable::sync_all;
use team_executor_beneath::{Dir, How, io_error, make_ours, open_ours};

/// A file that is no longer travels within the message.
const WITHIN: u64 = 16 << 10;
/// As much as travels within one message.
const ALL_WITHIN: u64 = 192 << 10;
/// How much is read at once.
const PIECE: usize = 128 << 10;

/// Files, by their paths below a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parcel {
    pub(crate) files: Vec<Item>,
    /// What was there and stayed behind: links and other things that are no files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left: Vec<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    /// Below the folder, with slashes.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_program: bool,
    /// Its content, if it is small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
}

impl Parcel {
    /// Packs what is at these paths below a folder: files, and folders with all that is in them. What is missing is left out.
    pub(crate) fn pack(root: &Path, paths: &[String]) -> io::Result<Self> {
        let dir = open_ours(root)?;
        let (mut parcel, mut within) = (Self::default(), 0);
        let mut open: Vec<String> = paths.to_vec();
        while let Some(path) = open.pop() {
            let found = match dir.stat(&path) {
                Err(Errno::NOENT | Errno::NOTDIR) => continue,
                found => found.map_err(io_error)?,
            };
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory => {
                    let names = dir.dir(&path).and_then(|folder| folder.list()).map_err(io_error)?;
                    open.extend(names.into_iter().map(|name| format!("{path}/{name}")));
                }
                FileType::RegularFile => parcel.files.push(Item::read(&dir, path, &mut within)?),
                _ => parcel.left.push(path),
            }
        }
        parcel.files.sort_by(|one, other| one.path.cmp(&other.path));
        parcel.files.dedup_by(|one, other| one.path == other.path);
        Ok(parcel)
    }

    /// Those that do not travel within the message.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = &Item> {
        self.files.iter().filter(|item| item.content.is_none())
    }
}

impl Item {
    fn read(dir: &Dir, path: String, within: &mut u64) -> io::Result<Self> {
        let mut file = dir.file(&path, How::Read).map_err(io_error)?;
        let found = fstat(&file)?;
        let (mut hash, mut bytes, mut content) = (Sha256::new(), 0, Vec::new());
        let mut buffer = vec![0; PIECE];
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            hash.update(&buffer[..count]);
            bytes += count as u64;
            if bytes <= WITHIN {
                content.extend_from_slice(&buffer[..count]);
            }
        }
        let fits = bytes <= WITHIN && *within + bytes <= ALL_WITHIN;
        *within += if fits { bytes } else { 0 };
        let is_program = Mode::from_raw_mode(found.st_mode).contains(Mode::XUSR);
        let content = fits.then(|| STANDARD.encode(&content));
        Ok(Self { path, bytes, sha256: hex(&hash.finalize()), is_program, content })
    }

    /// What it contains, if it came with the message and is what it says.
    pub(crate) fn content(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(content) = &self.content else { return Ok(None) };
        let bytes = STANDARD.decode(content).map_err(io::Error::other)?;
        if digest(&bytes) == self.sha256 { Ok(Some(bytes)) } else { Err(damaged(&self.path)) }
    }

    /// Whether the file is below a folder already.
    pub(crate) fn is_in(&self, dir: &Dir) -> bool {
        if dir.length(&self.path) != Some(self.bytes) {
            return false;
        }
        let read = dir.file(&self.path, How::Read).map_err(io_error).and_then(|mut file| {
            let (mut hash, mut buffer) = (Sha256::new(), vec![0; PIECE]);
            loop {
                match file.read(&mut buffer)? {
                    0 => return Ok(hex(&hash.finalize())),
                    count => hash.update(&buffer[..count]),
                }
            }
        });
        read.is_ok_and(|sha256| sha256 == self.sha256)
    }
}

/// A file that is being received, whole or not there.
#[derive(Debug)]
pub(crate) struct Arriving {
    folder: Dir,
    name: String,
    temporary: String,
    file: File,
    hash: Sha256,
    sha256: String,
}

impl Arriving {
    /// Begins to put an item below a folder.
    pub(crate) fn begin(root: &Path, item: &Item, nonce: &str) -> io::Result<Self> {
        let (within, name) = item.path.rsplit_once('/').unwrap_or(("", &item.path));
        if name.is_empty() || item.path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} is no path below a folder", item.path),
            ));
        }
        // A worker may have put a link there.
        let folder = make_ours(root)?.make_dir(within).map_err(io_error)?;
        let temporary = format!(".{name}.{nonce}");
        let _left_by_one_that_was_cut = folder.remove(&temporary);
        let file = folder.file(&temporary, How::CreateNew).map_err(io_error)?;
        if item.is_program {
            fchmod(&file, Mode::RWXU)?;
        }
        let sha256 = item.sha256.clone();
        Ok(Self { name: name.to_owned(), folder, temporary, file, hash: Sha256::new(), sha256 })
    }

    /// More of it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.file.write_all(bytes)
    }

    /// All of it is there: it takes the place of what has its name, if it is what it should be.
    pub(crate) fn finish(self) -> io::Result<()> {
        if hex(&self.hash.finalize()) != self.sha256 {
            let _gone_either_way = self.folder.remove(&self.temporary);
            return Err(damaged(&self.name));
        }
        self.folder.rename(&self.temporary, &self.name).map_err(io_error)
    }
}

/// Makes files below a folder durable, with the folders that they are in.
pub(crate) fn sync(root: &Path, parcel: &Parcel) -> io::Result<()> {
    let files: Vec<String> = parcel.files.iter().map(|item| item.path.clone()).collect();
    let mut folders: Vec<String> = vec![".".to_owned()];
    for path in &files {
        let above = path.match_indices('/').map(|(at, _)| path[..at].to_owned());
        folders.extend(above);
    }
    folders.sort();
    folders.dedup();
    sync_all(&open_ours(root)?, &files, &folders).map_err(|obstacle| io::Error::other(obstacle.reason))
}

/// What bytes are called.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn damaged(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{path} did not arrive as it was sent"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn unpack(parcel: &Parcel, root: &Path) -> io::Result<()> {
        for item in &parcel.files {
            let mut arriving = Arriving::begin(root, item, "1")?;
            arriving.write(&item.content()?.unwrap())?;
            arriving.finish()?;
        }
        sync(root, parcel)
    }

    #[test]
    fn packed_files_arrive_as_they_were() {
        let [from, to] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        fs::create_dir_all(from.path().join("a/deep/er")).unwrap();
        fs::write(from.path().join("a/deep/er/x"), "text").unwrap();
        fs::write(from.path().join("a/run.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(from.path().join("a/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(from.path().join("b"), "").unwrap();
        fs::write(from.path().join("not packed"), "").unwrap();
        symlink("/etc/passwd", from.path().join("a/link")).unwrap();
        let parcel = Parcel::pack(from.path(), &["a".to_owned(), "b".to_owned(), "missing/x".to_owned()]).unwrap();
        let paths: Vec<_> = parcel.files.iter().map(|item| item.path.as_str()).collect();
        assert_eq!(paths, ["a/deep/er/x", "a/run.sh", "b"]);
        assert_eq!(parcel.left, ["a/link"], "a link is never followed");
        unpack(&parcel, to.path()).unwrap();
        assert_eq!(fs::read_to_string(to.path().join("a/deep/er/x")).unwrap(), "text");
        assert_eq!(fs::metadata(to.path().join("a/run.sh")).unwrap().permissions().mode() & 0o100, 0o100);
        let dir = open_ours(to.path()).unwrap();
        assert!(parcel.files.iter().all(|item| item.is_in(&dir)));
        fs::write(to.path().join("b"), "!").unwrap();
        assert!(!parcel.files[2].is_in(&dir));
        assert_eq!(fs::read_dir(to.path().join("a/deep/er")).unwrap().count(), 1, "nothing unfinished is left");
    }

    #[test]
    fn large_file_does_not_travel_within_the_message() {
        let from = tempfile::tempdir().unwrap();
        fs::write(from.path().join("big"), vec![7; 300_000]).unwrap();
        (0..20).for_each(|nth| fs::write(from.path().join(format!("m{nth:02}")), vec![nth; 16_000]).unwrap());
        let paths = fs::read_dir(from.path()).unwrap();
        let paths: Vec<_> = paths.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let parcel = Parcel::pack(from.path(), &paths).unwrap();
        assert_eq!(parcel.files.len(), 21);
        assert!(parcel.files[0].content.is_none() && parcel.files[0].bytes == 300_000);
        let within: u64 = parcel.files.iter().filter(|item| item.content.is_some()).map(|item| item.bytes).sum();
        assert!(within <= ALL_WITHIN && parcel.blobs().count() > 1);
    }

    #[test]
    fn damaged_or_escaping_file_is_refused() {
        let to = tempfile::tempdir().unwrap();
        let item = |path: &str, sha256: String| Item {
            path: path.to_owned(),
            bytes: 1,
            sha256,
            is_program: false,
            content: Some(STANDARD.encode("x")),
        };
        let wrong = Parcel { files: vec![item("a/x", digest(b"y"))], left: Vec::new() };
        assert_eq!(unpack(&wrong, to.path()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let mut cut = Arriving::begin(to.path(), &item("a/x", digest(b"xy")), "1").unwrap();
        cut.write(b"x").unwrap();
        assert!(cut.finish().is_err());
        assert_eq!(fs::read_dir(to.path().join("a")).unwrap().count(), 0);
        for path in ["../x", "/x", "a/../../x", "", "a//b", "."] {
            let escaping = Parcel { files: vec![item(path, digest(b"x"))], left: Vec::new() };
            assert!(unpack(&escaping, to.path()).is_err(), "{path}");
        }
        std::os::unix::fs::symlink("/tmp", to.path().join("out")).unwrap();
        assert!(unpack(&Parcel { files: vec![item("out/x", digest(b"x"))], left: vec![] }, to.path()).is_err());
    }
}
