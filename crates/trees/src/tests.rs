//! Trees of real repositories.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use team_executor_agents::Ended;
use team_executor_agents::git::{Call, Git};
use tempfile::TempDir;

use crate::{Consent, Dirty, Donor, Extras, Land, Landed, Repository, Story, Submodules, Trees, Trouble};

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
        scope: None,
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
fn what_a_lost_worker_left_is_kept_before_the_next_attempt() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    write(&made.path, "half.txt", "half\n");
    let next = trees.make("A", 2, &[]).unwrap();
    assert!(!next.path.join("half.txt").exists(), "it begins anew");
    assert_eq!(place.shown(&next.lost.unwrap(), "half.txt"), "half\n");
    assert_eq!(place.shown("refs/team-executor/EX-1/t/A/1/lost", "half.txt"), "half\n");
    write(&made.path, "half.txt", "changed afterwards\n");
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    let kept: Vec<_> = kept.iter().map(|one| (one.folder.as_str(), one.stays.as_deref())).collect();
    assert_eq!(kept, [("A.1", Some("it was changed since its commit: half.txt")), ("A.2", None)]);
    assert!(made.path.is_dir() && !next.path.exists(), "an unused one goes");
}

#[test]
fn unfinished_tree_goes_and_a_finished_one_stays() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let path = trees.path("A", 1);
    let unfinished = path.with_extension("1.tmp");
    write(&unfinished, "x", "half a checkout");
    let lock = place.project().join(".git/refs/team-executor/EX-1/t/A/1/base.lock");
    write(lock.parent().unwrap(), "base.lock", "");
    let trees = place.open().unwrap();
    assert!(!unfinished.exists() && !lock.exists());
    let made = trees.make("A", 1, &[]).unwrap();
    write(&made.path, "mine", "of a worker");
    assert_eq!(trees.make("A", 1, &[]).unwrap().base, made.base, "the same base after a crash");
    let there = std::fs::read_dir(made.path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> = there.filter(|path| path.to_string_lossy().contains("A.1-found")).collect();
    assert_eq!(std::fs::read_to_string(found[0].join("mine")).unwrap(), "of a worker");
}

#[test]
fn repositories_that_cannot_hold_trees_are_refused() {
    let place = Place::empty();
    assert_eq!(place.refusal(), "the repository has no commits yet");
    place.write("a", "1");
    place.commit();
    place.write("a", "2");
    place.write(".workflow/s/x", "no work");
    place.write("team-executor.toml", "no work");
    assert_eq!(place.refusal(), "there is work that is not committed, which tasks would not see: a");
    assert!(place.opened("HEAD", Dirty::Ignore).is_ok());
    place.write(".gitmodules", "");
    place.commit();
    assert!(place.refusal().starts_with("the repository has submodules, and a commit of a task keeps nothing"));
    place.git(&["config", "core.bare", "true"]);
    assert!(place.refusal().contains("is a bare repository"));
    std::fs::remove_dir_all(place.project().join(".git")).unwrap();
    assert!(place.refusal().ends_with("is not in a git repository"));
    let old = place.keep.path().join("bin");
    write(&old, "git", "#!/bin/sh\necho git version 2.34.1\n");
    std::fs::set_permissions(old.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let env = vec![("PATH".to_owned(), old.display().to_string())];
    let refused = Repository::open(&place.project(), &env, Submodules::Refuse).unwrap_err().to_string();
    assert_eq!(refused, "git 2.34 is too old for a tree per task; 2.41 is needed");
}

#[test]
fn uncommitted_work_becomes_the_base_where_that_is_wanted() {
    let place = Place::new();
    place.write("a.txt", "staged\n");
    place.git(&["add", "a.txt"]);
    place.write("a.txt", "changed\n");
    place.write("untracked", "u\n");
    place.write(".workflow/s/x", "no work");
    let before = place.users();
    let trees = place.opened("HEAD", Dirty::Snapshot).unwrap();
    assert_eq!(place.users(), before);
    assert_eq!(place.shown(trees.base(), "a.txt"), "changed\n");
    assert_eq!(place.git(&["ls-tree", "-r", "--name-only", trees.base()]), ".gitignore\na.txt\nb.txt\nuntracked\n");
    place.write("a.txt", "later\n");
    assert_eq!(place.opened("HEAD", Dirty::Snapshot).unwrap().base(), trees.base(), "resolved once");
}

#[test]
fn odd_checkouts_are_worked_on() {
    // Detached.
    let place = Place::new();
    place.git(&["checkout", "-q", "--detach"]);
    let trees = place.open().unwrap();
    place.attempt(&trees, "A", &[], &[("x", "1")]);
    // Sparse: what is left out stays in the commit, and what is written outside is not lost.
    let place = Place::new();
    place.write("in/x", "1\n");
    place.write("out/y", "1\n");
    place.commit();
    place.git(&["sparse-checkout", "set", "in"]);
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    assert!(made.path.join("in/x").exists() && !made.path.join("out").exists());
    write(&made.path, "out/z", "new\n");
    let commit = trees.deliver("A", 1, &story()).unwrap().commit;
    assert_eq!((place.shown(&commit, "out/y"), place.shown(&commit, "out/z")), ("1\n".into(), "new\n".into()));
    // Shallow, and a linked worktree of the user's own.
    let place = Place::new();
    place.write("a.txt", "2\n");
    place.commit();
    let from = format!("file://{}", place.project().display());
    git_in(&place.env, place.keep.path(), &["clone", "-q", "--depth", "1", &from, "shallow"]);
    let shallow = place.keep.path().canonicalize().unwrap().join("shallow");
    let trees = Repository::open(&shallow, &place.env, Submodules::Refuse).unwrap();
    let trees =
        Trees::open(trees, ("EX-1", "EX-1"), &place.root(), ("HEAD", Dirty::Refuse), Extras::default()).unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    assert_eq!(git_in(&place.env, &made.path, &["log", "--format=%s"]), "c\n", "its history ends as it does there");
    write(&made.path, "x", "1");
    assert_eq!(trees.deliver("A", 1, &story()).unwrap().files, 1);
    place.git(&["worktree", "add", "-q", "../linked"]);
    let linked =
        Repository::open(&place.keep.path().canonicalize().unwrap().join("linked"), &place.env, Submodules::Refuse)
            .unwrap();
    let trees =
        Trees::open(linked, ("EX-2", "EX-2"), &place.root(), ("HEAD", Dirty::Refuse), Extras::default()).unwrap();
    place.attempt(&trees, "A", &[], &[("x", "1")]);
}

#[test]
fn attributes_and_filters_of_the_user_count() {
    let place = Place::new();
    place.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    place.git(&["config", "filter.up.smudge", "tr A-Z a-z"]);
    place.write(".gitattributes", "*.up filter=up\nlog merge=union\n*.bin filter=lfs diff=lfs merge=lfs -text\n");
    place.write("x.up", "text\n");
    place.write("log", "0\n");
    place.write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    place.commit();
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    assert_eq!(std::fs::read_to_string(made.path.join("x.up")).unwrap(), "text\n");
    assert!(
        std::fs::read_to_string(made.path.join("big.bin")).unwrap().starts_with("version "),
        "no git-lfs: a pointer"
    );
    write(&made.path, "x.up", "more\n");
    write(&made.path, "log", "0\na\n");
    let delivered = trees.deliver("A", 1, &story()).unwrap();
    assert_eq!((place.shown(&delivered.commit, "x.up").as_str(), delivered.files), ("MORE\n", 2));
    let b = place.attempt(&trees, "B", &[], &[("log", "0\nb\n")]);
    let merged = trees.candidate(&delivered.commit, "B", &b).unwrap();
    assert_eq!((place.shown(&merged.commit, "log").as_str(), merged.conflicts.len()), ("0\na\nb\n", 0));
}

#[test]
fn large_file_or_a_repository_inside_is_no_result() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    let large = std::fs::File::create(made.path.join("large.bin")).unwrap();
    large.set_len((50 << 20) + 1).unwrap();
    let wrong = trees.deliver("A", 1, &story()).unwrap().wrong;
    assert!(wrong[0].starts_with("large.bin: it has 50 MiB"), "{wrong:?}");
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    let why = kept[0].stays.as_deref();
    assert_eq!(why, Some("it was changed since its commit: large.bin"), "what no commit holds stays");
    let made = trees.make("A", 2, &[]).unwrap();
    git_in(&place.env, &made.path, &["init", "-q", "inside"]);
    write(&made.path.join("inside"), "x", "1");
    git_in(&place.env, &made.path.join("inside"), &["add", "x"]);
    git_in(&place.env, &made.path.join("inside"), &["commit", "-q", "-m", "x"]);
    let wrong = trees.deliver("A", 2, &story()).unwrap().wrong;
    assert!(wrong[0].starts_with("inside: it is a repository of its own"), "{wrong:?}");
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    let why = "it holds another repository, of which a commit keeps nothing: inside";
    assert_eq!(kept[1].stays.as_deref(), Some(why));
}

/// R: G-05
#[test]
fn tree_goes_only_when_nothing_in_it_would_be_lost() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let work = |task: &str, own: &[&[&str]], after: &[(&str, &str)]| {
        let made = trees.make(task, 1, &[]).unwrap();
        write(&made.path, "work.txt", task);
        write(&made.path, "build.log", "ignored");
        trees.deliver(task, 1, &story()).unwrap();
        own.iter().for_each(|words| drop(git_in(&place.env, &made.path, words)));
        after.iter().for_each(|(name, text)| write(&made.path, name, text));
        let locked = made.path.join("locked");
        write(&locked, "x.log", "ignored, in a read-only folder");
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).unwrap();
        made.path
    };
    let clean = work("clean", &[], &[("other.log", "ignored")]);
    let commit: &[&[&str]] = &[&["checkout", "-q", "-f", "--detach"], &["commit", "-q", "--allow-empty", "-m", "own"]];
    let stays = [
        (work("changed", &[], &[("work.txt", "more")]), "it was changed since its commit: work.txt"),
        (work("committed", commit, &[("work.txt", "committed")]), "it has commits of its own"),
        (work("new", &[], &[("new.txt", "x")]), "it was changed since its commit: new.txt"),
        (
            work("stashed", &[&["branch", "own"], &["stash", "-q", "-u"]], &[]),
            "it was changed since its commit: work.txt",
        ),
        (
            work("with space", &[], &[("1", ""), ("2", ""), ("3", ""), ("4", "")]),
            "it was changed since its commit: 1, 2, 3 and 1 more",
        ),
    ];
    let advanced = trees.results().unwrap().values().next().unwrap().1.clone();
    trees.advance(trees.base(), &advanced).unwrap();
    let of_run = trees.stored(Consent::OfRun).unwrap();
    assert!(of_run.iter().all(|one| one.stays.as_deref() == Some("the run has not landed")), "{of_run:?}");
    trees.land(Land::Branch).unwrap();
    let objects = place.objects();
    let stored = trees.stored(Consent::OfRun).unwrap();
    assert_eq!(place.objects(), objects, "a look writes no object");
    assert!(stored.iter().all(|one| one.bytes > 4096), "{stored:?}");
    let of = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        stored.iter().find(|one| one.folder == name).unwrap().stays.clone()
    };
    assert_eq!(of(&clean), None);
    for (path, why) in &stays {
        assert_eq!(of(path).as_deref(), Some(*why));
    }
    trees.remove_stored(Consent::OfRun).unwrap();
    assert!(!clean.exists() && stays.iter().all(|(path, _)| path.join(".git").is_dir()));
}

#[test]
fn task_that_was_only_checked_again_has_the_same_result() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let commit = place.attempt(&trees, "A", &[], &[("x", "1")]);
    assert_eq!(trees.deliver_again("A", (3, 2), None).unwrap(), None);
    assert_eq!(trees.deliver_again("A", (2, 1), None).unwrap().unwrap().commit, commit);
    assert_eq!(trees.results().unwrap()["A"], (2, commit));
    assert_eq!(std::fs::read_to_string(trees.path("A", 2).join("x")).unwrap(), "1");
}

/// A git that says it could not open a folder, as it does for one that nobody may read; these tests may run as root, who may.
fn passing_over(place: &Place, verb: &str, why: &str) -> Trees {
    let bin = place.keep.path().join("bin");
    let real = Git::find(&place.env).unwrap();
    let real = format!("{real:?}").split('"').nth(1).unwrap().to_owned();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *\" {verb} \"*) echo \"warning: could not open directory 'sub/': {why}\" >&2;; esac\nexec {real} \"$@\"\n"
    );
    write(&bin, "git", &script);
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let env = vec![
        ("PATH".to_owned(), format!("{}:/usr/bin:/bin", bin.display())),
        ("HOME".to_owned(), place.env[1].1.clone()),
    ];
    let repository = Repository::open(&place.project(), &env, Submodules::Refuse).unwrap();
    Trees::open(repository, ("EX-1", "EX-1"), &place.root(), ("HEAD", Dirty::Refuse), Extras::default()).unwrap()
}

/// R: G-05
#[test]
fn folder_that_git_passes_over_is_no_part_of_a_result() {
    let place = Place::new();
    let trees = passing_over(&place, "ls-files", "Permission denied");
    trees.make("A", 1, &[]).unwrap();
    let wrong = trees.deliver("A", 1, &story()).unwrap().wrong;
    assert_eq!(wrong, ["sub/: it cannot be read; make it readable, or remove it"]);
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    assert!(kept[0].stays.as_deref().is_some_and(|why| why.contains("'sub/'")), "{kept:?}");
    let place = Place::new();
    let trees = passing_over(&place, "add", "Input/output error");
    trees.make("A", 1, &[]).unwrap();
    let failed = trees.deliver("A", 1, &story()).unwrap_err();
    assert_eq!(failed.to_string(), "warning: could not open directory 'sub/': Input/output error");
    let place = Place::new();
    let trees = passing_over(&place, "for-each-ref", "Too many open files");
    assert!(trees.results().is_err(), "what is overlooked would be missing in what builds on it");
}

#[test]
fn locks_of_a_killed_git_are_in_nobodys_way() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let commit = place.attempt(&trees, "A", &[], &[("x", "1")]);
    trees.advance(trees.base(), &commit).unwrap();
    for lock in ["base.index.lock", "trunk..index.lock", "A.1.index.lock"] {
        write(trees.home(), lock, "");
    }
    assert!(trees.stage(&commit).is_ok(), "of an index");
    place.open().unwrap();
    assert!(!trees.home().join("A.1.index.lock").exists(), "at the next start");
    let heads = place.project().join(".git/refs/heads/te");
    write(&heads, "EX-1.lock", "");
    assert!(matches!(trees.land(Land::Branch), Err(Trouble::Failed(_))), "somebody may just write this branch");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::options().write(true).open(heads.join("EX-1.lock")).unwrap().set_modified(long_ago).unwrap();
    assert!(trees.land(Land::Branch).is_err(), "it is removed");
    assert!(matches!(trees.land(Land::Branch).unwrap(), Landed::Branch { .. }));
}

#[test]
fn folders_of_builds_move_to_the_next_tree() {
    let place = Place::new();
    place.write(".gitignore", "target\n");
    place.write("sub/Cargo.lock", "1\n");
    place.commit();
    let repository = Repository::open(&place.project(), &place.env, Submodules::Refuse).unwrap();
    let cache = ["target", "sub/target", "a.txt", "sub", "gone/target"].map(str::to_owned).into();
    let extras = Extras { cache, ..Extras::default() };
    let trees = Trees::open(repository, ("EX-1", "EX-1"), &place.root(), ("HEAD", Dirty::Refuse), extras).unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    write(&made.path, "target/built", "A");
    write(&made.path, "sub/target/built", "A");
    let commit = trees.deliver("A", 1, &story()).unwrap().commit;
    let donor = |commit: &str| vec![Donor { task: "A".to_owned(), attempt: 1, commit: commit.to_owned() }];
    let next = trees.make("B", 1, &[]).unwrap();
    let taken = trees.take_over(("B", 1), &next.base.commit, &donor(&commit)).unwrap();
    assert_eq!(taken, ["target", "sub/target"], "only folders that git ignores");
    assert!(next.path.join("sub/target/built").is_file() && !made.path.join("target").exists());
    assert_eq!(trees.take_over(("B", 1), &next.base.commit, &donor(&commit)).unwrap(), Vec::<String>::new());
    write(&next.path, "sub/Cargo.lock", "2\n");
    let commit = trees.deliver("B", 1, &story()).unwrap().commit;
    let last = trees.make("C", 1, &[]).unwrap();
    let donor = vec![Donor { task: "B".to_owned(), attempt: 1, commit }];
    let taken = trees.take_over(("C", 1), &last.base.commit, &donor).unwrap();
    assert_eq!(taken, Vec::<String>::new(), "other dependencies");
}

/// R: G-05
#[test]
fn changed_submodule_goes_back_and_its_tree_stays() {
    let place = Place::new();
    let lib = place.keep.path().join("lib").display().to_string();
    place.git(&["init", "-q", &lib]);
    write(Path::new(&lib), "lib.txt", "lib\n");
    place.git(&["-C", &lib, "add", "."]);
    place.git(&["-C", &lib, "commit", "-q", "-m", "lib"]);
    place.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &lib, "lib"]);
    place.commit();
    let repository = Repository::open(&place.project(), &place.env, Submodules::Init).unwrap();
    let extras = Extras { submodules: Submodules::Init, ..Extras::default() };
    let trees = Trees::open(repository, ("EX-1", "EX-1"), &place.root(), ("HEAD", Dirty::Refuse), extras).unwrap();
    for (task, change) in [("A", false), ("B", true)] {
        let made = trees.make(task, 1, &[]).unwrap();
        write(&made.path, task, "1");
        assert_eq!(trees.deliver(task, 1, &story()).unwrap().wrong, Vec::<String>::new());
        if change {
            write(&made.path, "lib/lib.txt", "changed\n");
        }
    }
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    let why = "it holds another repository, of which a commit keeps nothing: lib";
    assert_eq!(kept.iter().map(|one| one.stays.as_deref()).collect::<Vec<_>>(), [None, Some(why)]);
    let made = trees.make("C", 1, &[]).unwrap();
    write(&made.path, "lib/new.txt", "new\n");
    let wrong = trees.deliver("C", 1, &story()).unwrap().wrong;
    assert!(wrong[0].starts_with("lib: it is a submodule"), "{wrong:?}");
}

/// R: G-05
#[test]
fn tree_of_which_no_commit_is_known_stays() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    let strange = trees.home().join("strange.1");
    std::fs::create_dir(&strange).unwrap();
    place.git(&["update-ref", "refs/team-executor/EX-1/t/B/1/result", "HEAD"]);
    std::fs::rename(&made.path, trees.path("B", 1)).unwrap();
    place.git(&["update-ref", "refs/team-executor/EX-1/t/B/2/lost", "HEAD"]);
    let of = |folder: &str| {
        let stored = trees.stored(Consent::OfUser).unwrap();
        stored.into_iter().find(|one| one.folder == folder).unwrap().stays
    };
    assert_eq!(of("strange.1").as_deref(), Some("no attempt of the run is known that has it"));
    std::fs::rename(trees.path("B", 1), trees.home().join("B.2-found")).unwrap();
    assert_eq!(of("B.2-found").as_deref(), Some("nothing of it is kept as a commit"));
}
