//! A message is said: one line at the end of `.msg/messages.jsonl`, whole, with an id that no other has; and what a role
//! remembers goes into `.msg/meta.json`. Sizes are bounded, and what a worker says carries its attempt.

use std::path::Path;

use team_executor_agents::adapters::progress_words;
use team_executor_beneath::io_error;
use team_executor_core::Message;
use team_executor_files::json::{self, Kind, Layout, Writer};
use team_executor_files::reading::Reading;
use team_executor_files::{MemoryFolder, findings_text, limits, messages, role_state};
use team_executor_store::append::TURN;
use team_executor_store::{Disk as _, Durability, Kind as DiskKind, Log, RealDisk, Turn, replace};

use super::{Attempt, Refusal};
use crate::conclude::wisdom::{self, Book};
use crate::{clock, control};

/// The longest line that is written.
pub const LINE_BYTES: usize = 64 << 10;
/// Characters of a summary; a longer one is cut.
pub(crate) const SUMMARY_CHARS: usize = 500;
/// Who is told, if everybody is.
pub const ALL: &str = "all";
/// The type of a message that says how far a worker is.
pub const PROGRESS: &str = "progress";
/// The type of a message whose data the role remembers.
pub(crate) const STATE_UPDATE: &str = "state_update";

/// A message to send.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    /// Who says it.
    pub from: &'a str,
    /// Who is told.
    pub to: &'a str,
    /// What sort of message it is.
    pub kind: &'a str,
    /// In a few words.
    pub summary: &'a str,
    /// The rest, as JSON text.
    pub data: Option<&'a str>,
    /// The attempt of the worker that says it.
    pub attempt: Option<&'a Attempt>,
}

/// Says something.
pub fn log(session: &Path, draft: &Draft<'_>) -> Result<Message, Refusal> {
    let data = data(draft)?;
    let disk = |error: &dyn std::fmt::Display| Refusal::disk("the message was not written", error);
    let (folder, turn) = turn(session)?;
    let mut log = Log::open(&folder, NAME, &turn).map_err(|error| disk(&error))?;
    let length = log.length().map_err(|error| disk(&error))?;
    let message = Message {
        id: messages::next_id(last_id(&log, length).map_err(|error| disk(&error))?.as_deref()),
        timestamp: Some(clock::now()),
        from: draft.from.to_owned(),
        to: draft.to.to_owned(),
        kind: draft.kind.to_owned(),
        summary: findings_text::cut_to(draft.summary, SUMMARY_CHARS).into_owned(),
        data,
        task: None,
    };
    let line = messages::line(&message);
    if line.len() > LINE_BYTES {
        let what = format!("the message has {} bytes; the limit is {LINE_BYTES}", line.len());
        return Err(Refusal::new(what, "write it to a file in $TEAM_EXECUTOR_ARTIFACTS, and give its path"));
    }
    if length + line.len() as u64 > limits::LOG_BYTES {
        let what = format!("{} has {length} bytes, which is the limit", messages::FILE);
        return Err(Refusal::new(what, format!("move it away: mv {} {0}.old", messages::FILE)));
    }
    let remembered = (draft.kind == STATE_UPDATE).then(|| remembered(&folder, &message)).transpose()?;
    log.append(&line).and_then(|()| log.sync(&folder)).map_err(|error| disk(&error))?;
    if let Some(text) = remembered {
        let replaced = replace(&folder, META, text.as_bytes(), Durability::Durable);
        replaced.map_err(|error| Refusal::disk("the message was written, but the role's state was not", error))?;
    }
    if let Some(attempt) = draft.attempt.filter(|_| draft.kind == PROGRESS) {
        let percent = message.data.as_deref().and_then(percent);
        control::progress(&attempt.run, &attempt.key, progress_words(&message.summary, percent));
    }
    Ok(message)
}

/// How much is done, if the data of a message says so.
fn percent(data: &str) -> Option<u64> {
    let percent = json::parse(data).ok()?.root().get("percent").and_then(json::Value::as_i64)?;
    Some(u64::try_from(percent).unwrap_or(0).min(100))
}

/// Says something to everybody, and notes it in the session's wisdom.
pub fn broadcast(session: &Path, draft: &Draft<'_>, book: Book) -> Result<Message, Refusal> {
    let message = log(session, &Draft { to: ALL, ..*draft })?;
    let by = draft.attempt.map_or(draft.from, |attempt| &attempt.task);
    wisdom::append(session, book, by, None, std::slice::from_ref(&message.summary)).map_err(|why| {
        let what = format!("{} was sent, but not written to the wisdom: {why}", message.id);
        Refusal::new(what, format!("look at it with: ls -la {}", session.join(wisdom::FOLDER).display()))
    })?;
    Ok(message)
}

/// The turn to write to a session's bus, and the bus's folder.
pub(crate) fn turn(session: &Path) -> Result<(RealDisk, Turn), Refusal> {
    let disk = |error: &dyn std::fmt::Display| Refusal::disk("no message can be sent in this session", error);
    let folder = RealDisk::open_folder(session).and_then(|session| session.subfolder(FOLDER));
    let folder = folder.map_err(|errno| disk(&io_error(errno)))?;
    let turn = Turn::take(&folder, TURN).map_err(|error| disk(&error))?;
    Ok((folder, turn))
}

const FOLDER: &str = ".msg";
const NAME: &str = "messages.jsonl";
const META: &str = "meta.json";
/// How much of the end is looked at for the last id, at first.
const END: u64 = 64 << 10;

/// The last id that is one of ours, however much of others stands behind it.
fn last_id(log: &Log, length: u64) -> Result<Option<String>, team_executor_store::DiskError> {
    let mut most = END;
    loop {
        let end = log.end(most)?;
        let ids = end.rsplit(|byte| *byte == b'\n').filter_map(|line| {
            let document = json::parse(str::from_utf8(line).ok()?).ok()?;
            document.root().get("id")?.as_text().filter(|id| is_ours(id)).map(|id| id.into_owned())
        });
        if let Some(id) = { ids }.next() {
            return Ok(Some(id));
        }
        if most >= length {
            return Ok(None);
        }
        most *= 8;
    }
}

fn is_ours(id: &str) -> bool {
    id.strip_prefix("MSG-").is_some_and(|number| number.parse::<u64>().is_ok_and(|number| number < u64::MAX))
}

/// The data of a message. Only data of a worker names the attempt that it comes from.
fn data(draft: &Draft<'_>) -> Result<Option<String>, Refusal> {
    let given = draft.data.unwrap_or("{}");
    let document = json::parse(given).map_err(|error| {
        Refusal::new(
            format!("the data is not JSON: {}", error.message),
            r#"quote it for the shell, for instance --data '{"file": "src/a.rs"}'"#,
        )
    })?;
    let root = document.root();
    if draft.attempt.is_none() && root.get("attempt").is_none() {
        return Ok(draft.data.map(str::to_owned));
    }
    let mut out = Writer::new(Layout::Compact);
    out.begin_object();
    if root.kind() == Kind::Object {
        for entry in root.entries().filter(|entry| entry.name() != "attempt") {
            out.raw_key(entry.key.raw());
            out.raw(entry.value.raw());
        }
    } else {
        out.key("value");
        out.raw(root.raw());
    }
    if let Some(attempt) = draft.attempt {
        if root.get("task_id").is_none() {
            out.key("task_id");
            out.text(&attempt.task);
        }
        out.key("attempt");
        out.text(&attempt.key);
    }
    out.end_object();
    Ok(Some(out.finish().trim_end().to_owned()))
}

/// What the roles remember after a message. A file that cannot be read is not written over.
fn remembered(folder: &RealDisk, message: &Message) -> Result<String, Refusal> {
    let help = format!("fix {} or move it away; nothing was changed", role_state::FILE);
    let unreadable = || Refusal::new(format!("{} cannot be read", role_state::FILE), help.clone());
    let bytes = match folder.kind(META) {
        Ok(DiskKind::Missing) => b"{}".to_vec(),
        _ => folder.read(META).map_err(|_| unreadable())?,
    };
    let text = std::str::from_utf8(&bytes).map_err(|_| unreadable())?;
    let is_object =
        json::parse(text.trim_start_matches('\u{FEFF}')).is_ok_and(|read| read.root().kind() == Kind::Object);
    if !is_object {
        return Err(unreadable());
    }
    let files = MemoryFolder::default().with(role_state::FILE, bytes.clone());
    let mut state = role_state::read(&mut Reading::new(&files, FOLDER));
    state.set(&message.from, message.data.as_deref().unwrap_or("null"));
    Ok(role_state::write(&state))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: Draft<'_> = Draft { from: "user", to: ALL, kind: "note", summary: "hello", data: None, attempt: None };

    fn text(session: &Path) -> String {
        String::from_utf8_lossy(&std::fs::read(session.join(messages::FILE)).unwrap()).into_owned()
    }

    #[test]
    fn ids_go_on_after_whatever_others_wrote() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(log(dir.path(), &SAID).unwrap().id, "MSG-001");
        let foreign = format!("{{\"id\":\"x\"}}\n{}\n\u{fffd}", "junk ".repeat(300_000));
        std::fs::write(dir.path().join(messages::FILE), text(dir.path()) + &foreign).unwrap();
        assert_eq!(log(dir.path(), &SAID).unwrap().id, "MSG-002");
        assert_eq!(log(dir.path(), &SAID).unwrap().id, "MSG-003");
        let lines = text(dir.path());
        assert!(lines.contains("\n\u{fffd}\n{\"id\":\"MSG-002\","), "what was torn is closed");
    }

    #[test]
    fn sizes_are_bounded_at_whole_characters() {
        let dir = tempfile::tempdir().unwrap();
        let long = "日".repeat(9000);
        let said = log(dir.path(), &Draft { summary: &long, ..SAID }).unwrap();
        assert_eq!(said.summary.chars().count(), SUMMARY_CHARS);
        let before = text(dir.path());
        let huge = json::quote(&"x".repeat(LINE_BYTES));
        let refused = log(dir.path(), &Draft { data: Some(&huge), ..SAID }).unwrap_err();
        assert!(refused.what.contains("the limit is 65536"), "{refused}");
        let refused = log(dir.path(), &Draft { data: Some("{oops"), ..SAID }).unwrap_err();
        assert!(refused.what.starts_with("the data is not JSON: "), "{refused}");
        assert_eq!(text(dir.path()), before);
    }

    #[test]
    fn worker_message_carries_its_true_attempt() {
        let attempt = Attempt {
            session: "/s".into(),
            run: "/r".into(),
            task: "A".to_owned(),
            number: 1,
            key: "r~1/A/1".to_owned(),
            token: None,
        };
        let of = |data, attempt| data_of(&Draft { data, attempt, ..SAID });
        let forged = r#"{"attempt":"r~1/B/7","n": 1}"#;
        assert_eq!(of(Some(forged), Some(&attempt)), r#"{"n":1,"task_id":"A","attempt":"r~1/A/1"}"#);
        assert_eq!(of(Some("[1]"), Some(&attempt)), r#"{"value":[1],"task_id":"A","attempt":"r~1/A/1"}"#);
        assert_eq!(of(None, Some(&attempt)), r#"{"task_id":"A","attempt":"r~1/A/1"}"#);
        assert_eq!(
            (of(Some(forged), None), of(Some("[1]"), None), of(None, None)),
            (r#"{"n":1}"#.into(), "[1]".into(), String::new())
        );
    }

    fn data_of(draft: &Draft<'_>) -> String {
        data(draft).unwrap().unwrap_or_default()
    }

    #[test]
    fn role_state_is_replaced_only_if_readable() {
        let dir = tempfile::tempdir().unwrap();
        let meta = dir.path().join(role_state::FILE);
        let update = Draft { from: "builder", kind: STATE_UPDATE, data: Some(r#"{"step":1}"#), ..SAID };
        log(dir.path(), &update).unwrap();
        std::fs::write(&meta, "{\"status\": \"active\", \"builder\": 0}").unwrap();
        log(dir.path(), &update).unwrap();
        assert_eq!(
            std::fs::read_to_string(&meta).unwrap(),
            "{\n  \"status\": \"active\",\n  \"builder\": {\"step\":1}\n}\n"
        );
        let before = text(dir.path());
        std::fs::write(&meta, "{\"torn").unwrap();
        assert!(log(dir.path(), &update).is_err());
        assert_eq!((std::fs::read_to_string(&meta).unwrap().as_str(), text(dir.path())), ("{\"torn", before));
    }
}
