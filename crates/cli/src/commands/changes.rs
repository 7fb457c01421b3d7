//! `changes` and `merge`: what tasks changed in trees of their own, and the branch that the user gets.

use std::io::Write;
use std::path::Path;

use team_executor_app::changes::{
    Change, FileChange, Land, Landed, Overview, RunChanges, Standing, TaskChanges, Total,
};
use team_executor_app::{App, count};
use unicode_width::UnicodeWidthStr as _;

use crate::args::{Changes, Format, Merge, MergeWhat};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// How many digits of a commit are shown.
const DIGITS: usize = 10;

/// What tasks changed.
pub(crate) fn run(
    app: &App,
    session: Option<&Path>,
    options: &Changes,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let changes = app.changes(session, options.reading.into(), options.of.run.as_deref())?;
    let task = options.task.as_deref();
    if options.patch {
        let patch = changes.patch(task)?;
        printer.out().write_all(&patch)?; // it is for programs, to the byte
        return Ok(Exit::Fine);
    }
    let made = options.branch.as_deref().map(|name| changes.make_branch(task, name).map(|commit| (name, commit)));
    let made = made.transpose()?;
    if options.format == Format::Json {
        printer.json(&changes.json(task, options.stat)?)?;
        return Ok(Exit::Fine);
    }
    let width = printer.width();
    match (made, task) {
        (Some((name, commit)), _) => {
            let name = escape::line(name);
            writeln!(printer.out(), "Branch {name} is at {}: git log -p {name}", short(commit))?;
        }
        (None, None) if options.stat => files(&changes.files(None)?, width, printer.out())?,
        (None, None) => all((&changes, &app.typed()), width, printer.out())?,
        (None, Some(task)) => one(changes.task(task)?, &changes.files(Some(task))?, width, printer.out())?,
    }
    Ok(Exit::Fine)
}

/// Every task, a line each.
fn all((changes, program): (&RunChanges, &str), width: usize, out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out, "{} of run {}", count(changes.tasks.len(), "changed task"), escape::line(&changes.run))?;
    let widest = changes.tasks.iter().map(|task| escape::line(&task.id).width()).max().unwrap_or(0).min(width / 3);
    for task in &changes.tasks {
        let id = escape::pad(&escape::cut(&escape::line(&task.id), widest), widest);
        let TaskChanges { change, standing, .. } = task;
        let line = format!("  {id}  {:<12}  {}  {}", standing.words(), short(&change.commit), size(change.total));
        writeln!(out, "{}", escape::cut(&line, width))?;
    }
    together((changes, program), out)
}

/// Everything that is merged, and how the user takes it over.
fn together((changes, program): (&RunChanges, &str), out: &mut impl Write) -> Result<(), Failure> {
    let Overview { base, trunk, total, branch, branch_at, .. } = &changes.overview;
    if trunk == base {
        writeln!(out, "Nothing is merged yet")?;
        return Ok(());
    }
    writeln!(out, "Merged: {}, from {} to {}", size(*total), short(base), short(trunk))?;
    let branch = escape::line(branch);
    match branch_at {
        Some(at) if at == trunk => {
            writeln!(out, "Branch {branch} has all of it; take it over with: git merge {branch}")?
        }
        _ if changes.overview.is_landed() => writeln!(out, "All of it was given to you")?,
        _ => writeln!(out, "Make branch {branch} of it with: {program} merge land {}", changes.session())?,
    }
    Ok(())
}

/// One task with its files.
fn one(task: &TaskChanges, list: &[FileChange], width: usize, out: &mut impl Write) -> Result<(), Failure> {
    let Change { attempt, base, commit, total, .. } = &task.change;
    let head = format!("{}: {}, attempt {attempt}", escape::line(&task.id), task.standing.words());
    writeln!(out, "{}", escape::cut(&head, width))?;
    writeln!(out, "  commit  {commit}\n  base    {base}")?; // never cut: they are there to be copied
    writeln!(out, "  {}", size(*total))?;
    files(list, width, out)
}

fn files(list: &[FileChange], width: usize, out: &mut impl Write) -> Result<(), Failure> {
    for FileChange { path, lines } in list {
        let (added, removed) = match lines {
            Some((added, removed)) => (format!("+{added}"), format!("-{removed}")),
            None => ("binary".to_owned(), String::new()),
        };
        writeln!(out, "{}", escape::cut(&format!("{added:>8} {removed:>7}  {}", escape::line(path)), width))?;
    }
    Ok(())
}

/// What is merged, and the branch that the user gets of it.
pub(crate) fn merge(
    app: &App,
    session: Option<&Path>,
    options: &Merge,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let run = match &options.what {
        Some(MergeWhat::Status { of } | MergeWhat::Land { of, .. }) => of.run.as_deref(),
        Some(MergeWhat::Retry { .. }) | None => None,
    };
    let reading = options.reading.into();
    match &options.what {
        Some(MergeWhat::Retry { tasks }) => {
            let Some(asked) = app.merge_again(session, reading, tasks)? else {
                if options.format == Format::Text {
                    writeln!(printer.out(), "All changes merge; nothing is to be done again")?;
                } else {
                    printer.json(&app.changes(session, reading, None)?.json_merge())?;
                }
                return Ok(Exit::Fine);
            };
            super::control::show_noted(app, session, asked, options.format, printer)
        }
        Some(MergeWhat::Land { ff, .. }) => {
            let changes = app.changes(session, reading, run)?;
            land((&changes, &app.typed()), if *ff { Land::FastForward } else { Land::Branch }, options.format, printer)
        }
        Some(MergeWhat::Status { .. }) | None => {
            let changes = app.changes(session, reading, run)?;
            match options.format {
                Format::Json => printer.json(&changes.json_merge())?,
                Format::Text => standings((&changes, &app.typed()), printer.width(), printer.out())?,
            }
            Ok(Exit::Fine)
        }
    }
}

/// Which tasks are merged, and which are not.
fn standings((changes, program): (&RunChanges, &str), width: usize, out: &mut impl Write) -> Result<(), Failure> {
    const ALL: [Standing; 6] = [
        Standing::Merged,
        Standing::Testing,
        Standing::Waiting,
        Standing::NotAccepted,
        Standing::NotMerged,
        Standing::Left,
    ];
    writeln!(out, "Merging of run {}", escape::line(&changes.run))?;
    for standing in ALL {
        let tasks = changes.standing(standing);
        if !tasks.is_empty() {
            super::plan::list(out, standing.label(), tasks.into_iter().map(escape::line), ", ", width)?;
        }
    }
    together((changes, program), out)?;
    if changes.count(Standing::NotMerged) > 0 {
        writeln!(out, "Do what is not merged again with: {program} merge retry {}", changes.session())?;
    }
    Ok(())
}

/// Gives the user what is merged.
fn land(
    (changes, program): (&RunChanges, &str),
    how: Land,
    format: Format,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let landed = changes.land(how)?;
    let exit = if matches!(landed, Landed::Not { .. }) { Exit::Unfinished } else { Exit::Fine };
    if format == Format::Json {
        printer.json(&changes.json_landed(&landed))?;
        return Ok(exit);
    }
    let out = printer.out();
    match &landed {
        Landed::Nothing => writeln!(out, "Nothing is merged yet, so there is nothing to land")?,
        Landed::Branch { name, commit, instead } => {
            if let Some(why) = instead {
                writeln!(out, "The checkout was not moved along: {}", escape::line(why))?;
            }
            let name = escape::line(name);
            writeln!(out, "Branch {name} is at {}; take it over with: git merge {name}", short(commit))?;
        }
        Landed::FastForward { branch, commit } => {
            writeln!(
                out,
                "Branch {} is at {}, which has everything that is merged",
                escape::line(branch),
                short(commit)
            )?;
        }
        Landed::Not { name, why } => {
            writeln!(out, "Branch {}: {}", escape::line(name), escape::line(why))?;
            writeln!(out, "help: make another branch: {program} changes --branch mine/again {}", changes.session())?;
        }
    }
    Ok(exit)
}

/// How much differs, in words.
pub(super) fn size(Total { files, added, removed }: Total) -> String {
    format!("{}, +{added} -{removed}", count(files, "file"))
}

/// The first digits of a commit.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..DIGITS).unwrap_or(commit)
}
