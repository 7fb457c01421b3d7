//! What happens when all tasks of a session are completed: asked, or as the user or the session says.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use team_executor_app::{App, Error, Report};
use team_executor_core::{CompletionAction, SessionStatus};

use super::run::ending;
use super::{archive, export};
use crate::args::{Format, OnComplete};
use crate::escape;
use crate::failure::Failure;
use crate::printer::{self, Printer};

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The user is asked.
    Ask,
    /// The session is completed, and its run stays where it is.
    Leave,
    /// The session is paused for more work, and its run stays where it is.
    Keep,
    /// The session is completed, and its run is put away.
    Archive,
}

/// The user's choice.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Archive,
    Keep,
    Export(PathBuf),
    View,
}

impl Action {
    /// What the flag says, else the session. Who said yes to everything is not asked, and nothing is moved then.
    pub(crate) const fn choose(flag: Option<OnComplete>, session: CompletionAction, yes: bool, terminal: bool) -> Self {
        match (flag, session) {
            (Some(OnComplete::Leave), _) => Self::Leave,
            (Some(OnComplete::AutoArchive), _) | (None, CompletionAction::AutoArchive) => Self::Archive,
            (Some(OnComplete::AutoKeep), _) | (None, CompletionAction::AutoKeep) => Self::Keep,
            (Some(OnComplete::Interactive), _) | (None, CompletionAction::Interactive) if yes => Self::Leave,
            (Some(OnComplete::Interactive), _) | (None, CompletionAction::Interactive) if terminal => Self::Ask,
            (Some(OnComplete::Interactive), _) | (None, CompletionAction::Interactive) => Self::Keep,
        }
    }

    /// What the session becomes with its last task. What is decided afterwards leaves it active until then.
    pub(crate) const fn at_end(self) -> SessionStatus {
        match self {
            Self::Ask | Self::Archive => SessionStatus::Active,
            Self::Leave => SessionStatus::Completed,
            Self::Keep => SessionStatus::Paused,
        }
    }
}

/// Carries it out for a session whose tasks are all completed. Whatever fails, the session is kept, with a warning. Says
/// whether it is kept for more work.
pub(crate) fn carry_out(
    app: &App,
    action: Action,
    report: &Report,
    input: &mut impl BufRead,
    format: Format,
    printer: &mut Printer,
) -> Result<bool, Failure> {
    let session = report.session.as_path();
    let choice = loop {
        break match action {
            Action::Leave => return Ok(false),
            Action::Keep => return Ok(true),
            Action::Archive => Choice::Archive,
            Action::Ask => {
                printer.flush()?;
                match ask(app.variable("HOME"), input, printer.err())? {
                    Choice::View => {
                        ending::results(report, printer)?;
                        continue;
                    }
                    choice => choice,
                }
            }
        };
    };
    let failure = match choice {
        Choice::Keep => None,
        choice => match put_away(app, &choice, session, &mut voice(format, printer))? {
            Ok(()) => return Ok(false),
            Err(failure) => Some(failure),
        },
    };
    if let Some(failure) = failure {
        writeln!(printer.err(), "warning: {}; the session is kept active", escape::line(&failure.to_string()))?;
    }
    if let Err(failure) = app.keep(session) {
        writeln!(printer.err(), "warning: the session is not paused: {}", escape::line(&failure.to_string()))?;
    }
    Ok(true)
}

/// Where people hear of it: beside the events for programs.
pub(crate) fn voice(format: Format, printer: &mut Printer) -> Box<dyn Write + '_> {
    match format {
        Format::Text => Box::new(printer.out()),
        Format::Json => Box::new(printer.err()),
    }
}

fn put_away(app: &App, choice: &Choice, session: &Path, out: &mut impl Write) -> Result<Result<(), Error>, Failure> {
    if let Choice::Export(to) = choice {
        match app.export(Some(session), None, to) {
            Ok(exported) => export::tell(&exported, out)?,
            Err(failure) => return Ok(Err(failure)),
        }
    }
    match app.complete(session) {
        Ok(done) => {
            for one in &done.archived {
                archive::tell(one, out)?;
            }
            Ok(Ok(()))
        }
        Err(failure) => Ok(Err(failure)),
    }
}

/// Asks what to do. Who says nothing keeps the session.
fn ask(home: Option<&str>, input: &mut impl BufRead, out: &mut impl Write) -> std::io::Result<Choice> {
    writeln!(
        out,
        "Team pipeline complete. What would you like to do?\n  \
         1  Archive & Clean (recommended): put the run away, the session is completed\n  \
         2  Keep Active: keep the session for more work\n  \
         3  Export Results: copy what was delivered to a folder, then archive\n  \
         4  View results"
    )?;
    loop {
        let Some(answer) = answer("Your choice [1]: ", input, out)? else { return Ok(Choice::Keep) };
        match answer.as_str() {
            "" | "1" => return Ok(Choice::Archive),
            "2" => return Ok(Choice::Keep),
            "3" => {
                let to = answer_to("Export to which folder? ", input, out)?;
                return Ok(to.map_or(Choice::Keep, |to| Choice::Export(at_home(&to, home))));
            }
            "4" => return Ok(Choice::View),
            _ => writeln!(out, "1, 2, 3 or 4, please")?,
        }
    }
}

/// A line; nothing at the end of the input.
fn answer(question: &str, input: &mut impl BufRead, out: &mut impl Write) -> std::io::Result<Option<String>> {
    write!(out, "{question}")?;
    out.flush()?;
    Ok(printer::typed(input)?.map(|line| line.trim().to_owned()))
}

/// A line with something in it.
fn answer_to(question: &str, input: &mut impl BufRead, out: &mut impl Write) -> std::io::Result<Option<String>> {
    Ok(answer(question, input, out)?.filter(|answer| !answer.is_empty()))
}

/// A path with the user's home where a shell would put it: no shell reads what is typed here.
fn at_home(path: &str, home: Option<&str>) -> PathBuf {
    let below = path.strip_prefix('~').filter(|below| below.is_empty() || below.starts_with('/'));
    match (below, home.filter(|home| !home.is_empty())) {
        (Some(below), Some(home)) => Path::new(home).join(below.trim_start_matches('/')),
        _ => path.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: E-06
    #[test]
    fn flag_wins_over_session_and_no_terminal_means_no_question() {
        use CompletionAction::{AutoArchive, AutoKeep, Interactive};
        let of = |flag, session, yes, terminal| Action::choose(flag, session, yes, terminal);
        assert_eq!(of(None, Interactive, false, true), Action::Ask);
        assert_eq!(of(None, Interactive, false, false), Action::Keep);
        assert_eq!(of(None, Interactive, true, true), Action::Leave);
        assert_eq!(of(None, AutoArchive, false, true), Action::Archive);
        assert_eq!(of(None, AutoKeep, true, false), Action::Keep);
        assert_eq!(of(Some(OnComplete::AutoKeep), AutoArchive, true, true), Action::Keep);
        assert_eq!(of(Some(OnComplete::AutoArchive), AutoKeep, true, true), Action::Archive);
        assert_eq!(of(Some(OnComplete::Interactive), AutoKeep, false, true), Action::Ask);
    }

    #[test]
    fn a_tilde_is_the_home_of_the_user_where_a_shell_would_say_so() {
        let path = |typed| at_home(typed, Some("/home/maria")).display().to_string();
        assert_eq!(path("~/delivery"), "/home/maria/delivery");
        assert_eq!(path("~//delivery"), "/home/maria/delivery");
        assert_eq!(Path::new(&path("~")), Path::new("/home/maria"));
        assert_eq!(["~jo/x", "a/~/x", "out"].map(path), ["~jo/x", "a/~/x", "out"]);
        assert_eq!(at_home("~/x", None), Path::new("~/x"));
        assert_eq!(at_home("~/x", Some("")), Path::new("~/x"));
    }

    /// R: E-06
    #[test]
    fn three_things_are_offered_and_silence_keeps_the_session() {
        let asked = |mut said: &[u8]| {
            let mut out = Vec::new();
            let choice = ask(None, &mut said, &mut out).unwrap();
            (choice, String::from_utf8(out).unwrap())
        };
        let (choice, shown) = asked(b"\n");
        assert_eq!(choice, Choice::Archive);
        for offer in ["Archive & Clean (recommended)", "Keep Active", "Export Results"] {
            assert!(shown.contains(offer), "{shown}");
        }
        assert_eq!(asked(b"").0, Choice::Keep);
        assert_eq!(asked(b"5\nno\n2\n").0, Choice::Keep);
        assert_eq!(asked(b"3\nout dir\n").0, Choice::Export("out dir".into()));
        assert_eq!(asked(b"3\n\n").0, Choice::Keep);
        assert_eq!(asked(b"4\n").0, Choice::View);
        assert_eq!(asked(b"1").0, Choice::Archive);
        assert_eq!(asked(b"\xff\n2\n").0, Choice::Keep, "any bytes can be typed");
    }
}
