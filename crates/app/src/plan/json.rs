//! A plan for programs. The shape is stable: fields are added, never renamed or removed, within one `version`.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;
use team_executor_core::{Judge, TaskIndex};

use super::{Planned, Standing};
use crate::config::held_back::HeldBack;
use crate::estimate::Estimate;
use crate::findings::{self, JsonFinding, JsonHidden};
use crate::joining::{self, JsonJoining};
use crate::open::Opened;

/// The whole plan.
#[derive(Debug, Serialize)]
pub struct JsonPlan<'a> {
    version: u32,
    session: &'a str,
    path: &'a str,
    dialect: &'static str,
    status: &'static str,
    requirement: &'a str,
    edges: usize,
    tasks: Vec<JsonPlannedTask<'a>>,
    waves: Vec<Vec<&'a str>>,
    critical_path: Vec<&'a str>,
    ready: Vec<&'a str>,
    roles: Vec<JsonRole<'a>>,
    injected_roles: Vec<JsonJoining>,
    /// For each role, who does its tasks.
    agents: Value,
    budgets: Value,
    /// Variables that are set here, wanted by who does the tasks, and not passed.
    held_back: &'a [HeldBack],
    /// Where the newest run stands, and what `run` would do with it.
    run: Option<&'a Standing>,
    /// How long it would take and what it would cost.
    estimate: Option<&'a Estimate>,
    reconciliation: Vec<String>,
    findings: Vec<JsonFinding<'a>>,
    hidden: Vec<JsonHidden>,
}

#[derive(Debug, Serialize)]
struct JsonPlannedTask<'a> {
    id: &'a str,
    title: &'a str,
    role: &'a str,
    exec_mode: &'static str,
    wave: u32,
    priority: &'static str,
    min_complexity: Option<&'static str>,
    /// The kind of review at this task, if it is one.
    judge: Option<&'static str>,
    status: &'static str,
    dependencies: Vec<&'a str>,
    remaining: u32,
    critical: bool,
}

#[derive(Debug, Serialize)]
struct JsonRole<'a> {
    name: &'a str,
    tasks: usize,
    completed: usize,
}

/// The whole plan of a session that was read so.
pub(super) fn json<'a>(opened: &'a Opened, planned: &'a Planned) -> JsonPlan<'a> {
    let Planned { session, plan, joining, means, held_back, standing, .. } = planned;
    let id = |task: &TaskIndex| session.tasks[task.get()].id.as_str();
    let ids = |tasks: &[TaskIndex]| -> Vec<_> { tasks.iter().map(id).collect() };
    let critical: HashSet<_> = plan.critical_path.iter().collect();
    let tasks = (0..).map(TaskIndex).zip(&session.tasks).map(|(index, task)| JsonPlannedTask {
        id: task.id.as_str(),
        title: &task.title,
        role: task.role.as_str(),
        exec_mode: task.exec_mode.word(),
        wave: plan.graph.wave(index),
        priority: task.priority.word(),
        min_complexity: task.min_complexity.map(|level| level.word()),
        judge: task.judge().map(Judge::word),
        status: plan.statuses[index.get()].word(),
        dependencies: ids(plan.graph.dependencies(index)),
        remaining: plan.graph.remaining(index),
        critical: critical.contains(&index),
    });
    let (agents, budgets) = means.json(session);
    JsonPlan {
        version: 1,
        session: session.id.as_str(),
        path: &opened.path,
        dialect: opened.dialect.name(),
        status: session.status.word(),
        requirement: &session.requirement,
        edges: plan.graph.edge_count(),
        tasks: tasks.collect(),
        waves: plan.waves.iter().map(|wave| ids(wave)).collect(),
        critical_path: ids(&plan.critical_path),
        ready: ids(&plan.ready),
        roles: plan
            .roles
            .iter()
            .map(|role| JsonRole { name: role.name.as_str(), tasks: role.tasks, completed: role.completed })
            .collect(),
        injected_roles: joining::json(joining),
        agents,
        budgets,
        held_back,
        run: standing.as_ref(),
        estimate: planned.estimate.as_ref(),
        reconciliation: plan.reconciliation.changes.iter().map(|change| change.describe(session)).collect(),
        findings: findings::findings(opened),
        hidden: findings::hidden(opened),
    }
}
