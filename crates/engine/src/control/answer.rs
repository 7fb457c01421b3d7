//! What came of a request, in words and as a line of JSON.

use team_executor_core::run::{Assignment, Cancel, Event, Group, PauseReason, Refused, Run};
use team_executor_core::{CheckpointAction, TaskIndex, TaskStatus};
use team_executor_files::json::{self, Layout, Value, Writer};

use super::VERSION;
use super::request::Request;

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What the run is about now, in a word.
    pub stage: String,
    /// What happened, a line each; or why nothing did.
    pub outcome: Result<Vec<String>, String>,
}

/// How many things are told one by one.
const TOLD: usize = 20;

impl Answer {
    /// Nothing happened.
    pub(crate) fn refused(stage: &str, why: String) -> Self {
        Self { stage: stage.to_owned(), outcome: Err(why) }
    }

    /// What came of a request by what the rules said to it.
    pub(crate) fn from_events<'i>(
        request: &Request,
        events: &[Event],
        refused: Option<Refused>,
        run: &Run,
        id: impl Fn(TaskIndex) -> &'i str,
    ) -> Self {
        let stage = run.stage().word();
        if let Some(refused) = refused {
            return Self::refused(stage, in_words(request, refused, run, id));
        }
        let mut did: Vec<String> = events.iter().flat_map(|event| told(event, run, &id)).collect();
        if did.len() > TOLD {
            let more = did.len() - TOLD;
            did.truncate(TOLD);
            did.push(format!("and {more} more"));
        }
        Self { stage: stage.to_owned(), outcome: Ok(did) }
    }

    /// The answer as a line, without its end.
    pub fn write(&self) -> String {
        let mut out = Writer::new(Layout::Compact);
        out.begin_object();
        out.key("version");
        out.plain(VERSION);
        out.key("stage");
        out.text(&self.stage);
        match &self.outcome {
            Ok(did) => {
                out.key("did");
                out.texts(did);
            }
            Err(why) => {
                out.key("refused");
                out.text(why);
            }
        }
        out.end_object();
        out.finish().trim_end().to_owned()
    }

    /// The answer of a line; nothing if it is none of this version.
    pub fn read(line: &str) -> Option<Self> {
        let document = json::parse(line).ok()?;
        let root = document.root();
        if root.get("version").and_then(Value::as_i64) != Some(VERSION) {
            return None;
        }
        let text = |value: Value<'_, '_>| value.as_text().map(|text| text.into_owned());
        let outcome = match root.get("refused") {
            Some(why) => Err(text(why)?),
            None => Ok(root.get("did")?.items().map(text).collect::<Option<_>>()?),
        };
        Some(Self { stage: text(root.get("stage")?)?, outcome })
    }
}

/// What happened, for people.
fn told<'i>(event: &Event, run: &Run, id: impl Fn(TaskIndex) -> &'i str) -> Vec<String> {
    let words = match event {
        Event::Paused { .. } => match run.at_work().count() {
            0 => "no new workers start".to_owned(),
            running => format!("no new workers start; {running} still running"),
        },
        Event::Resumed { .. } => "workers start again".to_owned(),
        Event::Draining { .. } => match run.at_work().count() {
            0 => "the executor ends".to_owned(),
            running => format!("no new workers start; the executor ends when the last of {running} has ended"),
        },
        Event::Stopping { .. } => "the executor ends its workers and itself".to_owned(),
        Event::Decided { action, .. } => match action {
            CheckpointAction::Feedback => "noted; every worker that starts from now on gets it".to_owned(),
            _ => format!("decided: {action}{}", next(run, &id)),
        },
        Event::Reset { tasks, .. } | Event::Returned { tasks, .. } => {
            return tasks.iter().map(|task| format!("{} will run again", id(*task))).collect();
        }
        Event::Added { tasks, .. } => return tasks.iter().map(|task| format!("{} is added", id(*task))).collect(),
        Event::Replanned { changed, removed, .. } => {
            let changed = changed.iter().map(|task| format!("{}: its plan is changed", id(*task)));
            return changed.chain(removed.iter().map(|task| format!("{task} is removed"))).collect();
        }
        Event::Skipped { task, reason, .. } => format!("{} is skipped: {}", id(*task), run.explain(reason)),
        Event::Cancelled { work, then, .. } => {
            let becomes = match then {
                Cancel::Fail => "fails",
                Cancel::Skip => "is skipped",
                Cancel::Retry => "begins anew",
            };
            format!("the worker of {0} is ended; when it has, {0} {becomes}", id(work.task))
        }
        Event::Advised { tasks, .. } => {
            let ids: Vec<_> = tasks.iter().map(|task| id(*task)).collect();
            format!("the next attempt at {} is told so", ids.join(", "))
        }
        Event::Assigned { tasks, to: Assignment { agent, model }, .. } => {
            let ids: Vec<_> = tasks.iter().map(|task| id(*task)).collect();
            let model = model.as_ref().map(|model| format!(" with the model {model}")).unwrap_or_default();
            format!("from the next attempt on, {} is done by {agent}{model}", ids.join(", "))
        }
        Event::Limited { group, most, .. } => limited(group, *most, run),
        Event::Finished { .. } => "every task is over".to_owned(),
        _ => return Vec::new(),
    };
    vec![words]
}

/// How many workers there may be from now on.
fn limited(group: &Group, most: Option<u32>, run: &Run) -> String {
    let whose = match group {
        Group::All => String::new(),
        Group::Role(role) => format!(" with the role {role}"),
        Group::Agent(agent) => format!(" of the agent {agent}"),
    };
    let Some(most) = most.or((*group == Group::All).then(|| run.most_workers())) else {
        return format!("no limit on workers{whose}");
    };
    let plural = if most == 1 { "" } else { "s" };
    let words = format!("at most {most} worker{plural}{whose} at a time");
    match group {
        Group::All if run.at_work().count() > most as usize => {
            format!("{words}; no other starts until fewer are at work")
        }
        _ => words,
    }
}

/// What stays in the way after a decision.
fn next<'i>(run: &Run, id: impl Fn(TaskIndex) -> &'i str) -> String {
    match run.pause() {
        Some(PauseReason::Checkpoint { task, .. }) => format!("; next is the checkpoint after {}", id(*task)),
        Some(PauseReason::Told(_)) => "; it stays paused until resume".to_owned(),
        Some(PauseReason::WaveFailed(_)) | None => String::new(),
    }
}

/// Why the rules refused, with the names that a person knows.
fn in_words<'i>(request: &Request, refused: Refused, run: &Run, id: impl Fn(TaskIndex) -> &'i str) -> String {
    match (refused, request) {
        (Refused::Move(refused), Request::Skip { task, .. }) => {
            format!("'{task}' is {} and cannot be skipped", refused.from)
        }
        (Refused::Move(refused), Request::Retry { .. }) if refused.from == "completed" => {
            "a completed task runs again only together with everything that depends on it: add --downstream".to_owned()
        }
        (Refused::Move(refused), Request::Retry { with: Some(_), .. }) => {
            format!("a named task is {}; `restart` ends a running task and gives it to another agent", refused.from)
        }
        (Refused::Move(refused), Request::Retry { .. }) => {
            format!("only failed or skipped tasks can be retried, and a named task is {}", refused.from)
        }
        (Refused::NothingToRevise, Request::Decide { action: CheckpointAction::Improve, .. }) => {
            "no task was reviewed before this checkpoint; `checkpoint revise TASK TEXT` redoes one".to_owned()
        }
        (Refused::NotOver(task), _) => format!("'{}' has not finished, so it cannot run again", id(task)),
        (Refused::SkippedAgain { task, on: Some(on) }, _) => {
            format!("'{}' would be skipped again, because of '{}': retry that too", id(task), id(on))
        }
        (Refused::SkippedAgain { task, on: None }, _) => {
            format!("'{}' would be skipped again: this run does not need it", id(task))
        }
        (Refused::DependentRuns(task), _) => format!("'{}', which depends on it, is running", id(task)),
        (Refused::LaterWaveRuns(task), _) => format!("'{}' of a later wave is running", id(task)),
        (Refused::NoSuchTask(task), _) if run.absent().contains(&task) => {
            format!("'{}' was added since, and the run takes it over at its next start", id(task))
        }
        (Refused::NotAtWork(task), _) => {
            let status = run.status(task).map_or("gone", TaskStatus::word);
            format!("no worker has '{}': it is {status}", id(task))
        }
        (Refused::NoSuchRole, Request::Limit { group: Group::Role(role), .. }) => {
            format!("no task has the role '{role}'")
        }
        (Refused::NoSuchAgent, Request::Limit { group: Group::Agent(agent), .. }) => {
            format!("the agent '{agent}' does no task of this run")
        }
        (refused, _) => refused.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_read_back() {
        let done = Answer { stage: "going on".to_owned(), outcome: Ok(vec!["A will run again".to_owned()]) };
        for answer in [done, Answer::refused("paused", "the run is \"paused\"\n".to_owned())] {
            let line = answer.write();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(Answer::read(&line), Some(answer), "{line}");
        }
    }

    #[test]
    fn invalid_answer_is_refused() {
        for line in ["", "{}", r#"{"version":2,"stage":"x","did":[]}"#, r#"{"version":1,"stage":"x","did":[1]}"#] {
            assert_eq!(Answer::read(line), None, "{line}");
        }
    }
}
