//! The table that a session is made from: any CSV or JSON file that the readers of tasks understand.

use std::path::Path;
use std::sync::Arc;

use team_executor_core::Session;
use team_executor_files::{Code, Dialect, Finding, Findings, Folder as _, MemoryFolder, Source, Sources, limits, load};
use team_executor_store::DiskFolder;

use crate::commands::report::{self, JsonFinding};
use crate::diagnostics;
use crate::failure::Failure;

/// A table that was understood.
pub(super) struct Table {
    /// What the file is called, without its ending.
    pub(super) name: String,
    /// What it says.
    pub(super) session: Session,
    findings: Findings,
    sources: Sources,
}

impl Table {
    /// How it was understood, for people.
    pub(super) fn warnings(&self, width: usize) -> String {
        diagnostics::all(&self.findings, &self.sources, "", width)
    }

    /// How it was understood, for programs.
    pub(super) fn json(&self) -> Vec<JsonFinding<'_>> {
        report::of_all(&self.findings, &self.sources, "")
    }
}

/// Reads a table. Its ending says what it is.
pub(super) fn read(path: &Path) -> Result<Table, Failure> {
    let shown = path.display().to_string();
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let (dialect, file) = match ending.as_deref() {
        Some("csv") => (Dialect::TasksCsv, "tasks.csv"),
        Some("json") => (Dialect::TasksJson, "tasks.json"),
        _ => {
            let finding = Finding::error(Code::Usage, format!("{shown} is neither a .csv nor a .json file"));
            return Err(finding.help("give it the ending of what it is: init --from tasks.csv").into());
        }
    };
    let bytes = bytes(path).map_err(|error| {
        let finding = Finding::error(Code::FileUnreadable, format!("{shown} cannot be read: {error}"));
        Failure::from(finding.help("check the path: init --from FILE"))
    })?;
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let loaded = load(&MemoryFolder::default().with(file, bytes), "table", Some(dialect));
    let (findings, sources) = renamed(&loaded.findings, &loaded.sources, file, &shown.into());
    match loaded.session {
        Some((session, _)) if !findings.has_errors() => {
            if session.tasks.is_empty() {
                let finding = Finding::error(Code::MissingField, format!("{} has no tasks", path.display()));
                return Err(finding.help("give it a row for each task").into());
            }
            Ok(Table { name, session, findings, sources })
        }
        _ => Err(Failure::Config(Box::new((findings, sources)))),
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("it has no name")?;
    let folder = DiskFolder::open(parent).map_err(|_| "its folder cannot be opened".to_owned())?;
    folder.read(name, limits::CSV_BYTES).map_err(|error| error.to_string())
}

/// Findings about a file of the session, as findings about the file that the user named. What only a session of its own
/// must have is none: the new one gets it.
fn renamed(findings: &Findings, sources: &Sources, from: &str, to: &Arc<str>) -> (Findings, Sources) {
    let mut renamed = Findings::default();
    for finding in findings.iter().filter(|finding| finding.code != Code::DefaultUsed) {
        let mut finding = finding.clone();
        for place in finding.place.iter_mut().chain(&mut finding.related).filter(|place| &*place.file == from) {
            place.file = to.clone();
        }
        renamed.push(finding);
    }
    let mut texts = Sources::default();
    if let Some(source) = sources.get(from) {
        texts.insert(to.clone(), Source::new(source.text().to_owned()));
    }
    (renamed, texts)
}
