//! The plan before a start: every task with its wave, its role and its mode. Then the user is asked.

use std::io::{IsTerminal, Write};

use team_executor_app::count;
use team_executor_core::{Graph, Session, TaskIndex};
use team_executor_files::{Code, Finding};
use unicode_width::UnicodeWidthStr;

use crate::commands::plan::{converses, mode};
use crate::escape;
use crate::failure::Failure;
use crate::printer::Printer;

/// How many tasks are shown; of each wave at most a quarter of that.
const SHOWN: usize = 40;
const OF_WAVE: usize = SHOWN / 4;

/// Shows the breakdown and asks. Where no user can be asked, nothing is started.
pub(super) fn confirmed(
    session: &Session,
    graph: &Graph,
    programs: &[String],
    path: &str,
    printer: &mut Printer,
) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(not_confirmed());
    }
    let width = printer.width();
    let err = printer.err();
    for line in lines(session, graph, path, width) {
        writeln!(err, "{line}")?;
    }
    programs.iter().try_for_each(|program| writeln!(err, "{program}"))?;
    let answer = printer.ask("Start? [Y/n] ")?;
    let is_yes = answer.is_some_and(|answer| matches!(answer.as_str(), "" | "y" | "yes"));
    if !is_yes {
        writeln!(printer.err(), "Nothing was started")?;
    }
    Ok(is_yes)
}

/// The refusal where no person can be asked.
pub(super) fn not_confirmed() -> Failure {
    let finding = Finding::error(Code::Usage, "the start was not confirmed, so nothing was started");
    finding.help("add -y to start without being asked").into()
}

fn lines(session: &Session, graph: &Graph, path: &str, width: usize) -> Vec<String> {
    let waves: Vec<&[TaskIndex]> = graph.order().chunk_by(|a, b| graph.wave(*a) == graph.wave(*b)).collect();
    let (tasks, in_waves) = (count(session.tasks.len(), "task"), count(waves.len(), "wave"));
    let mut lines = vec![escape::cut(&format!("Session {}: {tasks} in {in_waves}", session.id), width)];
    let mut room = SHOWN;
    let shown: Vec<&[TaskIndex]> = waves
        .iter()
        .map(|wave| {
            let shown = &wave[..wave.len().min(OF_WAVE).min(room)];
            room -= shown.len();
            shown
        })
        .take_while(|shown| !shown.is_empty())
        .collect();
    let widest = |of: &dyn Fn(&TaskIndex) -> usize, most: usize| {
        shown.iter().copied().flatten().map(of).max().unwrap_or(0).min(most)
    };
    let task = |index: &TaskIndex| &session.tasks[index.get()];
    let id = widest(&|index| task(index).id.as_str().width(), 24);
    let role = widest(&|index| task(index).role.as_str().width(), 18);
    let has_modes = session.tasks.iter().any(converses);
    for (nth, (wave, shown)) in (1..).zip(waves.iter().zip(&shown)) {
        lines.push(format!("Wave {nth}, {}", count(wave.len(), "task")));
        for index in *shown {
            let one = task(index);
            let cell = |text: &str, columns| escape::pad(&escape::cut(text, columns), columns);
            let (id, role) = (cell(one.id.as_str(), id), cell(one.role.as_str(), role));
            let title = if one.title == one.id.as_str() { "" } else { &one.title };
            let after: Vec<_> = graph.dependencies(*index).iter().map(|on| task(on).id.as_str()).collect();
            let after = if after.is_empty() { String::new() } else { format!("  after {}", after.join(", ")) };
            let line = format!("  {id}  {role}{}  {title}{after}", mode(one, has_modes));
            lines.push(escape::cut(line.trim_end(), width));
        }
        if shown.len() < wave.len() {
            lines.push(format!("  … and {} more", wave.len() - shown.len()));
        }
    }
    let left: usize = waves.iter().skip(shown.len()).map(|wave| wave.len()).sum();
    if left > 0 {
        lines.push(format!("… and {} in {} more waves", count(left, "task"), waves.len() - shown.len()));
    }
    if shown.iter().map(|wave| wave.len()).sum::<usize>() < session.tasks.len() {
        lines.push(format!("See all of them with: team-executor plan {}", escape::session(path)));
    }
    lines
}
