//! What several tasks did, as one commit. The same commits give the same commit: identity, date and order are fixed.

use team_executor_agents::git::Call;

use crate::git::{Trouble, Word, ask, line, listed, must};
use crate::repository::Repository;

/// Who commits what no agent did.
pub(crate) struct Identity {
    pub(crate) name: &'static str,
    pub(crate) email: &'static str,
}

pub(crate) const OURS: Identity = Identity { name: "team-executor", email: "team-executor@localhost" };

impl Identity {
    /// The variables that say so, with a date in seconds.
    pub(crate) fn at(&self, seconds: &str) -> Vec<(&'static str, String)> {
        stamped(self.name, self.email, seconds)
    }
}

/// The variables that name the author and the time of a commit.
pub(crate) fn stamped(name: &str, email: &str, seconds: &str) -> Vec<(&'static str, String)> {
    let date = format!("@{seconds} +0000");
    vec![
        ("GIT_AUTHOR_NAME", name.to_owned()),
        ("GIT_AUTHOR_EMAIL", email.to_owned()),
        ("GIT_AUTHOR_DATE", date.clone()),
        ("GIT_COMMITTER_NAME", OURS.name.to_owned()),
        ("GIT_COMMITTER_EMAIL", OURS.email.to_owned()),
        ("GIT_COMMITTER_DATE", date),
    ]
}

/// What a merge came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The commit; its files hold the markers of conflicts.
    pub commit: String,
    /// Files in which the merged commits do not agree.
    pub conflicts: Vec<String>,
}

/// Begins the line of a commit's message that names a file with conflicts.
const CONFLICT: &str = "Conflict: ";

impl Repository {
    /// Whether everything in one commit is in another.
    pub fn is_in(&self, commit: &str, other: &str) -> Result<bool, Trouble> {
        let answer = ask(&self.git, &self.call(), &["merge-base", "--is-ancestor", commit, other])?;
        Ok(matches!(answer, Word::Yes(_)))
    }

    /// Merges commits in this order. One that is in another one adds nothing.
    pub fn merge(&self, commits: &[String], subject: &str) -> Result<Merged, Trouble> {
        let wanted = self.independent(commits)?;
        let Some((first, others)) = wanted.split_first() else {
            return Err(Trouble::Failed("nothing to merge".to_owned()));
        };
        let mut merged = Merged { commit: first.clone(), conflicts: Vec::new() };
        let Some((last, between)) = others.split_last() else { return Ok(merged) };
        let env = OURS.at(&self.newest(&wanted)?);
        for other in between.iter().chain([last]) {
            let tree = self.merged_tree(&merged.commit, other, &mut merged.conflicts)?;
            // The last one has all of them as its parents; those between are only what the next merge needs.
            let parents = if other == last { wanted.clone() } else { vec![merged.commit.clone(), other.clone()] };
            let message = message(subject, if other == last { &merged.conflicts } else { &[] });
            let mut command = vec!["commit-tree", &tree, "-m", &message];
            parents.iter().for_each(|parent| command.extend(["-p", parent]));
            merged.commit = line(&self.git, &Call { env: env.clone(), ..self.call() }, &command)?;
        }
        Ok(merged)
    }

    /// The files with conflicts that the message of a commit of ours names.
    pub(crate) fn conflicts_in(&self, commit: &str) -> Result<Vec<String>, Trouble> {
        let out = line(&self.git, &self.call(), &["show", "-s", "--format=%cn%n%B", commit])?;
        let mut lines = out.lines();
        let is_ours = lines.next() == Some(OURS.name);
        let files = lines.filter(|_| is_ours).filter_map(|line| line.strip_prefix(CONFLICT));
        Ok(files.map(str::to_owned).collect())
    }

    /// Those of some files that still hold markers of conflicts in a commit.
    pub(crate) fn with_markers(&self, commit: &str, files: &[String]) -> Result<Vec<String>, Trouble> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let literal: Vec<String> = files.iter().map(|file| format!(":(literal,top){file}")).collect();
        let mut command = vec!["grep", "-l", "-z", "-E", "^(<<<<<<<|>>>>>>>) ", commit, "--"];
        command.extend(literal.iter().map(String::as_str));
        let Word::Yes(out) = ask(&self.git, &self.call(), &command)? else { return Ok(Vec::new()) };
        let file = |found: String| found.strip_prefix(&format!("{commit}:")).unwrap_or(&found).to_owned();
        Ok(listed(&out).into_iter().map(file).collect())
    }

    /// Those of the commits that are in no other one, in their order, each once.
    fn independent(&self, commits: &[String]) -> Result<Vec<String>, Trouble> {
        let mut wanted: Vec<String> = Vec::new();
        for commit in commits {
            if !wanted.contains(commit) {
                wanted.push(commit.clone());
            }
        }
        if wanted.len() > 1 {
            let mut command = vec!["merge-base", "--independent"];
            command.extend(wanted.iter().map(String::as_str));
            let out = line(&self.git, &self.call(), &command)?;
            wanted.retain(|commit| out.lines().any(|line| line == commit));
        }
        Ok(wanted)
    }

    /// The date of the newest of some commits, in seconds.
    fn newest(&self, commits: &[String]) -> Result<String, Trouble> {
        let mut command = vec!["show", "-s", "--format=%ct"];
        command.extend(commits.iter().map(String::as_str));
        let out = line(&self.git, &self.call(), &command)?;
        Ok(out.lines().filter_map(|line| line.parse::<u64>().ok()).max().unwrap_or(0).to_string())
    }

    /// The tree of a merge; files with conflicts are noted.
    fn merged_tree(&self, one: &str, other: &str, conflicts: &mut Vec<String>) -> Result<String, Trouble> {
        // Without a checkout attributes would not be read at all.
        let call = Call { options: vec![format!("--attr-source={one}")], ..self.call() };
        let command = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", one, other];
        let out = match ask(&self.git, &call, &command)? {
            Word::Yes(out) | Word::No(out) => out,
        };
        let mut found = listed(&out).into_iter();
        let tree = found.next().filter(|tree| tree.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let tree = tree.ok_or_else(|| Trouble::Failed("git merge-tree printed no tree".to_owned()))?;
        for file in found {
            if !conflicts.contains(&file) {
                conflicts.push(file);
            }
        }
        Ok(tree)
    }

    /// Whether the objects of a commit are there.
    pub fn has(&self, commit: &str) -> bool {
        must(&self.git, &self.call(), &["cat-file", "-e", &format!("{commit}^{{tree}}")]).is_ok()
    }
}

fn message(subject: &str, conflicts: &[String]) -> String {
    let mut text = subject.to_owned();
    if !conflicts.is_empty() {
        text.push_str("\n\n");
        for file in conflicts {
            text.push_str(CONFLICT);
            text.push_str(&file.replace('\n', " "));
            text.push('\n');
        }
    }
    text
}
