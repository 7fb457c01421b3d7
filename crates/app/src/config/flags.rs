//! What the user says for one run; it wins over every configuration file.

use serde::{Deserialize, Serialize};
use team_executor_core::run::{AtCheckpoint, Cadence};

use super::{Dollars, Spot, Time};
use crate::escape;

/// What the user says for one run. Each field is the flag of its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "a field is the flag of its name, which `--help` describes")]
pub struct Flags {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    #[serde(with = "word", skip_serializing_if = "Option::is_none")]
    pub cadence: Option<Cadence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    #[serde(with = "word", skip_serializing_if = "Option::is_none")]
    pub at_checkpoint: Option<AtCheckpoint>,
    #[serde(with = "word", skip_serializing_if = "Option::is_none")]
    pub checkpoint_wait: Option<Time>,
    #[serde(with = "word", skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Time>,
    #[serde(with = "word", skip_serializing_if = "Option::is_none")]
    pub idle_limit: Option<Time>,
    #[serde(with = "word", skip_serializing_if = "Option::is_none")]
    pub first_output_limit: Option<Time>,
    #[serde(with = "word", skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<Dollars>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_turns: Option<u64>,
    #[serde(with = "word", skip_serializing_if = "Option::is_none")]
    pub budget_wall: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// Values may be secret and are not written down.
    #[serde(skip)]
    pub env: Vec<(String, String)>,
    /// Where agent or command were found in a run that may have come with the project, which must not choose programs.
    #[serde(skip)]
    pub foreign: Option<Spot>,
}

impl Flags {
    /// These, and what they leave open from others. Agent and command are one choice, and so is all that happens at a checkpoint;
    /// `foreign` says where the others' program was chosen.
    pub(crate) fn or(self, others: &Self, foreign: Option<Spot>) -> Self {
        let is_trusted = foreign.is_none();
        let chooses = self.agent.is_some() || self.agent_command.is_some();
        let (agent, agent_command, foreign) = match chooses {
            true => (self.agent.clone(), self.agent_command.clone(), None),
            false => (others.agent.clone(), others.agent_command.clone(), foreign),
        };
        // What comes with a project passes nothing of the user's on.
        let known = others.pass_env.iter().filter(|_| is_trusted);
        let known = known.filter(|name| !self.pass_env.contains(name) && self.env.iter().all(|(set, _)| set != *name));
        let passed = self.pass_env.iter().chain(known);
        let decides = self.at_checkpoint.is_some() || self.checkpoint_wait.is_some();
        let who = if decides { &self } else { others };
        let (at_checkpoint, checkpoint_wait) = (who.at_checkpoint, who.checkpoint_wait);
        Self {
            agent,
            agent_command,
            concurrency: self.concurrency.or(others.concurrency),
            cadence: self.cadence.or(others.cadence),
            retries: self.retries.or(others.retries),
            rounds: self.rounds.or(others.rounds),
            at_checkpoint,
            checkpoint_wait,
            time_limit: self.time_limit.or(others.time_limit),
            idle_limit: self.idle_limit.or(others.idle_limit),
            first_output_limit: self.first_output_limit.or(others.first_output_limit),
            budget_usd: self.budget_usd.or(others.budget_usd),
            budget_tokens: self.budget_tokens.or(others.budget_tokens),
            budget_turns: self.budget_turns.or(others.budget_turns),
            budget_wall: self.budget_wall.or(others.budget_wall),
            // What comes with a project sends no work anywhere.
            backend: self.backend.or_else(|| others.backend.clone().filter(|_| is_trusted)),
            local: self.local.or(others.local),
            pass_env: passed.cloned().collect(),
            env: self.env,
            foreign,
        }
    }

    /// The same as they are written down: of variables that were set only the names, to be passed on.
    pub(crate) fn without_values(&self) -> Self {
        let mut same = Self { env: Vec::new(), ..self.clone() };
        let names = self.env.iter().map(|(name, _)| name.clone());
        same.pass_env.extend(names.filter(|name| !self.pass_env.contains(name)));
        same
    }

    /// What these set that others do not, as a user types it.
    pub(crate) fn beyond(&self, others: &Self) -> Vec<String> {
        let (all, given) = (self.typed(), others.typed());
        let new = all.into_iter().zip(given).filter(|((_, value), (_, given))| value.is_some() && value != given);
        let word = |((flag, value), _): ((_, Option<String>), _)| {
            format!("{flag} {}", escape::shell_word(&value.unwrap_or_default()))
        };
        let passed = self.pass_env.iter().filter(|name| !others.pass_env.contains(name));
        new.map(word).chain(passed.map(|name| format!("--pass-env {}", escape::shell_word(name)))).collect()
    }

    /// Whether a flag has a value here.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.typed().into_iter().any(|(name, value)| name == flag && value.is_some())
    }

    /// Each flag with its value.
    fn typed(&self) -> [(&'static str, Option<String>); 17] {
        fn text<T: ToString>(value: &Option<T>) -> Option<String> {
            value.as_ref().map(T::to_string)
        }
        [
            ("--agent", self.agent.clone()),
            ("--agent-command", self.agent_command.clone()),
            ("--concurrency", text(&self.concurrency)),
            ("--cadence", text(&self.cadence)),
            ("--retries", text(&self.retries)),
            ("--rounds", text(&self.rounds)),
            ("--at-checkpoint", text(&self.at_checkpoint)),
            ("--checkpoint-wait", text(&self.checkpoint_wait)),
            ("--time-limit", text(&self.time_limit)),
            ("--idle-limit", text(&self.idle_limit)),
            ("--first-output-limit", text(&self.first_output_limit)),
            ("--budget-usd", text(&self.budget_usd)),
            ("--budget-tokens", text(&self.budget_tokens)),
            ("--budget-turns", text(&self.budget_turns)),
            ("--budget-wall", text(&self.budget_wall)),
            ("--backend", self.backend.clone()),
            ("--local", text(&self.local)),
        ]
    }
}

/// A value that a user types as a word.
trait Word: ToString + Sized {
    fn read(text: &str) -> Option<Self>;
}

impl Word for Time {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Word for Dollars {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Word for Cadence {
    fn read(text: &str) -> Option<Self> {
        Self::from_word(text)
    }
}

impl Word for AtCheckpoint {
    fn read(text: &str) -> Option<Self> {
        Self::from_word(text)
    }
}

/// Writes values as the user types them, and reads them back.
mod word {
    use serde::de::{Deserialize as _, Deserializer, Error as _};
    use serde::ser::Serializer;

    use super::Word;

    pub(super) fn serialize<S: Serializer>(value: &Option<impl Word>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.serialize_some(&value.to_string()),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, T: Word, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| T::read(&text).ok_or_else(|| D::Error::custom(text))).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_back_as_they_were_given() {
        let flags = Flags {
            agent_command: Some("it's $HOME".to_owned()),
            concurrency: Some(3),
            cadence: Some(Cadence::Wave),
            at_checkpoint: Some(AtCheckpoint::Resume),
            time_limit: Some(Time(None)),
            idle_limit: Some(Time(Some(1500))),
            budget_usd: Some(Dollars(2_500_001)),
            pass_env: vec!["A".to_owned(), "B*".to_owned()],
            ..Flags::default()
        };
        let text = serde_json::to_string(&flags).unwrap();
        assert_eq!(serde_json::from_str::<Flags>(&text).unwrap(), flags);
        assert_eq!(serde_json::from_str::<Flags>("{}").unwrap(), Flags::default());
        assert!(serde_json::from_str::<Flags>(r#"{"cadence": "jazz"}"#).is_err());
    }

    #[test]
    fn values_of_variables_are_not_written_down() {
        let set = |name: &str| (name.to_owned(), "s3cr3t".to_owned());
        let given = Flags { pass_env: vec!["A".to_owned()], env: vec![set("A"), set("B")], ..Flags::default() };
        let text = serde_json::to_string(&given.without_values()).unwrap();
        assert_eq!(text, r#"{"pass_env":["A","B"]}"#);
        let there: Flags = serde_json::from_str(&text).unwrap();
        let again = Flags { env: vec![set("B")], ..Flags::default() };
        assert_eq!(again.clone().or(&there, None).pass_env, ["A"]);
        let spot = Spot { file: "f".into(), span: team_executor_files::Span::new(0, 0), line: 1 };
        assert!(again.or(&there, Some(spot)).pass_env.is_empty());
    }

    #[test]
    fn given_flags_win_and_an_agent_takes_the_place_of_a_command() {
        let before =
            Flags { agent_command: Some("a".to_owned()), retries: Some(1), rounds: Some(1), ..Flags::default() };
        let given = Flags { retries: Some(2), ..Flags::default() };
        let both = given.clone().or(&before, None);
        assert_eq!((both.agent_command.as_deref(), both.retries, both.rounds), (Some("a"), Some(2), Some(1)));
        assert_eq!(both.beyond(&given), ["--agent-command a", "--rounds 1"]);
        let named = Flags { agent: Some("claude".to_owned()), ..Flags::default() };
        let spot = Spot { file: "f".into(), span: team_executor_files::Span::new(0, 0), line: 1 };
        let both = named.or(&before, Some(spot.clone()));
        assert_eq!((both.agent.as_deref(), both.agent_command, both.foreign), (Some("claude"), None, None));
        assert_eq!(Flags::default().or(&before, Some(spot.clone())).foreign, Some(spot));
    }
}
