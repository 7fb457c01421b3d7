//! How a run stands, as the page shows it first: what matters now, and how much else there is.

use serde::Serialize;
use serde_json::{Value, json};
use team_executor_app::attention::Attention;
use team_executor_app::event::Counts;
use team_executor_app::sessions::RunState;
use team_executor_app::usage::{Sum, dollars};
use team_executor_app::{App, Error, Opened, Reading, Status};
use team_executor_core::{Graph, Session, Task, TaskIndex, Timestamp};
use team_executor_files::{Code, Finding};

use crate::registry::Known;
use crate::rest::rest;
use crate::watched::{Looked, Watched};

/// How many tasks that are ready are listed.
const NEXT: usize = 50;

/// The run of this name cannot be found any more.
pub(crate) fn gone(run: &str) -> Error {
    Finding::error(Code::Usage, format!("the run {run} is gone")).help("list the runs: team-executor runs --all").into()
}

/// A moment in milliseconds since 1970.
pub(crate) const fn millis(at: Timestamp) -> i64 {
    at.as_micros() / 1000
}

/// What agents used.
#[derive(Serialize)]
pub(crate) struct Used {
    tokens: u64,
    cost_usd: Option<f64>,
    estimated: bool,
}

impl Used {
    fn of(status: &Status) -> Self {
        let sum = Sum::total(&status.used);
        let tokens = sum.input.saturating_add(sum.output);
        Self { tokens, cost_usd: sum.cost_micros.map(dollars), estimated: sum.is_estimated }
    }
}

/// What is said of a run in the list of all. A run that cannot be read says why.
pub(crate) fn summary(
    app: &App,
    known: &Known,
    (state, began): (RunState, Timestamp),
    looked: Option<&Looked>,
) -> Value {
    let session = known.session.display().to_string();
    let mut said = json!({"run": known.run, "session": session, "state": state.word(), "began": millis(began),
                          "newest": known.is_newest});
    let read = || -> Result<(Opened, Status), Error> {
        let path = Some(known.session.as_path());
        let opened = app.open_run(path, app.reading_of(path), Some(&known.run))?;
        let status = app.status(&opened)?.ok_or_else(|| gone(&known.run))?;
        Ok((opened, status))
    };
    let more = match looked {
        Some(Looked { opened, status, .. }) => Ok(standing(app, opened, status)),
        None => read().map(|(opened, status)| standing(app, &opened, &status)),
    };
    merge(&mut said, more.unwrap_or_else(|error| json!({"error": error.to_string()})));
    said
}

fn standing(app: &App, opened: &Opened, status: &Status) -> Value {
    json!({"goal": goal(opened), "stage": status.stage, "reason": status.reason, "counts": Counts::from(status.counts),
        "used": Used::of(status), "active_ms": u64::try_from(status.active.as_millis()).unwrap_or(u64::MAX),
        "attention": attention(app, opened, status)})
}

/// What a person must do, and what is wrong.
fn attention(app: &App, opened: &Opened, status: &Status) -> Value {
    let Attention { needs, problems, counts } = app.attention(opened, status);
    json!({"needs": needs, "problems": problems, "counts": counts})
}

fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

fn goal(opened: &Opened) -> &str {
    opened.session.as_ref().map_or("", |(session, _)| match session.requirement.as_str() {
        "" => session.name.as_str(),
        goal => goal,
    })
}

/// A task that a worker has.
#[derive(Serialize)]
struct AtWork<'a> {
    task: &'a str,
    title: &'a str,
    role: &'a str,
    attempt: u32,
    /// For so many seconds.
    seconds: u64,
    /// Since it last printed something, if it did.
    silent_s: Option<u64>,
    agent: Option<&'a str>,
    doing: Option<&'a str>,
    #[serde(flatten)]
    activity: Option<&'a team_executor_app::event::Activity>,
    /// What its conversation does now, if it has one.
    talk: bool,
}

/// A task that can start.
#[derive(Serialize)]
struct Next<'a> {
    task: &'a str,
    title: &'a str,
    role: &'a str,
    why: String,
}

/// How a run stands.
pub(crate) fn run(watched: &Watched, looked: &Looked, is_all: bool, read_only: bool) -> Result<Value, Error> {
    let Looked { opened, status, .. } = looked;
    let (session, graph) = opened.runnable()?;
    let app = &watched.app;
    let named = team_executor_app::asking::named(Some(&watched.known.session));
    Ok(json!({
        "version": 1, "run": status.run, "seq": status.seq, "session": watched.known.session.display().to_string(),
        "goal": goal(opened), "stage": status.stage, "reason": status.reason, "executor": status.is_heard,
        "finished": status.finished, "counts": Counts::from(status.counts), "used": Used::of(status),
        "active_ms": u64::try_from(status.active.as_millis()).unwrap_or(u64::MAX),
        "began": status.times.iter().flatten().map(|times| millis(times.started)).min(),
        "attention": attention(app, opened, status),
        "most_workers": status.most_workers, "budgets": status.budgets.iter().map(budget).collect::<Vec<_>>(),
        "left_ms": rest(watched, looked)?.and_then(|rest| rest.left()),
        "running": at_work(session, status), "next": next(session, graph, status), "next_total": status.ready.len(),
        "rounds": status.rounds, "can_act": watched.known.is_newest && !read_only,
        "is_newest": watched.known.is_newest, "is_all": is_all,
        "commands": {"resume": format!("{} resume {named}", app.typed()), "run": format!("{} run {named}", app.typed()),
                     "trace": format!("{} timeline {named} --format trace > trace.json", app.typed())},
    }))
}

/// A budget of the run in the units that people use.
fn budget((measure, used, most): &(String, u64, u64)) -> Value {
    let told = |amount: u64| if measure == "usd" { json!(dollars(amount)) } else { json!(amount) };
    json!({"measure": measure, "used": told(*used), "most": told(*most)})
}

fn at_work<'a>(session: &'a Session, status: &'a Status) -> Vec<AtWork<'a>> {
    let one = |running: &team_executor_app::Running| {
        let task = &session.tasks[running.task.get()];
        let doing = status.doing(task.id.as_str(), running.attempt);
        let silent = running.last_output.map(|last| status.at.as_micros().saturating_sub(last.as_micros()) / 1_000_000);
        AtWork {
            task: task.id.as_str(),
            title: &task.title,
            role: task.role.as_str(),
            attempt: running.attempt,
            seconds: running.seconds,
            silent_s: silent.and_then(|silent| u64::try_from(silent).ok()),
            agent: doing.map(|one| one.agent.as_str()),
            doing: doing.and_then(|one| one.doing.as_deref()),
            activity: doing.map(|one| &one.activity),
            talk: status.talk(task.id.as_str(), running.attempt).is_some(),
        }
    };
    status.running.iter().map(one).collect()
}

/// The tasks that start next, in the order in which they will if nothing changes: by priority, then by how much waits behind them.
fn next<'a>(session: &'a Session, graph: &Graph, status: &Status) -> Vec<Next<'a>> {
    let rank = |task: &TaskIndex| {
        let Task { priority, .. } = &session.tasks[task.get()];
        (*priority, std::cmp::Reverse(graph.remaining(*task)), task.get())
    };
    let mut ready = status.ready.clone();
    if ready.len() > NEXT {
        ready.select_nth_unstable_by_key(NEXT, rank);
        ready.truncate(NEXT);
    }
    ready.sort_by_key(rank);
    let one = |index: TaskIndex| {
        let task = &session.tasks[index.get()];
        let why = match graph.remaining(index) {
            0 | 1 => format!("priority {}; no task waits for it", task.priority.word()),
            chain => format!("priority {}; a chain of {} waits for it", task.priority.word(), tasks(chain - 1)),
        };
        Next { task: task.id.as_str(), title: &task.title, role: task.role.as_str(), why }
    };
    ready.into_iter().map(one).collect()
}

fn tasks(count: u32) -> String {
    team_executor_app::count(count as usize, "task")
}

/// What a run of a session would do: who does what, in which waves, and what is wrong.
pub(crate) fn plan(app: &App, session: &std::path::Path) -> Result<Value, Error> {
    let mut opened = app.open_unique(Some(session), Reading::default())?;
    let Some(planned) = app.plan(&mut opened, &[])? else {
        let findings = serde_json::to_value(team_executor_app::findings::findings(&opened)).unwrap_or_default();
        return Ok(json!({"version": 1, "session": session.display().to_string(), "findings": findings}));
    };
    let session_path = session.display().to_string();
    let named = team_executor_app::asking::named(Some(session));
    let summary = planned.summary();
    let plan = &planned.plan;
    let id = |task: &TaskIndex| planned.session.tasks[task.get()].id.as_str();
    let waves: Vec<usize> = plan.waves.iter().map(Vec::len).collect();
    let roles: Vec<Value> = plan
        .roles
        .iter()
        .map(|role| json!({"name": role.name.as_str(), "tasks": role.tasks, "completed": role.completed}))
        .collect();
    let critical: Vec<_> = plan.critical_path.iter().map(id).collect();
    let ready: Vec<_> = plan.ready.iter().take(NEXT).map(id).collect();
    let (agents, budgets) = (planned.means.agents(), planned.means.budgets(&planned.session));
    let tasks = crate::tasks::planned(&planned);
    Ok(json!({"version": 1, "session": session_path, "goal": planned.session.requirement, "summary": summary,
        "waves": waves, "roles": roles, "critical_path": critical, "ready": ready, "ready_total": plan.ready.len(),
        "agents": agents, "budgets": budgets, "unused": planned.unused, "tasks": tasks, "estimate": planned.estimate,
        "findings": team_executor_app::findings::findings(&opened),
        "commands": {"run": format!("{} run {named}", app.typed()), "rehearse": format!("{} rehearse {named}", app.typed())}}))
}
