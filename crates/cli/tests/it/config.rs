//! What configuration files settle, who may choose programs, and what is said about wrong ones.

use serde_json::Value;
use team_executor_testkit::{Gate, Run, Screen, World};

/// The user's own file.
const USER: &str = "home-of-config/team-executor/config.toml";
const PROJECT: &str = "team-executor.toml";

/// A world with three tasks of two roles in `S`, and room for the user's own file.
fn world() -> World {
    let mut world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n\
                 A,,Do it,,,csv-wave,dev,1,pending,,\nB,,Do it,,,csv-wave,dev,1,pending,,\n\
                 C,,Do it,,,csv-wave,test,1,pending,,\n";
    world.write("S/tasks.csv", table);
    let home = world.dir().join("home-of-config").display().to_string();
    world.env("XDG_CONFIG_HOME", &home);
    world
}

fn run(world: &World, more: &[&str]) -> Run {
    world.run(&[&["--session=S", "-y"], more].concat())
}

/// What each task found, by id.
fn findings(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.dir().join("S/tasks.csv")).expect("the table");
    let rows = text.lines().skip(1);
    rows.map(|row| row.split(',').nth(9).expect("a cell").to_owned()).collect()
}

fn settings(world: &World, more: &[&str]) -> Value {
    let run = world.run(&[&["config", "--format", "json"], more].concat());
    assert_eq!(run.code, Some(0), "{run}");
    serde_json::from_str(&run.stdout).expect("JSON")
}

/// The value of a key and who set it.
fn setting(all: &Value, key: &str) -> (Value, String) {
    let entry = all["settings"].as_array().expect("a list").iter().find(|entry| entry["key"] == key);
    let entry = entry.unwrap_or_else(|| panic!("{key} is not there: {all}"));
    (entry["value"].clone(), entry["source"].as_str().expect("a source").to_owned())
}

#[test]
fn every_error_has_its_place_and_nothing_starts() {
    let world = world();
    world.write(
        PROJECT,
        "[defaults]\nconcurency = 4\nretries = -1\ncadence = \"waves\"\nagent = \"worker\"\n\
         [defaults.limits]\ntotal = \"half an hour\"\n[agents.worke]\ncommand = 5\n[agents.other]\nkind = \"comand\"\n\
         [roles]\ndev = \"x\"\n[tasks.\"A 1\"]\nlimit = 3\n[extra]\n",
    );
    let before = world.tree();
    let run = run(&world, &[]);
    insta::assert_snapshot!(run);
    assert_eq!(world.tree(), before);
}

#[test]
fn undefined_agent_gets_a_suggestion() {
    let world = world();
    world.write(USER, "[agents.claude-x]\ncommand = \"true\"\n");
    world.write(PROJECT, "[roles.dev]\nagent = \"cluade-x\"\n");
    let run = run(&world, &[]);
    assert_eq!(run.code, Some(2), "{run}");
    let said = "error: there is no agent 'cluade-x'\n --> team-executor.toml:2:9\n";
    assert!(run.stderr.contains(said) && run.stderr.contains("help: did you mean `claude-x`?\n"), "{run}");
    let flag = world.run(&["--session=S", "-y", "--agent", "cloude-x"]);
    assert_eq!(flag.code, Some(2), "{flag}");
}

/// A mistyped name would leave a checkpoint or a check out of force without a word.
#[test]
fn section_of_an_unknown_task_or_role_is_reported() {
    let world = world();
    let own = "[agents.mine]\ncommand = \"true\"\n[defaults]\nagent = \"mine\"\n";
    world.write(USER, format!("{own}[roles.devv]\nretries = 0\n[roles.elsewhere]\nretries = 0\n"));
    world.write(PROJECT, "[tasks.ZZZ]\ncheckpoint = true\n[tasks.A]\nretries = 1\n[roles.tests]\nrounds = 1\n");
    let told = [
        "team-executor.toml:1: [tasks.ZZZ] is not in force: the session has no task 'ZZZ'",
        "team-executor.toml:5: [roles.tests] is not in force: the session has no role 'tests'; did you mean `test`?",
        "config.toml:5: [roles.devv] is not in force: the session has no role 'devv'; did you mean `dev`?",
    ];
    let plan = world.run(&["plan", "--session=S"]);
    let config = world.run(&["config", "--session=S"]);
    let done = run(&world, &[]);
    for seen in [&plan, &config, &done] {
        assert_eq!(seen.code, Some(0), "{seen}");
        assert!(told.iter().all(|line| seen.stderr.contains(&format!("{line}\n"))), "{seen}");
        assert!(!seen.stderr.contains("elsewhere") && !seen.stderr.contains("tasks.A]"), "{seen}");
    }
    let data = settings(&world, &["--session=S"]);
    assert_eq!(data["warnings"].as_array().expect("warnings").len(), 3, "{data}");
    let plan = world.run(&["plan", "--session=S", "--format", "json"]).stdout;
    assert!(told.iter().all(|line| plan.contains(line)), "{plan}");
}

#[test]
fn impossible_variables_are_refused_with_their_place() {
    let world = world();
    for (line, message) in [
        ("pass_env = [\"OK_*\", \"A*B\"]", "'A*B' in 'pass_env' has a star that is not at its end"),
        ("pass_env = [\"A=B\"]", "'A=B' in 'pass_env' is no name of a variable"),
        ("env = { \"A=B\" = \"1\" }", "'A=B' in 'env' is no name of a variable"),
        ("env = { A = \"x\\u0000y\" }", "the value of 'env' has a NUL character in it"),
        ("kind = \"claude\"\nargs = [\"\\u0000\"]", "the value of 'args' has a NUL character in it"),
        ("kind = \"command\"\ncommand = \"a\\u0000\"", "the value of 'command' has a NUL character in it"),
    ] {
        let command = if line.starts_with("kind") { "" } else { "command = \"true\"\n" };
        world.write(PROJECT, format!("[agents.x]\n{command}{line}\n"));
        let refused = run(&world, &[]);
        assert_eq!(refused.code, Some(2), "{refused}");
        let said = format!("error: {message}\n --> team-executor.toml:3:");
        assert!(refused.stderr.contains(&said) && refused.stderr.contains("help: "), "{refused}");
    }
    world.write(PROJECT, "[agents.x]\ncommand = \"true\"\npass_env = [\"*\", \"MY_*\"]\n");
    assert_eq!(world.run(&["config"]).code, Some(0));
}

#[test]
fn text_that_is_no_toml_and_files_that_are_none_are_refused() {
    let world = world();
    world.write(PROJECT, "[defaults]\nagent = \"x\nretries = 1\n");
    let broken = run(&world, &[]);
    assert_eq!(broken.code, Some(2), "{broken}");
    assert!(broken.stderr.contains("error: team-executor.toml is not TOML\n --> team-executor.toml:2:"), "{broken}");
    std::fs::remove_file(world.dir().join(PROJECT)).expect("removed");
    world.write("team-executor.toml/x", "");
    let folder = run(&world, &[]);
    assert_eq!(folder.code, Some(2), "{folder}");
    assert!(folder.stderr.contains("error: team-executor.toml cannot be read: it is a folder\n"), "{folder}");
}

#[test]
fn flags_win_over_the_project_and_the_project_over_the_user() {
    let world = world();
    world.write(
        USER,
        "[defaults]\nretries = 1\nconcurrency = 5\ncadence = \"wave\"\n[defaults.limits]\nidle = 90\ntotal = \"2h\"\n\
         [agents.a]\ncommand = \"true\"\nenv = { TOKEN = \"hush\" }\npass_env = [\"MY_*\"]\n",
    );
    world.write(PROJECT, "[defaults]\nretries = 2\nconcurrency = 6\n[defaults.limits]\ntotal = \"none\"\n");
    let all = settings(&world, &["-c", "7", "--first-output-limit", "5m"]);
    for (key, value, source) in [
        ("defaults.concurrency", Value::from(7), "flag"),
        ("defaults.retries", Value::from(2), "project"),
        ("defaults.cadence", Value::from("wave"), "user"),
        ("defaults.limits.first_output", Value::from("5m"), "flag"),
        ("defaults.limits.idle", Value::from("90s"), "user"),
        ("defaults.limits.total", Value::from("none"), "project"),
        ("defaults.limits.grace", Value::from("10s"), "built-in"),
        ("agents.a.command", Value::from("true"), "user"),
        ("agents.a.env", Value::from(vec!["TOKEN"]), "user"),
    ] {
        assert_eq!(setting(&all, key), (value, source.to_owned()), "{key}");
    }
    assert!(!all.to_string().contains("hush"), "{all}");
    let text = world.run(&["config"]).stdout;
    let line = |key: &str| text.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
    assert!(line("defaults.retries ").ends_with(" team-executor.toml:2"), "{text}");
    assert!(line("defaults.cadence ").ends_with("config.toml:4") && !text.contains("hush"), "{text}");
}

/// Defaults, then roles, then tasks; and what each agent sees of the environment.
#[test]
fn each_task_has_the_agent_that_is_settled_for_it() {
    let mut world = world();
    world.env("MY_KEY", "passed").env("OTHER_KEY", "kept back");
    world.write(
        USER,
        "[defaults]\nagent = \"one\"\n[roles.test]\nagent = \"two\"\n[tasks.B]\nagent = \"three\"\n\
         [agents.one]\ncommand = [\"sh\", \"-c\", \"echo one $MY_KEY $OTHER_KEY\"]\n\
         [agents.two]\ncommand = \"echo two $MY_KEY $OTHER_KEY\"\npass_env = [\"MY_*\"]\n\
         [agents.three]\ncommand = \"echo three $X\"\nenv = { X = \"set\" }\n",
    );
    let done = run(&world, &[]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(findings(&world), ["one", "three set", "two passed"]);
}

#[test]
fn retries_and_limits_are_settled_per_task_and_per_role() {
    let world = world();
    let gate = Gate::new(world.dir().join("gate"));
    let toml = format!(
        "[defaults]\nagent = \"w\"\nretries = 0\n[agents.w]\ncommand = \"echo x; if [ $TEAM_EXECUTOR_TASK != A ]; then cat {}; fi; exit 3\"\n\
         [tasks.A]\nretries = 1\n[tasks.B.limits]\ntotal = \"200ms\"\n[roles.test.limits]\nidle = \"200ms\"\n",
        gate.arg()
    );
    world.write(USER, toml);
    let failed = run(&world, &[]);
    assert_eq!(failed.code, Some(1), "{failed}");
    assert!(
        failed.stderr.contains("▶ A (dev, attempt 2)\n") && !failed.stderr.contains("A (dev, attempt 3)"),
        "{failed}"
    );
    assert!(failed.stderr.contains("✗ B timed out\n"), "{failed}");
    assert!(failed.stderr.contains("✗ C timed out: no more output\n"), "{failed}");
}

#[test]
fn a_worker_that_says_nothing_at_all_is_ended_by_the_flag() {
    let world = world();
    let gate = Gate::new(world.dir().join("gate"));
    let command = format!("cat {}", gate.arg());
    let done =
        run(&world, &["--agent-command", &command, "--first-output-limit", "200ms", "--retries", "0", "-c", "3"]);
    assert_eq!(done.code, Some(1), "{done}");
    assert!(done.stderr.contains("✗ A timed out: no output at all\n"), "{done}");
}

/// A file that comes with a clone runs nothing until the user says so.
#[test]
fn untrusted_project_chooses_no_program() {
    let world = world();
    let own = "[agents.mine]\ncommand = \"echo mine\"\n";
    world.write(USER, format!("[defaults]\nagent = \"mine\"\n{own}"));
    for project in [
        "[defaults]\nagent = \"evil\"\n[agents.evil]\ncommand = \"touch pwned\"\n",
        "[agents.mine]\ncommand = \"touch pwned\"\n",
        "[agents.mine]\ncommand = \"echo mine\"\nenv = { LD_PRELOAD = \"evil.so\" }\n",
        "[tasks.B]\nagent = \"mine\"\n",
        "[roles.dev]\nagent = \"rehearsal\"\n",
    ] {
        world.write(PROJECT, project);
        let before = world.tree();
        let refused = run(&world, &[]);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains("came with the project and chooses what is run"), "{refused}");
        assert!(refused.stderr.contains("help: or add --trust-project\n"), "{refused}");
        assert_eq!(world.tree(), before, "{project}");
    }
    world.write(PROJECT, "[defaults]\ntrusted_projects = [\"/\"]\n");
    let forged = run(&world, &[]);
    assert_eq!(forged.code, Some(2), "{forged}");
    assert!(forged.stderr.contains("error: a project cannot make itself trusted\n"), "{forged}");
    // What chooses nothing needs no trust, and a command of the user's own leaves nothing to choose.
    world.write(
        PROJECT,
        "[defaults]\nconcurrency = 1\n[agents.evil]\ncommand = \"touch pwned\"\n[tasks.B]\nagent = \"evil\"\n",
    );
    let done = run(&world, &["--agent-command", "echo by flag"]);
    assert_eq!((done.code, findings(&world)), (Some(0), vec!["by flag".to_owned(); 3]), "{done}");
    assert!(!world.dir().join("pwned").exists());
}

#[test]
fn a_trusted_project_is_run_and_its_command_is_shown() {
    let world = world();
    let project = "[defaults]\nagent = \"ours\"\n[agents.ours]\ncommand = \"echo ours\"\n";
    world.write(PROJECT, project);
    let by_flag = run(&world, &["--trust-project"]);
    assert_eq!(by_flag.code, Some(0), "{by_flag}");
    assert!(by_flag.stderr.contains("ours runs: echo ours, chosen by team-executor.toml:4\n"), "{by_flag}");
    assert_eq!(findings(&world), ["ours"; 3]);
    for (folder, code) in [("", 0), ("/S", 2)] {
        let other = self::world();
        other.write(PROJECT, project);
        let folder = format!("{}{folder}", other.dir().display());
        other.write(USER, format!("[defaults]\ntrusted_projects = [\"/no/such\", \"{folder}\"]\n"));
        let run = run(&other, &[]);
        assert_eq!(run.code, Some(code), "{run}");
    }
}

/// The name of a program says little if the project says where it is looked for, or to whom an agent talks.
#[test]
fn consent_shows_the_projects_environment() {
    let world = world();
    world.write(
        PROJECT,
        "[defaults]\nagent = \"x\"\n[agents.x]\ncommand = \"date\"\n\
         env = { PATH = \"/bin:./evil bin\", X = \"\\u001b[2K\" }\npass_env = [\"*\"]\n\
         [agents.c]\nkind = \"claude\"\nprogram = \"true\"\nenv = { ANTHROPIC_BASE_URL = \"http://evil\" }\n\
         [tasks.C]\nagent = \"c\"\n",
    );
    let mut terminal = Screen::start(world.command(&["--session=S"]), 200, 24);
    terminal.wait_for("Start? [Y/n]");
    let env = "env 'PATH=/bin:./evil bin' \"$(printf %b 'X=\\0033[2K')\"";
    let x = format!("x runs: date, {env}, pass_env '*', chosen by team-executor.toml:4\n");
    let c =
        "c runs: true (claude, permissions edit), env ANTHROPIC_BASE_URL=http://evil, chosen by team-executor.toml:8\n";
    let seen = terminal.glass().to_string();
    assert!(seen.contains(&x) && seen.contains(c), "{seen}");
    terminal.type_in("n\n");
    assert_eq!(terminal.end().code(), Some(2));
    let refused = run(&world, &[]);
    assert!(refused.stderr.contains(", pass_env '*'; so nothing was started"), "{refused}");
    let trusted = run(&world, &["--trust-project"]);
    assert!(trusted.stderr.contains(&x) && trusted.stderr.contains(c), "{trusted}");
    // What is the user's own is no news to the user, and may be a secret.
    world.write(USER, "[agents.mine]\ncommand = \"true\"\nenv = { TOKEN = \"hush\" }\n");
    world.write(PROJECT, "[defaults]\nagent = \"mine\"\n");
    let own = run(&world, &["--trust-project"]);
    assert!(own.stderr.contains("mine runs: true, chosen by") && !own.stderr.contains("hush"), "{own}");
}

/// The session names programs, agents and paths wherever it can; nothing of it is ever run.
#[test]
fn session_cannot_choose_commands() {
    for may_choose in [false, true] {
        for agent in ["touch pwned", "/bin/touch", "../evil.sh", "evil", "", "--agent-command"] {
            let world = world();
            let quoted = format!("\"{agent}\"");
            let table = format!(
                "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error,agent,command\n\
                 A,,Do it,,,csv-wave,dev,1,pending,,,{quoted},touch pwned\n"
            );
            world.write("S/tasks.csv", table);
            world.write("S/role-specs/dev.md", format!("---\nagent: {quoted}\ncommand: touch pwned\n---\n"));
            world.write(
                "S/team-executor.toml",
                "[defaults]\nagent = \"evil\"\n[agents.evil]\ncommand = \"touch pwned\"\n",
            );
            world.write("S/.workflow/team-executor.toml", "nonsense");
            let user = format!(
                "[defaults]\nagent = \"mine\"\nsession_may_choose = {may_choose}\n[agents.mine]\ncommand = \"echo mine\"\n"
            );
            world.write(USER, user);
            let run = run(&world, &[]);
            assert!(!world.dir().join("pwned").exists() && !world.dir().join("S/pwned").exists(), "{run}");
            if may_choose && !agent.is_empty() {
                assert_eq!(run.code, Some(2), "{run}");
                assert!(run.stderr.contains(&format!("error: there is no agent '{agent}'\n")), "{run}");
                assert!(run.stderr.contains("help: the session wants it for task 'A'\n"), "{run}");
            } else {
                assert_eq!((run.code, findings(&world)), (Some(0), vec!["mine".to_owned()]), "{run}");
                let ignored = run.stderr.contains("warning: the session names agents; they were ignored");
                assert_eq!(ignored, !agent.is_empty(), "{run}");
            }
        }
    }
}

#[test]
fn session_may_choose_among_allowed_agents() {
    let world = world();
    let table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error,agent\n\
                 A,,Do it,,,csv-wave,dev,1,pending,,,strong\nB,,Do it,,,csv-wave,dev,1,pending,,,\n\
                 C,,Do it,,,csv-wave,test,1,pending,,,strong\n";
    world.write("S/tasks.csv", table);
    world.write("S/role-specs/dev.md", "---\nagent: cheap\n---\n");
    world.write("S/role-specs/test.md", "no front matter\n");
    world.write(
        USER,
        "[defaults]\nagent = \"usual\"\nsession_may_choose = true\n[roles.test]\nagent = \"usual\"\n\
         [agents]\nusual.command = \"echo usual\"\ncheap.command = \"echo cheap\"\nstrong.command = \"echo strong\"\n",
    );
    let done = run(&world, &[]);
    // What the user settles for a role counts more than what the session wants.
    assert_eq!(
        (done.code, findings(&world)),
        (Some(0), ["strong", "cheap", "usual"].map(str::to_owned).into()),
        "{done}"
    );
}

#[test]
fn built_in_agent_needs_no_configuration() {
    let world = world();
    world.write(USER, "[agents.quick]\nkind = \"rehearsal\"\nspeed = 100000\n");
    let done = run(&world, &["--agent", "quick"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(findings(&world)[0].starts_with("\"rehearsed"), "{done}");
}

/// The example counts as it stands, and no key is left out.
#[test]
fn the_documentation_is_right() {
    let text = include_str!("../../../../docs/reference/config.md");
    let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let world = world();
    world.write(PROJECT, example);
    let all = settings(&world, &[]);
    assert_eq!(setting(&all, "tasks.IMPL-003.limits.total"), (Value::from("2h"), "project".to_owned()));
    assert_eq!(setting(&all, "agents.tests.command").0, Value::from("cargo test --workspace"));
    world.write(PROJECT, "[defaults]\nx = 1\n[agents.a]\nx = 1\n[defaults.limits]\nx = 1\n");
    let wrong = world.run(&["config"]).stderr;
    let keys = wrong
        .lines()
        .filter_map(|line| line.strip_prefix("help: known keys in ["))
        .flat_map(|rest| rest.split(": ").nth(1).unwrap_or_default().split([',', ' ']).filter(|key| !key.is_empty()));
    let keys: Vec<&str> = keys.collect();
    assert!(keys.len() > 10, "{wrong}");
    for key in keys {
        assert!(text.contains(&format!("`{key}`")) || text.contains(&format!(".{key}`")), "{key} is not documented");
    }
}

/// Whatever stands in the file, it is an answer with a place or none.
#[test]
fn no_text_breaks_the_reader() {
    let deep = format!("x = {}{}", "[".repeat(20_000), "]".repeat(20_000));
    let dotted = format!("{}x = 1", "a.".repeat(20_000));
    let long = format!("[defaults]\nagent = \"{}", "長".repeat(3000));
    for text in [
        "",
        "\u{feff}",
        "\u{feff}[defaults]\nretries = 1\n",
        "\r\n\r\n",
        "[",
        "[]",
        "[[defaults]]",
        "defaults = 1",
        "[defaults]\n[defaults]\n",
        "[defaults]\nretries = 99999999999999999999999\n",
        "[defaults]\nretries = 0x10\nconcurrency = 0\n",
        "[defaults]\nretries = 1979-05-27\ncadence = inf\nagent = [[]]\n",
        "[defaults.limits]\ntotal = -5\nidle = 1.5\ngrace = true\nfirst_output = 0xFF\n",
        "[agents.\"\"]\ncommand = \"\"\n[agents.b]\ncommand = []\n[agents.c]\ncommand = [\"\"]\n[agents.d]\n",
        "[agents.a]\ncommand = \"x\"\nspeed = 1\nkind = \"rehearsal\"\n[roles.\"\"]\n[tasks.\"\\u0000\\u001b[2J\"]\nx = 1\n",
        "[defaults]\nagent = \"\\u001b]0;title\\u0007\"\n",
        &deep,
        &dotted,
        &long,
    ] {
        let world = world();
        world.write(PROJECT, text);
        let run = world.run(&["config"]);
        assert!(matches!(run.code, Some(0 | 2)), "{text:.100}\n{run}");
        let is_plain = |c: char| c == '\n' || !c.is_control();
        assert!(run.stderr.chars().all(is_plain) && run.stdout.chars().all(is_plain), "{run}");
        assert_eq!(run.code == Some(2), run.stderr.starts_with("error: "), "{text:.100}\n{run}");
    }
    let world = world();
    world.write(PROJECT, [0xff, 0xfe, 0]);
    assert_eq!(world.run(&["config"]).code, Some(2));
}
