//! What of a result must be mended before anything can build on it: files that are too large, outside of the scope of their task, or
//! that hold secrets, and what no commit can keep.

use team_executor_agents::git::Call;
use team_executor_beneath::ours;

use crate::git::{Trouble, Word, ask, forbidden, listed, must, seen};
use crate::merge::Merged;
use crate::names;
use crate::repository::Repository;
use crate::snapshot::{Delivered, Scope};
use crate::tree::{INDEX, Trees, in_index};

/// A larger file is no source, and every clone of the repository would have it for ever.
const MOST_BYTES: i64 = 50 << 20;
/// What the keys and tokens of well-known services look like, and private keys.
const SECRETS: [&str; 10] = [
    "-----BEGIN ([A-Z]+ )*PRIVATE KEY",
    "(^|[^A-Za-z0-9])(AKIA|ASIA)[0-9A-Z]{16}([^A-Za-z0-9]|$)",
    "gh[pousr]_[A-Za-z0-9]{36}",
    "github_pat_[A-Za-z0-9_]{40}",
    "glpat-[A-Za-z0-9_-]{20}",
    "sk-ant-[A-Za-z0-9_-]{32}",
    "sk-(proj-)?[A-Za-z0-9]{40}",
    "AIza[0-9A-Za-z_-]{35}",
    "xox[abprs]-[0-9A-Za-z-]{20}",
    "sk_live_[0-9A-Za-z]{24}",
];
/// Files that hold secrets by their names.
const SECRET_FILES: [&str; 4] = [".env", ".env.local", ".env.production", "id_rsa"];

impl Trees {
    /// Files of the tree of an attempt that are new or changed, and too large; and folders that cannot be read.
    pub(crate) fn large_files(&self, task: &str, attempt: u32) -> Result<Vec<String>, Trouble> {
        let tree = self.path(task, attempt);
        let index = self.home.join(format!("{}{INDEX}", names::folder(task, attempt)));
        let call = Call { env: vec![in_index(&index)], work_tree: Some(&tree), ..self.call() };
        let command = ["ls-files", "-z", "-o", "-m", "--exclude-standard"];
        let (out, passed_over) = seen(&self.repository.git, &call, &command)?;
        let closed = passed_over
            .iter()
            .filter_map(|line| forbidden(line))
            .map(|folder| format!("{folder}: it cannot be read; make it readable, or remove it"));
        let closed: Vec<String> = closed.collect();
        let size = |file: &String| ours::look_at(&tree.join(file)).ok().map(|found| found.st_size);
        let sized = listed(&out).into_iter().filter_map(|file| size(&file).map(|bytes| (file, bytes)));
        let why = |(file, bytes): (String, i64)| {
            let mb = bytes >> 20;
            format!(
                "{file}: it has {mb} MiB, and a commit takes files of at most 50; remove it, or let .gitignore name it"
            )
        };
        Ok(sized.filter(|(_, bytes)| *bytes > MOST_BYTES).map(why).chain(closed).collect())
    }

    /// What must be mended in the tree of an attempt before it can be a commit, a line each.
    pub(crate) fn uncommittable(&self, task: &str, attempt: u32, base: &str) -> Result<Vec<String>, Trouble> {
        let mut wrong = self.large_files(task, attempt)?;
        let changed = self.changed_submodules(&self.path(task, attempt), base)?;
        wrong.extend(changed.into_iter().map(|path| {
            format!("{path}: it is a submodule, and a commit keeps nothing of what is changed in it; undo the change")
        }));
        Ok(wrong)
    }

    /// What a commit changed, and what is wrong with it. Files outside of the scope are.
    pub(crate) fn described(
        &self,
        commit: String,
        base: Merged,
        (task, attempt): (&str, u32),
        scope: &Scope,
    ) -> Result<Delivered, Trouble> {
        let repository = &self.repository;
        let call = repository.call();
        let command = ["diff-tree", "-r", "-z", "--no-renames", "--raw", "--numstat", &base.commit, &commit];
        let out = must(&repository.git, &call, &command)?;
        let (mut files, mut lines, mut wrong) = (0, (0, 0), Vec::new());
        let mut entries = listed(&out).into_iter();
        while let Some(entry) = entries.next() {
            if entry.starts_with(':') {
                let file = entries.next().unwrap_or_default();
                files += 1;
                let modes: Vec<&str> = entry.trim_start_matches(':').split(' ').take(2).collect();
                if modes == ["160000", "160000"] {
                    continue; // a submodule at another commit that the user has
                }
                if modes.get(1) == Some(&"160000") {
                    wrong.push(format!(
                        "{file}: it is a repository of its own, of which a commit holds nothing; remove its .git"
                    ));
                }
            } else if let [added, removed, _] = entry.splitn(3, '\t').collect::<Vec<_>>()[..] {
                lines.0 += added.parse::<u64>().unwrap_or(0);
                lines.1 += removed.parse::<u64>().unwrap_or(0);
            }
        }
        let open = self.open_conflicts(task, attempt, &commit)?;
        wrong.extend(open.into_iter().map(|file| format!("{file}: the markers of a conflict are still in it")));
        let alike = self.alike(&commit)?.into_iter();
        wrong
            .extend(alike.map(|file| format!("{file}: another name differs from it only in case; rename one of them")));
        if commit != base.commit {
            // What an earlier attempt did stays wrong until it is undone.
            let from = repository.compared_with(&self.run, task, attempt)?.unwrap_or_else(|| base.commit.clone());
            if let Scope::Only(scope) = scope {
                wrong.extend(repository.outside(&from, &commit, scope)?);
            }
            if !self.extras.may_hold_secrets {
                wrong.extend(repository.secrets(&from, &commit)?);
            }
        }
        Ok(Delivered { commit, base, files, lines, wrong, aside: None })
    }
}

impl Repository {
    /// The changed files that a task may not change.
    fn outside(&self, from: &str, to: &str, scope: &[String]) -> Result<Vec<String>, Trouble> {
        let mut command: Vec<String> =
            ["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to, "--", ":(top)"]
                .map(str::to_owned)
                .into();
        command.extend(scope.iter().map(|pattern| format!(":(exclude,top,glob){pattern}")));
        let out = must(&self.git, &self.call(), &command.iter().map(String::as_str).collect::<Vec<_>>())?;
        let allowed = if scope.is_empty() { "no file".to_owned() } else { format!("only {}", scope.join(", ")) };
        let why = |file| format!("{file}: the task may change {allowed}; undo the change of this file");
        Ok(listed(&out).into_iter().map(why).collect())
    }

    /// The changed files that hold a secret which was not there before.
    fn secrets(&self, from: &str, to: &str) -> Result<Vec<String>, Trouble> {
        let pattern = SECRETS.join("|");
        let changed = |more: &str| -> Result<Vec<String>, Trouble> {
            let command = [
                "diff-tree",
                "-r",
                "-z",
                "--name-only",
                "--no-renames",
                "--no-ext-diff",
                "--no-textconv",
                "--diff-filter=d",
                more,
                from,
                to,
            ];
            Ok(listed(&must(&self.git, &self.call(), &command)?))
        };
        let suspects = changed(&format!("-G{pattern}"))?;
        let mut found = self.holding(to, &pattern, &suspects)?;
        let before = self.holding(from, &pattern, &found)?;
        found.retain(|file| !before.contains(file));
        let is_secret = |file: &String| SECRET_FILES.contains(&file.rsplit('/').next().unwrap_or(file));
        let new = must(
            &self.git,
            &self.call(),
            &["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", from, to],
        )?;
        found.extend(listed(&new).into_iter().filter(is_secret));
        found.dedup();
        let why = |file| {
            format!(
                "{file}: it holds what looks like a key or a token; remove that, or let .gitignore name the file \
                 (secrets = \"allow\" in [isolation] of the project commits it)"
            )
        };
        Ok(found.into_iter().map(why).collect())
    }

    /// Those of some files that hold a pattern in a commit.
    fn holding(&self, commit: &str, pattern: &str, files: &[String]) -> Result<Vec<String>, Trouble> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let literal = files.iter().map(|file| format!(":(literal,top){file}"));
        let command: Vec<String> = ["grep", "-I", "-l", "-z", "-E", "-e", pattern, commit, "--"]
            .map(str::to_owned)
            .into_iter()
            .chain(literal)
            .collect();
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let Word::Yes(out) = ask(&self.git, &self.call(), &command)? else { return Ok(Vec::new()) };
        let file = |found: String| found.strip_prefix(&format!("{commit}:")).unwrap_or(&found).to_owned();
        Ok(listed(&out).into_iter().map(file).collect())
    }
}
