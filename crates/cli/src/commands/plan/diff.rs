//! `plan --diff`: how the plan differs from that of the newest run.

use std::io::Write;

use serde::Serialize;
use team_executor_app::App;
use team_executor_app::open::Opened;
use team_executor_app::plan::PlanDiff;

use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

#[derive(Serialize)]
struct JsonDiff<'a> {
    version: u32,
    run: Option<&'a str>,
    /// Whether the plan of the run is known.
    known: bool,
    added: &'a [String],
    removed: &'a [String],
    changed: Vec<JsonChanged<'a>>,
}

#[derive(Serialize)]
struct JsonChanged<'a> {
    task: &'a str,
    fields: Vec<JsonField<'a>>,
}

#[derive(Serialize)]
struct JsonField<'a> {
    field: &'a str,
    from: &'a str,
    to: &'a str,
}

pub(super) fn write(app: &App, opened: &Opened, is_json: bool, printer: &mut Printer) -> Result<Exit, Failure> {
    let found = app.plan_diff(opened)?;
    let nothing = PlanDiff::default();
    let (run, diff) = match &found {
        None => (None, &nothing),
        Some(Ok(diff)) => (Some(diff.run.as_str()), diff),
        Some(Err(run)) => (Some(run.as_str()), &nothing),
    };
    let known = matches!(found, Some(Ok(_)));
    if is_json {
        let changed = diff.changed.iter().map(|task| JsonChanged {
            task: &task.task,
            fields: task.fields.iter().map(|(field, from, to)| JsonField { field, from, to }).collect(),
        });
        let PlanDiff { added, removed, .. } = diff;
        printer.json(&JsonDiff { version: 1, run, known, added, removed, changed: changed.collect() })?;
        return Ok(Exit::Fine);
    }
    let width = printer.width();
    let out = printer.out();
    match (run, known) {
        (None, _) => writeln!(out, "No run of this session, so there is nothing to compare with")?,
        (Some(run), false) => writeln!(out, "The plan of {run} is not known any more: its tasks.csv was edited")?,
        (Some(run), true) if diff.added.is_empty() && diff.removed.is_empty() && diff.changed.is_empty() => {
            writeln!(out, "The plan is that of {run}")?;
        }
        (Some(run), true) => {
            writeln!(out, "The plan differs from that of {run}:")?;
            diff.added.iter().try_for_each(|task| writeln!(out, "+ {}", escape::line(task)))?;
            diff.removed.iter().try_for_each(|task| writeln!(out, "- {}", escape::line(task)))?;
            for task in &diff.changed {
                for (field, from, to) in &task.fields {
                    let said = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
                    let line = format!("~ {}: {field} {} -> {}", task.task, said(from), said(to));
                    writeln!(out, "{}", escape::cut(&escape::line(&line), width))?;
                }
            }
        }
    }
    Ok(Exit::Fine)
}
