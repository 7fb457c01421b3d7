//! That tables are read and written as they should be; what the tests share.

mod reading;
mod round_trip;
mod writing;

use team_executor_core::Session;

use super::write;
use crate::{Dialect, Finding, Loaded, MemoryFolder, Place, Severity, load};

const HEADER: &str = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error";

fn loaded(text: &str) -> Loaded {
    load(&MemoryFolder::default().with("tasks.csv", text), "EX-1", Some(Dialect::TasksCsv))
}

/// Every finding with the text that it points to and, in front, `!` if it is an error.
fn found(text: &str) -> Vec<(String, String)> {
    let loaded = loaded(text);
    let text = |place: &Place| {
        let source = loaded.sources.get(&place.file).unwrap().text();
        source[place.span.map_or(0..0, |span| span.range())].to_owned()
    };
    let line = |finding: &Finding| {
        let mark = if finding.severity == Severity::Error { "!" } else { "" };
        (format!("{mark}{}", finding.message), finding.place.as_ref().map(text).unwrap_or_default())
    };
    loaded.findings.iter().map(line).collect()
}

/// What is found in a table with the right header and these rows.
fn found_in_rows(rows: &str) -> Vec<(String, String)> {
    found(&format!("{HEADER}\n{rows}"))
}

fn session(text: &str) -> Session {
    let loaded = loaded(text);
    let errors: Vec<_> = loaded.findings.iter().filter(|f| f.severity == Severity::Error).collect();
    loaded.session.unwrap_or_else(|| panic!("{errors:?}")).0
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(message, place)| ((*message).to_owned(), (*place).to_owned())).collect()
}

fn rewritten(text: &str) -> String {
    let (session, graph) = loaded(text).session.unwrap();
    write(Some(text), &session, &graph)
}
