//! Many files in one folder, by their paths: the folder is opened once.

use std::io;
use std::path::Path;

use crate::{Dir, open_ours};

/// The folder of the last file, held open. It stays the same folder even if a worker puts a link in its place.
#[derive(Debug, Default)]
pub struct Near(Option<Dir>);

impl Near {
    /// Opens the folder that a file is in, unless it is the last one.
    pub fn folder_of(&mut self, path: &Path) -> io::Result<&Dir> {
        let parent = path.parent().unwrap_or(Path::new(""));
        match &mut self.0 {
            Some(known) if known.path() == parent => {}
            known => *known = Some(open_ours(parent)?.at(parent)),
        }
        self.0.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::How;

    #[test]
    fn folder_replaced_by_a_link_stays_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let logs = dir.path().join(".workflow/logs");
        std::fs::create_dir_all(&logs).unwrap();
        std::fs::create_dir(dir.path().join("outside")).unwrap();
        let mut near = Near::default();
        near.folder_of(&logs.join("a")).unwrap();
        std::fs::rename(&logs, dir.path().join(".workflow/moved")).unwrap();
        symlink("../outside", &logs).unwrap();
        near.folder_of(&logs.join("b")).unwrap().file("b", How::Append).unwrap();
        assert!(dir.path().join(".workflow/moved/b").is_file() && !dir.path().join("outside/b").exists());
        assert!(Near::default().folder_of(&logs.join("c")).is_err());
    }
}
