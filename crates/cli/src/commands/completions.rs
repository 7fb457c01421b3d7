//! `completions` and `man`: both come from the definitions in [`crate::args`].

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Args, Completions};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Prints a completion script.
pub(crate) fn run(options: &Completions, printer: &mut Printer) -> Result<Exit, Failure> {
    // Into memory first: the generator does not survive a reader that goes away.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Args::command(), "team-executor", &mut script);
    printer.out().write_all(&script)?;
    Ok(Exit::Fine)
}

/// Prints the manual page, with a section for each command.
pub(crate) fn man(printer: &mut Printer) -> Result<Exit, Failure> {
    clap_mangen::Man::new(Args::for_people()).render(printer.out())?;
    let mut command = Args::for_people();
    command.build();
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let man = clap_mangen::Man::new(sub.clone());
        man.render_name_section(printer.out())?;
        man.render_synopsis_section(printer.out())?;
        man.render_options_section(printer.out())?;
        man.render_extra_section(printer.out())?;
    }
    Ok(Exit::Fine)
}
