//! `tasks.json`.

use std::borrow::Cow;

use std::collections::HashSet;

use team_executor_core::{
    ActiveWorker, ExecMode, Graph, Position, Priority, RunOn, Session, SessionStatus, Task, TaskStatus,
};

use super::elements::{Elements, Form};
use super::overlay::{Fields, New, object};
use super::patch::{Patch, Piece, patched};
use super::written;
use crate::fields::field;
use crate::findings_text;
use crate::json::{Kind, Value, Writer};
use crate::tasks_json::{self, NO_FINDINGS, OBJECT, TASK};

/// What a run changes about a task.
const STATE: &[&str] = &[
    "title",
    "description",
    "status",
    "findings",
    "findings_full",
    "planner_notes",
    "quality_score",
    "supervision_verdict",
    "error",
];

/// The text of `tasks.json`, with the waves of the graph. A worker that has no task is left out, because the format
/// knows workers by their tasks.
pub fn tasks_json(original: Option<&str>, session: &Session, graph: &Graph) -> String {
    let names: Vec<&str> = session.tasks.iter().map(|task| task.id.as_str()).collect();
    let fields_of = |at: usize| task(&session.tasks[at], wave(graph, &session.tasks[at]));
    let elements = Elements { form: Form::Map, shape: &TASK, key: "id", names, fields: &fields_of };
    let over = |text: &str| patched(text, |patch, root| over(patch, root, session, graph, &elements));
    original.and_then(over).unwrap_or_else(|| {
        let fields = Fields::default()
            .always("session_id", New::text(&session.id))
            .always("skill", New::text(&session.name))
            .always("pipeline", New::text(session.pipeline.as_deref().unwrap_or_default()))
            .always("requirement", New::text(&session.requirement))
            .always("created_at", New::time(session.created_at))
            .unless(session.supervision, "supervision", New::Bool(session.supervision))
            .always("active_agents", New::with(|out| agents(out, &session.active_workers)))
            .always("tasks", New::with(|out| elements.write(out)));
        let fields = state(session, graph, fields);
        written(|out| object(out, &OBJECT, &fields))
    })
}

/// What a run changes about a session.
fn state<'a>(session: &'a Session, graph: &Graph, fields: Fields<'a>) -> Fields<'a> {
    fields
        .always("completed_waves", New::List(completed_waves(session, graph)))
        .unless(session.gc_rounds == 0, "gc_rounds", New::Whole(session.gc_rounds.into()))
        .unless(session.status == SessionStatus::Active, "status", New::text(session.status.word()))
        .always("updated_at", New::time(session.updated_at))
}

/// Puts what changed into a user's text. A file that is a bare array has no place for the rest.
fn over(
    patch: &mut Patch<'_>,
    root: Value<'_, '_>,
    session: &Session,
    graph: &Graph,
    elements: &Elements<'_, '_>,
) -> Option<()> {
    let container = tasks_json::container(root)?;
    let mut before = Session { tasks: session.tasks.clone(), ..Session::new(session.id.clone()) };
    tasks_json::state(root, &mut before);
    elements.patch(patch, container, |patch, at, value| {
        let now = &session.tasks[at];
        let Some(was) = tasks_json::task_of(now.id.clone(), value) else { return };
        let wave = wave(graph, now);
        patch.object(&TASK, value, &task(&was, wave).only(STATE), &task(now, wave).only(STATE));
        before.tasks[at] = was;
    });
    if root.kind() == Kind::Object {
        let fields = |session| state(session, graph, Fields::default());
        patch.object(&OBJECT, root, &fields(&before), &fields(session));
        if !by_task(&before.active_workers).eq(by_task(&session.active_workers)) {
            match field(root, &OBJECT, "active_agents") {
                Some(value) => patch.rewrite(value, |out| agents(out, &session.active_workers)),
                None => {
                    let write = Box::new(|out: &mut Writer| agents(out, &session.active_workers));
                    patch.splice(root, &[], &[Piece { key: Some("active_agents".into()), write }]);
                }
            }
        }
    }
    Some(())
}

fn wave(graph: &Graph, task: &Task) -> u32 {
    graph.index_of(task.id.as_str()).map_or(1, |index| graph.wave(index))
}

/// The waves of which every task is over.
fn completed_waves<'a>(session: &Session, graph: &Graph) -> Vec<New<'a>> {
    let mut over = vec![true; graph.wave_count() as usize];
    for task in session.tasks.iter().filter(|task| !task.status.is_over()) {
        if let Some(over) = over.get_mut(wave(graph, task) as usize - 1) {
            *over = false;
        }
    }
    (1..).zip(over).filter(|(_, over)| *over).map(|(wave, _)| New::Whole(wave)).collect()
}

/// One worker a task.
fn by_task(workers: &[ActiveWorker]) -> impl Iterator<Item = (&str, &str)> {
    let mut seen = HashSet::new();
    let workers = workers.iter().filter_map(|worker| Some((worker.task.as_ref()?.as_str(), worker.agent.as_str())));
    workers.filter(move |(task, _)| seen.insert(*task))
}

fn agents(out: &mut Writer, workers: &[ActiveWorker]) {
    out.begin_object();
    for (task, agent) in by_task(workers) {
        out.key(task);
        out.text(agent);
    }
    out.end_object();
}

pub(super) fn task(task: &Task, wave: u32) -> Fields<'_> {
    let completed = task.status == TaskStatus::Completed;
    let findings = task.findings.as_deref().filter(|findings| !completed || !findings.is_empty());
    let short = findings.map(findings_text::cut).or(completed.then_some(Cow::Borrowed(NO_FINDINGS)));
    let is_cut = matches!(short, Some(Cow::Owned(_)));
    let short = short.or_else(|| task.notes_as_findings().map(Cow::Borrowed));
    Fields::default()
        .always("title", New::text(&task.title))
        .always("description", New::text(&task.description))
        .always("role", New::text(&task.role))
        .always("pipeline_phase", task.phase.map_or(New::Kept, |phase| New::text(phase.word())))
        .always("deps", New::texts(&task.dependencies))
        .unless(task.context_from.is_empty(), "context_from", New::texts(&task.context_from))
        .always("wave", New::Whole(wave.into()))
        .always("status", New::text(status(task.status)))
        .always("findings", short.map_or(New::Null, New::Text))
        .unless(task.quality_score.is_none(), "quality_score", New::number(task.quality_score))
        .text_or_null("supervision_verdict", task.verdict.map(|verdict| verdict.word()))
        .always("error", task.error.as_deref().map_or(New::Null, New::text))
        .unless(true, "id", New::text(&task.id))
        .unless(task.priority == Priority::P1, "priority", New::text(task.priority.word()))
        .unless(task.exec_mode == ExecMode::CsvWave, "exec_mode", New::text(task.exec_mode.word()))
        .unless(task.position == Position::PostWave, "position", New::text(task.position.word()))
        .unless(task.run_on == RunOn::Success, "run_on", New::text(task.run_on.word()))
        .text_or_gone("findings_full", findings.filter(|_| is_cut))
        .text_or_gone("min_complexity", task.min_complexity.map(|level| level.word()))
        .unless(task.delivers.is_empty(), "delivers", New::texts(&task.delivers))
        .text_or_gone("planner_notes", task.notes_beside())
}

/// The format has no word for a task that could start.
const fn status(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Ready => TaskStatus::Pending.word(),
        status => status.word(),
    }
}
