//! `artifacts.json`: everything that was delivered, as a session registers artifacts.

use team_executor_core::Session;
use team_executor_files::write;

/// The name of the view.
pub(super) const NAME: &str = "artifacts.json";

/// The text of the view; nothing where nothing was delivered.
pub(super) fn text(session: &Session) -> Option<String> {
    (!session.artifacts.is_empty()).then(|| write::artifact_registry(&session.artifacts))
}
