//! `status --watch`: shows a run anew whenever its journal grows, until it is over, or no executor has it.

use std::io::Write;
use std::time::{Duration, Instant};

use anstream::adapter::strip_str;
use team_executor_app::status::journal;
use team_executor_app::{App, Changes, Opened, Status, is_heard};
use team_executor_beneath::ours;
use team_executor_core::{Graph, Session};

use super::text;
use crate::args::Format;
use crate::escape;
use crate::face::Painter;
use crate::failure::Failure;
use crate::printer::{self, Printer};

/// The shortest time between two looks; never more than a twentieth of the time is spent on looking.
const FRAME: Duration = Duration::from_millis(100);
/// How often times are shown anew while workers run, and how often is looked whether an executor still has the run.
const TICK: Duration = Duration::from_secs(1);

/// What is watched, and how it is shown.
pub(super) struct Watched<'a> {
    pub(super) app: &'a App,
    pub(super) opened: &'a Opened,
    pub(super) session: &'a Session,
    pub(super) graph: &'a Graph,
    pub(super) path: &'a str,
    pub(super) format: Format,
}

/// Shows a run until it is over, until no executor has it, or until the reader is gone.
pub(super) fn watch(watched: &Watched<'_>, status: &Status, printer: &mut Printer) -> Result<(), Failure> {
    let journal = journal(status);
    let watch = Changes::adding_to(&[&journal]);
    let length = || ours::look_at(&journal).map_or(0, |file| file.st_size);
    let mut painter = Painter::default();
    loop {
        let (began, seen) = (Instant::now(), length());
        let Some(status) = watched.app.latest_status(watched.opened)? else { return Ok(()) };
        let is_at_end = status.running.is_empty() && matches!(status.stage, "draining" | "stopping");
        let is_over = status.finished || !status.is_heard || is_at_end;
        show(watched, &status, is_over, &mut painter, printer)?;
        if is_over || printer.reader_is_gone() {
            return Ok(());
        }
        std::thread::sleep(FRAME.max(began.elapsed() * 20));
        let times_go_on = watched.format == Format::Text && printer.out_is_live() && !status.running.is_empty();
        loop {
            watch.wait(Some(TICK));
            if times_go_on || length() != seen || !is_heard(&status.folder) {
                break;
            }
        }
    }
}

fn show(
    watched: &Watched<'_>,
    status: &Status,
    is_over: bool,
    painter: &mut Painter,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let Watched { app, opened, format, .. } = watched;
    if *format == Format::Json {
        let json = app.status_json(opened, Some(status))?;
        serde_json::to_writer(printer.out(), &json).map_err(std::io::Error::from)?;
        writeln!(printer.out())?;
    } else if printer.out_is_live() && !is_over {
        let (columns, rows) = printer::terminal_size();
        let (columns, rows) = (columns.max(40), rows.max(4));
        let lines = |brief| -> Result<Vec<String>, Failure> {
            let mut shown = Vec::new();
            text(watched, status, columns, brief, &mut shown)?;
            let shown = strip_str(&String::from_utf8_lossy(&shown)).to_string();
            Ok(shown.lines().map(|line| escape::cut(line, columns - 1)).collect())
        };
        let mut shown = lines(false)?;
        if shown.len() >= rows {
            shown = lines(true)?;
        }
        if shown.len() >= rows {
            let more = shown.len() - (rows - 2);
            shown.truncate(rows - 2);
            shown.push(format!("… and {more} more lines"));
        }
        write!(printer.raw_out()?, "{}", painter.frame("", &shown, columns))?;
    } else {
        if printer.out_is_live() {
            write!(printer.raw_out()?, "{}", painter.frame("", &[], printer::terminal_size().0))?;
        }
        text(watched, status, printer.width(), false, printer.out())?;
        if !is_over {
            writeln!(printer.out())?;
        }
    }
    printer.flush()
}
