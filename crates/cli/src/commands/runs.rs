//! `runs`: the runs of a project, with who executes them.

use std::io::Write;

use team_executor_app::App;
use team_executor_app::sessions::{RunRow, RunState};
use unicode_width::UnicodeWidthStr as _;

use crate::args::{Format, Runs};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Lists them, the newest first.
pub(crate) fn run(app: &App, options: &Runs, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut listing = app.runs(&options.dir)?;
    let finished = listing.runs.iter().filter(|run| run.state == RunState::Finished).count();
    if !options.all {
        listing.runs.retain(|run| run.state != RunState::Finished);
    }
    match options.format {
        Format::Json => printer.json(&listing)?,
        Format::Text => {
            table(&listing.runs, printer.out())?;
            if !options.all && finished > 0 {
                writeln!(printer.out(), "{finished} finished: {} runs --all", app.typed())?;
            }
        }
    }
    Ok(Exit::Fine)
}

fn table(runs: &[RunRow], out: &mut impl Write) -> std::io::Result<()> {
    if runs.is_empty() {
        return writeln!(out, "No run goes on here");
    }
    let widest = |of: fn(&RunRow) -> &str| runs.iter().map(|run| of(run).width()).max().unwrap_or(0).max(7);
    let (run, session) = (widest(|run| &run.run), widest(|run| &run.session));
    writeln!(
        out,
        "{}  {:8}  {:>9}  {}  NOTES",
        escape::pad("RUN", run),
        "STATE",
        "DONE",
        escape::pad("SESSION", session)
    )?;
    for row in runs {
        let done = format!("{}/{}", row.completed, row.tasks);
        let failed = (row.failed > 0).then(|| format!("{} failed", row.failed));
        let notes: Vec<_> = row.process.map(|process| format!("process {process}")).into_iter().chain(failed).collect();
        let (name, of) = (escape::line(&row.run), escape::line(&row.session));
        let line = format!(
            "{}  {:8}  {done:>9}  {}  {}",
            escape::pad(&name, run),
            row.state.word(),
            escape::pad(&of, session),
            notes.join(", ")
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
