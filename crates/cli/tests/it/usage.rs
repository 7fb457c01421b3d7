//! How the program answers when it is called in a wrong or unusual way.

use std::os::unix::fs::{PermissionsExt, symlink};

use team_executor_testkit::World;

fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_team-executor"))
}

/// R: S-01
#[test]
fn without_a_session_nothing_happens() {
    let world = world();
    for args in [&[][..], &["validate"], &["plan"]] {
        let run = world.run(args);
        assert_eq!(run.code, Some(2), "{run}");
        assert_eq!(run.stdout, "");
        assert!(run.stderr.starts_with("error: Session required. Usage: --session=<path-to-TC-folder>\n"), "{run}");
    }
}

/// R: S-02
#[test]
fn a_missing_folder_names_its_near_matches() {
    let world = world();
    world.write(".workflow/.team/TC-auth-2026-02-27/team-session.json", "{}");
    world.write(".workflow/.team/TC-billing-2026-03-01/team-session.json", "{}");
    let run = world.run(&["validate", "--session=.workflow/.team/TC-auth-2026-02-28"]);
    insta::assert_snapshot!(run, @"");
}

#[test]
fn a_file_is_no_session() {
    let world = world();
    world.write("notes.txt", "hello");
    insta::assert_snapshot!(world.run(&["validate", "--session=notes.txt"]), @"");
}
