//! Sessions that are made from nothing but a requirement, or from a table.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;
use team_executor_testkit::{Run, World};

use crate::run::{json, read};

const PIPELINES: [&str; 4] = ["spec-only", "impl-only", "full-lifecycle", "enhanced-parallel"];
const DIALECTS: [&str; 4] = ["tc", "tls", "tasks-json", "tasks-csv"];
const REQUIREMENT: &str = "Rewrite the login API with OWASP in mind\nand \"low latency\"";

/// A worker that has nothing to object.
const PASSES: &str =
    r#"echo '{"status":"completed","findings":"fine","supervision_verdict":"pass"}' >$TEAM_EXECUTOR_RESULT"#;

fn empty() -> World {
    World::new(env!("CARGO_BIN_EXE_team-executor"))
}

fn init(world: &World, more: &[&str]) -> Value {
    let run = world.run(&[&["init", "--format", "json"], more].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn joined(plan: &Run) -> Vec<String> {
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap_or_else(|error| panic!("{error}\n{plan}"));
    let all = plan["injected_roles"].as_array().expect("a list").clone();
    all.iter().map(|one| format!("{}: {}", text(&one["role"]), text(&one["reason"]))).collect()
}

/// R: D-11
#[test]
fn every_pipeline_in_every_dialect_is_valid_and_rehearses() {
    let world = empty();
    for pipeline in PIPELINES {
        for dialect in DIALECTS {
            let name = format!("{pipeline}-{dialect}");
            let made = init(&world, &["--pipeline", pipeline, "--dialect", dialect, "--dir", &name, REQUIREMENT]);
            let session = format!("--session={name}");
            let valid = world.run(&["validate", &session, "--strict"]);
            assert_eq!((valid.code, valid.stderr.as_str()), (Some(0), ""), "{valid}");
            let plan = world.run(&["plan", &session, "--format", "json"]);
            let said = joined(&plan);
            let why = if dialect == "tasks-csv" {
                "security-expert: tasks mention "
            } else {
                "security-expert: requirement mentions OWASP"
            };
            assert!(said.iter().any(|one| one.starts_with(why)), "{said:?}");
            let rehearsed = world.run(&["rehearse", &session, "--speed", "100000", "-c", "4"]);
            let all = format!("Pipeline complete: {0}/{0} tasks completed", made["tasks"]);
            assert!(rehearsed.code == Some(0) && rehearsed.stdout.contains(&all), "{rehearsed}");
        }
    }
    let left: Vec<_> =
        std::fs::read_dir(world.dir()).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(left.len(), 17, "nothing is left behind: {left:?}");
}

#[test]
fn new_session_is_in_its_folder_and_names_the_next_command() {
    let world = empty();
    let run = world.run(&["init", "Add a login with OAuth to the shop"]);
    assert_eq!(run.code, Some(0), "{run}");
    let lines: Vec<&str> = run.stdout.lines().collect();
    let path = lines[0].strip_prefix("Made ").and_then(|line| line.strip_suffix(" (tc, impl-only)")).expect("a path");
    assert!(path.starts_with(".workflow/.team/TC-add-login-oauth-shop-20"), "{run}");
    assert!(run.stdout.contains("\nJoining         security-expert joins: requirement mentions OAuth\n"), "{run}");
    let commands: Vec<Vec<_>> =
        lines.iter().filter_map(|line| Some(line.strip_prefix("  ")?.split(' ').collect())).collect();
    assert_eq!(commands.len(), 3, "{run}");
    for command in &commands[..2] {
        assert_eq!(world.run(&command[1..]).code, Some(0), "{command:?}");
    }
    let listed = world.run(&["sessions"]).stdout;
    assert!(listed.lines().count() == 2 && listed.contains(path), "{listed}");
    for part in ["artifacts", "discussions", ".msg", "wisdom/learnings.md", "explorations/cache-index.json"] {
        assert!(world.dir().join(path).join(part).exists(), "{part}");
    }
    let again = world.run(&["init", "Add a login with OAuth to the shop"]);
    assert_eq!(again.code, Some(2), "{again}");
    assert!(again.stderr.contains(" already exists\nhelp: choose another name with --name SLUG\n"), "{again}");
}

#[test]
fn default_session_succeeds_with_any_command() {
    let world = empty();
    let made = world.run(&["init", "Fix invoice export"]);
    insta::with_settings!({filters => vec![(r"20\d\d-\d\d-\d\d", "DAY"), (r"\S+/team-executor ", "team-executor ")]}, {
        insta::assert_snapshot!(made, @r"
        $ team-executor init 'Fix invoice export'
        ------- stdout -------
        Made .workflow/.team/TC-fix-invoice-export-DAY (tc, impl-only)
        4 tasks in 3 waves for 4 roles
        Team for low complexity: of the hard areas, the requirement mentions only integration
        Another team: --complexity low|medium|high, or --pipeline NAME

        Edit the role-specs as you like, then:
          team-executor plan --session=.workflow/.team/TC-fix-invoice-export-DAY
          team-executor rehearse --session=.workflow/.team/TC-fix-invoice-export-DAY
          team-executor run --agent-command './work.sh' --session=.workflow/.team/TC-fix-invoice-export-DAY
        [exit status: 0]
        ");
    });
    let plan: Value = serde_json::from_str(&world.run(&["plan", "--format", "json"]).stdout).expect("JSON");
    let waves = plan["waves"].as_array().expect("waves");
    assert_eq!(waves.len(), 3, "{plan}");
    assert_eq!(waves[2], serde_json::json!(["TEST-001", "REVIEW-001"]));
    let run = world.run(&["run", "--agent-command", "true", "-y"]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("Pipeline complete: 4/4 tasks completed"), "{run}");
}

#[test]
fn larger_teams_are_made_for_more_complexity_and_init_says_why() {
    let world = empty();
    for (name, args, why) in [
        ("impl-only", &["Add a login form"][..], "medium complexity: the requirement mentions frontend, security"),
        ("impl-only", &["Fix it", "--complexity", "medium"], "medium complexity: as given"),
        ("full-lifecycle", &["Fix it too", "--complexity", "high"], "high complexity: as given"),
    ] {
        let made = init(&world, &[args, &["--name", &format!("{name}-{}", args.len() + why.len())]].concat());
        assert_eq!((&made["pipeline"], &made["why"]), (&name.into(), &why.into()));
        let run = world.run(&["run", &format!("--session={}", text(&made["path"])), "--agent-command", "true", "-y"]);
        // A person decides at the end of the specification.
        assert_eq!(run.code, Some(if name == "full-lifecycle" { 3 } else { 0 }), "{run}");
    }
    assert!(init(&world, &["--pipeline", "spec-only", "By name"])["why"].is_null());
}

#[test]
fn init_ends_with_the_agents_that_are_installed() {
    let mut world = empty();
    for name in ["claude", "codex"] {
        let program = world.write(&format!("bin/{name}"), "#!/bin/sh\nexit 1\n");
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    let path = format!("{}:/usr/bin:/bin", world.dir().join("bin").display());
    world.env("PATH", &path);
    let next = |made: &Value| -> Vec<String> {
        let all = made["next"].as_array().expect("commands").iter().map(|line| text(line).to_owned());
        all.filter_map(|line| Some(line.split_once(" run ")?.1.split_once(" --session")?.0.to_owned())).collect()
    };
    assert_eq!(next(&init(&world, &["One"])), ["--agent claude", "--agent codex"]);
    std::fs::remove_file(world.dir().join("bin/claude")).expect("it was there");
    std::fs::remove_file(world.dir().join("bin/codex")).expect("it was there");
    assert_eq!(next(&init(&world, &["Two"])), ["--agent-command './work.sh'"]);
    world.write("team-executor.toml", "[defaults]\nagent = \"claude\"\n");
    let configured = init(&world, &["Three"]);
    assert!(text(&configured["next"][2]).contains("team-executor run --session="), "{configured}");
}

#[test]
fn nothing_that_is_there_is_touched() {
    let world = empty();
    world.write("mine/tasks.csv", "id,title\nA,Do A\n");
    world.write("file", "text");
    std::os::unix::fs::symlink("nowhere", world.dir().join("link")).expect("a link");
    let before = world.tree();
    for target in ["mine", "file", "link", "."] {
        let run = world.run(&["init", "--dir", target, "x"]);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains("already exists\nhelp: choose another folder with --dir PATH\n"), "{run}");
    }
    assert_eq!(world.run(&["init", "--dir", "file/x", "x"]).code, Some(74), "a file is no folder");
    assert_eq!(world.tree(), before);
}

#[test]
fn impossible_init_is_refused_with_help() {
    let world = empty();
    for (args, said) in [
        (&["init"][..], "<REQUIREMENT>"),
        (&["init", " "], "help: say what is asked for"),
        (&["init", "--pipeline", "waterfall", "x"], "full-lifecycle"),
        (&["init", "--dialect", "yaml", "x"], "tasks-json"),
        (&["init", "--complexity", "huge", "x"], "medium"),
        (&["init", "--name", "../x", "x"], "for instance auth-login"),
        (&["init", "--role", "security-exprt", "x"], "help: did you mean --role security-expert?"),
        (&["init", "--session=S", "x"], "--dir PATH"),
        (&["init", "--from", "none.csv"], "none.csv cannot be read"),
        (&["init", "--from", "none.txt"], "neither a .csv, .json, .jsonl nor a .md file"),
    ] {
        let run = world.run(args);
        assert!(run.code == Some(2) && run.stderr.contains(said), "{said}\n{run}");
    }
    assert!(!world.dir().join(".workflow").exists());
}

#[test]
fn known_complexity_leaves_out_needless_tasks() {
    let world = empty();
    for (level, tasks) in [("low", 4), ("medium", 7), ("high", 9)] {
        let options = ["--pipeline", "enhanced-parallel", "--complexity", level, "--name", level, "Fix it"];
        let made = init(&world, &options);
        assert_eq!(made["tasks"], tasks, "{made}");
    }
    let open = init(&world, &["--pipeline", "enhanced-parallel", "Fix it"]);
    let plan = world.run(&["plan", "--format", "json", &format!("--session={}", text(&open["path"]))]);
    let plan: Value = serde_json::from_str(&plan.stdout).expect("a plan");
    let conditions = plan["tasks"].as_array().expect("tasks").iter().filter(|task| !task["min_complexity"].is_null());
    assert_eq!(conditions.count(), 5);
}

#[test]
fn planned_complexity_decides_roles_of_enhanced_pipeline() {
    for (level, done) in [
        ("low", "CHECKPOINT-001 IMPL-001 PLAN-001 TEST-001"),
        ("medium", "BE-001 CHECKPOINT-001 FE-001 IMPL-001 PLAN-001 REVIEW-001 TEST-001"),
        ("high", "ARCH-001 BE-001 CHECKPOINT-001 FE-001 IMPL-001 PLAN-001 REVIEW-001 SECURITY-001 TEST-001"),
    ] {
        let world = empty();
        init(&world, &["--pipeline", "enhanced-parallel", "--dir", "S", "Fix it"]);
        let worker = format!(
            r#"echo '{{"status":"completed","findings":"f","supervision_verdict":"pass","data":{{"complexity":"{level}"}}}}' >$TEAM_EXECUTOR_RESULT"#
        );
        let run = world.run(&["run", "--session=S", "--agent-command", &worker, "-y"]);
        let rows = crate::run::rows(&world);
        let completed = rows.iter().filter(|(_, row)| row["status"] == "completed").map(|(id, _)| id.as_str());
        assert_eq!(completed.collect::<Vec<_>>().join(" "), done, "{run}");
        let skipped = rows.values().filter(|row| row["error"].starts_with("not needed: "));
        assert_eq!(skipped.count(), 9 - done.split(' ').count(), "{run}");
    }
}

#[test]
fn a_table_becomes_a_session_that_can_be_run() {
    let world = empty();
    world.write("plans/release 2.csv", "id,name,depends_on,role,status\nA,Build,,builder,done\nB,Check,A,tester,\n");
    world.write(
        "list.json",
        r#"[{"id":"X-1","title":"One","role":"builder"},{"id":"X-2","name":"Two","role":"builder","deps":"X-1"}]"#,
    );
    for dialect in DIALECTS {
        for (table, tasks) in [("plans/release 2.csv", 2), ("list.json", 2)] {
            let dir = format!("{dialect}-{}", if table == "list.json" { "json" } else { "csv" });
            let run = world.run(&["init", "--from", table, "--dialect", dialect, "--dir", &dir, "Release it"]);
            assert_eq!(run.code, Some(0), "{run}");
            let session = format!("--session={dir}");
            let valid = world.run(&["validate", &session, "--strict"]);
            assert_eq!((valid.code, valid.stderr.as_str()), (Some(0), ""), "{valid}");
            let ran = world.run(&["run", &session, "--agent-command", "echo did $TEAM_EXECUTOR_TASK", "-y"]);
            assert!(ran.stdout.contains(&format!("Pipeline complete: {tasks}/{tasks}")), "{ran}");
        }
    }
    let spec = read(world.dir().join("tc-csv/role-specs/builder.md"));
    assert!(spec.starts_with("---\nrole: \"builder\"\n") && spec.contains("- Build\n"), "{spec}");
    assert!(read(world.dir().join("tc-csv/role-specs/tester.md")).contains("# Tester — Phase 2-4"));
    // What was odd about the table is said, with the name that the user gave.
    let odd = world.run(&["init", "--from", "plans/release 2.csv", "--name", "odd"]);
    assert!(odd.stderr.contains("--> plans/release 2.csv:1:4"), "{odd}");
    world.write("bad.csv", "id,title,deps,role\nA,Do A,B,r\nB,Do B,A,r\n");
    let bad = world.run(&["init", "--from", "bad.csv", "--name", "bad"]);
    assert!(bad.code == Some(2) && bad.stderr.contains("circular dependency: A -> B -> A"), "{bad}");
    assert!(bad.stderr.contains("bad.csv:2:8"), "{bad}");
}

/// A session whose specialists join for each of the four reasons, and one who does not.
fn specialists(world: &World, dialect: &str) -> &'static str {
    let made = init(world, &["--pipeline", "impl-only", "--dialect", dialect, "--dir", "S", "Check the OWASP list"]);
    assert_eq!(made["injected_roles"][0]["reason"], "requirement mentions OWASP");
    let spec = |name: &str, rule: &str| {
        let text = format!(
            "---\nrole: {name}\nprefix: X\ninner_loop: false\nmessage_types:\n  success: x\n  error: error\n{rule}---\n\
             ## Phase 2\n## Phase 3\n## Phase 4\n"
        );
        world.write(&format!("S/role-specs/{name}.md"), text);
    };
    spec("scribe", "type: specialist\ninjection_trigger: always\n");
    spec("guide", "injection_trigger: complexity\ninjection_criteria:\n  complexity_threshold: low\n");
    spec("lawyer", "type: specialist\ninjection_trigger: manual\n");
    spec("poet", "injection_trigger: keywords\ninjection_criteria:\n  keywords: [check-list, rhyme]\n");
    "--session=S"
}

/// R: D-10
#[test]
fn roles_that_join_by_rule_are_recorded_with_the_reason() {
    for dialect in ["tc", "tls"] {
        let world = empty();
        let session = specialists(&world, dialect);
        let by_rule = [
            "security-expert: requirement mentions OWASP",
            "guide: the complexity is low, it joins from low on",
            "scribe: it always does",
        ];
        assert_eq!(joined(&world.run(&["plan", session, "--format", "json"])), by_rule);
        let asked = world.run(&["plan", session, "--role", "lawyer"]);
        assert!(asked.stdout.contains("\n                lawyer joins: a person asked for it\n"), "{asked}");
        let wrong = world.run(&["plan", session, "--role", "lawer"]);
        assert!(wrong.code == Some(2) && wrong.stderr.contains("help: did you mean --role lawyer?"), "{wrong}");
        world.write("team-executor.toml", "[roles.lawyer]\ninject = true\n");
        let plan = world.run(&["plan", session]);
        let told = "Joining         security-expert joins: requirement mentions OWASP\n";
        assert!(plan.stdout.contains(told) && plan.stdout.contains("lawyer joins: a person asked for it"), "{plan}");

        let ran = world.run(&["run", session, "--agent-command", PASSES, "-y", "--on-complete", "auto_keep"]);
        assert!(ran.code == Some(0) && ran.stdout.contains(told), "{ran}");
        let own = json(world.dir().join("S/team-session.json"));
        assert_eq!(own["injected_roles"], serde_json::json!(["security-expert", "guide", "lawyer", "scribe"]));
        std::fs::remove_file(world.dir().join("team-executor.toml")).expect("it is there");
        for command in ["status", "plan"] {
            let shown = world.run(&[command, session]);
            assert!(shown.stdout.contains(told) && shown.stdout.contains("lawyer joins: a person asked"), "{shown}");
            assert!(!shown.stdout.contains("poet"), "{shown}");
        }
        assert_eq!(joined(&world.run(&["status", session, "--format", "json"])).len(), 4);
        let report = read(crate::run::folder(&world).join("context.md"));
        assert!(report.contains("\n- security-expert joins: requirement mentions OWASP\n"), "{report}");
        assert!(world.run(&["validate", session, "--strict"]).code == Some(0));
    }
}

#[test]
fn role_without_a_role_spec_does_not_join() {
    let world = empty();
    let session = specialists(&world, "tasks-json");
    std::fs::remove_file(world.dir().join("S/role-specs/scribe.md")).expect("it is there");
    assert!(joined(&world.run(&["plan", session, "--format", "json"])).iter().all(|one| !one.starts_with("scribe")));
    world.write("S/role-specs/odd.md", "---\ninjection_trigger: sometimes\n---\n");
    let odd = world.run(&["validate", session]);
    assert!(odd.code == Some(0) && odd.stdout.contains("an unknown value of `injection_trigger`"), "{odd}");
    assert_eq!(world.run(&["validate", session, "--strict"]).code, Some(2));
}

/// R: E-07
#[test]
fn capability_gap_is_a_warning_and_the_run_goes_on() {
    let world = empty();
    init(&world, &["--pipeline", "impl-only", "--dir", "S", "Port the ledger"]);
    let roles_before = std::fs::read_dir(world.dir().join("S/role-specs")).expect("a folder").count();
    let worker = r#"echo '{"status":"completed","findings":"f","supervision_verdict":"pass"}' >$TEAM_EXECUTOR_RESULT
        case $TEAM_EXECUTOR_TASK in
        PLAN-001) echo '{"status":"completed","findings":"f","data":{"capability_gap":"no one knows COBOL"}}' >$TEAM_EXECUTOR_RESULT;;
        TEST-001) echo '{"id":"MSG-001","ts":"2026-01-01T00:00:00Z","from":"tester","to":"all","type":"capability_gap","summary":"no mainframe"}' >>$TEAM_EXECUTOR_SESSION/.msg/messages.jsonl;;
        esac"#;
    let run = world.run(&["run", "--session=S", "--agent-command", worker, "-y"]);
    assert!(run.code == Some(0) && run.stdout.contains("Pipeline complete: 5/5 tasks completed"), "{run}");
    let told = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(told.matches("capability gap").count(), 2, "{run}");
    for part in [
        "warning: PLAN-001 reports a capability gap: no one knows COBOL.",
        "warning: tester reports a capability gap: no mainframe.",
        "The roles are: planner, supervisor, implementer, tester, reviewer.",
        "let one of them do it and retry the task",
        "run team-coordinate again with resume for a new role-spec",
        "continue without it",
    ] {
        assert!(told.contains(part), "{part}\n{run}");
    }
    assert!(run.stderr.lines().all(|line| line.chars().count() <= 80), "{run}");
    let roles_after = std::fs::read_dir(world.dir().join("S/role-specs")).expect("a folder").count();
    assert_eq!(roles_after, roles_before, "no role is made up");
}

/// `min_complexity` with another word is an error with its place in every dialect.
#[test]
fn a_level_that_is_none_is_refused() {
    let world = empty();
    for (dialect, file) in [
        ("tc", "task-analysis.json"),
        ("tls", "team-session.json"),
        ("tasks-json", "tasks.json"),
        ("tasks-csv", "tasks.csv"),
    ] {
        init(&world, &["--pipeline", "enhanced-parallel", "--dialect", dialect, "--dir", dialect, "Fix it"]);
        let path = Path::new(dialect).join(file);
        let text = read(world.dir().join(&path));
        let changed = text.replacen("\"high\"", "\"extreme\"", 1).replacen(",high", ",extreme", 1);
        assert_ne!(changed, text, "{dialect}");
        world.write(&path.display().to_string(), changed);
        let run = world.run(&["validate", &format!("--session={dialect}")]);
        assert!(run.code == Some(2) && run.stdout.contains("min_complexity'"), "{run}");
        assert!(run.stdout.contains("expected one of low, medium, high"), "{run}");
    }
}
