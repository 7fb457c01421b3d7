//! `wave-N.csv`: what the one-shot workers of a wave are given, and what they bring back.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use team_executor_core::{Graph, Session, Task, TaskIndex, TaskStatus};

use super::cells::{Cells, place};
use super::columns::{CANONICAL, Header};
use super::read::{cell_of, filled, status};
use super::write::{cell, fit};
use super::{ROW, odd};
use crate::code::Code;
use crate::context;
use crate::csv::{self, write_record};
use crate::finding::{Finding, Findings, Severity};

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

/// What a worker says about its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The task.
    pub task: TaskIndex,
    /// Where it stands, if that was said and can be understood.
    pub status: Option<TaskStatus>,
    /// What came out.
    pub findings: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// What a wave's table, without its byte order mark, says about the tasks that `known` finds. Workers cannot change
/// anything else with it, and nothing that is wrong with it is more than a warning.
pub fn read_wave(
    file: &Arc<str>,
    text: &str,
    known: impl Fn(&str) -> Option<TaskIndex>,
    findings: &mut Findings,
) -> Vec<Outcome> {
    let table = match csv::parse(text) {
        Ok(table) => table,
        Err(malformed) => {
            let finding = odd::corrupt(file, malformed, file);
            findings.push(Finding { severity: Severity::Warning, ..finding });
            return Vec::new();
        }
    };
    let header = Header::of(table.header());
    let Some(id_column) = header.column("id") else {
        findings.push(Finding::warning(Code::MissingField, format!("{file} missing required field 'id'")).file(file));
        return Vec::new();
    };
    odd::oddities(&table, file, findings);
    let mut cells = Cells { subject: file, file, severity: Severity::Warning, findings };
    let mut seen = HashSet::new();
    let mut outcomes = Vec::new();
    for record in table.records() {
        let id = cell_of(record, id_column);
        let Some(task) = known(id.value.trim()) else {
            cells.warn(Code::OddTable, "a row about a task that is not of this wave was ignored", place(&id));
            continue;
        };
        if !seen.insert(task) {
            cells.warn(Code::DuplicateId, "a second row about one task was ignored", place(&id));
            continue;
        }
        let mut outcome = Outcome { task, status: None, findings: None, error: None };
        for (column, field) in header.fields() {
            let cell = cell_of(record, column);
            match field.name {
                "status" => outcome.status = status(field, &cell, &mut cells),
                "findings" => outcome.findings = filled(cell),
                "error" => outcome.error = filled(cell),
                _ => {}
            }
        }
        outcomes.push(outcome);
    }
    outcomes
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
