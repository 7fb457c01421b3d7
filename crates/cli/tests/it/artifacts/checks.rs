//! Each check, passed and failed, and who may configure it.

use super::{SESSION, again, delivers, folder, json, one, registered, run, tasks};
use crate::run::{arguments, column, read};

/// A configuration, what a worker delivers, and what is said if it does not pass.
type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], Option<&'c str>);

const SCHEMA: &str = r#"{"type": "object", "required": ["name"]}"#;

const CASES: &[Case<'_>] = &[
    ("", &[("a.md", "text")], None),
    ("", &[("a.md", "")], Some("artifacts/A/a.md: it is empty")),
    ("[artifacts.document]\nnot_empty = false\n", &[("a.md", "")], None),
    ("[artifacts.code]\nnot_empty = false\n", &[("a.md", "")], Some("artifacts/A/a.md: it is empty")),
    ("[roles.worker.checks]\nnot_empty = false\n", &[("a.md", "")], None),
    ("[roles.other.checks]\nnot_empty = false\n", &[("a.md", "")], Some("artifacts/A/a.md: it is empty")),
    (
        "[roles.worker.checks]\nnot_empty = false\n[tasks.A.checks]\nnot_empty = true\n",
        &[("a.md", "")],
        Some("artifacts/A/a.md: it is empty"),
    ),
    ("[artifacts.document]\nsections = [\"Summary\"]\n", &[("a.md", "# Summary\\n")], None),
    (
        "[artifacts.document]\nsections = [\"Summary\", \"Risks\"]\n",
        &[("a.md", "# summary\\n```\\n# Risks\\n```\\n")],
        Some("artifacts/A/a.md: the section 'Risks' is missing"),
    ),
    ("[artifacts.config]\nschema = \"s.json\"\n", &[("a.json", r#"{"name": 1}"#)], None),
    (
        "[tasks.A.checks]\nschema = \"s.json\"\n",
        &[("a.json", "{}"), ("a.md", "no JSON")],
        Some("artifacts/A/a.json: \"name\" is a required property"),
    ),
    ("[tasks.A.checks]\nschema = \"s.json\"\n", &[("a.json", "{")], Some("artifacts/A/a.json: it is not JSON: ")),
    ("[tasks.A.checks]\nfiles = [\"sub/a.md\"]\n", &[("sub/a.md", "text")], None),
    ("[tasks.A.checks]\nfiles = [\"a.md\"]\n", &[], Some("a.md: required, but not delivered")),
    ("[roles.worker.checks]\nverify = [\"test\", \"-f\", \"s.json\"]\n", &[], None),
    ("[artifacts.document]\nverify = [\"grep\", \"-q\", \"text\", \"s.json\"]\n", &[], None),
    (
        "[artifacts.document]\nverify = \"echo looked; echo badly >&2; exit 3\"\n",
        &[("a.md", "text")],
        Some("the check `/bin/sh -c echo looked; echo badly >&2; exit 3` failed: exit code 3\nlooked\nbadly"),
    ),
    (
        "[roles.worker.checks]\nverify = [\"cat\", \"gate\"]\nlimit = \"50ms\"\n",
        &[],
        Some("the check `cat gate` failed: timed out"),
    ),
];

/// R: D-04
#[test]
fn task_completes_only_if_its_delivery_passes_all_checks() {
    for (config, files, wrong) in CASES {
        let world = tasks(&[("A", ""), ("B", "A")]);
        world.write("team-executor.toml", config);
        world.write("s.json", SCHEMA);
        let _never_opened = team_executor_testkit::Gate::new(world.dir().join("gate"));
        let worker = delivers(files);
        let ran = run(&world, &format!("[ $TEAM_EXECUTOR_TASK = B ] || {{ {worker}; }}; echo did it"));
        let (errors, statuses) = (column(&world, "error"), column(&world, "status"));
        match wrong {
            None => assert_eq!((&*statuses[0], ran.code), ("completed", Some(0)), "{config} {ran}"),
            Some(wrong) => {
                assert!(errors[0].starts_with(wrong), "{config} {errors:?}");
                assert_eq!((statuses, ran.code), (vec!["failed".to_owned(), "skipped".to_owned()], Some(1)), "{ran}");
            }
        }
        let state = if wrong.is_some() { "failed" } else { "passed" };
        assert!(registered(&world).values().all(|shown| shown.starts_with(state)), "{config}");
        assert_eq!(registered(&world).len(), files.len(), "{config}");
    }
}

#[test]
fn check_command_sees_the_workers_view_and_keeps_output() {
    let world = tasks(&[("A", "")]);
    let command = "env; grep -q right \\\"$TEAM_EXECUTOR_ARTIFACTS/a.md\\\"";
    world.write(
        "team-executor.toml",
        format!("[artifacts.document]\nverify = \"{command}\"\n[artifacts.code]\nverify = [\"echo\", \"no code\"]\n"),
    );
    let ran = run(&world, &delivers(&[("a.md", "right")]));
    assert_eq!(ran.code, Some(0), "{ran}");
    let printed = read(folder(&world).join("logs/A.1.check-1.out"));
    assert!(printed.contains("TEAM_EXECUTOR_TASK=A\n") && printed.contains("/A/1/check/1\n"), "{printed}");
    assert!(!printed.contains("TEAM_EXECUTOR_PROMPT"), "{printed}");
    assert!(!folder(&world).join("logs/A.1.check-2.out").exists(), "no code was delivered");
}

#[test]
fn a_long_critique_ends_with_what_was_printed_last() {
    let world = tasks(&[("A", "")]);
    world.write("team-executor.toml", "[roles.worker.checks]\nverify = \"seq 1 100000; exit 1\"\n");
    run(&world, &delivers(&[("a.md", "text")]));
    let error = column(&world, "error").remove(0);
    assert!(error.ends_with("\n99999\n100000") && error.len() <= 4096, "{} {error}", error.len());
}

#[test]
fn wrong_check_is_an_error_and_its_command_needs_trust() {
    let world = tasks(&[("A", "")]);
    let wrong = |config: &str| {
        world.write("team-executor.toml", config);
        let refused = world.run(&arguments(SESSION, "true", &[]));
        assert_eq!(refused.code, Some(2), "{refused}");
        refused.stderr
    };
    for (config, said, help) in [
        ("[artifacts.documents]\n", "unknown type of artifacts 'documents'", "did you mean `document`?"),
        ("[artifacts.code]\nsection = []\n", "unknown key 'section' in [artifacts.code]", "did you mean `sections`?"),
        ("[roles.a.checks]\nverify = []\n", "invalid value of 'verify'", "write a command as a text"),
        ("[roles.a.checks]\nlimit = \"1m\"\n", "[roles.a.checks] has a 'limit' and no 'verify'", "add `verify = "),
        ("[roles.a.checks]\nschema = \"../x\"\n", "invalid value of 'schema'", "the path of a JSON Schema"),
        ("[roles.a.checks]\nfiles = [\"/x\"]\n", "invalid value of 'files'", "a list of paths"),
        ("[tasks.A.checks]\nschema = \"none\"\n", "the schema ", "correct it, or the path in `schema`"),
        ("[tasks.A.checks]\nverify = [\"no-such\"]\n", "'no-such' is not found in PATH", "install no-such"),
    ] {
        let told = wrong(config);
        assert!(told.contains(said) && told.contains(help), "{config} {told}");
    }
    let untrusted = wrong("[artifacts.code]\nverify = [\"make\", \"test\"]\n");
    assert!(
        untrusted.contains("team-executor.toml:2 came with the project and chooses what is run: make test"),
        "{untrusted}"
    );
    let shown = world.run(&["config", "--format", "json"]);
    assert!(shown.stdout.contains("\"artifacts.code.verify\""), "{shown}");
    let list = world.run(&["artifacts", SESSION]);
    assert!(list.stderr.contains("error: the session was never run\n"), "{list}");
}

/// R: D-04
#[test]
fn second_delivery_is_a_new_version_and_first_moves_aside() {
    let world = tasks(&[("A", "")]);
    world.write("team-executor.toml", "[artifacts.document]\nsections = [\"Summary\"]\n");
    assert_eq!(run(&world, &delivers(&[("a.md", "none"), ("half.md", "# Summary\\n")])).code, Some(1));
    assert_eq!(registered(&world)["A/a.md"], "failed 1.0");
    let ran = again(&world, "A", &delivers(&[("a.md", "# Summary\\n")]));
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stderr.contains("A: files of its last attempt moved to quarantine/A.1"), "{ran}");
    assert_eq!(registered(&world), one("A/a.md", "passed 1.1"));
    let aside = folder(&world).join("quarantine/A.1");
    assert_eq!([read(aside.join("a.md")), read(aside.join("half.md"))], ["none", "# Summary\n"]);
    let shown = world.run(&["artifacts", "show", "A/a.md", SESSION, "--format", "json"]);
    let history = &json(&shown)["history"];
    assert_eq!((&history[0]["version"], &history[0]["state"]), (&"1.0".into(), &"failed".into()), "{shown}");
    assert_eq!((&history[1]["version"], &history[1]["attempt"]), (&"1.1".into(), &2.into()), "{shown}");
}

#[test]
fn check_command_has_its_folder_without_a_delivery() {
    let world = tasks(&[("A", "")]);
    world.write("team-executor.toml", "[tasks.A.checks]\nverify = \"test -d $TEAM_EXECUTOR_ARTIFACTS\"\n");
    assert_eq!(run(&world, "echo did it").code, Some(0));
}
