//! `completions` and `man`: both come from the definitions in [`crate::args`].

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;
use clap_complete::Shell;
use team_executor_app::App;

use crate::args::{Args, Completions, Man};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// What the program is called in scripts.
const NAME: &str = "team-executor";
/// The word by which scripts ask the program for names.
pub(crate) const CANDIDATES: &str = "complete-names";

/// Prints a completion script.
pub(crate) fn run(options: &Completions, printer: &mut Printer) -> Result<Exit, Failure> {
    // Into memory first: the generator does not survive a reader that goes away.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Args::command(), NAME, &mut script);
    let script = String::from_utf8_lossy(&script);
    write!(printer.out(), "{}", with_names(&script, options.shell))?;
    Ok(Exit::Fine)
}

/// A script that also completes names of sessions, runs, tasks and agents: it asks the program for them.
fn with_names(script: &str, shell: Shell) -> String {
    let more = match shell {
        Shell::Bash => include_str!("completions/names.bash"),
        Shell::Zsh => include_str!("completions/names.zsh"),
        Shell::Fish => include_str!("completions/names.fish"),
        _ => return script.to_owned(),
    };
    let more = more.replace("CANDIDATES", CANDIDATES);
    match shell {
        // The function that the shell calls must be ours, also when it is loaded from a file of that name.
        Shell::Zsh => {
            let end = script.rfind("if [ \"$funcstack[1]\"").unwrap_or(script.len());
            format!("{}{more}", script[..end].replace("_team-executor", "_team-executor_words"))
        }
        _ => format!("{script}\n{more}"),
    }
}

/// Prints what the last of some words can be completed to, a name a line; nothing if it is no name of something that there is.
/// Errors are silent: a message would break the line that the user edits.
pub(crate) fn candidates(app: &App, words: impl Iterator<Item = OsString>) -> ExitCode {
    let mut words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    // Bash takes `=` for a word of its own.
    let is_empty = words.last().is_some_and(|word| word == "=");
    words.retain(|word| word != "=");
    words.extend(is_empty.then(String::new));
    let names = app.completions(&words);
    let mut out = std::io::stdout().lock();
    let _is_gone = names.iter().try_for_each(|name| writeln!(out, "{}", escape::line(name)));
    ExitCode::SUCCESS
}

/// Prints the manual page of one command, or the overview.
pub(crate) fn man(options: &Man, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut root = Args::for_people();
    root.build();
    let mut command = &root;
    for name in &options.command {
        let unknown = || Args::command().error(ErrorKind::InvalidSubcommand, format!("there is no command `{name}`"));
        command = command.find_subcommand(name).ok_or_else(unknown)?;
    }
    clap_mangen::Man::new(without_help(command)).render(printer.out())?;
    Ok(Exit::Fine)
}

/// A command as its page shows it: `help` is left out of what can be typed behind it.
fn without_help(command: &clap::Command) -> clap::Command {
    let hide = |sub: clap::Command| sub.hide(true);
    if command.find_subcommand("help").is_some() {
        command.clone().mut_subcommand("help", hide)
    } else {
        command.clone()
    }
}
