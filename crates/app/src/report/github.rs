//! A run for GitHub Actions: an annotation for each failure, and a summary of the job.

use std::fmt::Write as _;

use team_executor_core::Task;

use super::{MARK, Told};
use crate::attempts::{TaskCourse, TaskEnd};
use team_executor_engine::seconds;

/// How many rows a summary has: GitHub takes a megabyte.
const ROWS: usize = 1000;
/// How many letters of a reason or of findings a row has.
const WORDS: usize = 300;

/// One workflow command for each task that failed or was skipped.
pub(super) fn annotations(told: &Told<'_>) -> String {
    let mut out = String::new();
    for (task, course) in told.session.tasks.iter().zip(&told.course.tasks) {
        let (level, word, why) = match &course.end {
            Some(TaskEnd::Failed(why)) => ("error", "failed", why),
            Some(TaskEnd::Skipped(why)) => ("warning", "was skipped", why),
            _ => continue,
        };
        writeln!(out, "::{level} title={}::{}", property(&format!("{} {word}", task.id)), data(why)).ok();
    }
    out
}

/// Text behind a workflow command: it stays on its line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text inside one.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A table in Markdown.
pub(super) fn summary(told: &Told<'_>) -> String {
    let counts = told.course.counts;
    let verdict = if counts.total > 0 && counts.completed == counts.total { "completed" } else { "not completed" };
    let mut out = format!("<!-- {MARK} -->\n## {}: {verdict}\n\n", cell(&told.course.run));
    let took = seconds(told.course.length());
    let head = format!(
        "{} of {} tasks completed, {} failed, {} skipped, in {took}",
        counts.completed, counts.total, counts.failed, counts.skipped
    );
    writeln!(out, "{head}\n\n| | task | role | attempts | time | |\n|---|---|---|---|---|---|").ok();
    let mut rows: Vec<_> = told.session.tasks.iter().zip(&told.course.tasks).collect();
    rows.sort_by_key(|(_, course)| rank(course));
    rows.iter().take(ROWS).for_each(|(task, course)| row(told, task, course, &mut out));
    if rows.len() > ROWS {
        writeln!(out, "\nand {} more tasks", rows.len() - ROWS).ok();
    }
    out.push('\n');
    out
}

/// Failures first.
fn rank(course: &TaskCourse) -> u8 {
    match course.end {
        Some(TaskEnd::Failed(_)) => 0,
        Some(TaskEnd::Skipped(_)) => 1,
        None => 2,
        Some(TaskEnd::Completed) => 3,
    }
}

fn row(told: &Told<'_>, task: &Task, course: &TaskCourse, out: &mut String) {
    let (mark, words) = match &course.end {
        Some(TaskEnd::Completed) => ("✅", course.findings.as_str()),
        Some(TaskEnd::Failed(why)) => ("❌", why.as_str()),
        Some(TaskEnd::Skipped(why)) => ("⏭️", why.as_str()),
        None => ("⏸️", ""),
    };
    let took = seconds(course.length(told.now));
    let (id, role) = (cell(task.id.as_str()), cell(task.role.as_str()));
    writeln!(out, "| {mark} | {id} | {role} | {} | {took} | {} |", course.attempts.len(), cell(words)).ok();
}

/// Text in a cell: no markup, no further cells, no further lines.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(WORDS) {
        match c {
            c if c.is_control() => out.push(' '),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '!' | '#' | '@' | '~' => {
                write!(out, "&#{};", u32::from(c)).ok();
            }
            c => out.push(c),
        }
    }
    if text.chars().nth(WORDS).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_starts_no_workflow_command_and_no_markup() {
        assert_eq!(data("a\n::set-env name=X::1\r%"), "a%0A::set-env name=X::1%0D%25");
        assert_eq!(property("a,b:c"), "a%2Cb%3Ac");
        assert_eq!(cell("a|b\n<img>[x](y) @team"), "a&#124;b &lt;img&gt;&#91;x&#93;(y) &#64;team");
        assert!(cell(&"x".repeat(WORDS + 1)).ends_with('…'));
    }
}
