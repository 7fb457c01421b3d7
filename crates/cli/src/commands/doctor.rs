//! `doctor`: what protects a run here, whether a run is whole, and the repairs that lose nothing which could be used.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use team_executor_beneath::ours;
use team_executor_core::TaskStatus;
use team_executor_engine::doctor::{Check, Repaired, RunChecks, Verdict, machine, place, repair, run as look, run_of};
use team_executor_engine::{self as engine};
use team_executor_files::{Code, Finding};
use team_executor_store::run_folder::{project_root, run_path};

use super::archived;
use super::plan::mark;
use super::report;
use super::validate::count;
use crate::args::{Doctor, Format, Reading};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::{self, Printer};

/// How many records that are given up are named one by one.
const NAMED: usize = 20;

/// What is looked at.
struct Patient {
    project: PathBuf,
    /// The folder of the run, if there is one.
    run: Option<PathBuf>,
    /// How the user named it, as a shell reads it.
    named: String,
    session: Option<open::Opened>,
}

/// Everything that was found.
struct Found {
    machine: Vec<Check>,
    place: Vec<Check>,
    run: Option<RunChecks>,
}

/// Looks, repairs if that is wanted, and shows what came of it.
pub(crate) fn run(session: Option<&Path>, options: &Doctor, printer: &mut Printer) -> Result<Exit, Failure> {
    let patient = patient(session, options)?;
    let refused = |failure| refused(failure, &patient);
    let mut found = found(&patient).map_err(refused)?;
    let mut repaired = None;
    if options.repair {
        let Some(path) = &patient.run else {
            if let Some(finding) = archived::finding(session) {
                return Err(finding.into());
            }
            let finding = Finding::error(Code::Usage, "there is no run to repair");
            let help = match session {
                Some(_) => format!("the session was never run; begin with: team-executor run {}", patient.named),
                None => "name it: team-executor doctor --session=PATH --repair".to_owned(),
            };
            return Err(finding.help(help).into());
        };
        if !confirmed(&found, options, printer)? {
            return Ok(Exit::Invalid);
        }
        let again = repair(path).and_then(|done| Ok((done, self::found(&patient)?)));
        let (done, again) = again.map_err(refused)?;
        (repaired, found) = (Some(done), again);
    }
    match options.format {
        Format::Json => json(&patient, &found, repaired.as_ref(), printer.out())?,
        Format::Text => text(&patient, &found, repaired.as_ref(), printer)?,
    }
    let checks = found.machine.iter().chain(&found.place).chain(found.run.iter().flat_map(|run| &run.checks));
    let is_bad = checks.into_iter().any(|check| check.verdict == Verdict::Bad);
    Ok(if is_bad { Exit::Invalid } else { Exit::Fine })
}

/// Finds out what is to be looked at.
fn patient(session: Option<&Path>, options: &Doctor) -> Result<Patient, Failure> {
    let current = open::current()?;
    if let Some(id) = &options.run {
        let run = run_path(&current, id);
        let is_name = Path::new(id).components().count() == 1 && !id.starts_with('.');
        if !is_name || ours::open(&run).is_err() {
            let finding = Finding::error(Code::Usage, format!("there is no run {} here", escape::line(id)));
            return Err(finding.help("team-executor sessions lists the runs; start it in the project's folder").into());
        }
        let named = format!("--run {}", escape::shell_word(id));
        return Ok(Patient { project: current, run: Some(run), named, session: None });
    }
    let Some(path) = session else {
        return Ok(Patient { project: current, run: None, named: "--session=PATH".to_owned(), session: None });
    };
    // What is wrong with the session itself is the business of `validate`.
    let opened = open::session(Some(path), &Reading { dialect: None, strict: false, ignore_results: false })?;
    let folder = open::place(Some(path))?.folder;
    Ok(Patient {
        project: project_root(&folder, &current),
        run: run_of(&folder, &current),
        named: escape::session(&opened.path),
        session: Some(opened),
    })
}

fn found(patient: &Patient) -> Result<Found, engine::Failure> {
    let session = patient.session.as_ref().and_then(|opened| opened.session.as_ref());
    let session = session.map(|(session, graph)| (session, graph));
    let run = patient.run.as_ref().map(|path| look(path, &patient.named, session)).transpose()?;
    Ok(Found { machine: machine(), place: place(&patient.project), run })
}

/// Says what would be given up, and asks. Where nothing is, there is nothing to ask.
fn confirmed(found: &Found, options: &Doctor, printer: &mut Printer) -> Result<bool, Failure> {
    let given_up = found.run.as_ref().map_or(&[][..], |run| &run.given_up);
    if given_up.is_empty() {
        return Ok(true);
    }
    let err = printer.err();
    writeln!(err, "The journal is copied, then cut. These records are given up:")?;
    for words in given_up.iter().take(NAMED) {
        writeln!(err, "  {}", escape::line(words))?;
    }
    if given_up.len() > NAMED {
        writeln!(err, "  and {} more", given_up.len() - NAMED)?;
    }
    writeln!(err, "Tasks whose completion is among them are done again.")?;
    if options.yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        let finding = Finding::error(Code::Usage, "the repair was not confirmed, so nothing was changed");
        return Err(finding.help("add -y to repair without being asked").into());
    }
    write!(err, "Repair? [y/N] ")?;
    err.flush()?;
    let answer = printer::typed(&mut std::io::stdin().lock())?.unwrap_or_default();
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn refused(failure: engine::Failure, patient: &Patient) -> Failure {
    let (exit, help) = match failure {
        engine::Failure::Held(_) => {
            let named = if patient.session.is_some() { patient.named.as_str() } else { "--session=PATH" };
            (Exit::Held, format!("wait for it to end, or end it with: team-executor stop {named}"))
        }
        engine::Failure::StillRunning(_) => (Exit::Held, "its keeper is ending it; try again in a moment".to_owned()),
        _ => (Exit::Io, "nothing more was changed; once the cause is gone, try again".to_owned()),
    };
    Failure::Refused(Box::new(Finding::error(Code::Usage, failure.to_string()).help(help)), exit)
}

fn text(patient: &Patient, found: &Found, repaired: Option<&Repaired>, printer: &mut Printer) -> Result<(), Failure> {
    let width = printer.width();
    let out = printer.out();
    section(out, "Protections of workers", &found.machine, width)?;
    section(out, &format!("Project {}", patient.project.display()), &found.place, width)?;
    match (&found.run, &patient.session) {
        (Some(run), _) => section(out, &format!("Run {}", run.id), &run.checks, width)?,
        (None, Some(session)) => no_run(&session.path, out)?,
        (None, None) => {}
    }
    if let Some(Repaired { copy, removed }) = repaired {
        if let Some(copy) = copy {
            writeln!(out, "Repaired: the journal was cut; all of it is in .executor/{}", escape::line(copy))?;
        }
        if *removed > 0 {
            writeln!(out, "Repaired: {} removed", count(*removed, "unfinished file"))?;
        }
        if copy.is_none() && *removed == 0 {
            writeln!(out, "There was nothing to repair")?;
        }
    }
    Ok(())
}

/// Says that there is no run to look at: it was put away, or there never was one.
fn no_run(session: &str, out: &mut impl Write) -> Result<(), Failure> {
    let Some(finding) = archived::finding(Some(Path::new(session))) else {
        return Ok(writeln!(out, "Session {} was never run", escape::line(session))?);
    };
    writeln!(out, "Session {}: {}", escape::line(session), escape::line(&finding.message))?;
    Ok(finding.help.iter().try_for_each(|help| writeln!(out, "  help: {}", escape::line(help)))?)
}

fn section(out: &mut impl Write, title: &str, checks: &[Check], width: usize) -> Result<(), Failure> {
    const NAME: usize = 14;
    let room = width - NAME - 4;
    writeln!(out, "{}", escape::line(title))?;
    for check in checks {
        // The marks of the tasks, which everybody knows already.
        let (sign, style) = match check.verdict {
            Verdict::Fine => mark(TaskStatus::Completed),
            Verdict::Weak => mark(TaskStatus::Skipped),
            Verdict::Bad => mark(TaskStatus::Failed),
        };
        let help = check.help.iter().flat_map(|help| escape::wrap(&format!("help: {help}"), room));
        let mut lines = escape::wrap(&check.says, room).into_iter().chain(help);
        let first = lines.next().unwrap_or_default();
        writeln!(out, "  {style}{sign}{style:#} {:NAME$}{first}", check.name)?;
        for line in lines {
            writeln!(out, "    {:NAME$}{line}", "")?;
        }
    }
    writeln!(out)?;
    Ok(())
}

#[derive(Serialize)]
struct JsonReport<'a> {
    version: u32,
    machine: Vec<JsonCheck<'a>>,
    project: String,
    place: Vec<JsonCheck<'a>>,
    run: Option<JsonRun<'a>>,
    repaired: Option<JsonRepaired<'a>>,
}

#[derive(Serialize)]
struct JsonCheck<'a> {
    name: &'a str,
    verdict: &'a str,
    says: &'a str,
    help: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonRun<'a> {
    id: &'a str,
    folder: String,
    checks: Vec<JsonCheck<'a>>,
    given_up: &'a [String],
}

#[derive(Serialize)]
struct JsonRepaired<'a> {
    copy: Option<&'a str>,
    removed: usize,
}

fn json(patient: &Patient, found: &Found, repaired: Option<&Repaired>, out: &mut impl Write) -> Result<(), Failure> {
    let run = found.run.as_ref().zip(patient.run.as_ref());
    let value = JsonReport {
        version: 1,
        machine: checks(&found.machine),
        project: patient.project.display().to_string(),
        place: checks(&found.place),
        run: run.map(|(run, path)| JsonRun {
            id: &run.id,
            folder: path.display().to_string(),
            checks: checks(&run.checks),
            given_up: &run.given_up,
        }),
        repaired: repaired.map(|done| JsonRepaired { copy: done.copy.as_deref(), removed: done.removed }),
    };
    report::print(&value, out)
}

fn checks(checks: &[Check]) -> Vec<JsonCheck<'_>> {
    checks
        .iter()
        .map(|Check { name, verdict, says, help }| JsonCheck {
            name,
            verdict: verdict.word(),
            says,
            help: help.as_deref(),
        })
        .collect()
}
