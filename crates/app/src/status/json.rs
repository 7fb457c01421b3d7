//! How a run stands, for programs. Fields are added, never renamed or removed, within one `version`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use team_executor_core::{Graph, Session, TaskId, TaskIndex, TaskStatus, Verdict, joining};
use team_executor_engine::artifacts::Shelved;
use team_executor_engine::event::Activity;
use team_executor_engine::{AttemptTimes, Running, Status};
use team_executor_files::time;

use crate::attention::{Attention, Item};
use crate::changes::{JsonChange, Overview, Total, of_task};
use crate::error::Error;
use crate::joining::JsonJoining;
use crate::usage::JsonUsage;
use crate::{App, Opened};

/// How the newest run of a session stands; without a run only the session is known.
#[derive(Debug, Serialize)]
pub struct JsonStatus<'a> {
    version: u32,
    session: &'a str,
    run: Option<&'a str>,
    seq: Option<u64>,
    folder: Option<String>,
    stage: Option<&'static str>,
    reason: Option<&'a str>,
    executor: bool,
    finished: bool,
    tasks: Vec<JsonTask<'a>>,
    running: Vec<JsonRunning<'a>>,
    asks: Vec<JsonAsked<'a>>,
    ready: Vec<&'a str>,
    machine_limit: Option<u32>,
    rounds: u32,
    checkpoint: Option<JsonCheckpoint<'a>>,
    decisions: Vec<JsonDecision<'a>>,
    artifacts: Vec<JsonArtifact<'a>>,
    usage: JsonUsage<'a>,
    injected_roles: Vec<JsonJoining>,
    duration_ms: u64,
    idle_ms: u64,
    needs: Vec<Item>,
    problems: Vec<Item>,
    attention_counts: BTreeMap<&'static str, usize>,
    changes: Option<JsonTogether<'a>>,
}

/// What all tasks changed together that is merged.
#[derive(Debug, Serialize)]
struct JsonTogether<'a> {
    base: &'a str,
    trunk: &'a str,
    files: usize,
    added: u64,
    removed: u64,
    branch: &'a str,
    landed: bool,
}

impl<'a> From<&'a Overview> for JsonTogether<'a> {
    fn from(all: &'a Overview) -> Self {
        let Total { files, added, removed } = all.total;
        let (base, trunk, branch) = (&all.base, &all.trunk, &all.branch);
        Self { base, trunk, files, added, removed, branch, landed: all.is_landed() }
    }
}

#[derive(Debug, Serialize)]
struct JsonTask<'a> {
    id: &'a str,
    wave: u32,
    status: &'static str,
    rounds: u32,
    verdict: Option<&'static str>,
    why: Option<&'a str>,
    wait_s: Option<u64>,
    /// How many attempts were begun after the first, as in the session's files.
    attempt_count: u32,
    /// How long all of them took that have ended, and how long the task was ready without a worker.
    duration_ms: u64,
    waited_ms: u64,
    attempts: Vec<JsonAttemptTimes<'a>>,
    /// What it changed in a tree of its own.
    change: Option<JsonChange>,
}

/// When an attempt did what.
#[derive(Debug, Serialize)]
struct JsonAttemptTimes<'a> {
    attempt: u32,
    agent: &'a str,
    outcome: Option<&'static str>,
    sent_back: bool,
    ready: Option<String>,
    started: String,
    first_output: Option<String>,
    ended: Option<String>,
    checked: Option<String>,
}

impl<'a> From<&'a AttemptTimes> for JsonAttemptTimes<'a> {
    fn from(times: &'a AttemptTimes) -> Self {
        Self {
            attempt: times.attempt,
            agent: &times.agent,
            outcome: times.outcome,
            sent_back: times.is_sent_back,
            ready: times.ready.map(time::format),
            started: time::format(times.started),
            first_output: times.first_output.map(time::format),
            ended: times.ended.map(time::format),
            checked: times.checked.map(time::format),
        }
    }
}

#[derive(Debug, Serialize)]
struct JsonArtifact<'a> {
    id: &'a str,
    task: Option<&'a str>,
    state: &'static str,
    version: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct JsonCheckpoint<'a> {
    task: &'a str,
    cause: &'static str,
    judges: Vec<JsonJudged<'a>>,
    critique: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct JsonJudged<'a> {
    task: &'a str,
    folder: Option<String>,
}

#[derive(Debug, Serialize)]
struct JsonDecision<'a> {
    checkpoint: Option<&'a str>,
    action: &'static str,
    tasks: Vec<&'a str>,
    text: &'a str,
    at: String,
}

#[derive(Debug, Serialize)]
struct JsonRunning<'a> {
    task: &'a str,
    role: &'a str,
    attempt: u32,
    seconds: u64,
    agent: Option<&'a str>,
    doing: Option<&'a str>,
    attach: Option<&'a str>,
    #[serde(flatten)]
    activity: Option<&'a Activity>,
}

/// What an agent wants to be allowed.
#[derive(Debug, Serialize)]
struct JsonAsked<'a> {
    task: &'a str,
    attempt: u32,
    question: u64,
    tool: &'a str,
    what: &'a str,
}

/// What agents ask to be allowed, by task.
fn asks<'a>(session: &'a Session, status: &'a Status) -> Vec<JsonAsked<'a>> {
    let of = |running: &Running| {
        let (task, attempt) = (session.tasks[running.task.get()].id.as_str(), running.attempt);
        let open = status.talk(task, attempt).map_or(&[][..], |talk| &talk.state.questions);
        open.iter().map(move |open| JsonAsked {
            task,
            attempt,
            question: open.question,
            tool: &open.tool,
            what: &open.what,
        })
    };
    status.running.iter().flat_map(of).collect()
}

impl App {
    /// How a run stands, for programs.
    pub fn status_json<'a>(&self, opened: &'a Opened, status: Option<&'a Status>) -> Result<JsonStatus<'a>, Error> {
        let (session, graph) = opened.runnable()?;
        let attention = status.map(|status| self.attention(opened, status)).unwrap_or_default();
        Ok(json((session, graph), status, attention))
    }
}

fn json<'a>(
    (session, graph): (&'a Session, &Graph),
    status: Option<&'a Status>,
    attention: Attention,
) -> JsonStatus<'a> {
    let Attention { needs, problems, counts } = attention;
    let id = |task: &TaskIndex| session.tasks[task.get()].id.as_str();
    JsonStatus {
        version: 1,
        session: session.id.as_str(),
        run: status.map(|status| status.run.as_str()),
        seq: status.map(|status| status.seq),
        folder: status.map(|status| status.folder.display().to_string()),
        stage: status.map(|status| status.stage),
        reason: status.and_then(|status| status.reason.as_deref()),
        executor: status.is_some_and(|status| status.is_heard),
        finished: status.is_some_and(|status| status.finished),
        tasks: status.map(|status| tasks(session, graph, status)).unwrap_or_default(),
        running: status.map(|status| running(session, status)).unwrap_or_default(),
        asks: status.map(|status| asks(session, status)).unwrap_or_default(),
        ready: status.map_or(&[][..], |status| &status.ready).iter().map(id).collect(),
        machine_limit: status.and_then(|status| status.machine),
        rounds: status.map_or(0, |status| status.rounds),
        checkpoint: status.and_then(|status| checkpoint(session, status)),
        artifacts: status.map_or(&[][..], |status| &status.artifacts).iter().map(artifact).collect(),
        decisions: status.map(|status| decisions(session, status)).unwrap_or_default(),
        usage: JsonUsage::sum(status.map_or(&[][..], |status| &status.used)),
        injected_roles: crate::joining::json(&joining(session, None, &[])),
        duration_ms: status.map_or(0, |status| millis(status.active)),
        idle_ms: status.map_or(0, |status| millis(status.idle)),
        needs,
        problems,
        attention_counts: counts,
        changes: status.and_then(|status| status.changes.as_ref()).map(JsonTogether::from),
    }
}

/// Attempts after the first: those that the file knows of, or more that were begun since.
fn again(written: u32, begun: Option<&u32>) -> u32 {
    written.max(begun.map_or(0, |begun| begun.saturating_sub(1)))
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

fn tasks<'a>(session: &'a Session, graph: &Graph, status: &'a Status) -> Vec<JsonTask<'a>> {
    let one = |(task, stands): (TaskIndex, &TaskStatus)| {
        let judged = status.judged.get(task.get());
        let (took, times) = (status.durations.get(task.get()), status.times.get(task.get()));
        JsonTask {
            id: session.tasks[task.get()].id.as_str(),
            wave: graph.wave(task),
            status: stands.word(),
            rounds: judged.map_or(0, |judged| judged.rounds),
            verdict: judged.and_then(|judged| judged.verdict).map(Verdict::word),
            why: judged.and_then(|judged| judged.why.as_deref()),
            wait_s: judged.and_then(|judged| judged.wait),
            attempt_count: again(session.tasks[task.get()].attempt_count, status.attempts.get(task.get())),
            duration_ms: took.map_or(0, |took| took.ran.0),
            waited_ms: took.map_or(0, |took| took.waited.0),
            attempts: times.iter().flat_map(|times| times.iter()).map(JsonAttemptTimes::from).collect(),
            change: of_task(status, session, task).map(|(change, standing)| JsonChange::new(change, standing)),
        }
    };
    (0..).map(TaskIndex).zip(&status.statuses).map(one).collect()
}

fn running<'a>(session: &'a Session, status: &'a Status) -> Vec<JsonRunning<'a>> {
    let one = |running: &Running| {
        let task = &session.tasks[running.task.get()];
        let doing = status.doing(task.id.as_str(), running.attempt);
        JsonRunning {
            task: task.id.as_str(),
            role: task.role.as_str(),
            attempt: running.attempt,
            seconds: running.seconds,
            agent: doing.map(|one| one.agent.as_str()),
            doing: doing.and_then(|one| one.doing.as_deref()),
            attach: doing.and_then(|one| one.attach.as_deref()),
            activity: doing.map(|one| &one.activity),
        }
    };
    status.running.iter().map(one).collect()
}

fn checkpoint<'a>(session: &'a Session, status: &'a Status) -> Option<JsonCheckpoint<'a>> {
    let checkpoint = status.checkpoint.as_ref()?;
    let id = |task: TaskIndex| session.tasks[task.get()].id.as_str();
    let judges = checkpoint.judges.iter().map(|(task, folder)| JsonJudged {
        task: id(*task),
        folder: folder.as_ref().map(|folder| folder.display().to_string()),
    });
    Some(JsonCheckpoint {
        task: id(checkpoint.task),
        cause: checkpoint.cause.word(),
        judges: judges.collect(),
        critique: checkpoint.critique.as_deref(),
    })
}

fn artifact(Shelved { artifact, .. }: &Shelved) -> JsonArtifact<'_> {
    JsonArtifact {
        id: artifact.id.as_str(),
        task: artifact.task.as_ref().map(TaskId::as_str),
        state: artifact.validation.word(),
        version: artifact.version.as_deref(),
    }
}

fn decisions<'a>(session: &'a Session, status: &'a Status) -> Vec<JsonDecision<'a>> {
    let id = |task: TaskIndex| session.tasks[task.get()].id.as_str();
    let decisions = status.decisions.iter().map(|decision| JsonDecision {
        checkpoint: decision.checkpoint.map(id),
        action: decision.action.word(),
        tasks: decision.tasks.iter().map(|task| id(*task)).collect(),
        text: &decision.text,
        at: time::format(decision.at),
    });
    decisions.collect()
}
