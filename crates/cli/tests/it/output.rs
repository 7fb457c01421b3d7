//! What the program prints, for people and for programs.

use std::process::Stdio;

use team_executor_testkit::World;
use team_executor_testkit::limited::*;

use crate::fixtures::world;

const COMMANDS: [&str; 9] = ["run", "status", "logs", "validate", "plan", "sessions", "schema", "completions", "man"];

/// The shape is a promise to scripts: what is here may be added to, and nothing else.
#[test]
fn validate_as_data() {
    let run =
        world("tc-unknown-dependency-near").run(&["validate", "--session=tc-unknown-dependency-near", "--format=json"]);
    insta::assert_snapshot!(run, @r#"
    $ team-executor validate --session=tc-unknown-dependency-near --format=json
    ------- stdout -------
    {
      "version": 1,
      "valid": false,
      "session": null,
      "path": "tc-unknown-dependency-near",
      "dialect": "tc",
      "tasks": null,
      "edges": null,
      "waves": null,
      "errors": 1,
      "warnings": 0,
      "findings": [
        {
          "severity": "error",
          "code": "unknown-dependency",
          "message": "task 'BUILD-002' depends on 'BUILD-01', which does not exist",
          "file": "tc-unknown-dependency-near/task-analysis.json",
          "line": 5,
          "column": 35,
          "label": "no task has this id",
          "times": 1,
          "related": [
            {
              "file": "tc-unknown-dependency-near/task-analysis.json",
              "line": 4,
              "column": 5,
              "label": "a task with a similar id"
            }
          ],
          "help": [
            "did you mean 'BUILD-001'?"
          ]
        }
      ],
      "hidden": []
    }
    [exit status: 2]
    "#);
}

#[test]
fn a_session_that_is_not_there_as_data() {
    insta::assert_snapshot!(empty().run(&["validate", "--session=none", "--format=json"]), @r#"
    $ team-executor validate --session=none --format=json
    ------- stdout -------
    {
      "version": 1,
      "valid": false,
      "session": null,
      "path": null,
      "dialect": null,
      "tasks": null,
      "edges": null,
      "waves": null,
      "errors": 1,
      "warnings": 0,
      "findings": [
        {
          "severity": "error",
          "code": "session-not-found",
          "message": "Session directory not found: none",
          "file": null,
          "line": null,
          "column": null,
          "label": null,
          "times": 1,
          "related": [],
          "help": [
            "list the sessions below .workflow/: team-executor sessions"
          ]
        }
      ],
      "hidden": []
    }
    [exit status: 2]
    "#);
}

#[test]
fn plan_as_data() {
    insta::assert_snapshot!(world("tc-strict").run(&["plan", "--session=tc-strict", "--format=json"]), @r#"
    $ team-executor plan --session=tc-strict --format=json
    ------- stdout -------
    {
      "version": 1,
      "session": "TC-shop-2026-03-01",
      "path": "tc-strict",
      "dialect": "tc",
      "status": "active",
      "requirement": "Let people pay with gift cards",
      "edges": 1,
      "tasks": [
        {
          "id": "BUILD-001",
          "title": "",
          "role": "builder",
          "exec_mode": "csv-wave",
          "wave": 1,
          "priority": "P1",
          "min_complexity": null,
          "judge": null,
          "status": "ready",
          "dependencies": [],
          "remaining": 2,
          "critical": true
        },
        {
          "id": "BUILD-002",
          "title": "",
          "role": "builder",
          "exec_mode": "csv-wave",
          "wave": 2,
          "priority": "P1",
          "min_complexity": null,
          "judge": null,
          "status": "pending",
          "dependencies": [
            "BUILD-001"
          ],
          "remaining": 1,
          "critical": true
        }
      ],
      "waves": [
        [
          "BUILD-001"
        ],
        [
          "BUILD-002"
        ]
      ],
      "critical_path": [
        "BUILD-001",
        "BUILD-002"
      ],
      "ready": [
        "BUILD-001"
      ],
      "roles": [
        {
          "name": "builder",
          "tasks": 2,
          "completed": 0
        }
      ],
      "injected_roles": [],
      "agents": [],
      "budgets": [],
      "held_back": [],
      "run": null,
      "estimate": null,
      "reconciliation": [],
      "findings": [
        {
          "severity": "warning",
          "code": "field-alias",
          "message": "`blockedBy` was read as `depends_on`",
          "file": "tc-strict/task-analysis.json",
          "line": 5,
          "column": 20,
          "label": null,
          "times": 1,
          "related": [],
          "help": []
        }
      ],
      "hidden": []
    }
    [exit status: 0]
    "#);
}

#[test]
fn plan_for_people() {
    insta::assert_snapshot!(world("tasks-csv-spec-literal").run(&["plan", "--session=tasks-csv-spec-literal"]), @r#"
    $ team-executor plan --session=tasks-csv-spec-literal
    ------- stdout -------
    Session         tasks-csv-spec-literal (tasks-csv)
    Tasks           4 tasks (1 done), 4 dependencies, 3 waves, critical path of 2

    Wave 1, 1 task
      ✓ BUILD-001  completed    P1  builder
        The field

    Wave 2, 1 task
      ○ BUILD-002  ready        P1  builder  interactive  after BUILD-001
        The check

    Wave 3, 2 tasks
      · TEST-001   pending      P1  tester                after BUILD-001, BUILD-002
        Tests
      ✗ TEST-002   failed       P1  tester                after BUILD-002
        Load

    Critical path   BUILD-002 -> TEST-001
    Ready           BUILD-002
    Roles           builder 2 (1 done), tester 2 (0 done)
    Corrections     none
    [exit status: 0]
    "#);
}

/// An invalid session has no plan; what is wrong with it goes where it does not mix with one.
#[test]
fn no_plan_for_an_invalid_session() {
    let world = world("tc-cycle-three");
    for format in ["text", "mermaid", "dot", "svg"] {
        let run = world.run(&["plan", "--session=tc-cycle-three", "--format", format]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(
            run.stderr.starts_with("error: circular dependency: BUILD-001 -> BUILD-003 -> BUILD-002 -> BUILD-001\n"),
            "{run}"
        );
        assert!(run.stderr.ends_with("No plan: the session has 1 error\n"), "{run}");
    }
    let plan = world.run(&["plan", "--session=tc-cycle-three", "--format", "json"]);
    let report = world.run(&["validate", "--session=tc-cycle-three", "--format", "json"]);
    assert_eq!((plan.code, plan.stdout, plan.stderr.as_str()), (Some(2), report.stdout, ""));
}

#[test]
fn every_format_of_a_plan_names_every_task() {
    let world = world("tc-spec-literal");
    for format in ["text", "json", "mermaid", "dot", "svg"] {
        let run = world.run(&["plan", "--session=tc-spec-literal", "--format", format]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
        for task in ["BUILD-001", "BUILD-002", "TEST-001"] {
            assert!(run.stdout.contains(task), "{format}: {run}");
        }
    }
}

/// Every way to get colours, and to get none: the most general wish against them wins.
///
/// R: X-05
#[test]
fn colours_only_where_they_are_wanted() {
    let cases: &[(&[(&str, &str)], bool)] = &[
        (&[], false),
        (&[("CLICOLOR_FORCE", "1")], true),
        (&[("CLICOLOR_FORCE", "0")], false),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "0")], false),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "")], true),
    ];
    for (env, coloured) in cases {
        let mut world = world("tc-unknown-role");
        for (key, value) in *env {
            world.env(key, value);
        }
        let run = world.run(&["validate", "--session=tc-unknown-role"]);
        assert_eq!(run.stdout.contains('\u{1b}'), *coloured, "{env:?}: {run}");
        let run = world.run(&["validate", "--session=none"]);
        assert_eq!(run.stderr.contains('\u{1b}'), *coloured, "{env:?}: {run}");
    }
}

/// R: X-05
#[test]
fn file_text_cannot_steer_the_terminal() {
    let world = empty();
    let task =
        r#""title": "\u001b[31mred\u001b[0m\u0007\u202e", "description": "d", "role": "r", "deps": [], "wave": 1"#;
    let head = r#""session_id": "s", "skill": "s", "pipeline": "p", "requirement": "a\nb\u009b", "created_at": "2026-03-01T00:00:00Z""#;
    world.write("s/tasks.json", format!(r#"{{ {head}, "tasks": {{ "A": {{ {task}, "status": "pending" }} }} }}"#));
    let run = world.run(&["plan", "--session=s"]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("␛[31mred␛[0m␇�") && run.stdout.contains("a␊b�"), "{run}");
    assert!(run.stdout.chars().all(|c| c == '\n' || !c.is_control()), "{run}");
}

#[test]
fn a_plan_fits_into_80_columns() {
    for name in ["tc-spec-literal", "tasks-csv-spec-literal", "tasks-json-statuses", "tc-capabilities-with-tasks"] {
        let run = world(name).run(&["plan", &format!("--session={name}")]);
        assert_eq!(run.code, Some(0), "{run}");
        for line in run.stdout.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
}

/// An example that is broken over two lines cannot be copied.
#[test]
fn every_help_fits_into_80_columns() {
    let verbs = ["msg log", "msg get-state", "task create", "task update", "checkpoint revise", "talk deny"];
    for args in COMMANDS.into_iter().chain(["msg", "task", "mcp", "csv", "init", "archive"]).chain(verbs).chain([""]) {
        let run = empty().run(&args.split(' ').filter(|arg| !arg.is_empty()).chain(["--help"]).collect::<Vec<_>>());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
        assert!(run.stdout.lines().all(|line| line.chars().count() <= 80), "{run}");
        let examples = run.stdout.split_once("\nExamples:\n").map(|(_, examples)| examples).unwrap_or_default();
        let mut examples = examples.lines().take_while(|line| !line.is_empty());
        assert!(examples.all(|line| line.contains("team-executor") || line.starts_with("    ")), "{run}");
    }
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = empty().run(&["completions", shell]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
        for command in COMMANDS {
            assert!(run.stdout.contains(command), "{shell} does not know {command}");
        }
    }
    assert_eq!(empty().run(&["completions", "csh"]).code, Some(2));
}

#[test]
fn man_prints_an_overview_and_a_page_a_command() {
    let world = empty();
    let overview = world.run(&["man"]);
    assert_eq!((overview.code, overview.stderr.as_str()), (Some(0), ""), "{overview}");
    for command in COMMANDS {
        assert!(overview.stdout.contains(&format!("team\\-executor\\-{command}(1)")), "{command} is missing");
        let page = world.run(&["man", command]);
        assert!(page.stdout.contains(&format!("\nteam\\-executor\\-{command} \\- ")), "{page}");
    }
    let nested = world.run(&["man", "task", "create"]);
    assert!(nested.stdout.contains("\nteam\\-executor\\-task\\-create \\- "), "{nested}");
    let unknown = world.run(&["man", "task", "sing"]);
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(unknown.stderr.starts_with("error: there is no command `sing`\n"), "{unknown}");
}

/// `team-executor plan | head` is no failure.
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let world = world("tc-spec-literal");
    for args in [
        &["validate", "--session=tc-spec-literal"][..],
        &["plan", "--session=tc-spec-literal"],
        &["plan", "--session=tc-spec-literal", "--format=svg"],
        &["schema", "tasks"],
        &["completions", "zsh"],
        &["man"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output =
            world.command(args).stdout(writer).stderr(Stdio::piped()).spawn().expect("it starts").limited_output();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

#[test]
fn closed_output_pipe_changes_nothing() {
    let world = world("tc-byte-order-mark");
    // Something is found and told before the run begins.
    let session = "--session=tc-byte-order-mark";
    let failing = [session, "--agent-command", "false", "--retries", "0", "-y"];
    for (args, code) in [
        (&["run", "--session=nowhere", "--agent-command=true", "-y"][..], 2),
        (&["validate", session, "--strict"], 2),
        (&[&failing[..], &["--format=json"]].concat(), 1),
        (&["status", session, "--format=json"], 0),
        (&["retry", "--failed", session], 0),
        (&failing, 1),
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = world.command(args);
        let status = command.stdout(writer.try_clone().expect("a copy")).stderr(writer).limited_status();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
    let run = world.run(&["status", session]);
    assert!(run.stdout.contains("is finished"), "{run}");
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device that is always full");
    let output = world("tc-spec-literal")
        .command(&["plan", "--session=tc-spec-literal"])
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
        .limited_output();
    assert_eq!(output.status.code(), Some(74));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("error: failed to write the output: "), "{said}");
}

fn empty() -> World {
    World::new(env!("CARGO_BIN_EXE_team-executor"))
}
