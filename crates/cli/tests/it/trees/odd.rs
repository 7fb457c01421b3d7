//! Odd but real repositories: each is worked on as it is, and stays as it was.

use std::os::unix::fs::PermissionsExt as _;

use team_executor_testkit::{World, lacks};

use super::{branch, git, home, repository, run, shown, trees, users};
use crate::run::read;

/// A worker that changes a file and makes one.
const WORKS: &str = "sh -c 'echo 2 >> a.txt; echo new > new.txt'";

/// Runs the only task of a world to its end; nothing of the user's changes, and no tree stays.
#[track_caller]
fn works(world: &World) -> String {
    let before = users(world);
    let ran = run(world, WORKS, &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(users(world), before, "{ran}");
    assert_eq!(trees(world), Vec::<String>::new(), "{ran}");
    branch(world)
}

/// R: G-01
#[test]
fn hooks_are_not_run_and_signing_is_not_asked_for() {
    let world = repository(&[("A", "")], "", &[("a.txt", "1\n")]);
    for hook in ["pre-commit", "post-checkout", "post-commit", "reference-transaction", "post-merge", "pre-auto-gc"] {
        let path = world.write(&format!(".git/hooks/{hook}"), format!("#!/bin/sh\ntouch $HOME/{hook}.ran\nexit 1\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a program");
    }
    git(&world, &["config", "commit.gpgSign", "true"]);
    git(&world, &["config", "user.signingKey", "stranger"]);
    git(&world, &["config", "core.fsmonitor", "touch $HOME/fsmonitor.ran; false"]);
    // What the test itself asks git runs them, too.
    let before = read(world.dir().join(".git/config"));
    let ran = run(&world, "sh -c 'echo 2 >> a.txt; git commit -q -a -m own; echo new > new.txt'", &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let ran: Vec<_> = std::fs::read_dir(home(&world))
        .expect("a home")
        .filter_map(|entry| {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            name.ends_with(".ran").then_some(name)
        })
        .collect();
    assert_eq!((ran, read(world.dir().join(".git/config"))), (vec![], before));
    let branch = branch(&world);
    assert_eq!(shown(&world, &branch, "new.txt"), "new\n");
    assert!(git(&world, &["log", "--format=%s", &branch]).contains("own\n"), "the agent could commit unsigned");
}

#[test]
fn shallow_clone_is_worked_on() {
    let origin = repository(&[("A", "")], "", &[("a.txt", "1\n")]);
    git(&origin, &["commit", "-q", "--allow-empty", "-m", "second"]);
    let world = repository(&[("A", "")], "", &[]);
    let url = format!("file://{}", origin.dir().display());
    std::fs::remove_dir_all(world.dir().join(".git")).expect("it is there");
    git(&world, &["clone", "-q", "--depth", "1", "--no-checkout", &url, "clone"]);
    std::fs::rename(world.dir().join("clone/.git"), world.dir().join(".git")).expect("it moves");
    git(&world, &["checkout", "-q", "-f", "main"]);
    world.write(".git/info/exclude", "clone\n");
    let branch = works(&world);
    assert_eq!(shown(&world, &branch, "a.txt"), "1\n2\n");
    assert_eq!(git(&world, &["rev-list", "--count", "main"]), "1\n");
}

#[test]
fn sparse_checkout_stays_sparse_and_loses_nothing() {
    let world = repository(&[("A", "")], "", &[("a.txt", "1\n"), ("kept/x", "x\n"), ("hidden/y", "y\n")]);
    git(&world, &["sparse-checkout", "set", "--cone", "kept"]);
    assert!(!world.dir().join("hidden").exists());
    let branch = works(&world);
    assert_eq!(git(&world, &["ls-tree", "-r", "--name-only", &branch]), "a.txt\nhidden/y\nkept/x\nnew.txt\n");
    assert!(!world.dir().join("hidden").exists());
}

#[test]
fn filters_and_attributes_count_as_the_user_set_them() {
    let world = repository(&[("A", "")], "", &[(".gitattributes", "*.txt filter=upper\n*.crlf text eol=crlf\n")]);
    git(&world, &["config", "filter.upper.clean", "tr a-z A-Z"]);
    git(&world, &["config", "filter.upper.smudge", "tr A-Z a-z"]);
    world.write("a.txt", "one\n");
    world.write("b.crlf", "two\r\n");
    git(&world, &["add", "a.txt", "b.crlf"]);
    git(&world, &["commit", "-q", "-m", "filtered"]);
    let before = users(&world);
    let ran = run(
        &world,
        "sh -c 'cat a.txt > seen; echo more >> a.txt; od -c b.crlf | grep -q \"\\\\\\\\r\" && echo crlf >> seen'",
        &[],
    );
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(users(&world), before);
    let branch = branch(&world);
    assert_eq!(shown(&world, &branch, "seen"), "one\ncrlf\n", "the agent sees what the user sees");
    assert_eq!(shown(&world, &branch, "a.txt"), "ONE\nMORE\n", "and the repository holds what it should");
}

#[test]
fn files_of_lfs_are_pointers_without_it_and_files_with_it() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\nsize 0\n";
    let files =
        [(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n"), ("a.txt", "1\n"), ("big.bin", pointer)];
    let world = repository(&[("A", "")], "", &files);
    let branch = works(&world);
    assert_eq!(shown(&world, &branch, "big.bin"), pointer, "untouched");
    let has_lfs = world.shell("git lfs version").code == Some(0);
    if !has_lfs {
        lacks("git-lfs", "files of LFS in trees");
        return;
    }
    let world = repository(&[("A", "")], "", &[("a.txt", "1\n")]);
    git(&world, &["lfs", "install", "--local"]);
    git(&world, &["lfs", "track", "*.bin"]);
    world.write("big.bin", "large\n");
    git(&world, &["add", "-A", "--", ".gitattributes", "big.bin"]);
    git(&world, &["commit", "-q", "-m", "large"]);
    let ran = run(&world, "sh -c 'cat big.bin > seen; echo larger > big.bin'", &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let branch = super::branch(&world);
    assert_eq!(shown(&world, &branch, "seen"), "large\n");
    assert!(shown(&world, &branch, "big.bin").starts_with("version https://git-lfs"), "a pointer is committed");
    assert!(super::trees(&world).is_empty());
    let content = git(&world, &["cat-file", "--filters", &format!("{branch}:big.bin")]);
    assert_eq!(content, "larger\n", "the content outlives the tree");
}

#[test]
fn names_that_differ_only_in_case_stay_two_files() {
    let world = repository(&[("A", "")], "", &[("a.txt", "1\n"), ("A.txt", "upper\n")]);
    git(&world, &["config", "core.ignoreCase", "false"]);
    let branch = works(&world);
    assert_eq!((shown(&world, &branch, "a.txt"), shown(&world, &branch, "A.txt")), ("1\n2\n".into(), "upper\n".into()));
}

#[test]
fn merge_in_progress_is_refused_or_left_alone() {
    let conflicted = |config| {
        let world = repository(&[("A", "")], config, &[("a.txt", "1\n")]);
        git(&world, &["checkout", "-q", "-b", "other"]);
        world.write("a.txt", "other\n");
        git(&world, &["commit", "-q", "-a", "-m", "other"]);
        git(&world, &["checkout", "-q", "main"]);
        world.write("a.txt", "main\n");
        git(&world, &["commit", "-q", "-a", "-m", "main"]);
        assert_ne!(world.shell("git merge -q other").code, Some(0), "it conflicts");
        world
    };
    for (config, why) in
        [("", "work that is not committed"), ("[isolation]\ndirty = \"snapshot\"\n", "a merge is in progress")]
    {
        let world = conflicted(config);
        let refused = run(&world, WORKS, &[]);
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{refused}");
    }
    let world = conflicted("[isolation]\ndirty = \"ignore\"\n");
    let branch = works(&world);
    assert_eq!(shown(&world, &branch, "a.txt"), "main\n2\n", "it begins with what is committed");
    assert!(world.dir().join(".git/MERGE_HEAD").exists());
}

#[test]
fn worktree_of_the_users_own_is_a_project_like_others() {
    let world = repository(&[("A", "")], "", &[("a.txt", "1\n")]);
    let other = world.dir().with_file_name("other").display().to_string();
    git(&world, &["worktree", "add", "-q", "-b", "side", &other]);
    std::fs::create_dir_all(format!("{other}/S")).expect("a folder");
    for file in ["S/tasks.csv", "team-executor.toml"] {
        std::fs::copy(world.dir().join(file), format!("{other}/{file}")).expect("a copy");
    }
    let ran = world.shell(&format!(
        "cd {other} && {} run --session=S --agent-command \"{}\" -y --trust-project",
        env!("CARGO_BIN_EXE_team-executor"),
        WORKS
    ));
    assert_eq!(ran.code, Some(0), "{ran}");
    let branch = git(&world, &["for-each-ref", "--format=%(refname:short)", "refs/heads/te"]);
    assert_eq!(shown(&world, branch.trim(), "a.txt"), "1\n2\n");
    assert_eq!(read(format!("{other}/a.txt")), "1\n");
    assert_eq!(git(&world, &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 2, "none is added");
    assert!(!world.dir().join(".workflow").exists());
}

#[test]
fn bare_repository_is_refused() {
    let world = repository(&[("A", "")], "", &[("a.txt", "1\n")]);
    git(&world, &["config", "core.bare", "true"]);
    let refused = run(&world, WORKS, &[]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("is a bare repository, which has no files to work on"), "{refused}");
}
