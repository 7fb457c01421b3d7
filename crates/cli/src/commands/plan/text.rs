//! A plan for people, readable at 80 columns and without colour.

use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use team_executor_app::estimate::{Estimate, Range};
use team_executor_app::plan::{Planned, Standing};
use team_executor_app::usage::dollar_words as dollars;
use team_executor_app::{Opened, count, seconds};
use team_executor_core::{ExecMode, Joining, Plan, Session, Task, TaskIndex, TaskStatus, Validation};
use unicode_width::UnicodeWidthStr;

use crate::escape;
use crate::failure::Failure;
use crate::printer::Printer;

/// How many names a list shows before it only counts.
const SHOWN: usize = 12;
const LABEL: usize = 16;
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Prints the whole plan.
pub(super) fn write(opened: &Opened, planned: &Planned, printer: &mut Printer) -> Result<(), Failure> {
    let Planned { session, plan, joining, means, .. } = planned;
    let width = printer.width();
    let out = printer.out();
    let columns = Columns::fit(session, width);
    field(out, "Session", &format!("{} ({})", session.id, opened.dialect), width)?;
    if !session.requirement.is_empty() {
        field(out, "Goal", &session.requirement, width)?;
    }
    field(out, "Tasks", &planned.summary(), width)?;
    if let Some(standing) = &planned.standing {
        field(out, "Run", &standing.words(), width)?;
    }
    for (nth, wave) in plan.waves.iter().enumerate() {
        writeln!(out, "\n{BOLD}Wave {}{BOLD:#}, {}", nth + 1, count(wave.len(), "task"))?;
        for task in wave {
            columns.task(out, session, plan, *task)?;
        }
    }
    writeln!(out)?;
    let id = |task: &TaskIndex| escape::line(session.tasks[task.get()].id.as_str());
    list(out, "Critical path", plan.critical_path.iter().map(id), " -> ", width)?;
    list(out, "Ready", plan.ready.iter().map(id), ", ", width)?;
    let roles = plan.roles.iter().map(|role| format!("{} {} ({} done)", role.name, role.tasks, role.completed));
    list(out, "Roles", roles, ", ", width)?;
    joined(out, joining, width)?;
    if let Some(estimate) = &planned.estimate {
        field(out, "Estimate", &words(estimate), width)?;
        field(out, "", &from(estimate), width)?;
    }
    for (label, lines) in [("Agents", means.agents()), ("Budgets", means.budgets(session))] {
        for (nth, line) in lines.iter().enumerate() {
            field(out, if nth == 0 { label } else { "" }, line, width)?;
        }
    }
    let checkpoints = session.tasks.iter().filter_map(|task| Some((task, task.judge()?)));
    let checkpoints = checkpoints.map(|(task, judge)| format!("{} ({judge} judges)", escape::line(task.id.as_str())));
    let delivered = states(session.artifacts.iter().map(|artifact| artifact.validation));
    for (label, all) in [("Checkpoints", checkpoints.collect()), ("Artifacts", delivered)] {
        if !all.is_empty() {
            list(out, label, all.into_iter(), ", ", width)?;
        }
    }
    let changes = &plan.reconciliation.changes;
    if changes.is_empty() {
        field(out, "Corrections", "none", width)?;
    } else {
        field(out, "Corrections", &count(changes.len(), "change"), width)?;
        for change in changes.iter().take(SHOWN) {
            writeln!(out, "  {}", escape::cut(&change.describe(session), width - 2))?;
        }
        if changes.len() > SHOWN {
            writeln!(out, "  … and {} more", changes.len() - SHOWN)?;
        }
    }
    if let Some(help) = planned.standing.as_ref().and_then(Standing::help) {
        writeln!(out, "help: {}", escape::line(&help))?;
    }
    Ok(())
}

/// How long, at what cost.
fn words(estimate: &Estimate) -> String {
    let range = |range: &Range, words: &dyn Fn(u64) -> String| match (words(range.low), words(range.high)) {
        (low, high) if low == high => format!("about {low}"),
        (low, high) => format!("{low} to {high}, likely {}", words(range.likely)),
    };
    let time = range(&estimate.time_ms, &|ms| seconds(Duration::from_millis(ms)));
    let cost = estimate.cost_micros.map(|cost| format!("; {}", range(&cost, &dollars))).unwrap_or_default();
    let tokens =
        |tokens: Range| format!("; {}", range(&tokens, &|tokens| format!("{}k tokens", tokens.div_ceil(1000))));
    let tokens = estimate.tokens.filter(|_| estimate.cost_micros.is_none()).map(tokens).unwrap_or_default();
    format!("{time}{cost}{tokens}")
}

/// What an estimate is made of.
fn from(estimate: &Estimate) -> String {
    let guessed = match estimate.guessed_tasks {
        0 => String::new(),
        tasks => format!("; {} guessed from other roles", count(tasks, "task")),
    };
    format!("9 times of 10, from {}{guessed}", count(estimate.samples, "attempt"))
}

/// A mark for each status, so that no meaning hangs on a colour.
pub(crate) fn mark(status: TaskStatus) -> (char, Style) {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match status {
        TaskStatus::Pending => ('·', DIM),
        TaskStatus::Ready => ('○', colour(AnsiColor::Cyan)),
        TaskStatus::InProgress => ('▶', colour(AnsiColor::Blue)),
        TaskStatus::Completed => ('✓', colour(AnsiColor::Green)),
        TaskStatus::Failed => ('✗', colour(AnsiColor::Red)),
        TaskStatus::Skipped => ('–', colour(AnsiColor::Yellow)),
    }
}

/// Whether the worker of a task converses.
pub(crate) fn converses(task: &Task) -> bool {
    task.exec_mode == ExecMode::Interactive
}

/// A column for tasks whose workers converse, where there are any; how others work goes without saying.
pub(crate) fn mode(task: &Task, has_column: bool) -> String {
    let word = if converses(task) { task.exec_mode.word() } else { "" };
    if has_column { format!("  {word:11}") } else { String::new() }
}

/// How wide the columns of the task lines are.
struct Columns {
    id: usize,
    role: usize,
    mode: bool,
    width: usize,
}

impl Columns {
    fn fit(session: &Session, width: usize) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(UnicodeWidthStr::width).max().unwrap_or(0);
        Self {
            id: widest(&mut session.tasks.iter().map(|task| task.id.as_str())).min(24),
            role: widest(&mut session.roles.iter().map(|role| role.name.as_str())).clamp(4, 18),
            mode: session.tasks.iter().any(converses),
            width,
        }
    }

    fn task(&self, out: &mut impl Write, session: &Session, plan: &Plan, index: TaskIndex) -> std::io::Result<()> {
        let task = &session.tasks[index.get()];
        let status = plan.statuses[index.get()];
        let (mark, style) = mark(status);
        let cell = |text: &str, columns| escape::pad(&escape::cut(text, columns), columns);
        let mut line = format!(
            "{}  {:11}  {}  {}{}",
            cell(task.id.as_str(), self.id),
            status.word(),
            task.priority,
            cell(task.role.as_str(), self.role),
            mode(task, self.mode),
        );
        let waits = plan.graph.dependencies(index);
        if !waits.is_empty() {
            let names = waits.iter().take(SHOWN).map(|task| session.tasks[task.get()].id.as_str()).collect::<Vec<_>>();
            let more = if waits.len() > SHOWN { format!(" and {} more", waits.len() - SHOWN) } else { String::new() };
            line.push_str(&format!("  after {}{more}", names.join(", ")));
        }
        writeln!(out, "  {style}{mark}{style:#} {}", escape::cut(line.trim_end(), self.width - 4))?;
        if !task.title.is_empty() && task.title != task.id.as_str() {
            writeln!(out, "    {DIM}{}{DIM:#}", escape::cut(&task.title, self.width - 4))?;
        }
        Ok(())
    }
}

/// The roles that join by rule, with the reasons; nothing if there are none.
pub(in crate::commands) fn joined(out: &mut impl Write, joining: &[Joining], width: usize) -> std::io::Result<()> {
    for (nth, one) in joining.iter().enumerate() {
        let label = if nth == 0 { "Joining" } else { "" };
        field(out, label, &one.to_string(), width)?;
    }
    Ok(())
}

/// How many artifacts are in which state, in words.
pub(in crate::commands) fn states(all: impl Iterator<Item = Validation>) -> Vec<String> {
    let all: Vec<_> = all.collect();
    let count = |state: &Validation| (all.iter().filter(|one| *one == state).count(), *state);
    let counts = Validation::ALL.iter().map(count).filter(|(count, _)| *count > 0);
    counts.map(|(count, state)| format!("{count} {state}")).collect()
}

fn field(out: &mut impl Write, label: &str, text: &str, width: usize) -> std::io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}{}", escape::pad(label, LABEL), escape::cut(text, width - LABEL))
}

/// Names with something between them, over as many lines as it takes.
pub(in crate::commands) fn list(
    out: &mut impl Write,
    label: &str,
    names: impl ExactSizeIterator<Item = String>,
    between: &str,
    width: usize,
) -> std::io::Result<()> {
    let total = names.len();
    if total == 0 {
        return field(out, label, "none", width);
    }
    let mut lines = vec![String::new()];
    let more = total.saturating_sub(SHOWN);
    let names = names.take(SHOWN).chain((more > 0).then(|| format!("… {more} more")));
    for (nth, name) in names.enumerate() {
        let piece = if nth == 0 { name } else { format!("{between}{name}") };
        let last = lines.last().map_or(0, |line| line.width());
        if nth > 0 && last + piece.width() >= width - LABEL {
            // A comma stays behind, an arrow goes along.
            let (behind, along) = if piece.starts_with(',') { piece.split_at(1) } else { ("", piece.as_str()) };
            if let Some(line) = lines.last_mut() {
                line.push_str(behind);
            }
            lines.push(along.trim_start().to_owned());
        } else if let Some(line) = lines.last_mut() {
            line.push_str(&piece);
        }
    }
    for (nth, line) in lines.iter().enumerate() {
        field(out, if nth == 0 { label } else { "" }, line, width)?;
    }
    Ok(())
}
