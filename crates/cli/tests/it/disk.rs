//! Session folders that hold what a repository cannot: files without permission, pipes, links, very large files.

use std::fs::{File, Permissions, set_permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use team_executor_testkit::limited::*;
use team_executor_testkit::{Run, World};

use crate::fixtures::world;

const SESSION: &str = "tc-spec-minimal";

fn validate(world: &World) -> Run {
    world.run(&["validate", "--session=tc-spec-minimal"])
}

/// Runs the program as a user whom permissions bind. The superuser reads everything, so for this run it gives up the
/// capabilities that let it.
fn validate_bound_by(path: &Path, world: &World) -> Run {
    set_permissions(path, Permissions::from_mode(0o000)).expect("permissions can be taken away");
    let run = if File::open(path).is_err() {
        validate(world)
    } else {
        let program = env!("CARGO_BIN_EXE_team-executor");
        let session = format!("--session={}", world.dir().join(SESSION).display());
        let bound = World::new("setpriv");
        bound.run(&["--bounding-set=-dac_override,-dac_read_search", program, "validate", &session])
    };
    set_permissions(path, Permissions::from_mode(0o755)).expect("permissions can be given back");
    run
}

#[test]
fn a_file_without_permission_is_named() {
    let world = world(SESSION);
    let run = validate_bound_by(&world.dir().join(SESSION).join("task-analysis.json"), &world);
    assert_eq!(run.code, Some(2), "{run}");
    let first = "error: Invalid session: task-analysis.json unreadable: permission denied\n";
    assert!(run.stdout.starts_with(first), "{run}");
    assert!(run.stdout.contains("help: look at it in the session folder with: ls -ld task-analysis.json\n"), "{run}");
}

#[test]
fn a_folder_without_permission_is_named() {
    let world = world(SESSION);
    let run = validate_bound_by(&world.dir().join(SESSION), &world);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.starts_with("error: Session directory not readable: "), "{run}");
    assert!(run.stderr.contains(": permission denied\nhelp: check it with: ls -ld "), "{run}");
}

#[test]
fn role_specs_without_permission_are_named() {
    let world = world(SESSION);
    let run = validate_bound_by(&world.dir().join(SESSION).join("role-specs"), &world);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stdout.starts_with("error: Invalid session: role-specs/ unreadable: permission denied\n"), "{run}");
}

/// What only another user may look into is no reason to say that there is nothing, or to begin anew beside it.
#[test]
fn unreadable_run_is_an_error_not_a_missing_run() {
    let mut world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("S/tasks.csv", "id,title,description,deps,role,wave,status\nA,A,Do it,,dev,1,pending\n");
    let done = world.run(&["--session=S", "-y", "--agent-command", "true"]);
    assert_eq!(done.code, Some(0), "{done}");
    let runs = world.dir().join(".workflow/.csv-wave");
    let is_run = |path: &PathBuf| path.to_string_lossy().contains("/EX-S-");
    let mut entries = std::fs::read_dir(&runs).expect("runs").map(|entry| entry.expect("an entry").path());
    let run = entries.find(is_run).expect("a run");
    for closed in [&run, &runs] {
        set_permissions(closed, Permissions::from_mode(0o000)).expect("permissions can be taken away");
        if std::fs::read_dir(closed).is_ok() {
            world.through(["setpriv", "--bounding-set=-dac_override,-dac_read_search"].map(str::to_owned).into());
        }
        let shown = closed.strip_prefix(world.dir()).expect("inside").display().to_string();
        for words in [
            &["status"][..],
            &["doctor"],
            &["logs", "A"],
            &["retry", "A"],
            &["export", "--to=out"],
            &["run", "-y", "--agent-command", "true"],
        ] {
            let refused = world.run(&[words, &["--session=S"]].concat());
            assert_eq!(refused.code, Some(74), "{refused}");
            let said = format!("error: {shown} cannot be read: permission denied\n");
            assert!(refused.stderr.contains(&said), "{refused}");
            assert!(refused.stderr.contains(&format!("help: see whose it is with: ls -ld {shown}\n")), "{refused}");
        }
        let listed = world.run(&["sessions"]);
        assert_eq!(listed.stdout.contains("denied"), closed == &run, "{listed}");
        set_permissions(closed, Permissions::from_mode(0o755)).expect("permissions can be given back");
    }
}

#[test]
fn denied_write_ends_with_74() {
    let mut world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("P/S/tasks.csv", "id,title,description,deps,role,wave,status\nA,A,Do it,,dev,1,pending\n");
    for folder in ["P/S", "P"] {
        let path = world.dir().join(folder);
        set_permissions(&path, Permissions::from_mode(0o555)).expect("permissions can be taken away");
    }
    if std::fs::create_dir(world.dir().join("P/new")).is_ok() {
        std::fs::remove_dir(world.dir().join("P/new")).expect("removed");
        world.through(["setpriv", "--bounding-set=-dac_override,-dac_read_search"].map(str::to_owned).into());
    }
    for words in [
        &["msg", "log", "hi"][..],
        &["task", "create", "B", "--title", "B", "--description", "Do it", "--assignee", "dev"],
        &["rehearse"],
    ] {
        let mut command = world.command(&[words, &["--session=S"]].concat());
        let output = command.current_dir(world.dir().join("P")).limited_output();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(74), "{words:?}: {said}");
        assert!(said.to_lowercase().contains("permission denied") && said.contains("help: "), "{said}");
    }
    for folder in ["P", "P/S"] {
        let path = world.dir().join(folder);
        set_permissions(&path, Permissions::from_mode(0o755)).expect("permissions can be given back");
    }
}

#[test]
fn a_current_folder_that_was_removed_is_named() {
    let world = world(SESSION);
    let session = format!("--session={}", world.dir().join(SESSION).display());
    let gone = "mkdir -p gone && cd gone && rmdir ../gone && exec \"$0\" \"$@\"";
    for words in [
        &["doctor"][..],
        &["doctor", &session],
        &["status", &session],
        &["retry", "--failed", &session],
        &["run", "-y", "--agent-command", "true", &session],
        &["run", "-y", "--agent-command", "true", "--continue", &session],
    ] {
        let mut command = Command::new("sh");
        command.args(["-c", gone, env!("CARGO_BIN_EXE_team-executor")]).args(words).current_dir(world.dir());
        let output = command.limited_output();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("error: the current folder cannot be found: "), "{words:?}: {said}");
        assert!(output.status.code() == Some(2) && !said.contains("make room"), "{words:?}: {said}");
    }
}

/// Only its size is looked at, so it costs nothing.
#[test]
fn a_huge_file_is_refused_unread() {
    let world = world(SESSION);
    let limit = 256 << 20;
    for file in ["team-session.json", "task-analysis.json"] {
        let path = world.dir().join(SESSION).join(file);
        File::create(path).and_then(|file| file.set_len(1 << 30)).expect("a sparse file");
        let run = validate(&world);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stdout.contains(&format!("error: Invalid session: {file} too large\n")), "{run}");
        assert!(run.stdout.contains(&format!("help: 1073741824 bytes, but the limit is {limit}")), "{run}");
    }
}

#[test]
fn a_pipe_is_not_waited_for() {
    let world = world(SESSION);
    let path = world.dir().join(SESSION).join("team-session.json");
    std::fs::remove_file(&path).expect("the file can be removed");
    let made = std::process::Command::new("mkfifo").arg(&path).limited_status();
    assert!(made.success());
    let run = validate(&world);
    assert_eq!(run.code, Some(2), "{run}");
    let first = "error: Invalid session: team-session.json unreadable: it is not a regular file\n";
    assert!(run.stdout.starts_with(first), "{run}");
}

#[test]
fn a_folder_is_no_file() {
    let world = world(SESSION);
    let path = world.dir().join(SESSION).join("task-analysis.json");
    std::fs::remove_file(&path).and_then(|()| std::fs::create_dir(&path)).expect("a folder in its place");
    let run = validate(&world);
    assert_eq!(run.code, Some(2), "{run}");
    let first = "error: Invalid session: task-analysis.json unreadable: it is not a regular file\n";
    assert!(run.stdout.starts_with(first), "{run}");
}

/// The file that the link leads to is valid, so only the link can be what is refused.
#[test]
fn no_link_leads_out_of_the_session() {
    let world = world(SESSION);
    let inside = world.dir().join(SESSION);
    for (file, target) in
        [("team-session.json", "../outside"), ("task-analysis.json", "/"), ("role-specs/builder.md", "../../outside")]
    {
        let path = inside.join(file);
        let outside = world.dir().join("outside");
        std::fs::rename(&path, &outside).expect("the file can be moved");
        let target = if target == "/" { outside.clone() } else { target.into() };
        symlink(target, &path).expect("a link");
        let run = validate(&world);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stdout.contains(&format!("{file} leaves the session folder\n")), "{run}");
        std::fs::rename(&outside, &path).expect("the file can be moved back");
        assert_eq!(validate(&world).code, Some(0));
    }
}

/// Only the role-specs that the session names are read: these are empty, and none is mentioned.
#[test]
fn unused_role_specs_are_not_read() {
    let world = world(SESSION);
    let folder = world.dir().join(SESSION).join("role-specs");
    for number in 0..10_000 {
        File::create(folder.join(format!("unused-{number}.md"))).expect("an empty file");
    }
    let run = validate(&world);
    assert_eq!(run.stdout, "Session TC-shop-2026-03-01 is valid (tc): 2 tasks, 1 edge, 2 waves\n");
}
