//! A new session from tasks that stand in a table or come from another tool: every role has its instructions.

use std::collections::HashMap;

use team_executor_core::{ExecMode, Phase, Role, RoleName, Session, Task, TaskStatus};

use super::outline::Outline;
use super::{Head, role_spec};

/// Whether tasks that were done before stay done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// Nothing is done yet: a table is a plan.
    Forgotten,
    /// They do: their tool goes on with what is left.
    Kept,
}

/// Makes a new session of one that was read from a table. A requirement of its own counts unless the user gives one.
pub fn outline(read: Session, head: Head, requirement: &str, history: History) -> Outline {
    let requirement = if requirement.trim().is_empty() { read.requirement } else { requirement.to_owned() };
    let is_kept = |task: &Task| history == History::Kept && task.status == TaskStatus::Completed;
    let planned = |task: Task| {
        let kept = is_kept(&task).then(|| (task.status, task.findings.clone()));
        let mut task = fresh(task);
        if let Some((status, findings)) = kept {
            (task.status, task.findings) = (status, findings);
        }
        task
    };
    let tasks: Vec<Task> = read.tasks.into_iter().map(planned).collect();
    let mut roles: Vec<Role> = Vec::new();
    let mut titles: HashMap<RoleName, Vec<&str>> = HashMap::new();
    for task in &tasks {
        let at = roles.iter().position(|role| role.name == task.role).unwrap_or_else(|| {
            roles.push(role(task));
            roles.len() - 1
        });
        roles[at].inner_loop |= task.exec_mode == ExecMode::Interactive;
        titles.entry(task.role.clone()).or_default().push(task.label());
    }
    let texts = roles.iter().map(|role| role_spec::of_table(role, titles.get(&role.name).map_or(&[], Vec::as_slice)));
    let texts = texts.collect();
    let mut session = head.session(requirement);
    session.pipeline = read.pipeline;
    for task in tasks {
        let held = roles.iter().find(|role| role.name == task.role).map(Role::exec_mode);
        session.tasks.push(Task { exec_mode: held.unwrap_or(task.exec_mode), ..task });
    }
    session.roles = roles;
    Outline { session, roles: texts }
}

/// The task as it is planned, without what became of it.
fn fresh(task: Task) -> Task {
    let title = task.label().to_owned();
    let description = if task.description.is_empty() { title.clone() } else { task.description.clone() };
    Task {
        title,
        description,
        phase: task.phase.or_else(|| Some(phase(&task))),
        declared_wave: None,
        status: TaskStatus::Pending,
        attempt_count: 0,
        findings: None,
        error: None,
        quality_score: None,
        verdict: None,
        created_at: None,
        updated_at: None,
        ..task
    }
}

fn role(task: &Task) -> Role {
    let prefix = task.id.as_str().split('-').next().unwrap_or_default().trim();
    let prefix = if prefix.is_empty() { task.id.as_str() } else { prefix };
    Role { prefix: prefix.to_owned(), spec: Some(role_spec::path(task.role.as_str())), ..Role::new(task.role.clone()) }
}

/// The part of the lifecycle that the id or the role of a task speaks of.
fn phase(task: &Task) -> Phase {
    const WORDS: [(Phase, &[&str]); 3] = [
        (Phase::Test, &["test", "qa", "verif"]),
        (Phase::Review, &["review", "audit", "quality", "check", "supervis", "evaluat"]),
        (Phase::Spec, &["spec", "plan", "design", "draft", "research", "analy", "arch", "writ", "doc"]),
    ];
    let text = format!("{} {}", task.id, task.role).to_lowercase();
    WORDS
        .iter()
        .find(|(_, words)| words.iter().any(|word| text.contains(word)))
        .map_or(Phase::Impl, |(phase, _)| *phase)
}
