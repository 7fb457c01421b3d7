//! What workers proposed in a run that has ended: remarked, or added to the session if the user's settings say so.

use std::path::Path;

use team_executor_engine::Report;
use team_executor_engine::bus::{proposals, propose};

use super::Ready;
use crate::config::Proposals;
use crate::error::Error;
use crate::remark::{Remark, warn};
use crate::words::count;
use crate::{App, escape};

impl Ready {
    /// Adds what was proposed in the run, where that is to be; gives how many of these tasks are in the session now, to be run.
    pub fn settle(&self, app: &App, session: &str, report: &Report, remarks: &mut Vec<Remark>) -> Result<u32, Error> {
        let waiting = proposals(&report.folder);
        let mut added = 0;
        if self.proposals == Proposals::Run && report.is_complete() {
            for proposal in &waiting {
                let opened = app.open(Some(Path::new(session)), self.reading)?;
                let (planned, _) = opened.runnable()?;
                let place = (report.session.as_path(), self.options.current.as_path());
                match propose::accept(proposal, &report.folder, planned, opened.dialect, place) {
                    Ok(_) => added += 1,
                    Err(refusal) => warn(remarks, [format!("{} cannot be added: {refusal}", proposal.id)]),
                }
            }
        }
        let left = waiting.len() - added as usize;
        if left > 0 {
            let session = escape::session(session);
            let what = if left == 1 { "is proposed by a worker" } else { "are proposed by workers" };
            warn(remarks, [format!("{} {what}: team-executor task proposals {session}", count(left, "more task"))]);
        }
        Ok(added)
    }
}
