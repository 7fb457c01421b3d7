//! `config`: the settings that count, and where each comes from. Only looks.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::report;
use super::run::warn;
use crate::args::{Format, Reading, ShowConfig};
use crate::config::check::unused;
use crate::config::files::File;
use crate::config::show::{Entry, entries};
use crate::config::{Config, Origin};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::place::Place;
use crate::printer::Printer;

/// Reads the files and shows what they come to together with the command line.
pub(crate) fn run(session: Option<&Path>, options: &ShowConfig, printer: &mut Printer) -> Result<Exit, Failure> {
    let config = Place::of(session)?.config()?;
    let entries = entries(&config, &options.settings);
    let opened = session
        .map(|_| open::session(session, &Reading { dialect: None, strict: false, ignore_results: false }))
        .transpose()?;
    // What is wrong with the session itself is the business of `validate`.
    let read = opened.and_then(|opened| opened.session);
    let unused = read.map(|(session, _)| unused(&config, &session)).unwrap_or_default();
    match options.format {
        Format::Text => {
            text(&config, &entries, printer.out())?;
            unused.iter().try_for_each(|message| warn(message, options.format, printer))?;
        }
        Format::Json => json(&config, &entries, &unused, printer.out())?,
    }
    Ok(Exit::Fine)
}

fn text(config: &Config, entries: &[Entry], out: &mut impl Write) -> Result<(), Failure> {
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
        Origin::User(spot) | Origin::Project(spot) => format!("{}:{}", escape::line(&spot.file), spot.line),
    }
}

#[derive(Serialize)]
struct JsonConfig<'a> {
    version: u32,
    files: Vec<JsonFile<'a>>,
    settings: Vec<JsonEntry<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct JsonFile<'a> {
    owner: &'a str,
    path: &'a str,
    found: bool,
}

#[derive(Serialize)]
struct JsonEntry<'a> {
    key: &'a str,
    value: &'a Value,
    source: &'static str,
    flag: Option<&'static str>,
    file: Option<&'a str>,
    line: Option<usize>,
}

impl<'a> JsonEntry<'a> {
    fn of(entry: &'a Entry) -> Self {
        Self {
            key: &entry.key,
            value: &entry.value,
            source: match &entry.from {
                Origin::BuiltIn => "built-in",
                Origin::Session => "session",
                Origin::User(_) => "user",
                Origin::Project(_) => "project",
                Origin::Flag(_) => "flag",
            },
            flag: if let Origin::Flag(name) = entry.from { Some(name) } else { None },
            file: entry.from.spot().map(|spot| &*spot.file),
            line: entry.from.spot().map(|spot| spot.line),
        }
    }
}

fn json(config: &Config, entries: &[Entry], warnings: &[String], out: &mut impl Write) -> Result<(), Failure> {
    let value = JsonConfig {
        version: 1,
        files: config
            .files
            .iter()
            .map(|file| JsonFile { owner: file.owner, path: &file.path, found: file.found })
            .collect(),
        settings: entries.iter().map(JsonEntry::of).collect(),
        warnings,
    };
    report::print(&value, out)
}
