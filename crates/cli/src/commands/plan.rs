//! `plan`: what a run would do. Nothing is started and nothing on disk changes.

mod json;
mod means;
mod text;

use std::io::Write;
use std::path::Path;

use team_executor_core::{Plan, Session};
use team_executor_files::picture::{Node, Picture};
use team_executor_files::{Code, Finding};

use self::means::Means;
use super::report;
use super::run::{WAVES_MOVE, note, warn, waves_can_move};
use super::validate::count;
use crate::args::{self, Format, PlanFormat};
use crate::config::check;
use crate::diagnostics;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::joining;
use crate::open;
use crate::place::Place;
use crate::printer::Printer;

pub(crate) use text::mark;
pub(super) use text::{joined, list, states};

/// Reads, plans and prints. Findings go to standard error, unless the format holds them; where there is no plan, JSON is
/// the report of `validate`.
pub(crate) fn run(session: Option<&Path>, options: &args::Plan, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut opened = match open::session(session, &options.reading) {
        Err(Failure::Refused(finding, _)) if options.format == PlanFormat::Json => {
            report::write_failure(&finding, printer.out())?;
            return Ok(Exit::Invalid);
        }
        result => result?,
    };
    let planned = opened.session.take().map(|(session, graph)| (Plan::of(&session, graph), session));
    if options.format == PlanFormat::Json && planned.is_none() {
        report::write(&opened, printer.out())?;
        return Ok(Exit::Invalid);
    }
    if options.format != PlanFormat::Json {
        let width = printer.width();
        let findings = diagnostics::all(&opened.findings, &opened.sources, &opened.path, width);
        write!(printer.err(), "{findings}")?;
    }
    let Some((plan, session)) = planned else {
        let errors = count(opened.findings.error_count(), "error");
        writeln!(printer.err(), "No plan: the session has {errors}")?;
        return Ok(Exit::Invalid);
    };
    let place = Place::of(Some(Path::new(&opened.path)))?;
    let joining = joining::of(&session, &options.role, &place)?;
    let means = Means::of(&session, &place)?;
    for message in check::unused(&place.config()?, &session) {
        if options.format == PlanFormat::Json {
            opened.findings.push(Finding::warning(Code::InvalidField, message));
        } else {
            warn(&message, Format::Text, printer)?;
        }
    }
    if options.format != PlanFormat::Json && waves_can_move(&session, &plan.graph) {
        note(WAVES_MOVE, Format::Text, printer)?;
    }
    match options.format {
        PlanFormat::Text => text::write(&opened, &session, &plan, (&joining, &means), printer)?,
        PlanFormat::Json => json::write(&opened, &session, &plan, (&joining, &means), printer.out())?,
        PlanFormat::Mermaid => write!(printer.out(), "{}", picture(&session, &plan).to_mermaid())?,
        PlanFormat::Dot => write!(printer.out(), "{}", picture(&session, &plan).to_dot())?,
        PlanFormat::Svg => write!(printer.out(), "{}", picture(&session, &plan).to_svg())?,
    }
    Ok(Exit::Fine)
}

fn picture(session: &Session, plan: &Plan) -> Picture {
    let critical: std::collections::HashSet<_> = plan.critical_path.iter().copied().collect();
    let indexes = (0..).map(team_executor_core::TaskIndex);
    let nodes = indexes.clone().zip(&session.tasks).map(|(index, task)| Node {
        id: task.id.to_string(),
        title: task.title.clone(),
        role: task.role.to_string(),
        status: plan.statuses[index.get()],
        wave: plan.graph.wave(index),
        critical: critical.contains(&index),
    });
    let edges = indexes
        .take(session.tasks.len())
        .flat_map(|task| plan.graph.dependencies(task).iter().map(move |dependency| (dependency.0, task.0)));
    Picture {
        title: session.id.to_string(),
        subtitle: text::summary(session, plan),
        nodes: nodes.collect(),
        edges: edges.collect(),
    }
}
