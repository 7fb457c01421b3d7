//! What becomes of tasks that workers propose. That they are run without being asked for is the user's decision only.

use toml::de::DeTable;

use super::values::{Reader, get};
use super::{Origin, Set};

/// How many are proposed in a run at most, unless that is set.
pub(super) const MOST: u32 = 10;

/// What becomes of a task that a worker proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proposals {
    /// It is refused at once.
    Refuse,
    /// It waits until a person decides.
    Ask,
    /// It is added and run when the run that it was proposed in is finished.
    Run,
}

impl Proposals {
    const ALL: [Self; 3] = [Self::Refuse, Self::Ask, Self::Run];

    /// As a configuration file says it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Ask => "ask",
            Self::Run => "run",
        }
    }
}

/// Reads the setting. A project cannot say that what its workers propose is run.
pub(super) fn read(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<Set<Proposals>> {
    const KEY: &str = "proposals";
    let known = |word: &str| Proposals::ALL.into_iter().find(|one| one.word() == word);
    let set = reader.set(table, KEY, "\"refuse\", \"ask\" or \"run\"", |value| known(value.as_str()?))?;
    if set.value == Proposals::Run && matches!(set.from, Origin::Project(_)) {
        let help = "write \"ask\" here, or \"run\" into your own configuration file".to_owned();
        let message = "a project cannot let workers add tasks to a run".to_owned();
        let at = get(table, KEY)?.span();
        reader.wrong(message, at, "only your own file can say this", help);
        return None;
    }
    Some(set)
}
