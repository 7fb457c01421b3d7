//! What happens in a run, one line each.

use anstyle::Style;
use team_executor_app::notice::Judged;
use team_executor_app::{ANSWERS, Notice, count, seconds};
use team_executor_core::TaskStatus;
use team_executor_core::run::Cause;

use crate::commands::{mark, why};
use crate::escape;

/// The line for a notice, at most so many columns wide; nothing for what only a live view shows.
pub(super) fn line(notice: &Notice, width: usize) -> Option<String> {
    let (status, text) = match notice {
        Notice::Line { .. } | Notice::Activity { .. } | Notice::Failed { short: true, .. } => return None,
        Notice::Begins { run, resumed: false, counts, .. } => {
            (None, format!("Run {run} begins, {} to do", counts.pending + counts.ready))
        }
        Notice::Begins { run, resumed: true, counts, .. } => {
            (None, format!("Run {run} goes on, {} done", counts.completed))
        }
        Notice::Started { task, role, attempt, fast_advance, agent, instead, .. } => {
            let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            let fast = if *fast_advance { ", fast_advance" } else { "" };
            let instead = if *instead { format!(", by {agent}") } else { String::new() };
            (Some(TaskStatus::InProgress), format!("{task} ({role}{again}{fast}{instead})"))
        }
        Notice::Completed { task, findings, counts } => {
            let done = format!("{task} [{}/{}] {findings}", counts.completed, counts.total());
            (Some(TaskStatus::Completed), done)
        }
        Notice::Failed { task, error, again, .. } => {
            let again = if *again { "; it will be tried again" } else { "" };
            (Some(TaskStatus::Failed), format!("{task} {error}{again}"))
        }
        Notice::Held { agent, wait } => {
            (None, format!("No quota for {agent}: what only it can do waits {}", seconds(*wait)))
        }
        Notice::Interrupted { task, .. } => (Some(TaskStatus::Skipped), format!("{task} was interrupted")),
        Notice::Skipped { task, reason, .. } => (Some(TaskStatus::Skipped), format!("{task} skipped: {reason}")),
        Notice::Paused { reason } => (None, format!("Paused: {reason}; no new workers start until `resume`")),
        Notice::Resumed => (None, "Going on".to_owned()),
        Notice::WaveFailed { wave } => {
            let help = "help: type r to retry them or a to abort, and Enter";
            return Some(format!("error: every task of wave {wave} failed\n{help}"));
        }
        Notice::Checkpoint { task, cause, judged, critique, asked } => {
            return Some(checkpoint((task, *cause), judged, critique.as_deref(), *asked, width));
        }
        Notice::Asks { task, tool, what, asked, .. } => {
            let words = escape::cut(&format!("{task} asks to use {tool}: {what}"), width);
            let help = match asked {
                true => "type y to allow it or n to deny it, and Enter".to_owned(),
                false => format!("team-executor talk allow {0}, or deny {0}, and --session", escape::shell_word(task)),
            };
            return Some(format!("{words}\nhelp: {help}"));
        }
        Notice::Decided { checkpoint, action, text } => {
            let at = checkpoint.as_deref().map(|task| format!(" after {task}")).unwrap_or_default();
            let text = if text.is_empty() { String::new() } else { format!(": {text}") };
            (None, format!("Decided{at}: {action}{text}"))
        }
        Notice::SentBack { by, tasks, critique } => {
            (Some(TaskStatus::Failed), format!("{} sent back by {by}: {critique}", tasks.join(", ")))
        }
        Notice::Returned { tasks, .. } => (None, format!("To be done again: {}", tasks.join(", "))),
        Notice::Adopted(change) => (None, format!("taken over: {change}")),
        Notice::Reconciled(change) => (None, format!("put right: {change}")),
        Notice::WaveMerged { wave } => (None, format!("Wave {wave} is complete")),
        Notice::Draining { running: 0 } => (None, "Stopping; no worker runs".to_owned()),
        Notice::Draining { running } => {
            let workers = count(*running, "running worker");
            (None, format!("Stopping after {workers}; press Ctrl-C again to end them now"))
        }
        Notice::Stopping => (None, "Ending the workers".to_owned()),
        // It is told whole: what to do may stand at its end.
        Notice::Warning(words) => return Some(whole("warning", words, width)),
        Notice::Halted { reason } => return Some(whole("Stopped", reason, width)),
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

/// What a person is to judge, with what can be typed.
fn checkpoint(
    (task, cause): (&str, Cause),
    judged: &[Judged],
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
