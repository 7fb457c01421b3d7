//! Where a client may look and write: the folders that it declares, or the one that the server was started in. Links are
//! followed before a path is judged, so none leads out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rmcp::service::{RequestContext, RoleServer};
use team_executor_app::bus::Refusal;
use team_executor_app::project_of;
use team_executor_beneath::Dir;
use tokio::time::timeout;

use super::uri;

/// How long a client has to say what its roots are.
const PATIENCE: Duration = Duration::from_secs(10);

/// The folders of a client, each without links.
#[derive(Debug)]
pub(super) struct Roots(Vec<PathBuf>);

/// A path that is in one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inside {
    /// The path, without links.
    pub(super) path: PathBuf,
    /// The root that it is in.
    pub(super) root: PathBuf,
}

impl Roots {
    /// Those that the user has fixed; else asks the client, if it has roots and can be asked.
    pub(super) async fn ask(
        context: &RequestContext<RoleServer>,
        current: &Path,
        fixed: &[PathBuf],
    ) -> Result<Self, Refusal> {
        if !fixed.is_empty() {
            let there: Vec<_> = fixed.iter().filter_map(|root| root.canonicalize().ok()).collect();
            return if there.is_empty() {
                Err(unknown("no folder of --root exists any more"))
            } else {
                Ok(Self(there))
            };
        }
        let declares = context.client_capabilities().is_some_and(|capabilities| capabilities.roots.is_some());
        let can_be_asked = context.protocol_version().is_none_or(|version| version.as_str() < "2026-07-28");
        let declared = if declares && can_be_asked { asked(context).await? } else { Vec::new() };
        Self::declared(&declared, current)
    }

    /// These folders, or the current one where none is declared.
    fn declared(uris: &[String], current: &Path) -> Result<Self, Refusal> {
        let real = |path: PathBuf| path.canonicalize().ok().filter(|path| Dir::open(path).is_ok());
        let folders: Vec<_> = match uris {
            [] => real(current.to_owned()).into_iter().collect(),
            uris => uris.iter().filter_map(|root| real(PathBuf::from(uri::file(root)?))).collect(),
        };
        if folders.is_empty() { Err(unknown("none of them is a folder here")) } else { Ok(Self(folders)) }
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.iter()
    }

    /// Something that is there. What is not absolute is seen from the first root.
    pub(super) fn existing(&self, path: &str) -> Result<Inside, Refusal> {
        let wanted = self.whole(path);
        let real = wanted.canonicalize().map_err(|error| Refusal {
            what: format!("{path} cannot be found: {error}"),
            help: format!("name a path in {}", self.shown()),
        })?;
        self.inside(path, real)
    }

    /// Something that may not be there yet; its folder is.
    pub(super) fn new_file(&self, path: &str) -> Result<Inside, Refusal> {
        let wanted = self.whole(path);
        if wanted.symlink_metadata().is_ok() {
            return self.existing(path);
        }
        let folder = wanted.parent().and_then(|folder| folder.canonicalize().ok());
        let (Some(folder), Some(name)) = (folder, wanted.file_name()) else {
            let help = format!("name a file in an existing folder, in {}", self.shown());
            return Err(Refusal { what: format!("{path} cannot be created: its folder does not exist"), help });
        };
        self.inside(path, folder.join(name))
    }

    /// A session, whose project is in a root too: that is where its runs are written.
    pub(super) fn session(&self, path: &str) -> Result<Inside, Refusal> {
        let session = self.existing(path)?;
        let root = project_of(&session.path, &session.root);
        self.inside(path, root).map(|project| Inside { root: project.path, ..session })
    }

    fn whole(&self, path: &str) -> PathBuf {
        self.0.first().map_or_else(|| PathBuf::from(path), |first| first.join(path))
    }

    fn inside(&self, path: &str, real: PathBuf) -> Result<Inside, Refusal> {
        match self.0.iter().find(|root| real.starts_with(root)) {
            Some(root) => Ok(Inside { path: real, root: root.clone() }),
            None => Err(Refusal {
                what: format!("{path} is outside the roots of this client"),
                help: format!("name a path in {}", self.shown()),
            }),
        }
    }

    fn shown(&self) -> String {
        self.0.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(" or ")
    }
}

/// What the client says.
#[expect(deprecated, reason = "clients of older versions of the protocol declare their roots so")]
async fn asked(context: &RequestContext<RoleServer>) -> Result<Vec<String>, Refusal> {
    match timeout(PATIENCE, context.peer.list_roots()).await {
        Ok(Ok(answer)) => Ok(answer.roots.into_iter().map(|root| root.uri).collect()),
        Ok(Err(error)) => Err(unknown(&error.to_string())),
        Err(_) => Err(unknown("it did not answer")),
    }
}

fn unknown(why: &str) -> Refusal {
    Refusal {
        what: format!("the roots of this client are unknown: {why}"),
        help: "declare a folder on this machine as a root, or none at all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_outside_of_the_roots_is_reached_by_path_or_link() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for folder in ["in/sub", "out", "in/.workflow/.team/S", "p/.workflow/.team/S"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        std::fs::write(base.join("out/secret"), "").unwrap();
        std::fs::write(base.join("in/file"), "").unwrap();
        symlink("../out", base.join("in/link")).unwrap();
        symlink("file", base.join("in/within")).unwrap();
        symlink("../out/new", base.join("in/dangling")).unwrap();
        let roots = Roots::declared(&[format!("file://{}", base.join("in").display())], Path::new("/")).unwrap();
        let inside = |path: &str| Inside { path: base.join(path), root: base.join("in") };
        assert_eq!(roots.existing("file").unwrap(), inside("in/file"));
        assert_eq!(roots.existing("sub/../within").unwrap(), inside("in/file"));
        assert_eq!(roots.new_file("sub/new.csv").unwrap(), inside("in/sub/new.csv"));
        for outside in ["link", "link/secret", "../out/secret", "/etc/passwd", "..", "none"] {
            assert!(roots.existing(outside).is_err(), "{outside}");
        }
        for outside in ["link/new", "../new", "dangling", "none/new", "..", "/"] {
            assert!(roots.new_file(outside).is_err(), "{outside}");
        }
        assert_eq!(roots.session(".workflow/.team/S").unwrap(), inside("in/.workflow/.team/S"));
        // A root that is only the session has no place for its runs.
        let only = Roots::declared(&[format!("file://{}", base.join("p/.workflow/.team/S").display())], Path::new("/"));
        assert!(only.unwrap().session(".").is_err());
        assert!(Roots::declared(&["https://x/".to_owned()], &base).is_err());
        assert_eq!(Roots::declared(&[], &base).unwrap().existing("in/file").unwrap().root, base);
    }
}
