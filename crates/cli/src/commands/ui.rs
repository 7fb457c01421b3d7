//! `ui`: the page of a project, in a browser on this machine.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;
use team_executor_app::App;
use team_executor_web::{Options, Page};

use crate::args::{Format, Ui};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Where the page is, for programs.
#[derive(Serialize)]
struct JsonPage<'a> {
    version: u32,
    address: &'a str,
    /// Another start serves it.
    already: bool,
    read_only: bool,
}

/// Serves the page until it is ended, or says where it is served already.
pub(crate) fn run(app: &App, session: Option<&Path>, options: &Ui, printer: &mut Printer) -> Result<Exit, Failure> {
    let Ui { run, port, no_open, read_only, beside, format } = options;
    let (port, read_only, run) = (*port, *read_only, run.clone());
    match Page::open(app, &Options { port, read_only, session: session.map(Path::to_owned), run })? {
        Page::There { address } => {
            match format {
                Format::Json => printer.json(&JsonPage { version: 1, address: &address, already: true, read_only })?,
                Format::Text => writeln!(printer.out(), "The page is served already: {address}")?,
            }
            Ok(Exit::Fine)
        }
        Page::New(page) => {
            let address = page.address();
            match format {
                Format::Json => printer.json(&JsonPage { version: 1, address, already: false, read_only })?,
                Format::Text => writeln!(printer.out(), "The page: {address}")?,
            }
            printer.flush()?;
            let is_open = !no_open && page.opener().is_some_and(|file| app.browse(file));
            let told = if is_open { "It opens in your browser" } else { "Open it in a browser on this machine" };
            if *format == Format::Text {
                printer.tell(format!("{told}. Ctrl-C ends the page; runs go on"))?;
            }
            if *beside {
                page.serve_beside(std::io::stdin())?;
            } else {
                page.serve()?;
            }
            Ok(Exit::Fine)
        }
    }
}
