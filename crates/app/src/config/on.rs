//! Reactions to events: `[[on]]` of the user's own file, and `--on-event`.

use team_executor_engine::event::Kind;
use toml::de::{DeTable, DeValue};

use super::values::{Reader, get, list};
use super::{Origin, Set};

pub(super) const KEYS: &[&str] = &["event", "run", "desktop", "webhook"];
const EXPECTED: &str = "needs, failed, finished, all, or the type of an event";

/// What is done when something happens in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reaction {
    /// When.
    pub(crate) when: When,
    /// What.
    pub(crate) act: Act,
}

/// Which events there is a reaction to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum When {
    /// All but the output of workers.
    All,
    /// A person must act.
    Needs,
    /// A task failed for good.
    Failed,
    /// Every task is over.
    Finished,
    /// Events of this type.
    Type(String),
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// A program is started, with the event as JSON on its input.
    Run(Vec<String>),
    /// A notification on the desktop.
    Desktop,
    /// The event is sent to an address.
    Webhook(String),
}

impl Reaction {
    /// A command line of the user's, for all events.
    pub(crate) fn to_all(command: &str) -> Self {
        Self { when: When::All, act: Act::Run(["/bin/sh", "-c", command].map(str::to_owned).to_vec()) }
    }
}

impl When {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "all" => Self::All,
            "needs" => Self::Needs,
            "failed" => Self::Failed,
            "finished" => Self::Finished,
            word if is_type(word) => Self::Type(word.to_owned()),
            _ => return None,
        })
    }

    /// Whether there is a reaction to an event of this kind.
    pub(crate) fn is(&self, kind: &Kind) -> bool {
        match self {
            Self::All => !matches!(kind, Kind::TaskOutput { .. } | Kind::TaskActivity { .. }),
            Self::Needs => {
                matches!(
                    kind,
                    Kind::Asks { .. } | Kind::Checkpoint { .. } | Kind::WaveFailed { .. } | Kind::Halted { .. }
                )
            }
            Self::Failed => matches!(kind, Kind::TaskFailed { again: false, .. }),
            Self::Finished => matches!(kind, Kind::RunFinished { .. }),
            Self::Type(name) => type_of(kind).is_some_and(|own| own == *name),
        }
    }
}

/// The type of an event, as its JSON has it.
pub(crate) fn type_of(kind: &Kind) -> Option<String> {
    Some(serde_json::to_value(kind).ok()?.get("type")?.as_str()?.to_owned())
}

/// Whether there are events of this type: the others are refused before their fields are looked at.
fn is_type(name: &str) -> bool {
    let alone = serde_json::json!({ "type": name });
    serde_json::from_value::<Kind>(alone).err().is_none_or(|error| !error.to_string().starts_with("unknown variant"))
}

/// Reads all reactions of a file.
pub(super) fn read(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Vec<Reaction> {
    let Some(value) = get(root, "on") else { return Vec::new() };
    if matches!(reader.from(value.span()), Origin::Project(_)) {
        let help = "move it to your own file, ~/.config/team-executor/config.toml".to_owned();
        let message = "a project cannot react to events".to_owned();
        reader.wrong(message, value.span(), "only your own file can start programs for events", help);
        return Vec::new();
    }
    let Some(tables) = value.get_ref().as_array() else {
        reader.wrong("'on' is no list of tables".to_owned(), value.span(), "a single table", "write [[on]]".to_owned());
        return Vec::new();
    };
    let mut reactions = Vec::new();
    for entry in tables {
        let Some(table) = reader.as_table("on", entry) else { continue };
        reader.only(table, "on", KEYS);
        let when = reader.set(table, "event", EXPECTED, |value| When::from_word(value.as_str()?));
        let command = reader.set(table, "run", "a list of a program and its arguments", command);
        let desktop = reader.truth(table, "desktop").filter(|set| set.value);
        let webhook = reader.set(table, "webhook", "an address that begins with http:// or https://", address);
        let mut acts: Vec<Act> = Vec::new();
        acts.extend(command.map(|Set { value, .. }| Act::Run(value)));
        acts.extend(desktop.map(|_| Act::Desktop));
        acts.extend(webhook.map(|Set { value, .. }| Act::Webhook(value)));
        if acts.is_empty() || get(table, "event").is_none() {
            let help = "for instance: event = \"needs\" and run = [\"notify-me\"]".to_owned();
            let message = "[[on]] needs `event`, and one of `run`, `desktop`, `webhook`".to_owned();
            reader.wrong(message, entry.span(), "something is missing", help);
        }
        if let Some(Set { value: when, .. }) = when {
            reactions.extend(acts.into_iter().map(|act| Reaction { when: when.clone(), act }));
        }
    }
    reactions
}

fn command(value: &DeValue<'_>) -> Option<Vec<String>> {
    list(value).filter(|words| !words.is_empty() && words.iter().all(|word| !word.contains('\0')))
}

fn address(value: &DeValue<'_>) -> Option<String> {
    let text = value.as_str()?;
    let is_address = text.starts_with("http://") || text.starts_with("https://");
    (is_address && !text.contains(char::is_control)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_events_are_known_by_their_names() {
        for name in ["run_started", "task_completed", "resumed", "warning"] {
            assert!(is_type(name), "{name}");
        }
        assert!(!is_type("task_complete") && !is_type(""));
        assert_eq!(type_of(&Kind::Resumed).as_deref(), Some("resumed"));
    }
}
