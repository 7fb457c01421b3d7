//! What a client can read: of each session its report and its graph, and what was delivered.

use std::path::Path;

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;
use team_executor_beneath::Dir;
use team_executor_engine::bus::Refusal;

use super::Call;
use super::program::Printed;
use super::sessions::{asked, printed};
use super::texts::{report, text_of};
use super::uri::{SCHEME, decoded, encoded};

/// How many sessions of a root are listed.
const SESSIONS: usize = 20;
/// How many artifacts of a session are listed.
const ARTIFACTS: usize = 100;
/// The most that is read of an artifact.
const ARTIFACT_BYTES: u64 = 512 << 10;

/// Everything that can be read, the newest sessions first; the templates give the rest.
pub(super) async fn list(call: &Call<'_>) -> Vec<Resource> {
    let mut found = Vec::new();
    for root in call.roots.iter() {
        let words = vec!["sessions".to_owned(), "--format=json".to_owned()];
        let Ok(Printed::Document(listing)) = call.program.ask(words, root).await else { continue };
        let sessions = listing["sessions"].as_array().into_iter().flatten().filter(|row| row["kind"] == "session");
        let paths = sessions.filter_map(|row| Some(root.join(row["path"].as_str()?)));
        let mut paths: Vec<_> = paths.collect();
        paths.sort_by_key(|path| std::cmp::Reverse(changed_at(path)));
        for path in paths.into_iter().take(SESSIONS) {
            of_session(call, &path.display().to_string(), &mut found).await;
        }
    }
    found
}

/// When something was put into a folder or removed from it, in seconds.
fn changed_at(folder: &Path) -> Option<i64> {
    Dir::open(folder).and_then(rustix::fs::fstat).ok().map(|found| found.st_mtime)
}

async fn of_session(call: &Call<'_>, session: &str, found: &mut Vec<Resource>) {
    let name = session.rsplit('/').next().unwrap_or(session);
    let part = encoded(session);
    let graph = Resource::new(format!("{SCHEME}graph/{part}"), format!("{name}: graph"));
    found.push(graph.with_mime_type("image/svg+xml"));
    let Ok(listing) = asked(call, session, vec!["artifacts".to_owned()], Vec::new()).await else { return };
    let report = Resource::new(format!("{SCHEME}report/{part}"), format!("{name}: report"));
    found.push(report.with_mime_type("text/markdown"));
    let artifacts = listing["artifacts"].as_array().into_iter().flatten();
    for id in artifacts.filter_map(|one| one["id"].as_str()).take(ARTIFACTS) {
        found.push(Resource::new(format!("{SCHEME}artifact/{part}/{}", encoded(id)), format!("{name}: {id}")));
    }
}

/// How the addresses are made.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |path: &str, name: &str, about: &str| {
        ResourceTemplate::new(format!("{SCHEME}{path}"), name).with_description(about)
    };
    vec![
        template("report/{session}", "report", "The report of the newest run of a session")
            .with_mime_type("text/markdown"),
        template("graph/{session}", "graph", "The tasks of a session and what they wait for")
            .with_mime_type("image/svg+xml"),
        template("artifact/{session}/{id}", "artifact", "What was delivered; `status` of the session has the ids"),
    ]
}

/// What an address names.
pub(super) async fn read(call: &Call<'_>, uri: &str) -> Result<ReadResourceResult, Refusal> {
    let unknown =
        || Refusal { what: format!("nothing is at {uri}"), help: "resources/list names what there is".to_owned() };
    let parts = uri.strip_prefix(SCHEME).ok_or_else(unknown)?.split('/').map(decoded).collect::<Option<Vec<_>>>();
    let parts = parts.ok_or_else(unknown)?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let contents = match parts.as_slice() {
        ["report", session] => {
            ResourceContents::text(report(call, session).await?.text, uri).with_mime_type("text/markdown")
        }
        ["graph", session] => {
            let words = vec!["plan".to_owned(), "--format=svg".to_owned()];
            let Printed::Text(picture) = printed(call, session, words, Vec::new()).await? else {
                return Err(unknown());
            };
            ResourceContents::text(picture, uri).with_mime_type("image/svg+xml")
        }
        ["artifact", session, id] => {
            let words = vec!["artifacts".to_owned(), "show".to_owned()];
            let shown = asked(call, session, words, vec![(*id).to_owned()]).await?;
            let file = shown["file"].as_str().ok_or_else(unknown)?;
            ResourceContents::text(text_of(call, file, ARTIFACT_BYTES)?, uri).with_mime_type("text/plain")
        }
        _ => return Err(unknown()),
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Resources have no answer that a model reads, so what is refused is an error.
pub(super) fn failed(refusal: Refusal) -> ErrorData {
    let Refusal { what, help } = refusal;
    ErrorData::resource_not_found(what, Some(Value::String(help)))
}
