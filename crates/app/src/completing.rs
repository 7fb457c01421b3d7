//! Names for the completion of commands in a shell: sessions, runs, tasks and agents. Only looks, and says nothing of what
//! goes wrong.

use std::path::{Path, PathBuf};

use team_executor_engine::runs;

use crate::App;
use crate::open::Reading;
use crate::which::Meant;

/// How many names are offered.
const MOST: usize = 1000;

/// What a word can be the name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Session,
    Run,
    Task,
    Agent,
}

impl App {
    /// The names that the last of some words of a command line can be completed to.
    pub fn completions(&self, words: &[String]) -> Vec<String> {
        let Some((last, before)) = words.split_last() else { return Vec::new() };
        let (option, begin) = match last.split_once('=').filter(|(option, _)| option.starts_with("--")) {
            Some((option, begin)) => (Some(option), begin),
            None => (before.last().map(String::as_str), last.as_str()),
        };
        let named = option.and_then(of_option).or_else(|| of_position(before).filter(|_| !last.starts_with('-')));
        let Some(named) = named else { return Vec::new() };
        let mut names = self.names(named, before);
        names.retain(|name| name.starts_with(begin));
        names.sort();
        names.dedup();
        names.truncate(MOST);
        names
    }

    fn names(&self, named: Named, before: &[String]) -> Vec<String> {
        let Ok(current) = self.current() else { return Vec::new() };
        match named {
            Named::Session => self.sessions_around(current).iter().map(|session| self.name_of(session)).collect(),
            Named::Run => match self.session_in(before).and_then(|session| self.place(Some(&session)).ok()) {
                Some(place) => runs::of_session(&place.folder, &place.current).into_iter().map(|(id, _)| id).collect(),
                None => runs::known(current).into_iter().map(|run| run.id).collect(),
            },
            Named::Task => {
                let session = self.session_in(before);
                let opened = session.and_then(|session| self.open_tasks(Some(&session), Reading::default()).ok());
                let tasks = opened.and_then(|opened| opened.session).map(|(session, _)| session.tasks);
                tasks.unwrap_or_default().into_iter().map(|task| task.id.to_string()).collect()
            }
            Named::Agent => {
                let session = self.session_in(before);
                let config = self.around(session.as_deref()).and_then(|place| place.config());
                config.map(|config| config.settings.agents.into_keys().collect()).unwrap_or_default()
            }
        }
    }

    /// The session that words of a command line name, or that is meant.
    fn session_in(&self, words: &[String]) -> Option<PathBuf> {
        let apart = words.windows(2).find(|pair| pair[0] == "--session").map(|pair| pair[1].as_str());
        let given = apart.or_else(|| words.iter().find_map(|word| word.strip_prefix("--session=")));
        match given {
            Some(given) => self.named(Path::new(given)).ok(),
            None => match self.inferred().ok()? {
                Meant::One(session, _) => Some(session),
                Meant::Several(_) | Meant::None => None,
            },
        }
    }
}

/// What the value of an option names.
fn of_option(option: &str) -> Option<Named> {
    match option {
        "--session" => Some(Named::Session),
        "--run" | "--continue" => Some(Named::Run),
        "--agent" | "--with" => Some(Named::Agent),
        _ => None,
    }
}

/// What the next word behind others names, if it is no option.
fn of_position(before: &[String]) -> Option<Named> {
    let mut plain = Vec::new();
    let mut is_value = false;
    for word in before {
        let was_value = std::mem::replace(&mut is_value, matches!(word.as_str(), "--session" | "--log"));
        if !was_value && !word.starts_with('-') {
            plain.push(word.as_str());
        }
    }
    match plain.as_slice() {
        ["logs" | "prompt" | "skip" | "changes"] | ["retry", ..] => Some(Named::Task),
        ["merge", "retry", ..] | ["talk", "send" | "interrupt" | "close" | "allow" | "deny"] => Some(Named::Task),
        ["checkpoint", "revise"] | ["task", "get" | "update"] => Some(Named::Task),
        ["agents", ..] => Some(Named::Agent),
        ["archive"] => Some(Named::Run),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_words_decide_what_is_completed() {
        let of = |words: &str| of_position(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        for (words, expected) in [
            ("logs", Some(Named::Task)),
            ("logs --session S", Some(Named::Task)),
            ("logs A", None),
            ("retry A B", Some(Named::Task)),
            ("talk", None),
            ("talk send", Some(Named::Task)),
            ("checkpoint revise", Some(Named::Task)),
            ("agents", Some(Named::Agent)),
            ("status", None),
            ("", None),
        ] {
            assert_eq!(of(words), expected, "{words}");
        }
    }
}
