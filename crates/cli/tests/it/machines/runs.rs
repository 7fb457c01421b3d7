//! A run whose work is done on hosts leaves what a run on one machine leaves.

use serde_json::Value;
use team_executor_testkit::World;
use team_executor_testkit::limited::*;

use super::*;

/// Prints, delivers two files, a small and a large one, and reports.
const WORKER: &str = "echo out of $TEAM_EXECUTOR_TASK; echo err >&2; cat > /dev/null; \
    echo small > $TEAM_EXECUTOR_ARTIFACTS/small.md; mkdir $TEAM_EXECUTOR_ARTIFACTS/sub; \
    head -c 400000 /dev/zero | tr '\\0' x > $TEAM_EXECUTOR_ARTIFACTS/sub/large.txt; \
    printf '{\"status\":\"completed\",\"findings\":\"did %s\"}' $TEAM_EXECUTOR_TASK > $TEAM_EXECUTOR_RESULT";

fn file(world: &World, path: &str) -> String {
    run::read(run::folder(world).join(path))
}

#[test]
fn results_logs_and_artifacts_of_hosts_are_where_local_ones_are() {
    let Some(nats) = server("a run on two hosts") else { return };
    let world = run::tasks(&[("A", ""), ("B", ""), ("C", "A;B")]);
    let _hosts = ["one", "two"].map(|name| Host::start(&world, &nats, name, &["--slots", "1"]));
    let done = run_with(&world, &nats, WORKER, &["--local", "0"]);
    assert_eq!(done.code, Some(0), "{done}");
    let local = run::tasks(&[("A", ""), ("B", ""), ("C", "A;B")]);
    assert_eq!(run::run(&local, WORKER, &[]).code, Some(0));
    let names = |world: &World| -> Vec<String> {
        let tree = world.tree().to_string();
        let below = tree.lines().filter(|line| line.contains("/artifacts/") || line.contains("/logs/"));
        below.filter(|line| !line.contains(".times")).map(str::to_owned).collect()
    };
    assert_eq!(names(&world), names(&local));
    for task in ["A", "B", "C"] {
        assert_eq!(file(&world, &format!("logs/{task}.1.out")), format!("out of {task}\n"));
        assert_eq!(file(&world, &format!("logs/{task}.1.err")), "err\n");
        assert_eq!(file(&world, &format!("artifacts/{task}/small.md")), "small\n");
        assert_eq!(file(&world, &format!("artifacts/{task}/sub/large.txt")).len(), 400_000);
    }
    assert_eq!(run::column(&world, "findings"), run::column(&local, "findings"));
    assert_eq!(completions(&world).into_values().collect::<Vec<_>>(), [1, 1, 1]);
    let given = file(&world, ".executor/hosts");
    assert!(given.contains("\"host\":\"one\"") && given.contains("\"host\":\"two\""), "both had work: {given}");
}

#[test]
fn task_on_a_host_reads_what_its_dependency_delivered() {
    let Some(nats) = server("what a task on a host reads") else { return };
    let world = run::tasks(&[("A", ""), ("B", "A")]);
    world.write("S/wisdom/learnings.md", "known to all");
    let _host = Host::start(&world, &nats, "one", &["--slots", "1"]);
    let worker = "case $TEAM_EXECUTOR_TASK in A) echo of A > $TEAM_EXECUTOR_ARTIFACTS/a.txt;; \
        B) cat $TEAM_EXECUTOR_ARTIFACTS/../A/a.txt $TEAM_EXECUTOR_SESSION/wisdom/learnings.md;; esac";
    let done = run_with(&world, &nats, worker, &["--local", "0"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(file(&world, "logs/B.1.out"), "of A\nknown to all");
}

#[test]
fn work_is_shared_between_this_machine_and_hosts() {
    let Some(nats) = server("work that is shared with hosts") else { return };
    let world = run::tasks(&[("A", ""), ("B", ""), ("C", "")]);
    let _host = Host::start(&world, &nats, "one", &["--slots", "1"]);
    // None ends before all three have begun: so they run at the same time, in two folders.
    let meet = world.dir().with_file_name("meet");
    let worker = format!(
        "pwd; echo . >> {0}; for n in $(seq 3000); do [ $(wc -l < {0}) = 3 ] && exit 0; sleep 0.02; done; exit 1",
        meet.display()
    );
    let done = run_with(&world, &nats, &worker, &["--local", "2", "--retries", "0"]);
    assert_eq!(done.code, Some(0), "{done}");
    let here = world.dir().display().to_string();
    let folders = ["A", "B", "C"].map(|task| file(&world, &format!("logs/{task}.1.out")).trim_end().to_owned());
    assert_eq!(folders.iter().filter(|folder| **folder == here).count(), 2, "{folders:?}");
}

#[test]
fn no_secret_is_in_any_message() {
    let Some(nats) = server("what messages hold") else { return };
    let mut world = run::tasks(&[("A", "")]);
    world.env("MY_SECRET", "passed-s3cr3t").env("UNNAMED", "unnamed-s3cr3t");
    world.env("MY_SECRET", "passed-s3cr3t").env("UNNAMED", "unnamed-s3cr3t");
    let listener = nats.listen();
    let _host = Host::start(&world, &nats, "one", &["--slots", "1"]);
    let noted = world.dir().with_file_name("token");
    let token = format!("printenv | sed -n 's/^TEAM_EXECUTOR_TOK.*=//p' > {}", noted.display());
    let worker = format!("test \"${{#MY_SECRET}}\" = 13 && test -z \"$UNNAMED\" && {token}");
    let more = ["--local", "0", "--pass-env", "MY_SECRET", "--env", "SET=set-s3cr3t", "--retries", "0"];
    let done = run_with(&world, &nats, &worker, &more);
    assert_eq!(done.code, Some(0), "the host gives it from its own environment: {done}");
    let heard = listener.heard();
    assert!(heard.contains("TEAM_EXECUTOR_RESULT"), "all messages are heard");
    let token = run::read(noted);
    assert!(token.trim().len() > 8, "the host makes a token of its own: {token}");
    for secret in ["passed-s3cr3t", "unnamed-s3cr3t", "set-s3cr3t", "TEAM_EXECUTOR_TOKEN", token.trim()] {
        assert!(!heard.contains(secret), "{secret}");
    }
}

#[test]
fn hosts_are_listed_with_what_they_are() {
    let Some(nats) = server("the list of hosts") else { return };
    let world = run::tasks(&[("A", "")]);
    let mut host = Host::start(&world, &nats, "big one", &["--slots", "3", "--label", "gpu=yes"]);
    let url = nats.url();
    let listed = |world: &World| -> Value {
        let listed = world.run(&["hosts", "--backend", &url, "--format", "json"]);
        serde_json::from_str(&listed.stdout).unwrap_or_else(|error| panic!("{error}: {listed}"))
    };
    let row = listed(&world)["hosts"][0].clone();
    assert_eq!((row["host"].as_str(), row["state"].as_str()), (Some("big one"), Some("ready")));
    assert_eq!((row["slots"].as_u64(), row["labels"]["gpu"].as_str()), (Some(3), Some("yes")));
    let table = world.run(&["hosts", "--backend", &url]);
    assert!(table.stdout.contains("big one  ready"), "{table}");
    host.signal("-TERM");
    assert_eq!(host.process.limited_wait().code(), Some(0));
    assert_eq!(listed(&world)["hosts"][0]["state"].as_str(), Some("gone"));
}

#[test]
fn backend_check_says_what_runs_can_rely_on() {
    let Some(nats) = server("backend check") else { return };
    let world = run::tasks(&[("A", "")]);
    let checked = world.run(&["backend", "check", "--backend", &nats.url()]);
    assert_eq!(checked.code, Some(0), "{checked}");
    for line in ["version   good", "work      good", "replicas  note"] {
        assert!(checked.stdout.contains(line), "{checked}");
    }
}

#[test]
fn backend_that_cannot_be_reached_is_an_error_with_a_help() {
    let world = run::tasks(&[("A", "")]);
    let refused = run::run(&world, "true", &["--backend", "nats://127.0.0.1:1"]);
    assert_eq!(refused.code, Some(74), "{refused}");
    assert!(refused.stderr.contains("help: check it with: team-executor backend check"), "{refused}");
    let none = world.run(&["hosts"]);
    assert!(none.stderr.contains("no backend is named"), "{none}");
    let secret = run::run(&world, "true", &["--backend", "nats://me:s3cr3t@127.0.0.1:1"]);
    assert!(secret.code == Some(2) && !secret.stderr.contains("s3cr3t"), "{secret}");
}

#[test]
fn project_cannot_choose_the_backend() {
    let world = run::tasks(&[("A", "")]);
    world.write("team-executor.toml", "[backend]\nurl = \"nats://127.0.0.1:1\"\n");
    let refused = run::run(&world, "true", &[]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("a project cannot choose the backend"), "{refused}");
}

#[test]
fn trees_without_a_worker_on_this_machine_are_refused() {
    let world = run::tasks(&[("A", "")]);
    world.write("team-executor.toml", "[defaults]\nisolation = \"worktree\"\n");
    let refused = run::run(&world, "true", &["--backend", "nats://127.0.0.1:1", "--local", "0"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("--local 0 leaves no worker here"), "{refused}");
}
