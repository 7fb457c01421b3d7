//! Where workers find their prompts: one file per slot, which the next worker's prompt replaces when no process of the last
//! one is left. A new file per attempt would cost more than everything else that we do for a short task; what an attempt
//! was told follows from the journal and the session, and `team-executor prompt` shows it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;
use team_executor_store::run_folder::below_folder;

/// So many descriptors are left for views, results and requests when another slot is used for the first time.
const SPARE: usize = 16;

/// The prompts of all slots.
#[derive(Debug)]
pub(crate) struct Prompts {
    folder: PathBuf,
    /// The folder, open.
    opened: File,
    files: BTreeMap<usize, Prompt>,
}

/// A file of ours, and which one it is.
#[derive(Debug)]
struct Prompt {
    file: File,
    identity: (u64, u64),
}

impl Prompts {
    /// None yet; they are in this folder.
    pub(crate) fn new(folder: PathBuf) -> io::Result<Self> {
        let opened = File::open(&folder)?;
        Ok(Self { folder, opened, files: BTreeMap::new() })
    }

    /// Writes the prompt for a slot that is free, and says where it is, and whether the file is a new one.
    pub(crate) fn write(&mut self, slot: usize, text: &str) -> io::Result<(PathBuf, bool)> {
        let name = format!("slot-{slot}.prompt.md");
        let path = below_folder(&self.folder, &[&name]);
        let ours = self.files.remove(&slot);
        let before = ours.as_ref().map_or(Ok(None), |prompt| prompt.length_in(&self.opened, &name))?;
        let (prompt, before, is_new) = match ours.zip(before) {
            Some((prompt, before)) => (prompt, before, false),
            None => {
                self.must_leave_spare()?;
                (Prompt::create(&path)?, 0, true)
            }
        };
        prompt.file.write_all_at(text.as_bytes(), 0)?;
        let length = text.len() as u64;
        if before > length {
            prompt.file.set_len(length)?;
        }
        self.files.insert(slot, prompt);
        Ok((path, is_new))
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
    fn create(path: &Path) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => put_aside(path)?,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        let identity = identity(&file.metadata()?);
        Ok(Self { file, identity })
    }

    /// How long the file is, if it is the one of that name. A worker may have put another one there.
    fn length_in(&self, folder: &File, name: &str) -> io::Result<Option<u64>> {
        match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) if (there.st_dev, there.st_ino) == self.identity => Ok(u64::try_from(there.st_size).ok()),
            Ok(_) | Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Gives a folder that a worker made in the place of its prompt another name.
fn put_aside(path: &Path) -> io::Result<()> {
    let names = (1_u32..).map(|number| path.with_extension(format!("aside-{number}")));
    let free = names.into_iter().find(|name| fs::symlink_metadata(name).is_err());
    free.map_or(Ok(()), |name| fs::rename(path, name))
}

fn identity(file: &fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_prompt_is_whole_and_in_the_place_of_the_last_one() {
        let dir = tempfile::tempdir().unwrap();
        let mut prompts = Prompts::new(dir.path().to_owned()).unwrap();
        for text in ["first and long", "short", "", "longer again"] {
            let (path, is_new) = prompts.write(1, text).unwrap();
            assert_eq!(is_new, text.starts_with("first"));
            assert_eq!(fs::read_to_string(path).unwrap(), text);
        }
        prompts.write(0, "another slot").unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        // Another executor takes over.
        let (path, _) = Prompts::new(dir.path().to_owned()).unwrap().write(1, "new").unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "new");
    }

    #[test]
    fn what_a_worker_put_in_the_place_of_its_prompt_is_not_given_to_the_next_one_nor_written_through() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("p")).unwrap();
        let mut prompts = Prompts::new(dir.path().join("p")).unwrap();
        let (path, _) = prompts.write(0, "one").unwrap();
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
        assert!(path.with_extension("aside-1").join("full").is_dir());
    }
}
