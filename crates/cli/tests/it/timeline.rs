//! `timeline` and `report --format html`: when tasks ran, why the run took so long, and one page to mail.

use std::collections::BTreeMap;

use serde_json::Value;
use team_executor_testkit::World;

use crate::run::{run, tasks};

/// A is tried twice, REVIEW sends B back once, and titles and output are hostile.
fn world() -> World {
    let world = tasks(&[]);
    world.write(
        "S/tasks.csv",
        "id,title,deps,role\nA,</text><script>alert(1)</script>,,dev\nB,<img src=x onerror=alert(2)>,A,dev\n\
         C,short,,dev\nREVIEW,the review,B,qa\n",
    );
    let reject = r#"{"status":"completed","findings":"no","data":{"verdict":"reject","critique":"no <b>tests</b>"}}"#;
    let worker = format!(
        "case $TEAM_EXECUTOR_TASK in A) [ -e a ] || {{ : >a; exit 1; }};; \
         B) sleep 0.4; echo '<script>alert(3)</script>'; echo x >$TEAM_EXECUTOR_ARTIFACTS/b.md;; \
         REVIEW) [ -e r ] || {{ : >r; echo '{reject}' >$TEAM_EXECUTOR_RESULT; }};; esac"
    );
    let ran = run(&world, &worker, &["--retries", "1", "-c", "2"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    world
}

fn of(world: &World, format: &str) -> String {
    let run = world.run(&["timeline", "--session=S", "--format", format]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
    run.stdout
}

/// R: U-02
#[test]
fn timeline_names_the_chain_that_made_the_run_long() {
    let text = of(&world(), "text");
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[0].ends_with(", 7 attempts at 4 tasks, at most 2 at a time"), "{text}");
    let row = |id: &str| {
        rows.iter().copied().find(|row| row.trim_start_matches(['*', ' ']).starts_with(&format!("{id} "))).expect(id)
    };
    assert!(row("A").starts_with("* A ") && row("A").contains("✗") && row("A").ends_with(", 2 attempts"), "{text}");
    assert!(row("B").contains('▚') && row("B").contains('█'), "{text}");
    assert!(row("C").starts_with("  C "), "{text}");
    let why = rows.iter().position(|row| *row == "Why it took so long:").expect("the chain");
    let chain: Vec<String> = rows[why + 1..]
        .iter()
        .map(|row| {
            row.split_once(": ").map_or("", |(_, why)| why).split(" after ").next().unwrap_or_default().to_owned()
        })
        .collect();
    let expected = ["began", "was retried", "depends on A", "depends on B", "was sent back by REVIEW", "depends on B"];
    assert_eq!(chain, expected, "{text}");
    assert!(rows[why + 2].contains(": was retried after attempt 1 after "), "the wait counts: {text}");
}

/// R: U-02
#[test]
fn large_timeline_fits_the_terminal_and_all_is_all() {
    let mut ids: Vec<(String, String)> = (0..300).map(|nth| (format!("T{nth}"), String::new())).collect();
    ids.extend((1..40).map(|nth| (format!("C{nth}"), if nth == 1 { String::new() } else { format!("C{}", nth - 1) })));
    let all: Vec<(&str, &str)> = ids.iter().map(|(id, on)| (id.as_str(), on.as_str())).collect();
    let world = tasks(&all);
    assert_eq!(run(&world, "true", &["-c", "4"]).code, Some(0));
    let text = of(&world, "text");
    assert!(text.lines().count() < 24, "{text}");
    assert!(text.contains("other task") && text.contains("\nWhy it took so long:\n"), "{text}");
    let command = text.lines().last().and_then(|line| line.strip_prefix("All tasks: ")).expect("a command");
    let all = world.shell(command).stdout;
    assert!(ids.iter().all(|(id, _)| all.contains(&format!(" {id} "))), "{all}");
    let picture = of(&world, "svg");
    roxmltree::Document::parse(&picture).expect("XML");
}

/// R: U-02
#[test]
fn trace_has_each_attempt_in_its_slot_and_the_chain_as_arrows() {
    let trace: Value = serde_json::from_str(&of(&world(), "trace")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let of = |ph: &str| events.iter().filter(|event| event["ph"] == ph).cloned().collect::<Vec<_>>();
    let number = |event: &Value, field: &str| event[field].as_i64().unwrap_or_else(|| panic!("{field}: {event}"));
    let mut names: Vec<_> =
        of("X").iter().filter_map(|event| event["args"]["task"].as_str().map(str::to_owned)).collect();
    names.sort();
    assert_eq!(names, ["A", "A", "B", "B", "C", "REVIEW", "REVIEW"]);
    // Slices of one thread lie beside or within each other.
    let mut threads = BTreeMap::<i64, Vec<(i64, i64)>>::new();
    for event in of("X") {
        let (from, length) = (number(&event, "ts"), number(&event, "dur"));
        assert!(from >= 0 && length >= 0, "{event}");
        threads.entry(number(&event, "tid")).or_default().push((from, from + length));
    }
    for slices in threads.values() {
        for (from, to) in slices {
            let crosses = |other: &&(i64, i64)| other.0 < *from && *from < other.1 && other.1 < *to;
            assert_eq!(slices.iter().find(crosses), None, "{slices:?}");
        }
    }
    assert_eq!((of("s").len(), of("f").len()), (5, 5), "six attempts in the chain");
    assert!(of("b").len() == of("e").len() && of("M").len() >= 4, "{trace:#}");
}

/// R: U-02
#[test]
fn html_report_stands_alone_and_text_of_agents_stays_text() {
    let world = world();
    let run = world.run(&["report", "--session=S", "--format", "html"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
    let page = &run.stdout;
    assert!(page.starts_with("<!doctype html>\n<!-- team-executor report -->\n"), "{page}");
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""), "{page}");
    for never in ["<script", "<img", "<link", "<iframe", "src=\"", "href=", "@import", "url(http"] {
        assert!(!page.contains(never), "{never}: {page}");
    }
    let urls: Vec<_> =
        page.match_indices("http").map(|(at, _)| page[at..].chars().take(26).collect::<String>()).collect();
    assert!(urls.iter().all(|url| url == "http://www.w3.org/2000/svg" || url.starts_with("http-equiv")), "{urls:?}");
    assert!(page.contains("&lt;script&gt;alert(3)&lt;/script&gt;") && page.contains("&lt;img src=x onerror"), "{page}");
    assert_eq!(page.matches("<svg ").count(), 2, "the graph and the timeline");
    for part in ["Timeline</h2>", "Why it took so long</h2>", "Deliverables</h2>", "All tasks</h2>", "artifacts/B/b.md"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let written = run_again_with_a_report(&world);
    assert!(written.starts_with("<!doctype html>"), "{written}");

    let world = tasks(&[("A", ""), ("B", "A")]);
    assert_eq!(crate::run::run(&world, "echo '<b>bad</b>' >&2; exit 3", &["--retries", "0"]).code, Some(1));
    let page = world.run(&["report", "--session=S", "--format", "html"]).stdout;
    for part in ["Failures</h2>", "Problems</h2>", "&lt;b&gt;bad&lt;/b&gt;", "team-executor retry A --session=S"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

/// A run that writes its report itself, a second time over its own file.
fn run_again_with_a_report(world: &World) -> String {
    for _ in 0..2 {
        world.run(&["retry", "C", "--downstream", "--session=S"]);
        let again = run(world, "true", &["--report", "html=run.html"]);
        assert_eq!(again.code, Some(0), "{again}");
    }
    std::fs::read_to_string(world.dir().join("run.html")).expect("a report")
}

#[test]
fn session_that_was_never_run_has_no_timeline() {
    let world = tasks(&[("A", "")]);
    let never = world.run(&["timeline", "--session=S"]);
    assert!(never.code == Some(2) && never.stderr.contains("the session was never run"), "{never}");
}
