//! Makes deliveries durable before anything builds on them: no power cut can lose them.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FileType, fstat, fsync, syncfs};
use rustix::io::{Errno, retry_on_intr};
use team_executor_beneath::{Dir, How, io_error, open_ours};

use crate::exit::Obstacle;

/// Of more files than this it is quicker to sync all of the file systems that they are on.
const SYNCED_SINGLY: usize = 200;

/// Syncs every file below a folder, every folder there, and the folder that it is in. Links are not followed.
pub(crate) fn sync_below(folder: &Path) -> Result<(), Obstacle> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name().and_then(|name| name.to_str())) else {
        return Ok(());
    };
    let root = open_ours(parent).map_err(|error| Obstacle::about(parent.display(), &error))?;
    let (mut files, mut folders) = (Vec::new(), vec![name.to_owned()]);
    let mut looked_at = 0;
    while let Some(within) = folders.get(looked_at).cloned() {
        looked_at += 1;
        // Files that are gone by now, or may not be read, do not count as delivered.
        let Ok(dir) = root.dir(&within) else { continue };
        for name in dir.list().unwrap_or_default() {
            match dir.stat(&name).map(|found| FileType::from_raw_mode(found.st_mode)) {
                Ok(FileType::Directory) => folders.push(format!("{within}/{name}")),
                Ok(FileType::RegularFile) => files.push(format!("{within}/{name}")),
                _ => {}
            }
        }
    }
    folders.push(".".to_owned());
    sync_all(&root, &files, &folders)
}

/// Syncs files below a folder, then the folders that they are in.
pub fn sync_all(root: &Dir, files: &[String], folders: &[String]) -> Result<(), Obstacle> {
    let folder = |path: &str| root.dir_inside(path);
    if files.len() > SYNCED_SINGLY {
        let mut devices = BTreeSet::new();
        let on_another = |path: &&String| {
            let found = folder(path).and_then(|folder| fstat(&folder));
            found.is_ok_and(|found| devices.insert(found.st_dev))
        };
        let mut one_of_each = folders.iter().filter(on_another);
        return one_of_each.try_for_each(|path| sync(root, path, folder, |folder| syncfs(folder)));
    }
    let file = |path: &str| root.file_inside(path, How::ReadAnything);
    files.iter().try_for_each(|path| sync(root, path, file, |file| fsync(file)))?;
    folders.iter().try_for_each(|path| sync(root, path, folder, |folder| fsync(folder)))
}

fn sync<T: AsFd>(
    root: &Dir,
    path: &str,
    open: impl Fn(&str) -> Result<T, Errno>,
    sync: impl Fn(&T) -> Result<(), Errno>,
) -> Result<(), Obstacle> {
    match open(path).and_then(|opened| retry_on_intr(|| sync(&opened))) {
        // It is gone or another thing, may not be opened, or cannot be synced where it is.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => Ok(()),
        Err(Errno::ACCESS | Errno::PERM | Errno::INVAL | Errno::ROFS) => Ok(()),
        synced => synced.map_err(|errno| Obstacle::about(root.whole(path).display(), &io_error(errno))),
    }
}
