//! A run as JUnit XML: a suite for each role, a case for each task.

use std::fmt::Write as _;

use team_executor_core::{RoleName, Task};

use super::{MARK, Told};
use crate::attempts::{TaskCourse, TaskEnd, rfc3339};
use crate::escape::xml as text;

/// How a task counts.
enum Case<'a> {
    Passed,
    Failed(&'a str),
    Skipped(&'a str),
}

/// The whole file.
pub(super) fn write(told: &Told<'_>) -> String {
    let mut roles: Vec<&RoleName> = Vec::new();
    for task in &told.session.tasks {
        if !roles.contains(&&task.role) {
            roles.push(&task.role);
        }
    }
    let all: Vec<(&Task, &TaskCourse)> = told.session.tasks.iter().zip(&told.course.tasks).collect();
    let mut out = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- {MARK} -->\n");
    let totals = totals(told, &all);
    let began = format!(" timestamp=\"{}\"", rfc3339(told.course.began));
    writeln!(out, "<testsuites name=\"{}\"{totals}{began}>", text(&told.course.run)).ok();
    for role in roles {
        let own: Vec<_> = all.iter().filter(|(task, _)| task.role == *role).copied().collect();
        writeln!(out, "  <testsuite name=\"{}\"{}>", text(role.as_str()), self::totals(told, &own)).ok();
        own.iter().for_each(|(task, course)| case(told, task, course, &mut out));
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn totals(told: &Told<'_>, cases: &[(&Task, &TaskCourse)]) -> String {
    let failed = cases.iter().filter(|(_, course)| matches!(judge(course), Case::Failed(_))).count();
    let skipped = cases.iter().filter(|(_, course)| matches!(judge(course), Case::Skipped(_))).count();
    let time: f64 = cases.iter().map(|(_, course)| course.length(told.now).as_secs_f64()).sum();
    format!(" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"{time:.3}\"", cases.len())
}

fn judge(course: &TaskCourse) -> Case<'_> {
    match &course.end {
        Some(TaskEnd::Completed) => Case::Passed,
        Some(TaskEnd::Failed(why)) => Case::Failed(why),
        Some(TaskEnd::Skipped(why)) => Case::Skipped(why),
        None if course.attempts.is_empty() => Case::Skipped("it was not run"),
        None => Case::Skipped("it is not over"),
    }
}

fn case(told: &Told<'_>, task: &Task, course: &TaskCourse, out: &mut String) {
    let title = if task.title.is_empty() { String::new() } else { format!(": {}", task.title) };
    let name = text(&format!("{}{title}", task.id));
    let time = course.length(told.now).as_secs_f64();
    write!(out, "    <testcase classname=\"{}\" name=\"{name}\" time=\"{time:.3}\"", text(task.role.as_str())).ok();
    match judge(course) {
        Case::Passed if course.findings.is_empty() => out.push_str("/>\n"),
        Case::Passed => {
            writeln!(out, ">\n      <system-out>{}</system-out>\n    </testcase>", text(&course.findings)).ok();
        }
        Case::Failed(why) => {
            let first = text(why.lines().next().unwrap_or_default());
            let attempts = course.attempts.len();
            let all = text(&format!("{why}\nattempts: {attempts}"));
            writeln!(out, ">\n      <failure message=\"{first}\" type=\"failed\">{all}</failure>\n    </testcase>")
                .ok();
        }
        Case::Skipped(why) => {
            writeln!(out, ">\n      <skipped message=\"{}\"/>\n    </testcase>", text(why)).ok();
        }
    }
}
