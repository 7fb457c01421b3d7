//! `msg get-state`: where tasks stand, and what the discoveries of those that were named say. Bounded.

use std::io::Write;

use serde::Serialize;
use team_executor_app::bus::{ShownDiscovery, ShownState, state};
use team_executor_app::caller::Caller;
use team_executor_core::Task;

use crate::args::{Format, GetState, Msg};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

#[derive(Serialize)]
struct JsonState<'a> {
    version: u32,
    tasks: Vec<ShownState<'a>>,
}

/// Shows the tasks that were named; else those that a worker's own builds on, or all to a person.
pub(super) fn run(caller: &Caller, options: &Msg, wanted: &GetState, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = caller.open(options.reading.into())?;
    let (session, graph) = opened.runnable()?;
    let now = caller.now(session, graph)?;
    let mut shown: Vec<&Task> = Vec::new();
    for id in &wanted.tasks {
        shown.push(&now.tasks[opened.task(id)?.2.get()]);
    }
    if let Some(own) = caller.attempt.as_ref().filter(|_| shown.is_empty()) {
        shown = state::built_on(&now, graph, &own.task);
    }
    // What everybody sees of all tasks are their states; of those that were named, also what they found in detail.
    let with_details = !shown.is_empty();
    if shown.is_empty() && caller.attempt.is_none() {
        shown.extend(&now.tasks);
    }
    let tasks: Vec<_> = shown.iter().map(|task| ShownState::read(task, caller.folder(), with_details)).collect();
    if options.format == Format::Json {
        printer.json(&JsonState { version: 1, tasks })?;
        return Ok(Exit::Fine);
    }
    for task in &tasks {
        let said = task.error.or(task.findings).unwrap_or_default();
        writeln!(printer.out(), "{} {}: {}", escape::line(task.id), task.status, escape::line(said))?;
        let Some(ShownDiscovery { key_findings, decisions, files_modified, artifacts_produced }) = &task.discovery
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
