//! Trees of real repositories.

mod lost;
mod odd;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use team_executor_agents::Ended;
use team_executor_agents::git::{Call, Git};
use tempfile::TempDir;

use crate::{Consent, Dirty, Extras, Land, Landed, Repository, Scope, Story, Submodules, Trees, Trouble};

/// A repository of a user, and a place for trees.
struct Place {
    keep: TempDir,
    env: Vec<(String, String)>,
}

impl Place {
    fn empty() -> Self {
        let keep = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(keep.path().join("project")).unwrap();
        let home = keep.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(
            home.join(".gitconfig"),
            "[user]\n\tname = U\n\temail = u@localhost\n[init]\n\tdefaultBranch = main\n",
        )
        .unwrap();
        let path = std::env::var("PATH").unwrap();
        let env = vec![("PATH".to_owned(), path), ("HOME".to_owned(), home.display().to_string())];
        let place = Self { keep, env };
        place.git(&["init", "-q"]);
        place
    }

    fn new() -> Self {
        let place = Self::empty();
        for (name, text) in [("a.txt", "1\n2\n3\n4\n5\n"), ("b.txt", "b\n"), (".gitignore", "*.log\n")] {
            place.write(name, text);
        }
        place.commit();
        place
    }

    fn project(&self) -> PathBuf {
        self.keep.path().canonicalize().unwrap().join("project")
    }

    fn root(&self) -> PathBuf {
        self.keep.path().canonicalize().unwrap().join("trees")
    }

    fn write(&self, name: &str, text: &str) {
        write(&self.project(), name, text);
    }

    fn git(&self, words: &[&str]) -> String {
        git_in(&self.env, &self.project(), words)
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "c"]);
    }

    fn open(&self) -> Result<Trees, Trouble> {
        self.opened("HEAD", Dirty::Refuse)
    }

    fn opened(&self, base: &str, dirty: Dirty) -> Result<Trees, Trouble> {
        let repository = Repository::open(&self.project(), &self.env, Submodules::Refuse)?;
        Trees::open(repository, ("EX-1", "EX-1"), &self.root(), (base, dirty), Extras::default())
    }

    fn refusal(&self) -> String {
        match self.open() {
            Err(Trouble::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    /// Everything of the user's that must not change.
    fn users(&self) -> Vec<String> {
        let list = ["status --porcelain=v2 --branch", "stash list", "reflog", "branch -a -v", "config --local --list"];
        let mut seen: Vec<String> = list.iter().map(|words| self.git(&words.split(' ').collect::<Vec<_>>())).collect();
        let index = std::fs::read(self.project().join(".git/index")).unwrap();
        seen.push(format!("{index:?}"));
        seen
    }

    /// Makes an attempt that writes some files.
    fn attempt(&self, trees: &Trees, task: &str, on: &[String], files: &[(&str, &str)]) -> String {
        let made = trees.make(task, 1, on).unwrap();
        files.iter().for_each(|(name, text)| write(&made.path, name, text));
        let delivered = trees.deliver(task, 1, &story()).unwrap();
        assert_eq!(delivered.wrong, Vec::<String>::new());
        delivered.commit
    }

    /// How many objects the user's repository has.
    fn objects(&self) -> String {
        self.git(&["count-objects", "-v"])
    }

    fn shown(&self, commit: &str, file: &str) -> String {
        self.git(&["show", &format!("{commit}:{file}")])
    }
}

fn git_in(env: &[(String, String)], cwd: &Path, words: &[&str]) -> String {
    let answer = Git::find(env).unwrap().call(&Call { cwd: Some(cwd), ..Call::default() }, words).unwrap();
    let err = String::from_utf8_lossy(&answer.err).into_owned();
    assert_eq!(answer.ended, Ended::Exit(0), "{words:?}: {err}");
    String::from_utf8_lossy(&answer.out).into_owned()
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn story() -> Story {
    let (subject, findings) = ("A: do it".to_owned(), "done\nwell".to_owned());
    Story {
        subject,
        findings,
        role: "worker".to_owned(),
        agent: "fake".to_owned(),
        seconds: 1_700_000_000,
        scope: Scope::All,
    }
}

#[test]
fn result_of_a_tree_is_a_commit_and_the_checkout_stays() {
    let place = Place::new();
    let before = place.users();
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    write(&made.path, "a.txt", "new\n");
    write(&made.path, "sub/c.txt", "c\n");
    write(&made.path, "noise.log", "ignored\n");
    std::fs::remove_file(made.path.join("b.txt")).unwrap();
    std::fs::set_permissions(made.path.join("sub/c.txt"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("sub/c.txt", made.path.join("link")).unwrap();
    let delivered = trees.deliver("A", 1, &story()).unwrap();
    assert_eq!((delivered.files, delivered.lines, delivered.wrong.len()), (4, (3, 6), 0));
    let listed = place.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", &delivered.commit]);
    assert_eq!(listed, "100644 .gitignore\n100644 a.txt\n120000 link\n100755 sub/c.txt\n");
    let message = place.git(&["show", "-s", "--format=%an|%B", &delivered.commit]);
    assert_eq!(
        message.trim_end(),
        "worker|A: do it\n\ndone\nwell\n\nTask: A\nAttempt: 1\nRole: worker\nAgent: fake\nRun: EX-1"
    );
    assert_eq!(trees.deliver("A", 1, &Story::default()).unwrap(), delivered, "asked again it says the same");
    assert_eq!(place.users(), before);
}

#[test]
fn tree_has_a_stash_branches_and_configuration_of_its_own() {
    let place = Place::new();
    let before = place.users();
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    write(&made.path, "a.txt", "stashed\n");
    for words in [
        "stash",
        "checkout -q -b mine",
        "config core.fsmonitor /bin/false",
        "config filter.x.clean false",
        "commit -q --allow-empty -m own",
        "gc -q --prune=now",
    ] {
        git_in(&place.env, &made.path, &words.split(' ').collect::<Vec<_>>());
    }
    write(&made.path, ".gitattributes", "*.txt filter=x\n");
    write(&made.path, "b.txt", "b2\n");
    let delivered = trees.deliver("A", 1, &story()).unwrap();
    assert_eq!(
        place.shown(&delivered.commit, "b.txt"),
        "b2\n",
        "the filter of the tree's own configuration is not run"
    );
    let log = place.git(&["log", "--format=%s", &delivered.commit]);
    assert_eq!(log, "A: do it\nown\nc\n", "commits of the agent are kept");
    assert_eq!(place.users(), before);
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    assert_eq!(kept[0].stays.as_deref(), Some("it has branches or stashes of its own"));
    assert!(made.path.is_dir());
}

#[test]
fn bases_are_a_pure_function_of_the_parents() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let a = place.attempt(&trees, "A", &[], &[("a.txt", "one\n2\n3\n4\n5\n")]);
    let b = place.attempt(&trees, "B", &[], &[("a.txt", "1\n2\n3\n4\nfive\n")]);
    let c = place.attempt(&trees, "C", &[], &[("new", "c\n")]);
    let on = [a.clone(), b, c, a.clone(), trees.base().to_owned()];
    let made = trees.make("D", 1, &on).unwrap();
    assert_eq!(made.base.conflicts, Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(made.path.join("a.txt")).unwrap(), "one\n2\n3\n4\nfive\n");
    assert_eq!(std::fs::read_to_string(made.path.join("new")).unwrap(), "c\n");
    assert_eq!(trees.make("E", 1, &on).unwrap().base.commit.len(), 40);
    let merged = |task: &str| place.git(&["rev-parse", &format!("refs/team-executor/EX-1/t/{task}/1/base^{{tree}}")]);
    assert_eq!(merged("D"), merged("E"));
    let again = trees.repository().merge(&on, "x").unwrap();
    assert_eq!(again, trees.repository().merge(&on, "x").unwrap(), "to the byte");
    assert_eq!(trees.make("F", 1, std::slice::from_ref(&a)).unwrap().base.commit, a, "of one parent its own commit");
}

#[test]
fn conflict_is_named_and_its_markers_must_go() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let a = place.attempt(&trees, "A", &[], &[("a.txt", "A\n"), ("b.txt", "b\n")]);
    let b = place.attempt(&trees, "B", &[], &[("a.txt", "B\n")]);
    let made = trees.make("C", 1, &[a, b]).unwrap();
    assert_eq!(made.base.conflicts, ["a.txt"]);
    let text = std::fs::read_to_string(made.path.join("a.txt")).unwrap();
    assert!(text.starts_with("<<<<<<< ") && text.contains("\nB\n>>>>>>> "), "{text}");
    write(&made.path, "b.txt", "mended\n");
    let wrong = trees.deliver("C", 1, &story()).unwrap().wrong;
    assert_eq!(wrong, ["a.txt: the markers of a conflict are still in it"]);
    for attempt in [2, 3] {
        let last = trees.results().unwrap()["C"].1.clone();
        let made = trees.make("C", attempt, &[last]).unwrap();
        assert_eq!(made.base.conflicts, ["a.txt"], "a conflict stays one until it is resolved");
        write(&made.path, "a.txt", if attempt == 2 { "A\n<<<<<<< x\n" } else { "AB\n" });
        let wrong = trees.deliver("C", attempt, &story()).unwrap().wrong;
        assert_eq!(wrong.len(), usize::from(attempt == 2), "{wrong:?}");
    }
}

#[test]
fn trunk_grows_and_a_branch_lands_that_the_user_may_move() {
    let place = Place::new();
    let before = place.users();
    let trees = place.open().unwrap();
    assert_eq!(trees.land(Land::Branch).unwrap(), Landed::Nothing);
    for (task, file) in [("A", "a1"), ("B", "b1")] {
        let commit = place.attempt(&trees, task, &[], &[(file, task)]);
        let trunk = trees.trunk().unwrap();
        let merged = trees.candidate(&trunk, task, &commit).unwrap();
        assert_eq!(merged.conflicts, Vec::<String>::new());
        trees.advance(&trunk, &merged.commit).unwrap();
        assert!(trees.advance(&trunk, &merged.commit).is_err(), "it is not there any more");
    }
    assert_eq!(place.users(), before);
    let Landed::Branch { name, commit, instead: None } = trees.land(Land::Branch).unwrap() else { panic!("it lands") };
    assert_eq!(name, "te/EX-1");
    assert_eq!(place.git(&["rev-parse", "te/EX-1"]).trim(), commit);
    assert_eq!((place.shown("te/EX-1", "a1"), place.shown("te/EX-1", "b1")), ("A".into(), "B".into()));
    let c = place.attempt(&trees, "C", &[], &[("c1", "C")]);
    let trunk = trees.trunk().unwrap();
    trees.advance(&trunk, &trees.candidate(&trunk, "C", &c).unwrap().commit).unwrap();
    place.git(&["branch", "-f", "te/EX-1", "HEAD"]);
    assert!(matches!(trees.land(Land::Branch).unwrap(), Landed::Not { why, .. } if why.contains("changed since")));
    place.git(&["branch", "-f", "te/EX-1", &commit]);
    place.git(&["checkout", "-q", "te/EX-1"]);
    assert!(matches!(trees.land(Land::Branch).unwrap(), Landed::Not { why, .. } if why.contains("checked out")));
    place.git(&["checkout", "-q", "main"]);
    assert!(matches!(trees.land(Land::Branch).unwrap(), Landed::Branch { .. }));
    assert_eq!(place.shown("te/EX-1", "c1"), "C");
    place.git(&["branch", "-D", "te/EX-1"]);
    assert!(matches!(trees.land(Land::Branch).unwrap(), Landed::Branch { .. }));
    assert_eq!(place.git(&["branch", "--list", "te/*"]), "", "a branch that the user deleted stays deleted");
}

#[test]
fn task_that_was_only_checked_again_has_the_same_result() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let commit = place.attempt(&trees, "A", &[], &[("x", "1")]);
    assert_eq!(trees.deliver_again("A", (3, 2), &Scope::All).unwrap(), None);
    assert_eq!(trees.deliver_again("A", (2, 1), &Scope::All).unwrap().unwrap().commit, commit);
    assert_eq!(trees.results().unwrap()["A"], (2, commit));
    assert_eq!(std::fs::read_to_string(trees.path("A", 2).join("x")).unwrap(), "1");
}
