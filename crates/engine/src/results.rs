//! Whether attempts have written results. Many workers write none, and to look for a file that is not there takes long: while
//! there is none at all, the folder says so.

use std::path::Path;

use rustix::fs::fstat;
use rustix::io::Errno;
use team_executor_agents::untouched::{is_untouched, mark, unmark};
use team_executor_beneath::{Dir, open_ours};

use crate::stale::RESULT;

/// The folder of the results of a run.
#[derive(Debug)]
pub(crate) struct Results {
    folder: Dir,
    /// There was none when the folder was marked.
    is_marked: bool,
    /// There was one at some time: the folder is not read any more.
    is_used: bool,
}

impl Results {
    /// Opens the folder.
    pub(crate) fn open(folder: &Path) -> std::io::Result<Self> {
        Ok(Self { folder: open_ours(folder)?, is_marked: false, is_used: false })
    }

    /// Marks the folder if there are no results in it. Others of our files come into it now and then, which takes the mark away.
    pub(crate) fn settle(&mut self) {
        self.is_marked = false;
        if self.is_used || mark(&self.folder).is_err() {
            return;
        }
        // What came before the mark is seen here, and what comes later takes it away.
        match self.is_empty() {
            Ok(true) => self.is_marked = true,
            _ => self.leave(),
        }
    }

    /// Looks at the folder no more than at any other.
    pub(crate) fn leave(&mut self) {
        (self.is_marked, self.is_used) = (false, true);
        if fstat(&self.folder).is_ok_and(|found| is_untouched(&found)) {
            let _it_looks_old = unmark(&self.folder);
        }
    }

    /// Whether something is where a result may be written, whatever it is. The name is made only if there may be one.
    pub(crate) fn has(&self, name: impl FnOnce() -> String) -> bool {
        let has_none = self.is_marked && fstat(&self.folder).is_ok_and(|found| is_untouched(&found));
        !has_none && !matches!(self.folder.stat(&name()), Err(Errno::NOENT))
    }

    fn is_empty(&self) -> Result<bool, Errno> {
        for entry in rustix::fs::Dir::read_from(&self.folder)? {
            if entry?.file_name().to_bytes().ends_with(RESULT.as_bytes()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn has(results: &Results, name: &str) -> bool {
        results.has(|| name.to_owned())
    }

    #[test]
    fn a_result_is_found_however_and_whenever_it_came() {
        let dir = tempfile::tempdir().unwrap();
        let (other, name, path) = (dir.path().join("other"), "A.1.result.json", |name| dir.path().join("r").join(name));
        let come: [&dyn Fn(); 4] = [
            &|| fs::write(path(name), "{}").unwrap(),
            &|| fs::write(&other, "{}").and_then(|()| fs::rename(&other, path(name))).unwrap(),
            &|| std::os::unix::fs::symlink("nowhere", path(name)).unwrap(),
            &|| fs::create_dir(path(name)).unwrap(),
        ];
        for come in come {
            for settled in 0..3 {
                fs::create_dir(dir.path().join("r")).unwrap();
                fs::write(path("slot-0.prompt.md"), "").unwrap();
                let mut results = Results::open(&dir.path().join("r")).unwrap();
                for step in 0..3 {
                    assert_eq!(has(&results, name), step == 2, "{settled}");
                    if step == settled {
                        results.settle();
                        assert_eq!(results.is_marked, step < 2);
                    }
                    if step == 1 {
                        come();
                    }
                }
                assert!(has(&results, name) && !has(&results, "B.1.result.json"));
                results.leave();
                assert!(!is_untouched(&fstat(&results.folder).unwrap()));
                fs::remove_dir_all(dir.path().join("r")).unwrap();
            }
        }
    }

    #[test]
    fn what_else_comes_into_the_folder_only_makes_the_look_longer() {
        let dir = tempfile::tempdir().unwrap();
        let mut results = Results::open(dir.path()).unwrap();
        results.settle();
        fs::write(dir.path().join("registry.json"), "").unwrap();
        assert!(results.is_marked && !has(&results, "A.1.result.json"));
        fs::write(dir.path().join("A.1.result.json"), "").unwrap();
        assert!(has(&results, "A.1.result.json"));
        results.settle();
        assert!(!results.is_marked && has(&results, "A.1.result.json"));
    }
}
