//! Makes a new session from a requirement, or from a table of tasks. Nothing that is there is overwritten.

mod table;

use std::path::{Path, PathBuf};

use serde::Serialize;
use team_executor_core::{Assessment, Complexity, Graph, Joining, RoleName, Session, SessionId, Timestamp, joining};
use team_executor_files::pipeline::outline::NewFile;
use team_executor_files::pipeline::{Head, Outline, Pipeline, Wish, from_table, naming};
use team_executor_files::{Code, Dialect, Finding, time};
use team_executor_store::run_folder::{WORKFLOW, project_root};
use team_executor_store::{MakeError, make_folder};

use crate::agents::Agents;
use crate::config::{PROJECT_FILE, isolation};
use crate::error::Error;
use crate::findings::JsonFinding;
use crate::joining::{JsonJoining, json, no_role};
use crate::{App, escape};

pub use self::table::Table;

/// Below `.workflow/`: where sessions are.
pub(crate) const SESSIONS: &str = ".team";

/// What is wanted of a new session.
#[derive(Debug)]
pub struct NewSession<'a> {
    /// What is asked for.
    pub requirement: &'a str,
    /// The pipeline, if not the one that fits the complexity.
    pub pipeline: Option<&'a str>,
    /// The tasks, if they are there already.
    pub table: Option<&'a Table>,
    /// How the session is written.
    pub dialect: Dialect,
    /// How complex the work is, if that is known.
    pub complexity: Option<Complexity>,
    /// Specialists who join.
    pub roles: &'a [String],
    /// A short name.
    pub name: Option<&'a str>,
    /// Its folder.
    pub folder: Option<&'a Path>,
    /// When it is made.
    pub at: Timestamp,
}

/// A session that was made.
#[derive(Debug)]
pub struct Made<'a> {
    wanted: &'a NewSession<'a>,
    outline: Outline,
    files: Vec<NewFile>,
    /// The commands to type next.
    pub next: Vec<String>,
    /// The reason for its pipeline, if none was named.
    pub why: Option<String>,
    /// Its folder, as the user sees it.
    pub folder: String,
    /// How many waves it has.
    pub waves: u32,
    /// The config that was written beside it, as the user sees it: each task has a tree of its own.
    pub config: Option<String>,
}

/// What was taken over from another tool, and what was left there.
#[derive(Debug, Serialize)]
pub struct Taken<'a> {
    /// The tool.
    pub tool: &'static str,
    /// How many tasks it had.
    pub tasks: usize,
    /// How many of them were done.
    pub done: usize,
    /// What was left there, a line each.
    pub left: &'a [String],
}

impl App {
    /// Reads the table of tasks that a session is made from.
    pub fn table(&self, path: &Path, tag: Option<&str>) -> Result<Table, Error> {
        table::read(self, path, tag)
    }

    /// Makes a session.
    pub fn init<'a>(&self, wanted: &'a NewSession<'a>) -> Result<Made<'a>, Error> {
        if wanted.requirement.is_empty() && wanted.table.is_none() {
            let finding = Finding::error(Code::Usage, "the requirement is empty, so there is nothing to plan");
            return Err(finding.help("say what is asked for: team-executor init 'Add a login to the shop'").into());
        }
        let head = head(wanted)?;
        let usual = || PathBuf::from(WORKFLOW).join(SESSIONS).join(head.id.as_str());
        let folder = wanted.folder.map_or_else(usual, Path::to_owned);
        let (outline, why) = match wanted.table {
            Some(table) => {
                (from_table::outline(table.session.clone(), head, wanted.requirement, table.history()), None)
            }
            None => of_pipeline(wanted, head)?,
        };
        if let Some(role) = outline.unwritable_role() {
            let finding = Finding::error(Code::UnknownRole, format!("the role '{role}' cannot be the name of a file"));
            return Err(finding.help("rename it in the table: letters, digits, `-` and `_` are safe").into());
        }
        let graph = Graph::seal(&outline.session.tasks).graph;
        let (Some(graph), Some(files)) = (graph, outline.files(wanted.dialect)) else {
            let finding = Finding::error(Code::Cycle, "no session was made: the dependencies have errors");
            return Err(finding.help("correct the dependencies in the table").into());
        };
        let pairs = files.iter().map(|file| (file.path.as_str(), file.text.as_str()));
        make_folder(&self.path(&folder), pairs).map_err(|error| not_made(error, wanted, &folder))?;
        let next = self.next_commands(&escape::session(folder.display()));
        let project = project_root(&self.path(&folder), self.current()?);
        // Without it tasks share the folder, as before.
        let config = isolation::start(&project).unwrap_or(false);
        let shown = if project == self.current()? { PathBuf::from(PROJECT_FILE) } else { project.join(PROJECT_FILE) };
        let config = config.then(|| shown.display().to_string());
        Ok(Made {
            wanted,
            outline,
            files,
            next,
            why,
            folder: folder.display().to_string(),
            waves: graph.wave_count(),
            config,
        })
    }

    /// The commands to type after `init`: the last ones run the session with the agents that are installed here.
    fn next_commands(&self, session: &str) -> Vec<String> {
        let program = self.typed();
        let all = ["plan", "rehearse"].map(str::to_owned).into_iter().chain(self.ways_to_run());
        all.map(|command| format!("{program} {command} {session}")).collect()
    }

    /// `run` with what it needs here: nothing if an agent is configured, else each agent that is installed.
    fn ways_to_run(&self) -> Vec<String> {
        match self.installed_agents() {
            Agents::Configured => vec!["run".to_owned()],
            Agents::Installed(names) if names.is_empty() => vec!["run --agent-command './work.sh'".to_owned()],
            Agents::Installed(names) => {
                names.iter().map(|name| format!("run --agent {}", escape::shell_word(name))).collect()
            }
        }
    }

    /// What is said where a session has no run yet. `session` is its option, as a user types it.
    pub(crate) fn never_run(&self, session: &str) -> Finding {
        let run = self.ways_to_run().swap_remove(0);
        let finding = Finding::error(Code::Usage, "the session was never run");
        finding.help(format!("run it with: team-executor {run} {session}"))
    }
}

/// What the session is called. The day is that of its beginning in UTC, as in the times that it holds.
fn head(wanted: &NewSession<'_>) -> Result<Head, Error> {
    let name = match (wanted.name, wanted.table, wanted.requirement) {
        (Some(name), _, _) => name.to_owned(),
        (None, Some(table), "") => naming::slug(&table.name),
        (None, _, requirement) => naming::slug(requirement),
    };
    let day = time::format(wanted.at).chars().take("2026-02-27".len()).collect::<String>();
    let id = naming::session_id(wanted.dialect, &name, &day);
    let id = SessionId::parse(&id).map_err(|error| {
        let finding = Finding::error(Code::InvalidId, format!("'{id}' cannot be a session id: {error}"));
        finding.help("choose another name with --name SLUG")
    })?;
    Ok(Head { id, name, at: wanted.at })
}

/// The outline by a pipeline, and the reason for the pipeline if none was named.
fn of_pipeline(wanted: &NewSession<'_>, head: Head) -> Result<(Outline, Option<String>), Error> {
    let (pipeline, why) = match wanted.pipeline {
        Some(name) => (Pipeline::named(name).ok_or_else(|| unknown_pipeline(name))?, None),
        None => {
            let (level, reason) = complexity(wanted);
            (Pipeline::fitting(level), Some(format!("{} complexity: {reason}", level.word())))
        }
    };
    let specialists = pipeline.specialists();
    let mut asked: Vec<RoleName> = Vec::new();
    for name in wanted.roles {
        let known = specialists.iter().find(|role| role.as_str() == name).cloned();
        let names = || specialists.iter().map(RoleName::as_str).collect::<Vec<_>>();
        asked.push(known.ok_or_else(|| no_role(name, &names()))?);
    }
    let NewSession { requirement, complexity, .. } = *wanted;
    Ok((pipeline.outline(head, &Wish { requirement, complexity, asked: &asked }), why))
}

fn unknown_pipeline(name: &str) -> Error {
    let finding = Finding::error(Code::Usage, format!("unknown pipeline `{name}`"));
    finding.help("list the pipelines: team-executor init --help").into()
}

/// How complex the work is, and why.
fn complexity(wanted: &NewSession<'_>) -> (Complexity, String) {
    if let Some(given) = wanted.complexity {
        return (given, "as given".to_owned());
    }
    let Assessment { level, reasons, .. } = Assessment::assess(wanted.requirement);
    let reason = match &reasons[..] {
        [] => "the requirement names no hard areas".to_owned(),
        reasons if level == Complexity::Low => {
            format!("of the hard areas, the requirement mentions only {}", reasons.join(", "))
        }
        reasons => format!("the requirement mentions {}", reasons.join(", ")),
    };
    (level, reason)
}

fn not_made(error: MakeError, wanted: &NewSession<'_>, folder: &Path) -> Error {
    match error {
        MakeError::Exists(_) => {
            let error = MakeError::Exists(folder.to_owned());
            let finding = Finding::error(Code::Usage, format!("no session was made: {error}"));
            let other = match wanted.folder {
                Some(_) => "choose another folder with --dir PATH",
                None => "choose another name with --name SLUG",
            };
            let shown = escape::session(folder.display());
            finding.help(other).help(format!("or look at what is there: team-executor plan {shown}")).into()
        }
        MakeError::Disk { .. } => {
            let finding = Finding::error(Code::Usage, format!("no session was made: {error}"));
            let help = "once the cause is gone, the same command makes it; or choose a folder with --dir PATH";
            Error::io(finding.help(help))
        }
    }
}

impl Made<'_> {
    /// What is in it.
    pub fn session(&self) -> &Session {
        &self.outline.session
    }

    /// Who joins.
    pub fn joining(&self) -> Vec<Joining> {
        joining(self.session(), self.wanted.complexity, &[])
    }

    /// What was taken over from another tool, if it was.
    pub fn taken(&self) -> Option<Taken<'_>> {
        self.wanted.table.and_then(Table::taken)
    }

    /// The session, for programs.
    pub fn json(&self) -> JsonMade<'_> {
        let session = self.session();
        JsonMade {
            version: 1,
            session: session.id.as_str(),
            path: &self.folder,
            dialect: self.wanted.dialect.name(),
            pipeline: session.pipeline.as_deref(),
            why: self.why.as_deref(),
            config: self.config.as_deref(),
            requirement: &session.requirement,
            tasks: session.tasks.len(),
            waves: self.waves,
            roles: session.roles.iter().map(|role| role.name.as_str()).collect(),
            injected_roles: json(&self.joining()),
            files: self.files.iter().map(|file| file.path.as_str()).collect(),
            imported: self.taken(),
            next: &self.next,
            findings: self.wanted.table.map(Table::json).unwrap_or_default(),
        }
    }
}

/// A session that was made, for programs.
#[derive(Debug, Serialize)]
pub struct JsonMade<'a> {
    version: u32,
    session: &'a str,
    path: &'a str,
    dialect: &'static str,
    pipeline: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    config: Option<&'a str>,
    requirement: &'a str,
    tasks: usize,
    waves: u32,
    roles: Vec<&'a str>,
    injected_roles: Vec<JsonJoining>,
    files: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<Taken<'a>>,
    next: &'a [String],
    findings: Vec<JsonFinding<'a>>,
}
