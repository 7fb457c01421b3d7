//! A user's repository with a session, and a git that does what a strike says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::strike::Strike;
use crate::crash::processes::MARK;
use crate::crash::scenario::Scenario;
use crate::shell::Outcome;

const SETTINGS: &str = "\
[defaults]\nisolation = \"worktree\"\n\
[merge]\nverify = [\"sh\", \"-c\", \"test -e own/README && ! grep -q '^<<<<<<<' shared.txt\"]\n";

/// Runs the real git, unless something is to strike now.
const GIT: &str = r#"#!/bin/sh
printf x >> DIR/calls
[ -e DIR/armed ] && . DIR/armed || exec REAL "$@"
[ "$(stat -c %s DIR/calls)" -ge "$nth" ] || exec REAL "$@"
if [ $how = system ]; then
  # One call at a time, until one gets as far as what is to fail.
  mkdir DIR/busy 2>/dev/null || exec REAL "$@"
  strace -f -o DIR/trace -e "trace=$calls" -e "inject=$fault" REAL "$@"
  code=$?
  grep -q "(INJECTED)\|killed by SIGKILL" DIR/trace && mv DIR/armed DIR/struck
  rmdir DIR/busy
  [ $code = 137 ] && kill -9 $$
  exit $code
fi
mv DIR/armed DIR/struck 2>/dev/null || exec REAL "$@"
[ $how = before ] && kill -9 $PPID && exit 1
REAL "$@"
code=$?
kill -9 $PPID
exit $code
"#;

/// Where a session runs.
pub(crate) struct Place {
    pub(crate) project: PathBuf,
    home: PathBuf,
    strikes: PathBuf,
}

impl Place {
    /// A repository with a session, below a folder.
    pub(crate) fn new(dir: &Path, scenario: &Scenario) -> Outcome<Self> {
        let text = |error: std::io::Error| format!("{}: {error}", dir.display());
        let dir = dir.canonicalize().map_err(text)?;
        let place = Self { project: dir.join("project"), home: dir.join("home"), strikes: dir.join("strikes") };
        for folder in [&place.project.join("own"), &place.home, &place.strikes] {
            fs::create_dir_all(folder).map_err(text)?;
        }
        let real = real_git()?;
        let script = GIT.replace("DIR", &place.strikes.display().to_string()).replace("REAL", &real);
        let git = place.strikes.join("git");
        fs::write(&git, script)
            .and_then(|()| fs::set_permissions(&git, fs::Permissions::from_mode(0o755)))
            .map_err(text)?;
        let user = "[user]\n\tname = User\n\temail = user@localhost\n[init]\n\tdefaultBranch = main\n";
        fs::write(place.home.join(".gitconfig"), user).map_err(text)?;
        scenario.write(&place.project)?;
        fs::write(place.project.join("team-executor.toml"), SETTINGS).map_err(text)?;
        fs::write(place.project.join("shared.txt"), shared(scenario, "open")).map_err(text)?;
        fs::write(place.project.join("own/README"), "").map_err(text)?;
        place.git(&["init", "-q"])?;
        let ignored = ".workflow\nlog\noutput.txt\nworker.sh\nteam-executor.toml\nfailed\n";
        fs::write(place.project.join(".git/info/exclude"), ignored).map_err(text)?;
        place.git(&["add", "-A"])?;
        place.git(&["commit", "-q", "-m", "start"])?;
        fs::write(place.project.join("shared.txt"), "stashed\n").map_err(text)?;
        place.git(&["stash", "-q"])?;
        Ok(place)
    }

    /// Has a strike wait for its call of git.
    pub(crate) fn arm(&self, strike: &Strike) -> Outcome {
        let (nth, rest) = match strike {
            Strike::None | Strike::Time { .. } => return Ok(()),
            Strike::Call { nth, is_before } => (nth, format!("how={}", if *is_before { "before" } else { "after" })),
            Strike::System { nth, calls, fault } => (nth, format!("how=system\ncalls='{calls}'\nfault='{fault}'")),
        };
        let calls = fs::metadata(self.strikes.join("calls")).map_or(0, |found| found.len());
        let text = format!("nth={}\n{rest}\n", calls + nth);
        fs::write(self.strikes.join("armed"), text).map_err(|error| error.to_string())
    }

    /// Takes it back if it did not come to that, and says whether it struck.
    pub(crate) fn disarm(&self) -> bool {
        let _was_armed = fs::remove_file(self.strikes.join("armed"));
        let _was_busy = fs::remove_dir(self.strikes.join("busy"));
        fs::remove_file(self.strikes.join("struck")).is_ok()
    }

    /// Starts the program, which continues what there is.
    pub(crate) fn start(&self, binary: &Path, scenario: &Scenario) -> Outcome<Child> {
        let text = |error: std::io::Error| format!("{}: {error}", binary.display());
        let output = self.project.join("output.txt");
        let output = File::options().append(true).create(true).open(output).map_err(text)?;
        let again = output.try_clone().map_err(text)?;
        let mut command = Command::new(binary);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.strikes.display());
        command.args(scenario.arguments(&self.project)).current_dir(&self.project);
        command.env(MARK, &self.project).env("HOME", &self.home).env("PATH", path);
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        command.stdin(Stdio::null()).stdout(output).stderr(again).spawn().map_err(text)
    }

    /// What the real git prints in the user's repository.
    pub(crate) fn git(&self, words: &[&str]) -> Outcome<String> {
        let mut command = Command::new(real_git()?);
        command.args(words).current_dir(&self.project).env("HOME", &self.home).env_remove("GIT_DIR");
        let output = command.env("GIT_OPTIONAL_LOCKS", "0").stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("git: {error}"))?;
        if !output.status.success() {
            return Err(format!("git {words:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The refs of the program, and what they name.
    pub(crate) fn refs(&self) -> Outcome<BTreeMap<String, String>> {
        let out = self.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/team-executor"])?;
        let pair = |line: &str| line.split_once(' ').map(|(name, commit)| (name.to_owned(), commit.to_owned()));
        Ok(out.lines().filter_map(pair).collect())
    }

    /// Everything of the user's that must stay as it is.
    pub(crate) fn users(&self) -> Outcome<Vec<String>> {
        let others = "for-each-ref --exclude=refs/team-executor --exclude=refs/heads/te";
        let asked = ["status --porcelain=v2 --branch", "stash list", "reflog", "config --local --list", others];
        let mut seen = Vec::new();
        for words in asked {
            seen.push(self.git(&words.split(' ').collect::<Vec<_>>())?);
        }
        for file in ["index", "HEAD", "config"] {
            let path = self.project.join(".git").join(file);
            seen.push(format!("{:?}", fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?));
        }
        Ok(seen)
    }

    /// The only branch that the program made holds what every task did, once; and no tree is left, nor a lock of git.
    pub(crate) fn judge(&self, scenario: &Scenario) -> Outcome {
        let branches = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/te"])?;
        let branch = branches.trim();
        if branch.is_empty() || branch.contains('\n') {
            return Err(format!("there is not one branch but `{branch}`"));
        }
        let is = |file: &str, expected: &str| match self.git(&["show", &format!("{branch}:{file}")])? {
            text if text == expected => Ok(()),
            text => Err(format!("{file} of {branch} is not `{expected}` but `{text}`")),
        };
        is("shared.txt", &shared(scenario, "done"))?;
        let mut names = vec!["own/README".to_owned(), "shared.txt".to_owned()];
        for (nth, task) in scenario.tasks.iter().enumerate() {
            let saw: Vec<&str> = std::iter::once("README").chain(scenario.builds_on(nth)).collect();
            is(&format!("own/{}", task.id), &format!("saw: {} \n", saw.join(" ")))?;
            names.push(format!("own/{}", task.id));
        }
        names.sort();
        let listed = self.git(&["ls-tree", "-r", "--name-only", branch])?;
        if listed.lines().ne(names.iter().map(String::as_str)) {
            return Err(format!("{branch} has the files {listed:?}"));
        }
        let left = [self.below(&self.home.join(".local/state/team-executor/trees"), 3), self.locks()].concat();
        if left.is_empty() { Ok(()) } else { Err(format!("these are left: {left:?}")) }
    }

    /// The folders so many levels below one.
    fn below(&self, folder: &Path, levels: usize) -> Vec<PathBuf> {
        let mut found = vec![folder.to_owned()];
        for _ in 0..levels {
            let entries = found.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
            found = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
        }
        found
    }

    /// The locks of git that are left in the user's repository.
    fn locks(&self) -> Vec<PathBuf> {
        let (mut folders, mut found) = (vec![self.project.join(".git")], Vec::new());
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "lock") {
                    found.push(path);
                }
            }
        }
        found
    }
}

/// A file with a line for each task, far enough apart to be merged.
fn shared(scenario: &Scenario, state: &str) -> String {
    scenario.tasks.iter().fold(String::new(), |mut text, task| {
        write!(text, "{} {state}\n-\n-\n-\n", task.id).ok();
        text
    })
}

fn real_git() -> Outcome<String> {
    let places = ["/usr/local/bin/git", "/usr/bin/git"];
    let found = places.into_iter().find(|path| Path::new(path).exists());
    found.map(str::to_owned).ok_or_else(|| "git is needed; install it, for instance with `apt install git`".to_owned())
}
