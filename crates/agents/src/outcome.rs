//! What the end of a worker means. Three things are looked at apart: how it ran, what it reported, and whether what it
//! promised is there. Nothing is read here; the caller hands in what was found.

use serde_json::Value;

use crate::exit::{Ended, Limit};
use crate::json;

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The task is done.
    Completed {
        /// What it found, whole; whoever writes it into a format cuts it.
        findings: String,
    },
    /// The task is not done.
    Failed {
        /// What it found nevertheless.
        findings: String,
        /// Why, in words for people.
        error: String,
    },
    /// It was ended from outside; that says nothing about the task.
    Interrupted,
}

/// What a worker produced, besides its output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Produced<'a> {
    /// The text of its result file, if it wrote one.
    pub result: Option<&'a str>,
    /// The last line of its output that is not empty.
    pub last_line: Option<&'a str>,
    /// The last line of its errors that is not empty. It says why where the exit status decides.
    pub complaint: Option<&'a str>,
    /// How many artifacts there are.
    pub artifacts: usize,
    /// The artifacts that it promised and that are not there.
    pub missing: &'a [String],
    /// To end well without a result, an output or an artifact is not to have done the task.
    pub must_report: bool,
}

/// Judges an attempt.
pub fn judge(ended: &Ended, produced: &Produced<'_>) -> Outcome {
    let ran = match ended {
        Ended::Interrupted | Ended::Stopped => return Outcome::Interrupted,
        Ended::Exit(0) => None,
        Ended::Exit(code) => Some(format!("exit code {code}")),
        Ended::Signal(signal) => Some(format!("ended by signal {signal}")),
        Ended::Limit(Limit::FirstOutput) => Some("timed out: no output at all".to_owned()),
        Ended::Limit(Limit::Idle) => Some("timed out: no more output".to_owned()),
        Ended::Limit(Limit::Total) => Some("timed out".to_owned()),
        Ended::CouldNotStart(obstacle) => Some(format!("could not start: {}", obstacle.reason)),
    };
    let ran = match (ran, produced.complaint, ended) {
        (Some(ran), Some(why), Ended::Exit(_) | Ended::Signal(_)) => Some(format!("{ran}: {why}")),
        (ran, ..) => ran,
    };
    let (findings, reported) = match produced.result {
        Some(text) => report(text),
        None => (produced.last_line.unwrap_or_default().to_owned(), Ok(())),
    };
    let did_nothing =
        produced.must_report && produced.result.is_none() && produced.last_line.is_none() && produced.artifacts == 0;
    let verified = match produced.missing {
        [] if did_nothing => Some("did nothing: no result, no output and no artifact".to_owned()),
        [] => None,
        missing => Some(format!("promised but not there: {}", missing.join(", "))),
    };
    let error = match (ran, reported) {
        (Some(ran), Err(reported)) => Some(format!("{reported} ({ran})")),
        (Some(ran), Ok(())) if produced.result.is_some() => Some(format!("{ran}, though it reported completed")),
        (Some(ran), Ok(())) => Some(ran),
        (None, Err(reported)) => Some(reported),
        (None, Ok(())) => verified,
    };
    match error {
        None => Outcome::Completed { findings },
        Some(error) => Outcome::Failed { findings, error },
    }
}

/// The findings in a result file, and whether it reports success. Unknown fields are of no interest.
fn report(text: &str) -> (String, Result<(), String>) {
    let mut report = match json::object(text) {
        Ok(report) => report,
        Err(why) => return (String::new(), Err(format!("its result cannot be read: {why}"))),
    };
    let mut field = |name: &str| report.remove(name).unwrap_or_default();
    let reported = match field("status") {
        Value::String(status) if status == "completed" => Ok(()),
        Value::String(status) if status == "failed" => {
            let said = Some(words(field("error"))).filter(|error| !error.trim().is_empty());
            Err(said.unwrap_or_else(|| "it reported failed without an error".to_owned()))
        }
        Value::Null => Err("its result has no status".to_owned()),
        other => Err(format!("its result has the status `{}`, not `completed` or `failed`", words(other))),
    };
    (words(field("findings")), reported)
}

/// A text as it is, nothing as nothing, and anything else as it was written.
fn words(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Obstacle;

    fn completed(findings: &str) -> Outcome {
        Outcome::Completed { findings: findings.to_owned() }
    }

    fn failed(findings: &str, error: &str) -> Outcome {
        Outcome::Failed { findings: findings.to_owned(), error: error.to_owned() }
    }

    fn result(text: &str) -> Produced<'_> {
        Produced { result: Some(text), ..Produced::default() }
    }

    const DONE: &str = r#"{"status":"completed","findings":"found it","data":{},"task_id":"T-1"}"#;
    const NOT_DONE: &str = r#"{"status":"failed","findings":"half","error":"no network"}"#;

    #[test]
    fn without_a_result_the_exit_status_decides_and_the_last_line_is_the_findings() {
        let printed = Produced { last_line: Some("all green"), ..Produced::default() };
        assert_eq!(judge(&Ended::Exit(0), &printed), completed("all green"));
        assert_eq!(judge(&Ended::Exit(3), &printed), failed("all green", "exit code 3"));
        assert_eq!(judge(&Ended::Signal(11), &printed), failed("all green", "ended by signal 11"));
        let complained = Produced { complaint: Some("no such file"), ..printed };
        assert_eq!(judge(&Ended::Exit(3), &complained), failed("all green", "exit code 3: no such file"));
        assert_eq!(judge(&Ended::Exit(0), &complained), completed("all green"));
    }

    #[test]
    fn success_without_work_is_not_success() {
        let error = "did nothing: no result, no output and no artifact";
        let nothing = Produced { must_report: true, ..Produced::default() };
        assert_eq!(judge(&Ended::Exit(0), &nothing), failed("", error));
        assert_eq!(judge(&Ended::Exit(0), &Produced::default()), completed(""), "where the exit status decides");
        let artifact = Produced { artifacts: 1, ..nothing };
        assert_eq!(judge(&Ended::Exit(0), &artifact), completed(""));
        let missing = ["a.md".to_owned(), "b.md".to_owned()];
        let promised = Produced { missing: &missing, artifacts: 3, ..result(DONE) };
        assert_eq!(judge(&Ended::Exit(0), &promised), failed("found it", "promised but not there: a.md, b.md"));
    }

    #[test]
    fn a_result_is_believed_when_it_says_failed_and_doubted_when_the_exit_status_does() {
        assert_eq!(judge(&Ended::Exit(0), &result(DONE)), completed("found it"));
        let list = r#"{"status":"completed","findings":["a",1]}"#;
        assert_eq!(judge(&Ended::Exit(0), &result(list)), completed("[\"a\",1]"));
        assert_eq!(judge(&Ended::Exit(0), &result(NOT_DONE)), failed("half", "no network"));
        assert_eq!(judge(&Ended::Exit(2), &result(NOT_DONE)), failed("half", "no network (exit code 2)"));
        let both = "exit code 2, though it reported completed";
        assert_eq!(judge(&Ended::Exit(2), &result(DONE)), failed("found it", both));
    }

    #[test]
    fn a_result_that_says_nothing_clear_is_a_failure_that_says_so() {
        let error = |text| match judge(&Ended::Exit(0), &result(text)) {
            Outcome::Failed { error, .. } => error,
            other => panic!("{other:?}"),
        };
        assert!(error("{\"status\":").starts_with("its result cannot be read: "));
        assert_eq!(error(" "), "its result cannot be read: it is empty");
        for not_an_object in ["3", "null", "[]", r#"["completed","found"]"#] {
            assert_eq!(error(not_an_object), "its result cannot be read: it is not an object");
        }
        assert_eq!(error("{}"), "its result has no status");
        assert_eq!(error(r#"{"status":1}"#), "its result has the status `1`, not `completed` or `failed`");
        assert_eq!(error(r#"{"status":"done"}"#), "its result has the status `done`, not `completed` or `failed`");
        assert_eq!(error(r#"{"status":"failed","error":" "}"#), "it reported failed without an error");
    }

    /// R: A-04
    #[test]
    fn an_attempt_is_completed_only_if_it_ran_and_reported_and_there_is_what_it_promised() {
        let ends = [Ended::Exit(0), Ended::Exit(1), Ended::Signal(9), Ended::Limit(Limit::Total)];
        let missing = ["a.md".to_owned()];
        let (mut all, mut done) = (0, 0);
        for ended in &ends {
            for result in [None, Some(DONE), Some(NOT_DONE), Some("{")] {
                for last_line in [None, Some("said")] {
                    for artifacts in [0, 1] {
                        for missing in [&[][..], &missing] {
                            let produced =
                                Produced { result, last_line, complaint: None, artifacts, missing, must_report: true };
                            let ran = *ended == Ended::Exit(0);
                            let reported = result.is_none_or(|text| text == DONE);
                            let worked = result.is_some() || last_line.is_some() || artifacts > 0;
                            let completed = ran && reported && worked && missing.is_empty();
                            let judged = matches!(judge(ended, &produced), Outcome::Completed { .. });
                            assert_eq!(judged, completed, "{ended:?} {produced:?}");
                            (all, done) = (all + 1, done + usize::from(judged));
                        }
                    }
                }
            }
        }
        assert_eq!((all, done), (128, 7));
    }

    #[test]
    fn a_limit_is_a_failure_and_an_end_from_outside_is_none() {
        let limit = |limit| judge(&Ended::Limit(limit), &Produced::default());
        assert_eq!(limit(Limit::Total), failed("", "timed out"));
        assert_eq!(limit(Limit::Idle), failed("", "timed out: no more output"));
        assert_eq!(limit(Limit::FirstOutput), failed("", "timed out: no output at all"));
        let not_there = Ended::CouldNotStart(Obstacle::new("x: not found"));
        assert_eq!(judge(&not_there, &Produced::default()), failed("", "could not start: x: not found"));
        for ended in [Ended::Interrupted, Ended::Stopped] {
            assert_eq!(judge(&ended, &result(DONE)), Outcome::Interrupted);
        }
    }

    /// R: M-05
    #[test]
    fn findings_that_were_cut_inside_of_a_character_are_read() {
        let cut = r#"{"status":"completed","findings":"so far\ud83d"}"#;
        assert_eq!(judge(&Ended::Exit(0), &result(cut)), completed("so far\u{FFFD}"));
    }

    #[test]
    fn findings_are_whole_however_long() {
        let long = "ä".repeat(600);
        let printed = Produced { last_line: Some(&long), ..Produced::default() };
        assert_eq!(judge(&Ended::Exit(0), &printed), completed(&long));
    }
}
