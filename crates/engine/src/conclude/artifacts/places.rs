//! Where an artifact may be: in the run, in its session or in the project, and nowhere else.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use team_executor_beneath::{is_system_failure, words};
use team_executor_files::paths::inside;
use team_executor_files::{Folder as _, ReadError};
use team_executor_store::run_folder::{AGENTS, EXECUTOR, INTERACTIVE, LOGS};
use team_executor_store::{DiskFolder, OpenError};

use crate::render::views::TASKS;

/// Files in the folder of a run that are no deliveries.
const OWN: [&str; 7] = [EXECUTOR, AGENTS, LOGS, INTERACTIVE, TASKS, "results.csv", "context.md"];

/// Which folder the path of an artifact is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The folder of the run.
    Run,
    /// The folder of the session.
    Session,
    /// The folder that workers work in.
    Project,
}

impl Place {
    /// From the innermost: a run and its session are usually in the project.
    pub(super) const ALL: [Self; 3] = [Self::Run, Self::Session, Self::Project];

    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Session => "session",
            Self::Project => "project",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.word() == word)
    }
}

/// The three folders, each opened when it is first needed. One that is not there has nothing in it; one that could not be
/// opened for another reason is tried again the next time.
#[derive(Debug)]
pub(crate) struct Roots([(PathBuf, OnceLock<DiskFolder>); 3]);

impl Roots {
    /// Those at these paths.
    pub(crate) fn new(run: &Path, session: &Path, project: &Path) -> Self {
        Self([run, session, project].map(|path| (path.to_owned(), OnceLock::new())))
    }

    /// How many bytes a file has, and their SHA-256.
    pub(crate) fn digest(&self, place: Place, path: &str) -> Result<(u64, String), ReadError> {
        self.folder(place)?.digest(path)
    }

    /// The same; nothing as soon as it is given up.
    pub(super) fn digest_unless(
        &self,
        place: Place,
        path: &str,
        given_up: impl Fn() -> bool,
    ) -> Result<Option<(u64, String)>, ReadError> {
        self.folder(place)?.digest_unless(path, given_up)
    }

    /// How many bytes a file has.
    pub(super) fn length(&self, place: Place, path: &str) -> Result<u64, ReadError> {
        self.folder(place)?.length(path)
    }

    /// The bytes of a file.
    pub(super) fn read(&self, place: Place, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.folder(place)?.read(path, limit)
    }

    /// Where a path is on the machine.
    pub(crate) fn whole(&self, place: Place, path: &str) -> PathBuf {
        self.0[place as usize].0.join(path)
    }

    /// The file that a worker means by a path: absolute, or relative to its own folder, to where it works, to
    /// the session or to the run, whichever has it. Files that the executor writes there are no deliveries.
    pub(super) fn find(&self, path: &str, own: &str) -> Result<Result<(Place, String), String>, ReadError> {
        Ok(match self.located(path, own)? {
            Ok((Place::Run, path)) if OWN.contains(&path.split('/').next().unwrap_or_default()) => {
                Err("it belongs to the executor".to_owned())
            }
            located => located,
        })
    }

    fn located(&self, path: &str, own: &str) -> Result<Result<(Place, String), String>, ReadError> {
        if Path::new(path).is_absolute() {
            let named = self.named(Path::new(path));
            return Ok(named.ok_or_else(|| "it is outside of the project and the session".to_owned()));
        }
        if let Err(why) = inside(path) {
            return Ok(Err(why.to_string()));
        }
        let own = format!("{own}/{path}");
        let all = [(Place::Run, own.as_str()), (Place::Project, path), (Place::Session, path), (Place::Run, path)];
        let mut there = None;
        for (place, path) in all {
            if self.has(place, path)? {
                there = Some((place, path));
                break;
            }
        }
        let Some((place, path)) = there else { return Ok(Err(ReadError::Missing.to_string())) };
        let plain: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let plain = plain.join("/");
        Ok(Ok(self.named(&self.whole(place, &plain)).unwrap_or((place, plain))))
    }

    fn has(&self, place: Place, path: &str) -> Result<bool, ReadError> {
        match self.folder(place)?.dir().stat(path) {
            Err(errno) if is_system_failure(errno) => Err(ReadError::Failed(format!("{path}: {}", words(errno)))),
            found => Ok(found.is_ok()),
        }
    }

    /// How an absolute path is named, by the innermost folder that it is in.
    pub(super) fn named(&self, path: &Path) -> Option<(Place, String)> {
        let below = |path: &Path| {
            Place::ALL.into_iter().find_map(|place| {
                let rest = path.strip_prefix(&self.0[place as usize].0).ok()?.to_str()?;
                inside(rest).is_ok().then(|| (place, rest.to_owned()))
            })
        };
        // A worker may know the same folder by another way.
        below(path).or_else(|| below(&path.canonicalize().ok()?))
    }

    pub(super) fn folder(&self, place: Place) -> Result<&DiskFolder, ReadError> {
        let (path, held) = &self.0[place as usize];
        if let Some(folder) = held.get() {
            return Ok(folder);
        }
        match DiskFolder::open(path) {
            Ok(folder) => Ok(held.get_or_init(|| folder)),
            Err(OpenError::Missing | OpenError::NotAFolder) => Err(ReadError::Missing),
            Err(OpenError::Refused(why) | OpenError::Failed(why)) => {
                Err(ReadError::Failed(format!("{}: {why}", path.display())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: S-09
    #[test]
    fn a_path_is_found_in_the_innermost_folder_and_never_outside() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("p");
        let (run, session) = (project.join(".workflow/r"), project.join(".workflow/s"));
        for folder in [run.join("artifacts/A"), session.join("docs"), project.join("src")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let files = [run.join("artifacts/A/x"), session.join("docs/y"), project.join("src/z"), dir.path().join("out")];
        files.iter().for_each(|file| std::fs::write(file, "text").unwrap());
        std::os::unix::fs::symlink("../../out", project.join("src/link")).unwrap();
        let roots = Roots::new(&run, &session, &project);
        let found = |path: &str| {
            roots.find(path, "artifacts/A").unwrap().map(|(place, path)| format!("{} {path}", place.word()))
        };
        assert_eq!(found("x").unwrap(), "run artifacts/A/x");
        assert_eq!(found("artifacts/A/x").unwrap(), "run artifacts/A/x");
        assert_eq!(found(".workflow/r/artifacts/A/x").unwrap(), "run artifacts/A/x");
        assert_eq!(found("./docs/y").unwrap(), "session docs/y");
        assert_eq!(found("src//z").unwrap(), "project src/z");
        for file in &files[..3] {
            assert!(found(file.to_str().unwrap()).is_ok(), "{}", file.display());
        }
        std::fs::create_dir(run.join(".executor")).unwrap();
        std::fs::write(run.join(".executor/journal"), "text").unwrap();
        for path in [".executor/journal", ".workflow/r/./.executor/journal"] {
            assert_eq!(found(path), Err("it belongs to the executor".to_owned()), "{path}");
        }
        for path in ["none", "../out", "/etc/passwd", "", "~/x", files[3].to_str().unwrap()] {
            assert!(found(path).is_err(), "{path}");
        }
        let (place, path) = roots.find("src/link", "artifacts/A").unwrap().unwrap();
        assert_eq!(roots.digest(place, &path), Err(ReadError::Outside));
        assert_eq!(roots.digest(Place::Run, "artifacts/A/x").unwrap().0, 4);
    }
}
