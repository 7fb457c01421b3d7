//! How the program answers when it is called in a wrong or unusual way.

use team_executor_testkit::World;
use team_executor_testkit::limited::*;

use crate::fixtures::world as holding;

/// R: S-01
#[test]
fn without_a_session_nothing_happens() {
    let world = empty();
    for args in [&["-y"][..], &["validate"], &["plan"]] {
        let run = world.run(args);
        assert_eq!(run.code, Some(2), "{run}");
        assert_eq!(run.stdout, "");
        assert!(run.stderr.starts_with("error: Session required. Usage: --session=<path-to-TC-folder>\n"), "{run}");
    }
}

/// R: S-02
#[test]
fn a_missing_folder_names_its_near_matches() {
    let world = empty();
    world.write(".workflow/.team/TC-auth-2026-02-27/team-session.json", "{}");
    world.write(".workflow/.team/TC-billing-2026-03-01/team-session.json", "{}");
    let run = world.run(&["validate", "--session=.workflow/.team/TC-auth-2026-02-28"]);
    insta::assert_snapshot!(run, @r"
    $ team-executor validate --session=.workflow/.team/TC-auth-2026-02-28
    ------- stderr -------
    error: Session directory not found: .workflow/.team/TC-auth-2026-02-28
    help: did you mean --session=.workflow/.team/TC-auth-2026-02-27?
    help: list the sessions below .workflow/: team-executor sessions
    [exit status: 2]
    ");
}

#[test]
fn a_file_is_no_session() {
    let world = empty();
    world.write("notes.txt", "hello");
    insta::assert_snapshot!(world.run(&["validate", "--session=notes.txt"]), @r"
    $ team-executor validate --session=notes.txt
    ------- stderr -------
    error: Session directory not found: notes.txt
    help: this is a file; name the folder that holds the session's files
    [exit status: 2]
    ");
}

#[test]
fn nothing_is_run_without_an_agent_or_without_being_asked() {
    let world = holding("tc-spec-minimal");
    insta::assert_snapshot!(world.run(&["--session=tc-spec-minimal"]), @r"
    $ team-executor --session=tc-spec-minimal
    ------- stderr -------
    error: no agent was named, so nothing was started
    help: add --agent NAME, or --agent-command CMD for a program of your own
    help: list the agents that are installed: team-executor agents
    help: or set agent in [defaults] of team-executor.toml; `team-executor config`
          shows what is set
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["run", "--session=tc-spec-minimal", "--agent-command=true"]), @r"
    $ team-executor run --session=tc-spec-minimal --agent-command=true
    ------- stderr -------
    error: the start was not confirmed, so nothing was started
    help: add -y to start without being asked
    [exit status: 2]
    ");
}

#[test]
fn an_option_in_front_of_a_command_is_refused_and_never_ignored() {
    let world = holding("tc-spec-minimal");
    let before = world.tree();
    insta::assert_snapshot!(world.run(&["--budget-wall", "1s", "-c1", "run", "--session=tc-spec-minimal"]), @r"
    $ team-executor --budget-wall 1s -c1 run --session=tc-spec-minimal
    ------- stderr -------
    error: --budget-wall has no effect in front of `run`
    help: write it after `run`: team-executor run --budget-wall
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["-y", "validate", "--session=tc-spec-minimal"]), @r"
    $ team-executor -y validate --session=tc-spec-minimal
    ------- stderr -------
    error: --yes has no effect in front of `validate`
    help: leave it out: `validate` has no such option
    [exit status: 2]
    ");
    for args in [
        &["--strict", "validate"][..],
        &["--agent-command", "true", "-y", "run"],
        &["--continue=EX-nope", "resume"],
        &["--session=tc-spec-minimal", "-c", "2", "msg", "list"],
    ] {
        let run = world.run(&[args, &["--session=tc-spec-minimal"]].concat());
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(" has no effect in front of `"), "{run}");
    }
    let run = world.run(&["--format", "json", "status", "--session=tc-spec-minimal"]);
    assert!(run.code == Some(2) && run.stdout.contains("\"type\":\"refused\""), "{run}");
    assert_eq!(world.tree(), before, "nothing was started");
    let run = world.run(&["--session=tc-spec-minimal", "validate", "--strict"]);
    assert_eq!(run.code, Some(0), "the session may stand anywhere: {run}");
    let run = world.run(&["--format", "json", "msg", "list", "--session=tc-spec-minimal"]);
    assert!(run.code == Some(0) && run.stdout.starts_with('{'), "so may what all verbs of a command have: {run}");
}

/// The folder's name is the session's where the files give none, whatever way leads there.
#[test]
fn a_session_is_found_by_any_path_that_leads_to_it() {
    let world = empty();
    let tasks = r#"[{"id":1,"title":"A","description":"A","role":"r","deps":[],"wave":1,"status":"pending"}]"#;
    let folder = world.write("my wörk/会话 1/tasks.json", tasks).parent().expect("a folder").to_owned();
    let absolute = format!("--session={}", folder.display());
    for session in
        ["--session=my wörk/会话 1", "--session=my wörk/会话 1/", "--session=./my wörk/../my wörk/会话 1", &absolute]
    {
        let run = world.run(&["validate", session]);
        assert_eq!(run.code, Some(0), "{run}");
        assert!(run.stdout.contains("Session 会话 1 is valid (tasks-json): 1 task,"), "{run}");
    }
    let output = world.command(&["validate", "--session=."]).current_dir(&folder).limited_output();
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains(" --> ./tasks.json:1:8\n") && text.contains("Session 会话 1 is valid"), "{text}");
}

#[test]
fn the_dialect_can_be_told() {
    let world = holding("tc-state-beside");
    let run = |dialect: &str| world.run(&["validate", "--session=tc-state-beside", "--dialect", dialect]);
    assert!(run("tc").stdout.contains("is valid (tc): 3 tasks"), "{}", run("tc"));
    assert!(run("tasks-json").stdout.contains("is valid (tasks-json): 2 tasks"), "{}", run("tasks-json"));
    assert!(run("tasks-csv").stdout.starts_with("error: Invalid session: tasks.csv missing\n"), "{}", run("tasks-csv"));
    let wrong = run("toml");
    assert_eq!(wrong.code, Some(2), "{wrong}");
    assert!(wrong.stderr.contains("expected tc, tls, tasks-json, tasks-csv, task-files or chain"), "{wrong}");
}

#[test]
fn unknown_name_is_answered_with_known_ones() {
    let world = empty();
    let run = world.run(&["schema", "nope"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.starts_with("error: there is no schema 'nope'\nhelp: the schemas are: team-session, "), "{run}");
    let run = world.run(&["validat", "--session=x"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("did you mean `validate`?"), "{run}");
}

#[test]
fn without_a_workflow_folder_there_are_no_sessions() {
    insta::assert_snapshot!(empty().run(&["sessions"]), @r"
    $ team-executor sessions
    ------- stderr -------
    error: there is no .workflow/ folder in .
    help: name the folder that holds it: team-executor sessions DIR
    help: or make a session: team-executor init 'Fix the export'
    [exit status: 2]
    ");
}

#[test]
fn sessions_lists_sessions_runs_and_their_problems() {
    let world = workflow();
    insta::assert_snapshot!(world.run(&["sessions"]), @r#"
    $ team-executor sessions
    ------- stdout -------
    PATH                                          DIALECT     STATUS          DONE  NOTES
    .workflow/.csv-wave/EX-gift-cards-2026-03-01  tasks-csv   active           1/2  1 failed
    .workflow/.team/TC-broken-2026-03-02          tc          invalid            -  2 errors
    .workflow/.team/TC-gift-cards-2026-03-01      tc          paused           1/3
    [exit status: 0]
    "#);
    let before = world.tree();
    assert_eq!(world.run(&["sessions", "."]).code, Some(0));
    assert_eq!(world.tree(), before);
}

#[test]
fn sessions_as_data() {
    insta::assert_snapshot!(workflow().run(&["sessions", "--format", "json"]), @r#"
    $ team-executor sessions --format json
    ------- stdout -------
    {
      "version": 1,
      "sessions": [
        {
          "path": ".workflow/.csv-wave/EX-gift-cards-2026-03-01",
          "id": "EX-gift-cards-2026-03-01",
          "kind": "run",
          "dialect": "tasks-csv",
          "status": "active",
          "tasks": 2,
          "completed": 1,
          "failed": 1,
          "errors": 0,
          "warnings": 0,
          "same_id_as": null
        },
        {
          "path": ".workflow/.team/TC-broken-2026-03-02",
          "id": "TC-broken-2026-03-02",
          "kind": "session",
          "dialect": "tc",
          "status": "invalid",
          "tasks": 0,
          "completed": 0,
          "failed": 0,
          "errors": 2,
          "warnings": 0,
          "same_id_as": null
        },
        {
          "path": ".workflow/.team/TC-gift-cards-2026-03-01",
          "id": "TC-gift-cards-2026-03-01",
          "kind": "session",
          "dialect": "tc",
          "status": "paused",
          "tasks": 3,
          "completed": 1,
          "failed": 0,
          "errors": 0,
          "warnings": 0,
          "same_id_as": null
        }
      ]
    }
    [exit status: 0]
    "#);
}

/// A project with a session, a broken session, a run, and a folder that is neither.
fn workflow() -> World {
    let world = holding("tc-spec-literal");
    let session = world.dir().join("tc-spec-literal");
    world.copy_tree(&session, ".workflow/.team/TC-gift-cards-2026-03-01");
    world.copy_tree(session.join("role-specs"), ".workflow/.team/TC-broken-2026-03-02/role-specs");
    world.write(".workflow/.team/notes/todo.md", "- nothing\n");
    let table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n\
                 1,One,Do one,,,csv-wave,builder,1,completed,Done,\n\
                 2,Two,Do two,1,,csv-wave,builder,2,failed,,No time\n";
    world.write(".workflow/.csv-wave/EX-gift-cards-2026-03-01/tasks.csv", table);
    world
}

fn empty() -> World {
    World::new(env!("CARGO_BIN_EXE_team-executor"))
}

/// R: P-06
#[test]
fn nested_session_is_listed_and_names_its_runs() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let team = ".workflow/sessions/WFS-auth/runs/r1/work/team";
    world.write(&format!("{team}/tasks.csv"), "id,title,description,role,status\nA,t,Do it,dev,pending\n");
    world.write(".workflow/sessions/WFS-auth/runs/r2/work/team/TC-x/tasks.csv", "id,title,role\nA,t,dev\n");
    let listed = world.run(&["sessions", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let all = listed["sessions"].as_array().expect("sessions");
    let ids: Vec<_> = all.iter().map(|row| (row["path"].as_str(), row["id"].as_str())).collect();
    let other = ".workflow/sessions/WFS-auth/runs/r2/work/team/TC-x";
    assert_eq!(ids, [(Some(team), Some("WFS-auth-r1")), (Some(other), Some("TC-x"))]);
    let run = world.run(&["run", &format!("--session={team}"), "--agent-command", "true", "-y"]);
    assert_eq!(run.code, Some(0), "{run}");
    let runs = std::fs::read_dir(world.dir().join(".workflow/.csv-wave")).expect("runs");
    let names: Vec<_> = runs.map(|run| run.expect("a run").file_name().into_string().expect("UTF-8")).collect();
    assert!(names.iter().any(|name| name.starts_with("EX-WFS-auth-2")), "{names:?}");
}
