//! How a run stands, for people.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use team_executor_app::attempts::between;
use team_executor_app::attention::{Attention, Kind};
use team_executor_app::changes::of_task;
use team_executor_app::usage::{Sum, sums};
use team_executor_app::{Running, Status, TaskNote, count, seconds, took_words};
use team_executor_core::{TaskIndex, TaskStatus, joining};
use team_executor_files::time;
use unicode_width::UnicodeWidthStr as _;

use super::super::changes::{short, size};
use super::super::plan::{joined, list, mark, states};
use super::watch::Watched;
use super::{stage, why};
use crate::escape;
use crate::failure::Failure;
use team_executor_app::usage::so_far;

/// How many tasks are shown. Where there are more, only those that failed or run.
const SHOWN: usize = 200;
/// How many names a list has.
const NAMES: usize = 20;
/// How many needs and how many problems are shown, also in brief, and how many actions for each.
const ITEMS: usize = 10;
const BRIEF: usize = 2;
const ACTIONS: usize = 6;
/// How many conversations are shown.
const CONVERSATIONS: usize = 10;

/// How a run stands, for people. In brief it shows only tasks that need a look.
pub(super) fn text(
    shown: &Watched<'_>,
    status: &Status,
    width: usize,
    brief: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    attention(&shown.app.attention(shown.opened, status), status, (width, brief), out)?;
    head(shown, status, width, out)?;
    tasks(shown, status, width, brief, out)?;
    summary(shown, status, width, out)?;
    decisions(shown, status, width, out)
}

/// What a person must do, and what is wrong.
fn attention(
    found: &Attention,
    status: &Status,
    (width, brief): (usize, bool),
    out: &mut impl Write,
) -> Result<(), Failure> {
    let most = if brief { BRIEF } else { ITEMS };
    for (label, items) in [("Needs you", &found.needs), ("Problems", &found.problems)] {
        if items.is_empty() {
            continue;
        }
        let all: usize = items
            .iter()
            .map(|item| item.kind)
            .collect::<BTreeSet<_>>()
            .iter()
            .map(|kind| found.counts[kind.word()])
            .sum();
        writeln!(out, "{label}: {all}")?;
        for item in items.iter().take(most) {
            let since = item.since.map(|since| between(since, status.at)).filter(|age| age.as_secs() > 0);
            let since = since.map(|age| format!(" ({})", seconds(age))).unwrap_or_default();
            // Its task is the one that failed, which the words name.
            let task = item.task.as_ref().filter(|_| item.kind != Kind::Skipped);
            let task = task.map(|task| format!(" {task}")).unwrap_or_default();
            let line = format!("{}{task}{since}: {}", item.kind.word().replace('_', " "), item.why);
            writeln!(out, "  {}", escape::cut(&line, width - 2))?;
            // Commands are there to be copied, so they are not cut.
            let actions = if label == "Problems" || brief { 1 } else { ACTIONS };
            for action in item.actions.iter().take(actions) {
                writeln!(out, "    {}: {}", escape::line(&action.label), escape::line(&action.command))?;
            }
        }
        if all > most {
            writeln!(out, "  … and {} more with --format json", all - most.min(items.len()))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// How far a run is.
fn head(shown: &Watched<'_>, status: &Status, width: usize, out: &mut impl Write) -> Result<(), Failure> {
    let session = shown.session;
    const BAR: usize = 30;
    let (counts, total) = (status.counts, session.tasks.len());
    let full = (BAR * counts.completed).checked_div(total).unwrap_or(BAR);
    let reason = status.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    // The stage is never lost on a narrow terminal.
    let (run, stage) = (format!("Run {}", status.run), format!("is {}{reason}", stage(status.stage, status.is_heard)));
    match escape::line(&run).width() + 1 + stage.width() <= width {
        true => writeln!(out, "{}", escape::line(&format!("{run} {stage}")))?,
        false => writeln!(out, "{}\n{}", escape::cut(&run, width), escape::cut(&stage, width))?,
    }
    writeln!(out, "[{}{}] {}/{total} completed", "#".repeat(full), ".".repeat(BAR - full), counts.completed)?;
    let others = [
        (counts.failed, "failed"),
        (counts.skipped, "skipped"),
        (counts.in_progress, if status.is_heard { "running" } else { "cut off" }),
        (counts.ready, "ready"),
    ];
    let others: Vec<_> = others.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !others.is_empty() {
        writeln!(out, "{}", others.join(", "))?;
    }
    Ok(())
}

/// How long a worker has been at work; unknown for one whose executor was killed.
fn lasts(status: &Status, running: &Running) -> String {
    if status.is_heard { format!(", {} s", running.seconds) } else { String::new() }
}

/// Each task, wave by wave.
fn tasks(shown: &Watched<'_>, status: &Status, width: usize, brief: bool, out: &mut impl Write) -> Result<(), Failure> {
    let Watched { session, graph, .. } = *shown;
    let id = |task: TaskIndex| escape::line(session.tasks[task.get()].id.as_str());
    let spent = sums(&status.used, |one| &one.task);
    let mut wave = 0;
    let is_many = session.tasks.len() > SHOWN;
    let is_shown = |task: &&TaskIndex| {
        !(brief || is_many) || matches!(status.statuses[task.get()], TaskStatus::InProgress | TaskStatus::Failed)
    };
    let (mut room, mut left) = (SHOWN, 0_usize);
    for task in graph.order().iter().filter(is_shown) {
        if room == 0 {
            left += 1;
            continue;
        }
        room -= 1;
        if graph.wave(*task) != wave {
            wave = graph.wave(*task);
            writeln!(out, "\nWave {wave}")?;
        }
        let (sign, style) = mark(status.statuses[task.get()]);
        let of_worker = status.running.iter().find(|running| running.task == *task);
        let since = of_worker.map(|running| format!("  attempt {}{}", running.attempt, lasts(status, running)));
        let waits = names(graph.dependencies(*task).iter().map(|task| id(*task)));
        let after = if waits.is_empty() { String::new() } else { format!("  after {waits}") };
        let is_failed = status.statuses[task.get()] == TaskStatus::Failed;
        let mut judged = status.judged[task.get()].clone();
        let reason = if is_failed { judged.why.take() } else { None };
        let cost = spent.get(session.tasks[task.get()].id.as_str()).filter(|_| status.statuses[task.get()].is_over());
        let cost = cost
            .map(Sum::brief)
            .filter(|words| !words.is_empty())
            .map(|words| format!("  {words}"))
            .unwrap_or_default();
        let note = took(status, *task) + &cost + &note(&judged);
        let line = format!("{} {}{}{note}{after}", id(*task), status.statuses[task.get()], since.unwrap_or_default());
        writeln!(out, "  {style}{sign}{style:#} {}", escape::cut(&line, width - 4))?;
        if let Some(reason) = reason {
            writeln!(out, "      {}", escape::line(&reason))?; // never cut: the reason may stand at the end
        }
        if let Some((change, standing)) = of_task(status, session, *task) {
            let (size, commit, base) = (size(change.total), short(&change.commit), short(&change.base));
            let line = format!("{}: {size}, {commit} on {base}", standing.words());
            writeln!(out, "      {}", escape::cut(&line, width - 6))?;
        }
        if let Some(running) = of_worker {
            worker(shown, status, running, width, out)?;
        }
    }
    if is_many && !brief {
        let more = if left > 0 { format!("and {left} more that failed or run") } else { String::new() };
        let others = session.tasks.len() - (SHOWN - room) - left;
        let others = format!("{} are completed, skipped or wait", count(others, "other task"));
        let what = [more, others].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
        writeln!(out, "\n… {what}: {} status {} --format json", shown.app.typed(), escape::session(shown.path))?;
    }
    Ok(())
}

/// What there is of the run as a whole.
fn summary(shown: &Watched<'_>, status: &Status, width: usize, out: &mut impl Write) -> Result<(), Failure> {
    let session = shown.session;
    let id = |task: TaskIndex| escape::line(session.tasks[task.get()].id.as_str());
    writeln!(out)?;
    let running = status.running.iter().map(|running| {
        let role = escape::line(session.tasks[running.task.get()].role.as_str());
        format!("{} ({role}{})", id(running.task), lasts(status, running))
    });
    let label = if status.is_heard || status.running.is_empty() { "Running" } else { "Cut off" };
    list(out, label, running, ", ", width)?;
    if let Some(workers) = status.machine {
        writeln!(out, "Waiting: all runs on this machine share a limit of {}", count(workers as usize, "worker"))?;
    }
    list(out, "Ready", status.ready.iter().map(|task| id(*task)), ", ", width)?;
    joined(out, &joining(session, None, &[]), width)?;
    let delivered = states(status.artifacts.iter().map(|shelved| shelved.artifact.validation));
    if !delivered.is_empty() {
        list(out, "Artifacts", delivered.into_iter(), ", ", width)?;
    }
    if let Some(all) = status.changes.as_ref().filter(|all| all.trunk != all.base) {
        let landed = if all.is_landed() { format!("; branch {}", escape::line(&all.branch)) } else { String::new() };
        writeln!(out, "Merged: {}, {} on {}{landed}", size(all.total), short(&all.trunk), short(&all.base))?;
    }
    if status.rounds > 0 {
        writeln!(out, "Work was sent back {}", count(status.rounds as usize, "time"))?;
    }
    if status.active + status.idle >= Duration::from_secs(60) {
        writeln!(out, "Duration: {} ({} idle)", seconds(status.active), seconds(status.idle))?;
    }
    if !status.used.is_empty() {
        let roles = sums(&status.used, |spent| &spent.role).into_iter();
        let roles = roles.map(|(role, sum)| format!("{}: {}", escape::line(role), sum.words()));
        writeln!(out, "Usage: {}", Sum::total(&status.used).words())?;
        for line in roles {
            writeln!(out, "  {line}")?;
        }
        conversations(status, out)?;
    }
    Ok(())
}

/// Decisions that were made, and open ones.
fn decisions(shown: &Watched<'_>, status: &Status, width: usize, out: &mut impl Write) -> Result<(), Failure> {
    let session = shown.session;
    let id = |task: TaskIndex| escape::line(session.tasks[task.get()].id.as_str());
    for decision in &status.decisions {
        let at = decision.checkpoint.map(|task| format!(" after {}", id(task))).unwrap_or_default();
        let text = if decision.text.is_empty() { String::new() } else { format!(": {}", decision.text) };
        let line = format!("Decided{at} at {}: {}{text}", time::format(decision.at), decision.action);
        writeln!(out, "{}", escape::cut(&line, width))?;
    }
    if let Some(checkpoint) = &status.checkpoint {
        writeln!(out, "\nCheckpoint after {}: {}", id(checkpoint.task), why(checkpoint.cause))?;
        for (task, folder) in &checkpoint.judges {
            let folder = folder.as_ref().map(|folder| format!(": {}", folder.display())).unwrap_or_default();
            writeln!(out, "  review {}{}", id(*task), escape::line(&folder))?; // never cut: paths are there to be copied
        }
        if let Some(critique) = &checkpoint.critique {
            writeln!(out, "  not accepted: {}", escape::line(critique))?; // it is what a person decides by
        }
    }
    Ok(())
}

/// The first names of a list, and how many more there are.
fn names(mut all: impl ExactSizeIterator<Item = String>) -> String {
    let mut shown: Vec<String> = all.by_ref().take(NAMES).collect();
    let more = all.len();
    shown.extend((more > 0).then(|| format!("and {more} more")));
    shown.join(", ")
}

/// How long a task took that is over, where that is worth a word.
fn took(status: &Status, task: TaskIndex) -> String {
    let over = status.durations.get(task.get()).filter(|_| status.statuses[task.get()].is_over());
    let words = over.map(|took| {
        took_words(status.attempts[task.get()], Duration::from_millis(took.ran.0), Duration::from_millis(took.waited.0))
    });
    words.filter(|words| !words.is_empty()).map(|words| format!("  {words}")).unwrap_or_default()
}

/// How a task was judged, in a few words.
fn note(judged: &TaskNote) -> String {
    let rounds = if judged.rounds > 0 { format!("  round {}", judged.rounds) } else { String::new() };
    let verdict = judged.verdict.map(|verdict| format!("  says {verdict}")).unwrap_or_default();
    let why = judged.why.as_ref().map(|why| format!("  ({why})")).unwrap_or_default();
    let wait = judged.wait.map(|wait| format!("  again in {wait} s")).unwrap_or_default();
    format!("{rounds}{verdict}{wait}{why}")
}

/// How a person opens the conversations of the last attempts.
fn conversations(status: &Status, out: &mut impl Write) -> Result<(), Failure> {
    let opens: Vec<_> = status.used.iter().rev().filter_map(|one| Some((one, one.used.attach.as_deref()?))).collect();
    for (nth, (one, attach)) in opens.iter().take(CONVERSATIONS).enumerate() {
        if nth == 0 {
            writeln!(out, "Conversations, to be opened in the folder of the project:")?;
        }
        writeln!(out, "  {} (attempt {}): {}", escape::line(&one.task), one.attempt, escape::line(attach))?;
    }
    if opens.len() > CONVERSATIONS {
        writeln!(out, "  … and {} more with --format json", opens.len() - CONVERSATIONS)?;
    }
    Ok(())
}

/// What the agent of a running attempt is doing, what it asks, and how a person joins it.
fn worker(
    shown: &Watched<'_>,
    status: &Status,
    running: &Running,
    width: usize,
    out: &mut impl Write,
) -> Result<(), Failure> {
    const INDENT: usize = 6;
    let task = shown.session.tasks[running.task.get()].id.as_str();
    let mut lines = Vec::new();
    if let Some(one) = status.doing(task, running.attempt) {
        let used = [one.agent.clone(), one.activity.model.clone().unwrap_or_default(), so_far(&one.activity)];
        lines.push(used.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", "));
        lines.extend(one.activity.progress.as_ref().map(|progress| format!("progress: {progress}")));
        lines.extend(one.doing.clone());
    }
    let open = status.talk(task, running.attempt).map_or(&[][..], |talk| &talk.state.questions);
    lines.extend(open.iter().map(|open| format!("asks to use {}: {}", open.tool, open.what)));
    for line in lines {
        writeln!(out, "{:INDENT$}{}", "", escape::cut(&line, width - INDENT))?;
    }
    // A command is there to be copied, so it is not cut.
    if let Some(attach) = status.doing(task, running.attempt).and_then(|one| one.attach.as_deref()) {
        writeln!(out, "{:INDENT$}join with: {}", "", escape::line(attach))?;
    }
    Ok(())
}
