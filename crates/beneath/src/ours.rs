//! Folders and files of a run by their paths. Which project it is, is the user's choice, and the path to it may lead through
//! links. A cloned project may bring anything below `.workflow`, so no link is followed there.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::Stat;
use rustix::io::Errno;

use crate::dir::{open_chosen, read_all};
use crate::{Dir, How, io_error};

/// The folder of a project that sessions and runs are in.
const WORKFLOW: &str = ".workflow";

/// Opens a folder of a run.
pub fn open_ours(folder: &Path) -> io::Result<Dir> {
    open(folder).map_err(io_error)
}

/// Opens a folder of a run; what is missing of it is made, for its owner only.
pub fn make_ours(folder: &Path) -> io::Result<Dir> {
    make(folder, Dir::make_dir)
}

/// Opens a folder that holds runs or sessions, or one that the user named; what is missing of it is made, and the umask says
/// who may use it.
pub fn make_shared(folder: &Path) -> io::Result<Dir> {
    make(folder, Dir::make_shared_dir)
}

fn make(folder: &Path, make: impl Fn(&Dir, &str) -> Result<Dir, Errno>) -> io::Result<Dir> {
    let (trusted, ours) = split(folder);
    // Of what the user chose, the last parts may be missing.
    let there = trusted.ancestors().find(|above| Dir::open(above).is_ok()).unwrap_or(Path::new("."));
    let missing = trusted.strip_prefix(there).unwrap_or(&trusted).join(ours);
    let missing = missing.to_str().ok_or(Errno::ILSEQ)?;
    Dir::open(there).and_then(|there| make(&there, missing)).map_err(io_error)
}

/// Opens a file of a run.
pub fn open_file(path: &Path, how: How) -> io::Result<File> {
    within(path, |folder, name| folder.file(name, how))
}

/// Opens a file of a run to read it.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_file(path, How::Read)
}

/// Reads a file of a run.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file that the user named, wherever links lead; `FBIG` if it has more bytes than the limit.
pub fn read_chosen(path: &Path, limit: u64) -> Result<Vec<u8>, Errno> {
    read_all(open_chosen(path)?, limit)
}

/// Looks at a file or folder of a run; a link is a link.
pub fn look_at(path: &Path) -> io::Result<Stat> {
    within(path, Dir::stat)
}

/// Lists the names in a folder of a run; nothing if there is no such folder.
pub fn list(folder: &Path) -> io::Result<Vec<String>> {
    match open(folder).and_then(|folder| folder.list()) {
        Err(Errno::NOENT) => Ok(Vec::new()),
        names => names.map_err(io_error),
    }
}

/// Removes a file of a run.
pub fn remove(path: &Path) -> io::Result<()> {
    within(path, Dir::remove)
}

/// Opens a folder of a run.
pub fn open(folder: &Path) -> Result<Dir, Errno> {
    let (trusted, ours) = split(folder);
    Dir::open(&trusted)?.dir(ours.to_str().ok_or(Errno::ILSEQ)?)
}

/// Calls with the folder that something is in, and its name.
pub(crate) fn within<T>(path: &Path, call: impl FnOnce(&Dir, &str) -> Result<T, Errno>) -> io::Result<T> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or(Errno::ILSEQ)?;
    open(path.parent().unwrap_or(Path::new(""))).and_then(|folder| call(&folder, name)).map_err(io_error)
}

/// Divides the path of a folder into what the user chose and what is ours: the last `.workflow` and what is below it. Without
/// one, the user chose all of it.
fn split(path: &Path) -> (PathBuf, PathBuf) {
    let parts: Vec<Component<'_>> = path.components().collect();
    match parts.iter().rposition(|part| part.as_os_str() == WORKFLOW) {
        Some(at) => (some(parts[..at].iter().collect()), parts[at..].iter().collect()),
        None => (some(path.to_owned()), PathBuf::from(".")),
    }
}

fn some(path: PathBuf) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_only_above_the_workflow_folder() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        make_ours(&{
            std::fs::create_dir(&real).unwrap();
            real.join(".workflow/.csv-wave/EX-1")
        })
        .unwrap();
        std::fs::write(real.join(".workflow/.csv-wave/EX-1/a"), "text").unwrap();
        symlink("real", dir.path().join("link")).unwrap();
        symlink("EX-1", real.join(".workflow/.csv-wave/EX-2")).unwrap();
        symlink("../real/.workflow", dir.path().join("real/flow")).unwrap();
        let read = |path: &str| read_regular(&dir.path().join(path)).map_err(|error| error.to_string());
        assert_eq!(read("link/.workflow/.csv-wave/EX-1/a"), Ok(b"text".to_vec()));
        assert_eq!(read("link/.workflow/.csv-wave/EX-2/a"), Err("it is a link".to_owned()));
        assert_eq!(read("real/flow/.csv-wave/EX-1/a"), Ok(b"text".to_vec()), "the user's own way to it");
        let made = make_ours(&real.join(".workflow/.csv-wave/EX-2/logs"));
        assert_eq!(made.unwrap_err().to_string(), "it is a link");
    }

    #[test]
    fn a_path_is_divided_at_its_last_workflow_folder() {
        let split = |path: &str| {
            let (trusted, ours) = split(Path::new(path));
            (trusted.display().to_string(), ours.display().to_string())
        };
        let both = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(split("/p/.workflow/x/.workflow/.csv-wave"), both("/p/.workflow/x", ".workflow/.csv-wave"));
        assert_eq!(split(".workflow/.csv-wave"), both(".", ".workflow/.csv-wave"));
        assert_eq!(split("/p/session"), both("/p/session", "."));
        assert_eq!((split("/"), split(".."), split("")), (both("/", "."), both("..", "."), both(".", ".")));
    }
}
