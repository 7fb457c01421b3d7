//! The tools that look at sessions, run them and steer them: each does what the command of its name does.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use rmcp::model::{JsonObject, Tool};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use team_executor_app::asking::assignment;
use team_executor_app::bus::Refusal;
use team_executor_app::logs::{Attempts, Form, Query};
use team_executor_app::talk::Said;
use team_executor_app::{App, Reading, Request, ToRetry};
use team_executor_core::CheckpointAction;

use super::Call;
use super::documents;
use super::follow::{AGAIN, Came, HELD, Until, goes_on};
use super::room::{ANSWER_BYTES, size};
use super::roots::Inside;
use super::texts::{self, Report};
use crate::tool::{self, Effect, tool};

/// How many lines of a log are given unless more are wanted.
const LINES: usize = 100;

/// The tools that this file offers.
pub(super) const TOOLS: &[fn() -> Tool] = &[
    || {
        tool::<OfSession>(
            "validate",
            "Validate a session: list its errors and warnings. Changes nothing",
            Effect::Looks,
        )
    },
    || {
        tool::<OfSession>(
            "plan",
            "Show what a run would do: tasks, waves, critical path, and the first tasks to start",
            Effect::Looks,
        )
    },
    || tool::<OfSession>("rehearse", "Rehearse a whole run on a copy of the session: no model, no work", Effect::Adds),
    || {
        tool::<Run>(
            "run",
            "Run a session, or continue it. The run goes on in the background; `status` shows its progress",
            Effect::Adds,
        )
    },
    || tool::<OfSession>("status", "Show the status of a session's newest run. Changes nothing", Effect::Looks),
    || tool::<Run>("resume", "Resume a run that is paused or was stopped, also past a checkpoint", Effect::Adds),
    || tool::<Retry>("retry", "Retry failed or skipped tasks. If no executor runs, `resume` starts them", Effect::Adds),
    || tool::<Pause>("pause", "Pause a run: no new workers start until `resume`; running workers finish", Effect::Adds),
    || tool::<Logs>("logs", "Show the last lines of output of a task's last attempt", Effect::Looks),
    || {
        tool::<Changes>(
            "changes",
            "Show what the tasks of the newest run changed in trees of their own, and what of it is merged",
            Effect::Looks,
        )
    },
    || {
        tool::<Answer>(
            "answer",
            "Decide at a checkpoint, or answer a permission request. Ask the user first",
            Effect::Adds,
        )
    },
    || tool::<OfSession>("report", "The report of the newest run of a session, as Markdown", Effect::Looks),
];

/// Which session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfSession {
    /// The session's folder, for instance .workflow/.team/TC-auth-2026-02-27
    session: String,
}

/// What is run, and how long to wait for it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    /// The session's folder
    pub(super) session: String,
    /// How many workers at once
    #[schemars(range(min = 1))]
    pub(super) concurrency: Option<u32>,
    /// Run only these tasks; the others stay pending
    #[serde(default)]
    pub(super) only: Vec<String>,
    /// Run also everything that the tasks of `only` depend on
    #[serde(default)]
    pub(super) with_deps: bool,
    /// Run only this task and everything that it depends on
    pub(super) until: Option<String>,
    /// Run only this task and everything that depends on it
    pub(super) from: Option<String>,
    /// Run only the tasks of this role
    pub(super) only_role: Option<String>,
    /// Run only the tasks of this wave
    #[schemars(range(min = 1))]
    pub(super) wave: Option<u32>,
    /// How long to wait for its end; the run goes on afterwards. Without it as long as it takes
    pub(super) wait_seconds: Option<u64>,
}

/// Which tasks are to run again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Retry {
    /// The session's folder
    session: String,
    /// Ids of tasks; without any, every task that failed
    #[serde(default)]
    tasks: Vec<String>,
    /// Also everything that depends on them
    #[serde(default)]
    downstream: bool,
    /// What to do differently; the next attempt at each of these tasks is told so
    #[serde(default)]
    feedback: String,
    /// Give these tasks to this agent from now on, as AGENT or AGENT:MODEL; then they may also be tasks that wait
    with: Option<String>,
}

/// Why a run is paused.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pause {
    /// The session's folder
    session: String,
    /// Why, for people
    reason: Option<String>,
}

/// Whose output.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Logs {
    /// The session's folder
    session: String,
    /// The task
    task: String,
    /// How many lines, from the end; 100 unless given
    #[schemars(range(min = 1))]
    lines: Option<usize>,
}

/// Whose changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Changes {
    /// The session's folder
    session: String,
    /// The task; without it all tasks
    task: Option<String>,
    /// Also the difference itself, as `git apply` takes it
    #[serde(default)]
    patch: bool,
}

/// What is decided.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// The session's folder
    session: String,
    /// What to do
    action: Action,
    /// For `revise`: which task. For `allow` and `deny`: whose agent asks
    task: Option<String>,
    /// For `allow` and `deny`: which question, by its number; without it the oldest
    question: Option<u64>,
    /// In the user's words; `improve` and `feedback` need it
    text: Option<String>,
}

/// What can be decided at a checkpoint.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Action {
    Resume,
    Improve,
    Revise,
    Recheck,
    Feedback,
    Allow,
    Deny,
}

/// Carries out a call; nothing if it is another file's tool.
pub(super) async fn call(call: &Call<'_>, name: &str, given: Option<JsonObject>) -> Result<Option<Value>, Refusal> {
    let answer = match name {
        "validate" => {
            let OfSession { session } = tool::arguments(name, given)?;
            call.with(&session, documents::validate).await?
        }
        "plan" => {
            let OfSession { session } = tool::arguments(name, given)?;
            call.with(&session, documents::plan).await?
        }
        "status" => {
            let OfSession { session } = tool::arguments(name, given)?;
            call.with(&session, documents::status_with_talk).await?
        }
        "rehearse" => {
            let OfSession { session } = tool::arguments(name, given)?;
            rehearse(call, &session).await?
        }
        "run" | "resume" => {
            let wanted: Run = tool::arguments(name, given)?;
            let patience = wanted.wait_seconds.map(Duration::from_secs);
            run(call, name, wanted, patience, Until::Ended("run_ended")).await?
        }
        "retry" => {
            let Retry { session, tasks, downstream, feedback, with } = tool::arguments(name, given)?;
            let which = if tasks.is_empty() { ToRetry::Failed } else { ToRetry::Tasks(tasks) };
            let with = with.as_deref().map(assignment).transpose()?;
            ask_or_note(call, &session, Request::Retry { which, downstream, feedback, with }).await?
        }
        "pause" => {
            let Pause { session, reason } = tool::arguments(name, given)?;
            let reason = reason.unwrap_or_else(|| "a person asked for it".to_owned());
            ask(call, &session, Request::Pause { reason }).await?
        }
        "logs" => logs(call, tool::arguments(name, given)?).await?,
        "changes" => {
            let Changes { session, task, patch } = tool::arguments(name, given)?;
            let changes =
                move |app: &App, session: Option<&Path>| documents::changes(app, session, task.as_deref(), patch);
            call.with(&session, changes).await?
        }
        "answer" => answer(call, tool::arguments(name, given)?).await?,
        "report" => {
            let OfSession { session } = tool::arguments(name, given)?;
            let Report { run, text, left_out, path } = texts::report(call, &session).await?;
            json!({"run": run, "report": text, "left_out": left_out, "path": path})
        }
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

/// How the newest run of a session stands.
pub(super) async fn status(call: &Call<'_>, session: &str) -> Result<Value, Refusal> {
    call.with(session, documents::status).await
}

/// Asks the executor of a session's newest run.
pub(super) async fn ask(call: &Call<'_>, session: &str, request: Request) -> Result<Value, Refusal> {
    call.with(session, move |app, session| documents::asked(app.ask(session, &request)?)).await
}

/// The same; where there is no executor, the request is noted in the run.
pub(super) async fn ask_or_note(call: &Call<'_>, session: &str, request: Request) -> Result<Value, Refusal> {
    let ask = move |app: &App, session: Option<&Path>| {
        documents::asked(app.ask_or_note(session, Reading::default(), &request)?)
    };
    call.with(session, ask).await
}

/// Answers what the agent of a task asks.
pub(super) async fn say(call: &Call<'_>, session: &str, task: String, said: Said) -> Result<Value, Refusal> {
    call.with(session, move |app, session| documents::value(&app.say(session, &task, said)?)).await
}

/// Lets the executor of a run go on, and says how the run stands; nothing if there is no executor.
async fn go_on(call: &Call<'_>, session: &str) -> Result<Option<Value>, Refusal> {
    let go_on = |app: &App, session: Option<&Path>| {
        let Some(asked) = app.resume(session)? else { return Ok(None) };
        // What goes on already is as it was wanted.
        if asked.stage != "going on" {
            asked.outcome?;
        }
        documents::status(app, session).map(Some)
    };
    call.with(session, go_on).await
}

async fn rehearse(call: &Call<'_>, session: &str) -> Result<Value, Refusal> {
    let Inside { path, root } = call.roots.session(session)?;
    let words = ["rehearse".to_owned(), format!("--session={}", path.display()), "--format=json".to_owned()];
    came(call.follower.follow(call.app.start_apart(&words, &root)?, Until::Ended("rehearsed"), None).await?)
}

/// Starts a run or lets one go on, and waits for its begin only: the answer says that it goes on, or how it ended at once.
pub(super) async fn begin(call: &Call<'_>, name: &str, wanted: Run) -> Result<Value, Refusal> {
    let answer = run(call, name, wanted, None, Until::Begun).await?;
    // A run that another executor has, or that was only told to go on, does not say so itself.
    let goes_on_by_now = answer["stage"] == "going on" || answer["goes_on"] == true;
    Ok(if goes_on_by_now { goes_on(&answer["run"], &answer["counts"]) } else { answer })
}

async fn run(
    call: &Call<'_>,
    name: &str,
    wanted: Run,
    patience: Option<Duration>,
    until: Until,
) -> Result<Value, Refusal> {
    let Run { session, concurrency, only, with_deps, until: last, from, only_role, wave, .. } = wanted;
    let Inside { path, root } = call.roots.session(&session)?;
    if name == "resume" {
        let is_held = status(call, &session).await?["executor"] == true;
        let gone_on = if is_held { go_on(call, &session).await? } else { None };
        if let Some(status) = gone_on {
            return Ok(status);
        }
    }
    let mut words = vec![name.to_owned(), format!("--session={}", path.display())];
    words.extend(["-y".to_owned(), "--format=json".to_owned()]);
    let settled: &[&str] = if concurrency.is_some() { &["concurrency"] } else { &[] };
    words.extend(concurrency.map(|workers| format!("--concurrency={workers}")));
    words.extend(only.iter().map(|task| format!("--only={task}")));
    words.extend(with_deps.then(|| "--with-deps".to_owned()));
    words.extend(last.map(|task| format!("--until={task}")));
    words.extend(from.map(|task| format!("--from={task}")));
    words.extend(only_role.map(|role| format!("--only-role={role}")));
    words.extend(wave.map(|wave| format!("--wave={wave}")));
    words.extend(call.flags(settled));
    let began = Instant::now();
    loop {
        let left = patience.map(|patience| patience.saturating_sub(began.elapsed()));
        match call.follower.follow(call.app.start_apart(&words, &root)?, until, left).await? {
            Came::Refused(_, Some(HELD)) => {}
            how => return came(how),
        }
        // The client of an earlier call may have left: this one waits for what goes on without it.
        let has_left = call.follower.waits(AGAIN).await;
        let status = status(call, &session).await.unwrap_or_default();
        if status["executor"] == true && status["stage"] == "paused" {
            return Err(Refusal { what: "the run is paused".to_owned(), help: "`resume` continues it".to_owned() });
        }
        if until == Until::Begun || has_left || patience.is_some_and(|patience| began.elapsed() >= patience) {
            return Ok(goes_on(&status["run"], &Value::Null));
        }
    }
}

fn came(how: Came) -> Result<Value, Refusal> {
    match how {
        Came::Out(value) | Came::On(value) => Ok(value),
        Came::Refused(refusal, _) => Err(refusal),
    }
}

async fn logs(call: &Call<'_>, wanted: Logs) -> Result<Value, Refusal> {
    let Logs { session, task, lines } = wanted;
    let (id, most) = (task.clone(), lines.unwrap_or(LINES));
    let read = move |app: &App, session: Option<&Path>| {
        let opened = app.open(session, Reading::default())?;
        let (mut all, mut last) = (0, VecDeque::new());
        let form = Form::Text { in_lines: true };
        let (task, attempts) = (Some(id.as_str()), Attempts::Last);
        let query = Query { task, attempts, tail: None, since: None, follow: false, form };
        app.logs(&opened, query)?.read(&mut |piece| {
            all += 1;
            last.push_back(json!({"stream": piece.stream, "text": piece.text()}));
            if last.len() > most {
                last.pop_front();
            }
        })?;
        Ok((all, last))
    };
    let (all, last) = call.with(&session, read).await?;
    let mut room = ANSWER_BYTES / 2;
    let mut shown: Vec<_> = last.into_iter().rev().take_while(|line| fits(line, &mut room)).collect();
    shown.reverse();
    Ok(json!({"task": task, "left_out": all - shown.len(), "lines": shown}))
}

fn fits(line: &Value, room: &mut usize) -> bool {
    let size = size(line);
    let is_fit = size <= *room;
    *room = room.saturating_sub(size);
    is_fit
}

async fn answer(call: &Call<'_>, wanted: Answer) -> Result<Value, Refusal> {
    let Answer { session, action, task, question, text } = wanted;
    let decision = match action {
        Action::Allow | Action::Deny => {
            let allow = matches!(action, Action::Allow);
            let task = task.ok_or_else(|| lacks(if allow { "allow" } else { "deny" }, "task"))?;
            return say(call, &session, task, Said::Answer { question, allow }).await;
        }
        Action::Resume => CheckpointAction::Resume,
        Action::Improve => CheckpointAction::Improve,
        Action::Revise => CheckpointAction::Revise,
        Action::Recheck => CheckpointAction::Recheck,
        Action::Feedback => CheckpointAction::Feedback,
    };
    decide(call, &session, decision, task, text).await
}

/// Decides at a checkpoint.
pub(super) async fn decide(
    call: &Call<'_>,
    session: &str,
    action: CheckpointAction,
    task: Option<String>,
    text: Option<String>,
) -> Result<Value, Refusal> {
    let is_revision = action == CheckpointAction::Revise;
    if is_revision && task.is_none() {
        return Err(lacks(action.word(), "task"));
    }
    let needs_text = matches!(action, CheckpointAction::Improve | CheckpointAction::Feedback);
    if needs_text && text.as_ref().is_none_or(String::is_empty) {
        return Err(lacks(action.word(), "text"));
    }
    let tasks = task.into_iter().filter(|_| is_revision).collect();
    ask_or_note(call, session, Request::Decide { action, tasks, text: text.unwrap_or_default() }).await
}

/// An action lacks something that it cannot do without.
fn lacks(action: &str, what: &str) -> Refusal {
    let help = match what {
        "task" => "name it in `task`; `status` lists the tasks",
        _ => "put it in `text`, in the user's words",
    };
    Refusal { what: format!("`{action}` needs a {what}"), help: help.to_owned() }
}
