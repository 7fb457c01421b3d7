//! The tools that look at sessions, run them and steer them: each is the command of its name.

use std::time::{Duration, Instant};

use rmcp::model::{JsonObject, Tool};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use team_executor_engine::bus::Refusal;

use super::Call;
use super::follow::{AGAIN, Came, HELD, Until, goes_on};
use super::program::Printed;
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
            "Say everything that is wrong or odd about a session; change nothing",
            Effect::Looks,
        )
    },
    || {
        tool::<OfSession>(
            "plan",
            "Show what a run would do: tasks, waves, critical path, who starts first",
            Effect::Looks,
        )
    },
    || tool::<OfSession>("rehearse", "Rehearse a whole run on a copy of the session: no model, no work", Effect::Adds),
    || {
        tool::<Run>(
            "run",
            "Run a session, or continue it; it goes on without you, and `status` says how it stands",
            Effect::Adds,
        )
    },
    || tool::<OfSession>("status", "Say how the newest run of a session stands; change nothing", Effect::Looks),
    || tool::<Run>("resume", "Go on with a run that is paused or was stopped, also past a checkpoint", Effect::Adds),
    || {
        tool::<Retry>(
            "retry",
            "Let tasks run again that failed or were skipped; if nothing runs, `resume` starts them",
            Effect::Adds,
        )
    },
    || tool::<Pause>("pause", "Start no new workers until `resume`; those that run finish", Effect::Adds),
    || tool::<Logs>("logs", "The last lines that the last attempt at a task printed", Effect::Looks),
    || {
        tool::<Answer>(
            "answer",
            "Decide where a run waits for a person, at a checkpoint or for a permission: ask the user first",
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
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    /// The session's folder
    pub(super) session: String,
    /// How many workers at once
    #[schemars(range(min = 1))]
    pub(super) concurrency: Option<u32>,
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

/// What is decided.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// The session's folder
    session: String,
    /// What is to be done
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
        "validate" | "plan" => {
            let OfSession { session } = tool::arguments(name, given)?;
            asked(call, &session, vec![name.to_owned()], Vec::new()).await?
        }
        "status" => {
            let OfSession { session } = tool::arguments(name, given)?;
            status(call, &session).await?
        }
        "rehearse" => {
            let OfSession { session } = tool::arguments(name, given)?;
            rehearse(call, &session).await?
        }
        "run" | "resume" => {
            let Run { session, concurrency, wait_seconds } = tool::arguments(name, given)?;
            let patience = wait_seconds.map(Duration::from_secs);
            run(call, name, session, concurrency, patience, Until::Ended("run_ended")).await?
        }
        "retry" => {
            let Retry { session, tasks, downstream } = tool::arguments(name, given)?;
            let flags = [("--failed", tasks.is_empty()), ("--downstream", downstream)];
            let flags = flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| (*flag).to_owned());
            asked(call, &session, std::iter::once("retry".to_owned()).chain(flags).collect(), tasks).await?
        }
        "pause" => {
            let Pause { session, reason } = tool::arguments(name, given)?;
            let reason = reason.map(|reason| format!("--reason={reason}"));
            asked(call, &session, std::iter::once("pause".to_owned()).chain(reason).collect(), Vec::new()).await?
        }
        "logs" => logs(call, tool::arguments(name, given)?).await?,
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

/// How a run stands, with what its agents ask while it goes on.
async fn status(call: &Call<'_>, session: &str) -> Result<Value, Refusal> {
    let mut status = asked(call, session, vec!["status".to_owned()], Vec::new()).await?;
    if status["executor"] == true {
        let words = vec!["talk".to_owned(), "list".to_owned()];
        // It may have ended in between.
        status["talk"] = asked(call, session, words, Vec::new()).await.unwrap_or_default();
    }
    Ok(status)
}

/// What a command says about a session, as it was printed.
pub(super) async fn printed(
    call: &Call<'_>,
    session: &str,
    mut words: Vec<String>,
    names: Vec<String>,
) -> Result<Printed, Refusal> {
    let Inside { path, root } = call.roots.session(session)?;
    words.push(format!("--session={}", path.display()));
    if !names.is_empty() {
        words.push("--".to_owned());
        words.extend(names);
    }
    call.program.ask(words, &root).await
}

/// What a command says about a session, as one value.
pub(super) async fn asked(
    call: &Call<'_>,
    session: &str,
    mut words: Vec<String>,
    names: Vec<String>,
) -> Result<Value, Refusal> {
    words.insert(1, "--format=json".to_owned());
    match printed(call, session, words, names).await? {
        Printed::Document(value) => Ok(value),
        Printed::Lines(lines) => Ok(Value::Array(lines)),
        Printed::Text(text) => Ok(Value::String(text)),
    }
}

async fn rehearse(call: &Call<'_>, session: &str) -> Result<Value, Refusal> {
    let Inside { path, root } = call.roots.session(session)?;
    let words = ["rehearse".to_owned(), format!("--session={}", path.display()), "--format=json".to_owned()];
    came(call.follower.follow(call.program.start(&words, &root)?, Until::Ended("rehearsed"), None).await?)
}

/// Starts a run or lets one go on, and waits for its begin only: the answer says that it goes on, or how it ended at once.
pub(super) async fn begin(call: &Call<'_>, name: &str, wanted: Run) -> Result<Value, Refusal> {
    let answer = run(call, name, wanted.session, wanted.concurrency, None, Until::Begun).await?;
    // A run that another executor has, or that was only told to go on, does not say so itself.
    let goes_on_by_now = answer["stage"] == "going on" || answer["goes_on"] == true;
    Ok(if goes_on_by_now { goes_on(&answer["run"], &answer["counts"]) } else { answer })
}

async fn run(
    call: &Call<'_>,
    name: &str,
    session: String,
    concurrency: Option<u32>,
    patience: Option<Duration>,
    until: Until,
) -> Result<Value, Refusal> {
    let Inside { path, root } = call.roots.session(&session)?;
    if name == "resume" {
        let status = asked(call, &session, vec!["status".to_owned()], Vec::new()).await?;
        if status["executor"] == true {
            return asked(call, &session, vec![name.to_owned()], Vec::new()).await;
        }
    }
    let mut words = vec![name.to_owned(), format!("--session={}", path.display())];
    words.extend(["-y".to_owned(), "--format=json".to_owned()]);
    let settled: &[&str] = if concurrency.is_some() { &["concurrency"] } else { &[] };
    words.extend(concurrency.map(|workers| format!("--concurrency={workers}")));
    words.extend(call.program.flags(settled));
    let began = Instant::now();
    loop {
        let left = patience.map(|patience| patience.saturating_sub(began.elapsed()));
        match call.follower.follow(call.program.start(&words, &root)?, until, left).await? {
            Came::Refused(_, Some(HELD)) => {}
            how => return came(how),
        }
        // The client of an earlier call may have left: this one waits for what goes on without it.
        let has_left = call.follower.waits(AGAIN).await;
        // Of very many tasks the status may be too long.
        let status = asked(call, &session, vec!["status".to_owned()], Vec::new()).await.unwrap_or_default();
        if status["executor"] == true && status["stage"] == "paused" {
            return Err(Refusal { what: "the run is paused".to_owned(), help: "`resume` lets it go on".to_owned() });
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
    let words = vec!["logs".to_owned(), "--format=json".to_owned()];
    let lines = match printed(call, &wanted.session, words, vec![wanted.task.clone()]).await? {
        Printed::Lines(lines) => lines,
        Printed::Document(line) => vec![line],
        Printed::Text(_) => Vec::new(),
    };
    let line = |line: &Value| json!({"stream": line["stream"], "text": line["text"]});
    let mut room = ANSWER_BYTES / 2;
    let last = lines.iter().rev().take(wanted.lines.unwrap_or(LINES)).map(line);
    let mut shown: Vec<_> = last.take_while(|line| fits(line, &mut room)).collect();
    shown.reverse();
    let first = lines.len() - shown.len();
    Ok(json!({"task": wanted.task, "left_out": first, "lines": shown}))
}

fn fits(line: &Value, room: &mut usize) -> bool {
    let size = size(line);
    let is_fit = size <= *room;
    *room = room.saturating_sub(size);
    is_fit
}

async fn answer(call: &Call<'_>, wanted: Answer) -> Result<Value, Refusal> {
    let (command, action) = match wanted.action {
        Action::Resume => ("checkpoint", "resume"),
        Action::Improve => ("checkpoint", "improve"),
        Action::Revise => ("checkpoint", "revise"),
        Action::Recheck => ("checkpoint", "recheck"),
        Action::Feedback => ("checkpoint", "feedback"),
        Action::Allow => ("talk", "allow"),
        Action::Deny => ("talk", "deny"),
    };
    let names = match (wanted.action, wanted.task) {
        (Action::Revise | Action::Allow | Action::Deny, None) => {
            let what = format!("`{action}` needs a task");
            return Err(Refusal { what, help: "name it in `task`; `status` lists the tasks".to_owned() });
        }
        (Action::Allow | Action::Deny, task) => task.into_iter().collect(),
        (Action::Revise, task) => task.into_iter().chain(wanted.text).collect(),
        (_, _) => wanted.text.into_iter().collect(),
    };
    let question = wanted.question.filter(|_| command == "talk").map(|number| format!("--question={number}"));
    let words = [command, action].map(str::to_owned).into_iter().chain(question).collect();
    asked(call, &wanted.session, words, names).await
}
