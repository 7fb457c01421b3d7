//! Roles that only review: they get the tree of the work, and nothing builds on what they change in it.

use team_executor_testkit::World;

use super::{authors, branch, does, git, prompt, repository, run, scripted, shown, starts, trees, users};
use crate::run::{folder, read};

/// A session of these tasks, each with what it depends on and its role.
fn session(list: &[(&str, &str, &str)], config: &str) -> World {
    let tasks: Vec<_> = list.iter().map(|(id, deps, _)| (*id, *deps)).collect();
    let world = repository(&tasks, config, &[("a.txt", "1\n")]);
    let mut table = read(world.dir().join("S/tasks.csv"));
    for (id, deps, role) in list {
        let row = |role: &str| format!("\n{id},,Do it,{deps},,csv-wave,{role},");
        assert!(table.contains(&row("worker")), "{table}");
        table = table.replace(&row("worker"), &row(role));
    }
    world.write("S/tasks.csv", table);
    world.write(".git/info/exclude", "S\n.workflow\nteam-executor.toml\n*.prompt\n*.starts\n");
    world
}

/// What a reviewer does who builds, tries a change and commits it.
const TRIES: &str = "cat a.txt > saw.log; echo broken > a.txt; git add -A; git commit -q -m tried; echo x > built.o";

/// R: G-01, G-02, G-05
#[test]
fn change_of_a_reviewer_is_kept_beside_its_result() {
    let world = session(&[("A", "", "worker"), ("R", "A", "code-reviewer"), ("C", "R", "worker")], "");
    does(&world, "A", "echo A > a.txt");
    does(&world, "R", TRIES);
    does(&world, "C", "ls > list.txt; cat a.txt > seen.txt");
    let before = users(&world);
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!((ran.code, starts(&world, "R")), (Some(0), 1), "{ran}");
    let branch = branch(&world);
    assert_eq!(git(&world, &["ls-tree", "-r", "--name-only", &branch]), "a.txt\nlist.txt\nseen.txt\n");
    assert_eq!((shown(&world, &branch, "a.txt"), shown(&world, &branch, "seen.txt")), ("A\n".into(), "A\n".into()));
    assert_eq!(authors(&world, &branch), ["A", "C"], "no commit of the reviewer is in it");
    assert_eq!(shown(&world, &branch, "list.txt"), "a.txt\nlist.txt\n", "nothing builds on it");
    let words = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let kept = git(&world, &["for-each-ref", "--format=%(objectname)", "refs/team-executor/**/R/1/lost"]);
    let why = "R only reviews, so files that it changed in its tree are no part of its result: a.txt, built.o, saw.log";
    assert!(words.contains(&format!("{why}; the commit {} keeps them", kept.trim())), "{words}");
    assert_eq!(shown(&world, kept.trim(), "a.txt"), "broken\n");
    assert_eq!(shown(&world, kept.trim(), "saw.log"), "A\n", "it saw the work that it reviews");
    assert_eq!(shown(&world, kept.trim(), "built.o"), "x\n");
    assert!(prompt(&world, "R").contains("files that you change are no part of your result"));
    assert!(prompt(&world, "C").contains("everything that is not ignored is committed for you"));
    assert_eq!((trees(&world), users(&world)), (Vec::<String>::new(), before), "its tree is kept as a commit");
}

/// R: G-02
#[test]
fn verdict_of_a_reviewer_counts_whatever_it_left() {
    for (reviewer, role, says) in [
        ("R", "evaluator", r#""data":{"verdict":"reject","critique":"too short"}"#),
        ("CHECKPOINT-001", "worker", r#""supervision_verdict":"block""#),
    ] {
        let world = session(&[("A", "", "worker"), (reviewer, "A", role)], "");
        does(&world, "A", "echo $TEAM_EXECUTOR_ATTEMPT > a.txt");
        let accepts = r#"{"status":"completed","findings":"fine","supervision_verdict":"pass"}"#;
        let refuses = format!(r#"{{"status":"completed","findings":"no",{says}}}"#);
        let first = format!("[ $(wc -l < \"{}/{reviewer}.starts\") -gt 1 ]", world.dir().display());
        let report = format!("if {first}; then r='{accepts}'; else r='{refuses}'; fi");
        does(&world, reviewer, &format!("{TRIES}; {report}; echo \"$r\" > $TEAM_EXECUTOR_RESULT"));
        let ran = run(&world, &scripted(&world), &[]);
        assert!(ran.stderr.contains("only reviews"), "{reviewer}: {ran}");
        assert_eq!(starts(&world, reviewer), if role == "evaluator" { 2 } else { 1 }, "{reviewer}: {ran}");
        if role == "evaluator" {
            assert_eq!((ran.code, starts(&world, "A")), (Some(0), 2), "{ran}");
            assert!(prompt(&world, "A").contains("too short"), "{}", prompt(&world, "A"));
            assert_eq!(git(&world, &["ls-tree", "-r", "--name-only", &branch(&world)]), "a.txt\n");
        } else {
            assert_ne!(ran.code, Some(0), "it is blocked: {ran}");
            assert!(ran.to_string().contains("a reviewer blocked it"), "{ran}");
        }
    }
}

/// R: G-01
#[test]
fn scope_for_a_reviewer_counts_instead() {
    let list = [("A", "", "worker"), ("R", "A", "reviewer")];
    let world = session(&list, "[roles.reviewer]\nscope = [\"notes/**\"]\n");
    does(&world, "A", "echo A > a.txt");
    does(&world, "R", "mkdir notes; echo R > notes/r.md");
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!((ran.code, ran.stderr.contains("only reviews")), (Some(0), false), "{ran}");
    assert_eq!(shown(&world, &branch(&world), "notes/r.md"), "R\n");
    let world = session(&list, "[tasks.R]\nscope = []\n");
    does(&world, "A", "echo A > a.txt");
    does(&world, "R", "case $TEAM_EXECUTOR_ATTEMPT in */1) echo R > a.txt;; *) git checkout -q HEAD~1 -- a.txt;; esac");
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!((ran.code, starts(&world, "R")), (Some(0), 2), "none is sent back: {ran}");
    assert_eq!(shown(&world, &branch(&world), "a.txt"), "A\n");
}

/// R: G-05
#[test]
fn file_that_no_commit_takes_stays_in_the_tree_of_a_reviewer() {
    let world = session(&[("A", "", "worker"), ("R", "A", "reviewer")], "");
    does(&world, "A", "echo A > a.txt");
    does(&world, "R", "truncate -s 60M core.dump; echo R > a.txt");
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!((ran.code, starts(&world, "R")), (Some(0), 1), "{ran}");
    let words = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("core.dump: it has 60 MiB") && words.contains("they stay in its tree"), "{words}");
    assert_eq!(trees(&world), ["R.1"]);
    assert_eq!(read(super::root(&world).join("R.1/a.txt")), "R\n");
    assert_eq!(shown(&world, &branch(&world), "a.txt"), "A\n");
    assert!(folder(&world).join("context.md").exists());
}
