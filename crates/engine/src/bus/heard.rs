//! What was said: every message that can be read, and which lines could not.

use std::path::Path;

use team_executor_core::Message;
use team_executor_files::ndjson::Logged;
use team_executor_files::reading::Reading;
use team_executor_files::role_state::{self, RoleState};
use team_executor_files::{Code, messages};
use team_executor_store::DiskFolder;

use super::{Refusal, log};

/// Everything that was said in a session.
#[derive(Debug)]
pub struct Heard {
    /// In the order in which it was said.
    pub messages: Vec<Logged<Message>>,
    /// What each role remembers.
    pub state: RoleState,
    /// What could not be read, one line each.
    pub warnings: Vec<String>,
}

/// Which messages are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// From whom.
    pub from: Option<String>,
    /// To whom; what is said to everybody is said to each.
    pub to: Option<String>,
    /// Of which type.
    pub kind: Option<String>,
    /// Only the last ones.
    pub last: Option<usize>,
}

impl Heard {
    /// Listens to a session. Lines that cannot be read are skipped and named.
    pub fn read(session: &Path) -> Result<Self, Refusal> {
        let folder = DiskFolder::open(session).map_err(|_| {
            Refusal::new(format!("the session {} cannot be opened", session.display()), "check the path with: ls -ld")
        })?;
        let mut reading = Reading::new(&folder, "");
        let messages = messages::read(&mut reading);
        let state = role_state::read(&mut reading);
        let unread = [Code::SkippedLine, Code::FileUnreadable, Code::FileTooLarge, Code::LeavesSession, Code::Corrupt];
        let odd = reading.findings.iter().filter(|finding| unread.contains(&finding.code));
        let warning = |finding: &team_executor_files::Finding| {
            let place = finding.place.as_ref();
            let file = place.map(|place| format!("{}: ", place.file)).unwrap_or_default();
            let why = place.map(|place| place.label.as_str()).filter(|label| !label.is_empty());
            format!("{file}{}{}", finding.message, why.map(|why| format!(" ({why})")).unwrap_or_default())
        };
        let warnings = odd.map(warning).collect();
        Ok(Self { messages, state, warnings })
    }
}

impl Filter {
    /// The messages that are wanted, in their order.
    pub fn select<'h>(&self, heard: &'h Heard) -> Vec<&'h Logged<Message>> {
        let fits = |wanted: &Option<String>, said: &str| wanted.as_ref().is_none_or(|wanted| wanted == said);
        let is_told = |to: &str| fits(&self.to, to) || matches!(to, "" | log::ALL);
        let is_wanted = |message: &&Logged<Message>| {
            let Message { from, to, kind, .. } = &message.value;
            fits(&self.from, from) && is_told(to) && fits(&self.kind, kind)
        };
        let wanted: Vec<_> = heard.messages.iter().filter(is_wanted).collect();
        let first = self.last.map_or(0, |last| wanted.len().saturating_sub(last));
        wanted[first..].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_lines_are_named_and_the_rest_filtered() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".msg")).unwrap();
        let line = |from: &str, to: &str, kind: &str| {
            format!("{{\"id\":\"{from}{to}\",\"from\":\"{from}\",\"to\":\"{to}\",\"type\":\"{kind}\"}}\n")
        };
        let mut bytes = (line("a", "b", "x") + &line("b", "a", "y")).into_bytes();
        bytes.extend(b"\xff\xfe\n[]\n");
        bytes.extend((line("a", "all", "x") + &line("c", "", "y") + "{\"to").into_bytes());
        std::fs::write(dir.path().join(messages::FILE), bytes).unwrap();
        let heard = Heard::read(dir.path()).unwrap();
        assert_eq!(
            heard.warnings,
            [
                ".msg/messages.jsonl: line 3 cannot be read and was skipped (this is not UTF-8)",
                ".msg/messages.jsonl: line 4 cannot be read and was skipped (expected an object, found an array)",
                ".msg/messages.jsonl: line 7, the last one, is incomplete and was skipped (the string is never closed)",
            ]
        );
        let ids = |filter: Filter| filter.select(&heard).iter().map(|said| said.value.id.clone()).collect::<Vec<_>>();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(ids(Filter::default()), ["ab", "ba", "aall", "c"]);
        assert_eq!(ids(Filter { from: some("a"), ..Filter::default() }), ["ab", "aall"]);
        assert_eq!(ids(Filter { to: some("b"), ..Filter::default() }), ["ab", "aall", "c"]);
        assert_eq!(ids(Filter { kind: some("y"), last: Some(1), ..Filter::default() }), ["c"]);
        assert_eq!(ids(Filter { last: Some(9), ..Filter::default() }).len(), 4);
    }
}
