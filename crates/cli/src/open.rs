//! From `--session` to a session that has been read.

use std::path::{Path, PathBuf};

use team_executor_beneath::ours;
use team_executor_core::{Graph, Session, TaskIndex, letters_apart};
use team_executor_engine as engine;
use team_executor_files::{
    Code, Dialect, Finding, Findings, Folder, Loaded, Sources, load, load_ignoring_results, load_tasks, stated_id,
};
use team_executor_store::run_folder::{WORKFLOW, folder_name};
use team_executor_store::{DiskFolder, OpenError};

use crate::args::Reading;
use crate::commands::sessions;
use crate::config::nearest;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;

/// A session that has been read, fit to be run or not.
pub(crate) struct Opened {
    /// The folder, as the user named it.
    pub(crate) path: String,
    /// How it was read.
    pub(crate) dialect: Dialect,
    /// The session and its graph, unless there is an error.
    pub(crate) session: Option<(Session, Graph)>,
    /// What is wrong or odd.
    pub(crate) findings: Findings,
    /// What findings point into.
    pub(crate) sources: Sources,
}

/// Reads the session that the user named.
pub(crate) fn session(path: Option<&Path>, reading: &Reading) -> Result<Opened, Failure> {
    let own = path.and_then(|path| path.canonicalize().ok());
    // What a run has taken over or set back is in its journal; files from before say nothing about it.
    let was_run = || own.is_some_and(|own| current().is_ok_and(|current| engine::runs::exist(&own, &current)));
    read(path, reading, if reading.ignore_results || was_run() { load_ignoring_results } else { load })
}

/// Reads the tasks of the session that the user named, and nothing that stands beside them.
pub(crate) fn tasks(path: Option<&Path>, reading: &Reading) -> Result<Opened, Failure> {
    read(path, reading, load_tasks)
}

type Load = fn(&dyn Folder, &str, Option<Dialect>) -> Loaded;

fn read(path: Option<&Path>, reading: &Reading, load: Load) -> Result<Opened, Failure> {
    let Some(path) = path else {
        return Err(session_required().into());
    };
    let folder = DiskFolder::open(path).map_err(|error| cannot_open(path, &error))?;
    let mut loaded = load(&folder, &name_of(path), reading.dialect);
    if let Some((file, reason)) = folder.failure() {
        return Err(cannot_read(&path.join(file), reason));
    }
    if reading.strict {
        loaded.findings.make_strict();
    }
    let session = if loaded.findings.has_errors() { None } else { loaded.session };
    Ok(Opened {
        path: path.display().to_string(),
        dialect: loaded.dialect,
        session,
        findings: loaded.findings,
        sources: loaded.sources,
    })
}

/// Reads the session that the user named, and says whether another one in the project has its id.
pub(crate) fn unique(path: Option<&Path>, reading: &Reading) -> Result<Opened, Failure> {
    let mut opened = session(path, reading)?;
    let twins = twins(Path::new(&opened.path));
    if let Some(first) = twins.first() {
        let more = if twins.len() > 1 { format!(" and {} more", twins.len() - 1) } else { String::new() };
        let message = format!("another session has the same id: {}{more}", first.display());
        opened
            .findings
            .push(Finding::warning(Code::DuplicateId, message).help("give one of them another `session_id`"));
        if reading.strict {
            opened.findings.make_strict();
            opened.session = None;
        }
    }
    Ok(opened)
}

/// The id of a session: the one that it states, or the name of its folder.
pub(crate) fn id_of(folder: &DiskFolder, path: &Path) -> String {
    stated_id(folder).unwrap_or_else(|| name_of(path))
}

/// The other sessions below the `.workflow/` that a session stands in which have its id.
fn twins(path: &Path) -> Vec<PathBuf> {
    let Ok(own) = path.canonicalize() else { return Vec::new() };
    let Some(workflow) = own.ancestors().skip(1).find(|folder| folder.ends_with(WORKFLOW)) else { return Vec::new() };
    let all = sessions::candidates(workflow);
    if !all.contains(&own) {
        return Vec::new();
    }
    let id = |path: &Path| DiskFolder::open(path).ok().map(|folder| id_of(&folder, path));
    let wanted = id(&own);
    let is_run = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("EX-"));
    let others = all.into_iter().filter(|other| *other != own && !is_run(other));
    others.filter(|other| id(other) == wanted && other.canonicalize().is_ok_and(|other| other != own)).collect()
}

/// A session that can be run.
pub(crate) fn runnable(opened: &Opened) -> Result<(&Session, &Graph), Failure> {
    let session = opened.session.as_ref().map(|(session, graph)| (session, graph));
    session.ok_or_else(|| {
        let finding = Finding::error(Code::Usage, "the session cannot be read");
        finding.help(format!("team-executor validate {}", escape::session(&opened.path))).into()
    })
}

/// A session that can be run, and one of its tasks.
pub(crate) fn task<'o>(opened: &'o Opened, id: &str) -> Result<(&'o Session, &'o Graph, TaskIndex), Failure> {
    let (session, graph) = runnable(opened)?;
    let Some(task) = graph.index_of(id) else {
        let finding = Finding::error(Code::Usage, format!("there is no task '{id}'"));
        let named = escape::session(&opened.path);
        let finding = match nearest(id, session.tasks.iter().map(|task| task.id.as_str())) {
            Some(near) => finding.help(format!("did you mean {near}?")),
            None => finding,
        };
        return Err(finding.help(format!("team-executor plan {named} lists the tasks")).into());
    };
    Ok((session, graph, task))
}

/// Where a session is and where the user is, both absolute. The session need not be fit to be run.
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(crate) current: PathBuf,
}

/// Finds the session that the user named.
pub(crate) fn place(path: Option<&Path>) -> Result<Place, Failure> {
    let path = path.ok_or_else(session_required)?;
    DiskFolder::open(path).map_err(|error| cannot_open(path, &error))?;
    let unusable = |what: &str, error: std::io::Error| {
        Finding::error(Code::Usage, format!("{what} cannot be found: {error}")).help("check where you are with: pwd")
    };
    let folder = path.canonicalize().map_err(|error| unusable("the session folder", error))?;
    must_be_no_run(&folder)?;
    let current = current()?;
    runs_can_be_read(&folder, &current)?;
    Ok(Place { folder, current })
}

/// Refuses what needs the newest run of a session where somebody else's permissions hide it: it was not "never run".
pub(crate) fn runs_can_be_read(folder: &Path, current: &Path) -> Result<(), Failure> {
    let Some(closed) = engine::runs::closed(folder, current) else { return Ok(()) };
    let shown = closed.strip_prefix(current).unwrap_or(&closed).display().to_string();
    let finding = Finding::error(Code::Usage, format!("{shown} cannot be read: permission denied"));
    let finding = finding.help(format!("see whose it is with: ls -ld {}", escape::shell_word(&shown)));
    Err(Failure::Refused(Box::new(finding.help("go on as that user, or ask for permission to read it")), Exit::Io))
}

/// Refuses the folder of a run, which looks like a session: whoever runs it would do everything beside the run again.
pub(crate) fn must_be_no_run(folder: &Path) -> Result<(), Failure> {
    let Some(session) = engine::runs::session_of(folder) else { return Ok(()) };
    let finding = Finding::error(Code::Usage, format!("{} is the folder of a run", folder.display()));
    Err(finding.help(format!("name its session: {}", escape::session(session.display()))).into())
}

/// Where the program was started.
pub(crate) fn current() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        let finding = Finding::error(Code::Usage, format!("the current folder cannot be found: {error}"));
        finding.help("start it in a folder that exists").into()
    })
}

/// What is said when no session was named.
pub(crate) fn session_required() -> Finding {
    Finding::error(Code::SessionRequired, "Session required. Usage: --session=<path-to-TC-folder>")
        .help("`team-executor sessions` lists the sessions below .workflow/")
}

/// What the folder is called, whatever way leads there.
pub(crate) fn name_of(path: &Path) -> String {
    let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Some(folder_name(&resolved)).filter(|name| !name.is_empty()).unwrap_or_else(|| "session".to_owned())
}

/// What is said when the disk or the system fails: it says nothing about the session.
fn cannot_read(path: &Path, reason: &str) -> Failure {
    let finding = Finding::error(Code::Usage, format!("cannot read {}: {reason}", path.display()));
    Failure::Refused(Box::new(finding.help("once the cause is gone, the same command works")), Exit::Io)
}

fn cannot_open(path: &Path, error: &OpenError) -> Failure {
    let shown = path.display();
    let finding = match error {
        OpenError::Failed(reason) => return cannot_read(path, reason),
        OpenError::Missing => {
            let mut finding = Finding::error(Code::SessionNotFound, format!("Session directory not found: {shown}"));
            for near in near_matches(path) {
                finding = finding.help(format!("did you mean {}?", escape::session(near)));
            }
            finding.help("check the path; `team-executor sessions` lists the sessions below .workflow/")
        }
        OpenError::NotAFolder => Finding::error(Code::SessionNotFound, format!("Session directory not found: {shown}"))
            .help("this is a file; name the folder that holds the session's files"),
        OpenError::Refused(reason) => {
            Finding::error(Code::SessionNotFound, format!("Session directory not readable: {shown}: {reason}"))
                .help(format!("check it with: ls -ld {}", escape::shell_word(&shown.to_string())))
        }
    };
    finding.into()
}

/// Sessions below `.workflow/.team/` whose names are most like the one that was named.
fn near_matches(path: &Path) -> Vec<String> {
    const SHOWN: usize = 3;
    let wanted = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Ok(entries) = ours::list(Path::new(".workflow/.team")) else { return Vec::new() };
    let mut names: Vec<(usize, String)> = entries
        .into_iter()
        .take(1000)
        .filter_map(|name| Some((letters_apart(&wanted, &name, wanted.len() / 2)?, name)))
        .collect();
    names.sort();
    names.into_iter().take(SHOWN).map(|(_, name)| format!(".workflow/.team/{name}")).collect()
}
