//! The commands as `--help` lists them: in groups, each with its way to a session.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::StyledStr;

use super::SESSION;

/// How a command gets its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Needs {
    /// It works on one. Without `--session` the session is inferred.
    #[default]
    Session,
    /// It works on one only if `--session` names it.
    MaybeSession,
    /// It has nothing to do with one: `--session` is an error.
    NoSession,
}

use Needs::{MaybeSession, NoSession, Session};

/// A heading of `--help` with its commands.
pub(crate) type Group = (&'static str, &'static [(&'static str, Needs)]);

/// Every command, once. A new one needs a line here.
pub(crate) const GROUPS: [Group; 7] = [
    ("Run", &[("run", Session), ("resume", Session), ("csv", NoSession)]),
    (
        "Look",
        &[
            ("status", Session),
            ("attach", Session),
            ("ui", MaybeSession),
            ("runs", NoSession),
            ("logs", Session),
            ("events", Session),
            ("artifacts", Session),
            ("changes", Session),
            ("export", Session),
            ("timeline", Session),
            ("report", Session),
            ("sessions", NoSession),
        ],
    ),
    (
        "Steer",
        &[
            ("pause", Session),
            ("stop", Session),
            ("retry", Session),
            ("skip", Session),
            ("cancel", Session),
            ("restart", Session),
            ("limit", Session),
            ("checkpoint", Session),
            ("merge", Session),
            ("talk", Session),
        ],
    ),
    ("Make", &[("init", NoSession), ("validate", Session), ("plan", Session), ("rehearse", Session)]),
    (
        "Agents",
        &[("agents", MaybeSession), ("prompt", Session), ("msg", Session), ("task", Session), ("mcp", NoSession)],
    ),
    ("Machines", &[("host", NoSession), ("hosts", NoSession), ("backend", NoSession)]),
    (
        "Maintain",
        &[
            ("config", MaybeSession),
            ("doctor", MaybeSession),
            ("archive", MaybeSession),
            ("prune", MaybeSession),
            ("schema", NoSession),
            ("completions", NoSession),
            ("man", NoSession),
        ],
    ),
];

/// How the command of this name gets its session.
pub(crate) fn needs(command: &str) -> Needs {
    let mut commands = GROUPS.iter().flat_map(|(_, commands)| *commands);
    commands.find(|(name, _)| *name == command).map_or(Session, |(_, needs)| *needs)
}

/// The program as people see it: commands in groups, and each option only where it means something. What is understood
/// stays the same.
pub(crate) fn for_people(mut root: Command) -> Command {
    let (head, groups) = ("{about-with-newline}\n{usage-heading} {usage}\n\n", listed(&root));
    let template = format!("{head}{groups}{}{{options}}{{after-help}}", heading(&root, "Options"));
    let session = root.get_arguments().find(|option| option.get_id() == SESSION).cloned();
    for (name, _) in GROUPS.iter().flat_map(|(_, commands)| *commands).filter(|(_, needs)| *needs == NoSession) {
        if let Some(session) = session.clone() {
            root = root.mut_subcommand(name, |command| command.arg(session.hide(true)));
        }
    }
    let root = root.mut_args(|option| match option.is_global_set() {
        true => option,
        false => option.hide(true),
    });
    root.help_template(StyledStr::from(template))
}

/// The groups, as lines.
fn listed(root: &Command) -> String {
    let literal = root.get_styles().get_literal();
    let mut text = String::new();
    for (name, commands) in GROUPS {
        text += &heading(root, name);
        for (name, _) in commands {
            let about = root.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            _ = writeln!(text, "  {literal}{name:<12}{literal:#}{}", about.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

fn heading(root: &Command, name: &str) -> String {
    let style = root.get_styles().get_header();
    format!("{style}{name}:{style:#}\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory as _;

    use super::{GROUPS, for_people};
    use crate::args::Args;

    /// Words that are not in the glossary.
    const JARGON: [&str; 14] = [
        "fast_advance",
        "csv-wave",
        "put right",
        "boot id",
        "tick",
        "whoever",
        "nobody",
        "somebody",
        "it is told",
        "is told",
        "what is",
        "what to be",
        "by itself",
        "judgement",
    ];

    /// Every command and verb with its path.
    fn commands() -> Vec<(String, clap::Command)> {
        let mut root = for_people(Args::command());
        root.build();
        let mut found = Vec::new();
        let mut open = vec![(String::new(), root)];
        while let Some((path, command)) = open.pop() {
            let deeper = command.get_subcommands().filter(|deeper| deeper.get_name() != "help");
            open.extend(deeper.map(|deeper| (format!("{path} {}", deeper.get_name()), deeper.clone())));
            found.push((path, command));
        }
        found
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut times: BTreeMap<_, _> =
            Args::command().get_subcommands().map(|command| (command.get_name().to_owned(), 0)).collect();
        for (name, _) in GROUPS.iter().flat_map(|(_, commands)| *commands) {
            *times.get_mut(*name).unwrap_or_else(|| panic!("`{name}` is in a group and is no command")) += 1;
        }
        assert!(times.values().all(|times| *times == 1), "{times:?}");
    }

    #[test]
    fn first_line_of_every_help_is_a_short_phrase() {
        for (path, command) in commands() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let first = about.split_whitespace().next().unwrap_or_default().to_owned();
            assert!((4..=60).contains(&about.chars().count()), "`{path}`: {about}");
            assert!(first.starts_with(char::is_uppercase) && !about.ends_with('.'), "`{path}`: {about}");
            let is_imperative = !first.ends_with('s') && !["The", "A", "An", "How", "Which"].contains(&&*first);
            assert!(is_imperative, "`{path}`: {about}");
        }
    }

    #[test]
    fn every_help_has_examples_and_no_jargon() {
        for (path, mut command) in commands() {
            let has_verbs = command.get_subcommands().any(|deeper| deeper.get_name() != "help");
            let text = command.render_long_help().to_string().replace(".csv-wave/", "");
            let is_deep = path.matches(' ').count() > 1;
            let is_explained = command.get_after_help().is_some_and(|help| help.to_string().starts_with("Examples:\n"));
            assert!(is_explained || is_deep && !has_verbs && !is_of_bus(&path), "`{path}` has no examples");
            for word in JARGON {
                assert!(!text.to_lowercase().contains(word), "`{path}` says `{word}`:\n{text}");
            }
        }
    }

    /// Verbs of the commands for workers explain themselves; others are explained by their command.
    fn is_of_bus(path: &str) -> bool {
        path.starts_with(" msg ") || path.starts_with(" task ")
    }

    #[test]
    fn help_of_every_option_is_a_phrase() {
        for (path, command) in commands() {
            for option in command.get_arguments() {
                let help = option.get_help().map(ToString::to_string).unwrap_or_default();
                let id = option.get_id();
                assert!(!help.is_empty() && !help.ends_with('.'), "`{path}`, {id}: {help}");
                assert!(
                    !["How ", "What is", "Which "].iter().any(|word| help.starts_with(word)),
                    "`{path}`, {id}: {help}"
                );
            }
        }
    }
}
