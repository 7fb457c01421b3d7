//! The executor is killed at every call of git; nothing is lost, and nothing is done twice.

use std::os::unix::fs::PermissionsExt as _;

use super::{authors, branch, git, repository, run, shown, users};

/// A git that kills its caller at its n-th call, before or after the command.
const DEADLY: &str = r#"#!/bin/sh
count=$(cat "$HOME/calls" 2>/dev/null || echo 0)
count=$((count + 1))
echo $count > "$HOME/calls"
deadly=$(cat "$HOME/deadly" 2>/dev/null || echo 0)
if [ "$count" = "$deadly" ] && [ -e "$HOME/before" ]; then rm "$HOME/deadly"; kill -9 $PPID; exit 1; fi
GIT "$@"
code=$?
if [ "$count" = "$deadly" ]; then rm -f "$HOME/deadly"; kill -9 $PPID; fi
exit $code
"#;

const WORKER: &str =
    "sh -c 'sed -i \"s/^$TEAM_EXECUTOR_TASK$/$TEAM_EXECUTOR_TASK done/\" a.txt; echo x > own-$TEAM_EXECUTOR_TASK'";

/// What every run must come to, however often it was killed.
fn comes_to(world: &team_executor_testkit::World) -> (String, Vec<String>) {
    let branch = branch(world);
    assert_eq!(shown(world, &branch, "a.txt"), "A done\n-\n-\n-\nB done\n-\n-\n-\nC done\n");
    assert_eq!(authors(world, &branch), ["A", "B", "C"], "each change exactly once");
    (git(world, &["rev-parse", &format!("{branch}^{{tree}}")]), users(world))
}

fn begun() -> team_executor_testkit::World {
    let list = [("A", ""), ("B", ""), ("C", "A;B")];
    let config = "[merge]\nverify = [\"test\", \"-e\", \"a.txt\"]\n";
    let mut world = repository(&list, config, &[("a.txt", "A\n-\n-\n-\nB\n-\n-\n-\nC\n")]);
    let bin = super::home(&world).join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    std::fs::write(bin.join("git"), DEADLY.replace("GIT ", "/usr/local/bin/git ")).expect("a program");
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).expect("a program");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    world.env("PATH", &path);
    world
}

/// R: G-02
#[test]
fn killed_at_any_call_of_git_the_run_comes_to_the_same() {
    let world = begun();
    let ran = run(&world, WORKER, &["-c", "2"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let (tree, _) = comes_to(&world);
    let calls: usize =
        std::fs::read_to_string(super::home(&world).join("calls")).expect("calls").trim().parse().expect("a number");
    assert!(calls > 30, "{calls}");
    let mut killed = 0;
    for (nth, deadly) in (1..=calls).step_by(7).enumerate() {
        let world = begun();
        let before = users(&world);
        std::fs::write(super::home(&world).join("deadly"), deadly.to_string()).expect("a number");
        if nth % 2 == 0 {
            std::fs::write(super::home(&world).join("before"), "").expect("a mark");
        }
        let first = run(&world, WORKER, &["-c", "2"]);
        killed += usize::from(first.code.is_none());
        if first.code.is_none() {
            let again = run(&world, WORKER, &["-c", "2"]);
            assert_eq!(again.code, Some(0), "killed at {deadly}: {first}{again}");
        }
        let (same, after) = comes_to(&world);
        assert_eq!((same, after), (tree.clone(), before), "killed at {deadly}");
    }
    assert!(killed > 4, "{killed} were killed");
}
