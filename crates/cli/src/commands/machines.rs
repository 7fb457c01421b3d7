//! `host`, `hosts` and `backend`: runs on several machines.

use std::io::Write;

use serde::Serialize;
use team_executor_app::App;
use team_executor_app::machines::{BackendCheck, HostNews, HostRow, HostStart};
use unicode_width::UnicodeWidthStr as _;

use crate::args::{AtBackend, Backend, BackendWhat, Format, Host, Hosts};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Runs workers for runs elsewhere.
pub(crate) fn host(app: &App, options: &Host, printer: &mut Printer) -> Result<Exit, Failure> {
    let Host { at, name, slots, label, workdir, lease } = options;
    let start = HostStart {
        backend: at.backend.clone(),
        name: name.clone(),
        slots: *slots,
        labels: label.iter().cloned().collect(),
        workdir: workdir.clone(),
        lease_ms: *lease,
    };
    let mut failed = None;
    app.host(start, &mut |news| {
        if failed.is_none() {
            failed = told(&news, at.format, printer).err();
        }
    })?;
    failed.map_or(Ok(Exit::Fine), Err)
}

fn told(news: &HostNews, format: Format, printer: &mut Printer) -> Result<(), Failure> {
    let line = match (format, news) {
        (Format::Json, news) => serde_json::to_string(news).map_err(std::io::Error::from)?,
        (_, HostNews::Ready { host, slots, server }) => {
            format!("host {host} is ready: {slots} slots, nats-server {server}")
        }
        (_, HostNews::Started { attempt }) => format!("started {attempt}"),
        (_, HostNews::Ended { attempt, how }) => format!("ended {attempt}: {how}"),
        (_, HostNews::Warning { message }) => format!("warning: {message}"),
        (_, HostNews::Draining { running: 0 }) => "no more work is taken".to_owned(),
        (_, HostNews::Draining { running }) => {
            format!("no more work is taken; {running} workers finish, a second signal ends them")
        }
    };
    let line = if format == Format::Json { line } else { escape::line(&line) };
    writeln!(printer.out(), "{line}")?;
    printer.out().flush()?;
    Ok(())
}

/// Lists the hosts.
pub(crate) fn hosts(app: &App, options: &Hosts, printer: &mut Printer) -> Result<Exit, Failure> {
    #[derive(Serialize)]
    struct Listing<'a> {
        version: u32,
        hosts: &'a [HostRow],
    }
    let rows = app.hosts(options.at.backend.as_deref())?;
    match options.at.format {
        Format::Json => printer.json(&Listing { version: 1, hosts: &rows })?,
        Format::Text => table(&rows, printer.out())?,
    }
    Ok(Exit::Fine)
}

fn table(rows: &[HostRow], out: &mut impl Write) -> std::io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "No host has been here");
    }
    let widest = rows.iter().map(|row| escape::line(&row.host).width()).max().unwrap_or(0).max(4);
    let head = escape::pad("HOST", widest);
    writeln!(out, "{head}  {:8}  {:>7}  {:>6}  {:16}  LABELS", "STATE", "RUNNING", "SEEN", "AGENTS")?;
    for row in rows {
        let labels: Vec<_> = row.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let name = escape::pad(&escape::line(&row.host), widest);
        let running = format!("{}/{}", row.running.len(), row.slots);
        let seen = format!("{}s", row.seen_ms / 1000);
        let line = format!(
            "{name}  {:8}  {running:>7}  {seen:>6}  {:16}  {}",
            row.state,
            row.agents.join(","),
            escape::line(&labels.join(","))
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Looks at the backend.
pub(crate) fn backend(app: &App, options: &Backend, printer: &mut Printer) -> Result<Exit, Failure> {
    #[derive(Serialize)]
    struct Listing<'a> {
        version: u32,
        checks: &'a [BackendCheck],
    }
    let BackendWhat::Check(AtBackend { backend, format }) = &options.what;
    let checks = app.check_backend(backend.as_deref())?;
    match format {
        Format::Json => printer.json(&Listing { version: 1, checks: &checks })?,
        Format::Text => checks.iter().try_for_each(|line| {
            let message = escape::line(&line.message);
            writeln!(printer.out(), "{:8}  {:4}  {message}", line.check, line.result)
        })?,
    }
    let is_good = checks.iter().all(|check| check.result != "bad");
    Ok(if is_good { Exit::Fine } else { Exit::Invalid })
}
