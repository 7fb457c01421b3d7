//! What workers proposed in a run that has ended: told to the user, or added to the session if the user's settings say so.

use std::path::Path;

use team_executor_engine::Report;
use team_executor_engine::bus::{proposals, propose};

use super::super::validate::count;
use super::warn;
use crate::args::{Format, Reading};
use crate::config::Proposals;
use crate::escape;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

/// Tells what was proposed, and says how many of these tasks are in the session now, to be run.
pub(super) fn settle(
    report: &Report,
    policy: Proposals,
    (session, reading): (&str, &Reading),
    current: &Path,
    (format, printer): (Format, &mut Printer),
) -> Result<u32, Failure> {
    let waiting = proposals(&report.folder);
    let mut added = 0;
    if policy == Proposals::Run && report.is_complete() {
        for proposal in &waiting {
            let opened = open::session(Some(Path::new(session)), reading)?;
            let (planned, _) = open::runnable(&opened)?;
            let place = (report.session.as_path(), current);
            match propose::accept(proposal, &report.folder, planned, opened.dialect, place) {
                Ok(_) => added += 1,
                Err(refusal) => warn(&format!("{} cannot be added: {refusal}", proposal.id), format, printer)?,
            }
        }
    }
    let left = waiting.len() - added as usize;
    if left > 0 {
        let session = escape::session(session);
        let what = if left == 1 { "is proposed by a worker" } else { "are proposed by workers" };
        warn(&format!("{} {what}: team-executor task proposals {session}", count(left, "more task")), format, printer)?;
    }
    Ok(added)
}
