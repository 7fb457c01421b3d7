//! What was delivered is made durable before anybody is told of it: no power cut takes what others build on.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, syncfs};

use crate::exit::Obstacle;

/// Of more files than this it is quicker to sync all of the file systems that they are on.
const SYNCED_SINGLY: usize = 200;

/// Syncs every file below a folder, every folder there, and the folder that it is in. Links are not followed.
pub(crate) fn sync_below(folder: &Path) -> Result<(), Obstacle> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    let mut looked_at = 0;
    while let Some(within) = folders.get(looked_at) {
        looked_at += 1;
        // What is gone in the meantime, or may not be looked into, is not delivered either.
        let found: Vec<_> = fs::read_dir(within).into_iter().flatten().flatten().collect();
        for entry in found {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    folders.extend(folder.parent().map(Path::to_owned));
    sync_all(&files, &folders)
}

/// Syncs files, then the folders that they are in.
pub fn sync_all(files: &[PathBuf], folders: &[PathBuf]) -> Result<(), Obstacle> {
    if files.len() > SYNCED_SINGLY {
        let mut devices = BTreeSet::new();
        let on_another = |folder: &&PathBuf| fs::metadata(folder).is_ok_and(|found| devices.insert(found.dev()));
        let mut one_of_each = folders.iter().filter(on_another);
        return one_of_each.try_for_each(|folder| sync(folder, |folder| Ok(syncfs(folder)?)));
    }
    files.iter().chain(folders).try_for_each(|path| sync(path, File::sync_all))
}

/// Syncs what is at a path, which is not waited for, whatever it is.
fn sync(path: &Path, how: impl Fn(&File) -> io::Result<()>) -> Result<(), Obstacle> {
    use io::ErrorKind::{InvalidInput, NotFound, PermissionDenied, ReadOnlyFilesystem};
    let opened = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
    match opened.and_then(|file| how(&file)) {
        // It is gone, may not be opened, or cannot be synced where it is.
        Err(error) if matches!(error.kind(), NotFound | PermissionDenied | InvalidInput | ReadOnlyFilesystem) => Ok(()),
        synced => synced.map_err(|error| Obstacle::about(path.display(), &error)),
    }
}
