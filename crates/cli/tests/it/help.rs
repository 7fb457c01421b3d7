//! The help of every command, as people see it.

use team_executor_testkit::{Run, World};

use crate::fixtures::world as holding;

fn empty() -> World {
    World::new(env!("CARGO_BIN_EXE_team-executor"))
}

/// The commands or verbs that a help lists below these headings.
fn listed(help: &Run, is_heading: impl Fn(&str) -> bool) -> Vec<String> {
    let mut within = false;
    let mut found = Vec::new();
    for line in help.stdout.lines() {
        match line.strip_prefix("  ").and_then(|line| line.split_whitespace().next()) {
            Some(name) if within => found.push(name.to_owned()),
            Some(_) => {}
            None => within = is_heading(line),
        }
    }
    found
}

/// Every command in the help of the program.
pub(crate) fn commands(world: &World) -> Vec<String> {
    listed(&world.run(&["--help"]), |line| !["Options:", "Examples:", ""].contains(&line))
}

#[test]
fn help_of_every_command_is_pinned() {
    let world = empty();
    insta::assert_snapshot!("help", world.run(&["--help"]));
    let commands = commands(&world);
    assert!(commands.len() > 25, "{commands:?}");
    for command in commands {
        let help = world.run(&[&command, "--help"]);
        assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""), "{help}");
        insta::assert_snapshot!(format!("help-{command}"), help);
        for verb in listed(&help, |line| line == "Commands:").into_iter().filter(|verb| verb != "help") {
            insta::assert_snapshot!(format!("help-{command}-{verb}"), world.run(&[&command, &verb, "--help"]));
        }
    }
}

#[test]
fn bare_program_prints_help_where_there_is_no_session() {
    let bare = empty().run(&[]);
    assert_eq!((bare.code, bare.stderr.as_str()), (Some(0), ""), "{bare}");
    assert_eq!(bare.stdout, empty().run(&["--help"]).stdout);
}

#[test]
fn bare_program_runs_the_only_session() {
    let world = empty();
    world.write(".workflow/.team/TC-one/tasks.csv", "id,title,description,role\nA,Build,Build it,dev\n");
    let bare = world.run(&[]);
    assert_eq!(bare.code, Some(2), "{bare}");
    assert!(bare.stderr.starts_with("Session .workflow/.team/TC-one (the only one here)\n"), "{bare}");
}

#[test]
fn session_is_refused_where_it_means_nothing() {
    let world = holding("tc-spec-minimal");
    let before = world.tree();
    for command in
        [&["init", "Goal"][..], &["csv", "a.csv", "--instruction", "x"], &["schema"], &["sessions"], &["mcp"]]
    {
        let run = world.run(&[command, &["--session=tc-spec-minimal"]].concat());
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.starts_with(&format!("error: `{}` takes no --session\nhelp: ", command[0])), "{run}");
        assert!(!world.run(&[command[0], "--help"]).stdout.contains("--session"));
    }
    assert_eq!(world.tree(), before);
}
