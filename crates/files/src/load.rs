//! The way in: a folder becomes a session with its graph, or findings that say why not.

use team_executor_core::{Graph, Session};

use crate::code::Code;
use crate::dialect::Dialect;
use crate::finding::{Finding, Findings, Sources};
use crate::folder::Folder;
use crate::reading::Reading;
use crate::{
    board, chain, discovery, foreign, lifecycle, manifest, messages, reported, task_files, tasks_csv, tasks_json, tc,
};

/// Everything that a folder says.
#[derive(Debug)]
pub struct Loaded {
    /// How the folder was read.
    pub dialect: Dialect,
    /// The session and how its tasks hang together, unless there is an error.
    pub session: Option<(Session, Graph)>,
    /// What is wrong or odd, in the order in which it was checked.
    pub findings: Findings,
    /// The texts that findings point into, and no others: they are as large as the session.
    pub sources: Sources,
}

/// Reads and judges a folder of that name. Nothing on disk changes.
pub fn load(folder: &dyn Folder, name: &str, dialect: Option<Dialect>) -> Loaded {
    read(folder, name, dialect, Beside::All)
}

/// The same without the results that files beside the tasks report.
pub fn load_ignoring_results(folder: &dyn Folder, name: &str, dialect: Option<Dialect>) -> Loaded {
    read(folder, name, dialect, Beside::AllButResults)
}

/// The same for callers that need only the tasks, not the results beside them, which may be one file for each
/// task.
pub fn load_tasks(folder: &dyn Folder, name: &str, dialect: Option<Dialect>) -> Loaded {
    read(folder, name, dialect, Beside::Nothing)
}

/// Which files are read beside those of the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    All,
    AllButResults,
    Nothing,
}

fn read(folder: &dyn Folder, name: &str, dialect: Option<Dialect>, beside: Beside) -> Loaded {
    let mut reading = Reading::new(folder, name);
    let detected = dialect.or_else(|| Dialect::detect(folder));
    if dialect.is_none()
        && matches!(detected, None | Some(Dialect::Tc))
        && let Some(finding) = foreign::refusal(&mut reading)
    {
        reading.findings.push(finding);
        return Loaded { dialect: Dialect::Tc, session: None, findings: reading.findings, sources: reading.sources };
    }
    let Some(dialect) = detected else {
        let message = "Invalid session: team-session.json missing";
        let finding = Finding::error(Code::NoSession, message)
            .help("the folder holds none of team-session.json, task-analysis.json, session.json, tasks.json, tasks.csv, tasks/*.json")
            .help("list the sessions below .workflow/: team-executor sessions");
        reading.findings.push(finding);
        return Loaded { dialect: Dialect::Tc, session: None, findings: reading.findings, sources: reading.sources };
    };
    let draft = match dialect {
        Dialect::Tc => tc::read(&mut reading),
        Dialect::Tls => lifecycle::read(&mut reading),
        Dialect::TasksJson => tasks_json::read(&mut reading),
        Dialect::TasksCsv => tasks_csv::read(&mut reading),
        Dialect::TaskFiles => task_files::read(&mut reading),
        Dialect::Chain => chain::read(&mut reading),
    };
    if let Some(draft) = draft.as_ref().filter(|_| beside != Beside::Nothing) {
        discovery::check_all(&mut reading, &draft.tasks.tasks, dialect == Dialect::TasksJson);
        board::read(&mut reading);
        messages::read(&mut reading);
        let manifests = manifest::read_all(&mut reading);
        let roles = draft.session.as_ref().filter(|_| dialect == Dialect::Tc).map(|session| &session.roles);
        manifest::check(&manifests, roles.map(|roles| roles.iter().map(|role| &role.name)), &mut reading.findings);
    }
    let mut reported = Vec::new();
    if let (Some(draft), Beside::All, Dialect::TasksCsv | Dialect::TasksJson) = (&draft, beside, dialect) {
        reported = reported::read(&mut reading, &draft.tasks.tasks);
    }
    let Reading { mut findings, mut sources, .. } = reading;
    let mut session = None;
    if let Some(draft) = draft {
        let graph = draft.tasks.seal(&mut findings);
        if let (Some(mut planned), Some(graph), false) = (draft.session, graph, findings.has_errors()) {
            planned.tasks = draft.tasks.tasks;
            planned.reported = reported;
            session = Some((planned, graph));
        }
    }
    sources.keep_those_of(&findings);
    Loaded { dialect, session, findings, sources }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::MemoryFolder;

    #[test]
    fn load_tasks_reads_no_side_files() {
        let text = r#"{"session_id":"s","skill":"s","pipeline":"p","requirement":"r","created_at":"2026-01-01T00:00:00Z",
            "tasks":{"A":{"title":"t","description":"d","role":"r","deps":[],"wave":1,"status":"completed","findings":"f"}}}"#;
        let folder = MemoryFolder::default().with("tasks.json", text).with(messages::FILE, "no line");
        let said = |loaded: &Loaded| loaded.findings.iter().count();
        let (whole, tasks) = (load(&folder, "s", None), load_tasks(&folder, "s", None));
        assert_eq!((said(&whole), said(&tasks)), (2, 0), "{:?}", whole.findings);
        assert_eq!(whole.session.map(|(session, _)| session), tasks.session.map(|(session, _)| session));
    }

    #[test]
    fn a_text_is_kept_only_if_something_points_into_it() {
        let columns = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error";
        let is_kept = |deps: &str| {
            let text = format!("{columns}\nA,t,d,{deps},,csv-wave,r,1,pending,,\n");
            let loaded = load(&MemoryFolder::default().with("tasks.csv", text), "s", None);
            loaded.sources.get("tasks.csv").is_some()
        };
        assert_eq!((is_kept(""), is_kept("B")), (false, true));
    }
}
