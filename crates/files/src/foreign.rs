//! Sessions of other programs: what they are, so that a refusal is true.

use std::sync::Arc;

use crate::code::Code;
use crate::finding::Finding;
use crate::json::{self, Value};
use crate::limits;
use crate::reading::Reading;
use crate::span::{Source, Span};

/// Words for a session to which nothing more happens.
const OVER: [&str; 6] = ["completed", "complete", "done", "archived", "closed", "converged"];

/// Fields that say which program a session is of, the most telling first.
const PROGRAMS: [&str; 5] = ["skill", "command", "workflow", "pipeline_mode", "team_name"];

/// Why a session of another program cannot be run; `None` if the folder holds none.
pub(crate) fn refusal(reading: &mut Reading<'_>) -> Option<Finding> {
    let folder = reading.folder;
    if folder.has("task-analysis.json") || folder.has("role-specs") {
        return None; // parts of a session that team-executor runs
    }
    let file: Arc<str> = if folder.has("team-session.json") { "team-session.json" } else { "session.json" }.into();
    let bytes = folder.read(&file, limits::SESSION_BYTES).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim_start_matches('\u{FEFF}').to_owned();
    let document = json::parse(&text).ok()?;
    let finding = described(document.root(), &file)?;
    drop(document);
    reading.sources.insert(file, Source::new(text));
    Some(finding.help("list the sessions that can be run: team-executor sessions"))
}

fn described(root: Value<'_, '_>, file: &Arc<str>) -> Option<Finding> {
    let text = |name: &str| root.get(name).and_then(Value::as_text);
    let status = root.get("status").filter(|status| status.as_text().is_some());
    let over = status.filter(|status| status.as_text().is_some_and(|word| OVER.contains(&&*word)));
    let program = PROGRAMS.iter().find_map(|name| text(name)).map(|name| format!(" ({name})")).unwrap_or_default();
    let version = root.get("schema_version").map(|version| {
        let version = version.as_text().unwrap_or(version.raw().into());
        format!(", schema_version {version}")
    });
    let version = version.unwrap_or_default();
    let head = Span { start: root.span().start, end: root.span().start + 1 };
    let (message, place, label) = match over {
        Some(status) => {
            let word = status.as_text().unwrap_or_default();
            let message = format!("Invalid session: {file} is a finished session of another skill{program}{version}");
            (message, status.span(), format!("its status is {word}: nothing is left to run"))
        }
        None if &**file == "session.json" => {
            let kind = if root.get("chain").is_some() { "a chain session" } else { "a session of another skill" };
            let message = format!("Invalid session: {file} is {kind} without a task list{program}{version}");
            (message, head, "neither `task_list` nor tasks beside it".to_owned())
        }
        None => return None,
    };
    Some(Finding::error(Code::NoSession, message).at(file, place, label))
}

#[cfg(test)]
mod tests {
    use crate::{Code, MemoryFolder, load};

    fn refused(file: &str, text: &str) -> (String, usize) {
        let loaded = load(&MemoryFolder::default().with(file, text), "S", None);
        assert!(loaded.session.is_none());
        let first = loaded.findings.iter().next().unwrap();
        assert_eq!(first.code == Code::NoSession, loaded.findings.error_count() == 1, "{:?}", loaded.findings);
        (first.message.clone(), loaded.findings.error_count())
    }

    /// R: P-02
    #[test]
    fn a_session_of_another_skill_is_named_as_what_it_is() {
        let chain = refused("session.json", r#"{"schema_version": "1.2", "chain": {}, "status": "active"}"#);
        assert_eq!(chain.0, "Invalid session: session.json is a chain session without a task list, schema_version 1.2");
        let other = refused("session.json", r#"{"schema_version": 3, "skill": "plan-it"}"#);
        assert_eq!(
            other.0,
            "Invalid session: session.json is a session of another skill without a task list (plan-it), schema_version 3"
        );
        let swarm = refused("team-session.json", r#"{"skill": "team-swarm", "team_name": "x", "status": "completed"}"#);
        assert_eq!(
            swarm,
            ("Invalid session: team-session.json is a finished session of another skill (team-swarm)".into(), 1)
        );
        let ours = refused("team-session.json", r#"{"session_id": "TC-1", "status": "active", "team_name": "x"}"#);
        assert!(ours.1 > 1, "what is missing of it is named: {ours:?}");
    }
}
