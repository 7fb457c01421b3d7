//! What a tree has besides the files of its commit: ignored files of the checkout that are wanted in it, and where to fetch from.

use std::io;

use team_executor_agents::git::Call;
use team_executor_beneath::{Dir, How, io_error, ours};

use crate::git::{Trouble, Word, ask, line, listed, must};
use crate::repository::Repository;
use crate::submodules::Submodules;

/// Names ignored files that are copied, as `.gitignore` names files.
const INCLUDE: &str = ".worktreeinclude";
/// The most that is read of a file that a link leads to.
const MOST_BYTES: u64 = 64 << 20;

/// What trees have besides the files of a commit, and what their commits may hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extras {
    /// Patterns of ignored files that are copied from the checkout.
    pub include: Vec<String>,
    /// Ignored folders, from that of the project, that a tree takes over from one that is done with.
    pub cache: Vec<String>,
    /// What becomes of submodules.
    pub submodules: Submodules,
    /// Where git in a tree can fetch from.
    pub remote: Remote,
    /// Keys and tokens may be committed.
    pub may_hold_secrets: bool,
}

/// Where git in a tree can fetch from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Remote {
    /// Nowhere.
    #[default]
    None,
    /// From where `origin` of the user's repository is. It cannot push.
    Read,
}

impl Remote {
    /// As it is written.
    pub const WORDS: [&'static str; 2] = ["none", "read"];

    /// From how it is written.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Self::None),
            "read" => Some(Self::Read),
            _ => None,
        }
    }

    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
        }
    }
}

impl Repository {
    /// Copies the ignored files that are wanted in trees from the checkout into one.
    pub(crate) fn include(&self, patterns: &[String], tree: &Dir) -> Result<(), Trouble> {
        for file in self.included(patterns)? {
            let copied = copy(&self.top, tree, &file);
            // It may have gone in between.
            if let Err(error) =
                copied.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
            {
                return Err(Trouble::io("copy into a tree:", &self.top.join(&file), &error));
            }
        }
        Ok(())
    }

    /// The ignored files of the checkout that are wanted in trees. One that is not ignored would be committed.
    fn included(&self, patterns: &[String]) -> Result<Vec<String>, Trouble> {
        let mut command: Vec<String> = ["ls-files", "-z", "--others", "--ignored"].map(str::to_owned).into();
        command.extend(patterns.iter().map(|pattern| format!("--exclude={pattern}")));
        let has_file = ours::open_regular(&self.top.join(INCLUDE)).is_ok();
        command.extend(has_file.then(|| format!("--exclude-from={INCLUDE}")));
        if patterns.is_empty() && !has_file {
            return Ok(Vec::new());
        }
        let call = Call { work_tree: Some(&self.top), ..self.call() };
        let out = must(&self.git, &call, &command.iter().map(String::as_str).collect::<Vec<_>>())?;
        if out.is_empty() {
            return Ok(Vec::new());
        }
        let input = String::from_utf8_lossy(&out);
        let call = Call { input: &input, ..call };
        Ok(match ask(&self.git, &call, &["check-ignore", "-z", "--stdin"])? {
            Word::Yes(out) => listed(&out),
            Word::No(_) => Vec::new(),
        })
    }

    /// What the configuration of a tree says of where to fetch from.
    pub(crate) fn remote(&self, remote: Remote) -> String {
        let url = match remote {
            Remote::None => None,
            Remote::Read => line(&self.git, &self.call(), &["config", "--get", "remote.origin.url"]).ok(),
        };
        let Some(url) = url.filter(|url| !url.is_empty()) else { return String::new() };
        // What is relative is so from the user's checkout.
        let url = if url.starts_with("./") || url.starts_with("../") {
            self.top.join(url).display().to_string()
        } else {
            url
        };
        let quoted = url.replace('\\', "\\\\").replace('"', "\\\"");
        format!(
            "[remote \"origin\"]\n\turl = \"{quoted}\"\n\tpushurl = disabled\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
        )
    }
}

fn copy(from: &std::path::Path, tree: &Dir, file: &str) -> io::Result<()> {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let into = if folder.is_empty() { tree.clone() } else { tree.make_shared_dir(folder).map_err(io_error)? };
    if into.has(name) {
        return Ok(()); // the commit has it
    }
    let mut new = into.file(name, How::CreateNew).map_err(io_error)?;
    let path = from.join(file);
    match Dir::open(from).and_then(|top| top.file(file, How::ReadAnything)) {
        Ok(mut old) => {
            io::copy(&mut old, &mut new)?;
            new.set_permissions(old.metadata()?.permissions())
        }
        // What a link leads to.
        Err(_) => io::Write::write_all(&mut new, &ours::read_chosen(&path, MOST_BYTES).map_err(io_error)?),
    }
}
