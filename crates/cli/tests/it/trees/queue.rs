//! What waits to be merged: how it is shown, how many are tried together, and how often a failure is tried again.

use std::process::Stdio;

use serde_json::Value;
use team_executor_testkit::World;
use team_executor_testkit::limited::*;

use super::{branch, commit, does, git, repository, run, scripted, shown, starts, trees};
use crate::run::{arguments, folder, read};

/// Tests of the whole that wait until they may end.
fn held() -> World {
    let world =
        repository(&[("A", ""), ("B", "")], "[merge]\nverify = [\"sh\", \"check.sh\"]\nbatch = 1\n", &[("a", "")]);
    let dir = world.dir().display();
    world.write("check.sh", format!("echo run >> {dir}/checks.starts; until [ -e {dir}/go ]; do sleep 0.01; done"));
    commit(&world);
    for task in ["A", "B"] {
        does(&world, task, &format!("printf '1\\n2\\n' > {task}"));
    }
    world
}

fn json(world: &World, words: &[&str]) -> Value {
    let ran = world.run(words);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

/// R: G-04, U-05
#[test]
fn place_in_the_queue_is_shown_while_tests_run() {
    let world = held();
    let worker = scripted(&world);
    let mut command =
        world.command(&arguments("--session=S", &worker, &["--trust-project", "-c", "2", "--format", "json"]));
    let told = world.dir().with_file_name("events");
    let events = std::fs::File::create(&told).expect("a file");
    let mut child = command.stdout(Stdio::from(events)).stderr(Stdio::null()).spawn().expect("it starts");
    let states = || {
        let status = json(&world, &["status", "--session=S", "--format", "json"]);
        let of = |nth: usize| status["tasks"][nth]["change"]["state"].as_str().unwrap_or_default().to_owned();
        let mut states = [of(0), of(1)];
        states.sort();
        states
    };
    limited_until("one to be tested", || (states() == ["testing", "waiting"]).then_some(()));
    let text = world.run(&["merge", "--session=S"]).stdout;
    assert!(text.contains("esting") && text.contains("aiting"), "{text}");
    assert_eq!(starts(&world, "checks"), 1);
    world.write("go", "");
    assert_eq!(child.limited_wait().code(), Some(0));
    assert_eq!((states(), starts(&world, "checks")), (["merged".to_owned(), "merged".to_owned()], 2), "one at a time");
    let events = read(told);
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).cloned().collect::<Vec<_>>();
    let base = git(&world, &["rev-parse", "HEAD"]).trim().to_owned();
    for event in of("task_changed") {
        let task = event["task"].as_str().expect("a task").to_owned();
        let commit = event["commit"].as_str().expect("a commit");
        assert_eq!((event["base"].as_str(), &event["attempt"]), (Some(base.as_str()), &1.into()), "{event}");
        assert_eq!((&event["files"], &event["added"], &event["removed"]), (&1.into(), &2.into(), &0.into()), "{event}");
        assert_eq!(shown(&world, commit, &task), "1\n2\n");
    }
    let sizes: Vec<usize> =
        of("tasks_tested").iter().map(|event| event["tasks"].as_array().expect("tasks").len()).collect();
    assert_eq!((sizes, of("task_changed").len(), of("task_merged").len()), (vec![1, 1], 2, 2));
    assert_eq!(of("branch_landed")[0]["branch"], branch(&world));
}

#[test]
fn failure_of_the_tests_is_tried_again_as_often_as_wanted() {
    for (config, attempts, checks) in [("", 1, 2), ("flaky = 0\n", 2, 2), ("flaky = 2\n", 1, 2)] {
        let config = format!("[merge]\nverify = [\"sh\", \"check.sh\"]\n{config}");
        let world = repository(&[("A", "")], &config, &[("a", "")]);
        let dir = world.dir().display();
        let check = format!("echo run >> {dir}/checks.starts; [ $(wc -l < {dir}/checks.starts) -gt 1 ]");
        world.write("check.sh", check);
        commit(&world);
        does(&world, "A", "echo $TEAM_EXECUTOR_ATTEMPT > a");
        let ran = run(&world, &scripted(&world), &[]);
        assert_eq!(
            (ran.code, starts(&world, "A"), starts(&world, "checks")),
            (Some(0), attempts, checks),
            "{config}: {ran}"
        );
    }
}

/// R: G-01
#[test]
fn trees_lie_where_the_user_wants_them() {
    let mut world = repository(&[("A", "")], "", &[("a", "1\n")]);
    let (config, root) = (world.dir().with_file_name("own-config"), world.dir().with_file_name("elsewhere"));
    world.env("XDG_CONFIG_HOME", config.to_str().expect("text"));
    std::fs::create_dir_all(config.join("team-executor")).expect("a folder");
    let text = format!("[defaults]\nisolation = \"worktree\"\n[isolation]\nroot = {root:?}\n");
    std::fs::write(config.join("team-executor/config.toml"), text).expect("written");
    does(&world, "A", "pwd > where");
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let place = shown(&world, &branch(&world), "where");
    assert!(place.starts_with(root.to_str().expect("text")), "{place}");
}

/// R: G-01, G-02
#[test]
fn isolation_is_chosen_for_roles_and_tasks_and_the_base_for_all() {
    let list = [("A", ""), ("B", "A"), ("C", "B")];
    let world = repository(&list, "", &[("a", "1\n")]);
    git(&world, &["tag", "v1"]);
    world.write("a", "2\n");
    git(&world, &["commit", "-q", "-a", "-m", "later"]);
    let config =
        "[isolation]\nbase = \"v1\"\n[roles.worker]\nisolation = \"worktree\"\n[tasks.B]\nisolation = \"none\"\n";
    world.write("team-executor.toml", config);
    does(&world, "A", "cat a > saw-A; echo A > own-A");
    does(&world, "B", "cat a > saw-B");
    does(&world, "C", "cat a own-A > saw-C; ls > list-C");
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let branch = branch(&world);
    assert_eq!(shown(&world, &branch, "saw-A"), "1\n", "the base is the tag, not what is checked out");
    assert_eq!(read(world.dir().join("saw-B")), "2\n", "it worked in the checkout");
    assert_eq!(shown(&world, &branch, "saw-C"), "1\nA\n", "a task without a tree hands on what it builds on");
    assert!(!shown(&world, &branch, "list-C").contains("saw-B"), "and adds nothing");
    assert_eq!(git(&world, &["merge-base", &branch, "v1"]), git(&world, &["rev-parse", "v1"]));
    assert!(!world.dir().join("own-A").exists() && trees(&world).is_empty());
    let report = read(folder(&world).join("context.md"));
    assert!(report.contains("- changes: 2 files, +2 -0; merged\n"), "{report}");
}

/// R: G-04
#[test]
fn tests_whose_keeper_is_killed_run_again_and_blame_no_task() {
    let world = repository(&[("A", "")], "[merge]\nverify = [\"sh\", \"check.sh\"]\nflaky = 0\n", &[("a", "")]);
    let dir = world.dir().display();
    let check = format!("echo run >> {dir}/checks.starts; [ $(wc -l < {dir}/checks.starts) -gt 2 ] || kill -9 $PPID");
    world.write("check.sh", check);
    commit(&world);
    does(&world, "A", "echo $TEAM_EXECUTOR_ATTEMPT > a");
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!((ran.code, starts(&world, "A"), starts(&world, "checks")), (Some(0), 1, 3), "{ran}");
    assert!(shown(&world, &branch(&world), "a").ends_with("/1\n"));
}
