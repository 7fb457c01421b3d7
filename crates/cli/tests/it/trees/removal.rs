//! Trees that stay are listed and pruned, and never with work that is nowhere else.

use serde_json::Value;

use super::{repository, run, trees, users};

const ALL: [&str; 6] = ["prune", "--older-than", "0s", "--keep", "0", "--session=S"];

/// R: G-05, N-05
#[test]
fn pruned_trees_are_those_whose_work_is_kept_as_commits() {
    let config = "[merge]\nland = \"none\"\n";
    let world = repository(&[("A", ""), ("B", "A"), ("C", "")], config, &[(".gitignore", "*.o\n")]);
    let ran = run(&world, "sh -c 'echo $TEAM_EXECUTOR_TASK > own-$TEAM_EXECUTOR_TASK; echo x > x.o'", &[]);
    assert_eq!((ran.code, trees(&world)), (Some(0), vec!["A.1".into(), "B.1".into(), "C.1".into()]), "{ran}");
    let doctor = world.run(&["doctor", "--session=S"]);
    assert!(doctor.stdout.contains("A.1 stays, ") && doctor.stdout.contains("the run has not landed"), "{doctor}");
    let late = super::root(&world).join("C.1/late.txt");
    std::fs::write(&late, "written after the end").expect("a file");
    let (users_before, before) = (users(&world), world.tree());
    let shown = world.run(&[&ALL[..], &["--dry-run", "--format", "json"]].concat());
    let found: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(found["freed"][0]["part"], "trees", "{found}");
    assert!(found["freed"][0]["bytes"].as_u64().is_some_and(|bytes| bytes > 10_000), "{found}");
    let why = "tree C.1: it was changed since its commit: late.txt";
    assert_eq!(found["kept"][0]["why"], why, "{found}");
    assert!(world.tree() == before, "a look changes nothing");
    let done = world.run(&[&ALL[..], &["-y"]].concat());
    assert_eq!((done.code, trees(&world)), (Some(0), vec!["C.1".to_owned()]), "{done}");
    assert!(done.stdout.contains(why), "{done}");
    assert_eq!(world.run(&["archive", "--session=S"]).code, Some(0));
    assert_eq!(world.run(&["export", "--session=S", "--to", "../out"]).code, Some(0));
    let stays = world.run(&[&ALL[..], &["-y"]].concat());
    assert!(stays.stdout.contains(why) && late.is_file(), "the run that knows of its tree stays with it: {stays}");
    std::fs::remove_file(late).expect("it is there");
    let done = world.run(&[&ALL[..], &["-y"]].concat());
    assert_eq!((done.code, trees(&world)), (Some(0), vec![]), "{done}");
    let gone = world.run(&[&ALL[..], &["-y"]].concat());
    assert!(gone.stdout.contains("Freed") || gone.stdout.contains("Nothing to free"), "{gone}");
    assert_eq!(users(&world), users_before, "commits of all tasks are still there");
    let refs = super::git(&world, &["for-each-ref", "--format=%(refname)", "refs/team-executor"]);
    assert_eq!(refs.matches("/result\n").count(), 3, "{refs}");
}
