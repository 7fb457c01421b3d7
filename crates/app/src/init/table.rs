//! What a session is made from: a CSV or JSON file that the readers of tasks understand, or the tasks of another tool.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use team_executor_core::{Session, TaskStatus};
use team_executor_files::import::{self, Imported, Tool};
use team_executor_files::pipeline::from_table::History;
use team_executor_files::{Code, Dialect, Finding, Findings, Folder as _, MemoryFolder, Source, Sources, limits, load};
use team_executor_store::DiskFolder;

use super::Taken;
use crate::App;
use crate::error::Error;
use crate::findings::{self, JsonFinding};

/// Files that tools keep in folders of their own, which users may name instead.
const IN_FOLDERS: [&str; 4] = ["issues.jsonl", "beads.jsonl", "tasks/tasks.json", "tasks.md"];

/// A table that was understood.
#[derive(Debug)]
pub struct Table {
    /// What the file is called, without its ending.
    pub(super) name: String,
    /// What it says.
    pub(super) session: Session,
    /// The tool that it comes from, and what was left there.
    imported: Option<(Tool, Vec<String>)>,
    /// How it was understood.
    pub findings: Findings,
    /// What findings point into.
    pub sources: Sources,
}

impl Table {
    /// How it was understood, for programs.
    pub(super) fn json(&self) -> Vec<JsonFinding<'_>> {
        findings::of_all(&self.findings, &self.sources, "")
    }

    /// A tool knows what is done; a table is a plan.
    pub(super) fn history(&self) -> History {
        if self.imported.is_some() { History::Kept } else { History::Forgotten }
    }

    /// What was taken over from another tool.
    pub(super) fn taken(&self) -> Option<Taken<'_>> {
        let (tool, left) = self.imported.as_ref()?;
        let tasks = &self.session.tasks;
        let done = tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
        Some(Taken { tool: tool.name(), tasks: tasks.len(), done, left })
    }
}

/// Reads a table, or the tasks of another tool. The ending and the text say what it is.
pub(super) fn read(app: &App, path: &Path, tag: Option<&str>) -> Result<Table, Error> {
    let path = match DiskFolder::open(&app.path(path)) {
        Ok(folder) => match IN_FOLDERS.iter().find(|name| folder.has(name)) {
            Some(name) => path.join(name),
            None => return of_tool(import::read_list(&folder, &path.display().to_string()), path),
        },
        Err(_) => PathBuf::from(path),
    };
    let shown = path.display().to_string();
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    if !["csv", "json", "jsonl", "ndjson", "md", "markdown"].contains(&ending.as_str()) {
        let finding = Finding::error(Code::Usage, format!("{shown} is neither a .csv, .json, .jsonl nor a .md file"));
        return Err(finding.help("give it the ending of what it is: init --from tasks.csv").into());
    }
    let bytes = bytes(&app.path(&path)).map_err(|error| {
        let finding = Finding::error(Code::FileUnreadable, format!("{shown} cannot be read: {error}"));
        Error::from(finding.help("check the path: init --from FILE"))
    })?;
    let tool = std::str::from_utf8(&bytes).ok().and_then(|text| Some((Tool::of_file(&ending, text)?, text)));
    match tool {
        Some((tool, text)) => of_tool(import::read(tool, &shown, text, tag), &path),
        None if matches!(ending.as_str(), "csv" | "json") => table(&path, &ending, bytes),
        None => {
            let finding = Finding::error(Code::Corrupt, format!("{shown} is not UTF-8"));
            Err(finding.help("save the file as UTF-8").into())
        }
    }
}

/// The tasks of another tool, unless there is an error.
fn of_tool(imported: Imported, path: &Path) -> Result<Table, Error> {
    let Imported { tool, session, left, findings, sources } = imported;
    match session {
        Some(session) => Ok(Table { name: stem(path), session, imported: Some((tool, left)), findings, sources }),
        None => Err(Error::files(findings, sources)),
    }
}

fn table(path: &Path, ending: &str, bytes: Vec<u8>) -> Result<Table, Error> {
    let (dialect, file) =
        if ending == "csv" { (Dialect::TasksCsv, "tasks.csv") } else { (Dialect::TasksJson, "tasks.json") };
    let loaded = load(&MemoryFolder::default().with(file, bytes), "table", Some(dialect));
    let (findings, sources) = renamed(&loaded.findings, &loaded.sources, file, &path.display().to_string().into());
    match loaded.session {
        Some((session, _)) if !findings.has_errors() => {
            if session.tasks.is_empty() {
                let finding = Finding::error(Code::MissingField, format!("{} has no tasks", path.display()));
                return Err(finding.help("give it a row for each task").into());
            }
            Ok(Table { name: stem(path), session, imported: None, findings, sources })
        }
        _ => Err(Error::files(findings, sources)),
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
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
