//! `doctor`: what protects a run here, whether a run is whole, and the repairs that lose nothing which could be used.

use std::io::{IsTerminal, Write};
use std::path::Path;

use team_executor_app::doctor::{Check, Examined, Repaired, Verdict};
use team_executor_app::{App, count};
use team_executor_core::TaskStatus;
use team_executor_files::{Code, Finding};

use super::plan::mark;
use crate::args::{Doctor, Format};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{self, Printer};

/// How many records that are given up are named one by one.
const NAMED: usize = 20;

/// Looks, repairs if that is wanted, and shows what came of it.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Doctor, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut found = app.examine(session, options.run.as_deref())?;
    if options.repair && found.has_run() && !confirmed(&found, options, printer)? {
        return Ok(Exit::Invalid);
    }
    let repaired = options.repair.then(|| app.repair(session, &mut found)).transpose()?;
    match options.format {
        Format::Json => printer.json(&found.json(repaired.as_ref()))?,
        Format::Text => text(app, &found, repaired.as_ref(), printer)?,
    }
    Ok(if found.is_bad() { Exit::Invalid } else { Exit::Fine })
}

/// Says what would be given up, and asks. Where nothing is, there is nothing to ask.
fn confirmed(found: &Examined, options: &Doctor, printer: &mut Printer) -> Result<bool, Failure> {
    let given_up = found.run.as_ref().map_or(&[][..], |run| &run.given_up);
    if given_up.is_empty() {
        return Ok(true);
    }
    let err = printer.err();
    writeln!(err, "The journal is copied, then cut. These records are given up:")?;
    for words in given_up.iter().take(NAMED) {
        writeln!(err, "  {}", escape::line(words))?;
    }
    if given_up.len() > NAMED {
        writeln!(err, "  and {} more", given_up.len() - NAMED)?;
    }
    writeln!(err, "Tasks whose completion is among them are done again.")?;
    if options.yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        let finding = Finding::error(Code::Usage, "the repair was not confirmed, so nothing was changed");
        return Err(finding.help("add -y to repair without being asked").into());
    }
    write!(err, "Repair? [y/N] ")?;
    err.flush()?;
    let answer = printer::typed(&mut std::io::stdin().lock())?.unwrap_or_default();
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn text(app: &App, found: &Examined, repaired: Option<&Repaired>, printer: &mut Printer) -> Result<(), Failure> {
    let width = printer.width();
    let out = printer.out();
    section(out, "Protections of workers", &found.machine, width)?;
    section(out, &format!("Project {}", found.project.display()), &found.place, width)?;
    match (&found.run, found.session()) {
        (Some(run), _) => section(out, &format!("Run {}", run.id), &run.checks, width)?,
        (None, Some(session)) => no_run(app.put_away(found), session, out)?,
        (None, None) => {}
    }
    if let Some(Repaired { copy, removed }) = repaired {
        if let Some(copy) = copy {
            writeln!(out, "Repaired: the journal was cut; all of it is in .executor/{}", escape::line(copy))?;
        }
        if *removed > 0 {
            writeln!(out, "Repaired: {} removed", count(*removed, "unfinished file"))?;
        }
        if copy.is_none() && *removed == 0 {
            writeln!(out, "There was nothing to repair")?;
        }
    }
    Ok(())
}

/// Says that there is no run to look at: it was put away, or there never was one.
fn no_run(away: Option<Finding>, session: &str, out: &mut impl Write) -> Result<(), Failure> {
    let Some(finding) = away else {
        return Ok(writeln!(out, "Session {} was never run", escape::line(session))?);
    };
    writeln!(out, "Session {}: {}", escape::line(session), escape::line(&finding.message))?;
    Ok(finding.help.iter().try_for_each(|help| writeln!(out, "  help: {}", escape::line(help)))?)
}

fn section(out: &mut impl Write, title: &str, checks: &[Check], width: usize) -> Result<(), Failure> {
    const NAME: usize = 14;
    let room = width - NAME - 4;
    writeln!(out, "{}", escape::line(title))?;
    for check in checks {
        // The marks of the tasks, which everybody knows already.
        let (sign, style) = match check.verdict {
            Verdict::Fine => mark(TaskStatus::Completed),
            Verdict::Weak => mark(TaskStatus::Skipped),
            Verdict::Bad => mark(TaskStatus::Failed),
        };
        let help = check.help.iter().flat_map(|help| escape::wrap(&format!("help: {help}"), room));
        let mut lines = escape::wrap(&check.says, room).into_iter().chain(help);
        let first = lines.next().unwrap_or_default();
        writeln!(out, "  {style}{sign}{style:#} {:NAME$}{first}", check.name)?;
        for line in lines {
            writeln!(out, "    {:NAME$}{line}", "")?;
        }
    }
    writeln!(out)?;
    Ok(())
}
