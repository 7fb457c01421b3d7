//! `config`: the effective config, and where each setting comes from. Only looks.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use team_executor_app::App;
use team_executor_app::config::{Effective, Entry, File, Origin};
use unicode_width::UnicodeWidthStr;

use super::run::warn;
use crate::args::{Format, ShowConfig};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Reads the files and shows what they come to together with the command line.
pub(crate) fn run(
    app: &App,
    session: Option<&Path>,
    options: &ShowConfig,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let config = app.config(session, &(&options.settings).into())?;
    match options.format {
        Format::Text => {
            text(&config, printer.out())?;
            config.unused.iter().try_for_each(|message| warn(message, options.format, printer))?;
        }
        Format::Json => printer.json(&config.json())?,
    }
    Ok(Exit::Fine)
}

fn text(config: &Effective, out: &mut impl Write) -> Result<(), Failure> {
    let entries = &config.entries;
    for File { owner, path, found } in &config.files {
        let note = if *found { "" } else { " (not there)" };
        writeln!(out, "{:9}{}{note}", format!("{owner}:"), escape::line(path))?;
    }
    writeln!(out)?;
    let value = |entry: &Entry| match &entry.value {
        Value::Null => "-".to_owned(),
        Value::String(text) => escape::line(text),
        other => escape::line(&other.to_string()),
    };
    let widest = |cells: &mut dyn Iterator<Item = usize>| cells.max().unwrap_or(0);
    let key = widest(&mut entries.iter().map(|entry| entry.key.width()));
    let second = widest(&mut entries.iter().map(|entry| value(entry).width().min(40)));
    for entry in entries {
        let (key, value) = (escape::pad(&escape::line(&entry.key), key), escape::pad(&value(entry), second));
        writeln!(out, "{key}  {value}  {}", whence(&entry.from))?;
    }
    Ok(())
}

/// Where a setting comes from, for people.
fn whence(from: &Origin) -> String {
    match from {
        Origin::BuiltIn => "built in".to_owned(),
        Origin::Session => "the session".to_owned(),
        Origin::Flag(name) => (*name).to_owned(),
        Origin::Run(name) => format!("{name} of the run's start"),
        Origin::User(spot) | Origin::Project(spot) => format!("{}:{}", escape::line(&spot.file), spot.line),
    }
}
