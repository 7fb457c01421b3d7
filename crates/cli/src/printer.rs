//! The one way to the terminal: stdout for what was asked for, stderr for everything else.

use std::io::{BufWriter, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use team_executor_files::Sources;

use crate::diagnostics;
use crate::exit::Exit;
use crate::failure::Failure;

/// Standard output and standard error, with colours only where they are wanted.
pub(crate) struct Printer {
    out: BufWriter<AutoStream<std::io::Stdout>>,
    err: AutoStream<std::io::Stderr>,
    width: usize,
}

impl Printer {
    /// Looks once at the terminal and at `NO_COLOR`, `CLICOLOR_FORCE` and `COLUMNS`.
    pub(crate) fn new() -> Self {
        let out = AutoStream::new(std::io::stdout(), choice(&std::io::stdout()));
        let err = AutoStream::new(std::io::stderr(), choice(&std::io::stderr()));
        Self { out: BufWriter::with_capacity(1 << 16, out), err, width: width() }
    }

    /// How many columns there are.
    pub(crate) const fn width(&self) -> usize {
        self.width
    }

    /// Where results go.
    pub(crate) fn out(&mut self) -> &mut impl Write {
        &mut self.out
    }

    /// Where everything else goes.
    pub(crate) fn err(&mut self) -> &mut impl Write {
        &mut self.err
    }

    /// Writes what is left.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    /// Says why the program ends early.
    pub(crate) fn fail(&mut self, failure: &Failure) -> Exit {
        let said = match failure {
            Failure::Usage(finding) => {
                let text = diagnostics::finding(finding, &Sources::default(), "", self.width);
                write!(self.err, "{text}")
            }
            Failure::Config(wrong) => {
                let (findings, sources) = &**wrong;
                write!(self.err, "{}", diagnostics::all(findings, sources, "", self.width))
            }
            Failure::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Failure::Output(error) => writeln!(self.err, "error: failed to write the output: {error}"),
        };
        // If not even this can be written, the exit code has to say it.
        said.map_or(Exit::Io, |()| failure.exit())
    }
}

fn choice(stream: &impl IsTerminal) -> ColorChoice {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        ColorChoice::Never
    } else if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        ColorChoice::Always
    } else if stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb") {
        ColorChoice::Auto
    } else {
        ColorChoice::Never
    }
}

fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.or_else(terminal).unwrap_or(80).clamp(40, 160)
}
