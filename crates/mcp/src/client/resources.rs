//! What a client can read: of each session its report and its graph, and what was delivered.

use std::path::Path;

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;
use team_executor_app::bus::Refusal;
use team_executor_app::{App, Reading};
use team_executor_beneath::Dir;

use super::Call;
use super::documents;
use super::room::ANSWER_BYTES;
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
        let Ok(listing) = call.within(root.clone(), |app| app.sessions(Path::new("."))).await else { continue };
        let sessions = listing.sessions.iter().filter(|row| row.kind == "session");
        let paths = sessions.map(|row| root.join(&row.path));
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
    let delivered = call.with(session, |app, session| app.artifacts(session, Reading::default(), None)).await;
    let Ok(delivered) = delivered else { return };
    let report = Resource::new(format!("{SCHEME}report/{part}"), format!("{name}: report"));
    found.push(report.with_mime_type("text/markdown"));
    for id in delivered.shelf.artifacts.iter().map(|one| one.artifact.id.as_str()).take(ARTIFACTS) {
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
        template("artifact/{session}/{id}", "artifact", "A delivered artifact; `status` of the session lists the ids"),
    ]
}

/// What an address names.
pub(super) async fn read(call: &Call<'_>, uri: &str) -> Result<ReadResourceResult, Refusal> {
    let unknown =
        || Refusal { what: format!("no resource at {uri}"), help: "resources/list lists every resource".to_owned() };
    let parts = uri.strip_prefix(SCHEME).ok_or_else(unknown)?.split('/').map(decoded).collect::<Option<Vec<_>>>();
    let parts = parts.ok_or_else(unknown)?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let contents = match parts.as_slice() {
        ["report", session] => {
            ResourceContents::text(report(call, session).await?.text, uri).with_mime_type("text/markdown")
        }
        ["graph", session] => {
            let picture = call.with(session, documents::picture).await?.ok_or_else(unknown)?;
            if picture.len() > ANSWER_BYTES {
                // Of a picture the beginning is nothing.
                let what = format!("the answer has more than {ANSWER_BYTES} bytes");
                return Err(Refusal { what, help: "use the command of the same name in a terminal".to_owned() });
            }
            ResourceContents::text(picture, uri).with_mime_type("image/svg+xml")
        }
        ["artifact", session, id] => {
            let id = (*id).to_owned();
            let find = move |app: &App, session: Option<&Path>| {
                let delivered = app.artifacts(session, Reading::default(), None)?;
                Ok(delivered.shelf.path(delivered.find(&id)?).display().to_string())
            };
            let file = &call.with(session, find).await?;
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
