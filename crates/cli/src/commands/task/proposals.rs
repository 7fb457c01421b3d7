//! `task proposals`, `accept` and `decline`: what workers found to be missing, and what a person makes of it.

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;
use team_executor_app::bus::{Proposal, propose};
use team_executor_app::caller::Caller;
use team_executor_core::Session;
use team_executor_files::{Code, Finding};

use crate::args::{Format, TaskNames, TaskOf};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

#[derive(Serialize)]
struct JsonProposals<'a> {
    version: u32,
    proposals: Vec<JsonProposal<'a>>,
}

#[derive(Serialize)]
struct JsonProposed<'a> {
    version: u32,
    id: &'a str,
    proposed: bool,
}

#[derive(Serialize)]
struct JsonProposal<'a> {
    id: &'a str,
    title: &'a str,
    description: &'a str,
    assignee: &'a str,
    deps: &'a [String],
    proposed_by: &'a str,
}

/// Tells a worker what became of its proposal.
pub(super) fn tell(id: &str, is_new: bool, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    match format {
        Format::Json => printer.json(&JsonProposed { version: 1, id, proposed: is_new })?,
        Format::Text if is_new => writeln!(printer.out(), "{} is proposed; a person decides", escape::line(id))?,
        Format::Text => writeln!(printer.out(), "{} was proposed before", escape::line(id))?,
    }
    Ok(Exit::Fine)
}

/// Lists what was proposed in the newest run and is not decided on.
pub(super) fn list(caller: &Caller, format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    let (_, waiting) = waiting(caller);
    show(&waiting, format, printer)
}

/// Adds proposed tasks to the session.
pub(super) fn accept(
    caller: &Caller,
    options: &TaskOf,
    wanted: &TaskNames,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    caller.must_not_steer()?;
    let (run, chosen) = chosen(caller, wanted)?;
    let opened = caller.open(options.reading.into())?;
    let mut session: Session = opened.runnable()?.0.clone();
    for proposal in &chosen {
        let place = (caller.folder(), caller.current());
        let with = propose::accept(proposal, &run, &session, opened.dialect, place);
        session = with?;
    }
    show(&chosen, options.format, printer)
}

/// Does not add proposed tasks.
pub(super) fn decline(
    caller: &Caller,
    options: &TaskOf,
    wanted: &TaskNames,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    caller.must_not_steer()?;
    let (run, chosen) = chosen(caller, wanted)?;
    for proposal in &chosen {
        propose::decline(proposal, &run, caller.folder())?;
    }
    show(&chosen, options.format, printer)
}

fn waiting(caller: &Caller) -> (PathBuf, Vec<Proposal>) {
    propose::waiting(caller.folder(), caller.current())
}

/// The proposals that are named, in the order in which they were made.
fn chosen(caller: &Caller, wanted: &TaskNames) -> Result<(PathBuf, Vec<Proposal>), Failure> {
    let (run, mut waiting) = waiting(caller);
    if let Some(unknown) = wanted.tasks.iter().find(|id| !waiting.iter().any(|one| one.id == **id)) {
        let named = escape::session(caller.path.display());
        let finding = Finding::error(Code::Usage, format!("no task '{unknown}' waits to be decided on"));
        return Err(finding.help(format!("see what does: team-executor task proposals {named}")).into());
    }
    waiting.retain(|one| wanted.tasks.contains(&one.id));
    Ok((run, waiting))
}

fn show(shown: &[Proposal], format: Format, printer: &mut Printer) -> Result<Exit, Failure> {
    if format == Format::Json {
        let proposals = shown.iter().map(|one| {
            let Proposal { id, title, description, role, dependencies, by, .. } = one;
            JsonProposal { id, title, description, assignee: role, deps: dependencies, proposed_by: by }
        });
        printer.json(&JsonProposals { version: 1, proposals: proposals.collect() })?;
        return Ok(Exit::Fine);
    }
    for Proposal { id, title, role, by, .. } in shown {
        writeln!(printer.out(), "{}", escape::line(&format!("{id} ({role}) {title}, proposed by {by}")))?;
    }
    if shown.is_empty() {
        writeln!(printer.out(), "No proposals")?;
    }
    Ok(Exit::Fine)
}
