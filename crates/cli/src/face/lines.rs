//! What happens in a run, one line each.

use std::time::Duration;

use anstyle::Style;
use team_executor_app::event::{Kind, ToReview};
use team_executor_app::{ANSWERS, count, seconds, took_words};
use team_executor_core::TaskStatus;
use team_executor_core::run::Cause;

use crate::commands::{mark, why};
use crate::escape;

/// The line for an event, at most so many columns wide; nothing for what only a live view shows.
pub(crate) fn line(kind: &Kind, width: usize) -> Option<String> {
    let (status, text) = match kind {
        Kind::TaskOutput { .. }
        | Kind::TaskActivity { .. }
        | Kind::TaskUsed { .. }
        | Kind::TaskFailed { short: true, .. }
        | Kind::TasksReset { .. }
        | Kind::RunFinished { .. } => return None,
        Kind::RunStarted { run, resumed: false, counts, .. } => {
            (None, format!("Run {run} begins, {} to do", counts.waiting + counts.ready))
        }
        Kind::RunStarted { run, resumed: true, counts, .. } => {
            (None, format!("Run {run} goes on, {} done", counts.completed))
        }
        Kind::TaskStarted { task, role, attempt, agent, instead, .. } => {
            let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            let instead = if *instead { format!(", by {agent}") } else { String::new() };
            (Some(TaskStatus::InProgress), format!("{task} ({role}{again}{instead})"))
        }
        Kind::TaskCompleted { task, took_ms, findings, counts } => {
            let took = took_words(1, Duration::from_millis(*took_ms), Duration::ZERO);
            let took = if took.is_empty() { took } else { format!("({took}) ") };
            let done = format!("{task} [{}/{}] {took}{findings}", counts.completed, counts.total);
            (Some(TaskStatus::Completed), done)
        }
        // Never cut: the reason may stand at the end.
        Kind::TaskFailed { task, error, again, .. } => {
            let again = if *again { "; it will be tried again" } else { "" };
            let (sign, style) = mark(TaskStatus::Failed);
            let lines = escape::wrap(&format!("{task} {error}{again}"), width.saturating_sub(2));
            return Some(format!("{style}{sign}{style:#} {}", lines.join("\n  ")));
        }
        Kind::QuotaHeld { agent, wait_ms } => {
            let wait = seconds(Duration::from_millis(*wait_ms));
            (None, format!("No quota for {agent}: its tasks wait {wait}"))
        }
        Kind::TaskInterrupted { task, .. } => (Some(TaskStatus::Skipped), format!("{task} was interrupted")),
        Kind::TaskSkipped { task, reason, .. } => (Some(TaskStatus::Skipped), format!("{task} skipped: {reason}")),
        Kind::Paused { reason } => (None, format!("Paused: {reason}; no new workers start until `resume`")),
        Kind::TaskCancelled { task, then, reason } => {
            (Some(TaskStatus::Skipped), format!("{task} cancelled ({then}): {reason}"))
        }
        Kind::TasksAdded { tasks, .. } => (None, format!("New tasks: {}", tasks.join(", "))),
        Kind::PlanChanged { changed, removed, .. } => {
            let named =
                |what: &str, tasks: &[String]| (!tasks.is_empty()).then(|| format!("{what} {}", tasks.join(", ")));
            let changes = [named("changed", changed), named("removed", removed)];
            (None, format!("The plan was edited: {}", changes.into_iter().flatten().collect::<Vec<_>>().join("; ")))
        }
        Kind::TasksAdvised { tasks, text } => (None, format!("Feedback for {}: {text}", tasks.join(", "))),
        Kind::MachineLimit { workers, waits: true } => {
            (None, format!("Waiting: all runs on this machine share a limit of {workers} workers"))
        }
        Kind::MachineLimit { waits: false, .. } => return None,
        Kind::TasksAssigned { tasks, agent, model } => {
            let model = model.as_ref().map(|model| format!(", model {model}")).unwrap_or_default();
            (None, format!("{} done by {agent}{model} from now on", tasks.join(", ")))
        }
        Kind::Limited { role, agent, workers } => (None, limited(role.as_deref(), agent.as_deref(), *workers)),
        Kind::Resumed => (None, "Going on".to_owned()),
        Kind::WaveFailed { wave } => {
            let help = "help: type r to retry them or a to abort, and Enter";
            return Some(format!("error: every task of wave {wave} failed\n{help}"));
        }
        Kind::Checkpoint { task, cause, judged, critique, asked } => {
            return Some(checkpoint((task, *cause), judged, critique.as_deref(), *asked, width));
        }
        Kind::Asks { task, tool, what, asked, .. } => {
            let words = escape::cut(&format!("{task} asks to use {tool}: {what}"), width);
            let help = match asked {
                true => "type y to allow it or n to deny it, and Enter".to_owned(),
                false => format!("team-executor talk allow {0}, or deny {0}, and --session", escape::shell_word(task)),
            };
            return Some(format!("{words}\nhelp: {help}"));
        }
        Kind::Decided { checkpoint, action, text } => {
            let at = checkpoint.as_deref().map(|task| format!(" after {task}")).unwrap_or_default();
            let text = if text.is_empty() { String::new() } else { format!(": {text}") };
            (None, format!("Decided{at}: {action}{text}"))
        }
        Kind::SentBack { by, tasks, critique } => {
            (Some(TaskStatus::Failed), format!("{} sent back by {by}: {critique}", tasks.join(", ")))
        }
        Kind::Returned { tasks, .. } => (None, format!("To be done again: {}", tasks.join(", "))),
        Kind::TaskChanged { task, files: 0, .. } => (None, format!("{task} changed no file")),
        Kind::TaskChanged { task, commit, files, added, removed, .. } => {
            let commit = commit.get(..10).unwrap_or(commit);
            (None, format!("{task} changed {}, +{added} -{removed} ({commit})", count(*files, "file")))
        }
        Kind::TasksTested { tasks, .. } => (None, format!("Testing the whole with {}", tasks.join(", "))),
        Kind::TaskMerged { task, .. } => (None, format!("{task} is merged")),
        Kind::BranchLanded { branch, .. } => (None, format!("Everything that is completed is in the branch {branch}")),
        Kind::Adopted { message } => (None, format!("taken over: {message}")),
        Kind::Reconciled { message } => (None, format!("corrected: {message}")),
        Kind::WaveMerged { wave } => (None, format!("Wave {wave} is complete")),
        Kind::Draining { running: 0 } => (None, "Stopping; no worker runs".to_owned()),
        Kind::Draining { running } => {
            let workers = count(*running, "running worker");
            (None, format!("Stopping after {workers}; press Ctrl-C again to end them now"))
        }
        Kind::Stopping => (None, "Ending the workers".to_owned()),
        // Never cut: the remedy may stand at the end.
        Kind::Warning { message } => return Some(whole("warning", message, width)),
        Kind::Halted { reason } => return Some(whole("Stopped", reason, width)),
    };
    let (sign, style) = status.map_or((None, Style::new()), |status| {
        let (sign, style) = mark(status);
        (Some(sign), style)
    });
    let sign = sign.map(|sign| format!("{style}{sign}{style:#} ")).unwrap_or_default();
    let left = if sign.is_empty() { width } else { width.saturating_sub(2) };
    Some(format!("{sign}{}", escape::cut(text.trim_end(), left)))
}

/// Words of any length on lines of their own.
fn whole(label: &str, words: &str, width: usize) -> String {
    const INDENT: &str = "\n         ";
    escape::wrap(&format!("{label}: {words}"), width.saturating_sub(INDENT.len())).join(INDENT)
}

/// A checkpoint with the work to review and the words that can be typed.
fn checkpoint(
    (task, cause): (&str, Cause),
    judged: &[ToReview],
    critique: Option<&str>,
    asked: bool,
    width: usize,
) -> String {
    let mut lines = vec![format!("Checkpoint after {task}: {}", why(cause))];
    for one in judged {
        let rounds = if one.rounds > 0 { format!(" (round {})", one.rounds) } else { String::new() };
        lines.push(format!("  {}{rounds} {}", one.task, one.findings));
        lines.extend(one.folder.as_ref().map(|folder| format!("    {}", folder.display())));
    }
    lines.extend(critique.map(|critique| format!("  not accepted: {critique}")));
    let mut lines: Vec<String> = lines.iter().map(|line| escape::cut(line.trim_end(), width)).collect();
    if asked {
        lines.push(format!("help: type {ANSWERS}"));
    }
    lines.join("\n")
}
/// How many workers there may be from now on.
fn limited(role: Option<&str>, agent: Option<&str>, workers: Option<u32>) -> String {
    let whose = match (role, agent) {
        (Some(role), _) => format!(" with the role {role}"),
        (None, Some(agent)) => format!(" of the agent {agent}"),
        (None, None) => String::new(),
    };
    match workers {
        Some(1) => format!("Limit: at most 1 worker{whose}"),
        Some(workers) => format!("Limit: at most {workers} workers{whose}"),
        None => format!("Limit: lifted for workers{whose}"),
    }
}
