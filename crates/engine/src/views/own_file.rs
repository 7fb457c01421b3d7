//! The session's own state file, in its dialect, over what stands in it.

use std::path::Path;

use team_executor_beneath::Dir;
use team_executor_core::{Graph, Session};
use team_executor_files::{Dialect, tasks_csv, write};

/// Its name in a folder of that dialect.
pub(crate) fn name(dialect: Dialect, folder: &Path) -> &'static str {
    match dialect {
        Dialect::Tc => "team-session.json",
        Dialect::Tls if Dir::open(folder).is_ok_and(|folder| folder.has("team-session.json")) => "team-session.json",
        Dialect::Tls => "session.json",
        Dialect::TasksJson => "tasks.json",
        Dialect::TasksCsv => "tasks.csv",
    }
}

/// Its text. What the format does not know stays.
pub(crate) fn text(dialect: Dialect, original: &str, session: &Session, graph: &Graph) -> String {
    match dialect {
        Dialect::Tc => write::team_session(Some(original), session),
        Dialect::Tls => write::lifecycle(Some(original), session),
        Dialect::TasksJson => write::tasks_json(Some(original), session, graph),
        Dialect::TasksCsv => tasks_csv::patch(original, session, graph),
    }
}
