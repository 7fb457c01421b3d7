//! The files that a new session is made of, in each dialect.

use std::borrow::Cow;

use team_executor_core::{Assessment, Graph, RoleName, Session, Task, TaskStatus, Timestamp};

use super::role_spec;
use crate::dialect::Dialect;
use crate::discovery::{self, FOLDER, TaskDiscovery};
use crate::schemas::Schema;
use crate::tasks_csv;
use crate::tc::LAYOUT;
use crate::write::{self, Capability};

/// A session before it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    /// The session.
    pub session: Session,
    /// The instructions of its roles.
    pub roles: Vec<RoleText>,
}

/// The instructions of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleText {
    /// The role.
    pub name: RoleName,
    /// What it does, in one line.
    pub about: String,
    /// What comes out of it.
    pub artifact_type: String,
    /// Its role-spec.
    pub text: Cow<'static, str>,
}

impl RoleText {
    fn capability(&self) -> Capability<'_> {
        Capability { name: self.name.as_str(), description: &self.about, artifact_type: &self.artifact_type }
    }
}

/// A file of a new session. One whose path ends with `/` is an empty folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Where it is, seen from the session's folder.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl Outline {
    /// The role whose name cannot be that of a file, if there is one.
    pub fn unwritable_role(&self) -> Option<&RoleName> {
        let is_file_name = |name: &str| !name.contains(['/', '\\']) && !name.starts_with('.');
        self.roles.iter().map(|role| &role.name).find(|name| !is_file_name(name.as_str()))
    }

    /// Every file of the session; nothing if its tasks do not hang together, or if no session is made in that dialect.
    pub fn files(&self, dialect: Dialect) -> Option<Vec<NewFile>> {
        let session = &self.session;
        let graph = Graph::seal(&session.tasks).graph?;
        let file = |path: &str, text: String| NewFile { path: path.to_owned(), text };
        let mut files = match dialect {
            Dialect::Tc => vec![
                file("team-session.json", write::team_session(None, session)),
                file("task-analysis.json", write::task_analysis(session, &self.capabilities(), self.score())),
            ],
            Dialect::Tls => vec![file("team-session.json", write::lifecycle(None, session))],
            Dialect::TasksJson => {
                let done = session.tasks.iter().filter(|task| task.status == TaskStatus::Completed);
                let own = file("tasks.json", write::tasks_json(None, session, &graph));
                std::iter::once(own).chain(done.filter_map(|task| discovered(task, session.created_at))).collect()
            }
            Dialect::TasksCsv => vec![file("tasks.csv", tasks_csv::write(None, &with_requirement(session), &graph))],
            Dialect::TaskFiles | Dialect::Chain => return None,
        };
        let schemas: Vec<NewFile> = files.iter_mut().filter_map(|file| with_schema(file, dialect)).collect();
        files.extend(schemas);
        files.extend(self.roles.iter().map(|role| file(&role_spec::path(role.name.as_str()), role.text.to_string())));
        if dialect == Dialect::Tc {
            files.extend(LAYOUT.iter().map(|(path, text)| file(path, (*text).to_owned())));
        }
        Some(files)
    }

    fn capabilities(&self) -> Vec<Capability<'_>> {
        self.roles.iter().map(RoleText::capability).collect()
    }

    fn score(&self) -> u32 {
        Assessment::assess(&self.session.requirement).points
    }
}

/// Lets a file name its schema, for editors; gives the file of that schema.
fn with_schema(file: &mut NewFile, dialect: Dialect) -> Option<NewFile> {
    let name = match (dialect, file.path.as_str()) {
        (Dialect::Tc, "team-session.json") => "team-session",
        (Dialect::Tc, "task-analysis.json") => "task-analysis",
        (Dialect::Tls, "team-session.json") => "lifecycle",
        (Dialect::TasksJson, "tasks.json") => "tasks",
        _ => return None,
    };
    let path = format!(".schema/{name}.json");
    file.text = file.text.replacen('{', &format!("{{\n  \"$schema\": \"./{path}\","), 1);
    Some(NewFile { path, text: Schema::named(name)?.text() })
}

/// The discovery file of a completed task; `None` if its id cannot be a file name.
fn discovered(task: &Task, at: Option<Timestamp>) -> Option<NewFile> {
    let is_name = |id: &str| !id.contains(['/', '\\', ' ']) && !id.starts_with('.');
    let mut found = TaskDiscovery::new(task.id.clone());
    (found.status, found.findings) = (Some(task.status), task.findings.clone().unwrap_or_default());
    (found.worker, found.timestamp) = (Some(task.id.to_string()), at);
    let path = format!("{FOLDER}/{}.json", task.id);
    is_name(task.id.as_str()).then(|| NewFile { path, text: discovery::write(&found, None) })
}

/// A table has no place for what was asked for, so each task says it.
fn with_requirement(session: &Session) -> Session {
    let mut session = session.clone();
    if !session.requirement.is_empty() {
        let requirement = format!("Requirement: {}", session.requirement);
        let told = |task: Task| Task { description: format!("{}\n\n{requirement}", task.description), ..task };
        session.tasks = session.tasks.into_iter().map(told).collect();
    }
    session
}
