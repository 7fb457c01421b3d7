//! `context.md`: the report for people.

use std::fmt::Write as _;
use std::time::Duration;

use team_executor_core::Session;
use team_executor_core::run::Run;
use team_executor_files::time;
use team_executor_trees::{Overview, Place, Total};

use crate::render::run_report::{one_line, seconds};

/// The text of the report: how the run came out, then every task.
pub(super) fn text(session: &Session, rules: &Run, run_id: &str, summary: &str, changes: Option<&Overview>) -> String {
    let graph = rules.graph();
    let mut text = format!("# {}\n\n", one_line(session.id.as_str()));
    if !session.requirement.is_empty() {
        writeln!(text, "{}\n", one_line(&session.requirement)).ok();
    }
    writeln!(text, "Run `{run_id}`. {summary}").ok();
    if let Some(all) = changes.filter(|all| all.trunk != all.base) {
        let Total { files, added, removed } = all.total;
        let together = format!("Together the tasks changed {files} files, +{added} -{removed}");
        writeln!(text, "{together}: `git diff {} {}`.\n", all.base, all.trunk).ok();
    }
    let mut wave = 0;
    for index in graph.order().iter().filter(|task| rules.is_there(**task)) {
        let task = &session.tasks[index.get()];
        if graph.wave(*index) != wave {
            wave = graph.wave(*index);
            writeln!(text, "## Wave {wave}\n").ok();
        }
        writeln!(text, "### {}: {}\n", one_line(task.id.as_str()), one_line(task.label())).ok();
        writeln!(text, "- status: {}", task.status).ok();
        writeln!(text, "- role: {}", one_line(task.role.as_str())).ok();
        if let Some(verdict) = task.verdict {
            writeln!(text, "- verdict: {verdict}").ok();
        }
        if let Some(at) = task.updated_at {
            writeln!(text, "- at: {}", time::format(at)).ok();
        }
        if let Some(view) = rules.view(*index).filter(|view| view.attempt > 0) {
            let (ran, waited) =
                (Duration::from_millis(view.durations.ran.0), Duration::from_millis(view.durations.waited.0));
            let (ran, waited) = (seconds(ran), seconds(waited));
            writeln!(text, "- attempts: {}; they took {ran}, and the task waited {waited}", view.attempt).ok();
        }
        if let Some(change) = changes.and_then(|all| all.of_task(task.id.as_str())) {
            let Total { files, added, removed } = change.total;
            let is_merged = if change.place == Place::Merged { "merged" } else { "not merged" };
            writeln!(text, "- changes: {files} files, +{added} -{removed}; {is_merged}").ok();
            writeln!(text, "- commit: {} on {}", change.commit, change.base).ok();
        }
        if let Some(findings) = task.findings.as_deref().filter(|findings| !findings.is_empty()) {
            writeln!(text, "- findings: {}", one_line(findings)).ok();
        }
        if let Some(error) = &task.error {
            writeln!(text, "- error: {}", one_line(error)).ok();
        }
        text.push('\n');
    }
    text
}
