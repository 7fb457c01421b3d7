//! Runs as tasks of the protocol of 2026-07-28: a client that knows tasks is given one for a run that it starts, asks how it
//! stands, answers where a person is to decide, and cancels it.
//!
//! Nothing is kept for that: a task's id names the run, and how it stands is what `status` says. So a task outlives this server.

use std::time::{Duration, UNIX_EPOCH};

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CreateTaskResult, DetailedTask, GetTaskResult, InputRequest, InputRequests, InputResponses,
    JsonObject, Task, TaskPayload, TaskStatus,
};
use serde_json::{Value, json};
use team_executor_app::Request;
use team_executor_app::bus::Refusal;
use team_executor_app::talk::Said;
use team_executor_core::{CheckpointAction, Timestamp};
use team_executor_files::time;

use super::Call;
use super::room::{ANSWER_BYTES, fitted};
use super::sessions::{self, Run};
use crate::tool;

/// How long a client waits between two looks at a task.
const POLL_MS: u64 = 1000;
/// The prefixes of the keys of questions.
const CHECKPOINT: &str = "checkpoint";
const PERMISSION: &str = "permission";

/// What a task's id says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Id {
    run: String,
    /// When it was made, in milliseconds since 1970.
    made_ms: u64,
    session: String,
}

impl Id {
    fn write(&self) -> String {
        format!("{}@{}:{}", self.run, self.made_ms, self.session)
    }

    fn read(id: &str) -> Result<Self, ErrorData> {
        let read = || {
            let (run, rest) = id.split_once('@')?;
            let (made, session) = rest.split_once(':')?;
            let is_whole = !run.is_empty() && !session.is_empty();
            let id = Self { run: run.to_owned(), made_ms: made.parse().ok()?, session: session.to_owned() };
            is_whole.then_some(id)
        };
        read().ok_or_else(|| unknown(id))
    }

    fn task(&self) -> Task {
        let made = moment(self.made_ms);
        Task::new(self.write(), TaskStatus::Working, made, moment(now_ms())).with_poll_interval_ms(POLL_MS)
    }
}

/// Whether a call of a tool can become a task: one that starts a run, and does not say how long it waits.
pub(super) fn is_for(name: &str, arguments: Option<&JsonObject>) -> bool {
    matches!(name, "run" | "resume") && arguments.is_none_or(|given| !given.contains_key("wait_seconds"))
}

/// Starts or continues a run, and gives a task for it. What is finished at once, or refused, is answered as any call.
pub(super) async fn create(
    call: &Call<'_>,
    name: &str,
    arguments: Option<JsonObject>,
) -> Result<CallToolResponse, ErrorData> {
    let began = async {
        let wanted: Run = tool::arguments(name, arguments)?;
        let session = wanted.session.clone();
        Ok((sessions::begin(call, name, wanted).await?, session))
    };
    let (answer, session) = match began.await {
        Ok(began) => began,
        Err(refusal) => return tool::answer(Err::<Value, _>(refusal)).map(Into::into),
    };
    let run = answer["run"].as_str().unwrap_or_default();
    // One that stopped at once, for instance at a checkpoint, waits for an answer too.
    let is_open = answer["goes_on"] == true || answer["ending"] == "paused";
    if !is_open || run.is_empty() {
        return tool::answer(Ok(fitted(answer, ANSWER_BYTES))).map(Into::into);
    }
    // The id names the session whatever the client's first root is the next time.
    let session = call.roots.session(&session).map_or(session, |inside| inside.path.display().to_string());
    let id = Id { run: run.to_owned(), made_ms: now_ms(), session };
    Ok(CreateTaskResult::new(id.task().with_status_message("the run has begun")).into())
}

/// How a task stands.
pub(super) async fn get(call: &Call<'_>, id: &str) -> Result<GetTaskResult, ErrorData> {
    let id = Id::read(id)?;
    let status = status(call, &id).await?;
    let (payload, words) = payload(&status)?;
    Ok(GetTaskResult::new(DetailedTask::new(id.task().with_status_message(words), payload)))
}

/// Takes the answers of a person. An answer to a question that is not open any more changes nothing.
pub(super) async fn update(call: &Call<'_>, id: &str, responses: InputResponses) -> Result<(), ErrorData> {
    let id = Id::read(id)?;
    let status = status(call, &id).await?;
    let open = questions(&status);
    let mut decided = false;
    for (key, response) in responses.into_iter().filter(|(key, _)| open.contains_key(key)) {
        let content = &response["content"];
        let accepts = response["action"] == "accept";
        match key.split_once(':') {
            Some((PERMISSION, rest)) => {
                let Some((question, task)) = rest.split_once(':') else { continue };
                let allow = accepts && content["allow"] == true;
                let said = Said::Answer { question: question.parse().ok(), allow };
                sessions::say(call, &id.session, task.to_owned(), said).await.map_err(failed)?;
            }
            // A person who does not decide leaves the run where it is.
            Some((CHECKPOINT, _)) if accepts => {
                decide(call, &id, content, status["executor"] == true).await.map_err(failed)?;
                decided = true;
            }
            _ => {}
        }
    }
    if decided && status["executor"] != true {
        let wanted = Run { session: id.session.clone(), ..Run::default() };
        sessions::begin(call, "resume", wanted).await.map_err(failed)?;
    }
    Ok(())
}

/// Ends the workers of a run, and the run; it can be resumed.
pub(super) async fn cancel(call: &Call<'_>, id: &str) -> Result<(), ErrorData> {
    let id = Id::read(id)?;
    let status = status(call, &id).await?;
    if status["executor"] == true {
        sessions::ask(call, &id.session, Request::Stop).await.map_err(failed)?;
    }
    Ok(())
}

/// Decides at a checkpoint. Where no executor runs, to go on is to start one, which follows.
async fn decide(call: &Call<'_>, id: &Id, content: &Value, is_running: bool) -> Result<(), Refusal> {
    let action = content["action"].as_str().unwrap_or("resume");
    let action = CheckpointAction::from_word(action).ok_or_else(|| Refusal {
        what: format!("unknown action `{action}`"),
        help: "choose one of the actions offered".to_owned(),
    })?;
    if action == CheckpointAction::Resume && !is_running {
        return Ok(());
    }
    let text = |key: &str| content[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    sessions::decide(call, &id.session, action, text("task"), text("text")).await.map(drop)
}

/// How the run of a task stands.
async fn status(call: &Call<'_>, id: &Id) -> Result<Value, ErrorData> {
    let status = sessions::status(call, &id.session).await.map_err(|_| unknown(&id.write()))?;
    if status["run"] == id.run.as_str() { Ok(status) } else { Err(unknown(&id.write())) }
}

/// What a client is told of a run, and in a few words.
fn payload(status: &Value) -> Result<(TaskPayload, String), ErrorData> {
    let count = |word: &str| {
        let tasks = status["tasks"].as_array().into_iter().flatten();
        tasks.filter(|task| task["status"] == word).count()
    };
    let total = status["tasks"].as_array().map_or(0, Vec::len);
    let words = format!("{} of {total} completed, {} running", count("completed"), count("in_progress"));
    let input_requests = questions(status);
    if status["finished"] == true {
        let result = result(Ok(fitted(status.clone(), ANSWER_BYTES)))?;
        return Ok((TaskPayload::Completed { result }, words));
    }
    if !input_requests.is_empty() {
        return Ok((TaskPayload::InputRequired { input_requests }, words));
    }
    if status["executor"] == true {
        return Ok((TaskPayload::Working, words));
    }
    if matches!(status["stage"].as_str(), Some("stopping" | "draining")) && status["reason"].is_null() {
        return Ok((TaskPayload::Cancelled, words));
    }
    let why = status["reason"].as_str().unwrap_or("its executor has ended").to_owned();
    let refusal = Refusal { what: format!("the run has stopped: {why}"), help: "`resume` goes on".to_owned() };
    Ok((TaskPayload::Completed { result: result(Err(refusal))? }, why))
}

/// What a person is asked: at a checkpoint, and by agents that want to be allowed something.
fn questions(status: &Value) -> InputRequests {
    let mut all = InputRequests::new();
    let checkpoint = &status["checkpoint"];
    if let Some(task) = checkpoint["task"].as_str() {
        let critique =
            checkpoint["critique"].as_str().map(|words| format!(" Not accepted: {words}")).unwrap_or_default();
        let message = format!("The run waits for a person after task {task}.{critique} What should happen next?");
        let schema = json!({"type": "object", "required": ["action"], "properties": {
            "action": {"type": "string", "enum": ["resume", "improve", "revise", "recheck", "feedback"]},
            "task": {"type": "string", "description": "revise: the task to do again"},
            "text": {"type": "string", "description": "what to improve, or what the team should know"},
        }});
        // A later checkpoint after the same task is another question.
        let nth = status["decisions"].as_array().map_or(0, Vec::len);
        all.extend(question(message, &schema).map(|it| (format!("{CHECKPOINT}:{nth}:{task}"), it)));
    }
    for one in status["asks"].as_array().into_iter().flatten() {
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        let message = format!("The agent of task {} asks to use {}: {}", text("task"), text("tool"), text("what"));
        let allow = json!({"type": "boolean", "description": "true to allow it"});
        let schema = json!({"type": "object", "required": ["allow"], "properties": {"allow": allow}});
        let key = format!("{PERMISSION}:{}:{}", one["question"], text("task"));
        all.extend(question(message, &schema).map(|it| (key, it)));
    }
    all
}

fn question(message: String, schema: &Value) -> Option<InputRequest> {
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    serde_json::from_value(json!({"method": "elicitation/create", "params": params})).ok()
}

/// The result of the call that the task was made for.
fn result(answer: Result<Value, Refusal>) -> Result<JsonObject, ErrorData> {
    let result = serde_json::to_value(tool::answer(answer)?).unwrap_or_default();
    Ok(result.as_object().cloned().unwrap_or_default())
}

fn unknown(id: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no task `{id}`"), None)
}

fn failed(refusal: Refusal) -> ErrorData {
    ErrorData::invalid_params(format!("{}; {}", refusal.what, refusal.help), None)
}

fn now_ms() -> u64 {
    UNIX_EPOCH.elapsed().map_or(0, |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn moment(ms: u64) -> String {
    time::format(Timestamp::from_micros(i64::try_from(ms).unwrap_or(0).saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_of_a_task_is_read_back_and_nothing_else_is_one() {
        let id = Id { run: "EX-1".to_owned(), made_ms: 7, session: "/a@b:c/S".to_owned() };
        assert_eq!(Id::read(&id.write()).unwrap(), id);
        for wrong in ["", "EX-1", "EX-1@x:/S", "@7:/S", "EX-1@7:"] {
            assert!(Id::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn task_stands_as_its_run_does() {
        let run = |more: Value| {
            let mut status = json!({"finished": false, "executor": true, "stage": "going on", "reason": null, "checkpoint": null,
                                    "asks": [], "decisions": [], "tasks": [{"status": "completed"}, {"status": "in_progress"}]});
            for (key, value) in more.as_object().unwrap() {
                status[key] = value.clone();
            }
            payload(&status).unwrap()
        };
        let (working, words) = run(json!({}));
        assert_eq!((working.status(), words.as_str()), (TaskStatus::Working, "1 of 2 completed, 1 running"));
        assert_eq!(run(json!({"finished": true, "executor": false})).0.status(), TaskStatus::Completed);
        assert_eq!(run(json!({"executor": false, "stage": "stopping"})).0.status(), TaskStatus::Cancelled);
        let (TaskPayload::Completed { result }, _) = run(json!({"executor": false, "reason": "no budget"})) else {
            panic!("it is over")
        };
        assert_eq!(result["isError"], true, "{result:?}");
        let asks = json!([{"task": "A:1", "attempt": 1, "question": 2, "tool": "Bash", "what": "rm"}]);
        let (TaskPayload::InputRequired { input_requests }, _) = run(json!({"asks": asks})) else { panic!("it asks") };
        assert_eq!(input_requests.keys().collect::<Vec<_>>(), ["permission:2:A:1"]);
        let at = json!({"task": "A", "cause": "planned", "critique": "too short"});
        let (payload, _) = run(json!({"checkpoint": at, "executor": false, "stage": "paused"}));
        let TaskPayload::InputRequired { input_requests } = payload else { panic!("it waits") };
        assert_eq!(input_requests.keys().collect::<Vec<_>>(), ["checkpoint:0:A"]);
    }
}
