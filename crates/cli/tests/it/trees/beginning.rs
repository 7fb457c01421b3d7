//! How trees are turned on: by `init`, and by a hint of `run`.

use super::{git, repository, run, trees};
use crate::run::read;

/// A repository without a session.
fn plain() -> team_executor_testkit::World {
    let world = repository(&[("A", ""), ("B", "")], "", &[("a.txt", "1\n")]);
    std::fs::remove_file(world.dir().join("team-executor.toml")).expect("it is there");
    world
}

#[test]
fn init_in_a_repository_gives_each_task_a_tree() {
    let world = plain();
    std::fs::remove_dir_all(world.dir().join("S")).expect("it is there");
    let made = world.run(&["init", "Fix invoice export"]);
    assert_eq!(made.code, Some(0), "{made}");
    assert!(made.stdout.contains("Made team-executor.toml: each task has a working tree of its own"), "{made}");
    assert_eq!(git(&world, &["status", "--porcelain", "-uall", "--", "a.txt"]), "");
    let ran =
        world.run(&["run", "--agent-command", "sh -c 'echo x > own-$TEAM_EXECUTOR_TASK'", "-y", "--retries", "0"]);
    assert!(!ran.stderr.contains("change this checkout at once"), "{ran}");
    assert!(!git(&world, &["for-each-ref", "refs/team-executor"]).is_empty(), "{ran}");
    world.write("team-executor.toml", "[defaults]\nretries = 1\n");
    let second = world.run(&["init", "Fix invoice import", "--format", "json"]);
    assert!(second.code == Some(0) && second.stdout.contains("\"config\": null"), "{second}");
    assert_eq!(read(world.dir().join("team-executor.toml")), "[defaults]\nretries = 1\n", "what is there stays");
    let outside = crate::run::tasks(&[("A", "")]);
    assert_eq!(outside.run(&["init", "Fix invoice export"]).code, Some(0));
    assert!(!outside.dir().join("team-executor.toml").exists());
}

#[test]
fn tasks_that_share_a_checkout_are_remarked_in_one_line() {
    let world = plain();
    let shared = run(&world, "true", &["-c", "2"]);
    let words: Vec<&str> = shared.stderr.split_whitespace().collect();
    assert_eq!(words.join(" ").matches("several tasks change this checkout at once").count(), 1, "{shared}");
    for (config, workers) in [("", "1"), ("[defaults]\nisolation = \"none\"\n", "2")] {
        let world = plain();
        world.write("team-executor.toml", config);
        let ran = run(&world, "true", &["-c", workers]);
        assert!(ran.code == Some(0) && !ran.stderr.contains("checkout at once"), "{ran}");
    }
}

#[test]
fn rehearsal_makes_no_trees() {
    let world = repository(&[("A", ""), ("B", "A")], "", &[("a.txt", "1\n")]);
    let rehearsed = world.run(&["rehearse", "--session=S", "--speed", "100000"]);
    assert_eq!(rehearsed.code, Some(0), "{rehearsed}");
    assert_eq!((trees(&world), git(&world, &["for-each-ref", "refs/team-executor"])), (vec![], String::new()));
}

#[test]
fn edit_that_leaves_its_tree_is_noticed_and_named() {
    for (script, named) in [
        ("echo mine >> DIR/a.txt; echo new > DIR/new", Some("a.txt, new")),
        ("git -C DIR -c user.name=x -c user.email=x@y commit -q --allow-empty -m x", Some("HEAD")),
        ("echo fine > a.txt", None),
    ] {
        let world = repository(&[("A", "")], "[isolation]\ndirty = \"ignore\"\n", &[("a.txt", "1\n")]);
        world.write("mine", "not committed, and not changed either\n");
        let script = script.replace("DIR", &world.dir().display().to_string());
        let ran = run(&world, &format!("sh -c '{script}'"), &[]);
        assert_eq!(ran.code, Some(0), "{ran}");
        let words = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        match named {
            Some(files) => {
                let told = format!("while A worked, your checkout changed: {files}. If you did not do that");
                assert_eq!(words.matches(&told).count(), 1, "{ran}");
            }
            None => assert!(!words.contains("your checkout changed"), "{ran}"),
        }
    }
}
