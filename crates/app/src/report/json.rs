//! A run as one JSON document.

use serde::Serialize;
use team_executor_engine::event::Counts;

use super::{MARK, Told};
use crate::attempts::{Attempt, Outcome, TaskCourse, TaskEnd, rfc3339};
use crate::usage::dollars;

#[derive(Serialize)]
struct Report<'a> {
    generator: &'static str,
    version: u32,
    run: &'a str,
    session: String,
    goal: &'a str,
    began: Option<String>,
    last: Option<String>,
    duration_ms: u64,
    counts: Counts,
    tasks: Vec<Task<'a>>,
}

#[derive(Serialize)]
struct Task<'a> {
    task: String,
    title: &'a str,
    role: &'a str,
    status: &'static str,
    why: Option<&'a str>,
    findings: Option<&'a str>,
    attempts: Vec<OneAttempt<'a>>,
}

#[derive(Serialize)]
struct OneAttempt<'a> {
    attempt: u32,
    agent: &'a str,
    started: String,
    ended: Option<String>,
    duration_ms: u64,
    #[serde(flatten)]
    outcome: &'a Outcome,
    tokens: u64,
    cost_usd: Option<f64>,
}

/// The whole file.
pub(super) fn write(told: &Told<'_>) -> String {
    let course = told.course;
    let report = Report {
        generator: MARK,
        version: 1,
        run: &course.run,
        session: told.session.id.to_string(),
        goal: &told.session.requirement,
        began: Some(rfc3339(course.began)),
        last: course.last.map(rfc3339),
        duration_ms: millis(course.length()),
        counts: course.counts,
        tasks: told.session.tasks.iter().zip(&course.tasks).map(|(task, course)| one(told, task, course)).collect(),
    };
    // Every field is text or a number: nothing of it can fail.
    serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
}

fn one<'a>(told: &Told<'_>, task: &'a team_executor_core::Task, course: &'a TaskCourse) -> Task<'a> {
    let (status, why) = match &course.end {
        Some(TaskEnd::Completed) => ("completed", None),
        Some(TaskEnd::Failed(why)) => ("failed", Some(why.as_str())),
        Some(TaskEnd::Skipped(why)) => ("skipped", Some(why.as_str())),
        None if course.attempts.last().is_some_and(|last| last.ended.is_none()) => ("in_progress", None),
        None => ("pending", None),
    };
    let attempt = |one: &'a Attempt| OneAttempt {
        attempt: one.number,
        agent: &one.agent,
        started: rfc3339(one.started),
        ended: one.ended.map(rfc3339),
        duration_ms: millis(one.length(told.now)),
        outcome: &one.outcome,
        tokens: one.tokens,
        cost_usd: one.cost_micros.map(dollars),
    };
    Task {
        task: task.id.to_string(),
        title: &task.title,
        role: task.role.as_str(),
        status,
        why,
        findings: Some(course.findings.as_str()).filter(|findings| !findings.is_empty()),
        attempts: course.attempts.iter().map(attempt).collect(),
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
