//! Real repositories: what is refused, and what odd ones come to.

use std::os::unix::fs::PermissionsExt as _;

use super::{branch, git, git_in, home, repository, run, shown, trees, users};
use crate::run::column;

const WRITES: &str = "sh -c 'echo $TEAM_EXECUTOR_TASK > own-$TEAM_EXECUTOR_TASK'";

#[test]
fn nothing_is_begun_where_trees_cannot_be_made() {
    let world = repository(&[("A", "")], "", &[("a", "1\n")]);
    world.write("a", "2\n");
    let refused = run(&world, WRITES, &[]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("there is work that is not committed, which tasks would not see: a"), "{refused}");
    assert!(refused.stderr.contains("help: git add -A && git commit; or set dirty = \"snapshot\""), "{refused}");
    assert!(!world.dir().join(".workflow").exists(), "no run was made");
    git(&world, &["checkout", "-q", "a"]);
    world.write(".gitmodules", "");
    git(&world, &["add", ".gitmodules"]);
    git(&world, &["commit", "-q", "-m", "modules"]);
    let refused = run(&world, WRITES, &[]);
    assert!(
        refused
            .stderr
            .contains("the repository has submodules, and a commit of a task keeps nothing of what is changed in one"),
        "{refused}"
    );
    let old = world.write("old/git", "#!/bin/sh\necho git version 2.34.1\n");
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let mut world = world;
    let path = format!("{}:/usr/bin:/bin", world.dir().join("old").display());
    world.env("PATH", &path);
    let refused = run(&world, WRITES, &[]);
    assert!(refused.stderr.contains("git 2.34 is too old for a tree per task; 2.41 is needed"), "{refused}");
    assert!(trees(&world).is_empty());
}

#[test]
fn project_that_is_no_repository_or_has_no_commit_is_refused() {
    let world = crate::run::tasks(&[("A", "")]);
    world.write("team-executor.toml", super::ISOLATED);
    let refused = run(&world, WRITES, &[]);
    assert!(refused.stderr.contains("is not in a git repository"), "{refused}");
    git(&world, &["init", "-q"]);
    let refused = run(&world, WRITES, &[]);
    assert!(refused.stderr.contains("the repository has no commits yet"), "{refused}");
    assert!(refused.stderr.contains("help: git add -A && git commit -m start"), "{refused}");
}

#[test]
fn without_the_setting_git_is_never_started() {
    let mut world = crate::run::tasks(&[("A", "")]);
    let spy = world.write("spy/git", "#!/bin/sh\ntouch \"$HOME/git-was-started\"\n");
    std::fs::set_permissions(&spy, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let path = format!("{}:/usr/bin:/bin", world.dir().join("spy").display());
    world.env("PATH", &path);
    let ran = run(&world, "echo did it", &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!home(&world).join("git-was-started").exists());
    world.write("team-executor.toml", "[defaults]\nisolation = \"worktree\"\n[roles.worker]\nisolation = \"none\"\n");
    world.write("S/tasks.csv", "id,title,description,deps,exec_mode,role\nB,,Do it,,csv-wave,worker\n");
    let ran = run(&world, "echo did it", &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!home(&world).join("git-was-started").exists());
}

#[test]
fn uncommitted_work_is_the_base_where_that_is_wanted() {
    let world = repository(&[("A", "")], "[isolation]\ndirty = \"snapshot\"\n", &[("a", "1\n")]);
    world.write("a", "changed\n");
    world.write("new", "untracked\n");
    let before = users(&world);
    let ran = run(&world, "sh -c 'cat a new > seen'", &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(users(&world), before);
    assert_eq!(shown(&world, &branch(&world), "seen"), "changed\nuntracked\n");
}

#[test]
fn detached_head_subfolder_and_links_are_worked_on() {
    let world = repository(&[("A", ""), ("B", "A")], "", &[("a", "1\n")]);
    git(&world, &["checkout", "-q", "--detach"]);
    let worker = "sh -c 'if [ -e tool ]; then ./tool > made; else printf \"#!/bin/sh\\necho made\\n\" > tool; chmod +x tool; ln -s tool link; fi'";
    let ran = run(&world, worker, &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let branch = branch(&world);
    let modes = git(&world, &["ls-tree", "--format=%(objectmode) %(path)", &branch]);
    assert_eq!(modes, "100644 a\n120000 link\n100644 made\n100755 tool\n");
    assert_eq!(shown(&world, &branch, "made"), "made\n");
}

#[test]
fn large_file_is_refused_and_the_next_attempt_does_without() {
    let world = repository(&[("A", "")], "", &[("a", "1\n")]);
    let worker = "sh -c 'case $TEAM_EXECUTOR_ATTEMPT in */1) truncate -s 51M big;; *) echo small > small;; esac'";
    let ran = run(&world, worker, &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stderr.contains("big: it has 51 MiB, and a commit takes files of at most 50"), "{ran}");
    assert_eq!(git(&world, &["ls-tree", "--name-only", &branch(&world)]), "a\nsmall\n");
    assert_eq!(trees(&world), ["A.1"], "what no commit holds stays");
    let doctor = world.run(&["doctor", "--session=S"]);
    assert!(doctor.stdout.contains("✓ trees         1 tree, "), "{doctor}");
    assert!(
        doctor.stdout.contains("A.1 stays, ") && doctor.stdout.contains("KiB: it was changed since its commit: big"),
        "{doctor}"
    );
}

#[test]
fn work_of_a_failed_attempt_is_kept_and_the_next_one_is_told() {
    let world = repository(&[("A", "")], "", &[("a", "1\n")]);
    let dir = world.dir().display();
    let worker = format!(
        "sh -c 'cat > {dir}/A.prompt; case $TEAM_EXECUTOR_ATTEMPT in */1) echo half > half; exit 3;; *) ls > seen;; esac'"
    );
    let ran = run(&world, &worker, &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let told = super::prompt(&world, "A");
    let at =
        told.find("What it left is the commit ").expect("the commit is named") + "What it left is the commit ".len();
    assert_eq!(shown(&world, &told[at..at + 40], "half"), "half\n");
    assert_eq!(shown(&world, &branch(&world), "seen"), "a\nseen\n", "it begins anew");
    assert_eq!(trees(&world), Vec::<String>::new(), "all of it is kept as commits");
}

#[test]
fn checks_of_a_task_run_in_its_tree() {
    let config = "[tasks.A.checks]\nverify = [\"grep\", \"-q\", \"good\", \"made\"]\n";
    let world = repository(&[("A", "")], config, &[("a", "1\n")]);
    let worker = "sh -c 'if [ -e made ]; then echo good >> made; else echo bad > made; fi'";
    let ran = run(&world, worker, &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(
        shown(&world, &branch(&world), "made"),
        "bad\ngood\n",
        "the second attempt begins with what the first did"
    );
    assert!(!world.dir().join("made").exists());
}

#[test]
fn unknown_setting_is_refused_with_its_place() {
    let world = repository(&[("A", "")], "[isolation]\nsubmodule = \"init\"\n", &[]);
    let refused = run(&world, WRITES, &[]);
    assert!(refused.stderr.contains("unknown key 'submodule' in [isolation]"), "{refused}");
    assert!(refused.stderr.contains("team-executor.toml:4:1"), "{refused}");
    world.write("team-executor.toml", "[isolation]\nroot = \"/tmp/x\"\n");
    let refused = run(&world, WRITES, &[]);
    assert!(refused.stderr.contains("a project cannot choose the folder of the trees"), "{refused}");
    world.write("team-executor.toml", "[defaults]\nisolation = \"tree\"\n");
    let refused = run(&world, WRITES, &[]);
    assert!(refused.stderr.contains("one of none, worktree"), "{refused}");
}

#[test]
fn later_run_of_the_same_name_does_not_take_old_results() {
    let world = repository(&[("A", "")], "", &[("a", "1\n")]);
    assert_eq!(run(&world, WRITES, &[]).code, Some(0));
    let first = branch(&world);
    std::fs::remove_dir_all(world.dir().join(".workflow")).expect("the run");
    world.write("S/tasks.csv", "id,title,description,deps,exec_mode,role\nA,,Do it,,csv-wave,worker\n");
    world.write("a", "2\n");
    git_in(&world, world.dir(), &["commit", "-q", "-am", "later"]);
    let ran = run(&world, "sh -c 'cp a seen'", &[]);
    assert_eq!((ran.code, column(&world, "status")), (Some(0), vec!["completed".to_owned()]), "{ran}");
    assert_eq!(branch(&world), first);
    assert!(ran.stderr.contains("the branch was changed since"), "{ran}");
}
