//! What a report says about the work of others: only about what its task builds on, and only with these words.

use std::collections::BTreeMap;

use team_executor_core::run::{Review, TaskPolicy};
use team_executor_core::{Graph, Judge, RoleName, Session, Task, TaskIndex, Verdict};

use super::demands::AttemptDemands;
use super::report::{Severity, WorkerReport};

/// A team that cannot agree sends work back only once; then a person decides.
const CONSENSUS_ROUNDS: u32 = 1;
/// What is kept of a critique.
const CRITIQUE_CHARS: usize = 4000;
/// `data.verdict`: words that send work back, and words that do not.
const REJECTS: [&str; 2] = ["reject", "rejected"];
const ACCEPTS: [&str; 9] = ["approve", "approved", "accept", "accepted", "pass", "passed", "ok", "warn", "warning"];
/// Other words for what a supervisor says.
const ALSO: [(&str, Verdict); 3] = [("passed", Verdict::Pass), ("warning", Verdict::Warn), ("blocked", Verdict::Block)];

/// What the plan itself says about checkpoints and complexity, added to what differs for single tasks anyway.
pub(crate) fn with_checkpoints(
    mut tasks: BTreeMap<TaskIndex, TaskPolicy>,
    session: &Session,
) -> BTreeMap<TaskIndex, TaskPolicy> {
    for (index, task) in (0..).map(TaskIndex).zip(&session.tasks) {
        let judge = task.judge();
        let (asks, is_off) = (judge == Some(Judge::Person), judge == Some(Judge::Supervisor) && !session.supervision);
        if asks || is_off || task.min_complexity.is_some() {
            let own = tasks.entry(index).or_default();
            own.least = own.least.or(task.min_complexity);
            (own.asks, own.is_off) = (own.asks || asks, own.is_off || is_off);
        }
    }
    tasks
}

/// Whether a task only reviews the work of others: a supervisor's, or one of a role that reviews.
pub(crate) fn only_reviews(task: &Task) -> bool {
    is_supervised(task) || is_reviewer(&task.role)
}

/// Whether a role reviews the work of others, by its name.
pub(super) fn is_reviewer(role: &RoleName) -> bool {
    let mut words = role.as_str().split(|c: char| !c.is_alphanumeric());
    words.any(|word| ["reviewer", "evaluator"].iter().any(|reviewer| word.eq_ignore_ascii_case(reviewer)))
}

/// Whether the task is a supervisor's, who must give a verdict.
pub(crate) fn is_supervised(task: &Task) -> bool {
    task.judge() == Some(Judge::Supervisor)
}

/// The review in a report of a task; nothing if there is none. A supervisor without a verdict has not done the task. The
/// exit 0 of a command that reports nothing is the verdict `pass`.
pub(super) fn review(report: Option<&WorkerReport>, demands: &AttemptDemands<'_>) -> Result<Option<Review>, String> {
    let AttemptDemands { task, index, graph, is_command, .. } = *demands;
    let Some(report) = report else {
        return match is_supervised(task) {
            true if is_command => Ok(Some(Review { verdict: Some(Verdict::Pass), ..Review::default() })),
            true => Err(no_verdict()),
            false => Ok(None),
        };
    };
    let review = read(report, index, graph);
    if !is_supervised(task) {
        // Only supervisors can stop everything.
        let review = Review { verdict: None, ..review };
        let is_empty = review == Review { critique: review.critique.clone(), ..Review::default() };
        return Ok((!is_empty).then_some(review));
    }
    if review.verdict.is_some() { Ok(Some(review)) } else { Err(no_verdict()) }
}

fn no_verdict() -> String {
    format!("the result of a CHECKPOINT task needs `supervision_verdict`: {}", Verdict::WORDS.join(", "))
}

/// That a report has a verdict in unknown words, for people.
pub(super) fn unknown_verdict(report: &WorkerReport) -> Option<String> {
    let (word, written) = report.verdict.as_ref()?;
    let word = word.as_ref().map(|word| word.trim().to_lowercase());
    if word.is_some_and(|word| word.is_empty() || REJECTS.iter().chain(&ACCEPTS).any(|known| word == *known)) {
        return None;
    }
    let shown: String = written.chars().take(40).collect();
    Some(format!("its verdict {shown} is neither approve nor reject, so nothing was sent back"))
}

fn supervised(word: &str) -> Option<Verdict> {
    let word = word.trim().to_lowercase();
    Verdict::from_word(&word).or_else(|| ALSO.iter().find(|(also, _)| word == *also).map(|(_, verdict)| *verdict))
}

fn read(report: &WorkerReport, index: TaskIndex, graph: &Graph) -> Review {
    let is_blocked = report.dispute.as_ref().is_some_and(|dispute| dispute.severity == Severity::High);
    let word = report.verdict.as_ref().and_then(|(word, _)| word.as_ref());
    let is_rejected = word.is_some_and(|word| REJECTS.contains(&word.trim().to_lowercase().as_str()));
    let mut rejects = Vec::new();
    if is_blocked || is_rejected {
        rejects.extend(report.rejects.iter().filter_map(|id| graph.index_of(id)));
        if rejects.is_empty() {
            rejects.extend(graph.dependencies(index));
        }
    }
    Review {
        verdict: report.supervision.as_deref().and_then(supervised),
        rejects,
        critique: report.critique().chars().take(CRITIQUE_CHARS).collect(),
        rounds: (is_blocked && !is_rejected).then_some(CONSENSUS_ROUNDS),
        complexity: report.complexity,
    }
}

#[cfg(test)]
mod tests {
    use team_executor_core::{SessionId, TaskId};

    use super::*;

    fn session() -> (Session, Graph) {
        let ids = ["PLAN-001", "IMPL-001", "REVIEW-001", "CHECKPOINT-001", "QUALITY-001"];
        let task = |id: &str| Task::new(TaskId::parse(id).unwrap(), RoleName::parse("r").unwrap());
        let mut tasks: Vec<_> = ids.iter().map(|id| task(id)).collect();
        for nth in 1..tasks.len() {
            tasks[nth].dependencies = vec![tasks[nth - 1].id.clone()];
        }
        let graph = Graph::seal(&tasks).graph.unwrap();
        (Session { tasks, ..Session::new(SessionId::parse("TC-1").unwrap()) }, graph)
    }

    fn reviewed(task: u32, result: &str) -> Result<Option<Review>, String> {
        let (session, graph) = session();
        let task_of = &session.tasks[task as usize];
        let report = WorkerReport::parse(result, &task_of.id).map_err(|refused| refused.sentence())?;
        review(Some(&report), &demands(task_of, task, &graph, false))
    }

    fn demands<'a>(task: &'a Task, index: u32, graph: &'a Graph, is_command: bool) -> AttemptDemands<'a> {
        AttemptDemands { task, index: TaskIndex(index), graph, is_command, job: None }
    }

    fn unknown(result: &str) -> Option<String> {
        unknown_verdict(&WorkerReport::parse(result, &TaskId::parse("A").unwrap()).unwrap())
    }

    #[test]
    fn a_rejection_names_tasks_or_means_what_the_task_depends_on() {
        let all = reviewed(2, r#"{"findings":"bad","data":{"verdict":"reject"}}"#).unwrap().unwrap();
        assert_eq!((all.rejects, all.critique.as_str(), all.rounds), (vec![TaskIndex(1)], "bad", None));
        let one = reviewed(2, r#"{"data":{"verdict":"Reject","rejects":["PLAN-001","NO-1"],"critique":"vague"}}"#);
        let one = one.unwrap().unwrap();
        assert_eq!((one.rejects, one.critique.as_str()), (vec![TaskIndex(0)], "vague"));
        assert_eq!(reviewed(2, r#"{"findings":"fine","data":{"verdict":"approve"}}"#), Ok(None));
        for without_a_verdict in ["{}", r#"{"data":"reject"}"#, r#"{"verdict":"reject"}"#] {
            assert_eq!(reviewed(2, without_a_verdict), Ok(None), "{without_a_verdict}");
        }
    }

    #[test]
    fn a_rejection_that_cannot_be_read_is_not_lost_without_a_word() {
        let nested = |levels: usize| {
            let (open, close) = ("[".repeat(levels), "]".repeat(levels));
            reviewed(2, &format!(r#"{{"status":"completed","data":{{"verdict":"reject","deep":{open}{close}}}}}"#))
        };
        assert!(nested(62).unwrap().is_some());
        assert_eq!(nested(63), Err("its result cannot be read: nested deeper than 64 levels (line 1)".to_owned()));
    }

    /// R: E-11
    #[test]
    fn missing_consensus_sends_work_back_once_if_high() {
        let blocked = |severity: &str| {
            reviewed(
                2,
                &format!(r#"{{"data":{{"consensus_blocked":{{"severity":"{severity}","reason":"two ways"}}}}}}"#),
            )
        };
        let high = blocked("HIGH").unwrap().unwrap();
        assert_eq!((high.rejects, high.critique.as_str(), high.rounds), (vec![TaskIndex(1)], "two ways", Some(1)));
        assert_eq!((blocked("MEDIUM"), blocked("LOW")), (Ok(None), Ok(None)));
        assert!(blocked("CRITICAL").unwrap().is_some(), "without a known severity");
        let other =
            |blocked: &str| reviewed(2, &format!(r#"{{"data":{{"consensus_blocked":{blocked}}}}}"#)).unwrap().is_some();
        assert_eq!(["true", "\"HIGH\"", "{}", "{\"severity\":3}"].map(other), [true; 4]);
        assert_eq!(["false", "null", "\"low\"", "\" Medium\""].map(other), [false; 4]);
    }

    #[test]
    fn other_words_mean_the_same_and_unknown_ones_are_told() {
        let verdict = |word: &str| format!(r#"{{"data":{{"verdict":{word}}}}}"#);
        for word in ["\"rejected\"", "\"Rejected \""] {
            assert_eq!(reviewed(2, &verdict(word)).unwrap().unwrap().rejects, [TaskIndex(1)], "{word}");
            assert_eq!(unknown(&verdict(word)), None, "{word}");
        }
        for word in ["\"approved\"", "\"Passed\"", "\"warning\"", "null", "\"\""] {
            assert_eq!((reviewed(2, &verdict(word)), unknown(&verdict(word))), (Ok(None), None), "{word}");
        }
        for word in ["\"maybe\"", "true", "[\"reject\"]"] {
            let told = format!("its verdict {word} is neither approve nor reject, so nothing was sent back");
            assert_eq!((reviewed(2, &verdict(word)), unknown(&verdict(word))), (Ok(None), Some(told)), "{word}");
        }
        for (word, verdict) in ALSO {
            let review = reviewed(3, &format!(r#"{{"supervision_verdict":"{word}"}}"#)).unwrap().unwrap();
            assert_eq!(review.verdict, Some(verdict));
        }
    }

    #[test]
    fn exit_0_of_a_command_without_a_report_is_the_verdict_pass() {
        let (session, graph) = session();
        let verdict = |task: u32, is_command| {
            let reviewed = review(None, &demands(&session.tasks[task as usize], task, &graph, is_command))?;
            Ok::<_, String>(reviewed.and_then(|review| review.verdict))
        };
        assert_eq!(verdict(3, true), Ok(Some(Verdict::Pass)));
        assert!(verdict(3, false).unwrap_err().contains("pass, warn, block"), "an agent has to say it");
        assert_eq!(verdict(2, true), Ok(None), "only supervisors have one");
    }

    /// R: T-03
    #[test]
    fn only_a_checkpoint_can_block_and_it_needs_a_verdict() {
        assert!(
            reviewed(3, r#"{"status":"completed","findings":"looked"}"#).unwrap_err().contains("pass, warn, block")
        );
        assert!(reviewed(3, r#"{"supervision_verdict":"maybe"}"#).is_err());
        for word in Verdict::WORDS {
            let verdict = reviewed(3, &format!(r#"{{"supervision_verdict":"{word}"}}"#)).unwrap().unwrap().verdict;
            assert_eq!(verdict.map(Verdict::word), Some(*word));
        }
        assert_eq!(reviewed(2, r#"{"supervision_verdict":"block"}"#), Ok(None));
    }

    #[test]
    fn plan_shows_checkpoints_and_supervision() {
        let (mut session, _) = session();
        let asks = |session: &Session| {
            let tasks = with_checkpoints(BTreeMap::new(), session);
            tasks.into_iter().map(|(task, own)| (task.0, own.asks, own.is_off)).collect::<Vec<_>>()
        };
        assert_eq!(asks(&session), [(4, true, false)]);
        session.supervision = false;
        assert_eq!(asks(&session), [(3, false, true), (4, true, false)]);
    }
}
