//! What the README shows is what the program prints.

use std::path::{Path, PathBuf};

use team_executor_testkit::World;

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

#[test]
fn the_plan_of_the_bundled_session_is_the_one_in_the_readme() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the README is there");
    let plan = plan("text");
    assert!(readme.contains(plan.trim_end()), "the README shows another plan than:\n{plan}");
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
