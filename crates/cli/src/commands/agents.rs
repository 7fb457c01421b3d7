//! `agents`: who can do tasks here, whether their programs are there and new enough, and whether they answer.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use team_executor_app::agents::AgentRow;
use team_executor_app::{App, seconds};
use unicode_width::UnicodeWidthStr;

use crate::args::{Agents, Format};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Looks for the programs, asks them, and lists.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Agents, printer: &mut Printer) -> Result<Exit, Failure> {
    let listing = app.agents(session, &options.name, options.test, options.trust_project)?;
    // Who is not installed is no failure of a test, unless it was asked for by name.
    let failed = |row: &AgentRow| if row.usable { row.why.is_some() } else { !options.name.is_empty() };
    let exit = if options.test && listing.agents.iter().any(failed) { Exit::Unfinished } else { Exit::Fine };
    match options.format {
        Format::Json => printer.json(&listing)?,
        Format::Text => table(&listing.agents, printer.out())?,
    }
    Ok(exit)
}

fn table(rows: &[AgentRow], out: &mut impl Write) -> Result<(), Failure> {
    let widest = |cells: &mut dyn Iterator<Item = usize>| cells.max().unwrap_or(0);
    let name = widest(&mut rows.iter().map(|row| escape::line(&row.name).width()).chain(["AGENT".len()]));
    let version = widest(&mut rows.iter().filter_map(|row| Some(row.version.as_ref()?.len())).chain(["VERSION".len()]));
    writeln!(out, "{}  {:9}  {}  STATE", escape::pad("AGENT", name), "KIND", escape::pad("VERSION", version))?;
    for row in rows {
        let state = match (row.usable, row.answered_ms, &row.why) {
            (true, Some(millis), _) => format!("answered in {}", seconds(Duration::from_millis(millis))),
            (true, None, Some(why)) => format!("did not do its test: {why}"),
            (true, None, None) => "usable".to_owned(),
            (false, ..) => format!("not usable: {}", row.why.as_deref().unwrap_or_default()),
        };
        let newest = row.tested.last().filter(|_| row.newer);
        let newer = newest.map(|newest| format!(", newer than the tested {newest}")).unwrap_or_default();
        let state = state + &newer;
        let (name, of) = (escape::pad(&escape::line(&row.name), name), row.version.as_deref().unwrap_or("-"));
        writeln!(out, "{name}  {:9}  {}  {}", row.kind, escape::pad(of, version), escape::line(&state))?;
        if let Some(help) = &row.help {
            writeln!(out, "  help: {}", escape::line(help))?;
        }
    }
    Ok(())
}
