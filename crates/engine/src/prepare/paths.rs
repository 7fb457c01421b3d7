//! What a worker is told of where things are. One that works in a tree is told no path of the user's checkout, which it could take
//! for the place of its work: links in the folder of the trees stand for the folders that it needs.

use std::path::{Path, PathBuf};

/// The link to the session's folder.
pub(crate) const SESSION: &str = "session";
/// The link to the folder of the run.
pub(crate) const RUN: &str = "run";

/// The folders that a worker is told of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paths<'p> {
    /// The session's.
    pub(crate) session: &'p Path,
    /// The run's, if there is one.
    pub(crate) run: Option<&'p Path>,
    /// Where the links are, for a worker in a tree.
    pub(crate) links: Option<&'p Path>,
}

impl Paths<'_> {
    /// Replaces a path in texts for workers.
    pub(crate) fn told(&self, path: &Path) -> PathBuf {
        let below = |folder: &Path, link: &str| {
            let rest = path.strip_prefix(folder).ok()?;
            let link = self.links?.join(link);
            Some(if rest.as_os_str().is_empty() { link } else { link.join(rest) })
        };
        let run = self.run.and_then(|run| below(run, RUN));
        run.or_else(|| below(self.session, SESSION)).unwrap_or_else(|| path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_in_a_tree_is_told_links() {
        let (session, run) = (Path::new("/p/.workflow/S"), Some(Path::new("/p/.workflow/r/EX")));
        let told = |links, path: &str| Paths { session, run, links }.told(Path::new(path)).display().to_string();
        let links = Some(Path::new("/trees/EX"));
        assert_eq!(told(links, "/p/.workflow/S"), "/trees/EX/session");
        assert_eq!(told(links, "/p/.workflow/r/EX/artifacts/A"), "/trees/EX/run/artifacts/A");
        assert_eq!(told(links, "/elsewhere"), "/elsewhere");
        assert_eq!(told(None, "/p/.workflow/S/role-specs"), "/p/.workflow/S/role-specs");
    }
}
