//! Capability gaps: workers report in results and on the bus what no role of the team can do. The warning names the ways on;
//! the run continues, and no role is made up.

use std::collections::BTreeSet;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use team_executor_beneath::{Dir, How, io_error};
use team_executor_core::{Role, Session};
use team_executor_files::findings_text::cut_to;
use team_executor_files::json::{self, Value};
use team_executor_files::messages;

use crate::render::run_report::one_line;

/// The name of a gap in results and on the bus.
pub(super) const NAME: &str = "capability_gap";
/// How much is read of the bus at once.
const CHUNK: u64 = 1 << 20;
/// How many characters of a gap are told.
const SHOWN: usize = 200;
/// How many roles are named.
const ROLES: usize = 20;

/// The warning about a gap: what is missing, who there is, and the three ways on.
pub(crate) fn warning(by: &str, gap: &str, roles: &[Role]) -> String {
    let gap = one_line(gap);
    let gap = cut_to(gap.trim(), SHOWN);
    let names: Vec<&str> = roles.iter().take(ROLES).map(|role| role.name.as_str()).collect();
    let more = roles.len().saturating_sub(ROLES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "{by} reports a capability gap: {gap}. The roles are: {}{more}. Three options: let one of them do it and retry the \
         task; run team-coordinate again with resume for a new role-spec; or continue without it, as the run does now",
        names.join(", ")
    )
}

/// The gaps of a run, each told once.
#[derive(Debug)]
pub(crate) struct Gaps {
    /// The session, held open: it is looked at after every attempt.
    session: Option<Dir>,
    /// How much of the bus was read.
    read: u64,
    told: BTreeSet<String>,
}

impl Gaps {
    /// Gaps that were reported on the bus before are not told.
    pub(crate) fn from_now(session: &Path) -> Self {
        let session = Dir::open(session).ok();
        let read = session.as_ref().and_then(|session| session.seems_to_have(messages::FILE)).unwrap_or(0);
        Self { read, session, told: BTreeSet::new() }
    }

    /// The warnings after a worker ended, with the gap of its result.
    pub(crate) fn news(&mut self, task: &str, gap: Option<String>, session: &Session) -> Vec<String> {
        let of_task = gap.map(|gap| (task.to_owned(), gap));
        let gaps: Vec<_> = of_task.into_iter().chain(self.messages()).collect();
        let warnings = gaps.iter().map(|(by, gap)| warning(&one_line(by), gap, &session.roles));
        warnings.filter(|warning| self.told.insert(warning.clone())).collect()
    }

    /// The gaps reported on the bus since it was read last, with their reporters.
    fn messages(&mut self) -> Vec<(String, String)> {
        let Some(session) = &self.session else { return Vec::new() };
        let length = session.seems_to_have(messages::FILE).filter(|length| *length != self.read);
        let Some(length) = length else { return Vec::new() };
        self.read = self.read.min(length);
        let mut bytes = Vec::new();
        let opened = session.file(messages::FILE, How::ReadAnything).map_err(io_error);
        let read = opened.and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.take(CHUNK).read_to_end(&mut bytes)
        });
        // A line that is not finished is read when it is; one that is too long is no message.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let done = if whole == 0 && bytes.len() as u64 == CHUNK { bytes.len() } else { whole };
        self.read += read.map_or(0, |_| done as u64);
        String::from_utf8_lossy(&bytes[..whole]).lines().filter_map(message).collect()
    }
}

/// The reporter and the gap in a line of the bus.
fn message(line: &str) -> Option<(String, String)> {
    if !line.contains(NAME) {
        return None;
    }
    let document = json::parse(line).ok()?;
    let root = document.root();
    let text = |name: &str| root.get(name).and_then(Value::as_text);
    if text("type").or_else(|| text("kind"))? != NAME {
        return None;
    }
    let by = text("task_id").or_else(|| text("from")).map_or_else(|| "a worker".to_owned(), |by| by.into_owned());
    let summary = || text("summary").map(|summary| summary.into_owned());
    Some((by, root.get("data").and_then(|data| data.get(NAME)).and_then(words).or_else(summary)?))
}

/// What is missing, in the worker's words.
pub(super) fn words(gap: Value<'_, '_>) -> Option<String> {
    let words = gap.as_text().map_or_else(|| gap.raw().to_owned(), |text| text.into_owned());
    (!gap.is_null() && !words.trim().is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use team_executor_core::{RoleName, SessionId};

    use super::*;

    fn session() -> Session {
        let roles = ["developer", "tester"].map(|name| Role::new(RoleName::parse(name).unwrap()));
        Session { roles: roles.into(), ..Session::new(SessionId::parse("TC-1").unwrap()) }
    }

    #[test]
    fn the_warning_names_the_gap_the_roles_and_three_ways_on() {
        let words = warning("IMPL-001", "no one\nknows \u{1b}[31mCOBOL", &session().roles);
        assert_eq!(
            words,
            "IMPL-001 reports a capability gap: no one knows  [31mCOBOL. The roles are: developer, tester. Three options: \
             let one of them do it and retry the task; run team-coordinate again with resume for a new role-spec; or continue without it, as the run does now"
        );
        let many: Vec<Role> = (0..25).map(|n| Role::new(RoleName::parse(&format!("r{n}")).unwrap())).collect();
        let words = warning("T", &"x".repeat(5000), &many);
        assert!(words.contains("r19 and 5 more.") && words.len() < 800, "{words}");
    }

    #[test]
    fn gap_on_the_bus_is_reported_once_its_line_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let (bus, session) = (dir.path().join(messages::FILE), session());
        let line = |gap: &str| format!("{{\"type\":\"capability_gap\",\"from\":\"tester\",\"summary\":\"{gap}\"}}\n");
        let append = |text: &str| {
            let before = std::fs::read_to_string(&bus).unwrap_or_default();
            std::fs::create_dir_all(bus.parent().unwrap()).unwrap();
            std::fs::write(&bus, before + text).unwrap();
        };
        assert_eq!(Gaps::from_now(dir.path()).news("A", None, &session), [""; 0], "there is no bus");
        append(&line("before the run"));
        let mut gaps = Gaps::from_now(dir.path());
        append("{\"type\":\"capability_ga");
        assert_eq!(gaps.news("A", None, &session), [""; 0]);
        append(
            "p\",\"summary\":\"x\",\"data\":{\"capability_gap\":\"y\"},\"task_id\":\"T-1\"}\nno json capability_gap\n",
        );
        let told = gaps.news("A", Some("z".to_owned()), &session);
        assert_eq!(told, [warning("A", "z", &session.roles), warning("T-1", "y", &session.roles)]);
        append(&line("new"));
        assert_eq!(gaps.news("A", Some("z".to_owned()), &session), [warning("tester", "new", &session.roles)]);
        append(&format!("{}\n{}", "x".repeat(3 << 20), line("last")));
        let later: Vec<_> = (0..5).flat_map(|_| gaps.news("A", None, &session)).collect();
        assert_eq!(later, [warning("tester", "last", &session.roles)]);
    }
}
