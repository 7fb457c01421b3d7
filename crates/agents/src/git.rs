//! Runs `git`, for those who keep trees of a repository. It sees no variable `GIT_*` of the user, runs no hook, asks nothing,
//! starts nothing in the background, and is killed with the thread that waits for it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::exit::Ended;
use crate::probe::{Unusable, probe};
use crate::trial::{Answer, ask_for};

/// The most that is read of what it prints.
const ANSWER_BYTES: usize = 256 << 20;
/// A larger checkout takes no longer.
const LIMIT: Duration = Duration::from_secs(30 * 60);
/// For a question that touches no tree.
const SHORT: Duration = Duration::from_secs(60);

/// What it must not do, whatever the user has configured: run hooks, watch files, tidy up, share an index, fetch from programs. What
/// it writes is durable.
const SETTINGS: [&str; 13] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.fsync=all",
    "core.fsyncMethod=batch",
    "merge.renames=true",
    "submodule.recurse=false",
    "protocol.ext.allow=never",
    "advice.addEmbeddedRepo=false",
    "core.quotePath=false",
];

/// The program, as it was found.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    env: Vec<(String, String)>,
}

/// One call.
#[derive(Debug, Clone, Default)]
pub struct Call<'c> {
    /// Where it is.
    pub cwd: Option<&'c Path>,
    /// Which repository; the one around where it is, if this is open.
    pub git_dir: Option<&'c Path>,
    /// Which files.
    pub work_tree: Option<&'c Path>,
    /// Variables that it sees besides the usual ones.
    pub env: Vec<(&'static str, String)>,
    /// Options in front of the command.
    pub options: Vec<String>,
    /// Its arguments.
    pub input: &'c str,
}

impl Git {
    /// The program in `PATH` of this environment.
    pub fn find(environment: &[(String, String)]) -> Result<Self, Unusable> {
        let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
        let program = probe("git", path, Path::new("/"))?;
        let mut env: Vec<_> = environment.iter().filter(|(name, _)| !is_scrubbed(name)).cloned().collect();
        let own = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0"), ("LC_ALL", "C")];
        env.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Ok(Self { program, env })
    }

    /// Runs a command and waits for its end.
    pub fn call(&self, call: &Call<'_>, command: &[&str]) -> io::Result<Answer> {
        let mut args = Vec::with_capacity(command.len() + 2 * SETTINGS.len() + 4);
        for setting in SETTINGS {
            args.extend(["-c".to_owned(), setting.to_owned()]);
        }
        args.extend(call.options.iter().cloned());
        for (option, path) in [("--git-dir", call.git_dir), ("--work-tree", call.work_tree)] {
            if let Some(path) = path {
                let path = path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
                args.push(format!("{option}={path}"));
            }
        }
        args.extend(command.iter().map(|word| (*word).to_owned()));
        let mut env = self.env.clone();
        env.extend(call.env.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let limit = if call.work_tree.is_some() { LIMIT } else { SHORT.max(LIMIT / 6) };
        let cwd = call.cwd.or(call.work_tree).unwrap_or(Path::new("/"));
        let answer = ask_for((&self.program, &args), &env, cwd, call.input, (limit, ANSWER_BYTES))?;
        if answer.out.len() >= ANSWER_BYTES {
            return Err(io::Error::other("git printed more than can be read"));
        }
        Ok(answer)
    }

    /// Its version, if it says one: for instance 2 and 47.
    pub fn version(&self) -> io::Result<Option<(u32, u32)>> {
        let Answer { ended, out, .. } = self.call(&Call::default(), &["version"])?;
        let text = String::from_utf8_lossy(&out);
        Ok(version(&text).filter(|_| ended == Ended::Exit(0)))
    }
}

/// What would make it another git than the one that is called: another repository, other settings, another editor.
fn is_scrubbed(name: &str) -> bool {
    name.starts_with("GIT_") || name == "LC_ALL"
}

/// Major and minor in `git version 2.47.3 (Apple …)`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_with_or_without_more_behind_it() {
        assert_eq!(version("git version 2.47.3\n"), Some((2, 47)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)\n"), Some((2, 39)));
        assert_eq!(version("git version 2.50-rc1\n"), Some((2, 50)));
        assert_eq!([version("git 2.1"), version(""), version("git version x.y")], [None, None, None]);
    }

    #[test]
    fn variables_of_the_users_git_are_not_passed_on() {
        let environment =
            [("PATH", "/usr/bin:/bin"), ("GIT_DIR", "/nowhere"), ("GIT_INDEX_FILE", "/x"), ("HOME", "/h")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let git = Git::find(&environment).unwrap();
        let names: Vec<_> = git.env.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["PATH", "HOME", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "LC_ALL"]);
        assert!(git.version().unwrap().is_some_and(|version| version >= (2, 0)));
    }
}
