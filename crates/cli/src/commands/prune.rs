//! `prune`: frees what finished runs take on the disk.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write};
use std::path::Path;

use team_executor_app::prune::{Pruning, Taken, Wanted, bytes, json};
use team_executor_app::{App, count, size};
use team_executor_files::{Code, Finding};

use crate::args::{Format, Prune};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Shows what can be freed, asks, and frees it.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Prune, printer: &mut Printer) -> Result<Exit, Failure> {
    let wanted = Wanted { session, older_than: options.older_than, keep: options.keep };
    let found = app.prunable(wanted)?;
    let is_text = options.format == Format::Text;
    if is_text {
        list(&found, printer.out())?;
    }
    let asks = !options.dry_run && !found.freed.is_empty();
    if !asks || !is_agreed(&found, options, printer)? {
        if !is_text {
            printer.json(&json(&found, true))?;
        }
        return Ok(if asks { Exit::Invalid } else { Exit::Fine });
    }
    let done = app.prune(wanted, &found.freed)?;
    match options.format {
        Format::Json => printer.json(&json(&done, false))?,
        Format::Text => {
            let late = done.kept.iter().filter(|kept| !found.kept.contains(kept));
            for (run, why) in late {
                writeln!(printer.out(), "{}  stays: {}", escape::line(run), escape::line(why))?;
            }
            writeln!(printer.out(), "Freed {}", size(bytes(&done)))?;
        }
    }
    Ok(Exit::Fine)
}

fn list(found: &Pruning, out: &mut impl Write) -> std::io::Result<()> {
    for one in &found.freed {
        let part = match one.part {
            Taken::Trees => "trees whose work is kept as commits",
            Taken::Logs => "its logs",
            Taken::Run => "the archived run",
        };
        writeln!(out, "{}  {part}  {}", escape::line(&one.run), size(one.bytes))?;
    }
    for (run, why) in &found.kept {
        writeln!(out, "{}  stays: {}", escape::line(run), escape::line(why))?;
    }
    let runs: BTreeSet<_> = found.freed.iter().map(|one| &one.run).collect();
    match runs.len() {
        0 => writeln!(out, "Nothing to free"),
        some => writeln!(out, "{} of {} can be freed", size(bytes(found)), count(some, "run")),
    }
}

/// Asks a person, unless they agreed before.
fn is_agreed(found: &Pruning, options: &Prune, printer: &mut Printer) -> Result<bool, Failure> {
    if options.yes {
        return Ok(true);
    }
    let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !can_ask || options.format == Format::Json {
        let finding = Finding::error(Code::Usage, "pruning was not confirmed, so nothing was removed");
        return Err(finding.help("add -y to remove it without being asked, or --dry-run only to look").into());
    }
    let answer = printer.ask(&format!("Remove {} for good? [y/N] ", size(bytes(found))))?.unwrap_or_default();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}
