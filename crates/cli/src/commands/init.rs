//! `init`: makes a new session from a requirement, or from a table of tasks.

use std::io::Write;

use team_executor_app::init::{Made, NewSession};
use team_executor_app::{App, count};
use team_executor_core::Timestamp;

use super::plan::joined;
use crate::args::{Format, Init};
use crate::diagnostics;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Makes a session and says what to do with it.
pub(crate) fn run(app: &App, options: &Init, printer: &mut Printer) -> Result<Exit, Failure> {
    let table = options.from.as_deref().map(|path| app.table(path, options.tag.as_deref())).transpose()?;
    if let (Some(table), Format::Text) = (&table, options.format) {
        let warnings = diagnostics::all(&table.findings, &table.sources, "", printer.width());
        write!(printer.err(), "{warnings}")?;
    }
    let wanted = NewSession {
        requirement: options.requirement.as_deref().unwrap_or_default().trim(),
        pipeline: options.pipeline.as_deref(),
        table: table.as_ref(),
        dialect: options.dialect,
        complexity: options.complexity,
        roles: &options.role,
        name: options.name.as_deref(),
        folder: options.dir.as_deref(),
        at: now(),
    };
    let made = app.init(&wanted)?;
    match options.format {
        Format::Text => text(&made, options, printer)?,
        Format::Json => printer.json(&made.json())?,
    }
    Ok(Exit::Fine)
}

/// The time, in whole seconds.
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_secs()).unwrap_or_default().saturating_mul(1_000_000))
}

fn text(made: &Made<'_>, options: &Init, printer: &mut Printer) -> Result<(), Failure> {
    let width = printer.width();
    let session = made.session();
    let pipeline = session.pipeline.as_deref().filter(|_| options.from.is_none());
    let how = pipeline.map_or_else(|| options.dialect.to_string(), |name| format!("{}, {name}", options.dialect));
    let out = printer.out();
    writeln!(out, "Made {} ({how})", escape::line(&made.folder))?;
    let (tasks, roles) = (count(session.tasks.len(), "task"), count(session.roles.len(), "role"));
    writeln!(out, "{tasks} in {} for {roles}", count(made.waves as usize, "wave"))?;
    if let Some(taken) = made.taken() {
        let (open, shown) = (taken.tasks - taken.done, count(taken.tasks, "task"));
        writeln!(out, "Took {shown} from {}: {} done before, {open} to do", taken.tool, taken.done)?;
        for left in taken.left {
            writeln!(out, "Left {}", escape::line(left))?;
        }
    }
    joined(out, &made.joining(), width)?;
    let open = session.tasks.iter().filter(|task| task.min_complexity.is_some()).count();
    if open > 0 {
        writeln!(out, "{open} of the tasks run only if the work is complex enough")?;
    }
    if let Some(why) = &made.why {
        writeln!(out, "Team for {}", escape::line(why))?;
        writeln!(out, "Another team: --complexity low|medium|high, or --pipeline NAME")?;
    }
    if let Some(config) = &made.config {
        let config = escape::line(config);
        writeln!(out, "Made {config}: each task has a working tree of its own, and its changes are merged")?;
    }
    writeln!(out, "\nEdit the role-specs as you like, then:")?;
    for command in &made.next {
        writeln!(out, "  {}", escape::line(command))?;
    }
    Ok(())
}
