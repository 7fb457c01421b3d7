//! Arguments that are not understood, in the words of all other errors: what is wrong, and a command to type.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use team_executor_files::{Code, Finding};

use super::groups::{Needs, needs};
use crate::escape;

/// The finding for arguments that were not understood.
pub(crate) fn finding(error: &clap::Error) -> Finding {
    let command = command(error);
    match message(error, &command) {
        Some(message) => {
            let mut helps = suggestions(error, &command);
            helps.push(format!("see all options: team-executor{} --help", prefixed(&command)));
            helps.into_iter().fold(Finding::error(Code::Usage, message), Finding::help)
        }
        None => as_it_is(error),
    }
}

/// The error with the command that it is about: clap names none for wrong values.
pub(super) fn placed(mut error: clap::Error, root: &clap::Command, args: &[OsString]) -> clap::Error {
    if error.get(ContextKind::Usage).is_none() {
        let (mut known, mut usage) = (root, String::from("team-executor"));
        for word in args.iter().skip(1).filter_map(|arg| arg.to_str()) {
            if let Some(deeper) = known.find_subcommand(word) {
                (known, usage) = (deeper, format!("{usage} {}", deeper.get_name()));
            }
        }
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage.into()));
    }
    error
}

/// What is wrong. Nothing for errors that have their words already.
fn message(error: &clap::Error, command: &str) -> Option<String> {
    let arg = texts(error, ContextKind::InvalidArg);
    let first = arg.first()?;
    Some(match error.kind() {
        ErrorKind::UnknownArgument if first.starts_with('-') => format!("unknown option `{first}`"),
        ErrorKind::UnknownArgument if command.is_empty() => format!("unexpected argument `{first}`"),
        ErrorKind::UnknownArgument => format!("`{command}` takes no argument `{first}`"),
        ErrorKind::MissingRequiredArgument => format!("`{command}` needs {}", arg.join(", ")),
        ErrorKind::ArgumentConflict => {
            let prior = texts(error, ContextKind::PriorArg);
            let prior = prior.iter().map(|prior| format!("`{}`", name(prior))).collect::<Vec<_>>().join(", ");
            match prior == format!("`{}`", name(first)) {
                true => format!("`{}` can be given only once", name(first)),
                false => format!("`{}` cannot be used with {prior}", name(first)),
            }
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let value = texts(error, ContextKind::InvalidValue).concat();
            match value.is_empty() {
                true => format!("`{}` needs a value{}", name(first), expected(error)),
                false => format!("invalid value `{value}` for `{}`{}", name(first), expected(error)),
            }
        }
        _ => return None,
    })
}

/// What the user may have meant.
fn suggestions(error: &clap::Error, command: &str) -> Vec<String> {
    let options = [ContextKind::SuggestedArg, ContextKind::SuggestedValue].map(|kind| texts(error, kind)).concat();
    let mut helps: Vec<_> = options.iter().map(|option| format!("did you mean `{}`?", name(option))).collect();
    let given = texts(error, ContextKind::InvalidArg).concat();
    let is_name = error.kind() == ErrorKind::UnknownArgument && !given.starts_with('-') && !command.is_empty();
    let verb = command.split(' ').next().unwrap_or_default();
    if is_name && needs(verb) == Needs::Session {
        helps.push(format!("name a session with --session: team-executor {command} {}", escape::session(&given)));
    }
    helps
}

/// What a value should be: `: expected text or json`.
fn expected(error: &clap::Error) -> String {
    let known = texts(error, ContextKind::ValidValue);
    let words = match (known.split_last(), error.source().map(ToString::to_string)) {
        (Some((last, [])), _) => format!("expected {last}"),
        (Some((last, more)), _) => format!("expected {} or {last}", more.join(", ")),
        (None, Some(why)) if why.starts_with("invalid digit") => "expected a whole number".to_owned(),
        (None, Some(why)) => match why.split_once(" is not in ").and_then(|(_, range)| range.split_once("..")) {
            Some((least, _)) => format!("expected a whole number of at least {least}"),
            None => why,
        },
        (None, None) => return String::new(),
    };
    format!(": {words}")
}

/// The finding of an unknown command, or the error's own words: the first line says why, each other one helps.
fn as_it_is(error: &clap::Error) -> Finding {
    if let Some(unknown) = texts(error, ContextKind::InvalidSubcommand).first() {
        let command = prefixed(&command(error));
        let near = texts(error, ContextKind::SuggestedSubcommand);
        // The nearest is the last.
        let near = near.last().map(|near| format!("did you mean `{near}`?"));
        let all = [format!("see all commands: team-executor{command} --help")];
        let finding = Finding::error(Code::Usage, format!("unknown command `{unknown}`"));
        return near.into_iter().chain(all).fold(finding, Finding::help);
    }
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or_default();
    let finding = Finding::error(Code::Usage, message.strip_prefix("error: ").unwrap_or(message));
    let mut is_general = false;
    let helps = lines.filter(|line| {
        let is_usage = line.starts_with("Usage: ") || line.starts_with("For more information");
        is_general |= is_usage;
        !is_usage
    });
    let helps: Vec<_> = helps.map(|line| line.strip_prefix("tip: ").unwrap_or(line).to_owned()).collect();
    let general = is_general.then(|| format!("see all commands: team-executor{} --help", prefixed(&command(error))));
    helps.into_iter().chain(general).fold(finding, Finding::help)
}

/// The command and its verb, as the usage of the error names them: `talk send`.
fn command(error: &clap::Error) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let words = usage.split_whitespace().skip_while(|word| *word != "team-executor").skip(1);
    words.take_while(|word| word.starts_with(|c: char| c.is_ascii_lowercase())).collect::<Vec<_>>().join(" ")
}

fn prefixed(command: &str) -> String {
    if command.is_empty() { String::new() } else { format!(" {command}") }
}

/// An option without its value: `--agent <NAME>` is `--agent`.
fn name(option: &str) -> &str {
    option.split([' ', '=']).next().filter(|name| name.starts_with('-')).unwrap_or(option)
}

fn texts(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::finding;
    use crate::args::Args;

    /// The error of a command line, and its help.
    fn mistake(line: &str) -> String {
        let words = line.split(' ').map(std::ffi::OsString::from);
        let finding = finding(&Args::read(words).expect_err("an error"));
        [&[finding.message][..], &finding.help].concat().join("\n")
    }

    #[test]
    fn mistakes_in_arguments_name_a_command_to_type() {
        let shown = [
            "team-executor statsu",
            "team-executor status --sesion=S",
            "team-executor run login",
            "team-executor retry",
            "team-executor run -c many",
            "team-executor run -c 0",
            "team-executor run --budget-usd ten",
            "team-executor plan --format xml",
            "team-executor run --agent claude --agent-command ./work.sh",
            "team-executor run --agent claude --agent codex",
            "team-executor talk sned A hello",
            "team-executor init --session=S Goal",
            "team-executor run --agent",
        ]
        .map(|line| format!("$ {line}\n{}\n", mistake(line)));
        insta::assert_snapshot!(shown.join("\n"), @r"
        $ team-executor statsu
        unknown command `statsu`
        did you mean `status`?
        see all commands: team-executor --help

        $ team-executor status --sesion=S
        unknown option `--sesion`
        did you mean `--session`?
        see all options: team-executor status --help

        $ team-executor run login
        `run` takes no argument `login`
        name a session with --session: team-executor run --session=login
        see all options: team-executor run --help

        $ team-executor retry
        `retry` needs <TASK>...
        see all options: team-executor retry --help

        $ team-executor run -c many
        invalid value `many` for `--concurrency`: expected a whole number
        see all options: team-executor run --help

        $ team-executor run -c 0
        invalid value `0` for `--concurrency`: expected a whole number of at least 1
        see all options: team-executor run --help

        $ team-executor run --budget-usd ten
        invalid value `ten` for `--budget-usd`: expected dollars, as 20 or 2.50
        see all options: team-executor run --help

        $ team-executor plan --format xml
        invalid value `xml` for `--format`: expected text, json, mermaid, dot or svg
        see all options: team-executor plan --help

        $ team-executor run --agent claude --agent-command ./work.sh
        `--agent` cannot be used with `--agent-command`
        see all options: team-executor run --help

        $ team-executor run --agent claude --agent codex
        `--agent` can be given only once
        see all options: team-executor run --help

        $ team-executor talk sned A hello
        unknown command `sned`
        did you mean `send`?
        see all commands: team-executor talk --help

        $ team-executor init --session=S Goal
        `init` takes no --session
        name the folder of the new session with --dir PATH

        $ team-executor run --agent
        `--agent` needs a value
        see all options: team-executor run --help
        ");
    }
}
