//! Every command that the program suggests works when it is pasted.

use std::collections::BTreeSet;

use team_executor_testkit::{Run, World};

use crate::run::{arguments, tasks};

/// How a place is made where the program suggests something: the world, and what it printed.
type Scene = fn() -> (World, Run);

const SCENES: &[(&str, Scene)] = &[
    ("no session", || {
        let world = world();
        said(world, &["status"])
    }),
    ("several sessions", || {
        let world = world();
        world.write(".workflow/.csv-wave/a/tasks.csv", TABLE);
        world.write(".workflow/.csv-wave/b/tasks.csv", TABLE);
        said(world, &["run", "--agent-command", "true", "-y"])
    }),
    ("a session that was not run", || said(tasks(&[("A", "")]), &["status", "--session=S"])),
    ("a run that is asked before there is one", || said(tasks(&[("A", "")]), &["pause", "--session=S"])),
    ("an invalid session", || {
        let world = world();
        world.write("S/tasks.csv", TABLE.replace(",pending", ",X"));
        said(world, &["plan", "--session=S"])
    }),
    ("an invalid session that is run", || {
        let world = world();
        world.write("S/tasks.csv", TABLE.replace(",pending", ",X"));
        said(world, &["run", "--session=S", "--agent-command", "true", "-y"])
    }),
    ("an unknown task", || said(tasks(&[("A", "")]), &["prompt", "B", "--session=S"])),
    ("an unknown artifact", || said(ended("true"), &["artifacts", "show", "x", "--session=S"])),
    ("a task that was never tried", || said(failed_after_failure(), &["logs", "B", "--session=S"])),
    ("no agent", || said(tasks(&[("A", "")]), &["run", "--session=S", "-y"])),
    ("a new session", || said(world(), &["init", "Fix invoice export"])),
    ("a session that is there", || {
        let world = world();
        assert_eq!(world.run(&["init", "Fix invoice export"]).code, Some(0));
        said(world, &["init", "Fix invoice export"])
    }),
    ("a plan", || said(tasks(&[("A", "")]), &["plan", "--session=S"])),
    ("a failed run", || {
        let world = tasks(&[("A", ""), ("B", "A")]);
        said(world, &arguments("--session=S", "echo bad >&2; exit 1", &["--retries", "0"]))
    }),
    ("the status of a failed run", || said(failed_after_failure(), &["status", "--session=S"])),
    ("a completed run", || said(tasks(&[("A", "")]), &arguments("--session=S", "true", &[]))),
    ("the status of a completed run", || said(ended("true"), &["status", "--session=S"])),
    ("a finished run that is paused", || said(ended("true"), &["pause", "--session=S"])),
    ("a finished run that is retried", || said(ended("true"), &["retry", "A", "--session=S"])),
    ("a failed run that is retried", || said(failed_after_failure(), &["retry", "A", "--session=S"])),
    ("a task that is given to no agent", || {
        said(failed_after_failure(), &["retry", "A", "--with", "stranger", "--session=S"])
    }),
    ("a part of a plan", || {
        let world = tasks(&[("A", ""), ("B", "A")]);
        said(world, &arguments("--session=S", "true", &["--only", "A"]))
    }),
    ("a run that is in the middle", || said(half(), &["status", "--session=S"])),
    ("a run at a checkpoint", || {
        let world = tasks(&[("A", ""), ("QUALITY-001", "A"), ("B", "QUALITY-001")]);
        said(world, &arguments("--session=S", "true", &[]))
    }),
    ("the status at a checkpoint", || said(reviewed(), &["status", "--session=S"])),
    ("a checkpoint without a review", || said(unreviewed(), &["checkpoint", "--session=S"])),
    ("a checkpoint where nothing was reviewed", || said(unreviewed(), &["checkpoint", "reject", "x", "--session=S"])),
    ("all runs", || said(ended("true"), &["runs"])),
    ("the sessions", || said(ended("true"), &["sessions"])),
    ("a task that a person ends", || said(half(), &["task", "update", "B", "--status", "completed", "--session=S"])),
    ("an archive that is not finished", || said(half(), &["archive", "--session=S"])),
    ("doctor", || said(half(), &["doctor", "--session=S"])),
    ("a limit", || said(half(), &["limit", "3", "--session=S"])),
    ("a conversation that is not there", || said(half(), &["talk", "send", "B", "hello", "--session=S"])),
    ("changes of trees", || said(isolated(), &["changes", "--session=S"])),
    ("changes of an unknown task", || said(isolated(), &["changes", "X", "--session=S"])),
    ("merging", || said(isolated(), &["merge", "--session=S"])),
    ("a merge that is not needed", || said(isolated(), &["merge", "retry", "A", "--session=S"])),
    ("a branch that is not moved", || {
        let world = isolated();
        let moved = world.shell("git branch -q -f $(git branch --list 'te/*' --format='%(refname:short)') main");
        assert_eq!(moved.code, Some(0), "{moved}");
        said(world, &["merge", "land", "--session=S"])
    }),
    ("changes without trees", || said(ended("true"), &["changes", "--session=S"])),
    ("an unknown role of a limit", || said(half(), &["limit", "3", "--role", "stranger", "--session=S"])),
    ("an unknown message", || said(half(), &["msg", "read", "M-9", "--session=S"])),
    ("a part that is not there", || {
        said(half(), &["run", "--only", "Z", "--session=S", "--agent-command", "true", "-y"])
    }),
    ("a proposal that is not there", || said(half(), &["task", "accept", "Z", "--session=S"])),
    ("a dependency that is not there", || {
        said(half(), &["task", "create", "N", "--title", "n", "--assignee", "worker", "--deps", "Z", "--session=S"])
    }),
    ("a misspelt command", || said(world(), &["statsu"])),
    ("a session that is named like a file", || said(tasks(&[("A", "")]), &["plan", "S"])),
    ("an argument that is missing", || said(world(), &["init"])),
    ("a value that is no number", || said(world(), &["run", "-c", "many"])),
    ("a misspelt option", || said(world(), &["status", "--sesion=S"])),
];

const TABLE: &str = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n\
                     A,,Do it,,,csv-wave,dev,1,pending,,\n";

fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_team-executor"))
}

fn said(world: World, args: &[&str]) -> (World, Run) {
    let run = world.run(args);
    (world, run)
}

/// A run of one task whose worker is this.
fn ended(worker: &str) -> World {
    let world = tasks(&[("A", "")]);
    let run = world.run(&arguments("--session=S", worker, &["--retries", "0"]));
    assert!(matches!(run.code, Some(0 | 1)), "{run}");
    world
}

/// A run of a task with a tree of its own.
fn isolated() -> World {
    let world = crate::trees::repository(&[("A", "")], "", &[("a.txt", "1\n")]);
    let run = crate::trees::run(&world, "sh -c 'echo 2 > a.txt'", &[]);
    assert_eq!(run.code, Some(0), "{run}");
    world
}

fn failed_after_failure() -> World {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let run = world.run(&arguments("--session=S", "[ -e again ] || { touch again; exit 1; }", &["--retries", "0"]));
    assert_eq!(run.code, Some(1), "{run}");
    world
}

/// A run of which one task is done and another pending.
fn half() -> World {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let run = world.run(&arguments("--session=S", "true", &["--only", "A"]));
    assert!(run.code.is_some(), "{run}");
    world
}

/// A run that waits behind a reviewer's task.
fn reviewed() -> World {
    let world = tasks(&[("A", ""), ("QUALITY-001", "A"), ("B", "QUALITY-001")]);
    assert_eq!(world.run(&arguments("--session=S", "true", &[])).code, Some(3));
    world
}

/// A run that waits behind a task that reviews nothing.
fn unreviewed() -> World {
    let world = tasks(&[("A", ""), ("B", "A")]);
    world.write("team-executor.toml", "[tasks.A]\ncheckpoint = true\n");
    assert_eq!(world.run(&arguments("--session=S", "true", &[])).code, Some(3));
    world
}

/// The commands in a text: between backticks, or to the end of a line.
fn commands(text: &str) -> BTreeSet<String> {
    const NAME: &str = "team-executor ";
    let mut found = BTreeSet::new();
    for line in text.lines() {
        // Clap's own line on usage is no command.
        for (at, _) in line.match_indices(NAME).filter(|_| !line.contains("Usage: ")) {
            let (before, rest) = (&line[..at], &line[at..]);
            if before.ends_with('`') {
                found.extend(rest.split('`').next().map(str::to_owned));
            } else if before.ends_with(": ") || before.trim().is_empty() {
                found.insert(rest.trim_end().to_owned());
            }
        }
    }
    found
}

/// A command as a user would complete it, and confirm where it asks.
fn completed(command: &str) -> String {
    let words = [("REASON", "gone"), ("'./work.sh'", "true"), ("PATH", "S"), (" TEXT", " text"), (" DIR", " .")];
    let text = words.iter().fold(command.to_owned(), |text, (word, other)| text.replace(word, other));
    if text.starts_with("team-executor run ") { text + " -y" } else { text }
}

#[test]
fn suggested_commands_work_when_pasted() {
    let (mut tried, mut wrong) = (0, String::new());
    for (name, scene) in SCENES {
        let (_, run) = scene();
        for command in commands(&format!("{}\n{}", run.stdout, run.stderr)) {
            let (world, _) = scene();
            let pasted = world.shell(&format!("{} </dev/null", completed(&command)));
            // What looks at an invalid session says so with 2; everything else must be understood and done.
            let is_look =
                ["validate", "plan", "doctor"].iter().any(|verb| command.contains(&format!("team-executor {verb}")));
            let is_fine = match pasted.code {
                Some(2) => is_look && !pasted.stderr.contains("unexpected argument"),
                code => matches!(code, Some(0 | 1 | 3)),
            };
            if !is_fine {
                wrong += &format!("{name}: {command:?} was suggested by\n{run}and ends so:\n{pasted}\n");
            }
            tried += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(tried >= 20, "only {tried} commands were suggested");
}
