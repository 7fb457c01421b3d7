//! The effective config: every setting in force and where it comes from.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::check::unused;
use super::show::{Entry, entries};
use super::{File, Flags, Origin};
use crate::App;
use crate::error::Error;
use crate::open::Reading;

/// The settings in force.
#[derive(Debug)]
pub struct Effective {
    /// The project's file, then the user's.
    pub files: Vec<File>,
    /// Each setting.
    pub entries: Vec<Entry>,
    /// What is configured and not in force, a line each.
    pub unused: Vec<String>,
}

impl App {
    /// What the files come to together with these flags, for a session or without one.
    pub fn config(&self, session: Option<&Path>, given: &Flags) -> Result<Effective, Error> {
        let config = self.around(session)?.config()?;
        let remembered = session.and_then(|_| self.remembered(session, None));
        let flags = remembered.map_or_else(|| given.clone(), |remembered| remembered.under(given.clone()));
        let mut entries = entries(&config, &flags);
        for entry in &mut entries {
            entry.from.remember_unless(given);
        }
        let opened = session.map(|_| self.open(session, Reading::default())).transpose()?;
        // What is wrong with the session itself is the business of `validate`.
        let read = opened.and_then(|opened| opened.session);
        let unused = read.map(|(session, _)| unused(&config, &session)).unwrap_or_default();
        Ok(Effective { files: config.files, entries, unused })
    }
}

impl Effective {
    /// All of it, for programs.
    pub fn json(&self) -> JsonConfig<'_> {
        let files = self.files.iter().map(|file| JsonFile { owner: file.owner, path: &file.path, found: file.found });
        let settings = self.entries.iter().map(JsonEntry::from_entry).collect();
        JsonConfig { version: 1, files: files.collect(), settings, warnings: &self.unused }
    }
}

/// The settings in force, for programs.
#[derive(Debug, Serialize)]
pub struct JsonConfig<'a> {
    version: u32,
    files: Vec<JsonFile<'a>>,
    settings: Vec<JsonEntry<'a>>,
    warnings: &'a [String],
}

#[derive(Debug, Serialize)]
struct JsonFile<'a> {
    owner: &'a str,
    path: &'a str,
    found: bool,
}

#[derive(Debug, Serialize)]
struct JsonEntry<'a> {
    key: &'a str,
    value: &'a Value,
    source: &'static str,
    flag: Option<&'static str>,
    file: Option<&'a str>,
    line: Option<usize>,
}

impl<'a> JsonEntry<'a> {
    fn from_entry(entry: &'a Entry) -> Self {
        Self {
            key: &entry.key,
            value: &entry.value,
            source: match &entry.from {
                Origin::BuiltIn => "built-in",
                Origin::Session => "session",
                Origin::User(_) => "user",
                Origin::Project(_) => "project",
                Origin::Flag(_) => "flag",
                Origin::Run(_) => "run",
            },
            flag: if let Origin::Flag(name) | Origin::Run(name) = entry.from { Some(name) } else { None },
            file: entry.from.spot().map(|spot| &*spot.file),
            line: entry.from.spot().map(|spot| spot.line),
        }
    }
}
