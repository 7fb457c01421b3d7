//! `tasks.json`.

use std::borrow::Cow;

use std::collections::HashSet;

use team_executor_core::{
    ActiveWorker, ExecMode, Graph, Position, Priority, RunOn, Session, SessionStatus, Task, TaskStatus,
};

use super::elements::{Elements, Form};
use super::over;
use super::overlay::{Fields, New, object};
use crate::findings_text;
use crate::json::{Kind, Writer};
use crate::tasks_json::{NO_FINDINGS, OBJECT, TASK, container};

/// The text of `tasks.json`, with the waves of the graph. A worker that has no task is left out, because the format
/// knows workers by their tasks.
pub fn tasks_json(original: Option<&str>, session: &Session, graph: &Graph) -> String {
    let names: Vec<&str> = session.tasks.iter().map(|task| task.id.as_str()).collect();
    let fields_of = |at: usize| task(&session.tasks[at], wave(graph, &session.tasks[at]));
    let elements = Elements { form: Form::Map, shape: &TASK, key: "id", names, fields: &fields_of };
    over(original, |out, root| {
        let tasks = root.and_then(container);
        let fields = Fields::default()
            .always("session_id", New::text(&session.id))
            .always("skill", New::text(&session.name))
            .always("pipeline", New::text(session.pipeline.as_deref().unwrap_or_default()))
            .always("requirement", New::text(&session.requirement))
            .always("created_at", New::time(session.created_at))
            .unless(session.supervision, "supervision", New::Bool(session.supervision))
            .always("completed_waves", New::List(completed_waves(session, graph)))
            .always("active_agents", New::with(|out, _| agents(out, &session.active_workers)))
            .unless(session.gc_rounds == 0, "gc_rounds", New::Whole(session.gc_rounds.into()))
            .always("tasks", New::with(move |out, _| elements.write(out, tasks)))
            .unless(session.status == SessionStatus::Active, "status", New::text(session.status.word()))
            .always("updated_at", New::time(session.updated_at));
        object(out, &OBJECT, root.filter(|root| root.kind() == Kind::Object), &fields);
    })
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
fn agents(out: &mut Writer, workers: &[ActiveWorker]) {
    let mut seen = HashSet::new();
    out.begin_object();
    for worker in workers {
        if let Some(task) = worker.task.as_ref().filter(|task| seen.insert(task.as_str())) {
            out.key(task.as_str());
            out.text(&worker.agent);
        }
    }
    out.end_object();
}

fn task(task: &Task, wave: u32) -> Fields<'_> {
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
        .text_or_gone("planner_notes", task.notes_beside())
}

/// The format has no word for a task that could start.
const fn status(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Ready => TaskStatus::Pending.word(),
        status => status.word(),
    }
}
