//! What is said where a session has a run, and it was put away.

use std::path::Path;

use team_executor_core::SessionStatus;
use team_executor_engine::runs;
use team_executor_files::{Code, Finding};
use team_executor_store::run_folder::{RUNS, WORKFLOW};

use crate::open::Reading;
use crate::{App, escape};

/// Says that the newest run of a session is archived, and what to type; nothing if there is none in the archive.
pub(crate) fn finding(app: &App, session: Option<&Path>) -> Option<Finding> {
    let place = app.place(session).ok()?;
    let away = runs::OfSession::new(&place.folder, &place.current).archived()?;
    let named = escape::session(session?.display());
    let finding = Finding::error(Code::Usage, format!("the run of the session is archived in {}", away.display()));
    let finding = finding.help(format!("how it ended: team-executor status {named}"));
    let opened = app.open(session, Reading::default()).ok()?;
    if opened.session.is_some_and(|(session, _)| session.status == SessionStatus::Archived) {
        return Some(finding.help("its session is archived too, and an archived session is not run again"));
    }
    let here = runs::project(Some(&place.folder), &place.current).join(WORKFLOW).join(RUNS);
    let [away, here] = [away.display(), here.display()].map(|path| escape::shell_word(&path.to_string()));
    Some(finding.help(format!("bring it back with: mv {away} {here}")))
}
