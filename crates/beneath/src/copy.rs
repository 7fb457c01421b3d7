//! A copy of a folder with all that is in it. A later change of one is none of the other.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use rustix::fs::{FileType, Mode, SeekFrom, fchmod, fstat, ioctl_ficlone, seek};
use rustix::io::{Errno, retry_on_intr};

use crate::{Dir, How};

impl Dir {
    /// Copies a folder to a name in another one; `EXIST` if there is anything of that name. Links, pipes and files that may not
    /// be read are left out. The copy is not durable yet.
    pub fn copy_all(&self, from: &str, into: &Self, to: &str) -> Result<(), Errno> {
        into.make_new_dir(to)?;
        // Paths below both folders, those of outer folders first.
        let mut folders = vec![String::new()];
        let mut looked_at = 0;
        while let Some(below) = folders.get(looked_at).cloned() {
            looked_at += 1;
            let (source, target) = (self.dir(&format!("{from}{below}"))?, into.dir(&format!("{to}{below}"))?);
            for name in source.list()? {
                match source.stat(&name).map(|found| FileType::from_raw_mode(found.st_mode))? {
                    FileType::Directory => {
                        target.make_new_dir(&name)?;
                        folders.push(format!("{below}/{name}"));
                    }
                    FileType::RegularFile => match source.file(&name, How::ReadAnything) {
                        Err(Errno::ACCESS | Errno::PERM) => {}
                        opened => copy(&mut opened?, &mut target.file(&name, How::CreateNew)?)?,
                    },
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Copies the bytes of a file and who may use it. The bytes are shared where the file system can do that.
fn copy(source: &mut File, target: &mut File) -> Result<(), Errno> {
    let found = fstat(&*source)?;
    if ioctl_ficlone(&*target, &*source).is_err() {
        copy_data(source, target, u64::try_from(found.st_size).unwrap_or(0))?;
    }
    retry_on_intr(|| fchmod(&*target, Mode::from_raw_mode(found.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO)))
}

/// Copies the data of a file. Holes stay holes: a file of them could fill the disk.
fn copy_data(source: &mut File, target: &mut File, size: u64) -> Result<(), Errno> {
    let failed = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let mut at = 0;
    while at < size {
        let begin = match seek(&*source, SeekFrom::Data(at)) {
            Err(Errno::NXIO) => break, // nothing but holes
            begin => begin?,
        };
        let end = seek(&*source, SeekFrom::Hole(begin))?;
        for file in [&mut *source, &mut *target] {
            file.seek(io::SeekFrom::Start(begin)).map_err(failed)?;
        }
        io::copy(&mut source.take(end.saturating_sub(begin)), target).map_err(failed)?;
        at = end.max(begin + 1);
    }
    target.set_len(size).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn copy_has_all_files_and_shares_no_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("a/sub/deep")).unwrap();
        fs::create_dir(path("a/empty")).unwrap();
        fs::write(path("a/one"), "one").unwrap();
        fs::write(path("a/sub/deep/tool"), "#!/bin/sh").unwrap();
        fs::set_permissions(path("a/sub/deep/tool"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink("/etc/passwd", path("a/link")).unwrap();
        symlink("/etc", path("a/sub/link")).unwrap();
        let folder = Dir::open(dir.path()).unwrap();
        folder.copy_all("a", &folder, "b").unwrap();
        fs::write(path("a/one"), "changed").unwrap();
        assert_eq!(fs::read_to_string(path("b/one")).unwrap(), "one");
        assert_eq!(fs::read_to_string(path("b/sub/deep/tool")).unwrap(), "#!/bin/sh");
        assert_eq!(fs::metadata(path("b/sub/deep/tool")).unwrap().permissions().mode() & 0o777, 0o750);
        assert!(path("b/empty").is_dir());
        assert!(!folder.has("b/link") && !folder.has("b/sub/link"), "links are left out");
        assert_eq!(folder.copy_all("a", &folder, "b"), Err(Errno::EXIST));
        assert_eq!(folder.copy_all("sub", &folder, "c"), Err(Errno::NOENT));
    }

    #[test]
    fn holes_of_a_file_stay_holes() {
        const SIZE: u64 = 1 << 30;
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        let mut file = File::create(dir.path().join("a/x")).unwrap();
        for (at, text) in [(0, "begin"), (SIZE / 2, "middle")] {
            file.seek(io::SeekFrom::Start(at)).unwrap();
            io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        }
        file.set_len(SIZE).unwrap();
        let folder = Dir::open(dir.path()).unwrap();
        folder.copy_all("a", &folder, "b").unwrap();
        let mut copied = File::open(dir.path().join("b/x")).unwrap();
        let found = copied.metadata().unwrap();
        assert_eq!(found.len(), SIZE);
        assert!(found.blocks() * 512 < SIZE / 100, "{} blocks", found.blocks());
        for (at, text) in [(0, "begin"), (SIZE / 2, "middle")] {
            let mut bytes = vec![0; text.len()];
            copied.seek(io::SeekFrom::Start(at)).and_then(|_| copied.read_exact(&mut bytes)).unwrap();
            assert_eq!(bytes, text.as_bytes());
        }
    }
}
