//! Where workers find their prompts: one file per slot, which the next worker's prompt replaces when no process of the last
//! one is left. A new file per attempt would cost more than everything else that we do for a short task; what an attempt
//! was told follows from the journal and the session, and `team-executor prompt` shows it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;
use rustix::io::Errno;
use team_executor_beneath::{Dir, io_error, open_ours};
use team_executor_store::run_folder::below_folder;

/// So many descriptors are left for views, results and requests when another slot is used for the first time.
const SPARE: usize = 16;

/// The prompts of all slots.
#[derive(Debug)]
pub(crate) struct Prompts {
    /// The folder, open.
    opened: Dir,
    files: BTreeMap<usize, Prompt>,
}

/// Where the worker in a slot finds its prompt, in the folder of all.
pub(crate) fn path(folder: &Path, slot: usize) -> PathBuf {
    below_folder(folder, &[&name(slot)])
}

fn name(slot: usize) -> String {
    format!("slot-{slot}.prompt.md")
}

/// A file of ours, and which one it is.
#[derive(Debug)]
struct Prompt {
    file: File,
    identity: (u64, u64),
}

impl Prompts {
    /// None yet; they are in this folder.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self { opened: open_ours(folder)?, files: BTreeMap::new() })
    }

    /// Writes the prompt for a slot that is free to its [`path`].
    pub(crate) fn write(&mut self, slot: usize, text: &str) -> io::Result<()> {
        let name = name(slot);
        let ours = self.files.remove(&slot);
        let before = ours.as_ref().map_or(Ok(None), |prompt| prompt.length_in(&self.opened, &name))?;
        let (prompt, before) = match ours.zip(before) {
            Some((prompt, before)) => (prompt, before),
            None => {
                self.must_leave_spare()?;
                (Prompt::create(&self.opened, &name).map_err(io_error)?, 0)
            }
        };
        prompt.file.write_all_at(text.as_bytes(), 0)?;
        let length = text.len() as u64;
        if before > length {
            prompt.file.set_len(length)?;
        }
        self.files.insert(slot, prompt);
        Ok(())
    }
}

impl Prompts {
    /// Fails where one more slot would leave too few descriptors for everything else.
    fn must_leave_spare(&self) -> io::Result<()> {
        let Some(prompt) = self.files.values().next() else { return Ok(()) };
        (0..SPARE).map(|_| prompt.file.try_clone()).collect::<io::Result<Vec<File>>>().map(drop)
    }
}

impl Prompt {
    /// A new file that only the user can read, in the place of what is there.
    fn create(folder: &Dir, name: &str) -> Result<Self, Errno> {
        // The prompt of an earlier executor goes; a folder that a worker made in its place gets another name.
        match folder.remove(name) {
            Ok(()) | Err(Errno::NOENT | Errno::ISDIR) => {}
            Err(errno) => return Err(errno),
        }
        let file = folder.create_or_set_aside(name)?;
        let found = fstat(&file)?;
        Ok(Self { file, identity: (found.st_dev, found.st_ino) })
    }

    /// How long the file is, if it is the one of that name. A worker may have put another one there.
    fn length_in(&self, folder: &Dir, name: &str) -> io::Result<Option<u64>> {
        match folder.stat(name) {
            Ok(there) if (there.st_dev, there.st_ino) == self.identity => Ok(u64::try_from(there.st_size).ok()),
            Ok(_) | Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_prompt_is_whole_and_in_the_place_of_the_last_one() {
        let dir = tempfile::tempdir().unwrap();
        let mut prompts = Prompts::new(dir.path()).unwrap();
        for text in ["first and long", "short", "", "longer again"] {
            prompts.write(1, text).unwrap();
            assert_eq!(fs::read_to_string(path(dir.path(), 1)).unwrap(), text);
        }
        prompts.write(0, "another slot").unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        // Another executor takes over.
        Prompts::new(dir.path()).unwrap().write(1, "new").unwrap();
        assert_eq!(fs::read_to_string(path(dir.path(), 1)).unwrap(), "new");
    }

    #[test]
    fn replaced_prompt_is_not_reused_or_written_through() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("p")).unwrap();
        let mut prompts = Prompts::new(&dir.path().join("p")).unwrap();
        prompts.write(0, "one").unwrap();
        let path = path(&dir.path().join("p"), 0);
        let target = dir.path().join("precious");
        fs::write(&target, "mine").unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        prompts.write(0, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
        fs::rename(&path, dir.path().join("away")).unwrap();
        fs::write(&path, "forged").unwrap();
        prompts.write(0, "three").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        fs::remove_file(&path).unwrap();
        fs::create_dir_all(path.join("full")).unwrap();
        prompts.write(0, "four").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "four");
        assert!(path.with_extension("md.aside-1").join("full").is_dir());
    }
}
