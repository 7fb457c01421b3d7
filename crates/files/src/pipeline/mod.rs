//! Sessions that are made from a requirement: by one of the built-in pipelines, or from a table of tasks.
//!
//! The pipelines are data: one table of tasks each (`tables/`), and the instructions of the roles
//! (`role_specs/`). Reading order: this file (the pipelines), `table` (what a pipeline has), [`naming`] (what
//! sessions are called), [`from_table`] (sessions from a table of the user's), [`outline`] (the files that a
//! session is made of).

pub mod from_table;
pub mod naming;
pub mod outline;
mod role_spec;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use team_executor_core::joining::{Why, record};
use team_executor_core::{
    Complexity, Joining, Role, RoleKind, RoleName, Session, SessionId, SessionStatus, Task, TaskId, Timestamp, joining,
};

pub use self::outline::{Outline, RoleText};
use self::table::Row;
use crate::lifecycle::PIPELINES;

/// A way to get from a requirement to its end.
#[derive(Debug)]
pub struct Pipeline {
    /// Its name on the command line; one of [`PIPELINES`].
    pub name: &'static str,
    table: &'static str,
}

/// Every pipeline, in the order of [`PIPELINES`].
pub static ALL: [Pipeline; 4] = [
    Pipeline { name: PIPELINES[0], table: include_str!("tables/spec-only.csv") },
    Pipeline { name: PIPELINES[1], table: include_str!("tables/impl-only.csv") },
    Pipeline { name: PIPELINES[2], table: include_str!("tables/full-lifecycle.csv") },
    Pipeline { name: PIPELINES[3], table: include_str!("tables/enhanced-parallel.csv") },
];

/// The smallest team that plans, implements, tests and reviews. By its name it is `impl-only`, whose tasks it has, without
/// the supervisor.
pub static SMALL: Pipeline = Pipeline { name: PIPELINES[1], table: include_str!("tables/small.csv") };

/// What a new session is called, and when it is made.
#[derive(Debug, Clone)]
pub struct Head {
    /// Its id.
    pub id: SessionId,
    /// A short name for people.
    pub name: String,
    /// When it is made.
    pub at: Timestamp,
}

impl Head {
    /// A session of which nothing else is known.
    fn session(self, requirement: String) -> Session {
        Session {
            name: self.name,
            requirement,
            status: SessionStatus::Created,
            created_at: Some(self.at),
            updated_at: Some(self.at),
            ..Session::new(self.id)
        }
    }
}

/// What is wanted of a session.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// What is asked for, in the user's words.
    pub requirement: &'a str,
    /// How complex the work is, if the user says so. Then the run has no complexity to decide.
    pub complexity: Option<Complexity>,
    /// Specialists that the user asked for; they join even if the requirement has no word of theirs.
    pub asked: &'a [RoleName],
}

impl Pipeline {
    /// The pipeline for work of this complexity, where none is named.
    pub fn fitting(complexity: Complexity) -> &'static Self {
        match complexity {
            Complexity::Low => &SMALL,
            Complexity::Medium => &ALL[1],
            Complexity::High => &ALL[2],
        }
    }

    /// The pipeline of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|pipeline| pipeline.name == name)
    }

    /// The specialists that may join it.
    pub fn specialists(&self) -> Vec<RoleName> {
        let roles = roles(&table::rows(self.table)).into_iter().filter(is_specialist);
        roles.map(|role| role.name).collect()
    }

    /// A session for a requirement: the tasks of the pipeline without those of specialists who do not join and, where the
    /// complexity is known, without those that it does not need.
    pub fn outline(&self, head: Head, wish: &Wish<'_>) -> Outline {
        let rows = table::rows(self.table);
        let mut session = head.session(wish.requirement.to_owned());
        session.roles = roles(&rows);
        let joining = joining(&session, wish.complexity, wish.asked);
        let rows: Vec<Row> = rows.into_iter().filter_map(|row| needed(row, wish.complexity, &joining)).collect();
        let artifacts: HashMap<&str, &str> = rows.iter().map(|row| (row.id.as_str(), row.artifact.as_str())).collect();
        let modes: HashMap<RoleName, _> =
            session.roles.iter().map(|role| (role.name.clone(), role.exec_mode())).collect();
        session.tasks = rows.iter().map(|row| task(row, &artifacts)).collect();
        for task in &mut session.tasks {
            task.exec_mode = modes.get(&task.role).copied().unwrap_or(task.exec_mode);
        }
        let working: HashSet<RoleName> = session.tasks.iter().map(|task| task.role.clone()).collect();
        session.roles.retain(|role| working.contains(&role.name));
        record(&mut session, &joining.into_iter().filter(|one| working.contains(&one.role)).collect::<Vec<_>>());
        session.pipeline = Some(self.name.to_owned());
        let texts = session.roles.iter().filter_map(|role| role_spec::built_in(role.name.as_str()));
        Outline { roles: texts.map(|built_in| built_in.text).collect(), session }
    }
}

/// The roles of some tasks, each once.
fn roles(rows: &[Row]) -> Vec<Role> {
    let mut known = HashSet::new();
    let names = rows.iter().map(|row| row.role.as_str()).filter(|name| known.insert(*name));
    names.filter_map(role_spec::built_in).map(|built_in| built_in.role).collect()
}

fn is_specialist(role: &Role) -> bool {
    role.kind == Some(RoleKind::Specialist)
}

/// The row as the session has it; `None` if the session does without it. A specialist that joins for another
/// reason than complexity works at any complexity.
fn needed(row: Row, complexity: Option<Complexity>, joining: &[Joining]) -> Option<Row> {
    let joins = joining.iter().find(|one| one.role == row.role);
    if row.joined && joins.is_none() {
        return None;
    }
    let by_other = joins.is_some_and(|one| !matches!(one.why, Why::Complex { .. }));
    let min_complexity = row.min_complexity.filter(|_| !by_other);
    match (min_complexity, complexity) {
        (Some(min), Some(known)) if known < min => None,
        (Some(_), Some(_)) => Some(Row { min_complexity: None, ..row }),
        _ => Some(Row { min_complexity, ..row }),
    }
}

/// The task of a row. `artifacts` are what the tasks of the session deliver: others are not waited for.
fn task(row: &Row, artifacts: &HashMap<&str, &str>) -> Task {
    let there = |ids: &[TaskId]| ids.iter().filter(|id| artifacts.contains_key(id.as_str())).cloned().collect();
    let mut task = Task::new(row.id.clone(), row.role.clone());
    task.title.clone_from(&row.title);
    task.phase = row.phase;
    task.priority = row.priority;
    task.min_complexity = row.min_complexity;
    task.dependencies = there(&row.dependencies);
    task.context_from = there(&row.context_from);
    let read = task.context_from.iter().map(|id| format!("../{id}/{}", artifacts[id.as_str()]));
    let read = read.collect::<Vec<_>>().join(", ");
    task.delivers = vec![row.artifact.clone()];
    task.description.clone_from(&row.description);
    if !read.is_empty() {
        let read = format!("\n\nRead first what is there of (seen from the folder for artifacts): {read}");
        task.description.push_str(&read);
    }
    task
}
