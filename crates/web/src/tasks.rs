//! The tasks of a run: all of them in columns, which take the least room, and one of them with all that is known of it.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Value, json};
use team_executor_app::bus::{Heard, ShownMessage, ShownState};
use team_executor_app::event::Event;
use team_executor_app::plan::Planned;
use team_executor_app::timeline::Timeline;
use team_executor_app::usage::dollars;
use team_executor_app::{Error, Reading, Status};
use team_executor_core::{Graph, Session, TaskIndex, TaskStatus, Verdict};

use crate::documents::millis;
use crate::rest::rest;
use crate::watched::{Looked, Watched};

/// How many messages and events are shown of a task.
const MOST: usize = 200;
/// How much of a difference is shown.
const PATCH_BYTES: usize = 256 << 10;

/// All tasks, a column a list.
#[derive(Serialize)]
pub(crate) struct Columns<'a> {
    ids: Vec<&'a str>,
    titles: Vec<&'a str>,
    /// The roles by name, and of each task the position of its own.
    roles: Vec<&'a str>,
    role: Vec<u32>,
    statuses: Vec<&'static str>,
    status: Vec<u8>,
    wave: Vec<u32>,
    attempts: Vec<u32>,
    ran_ms: Vec<u64>,
}

impl<'a> Columns<'a> {
    fn new(session: &'a Session, graph: &Graph, statuses: &[TaskStatus]) -> Self {
        let mut names = std::collections::HashMap::new();
        let mut roles = Vec::new();
        let mut role = Vec::with_capacity(session.tasks.len());
        for task in &session.tasks {
            let next = u32::try_from(roles.len()).unwrap_or(u32::MAX);
            role.push(*names.entry(task.role.as_str()).or_insert_with(|| {
                roles.push(task.role.as_str());
                next
            }));
        }
        Self {
            ids: session.tasks.iter().map(|task| task.id.as_str()).collect(),
            titles: session.tasks.iter().map(|task| task.title.as_str()).collect(),
            roles,
            role,
            statuses: TaskStatus::ALL.iter().map(|status| status.word()).collect(),
            status: statuses.iter().map(|status| *status as u8).collect(),
            wave: (0..).map(TaskIndex).take(session.tasks.len()).map(|task| graph.wave(task)).collect(),
            attempts: Vec::new(),
            ran_ms: Vec::new(),
        }
    }
}

/// All tasks of a run.
pub(crate) fn all(looked: &Looked) -> Result<Vec<u8>, Error> {
    #[derive(Serialize)]
    struct All<'a> {
        version: u32,
        run: &'a str,
        seq: u64,
        #[serde(flatten)]
        columns: Columns<'a>,
    }
    let (session, graph) = looked.opened.runnable()?;
    let status = &looked.status;
    let columns = Columns {
        attempts: status.attempts.clone(),
        ran_ms: status.durations.iter().map(|took| took.ran.0).collect(),
        ..Columns::new(session, graph, &status.statuses)
    };
    let all = All { version: 1, run: &status.run, seq: status.seq, columns };
    Ok(serde_json::to_vec(&all).unwrap_or_default())
}

/// All tasks of a plan.
pub(crate) fn planned(planned: &Planned) -> Columns<'_> {
    Columns::new(&planned.session, &planned.plan.graph, &planned.plan.statuses)
}

/// When every attempt did what, a column a list, in milliseconds behind the first start; -1 where that is not known.
pub(crate) fn attempts(watched: &Watched, looked: &Looked) -> Result<Vec<u8>, Error> {
    #[derive(Default, Serialize)]
    struct Attempts {
        version: u32,
        seq: u64,
        /// The first start, in milliseconds since 1970.
        zero: i64,
        now: i64,
        task: Vec<u32>,
        attempt: Vec<u32>,
        slot: Vec<u32>,
        ready: Vec<i64>,
        started: Vec<i64>,
        ended: Vec<i64>,
        checked: Vec<i64>,
        /// Positions in `outcomes`; -1 while it goes on.
        outcome: Vec<i8>,
        outcomes: Vec<&'static str>,
        sent_back: Vec<u32>,
        /// The chain of attempts that made the run as long as it was.
        chain: Vec<u32>,
        /// When tasks will probably be at work, by task: from and to, in milliseconds behind `now`.
        future: Vec<(u32, u64, u64)>,
    }
    let status = &looked.status;
    let (session, graph) = looked.opened.runnable()?;
    let timeline = Timeline::new(session, graph, status);
    let chain: HashSet<_> =
        timeline.bars.iter().filter(|bar| bar.on_chain).map(|bar| (bar.task.get(), bar.attempt)).collect();
    let all = || status.times.iter().enumerate().flat_map(|(task, times)| times.iter().map(move |one| (task, one)));
    let zero = all().map(|(_, one)| millis(one.ready.unwrap_or(one.started))).min().unwrap_or_default();
    let mut out = Attempts { version: 1, seq: status.seq, zero, now: millis(status.at) - zero, ..Attempts::default() };
    out.outcomes = vec!["completed", "failed", "interrupted"];
    for (task, one) in all() {
        let behind = |at: Option<team_executor_core::Timestamp>| at.map_or(-1, |at| millis(at) - zero);
        let outcome = one.outcome.and_then(|word| out.outcomes.iter().position(|known| *known == word));
        let place = u32::try_from(out.task.len()).unwrap_or(u32::MAX);
        out.sent_back.extend(one.is_sent_back.then_some(place));
        out.chain.extend(chain.contains(&(task, one.attempt)).then_some(place));
        out.task.push(u32::try_from(task).unwrap_or(u32::MAX));
        out.attempt.push(one.attempt);
        out.slot.push(one.slot);
        out.ready.push(behind(one.ready));
        out.started.push(behind(Some(one.started)));
        out.ended.push(behind(one.ended));
        out.checked.push(behind(one.checked));
        out.outcome.push(outcome.and_then(|at| i8::try_from(at).ok()).unwrap_or(-1));
    }
    let future = rest(watched, looked)?.map(|rest| rest.future()).unwrap_or_default();
    out.future = future.into_iter().map(|(task, from, to)| (task.0, from, to)).collect();
    Ok(serde_json::to_vec(&out).unwrap_or_default())
}

/// One task with all that is known of it.
pub(crate) fn one(watched: &Watched, looked: &Looked, id: &str) -> Result<Value, Error> {
    let Looked { opened, status, .. } = looked;
    let (session, graph, index) = opened.task(id)?;
    let task = &session.tasks[index.get()];
    let note = status.judged.get(index.get());
    let attempt = status.attempts.get(index.get()).copied().unwrap_or(0);
    let standing = |task: &TaskIndex| {
        let word = status.statuses.get(task.get()).map_or("", |status| status.word());
        json!({"task": session.tasks[task.get()].id.as_str(), "status": word})
    };
    let around = |tasks: &[TaskIndex]| tasks.iter().take(MOST).map(standing).collect::<Vec<_>>();
    let caller = watched.app.caller(Some(&watched.known.session))?;
    let now = watched.known.is_newest.then(|| caller.now(session, graph).ok()).flatten();
    let result = now.as_ref().and_then(|now| now.tasks.get(index.get()));
    let result = result.map(|task| ShownState::read(task, caller.folder(), true));
    let talk = status.running.iter().find(|running| running.task == index).and_then(|_| status.talk(id, attempt));
    let doing = status.doing(id, attempt);
    Ok(json!({
        "version": 1, "task": id, "title": task.title, "description": task.description, "role": task.role.as_str(),
        "status": status.statuses.get(index.get()).map_or("", |status| status.word()), "wave": graph.wave(index),
        "priority": task.priority.word(), "attempt": attempt,
        "why": note.and_then(|note| note.why.as_deref()), "wait_s": note.and_then(|note| note.wait),
        "rounds": note.map_or(0, |note| note.rounds), "verdict": note.and_then(|note| note.verdict).map(Verdict::word),
        "needs": around(graph.dependencies(index)), "for": around(graph.dependents(index)),
        "needs_total": graph.dependencies(index).len(), "for_total": graph.dependents(index).len(),
        "attempts": attempts_of(status, index, id), "result": result,
        "messages": messages(caller.folder(), id), "doing": doing.and_then(|doing| doing.doing.as_deref()),
        "attach": doing.and_then(|doing| doing.attach.as_deref()),
        "talk": talk.map(|talk| json!({"busy": talk.state.busy, "questions": talk.state.questions})),
        "can_act": watched.known.is_newest,
    }))
}

fn attempts_of(status: &Status, index: TaskIndex, id: &str) -> Vec<Value> {
    let times = status.times.get(index.get()).map_or(&[][..], Vec::as_slice);
    let one = |times: &team_executor_app::AttemptTimes| {
        let used = status.used.iter().find(|one| one.task == id && one.attempt == times.attempt).map(|one| &one.used);
        json!({"attempt": times.attempt, "agent": &*times.agent, "slot": times.slot, "outcome": times.outcome,
            "error": times.error, "sent_back": times.is_sent_back, "ready": times.ready.map(millis),
            "started": millis(times.started), "first_output": times.first_output.map(millis),
            "ended": times.ended.map(millis), "checked": times.checked.map(millis),
            "model": used.and_then(|used| used.model.as_deref()),
            "tokens": used.map(|used| used.input.saturating_add(used.output)),
            "cost_usd": used.and_then(|used| used.cost_micros).map(dollars)})
    };
    times.iter().map(one).collect()
}

/// The last messages about a task.
fn messages(session: &std::path::Path, id: &str) -> Value {
    let Ok(heard) = Heard::read(session) else { return Value::Null };
    let about: Vec<_> = heard.messages.iter().map(|said| ShownMessage::from_message(&said.value)).collect();
    let about: Vec<_> = about.iter().filter(|said| said.task_id == Some(id)).collect();
    let first = about.len().saturating_sub(MOST);
    serde_json::to_value(&about[first..]).unwrap_or_default()
}

/// What happened to a task, from the journal.
pub(crate) fn history(watched: &Watched, id: &str) -> Result<Vec<u8>, Error> {
    let opened = watched.opened()?;
    let mut followed = watched.app.subscribe(&opened, 0, false)?;
    let mut found: Vec<Event> = Vec::new();
    followed.run(false, &mut |event| {
        let is_about = |event: &Event| {
            let kind = serde_json::to_value(&event.kind).unwrap_or_default();
            let among = kind["tasks"].as_array().is_some_and(|tasks| tasks.iter().any(|task| task == id));
            kind["task"] == id || among
        };
        if let Some(event) = event.filter(is_about) {
            found.push(event);
        }
        true
    })?;
    let first = found.len().saturating_sub(MOST);
    Ok(serde_json::to_vec(&json!({"version": 1, "events": &found[first..]})).unwrap_or_default())
}

/// What the worker of a task would be told now.
pub(crate) fn prompt(watched: &Watched, id: &str) -> Result<String, Error> {
    watched.app.prompt(&*watched.opened()?, id)
}

/// What a task changed in its tree: what became of it, its files, and the difference.
pub(crate) fn changes(watched: &Watched, id: &str) -> Result<Value, Error> {
    let session = Some(watched.known.session.as_path());
    let changes = watched.app.changes(session, watched.app.reading_of(session), Some(&watched.known.run))?;
    let standing = changes.task(id)?.standing.words();
    let files = changes.files(Some(id))?;
    let file = |file: &team_executor_app::changes::FileChange| {
        let (added, removed) = file.lines.unwrap_or_default();
        json!({"path": file.path, "added": added, "removed": removed})
    };
    let patch = changes.patch(Some(id))?;
    let shown = String::from_utf8_lossy(&patch[..patch.len().min(PATCH_BYTES)]);
    Ok(json!({"version": 1, "standing": standing, "files": files.iter().map(file).collect::<Vec<_>>(), "patch": shown,
        "cut": patch.len() > PATCH_BYTES}))
}

/// What the run delivered, that of one task or all of it.
pub(crate) fn artifacts(watched: &Watched) -> Result<Vec<u8>, Error> {
    let delivered =
        watched.app.artifacts(Some(&watched.known.session), Reading::default(), Some(&watched.known.run))?;
    Ok(serde_json::to_vec(&delivered.list()).unwrap_or_default())
}

/// The file of an artifact; nothing if it is no file any more.
pub(crate) fn artifact(watched: &Watched, id: &str) -> Result<Option<std::fs::File>, Error> {
    let session = Some(watched.known.session.as_path());
    let delivered = watched.app.artifacts(session, Reading::default(), Some(&watched.known.run))?;
    let path = delivered.shelf.path(delivered.find(id)?);
    Ok(team_executor_beneath::open_regular(&path).ok())
}
