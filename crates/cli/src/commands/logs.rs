//! `logs`: what the last attempt at a task printed. On a terminal nothing that it printed can steer the terminal.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;

use team_executor_files::{Code, Finding};

use super::status;
use crate::args::Logs;
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::open;
use crate::printer::Printer;

/// Finds the newest run and the last attempt in it, and prints both of its streams.
pub(crate) fn run(session: Option<&Path>, options: &Logs, printer: &mut Printer) -> Result<Exit, Failure> {
    let opened = open::session(session, &options.reading)?;
    let (session, graph, task) = open::task(&opened, &options.task)?;
    let path = escape::line(&opened.path);
    let status = status::newest(session, graph, &opened.path)?;
    let Some(logs) = status.and_then(|status| status.logs(task, &options.task)) else {
        let finding = Finding::error(Code::Usage, format!("task '{}' was never tried", options.task));
        return Err(finding.help(format!("team-executor status --session={path} shows how the run stands")).into());
    };
    let plain = !std::io::stdout().is_terminal();
    for log in logs {
        // An attempt that never ran has no output.
        if let Ok(file) = File::open(log) {
            copy(BufReader::new(file), plain, printer.out())?;
        }
    }
    Ok(Exit::Fine)
}

fn copy(mut log: impl BufRead, plain: bool, out: &mut impl Write) -> Result<(), Failure> {
    let mut line = Vec::new();
    while log.read_until(b'\n', &mut line)? > 0 {
        if plain {
            out.write_all(&line)?;
        } else {
            writeln!(out, "{}", escape::line(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r'])))?;
        }
        line.clear();
    }
    Ok(())
}
