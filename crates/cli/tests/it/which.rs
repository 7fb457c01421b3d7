//! Commands without `--session`, or with a part of a session's name.

use team_executor_testkit::{Run, Terminal, World};

/// A world with these sessions below `.workflow/.team/`, each of two tasks.
fn world(sessions: &[&str]) -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    for name in sessions {
        write(&world, name);
    }
    world.write("src/deep/notes.txt", "");
    world
}

fn write(world: &World, name: &str) {
    let table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error,run_on\n\
                 A,Build,Build it,,,csv-wave,worker,1,pending,,,\n\
                 B,Test,Test it,A,A,csv-wave,worker,2,pending,,,always\n";
    world.write(&format!(".workflow/.team/{name}/tasks.csv"), table);
}

/// Runs the program in a folder of the world.
fn at(world: &mut World, folder: &str, args: &[&str]) -> Run {
    world.through(["env", "-C", folder].map(str::to_owned).to_vec()).run(args)
}

fn run_of<'a>(worker: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--agent-command", worker, "-y"], more].concat()
}

#[test]
fn only_session_is_found_from_any_folder_of_the_project() {
    let mut world = world(&["TC-shop"]);
    for (folder, up) in [(".", ""), ("src", "../"), ("src/deep", "../../")] {
        let run = at(&mut world, folder, &["validate"]);
        assert_eq!(run.code, Some(0), "{run}");
        assert!(run.stderr.starts_with(&format!("Session {up}.workflow/.team/TC-shop (the only one here)\n")), "{run}");
    }
    let run = at(&mut world, "src/deep", &run_of("echo did it", &[]));
    assert_eq!(run.code, Some(0), "{run}");
    let runs = std::fs::read_dir(world.dir().join(".workflow/.csv-wave")).expect("the run is beside its session");
    assert_eq!(runs.filter(|run| run.as_ref().is_ok_and(|run| run.path().is_dir())).count(), 1);
}

#[test]
fn session_around_the_current_folder_is_meant() {
    let mut world = world(&["TC-one", "TC-two"]);
    world.write(".workflow/.team/TC-two/artifacts/a.txt", "");
    for (folder, path) in [(".workflow/.team/TC-two", "."), (".workflow/.team/TC-two/artifacts", "..")] {
        let run = at(&mut world, folder, &["plan", "--format", "json"]);
        assert_eq!(run.code, Some(0), "{run}");
        assert_eq!(run.stderr, format!("Session {path} (the current folder is in it)\n"));
    }
}

/// R: S-01
#[test]
fn several_sessions_are_listed_where_no_one_can_be_asked() {
    let world = world(&["TC-one", "TC-two"]);
    let run = world.run(&["status"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert_eq!(
        run.stderr,
        "error: Session required. Usage: --session=<path-to-TC-folder>\n\
         help: list the sessions below .workflow/: team-executor sessions\n\
         help: name one of these\n\
         help: --session=.workflow/.team/TC-one\n\
         help: --session=.workflow/.team/TC-two\n"
    );
}

#[test]
fn person_chooses_among_several_sessions() {
    let world = world(&["TC-one", "TC-two"]);
    let mut terminal = Terminal::start(world.command(&["validate"]));
    terminal.wait_for("Which session? [1-2]").say("2");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("TC-two"), "{shown}");
    let mut terminal = Terminal::start(world.command(&["validate"]));
    terminal.wait_for("Which session? [1-2]").say("7");
    assert_eq!(terminal.end().0, Some(2));
}

#[test]
fn session_with_the_unfinished_run_is_meant() {
    let world = world(&["TC-one", "TC-two", "TC-three"]);
    let failed = world.run(&run_of("false", &["--session=TC-two", "--retries=0"]));
    assert_eq!(failed.code, Some(1), "{failed}");
    let paused = world.run(&run_of("false", &["--session=TC-one", "--retries=0", "--cadence=wave"]));
    assert_eq!(paused.code, Some(3), "{paused}");
    let status = world.run(&["status"]);
    assert_eq!(status.code, Some(0), "{status}");
    assert!(status.stderr.starts_with("Session .workflow/.team/TC-one (its run EX-one-"), "{status}");
}

#[test]
fn part_of_a_name_means_the_only_session_that_has_it() {
    let mut world = world(&["TC-auth-login", "TC-auth", "TC-billing"]);
    for (given, found) in [("bill", "TC-billing"), ("TC-auth", "TC-auth"), ("login", "TC-auth-login")] {
        let run = at(&mut world, "src", &["plan", &format!("--session={given}")]);
        assert_eq!(run.code, Some(0), "{run}");
        assert!(run.stdout.contains(&format!("Session         {found} ")), "{run}");
    }
    let several = at(&mut world, ".", &["plan", "--session=auth"]);
    assert_eq!(several.code, Some(2), "{several}");
    assert!(several.stderr.starts_with("error: 2 sessions have 'auth' in their name\n"), "{several}");
    let missing = world.run(&["plan", "--session=nothing-like-it"]);
    assert!(missing.stderr.starts_with("error: Session directory not found: nothing-like-it\n"), "{missing}");
}

#[test]
fn variable_names_the_session_and_the_option_wins() {
    let mut world = world(&["TC-one", "TC-two"]);
    world.env("TEAM_EXECUTOR_SESSION", ".workflow/.team/TC-two");
    let run = world.run(&["plan"]);
    assert!(run.stderr.starts_with("Session .workflow/.team/TC-two (from TEAM_EXECUTOR_SESSION)\n"), "{run}");
    let run = world.run(&["plan", "--session=TC-one"]);
    assert!(run.stdout.contains("Session         TC-one "), "{run}");
}
