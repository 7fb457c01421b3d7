//! `run --report` and `report`: what became of a run, for CI systems.

use serde_json::Value;
use team_executor_testkit::World;

use crate::run::times::moment;

/// One task that completes with hostile findings, one that fails, and one that is skipped because of it.
const WORKER: &str = r#"case $TEAM_EXECUTOR_TASK in
    GOOD) printf 'a<b>]]>\n::error::x & "%s" |`[x]\n' "$(printf '\033[2J')" ;;
    BAD) echo 'no such table: invoices' >&2; exit 3 ;;
esac"#;

fn world() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world
        .write("S/tasks.csv", "id,title,deps,role\nGOOD,Say <it>,,builder\nBAD,Fail,,builder\nLATER,Wait,BAD,tester\n");
    world
}

fn run(world: &World, more: &[&str]) -> team_executor_testkit::Run {
    world.run(&[&["run", "--session=S", "--agent-command", WORKER, "-y", "--retries=1"], more].concat())
}

fn read(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.dir().join(name)).expect("a report")
}

#[test]
fn junit_report_has_a_case_for_each_task() {
    let world = world();
    let run = run(&world, &["--report", "junit=junit.xml"]);
    assert_eq!(run.code, Some(1), "{run}");
    let text = read(&world, "junit.xml");
    let document = roxmltree::Document::parse(&text).expect("XML");
    let suites = document.root_element();
    let attributes = ["tests", "failures", "skipped"].map(|name| suites.attribute(name).unwrap_or_default());
    assert_eq!(attributes, ["3", "1", "1"]);
    let names: Vec<_> = suites.children().filter_map(|suite| suite.attribute("name")).collect();
    assert_eq!(names, ["builder", "tester"]);
    let case = |name: &str| {
        let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
        cases.into_iter().find(|case| case.attribute("name").is_some_and(|own| own.starts_with(name))).expect("a case")
    };
    assert_eq!(case("GOOD").attribute("name"), Some("GOOD: Say <it>"));
    let failure = case("BAD").first_element_child().expect("a failure");
    assert!(failure.attribute("message").is_some_and(|why| why.contains("no such table: invoices")), "{text}");
    assert!(failure.text().is_some_and(|text| text.ends_with("attempts: 2")), "{text}");
    let skipped = case("LATER").first_element_child().expect("a reason");
    assert_eq!(skipped.attribute("message"), Some("dependency BAD failed"), "{text}");
}

#[test]
fn github_report_annotates_failures_and_writes_a_summary() {
    let mut world = world();
    let summary = world.write("summary.md", "# Of another step\n");
    world.env("GITHUB_STEP_SUMMARY", &summary.display().to_string());
    let run = run(&world, &["--report", "github"]);
    let commands: Vec<_> = run.stdout.lines().filter(|line| line.starts_with("::")).collect();
    assert_eq!(commands.len(), 2, "text of a worker is no workflow command: {run}");
    assert!(commands[0].starts_with("::error title=BAD failed::"), "{run}");
    assert_eq!(commands[1], "::warning title=LATER was skipped::dependency BAD failed");
    let text = read(&world, "summary.md");
    assert!(text.starts_with("# Of another step\n"), "{text}");
    assert!(text.contains("1 of 3 tasks completed, 1 failed, 1 skipped"), "{text}");
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows[1].starts_with("| ❌ | BAD | builder | 2 |"), "failures come first: {text}");
    assert!(!text.contains("a<b>") && !text.contains('\u{1b}'), "{text}");
}

/// R: X-05
#[test]
fn json_report_has_every_attempt_with_its_times() {
    let world = world();
    run(&world, &["--report=json=report.json"]);
    let report: Value = serde_json::from_str(&read(&world, "report.json")).expect("JSON");
    let task = |nth: usize| &report["tasks"][nth];
    let statuses = [0, 1, 2].map(|nth| task(nth)["status"].as_str().unwrap_or_default().to_owned());
    assert_eq!(statuses, ["completed", "failed", "skipped"]);
    let attempts = task(1)["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 2);
    for attempt in attempts {
        assert!(moment(&attempt["started"]) <= moment(&attempt["ended"]), "{attempt}");
        assert_eq!(attempt["outcome"], "failed");
    }
    assert_eq!(report["counts"]["completed"], 1);
    let printed = world.run(&["report", "--session=S"]);
    let again: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    assert_eq!(again["tasks"], report["tasks"], "the journal says the same later");
}

/// R: X-04
#[test]
fn report_overwrites_only_reports() {
    let world = world();
    world.write("mine.xml", "<notes>of a person</notes>\n");
    let refused = run(&world, &["--report=junit=mine.xml"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("cannot write the report mine.xml"), "{refused}");
    assert!(!world.dir().join(".workflow").exists(), "nothing was started: {refused}");
    assert_eq!(read(&world, "mine.xml"), "<notes>of a person</notes>\n");
    let missing = run(&world, &["--report=junit=no/such/folder.xml"]);
    assert_eq!(missing.code, Some(2), "{missing}");
    let odd = run(&world, &["--report=xml"]);
    assert!(odd.stderr.contains("expected junit=FILE, json=FILE, html=FILE or github"), "{odd}");
    for _ in 0..2 {
        assert_eq!(run(&world, &["--report=junit=own.xml"]).code, Some(1));
    }
    assert!(read(&world, "own.xml").contains("tests=\"3\""));
}
