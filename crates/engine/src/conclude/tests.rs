//! Tables: what is refused as a result, and what an attempt ends as by its exit, its report and its delivery.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use team_executor_agents::{Limit, Obstacle};
use team_executor_core::run::ErrorClass;
use team_executor_core::{Graph, RoleName, TaskId, TaskIndex, TaskStatus};
use team_executor_store::RealDisk;

use super::*;

const DONE: &str = r#"{"status":"completed","findings":"found it","data":{},"task_id":"T-1"}"#;
const NOT_DONE: &str = r#"{"status":"failed","findings":"half","error":"no network"}"#;

fn id() -> TaskId {
    TaskId::parse("A").unwrap()
}

fn parse(text: &str) -> Found {
    WorkerReport::parse(text, &id())
}

fn completed(findings: &str) -> Outcome {
    Outcome::completed(Some(findings.to_owned()))
}

fn failed(error: &str) -> Outcome {
    Outcome::Failed { class: ErrorClass::Transient, error: error.to_owned() }
}

fn reported(ended: &Ended, text: &str) -> Outcome {
    conclude(ended, Some(&parse(text)), &Delivery::default())
}

#[test]
fn unreadable_results_are_refused_with_one_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("A.1.result.json");
    let results = Results::open(dir.path()).unwrap();
    assert_eq!(results.read(&id(), 1).unwrap(), None);
    let deep = format!(r#"{{"status":"completed","deep":{}{}}}"#, "[".repeat(64), "]".repeat(64));
    let large = format!("{DONE}{}", " ".repeat(1 << 20));
    let write = |text: &[u8]| fs::write(&path, text).unwrap();
    let plants: [(&dyn Fn(), &str); 11] = [
        (&|| symlink("elsewhere", &path).unwrap(), "it is a link"),
        (&|| fs::create_dir(&path).unwrap(), "it is a folder"),
        (&|| mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap(), "it is not a regular file"),
        (&|| write(large.as_bytes()), "it has 1048646 bytes; the limit is 1048576"),
        (&|| write(b"{\"status\":\"\xff\"}"), "it is not UTF-8 from byte 11 on"),
        (&|| write(b" \n"), "it is empty"),
        (&|| write(b"[]"), "it is not an object"),
        (&|| write(b"null"), "it is not an object"),
        (&|| write(deep.as_bytes()), "nested deeper than 64 levels (line 1)"),
        (&|| write(b"{\n\"status\": completed}"), "expected a value (line 2)"),
        (&|| write(b"{\"status\":"), "the file ends inside the object (line 1)"),
    ];
    for (plant, why) in plants {
        plant();
        let found = results.read(&id(), 1).unwrap().unwrap();
        let sentence = format!("its result cannot be read: {why}");
        assert_eq!(conclude(&Ended::Exit(0), Some(&found), &Delivery::default()), failed(&sentence));
        assert_eq!(results.report(&id(), 1), None);
        fs::remove_dir(&path).or_else(|_| fs::remove_file(&path)).unwrap();
    }
    write(format!("\u{feff}{DONE}").as_bytes());
    assert_eq!(results.report(&id(), 1).unwrap().findings, "found it");
}

/// R: A-04
#[test]
fn attempt_completes_only_if_exit_report_and_delivery_agree() {
    let ends = [Ended::Exit(0), Ended::Exit(1), Ended::Signal(9), Ended::Limit(Limit::Total), Ended::Stopped];
    let (mut all, mut done) = (0, 0);
    for ended in &ends {
        for text in [None, Some(DONE), Some(NOT_DONE), Some("{")] {
            for last_line in [None, Some("said")] {
                for artifacts in [0, 1] {
                    for must_report in [false, true] {
                        let delivery = Delivery { last_line, complaint: None, artifacts, must_report };
                        let result = text.map(parse);
                        let has_worked = text.is_some() || last_line.is_some() || artifacts > 0 || !must_report;
                        let expected = *ended == Ended::Exit(0) && text.is_none_or(|text| text == DONE) && has_worked;
                        let outcome = conclude(ended, result.as_ref(), &delivery);
                        let is_completed = matches!(outcome, Outcome::Completed { .. });
                        assert_eq!(is_completed, expected, "{ended:?} {text:?} {delivery:?}");
                        assert_eq!(outcome == Outcome::Interrupted, *ended == Ended::Stopped);
                        (all, done) = (all + 1, done + usize::from(is_completed));
                    }
                }
            }
        }
    }
    assert_eq!((all, done), (160, 15));
}

#[test]
fn exit_status_decides_without_a_result() {
    let printed = Delivery { last_line: Some("all green"), ..Delivery::default() };
    let complained = Delivery { complaint: Some("no such file"), ..printed };
    let nothing = Delivery { must_report: true, ..Delivery::default() };
    let timed_out = |error: &str| Outcome::TimedOut { error: error.to_owned() };
    let no_start = Ended::CouldNotStart(Obstacle::new("x: not found"));
    for (ended, delivery, expected) in [
        (Ended::Exit(0), printed, completed("all green")),
        (Ended::Exit(0), complained, completed("all green")),
        (Ended::Exit(0), Delivery::default(), completed("")),
        (Ended::Exit(0), nothing, failed("did nothing: no result, no output and no artifact")),
        (Ended::Exit(0), Delivery { artifacts: 1, ..nothing }, completed("")),
        (Ended::Exit(3), printed, failed("exit code 3")),
        (Ended::Exit(3), complained, failed("exit code 3: no such file")),
        (Ended::Signal(11), printed, failed("ended by signal 11")),
        (Ended::Limit(Limit::Total), complained, timed_out("timed out")),
        (Ended::Limit(Limit::Idle), printed, timed_out("timed out: no more output")),
        (Ended::Limit(Limit::FirstOutput), nothing, timed_out("timed out: no output at all")),
        (no_start, nothing, Outcome::CouldNotStart { error: "could not start: x: not found".to_owned() }),
        (Ended::Interrupted, printed, Outcome::Interrupted),
    ] {
        assert_eq!(conclude(&ended, None, &delivery), expected, "{ended:?} {delivery:?}");
    }
}

#[test]
fn usage_in_a_result_counts_only_with_numbers_that_can_be() {
    let usage = |said: &str| {
        let text = format!(r#"{{"status":"completed","findings":"f","usage":{said}}}"#);
        WorkerReport::parse(&text, &id()).unwrap().usage
    };
    let said =
        usage(r#"{"model":"m","input_tokens":9,"cached_tokens":12,"output_tokens":3,"cost_usd":0.25,"turns":2}"#);
    let said = said.unwrap();
    assert_eq!((said.model.as_deref(), said.input, said.cached, said.output), (Some("m"), 9, 9, 3));
    assert_eq!((said.cost_micros, said.turns), (Some(250_000), Some(2)));
    assert_eq!(usage(r#"{"output_tokens":3}"#).unwrap().output, 3);
    for nothing in [r#"{"model":"m"}"#, r#"{"input_tokens":-1,"cost_usd":-0.5}"#, r#"{"cost_usd":1e300}"#, "[1]", "7"] {
        assert_eq!(usage(nothing), None, "{nothing}");
    }
}

#[test]
fn failed_result_is_believed_and_bad_exit_overrides_success() {
    let list = r#"{"status":"completed","findings":["a",1]}"#;
    let twice = r#"{"status":"completed","status":"failed","error":"last"}"#;
    for (ended, text, expected) in [
        (Ended::Exit(0), DONE, completed("found it")),
        (Ended::Exit(0), list, completed("[\"a\",1]")),
        (Ended::Exit(0), NOT_DONE, failed("no network")),
        (Ended::Exit(2), NOT_DONE, failed("no network (exit code 2)")),
        (Ended::Exit(2), DONE, failed("exit code 2, though it reported completed")),
        (Ended::Exit(0), twice, failed("last")),
        (Ended::Exit(0), "{}", failed("its result has no status")),
        (Ended::Exit(0), r#"{"status":null}"#, failed("its result has no status")),
        (Ended::Exit(0), r#"{"status":1}"#, failed("its result has the status `1`, not `completed` or `failed`")),
        (
            Ended::Exit(0),
            r#"{"status":"done"}"#,
            failed("its result has the status `done`, not `completed` or `failed`"),
        ),
        (Ended::Exit(0), r#"{"status":"failed","error":" "}"#, failed("it reported failed without an error")),
        (Ended::Stopped, DONE, Outcome::Interrupted),
    ] {
        assert_eq!(reported(&ended, text), expected, "{ended:?} {text}");
    }
}

/// R: M-05
#[test]
fn findings_that_were_cut_inside_of_a_character_are_read() {
    let cut = r#"{"status":"completed","findings":"so far\ud83d"}"#;
    assert_eq!(reported(&Ended::Exit(0), cut), completed("so far\u{FFFD}"));
}

#[test]
fn last_lines_of_errors_are_shown_together_if_they_are_short() {
    assert_eq!(super::last_lines("a\n\nb\n c \nd\n\n"), "b; c; d");
    let long = "x".repeat(190);
    assert_eq!(super::last_lines(&format!("some reason\n{long}\n")), long);
    assert_eq!(super::last_lines(" \n"), "");
}

#[test]
fn findings_are_whole_however_long() {
    let long = "ä".repeat(600);
    let printed = Delivery { last_line: Some(&long), ..Delivery::default() };
    assert_eq!(conclude(&Ended::Exit(0), None, &printed), completed(&long));
    assert_eq!(
        reported(&Ended::Exit(0), &format!(r#"{{"status":"completed","findings":"{long}"}}"#)),
        completed(&long)
    );
}

#[test]
fn result_may_report_a_gap() {
    let gap = |data: &str| parse(&format!(r#"{{"status":"completed","data":{data}}}"#)).unwrap().gap();
    assert_eq!(gap(r#"{"capability_gap":"no one knows COBOL"}"#).as_deref(), Some("no one knows COBOL"));
    assert_eq!(gap(r#"{"capability_gap":{"needs":"COBOL"}}"#).as_deref(), Some(r#"{"needs":"COBOL"}"#));
    for none in [r#"{"capability_gap":null}"#, r#"{"capability_gap":" "}"#, "{}", "3", r#""capability_gap""#] {
        assert_eq!(gap(none), None, "{none}");
    }
}

#[test]
fn only_a_report_that_says_so_ends_the_job() {
    assert!(parse(r#"{"status":"failed","stop":true}"#).unwrap().stops());
    for other in [r#"{"stop":false}"#, r#"{"stop":"true"}"#, r#"{"data":{"stop":true}}"#] {
        assert!(!parse(other).unwrap().stops(), "{other}");
    }
}

/// Concludes a completed attempt at `A` with a report and what is in its folder of discoveries.
fn demanded(findings: &str, discoveries: Option<&Path>, result: Option<&str>) -> Outcome {
    let task = Task::new(id(), RoleName::parse("r").unwrap());
    let graph = Graph::seal(std::slice::from_ref(&task)).graph.unwrap();
    let disk = discoveries.map(|folder| RealDisk::open_folder(folder).unwrap());
    let discovery = Discovery::read(disk.as_ref(), &task.id).unwrap();
    let reports = Reports { result: result.map(|text| parse(text).unwrap()), discovery };
    let demands = AttemptDemands { task: &task, index: TaskIndex(0), graph: &graph, is_command: false, job: None };
    reports.conclude(completed(findings), &demands, &mut Vec::new())
}

#[test]
fn attempt_without_a_discovery_or_findings_has_failed() {
    let dir = tempfile::tempdir().unwrap();
    let concluded = |findings: &str| demanded(findings, Some(dir.path()), None);
    let write = |text: &str| fs::write(dir.path().join("A.json"), text).unwrap();
    assert_eq!(demanded(" ", None, None), completed(" "), "where the dialect has none");
    assert_eq!(concluded(" "), failed("No discovery file produced"));
    assert_eq!(concluded("done"), completed("done"));
    write(r#"{"status":"completed","findings":"theirs"}"#);
    assert_eq!((concluded(""), concluded("ours")), (completed("theirs"), completed("ours")));
    write(r#"{"status":"completed","data":{"key_findings":["one","two"]}}"#);
    assert_eq!(concluded(""), completed("one; two"));
    write(r#"{"status":"failed","error":"no time"}"#);
    assert_eq!(concluded("done"), failed("no time"));
    for unreadable in ["{", r#"{"task_id":"","status":"completed"}"#] {
        write(unreadable);
        assert_eq!(concluded("done"), failed("its discovery discoveries/A.json cannot be read"), "{unreadable}");
    }
}

#[test]
fn report_is_known_until_its_attempt_has_ended() {
    assert!(Reports::default().known().is_none());
    let named = |text: &str| Reports { result: parse(text).ok(), ..Reports::default() };
    let reports = named(r#"{"status":"completed","artifacts_produced":["a.md"],"artifacts":["b.md"]}"#);
    assert_eq!(reports.artifacts(), ["a.md"]);
    let known = named(DONE).known().unwrap();
    assert!(known.artifacts().is_empty());
    assert_eq!(known.first().and_then(WorkerReport::status), Some(TaskStatus::Completed.word()));
}
