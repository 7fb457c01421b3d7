//! `msg get-state`: where tasks stand, and what the discoveries of those that were named say. Bounded.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use team_executor_core::Task;
use team_executor_engine::bus::state;

use super::super::caller::Caller;
use super::super::report;
use crate::args::{Format, GetState, Msg};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

/// Items of each sort that are shown of a discovery.
const ITEMS: usize = 20;
/// Characters of each of them.
const ITEM_CHARS: usize = 500;

#[derive(Serialize)]
struct JsonState<'a> {
    version: u32,
    tasks: Vec<JsonTask<'a>>,
}

#[derive(Serialize)]
struct JsonTask<'a> {
    id: &'a str,
    status: &'a str,
    role: &'a str,
    findings: Option<&'a str>,
    error: Option<&'a str>,
    quality_score: Option<f64>,
    discovery: Option<JsonDiscovery>,
}

#[derive(Serialize)]
struct JsonDiscovery {
    key_findings: Vec<String>,
    decisions: Vec<String>,
    files_modified: Vec<String>,
    artifacts_produced: Vec<String>,
}

/// Shows the tasks that were named; else those that a worker's own builds on, or all to a person.
pub(super) fn run(caller: &Caller, options: &Msg, wanted: &GetState, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = caller.open(&options.reading)?;
    let (session, graph) = open::runnable(&opened)?;
    let now = caller.now(session, graph)?;
    let mut indexes = Vec::new();
    for id in &wanted.tasks {
        indexes.push(open::task(&opened, id)?.2);
    }
    if let Some(own) = caller.attempt.as_ref().filter(|_| indexes.is_empty()).and_then(|own| graph.index_of(&own.task))
    {
        let context = now.tasks[own.get()].context_from.iter().filter_map(|id| graph.index_of(id.as_str()));
        indexes.extend(graph.dependencies(own).iter().copied().chain(context));
        indexes.sort_unstable();
        indexes.dedup();
    }
    let shown: Vec<&Task> = match indexes.is_empty() && caller.attempt.is_none() {
        true => now.tasks.iter().collect(),
        false => indexes.iter().map(|index| &now.tasks[index.get()]).collect(),
    };
    // What everybody sees of all tasks are their states; of those that were named, also what they found in detail.
    let with_details = !indexes.is_empty();
    let tasks: Vec<_> = shown.iter().map(|task| json_task(task, &caller.place.folder, with_details)).collect();
    if options.format == Format::Json {
        report::print(&JsonState { version: 1, tasks }, printer.out())?;
        return Ok(Exit::Fine);
    }
    for task in &tasks {
        let said = task.error.or(task.findings).unwrap_or_default();
        writeln!(printer.out(), "{} {}: {}", escape::line(task.id), task.status, escape::line(said))?;
        let Some(JsonDiscovery { key_findings, decisions, files_modified, artifacts_produced }) = &task.discovery
        else {
            continue;
        };
        for (name, items) in [
            ("key_findings", key_findings),
            ("decisions", decisions),
            ("files_modified", files_modified),
            ("artifacts_produced", artifacts_produced),
        ] {
            for item in items {
                writeln!(printer.out(), "  {name}: {}", escape::line(item))?;
            }
        }
    }
    Ok(Exit::Fine)
}

fn json_task<'a>(task: &'a Task, folder: &Path, with_details: bool) -> JsonTask<'a> {
    let some = |items: Vec<String>| items.into_iter().take(ITEMS).map(|item| item.chars().take(ITEM_CHARS).collect());
    let found = state::discovery(folder, &task.id).filter(|_| with_details);
    JsonTask {
        id: task.id.as_str(),
        status: task.status.word(),
        role: task.role.as_str(),
        findings: task.findings.as_deref(),
        error: task.error.as_deref(),
        quality_score: task.quality_score,
        discovery: found.map(|found| JsonDiscovery {
            key_findings: some(found.key_findings).collect(),
            decisions: some(found.decisions).collect(),
            files_modified: some(found.files_modified).collect(),
            artifacts_produced: some(found.artifacts_produced).collect(),
        }),
    }
}
