//! Repositories that are not like most.

use std::os::unix::fs::PermissionsExt as _;

use super::{Place, git_in, story, write};
use crate::{Dirty, Donor, Extras, Repository, Submodules, Trees};

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
