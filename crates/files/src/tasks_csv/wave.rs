//! `wave-N.csv`: what the one-shot workers of a wave are given.

use std::borrow::Cow;

use team_executor_core::{Graph, Session, Task, TaskIndex};

use super::ROW;
use super::columns::CANONICAL;
use super::write::{cell, fit};
use crate::context;
use crate::csv::write_record;

/// The table of a wave: these tasks, each with the findings that it builds on. The cost is that of these tasks alone.
pub fn write_wave(session: &Session, graph: &Graph, tasks: &[TaskIndex]) -> String {
    let fields = &ROW.fields[..CANONICAL];
    let mut out = String::new();
    write_record(&mut out, fields.iter().map(|field| field.name).chain(["prev_context"]));
    for index in tasks {
        let Some(task) = session.tasks.get(index.get()) else { continue };
        let cells = fields.iter().map(|field| cell(field, task, *index, graph, Cow::Borrowed("")));
        let context = Cow::Owned(prev_context(task, session, graph));
        let cells: Vec<_> = cells.chain([context]).map(fit).collect();
        write_record(&mut out, cells.iter().map(|cell| &**cell));
    }
    out
}

/// The findings of every task that a task takes context from, in the order of the master table.
fn prev_context(task: &Task, session: &Session, graph: &Graph) -> String {
    let mut sources: Vec<_> = task.context_from.iter().filter_map(|id| graph.index_of(id.as_str())).collect();
    sources.sort_unstable();
    sources.dedup();
    let sources = sources.into_iter().filter_map(|index| session.tasks.get(index.get()));
    let texts = sources.map(|task| format!("[Task {}] {}", task.id, task.findings.as_deref().unwrap_or_default()));
    let texts = texts.map(Cow::Owned).chain(context::blocks(task));
    texts.collect::<Vec<_>>().join("\n\n")
}
