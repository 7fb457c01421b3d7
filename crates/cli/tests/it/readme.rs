//! What the README shows is what the program prints.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use team_executor_testkit::World;
use team_executor_testkit::limited::LimitedCommand as _;

use crate::tutorial::compare;

const EXAMPLE: &str = "examples/TC-repository-report-2026-11-15";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn plan(format: &str) -> String {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.copy_tree(root().join(EXAMPLE), EXAMPLE);
    let run = world.run(&["plan", &format!("--session={EXAMPLE}"), "--format", format]);
    assert_eq!((run.stderr.as_str(), run.code), ("", Some(0)), "the bundled session is not clean");
    run.stdout
}

/// `cargo run` of the example, with the program that is tested: all tests build it.
const CARGO: &str =
    "#!/bin/sh\n[ \"$1 $2 $3 $4 $5\" = 'run --quiet --profile quick --' ] && shift 5 && exec team-executor \"$@\"\n";

/// A clone of the repository, as far as the bundled session looks at it.
fn clone() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.copy_tree(root().join("examples"), "examples");
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "rust-toolchain.toml"] {
        world.copy_tree(root().join(file), file);
    }
    let cargo = world.dir().join("../bin/cargo");
    std::fs::write(&cargo, CARGO).expect("written");
    std::fs::set_permissions(cargo, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    let commit = "git -c user.email=me@localhost commit -qm one --allow-empty";
    let script = format!(
        "git init -q && git add . && {commit} --author 'A <a@localhost>' && {commit} --author 'B <b@localhost>'"
    );
    let mut git = Command::new("sh");
    git.args(["-ec", &script]).current_dir(world.dir()).env_clear().env("PATH", "/usr/bin:/bin");
    git.env("HOME", world.dir()).env("GIT_COMMITTER_NAME", "C");
    assert!(git.limited_status().success(), "git makes a repository");
    world
}

#[test]
fn commands_of_the_readme_print_what_it_shows() {
    compare(&clone(), &root().join("README.md"));
}

/// `UPDATE_EXPECTED=1` draws it anew: look at it.
#[test]
fn the_picture_in_the_readme_is_the_one_that_is_drawn() {
    let path = root().join("docs/example-plan.svg");
    let picture = plan("svg");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&path, &picture).expect("the picture can be written");
    }
    assert_eq!(std::fs::read_to_string(&path).expect("the picture is there"), picture);
}
