//! `agents`: who can do tasks here, whether their programs are there and new enough, and whether they answer.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use team_executor_agents::adapters::{Adapter, Order, Permissions, Setup, Version};
use team_executor_agents::driver::say_once;
use team_executor_agents::environment::without_contract;
use team_executor_agents::{Answer, ask, probe};
use team_executor_engine::report::seconds;
use unicode_width::UnicodeWidthStr;

use super::report;
use crate::args::{Agents, Format};
use crate::config::installed::{self, Installed, NotUsable, installed};
use crate::config::read::no_agent;
use crate::config::{Agent, Kind, Origin};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Place;
use crate::printer::Printer;

/// What an agent is asked, to see whether it answers.
const QUESTION: &str = "This is a test. Use no tools, change nothing, and reply with the single word OK.\n";
/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// One agent.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    kind: &'static str,
    program: Option<String>,
    version: Option<String>,
    /// The versions that it was tested with.
    tested: Vec<String>,
    /// It is newer than those.
    newer: bool,
    usable: bool,
    /// Why not, or why its test failed.
    why: Option<String>,
    help: Option<String>,
    /// How long its answer took, if it was tested and answered.
    answered_ms: Option<u64>,
}

#[derive(Serialize)]
struct Listing<'a> {
    version: u32,
    agents: Vec<Row<'a>>,
}

/// Looks for the programs, asks them, and lists.
pub(crate) fn run(session: Option<&Path>, options: &Agents, printer: &mut Printer) -> Result<Exit, Failure> {
    let place = Place::of(session)?;
    let config = place.config()?;
    let all = &config.settings.agents;
    if let Some(unknown) = options.name.iter().find(|name| !all.contains_key(*name)) {
        return Err(no_agent(&config.settings, unknown).into());
    }
    let wanted = all.iter().filter(|(name, _)| options.name.is_empty() || options.name.contains(name));
    let is_trusted = options.trust_project || config.trusts_project();
    // Some take seconds to answer, so they are asked side by side.
    let agents: Vec<Row<'_>> = std::thread::scope(|scope| {
        let place = &place;
        let asked = wanted.map(|(name, agent)| scope.spawn(move || row(name, agent, options.test, is_trusted, place)));
        let asked: Vec<_> = asked.collect();
        asked.into_iter().map(|row| row.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    // Who is not installed is no failure of a test, unless it was asked for by name.
    let failed = |row: &Row<'_>| if row.usable { row.why.is_some() } else { !options.name.is_empty() };
    let exit = if options.test && agents.iter().any(failed) { Exit::Unfinished } else { Exit::Fine };
    match options.format {
        Format::Json => report::print(&Listing { version: 1, agents }, printer.out())?,
        Format::Text => table(&agents, printer.out())?,
    }
    Ok(exit)
}

fn row<'a>(name: &'a str, agent: &Agent, test: bool, is_trusted: bool, place: &Place) -> Row<'a> {
    let (kind, program) = match &agent.kind {
        Kind::Command(words) => ("command", words.first().cloned()),
        Kind::Agent { program, setup, .. } => (setup.adapter.name(), Some(program.clone())),
        Kind::Rehearsal { .. } => ("rehearsal", None),
    };
    let mut row = Row {
        name,
        kind,
        program,
        version: None,
        tested: Vec::new(),
        newer: false,
        usable: true,
        why: None,
        help: None,
        answered_ms: None,
    };
    if let Kind::Agent { program, setup, .. } = &agent.kind {
        row.tested = setup.adapter.tested(program).iter().map(ToString::to_string).collect();
    }
    let found = match &agent.kind {
        Kind::Rehearsal { .. } => Ok(()),
        Kind::Command(words) => {
            let program = words.first().map(String::as_str).unwrap_or_default();
            let found = probe(program, installed::path(&agent.env, place), &place.project);
            found.map(drop).map_err(NotUsable::from)
        }
        Kind::Agent { .. } if !is_trusted && matches!(agent.from, Origin::Project(_)) => Err(NotUsable::new(
            "the project chose its program, and is not trusted",
            "look at team-executor.toml; then add --trust-project",
        )),
        Kind::Agent { program, setup, .. } => installed(setup, program, &agent.env, place).map(|found| {
            row.program = Some(found.program.display().to_string());
            row.version = Some(found.version.clone()).filter(|version| !version.is_empty());
            let newest = setup.adapter.tested(program).last();
            row.newer = newest.is_some_and(|newest| Version::find(&found.version).is_some_and(|it| it > *newest));
            if test {
                let started = Instant::now();
                match tried(&found, setup, agent, place) {
                    Ok(()) => row.answered_ms = u64::try_from(started.elapsed().as_millis()).ok(),
                    Err(why) => row.why = Some(why),
                }
            }
        }),
    };
    if let Err(NotUsable { why, help, .. }) = found {
        (row.usable, row.why, row.help) = (false, Some(why), Some(help));
    }
    row
}

/// Asks an agent something, without letting it do anything.
fn tried(found: &Installed, setup: &Setup, agent: &Agent, place: &Place) -> Result<(), String> {
    let adapter = setup.adapter;
    let setup = Setup { permissions: Permissions::Read, ..setup.clone() };
    let args = adapter.arguments(&Order { setup: &setup, note: "Reply at once.", schema: None, server: None });
    let passes = adapter.passes().iter().map(|name| (*name).to_owned()).chain(agent.pass_env.iter().cloned());
    let sets = adapter.sets().iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let sets: Vec<_> = sets.chain(agent.env.iter().cloned()).collect();
    let env = without_contract(&place.environment, &passes.collect::<Vec<_>>(), &sets);
    if adapter == Adapter::Acp {
        let said = say_once(&found.program, &setup, &env, &place.project, QUESTION, PATIENCE)?;
        // Some say an error as their last words.
        let is_answer = said.split(|c: char| !c.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case("ok"));
        return if is_answer { Ok(()) } else { Err(format!("it was asked for OK, and said: {}", shortened(&said))) };
    }
    let answer = ask((&found.program, &args), &env, &place.project, QUESTION, PATIENCE);
    let Answer { ended, out, err } = answer.map_err(|error| error.to_string())?;
    let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let stream = adapter.read(out.as_slice(), now);
    let err = String::from_utf8_lossy(&err);
    let complaint = err.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match stream.trouble(&ended, complaint, now) {
        Some(trouble) => Err(trouble.words),
        None if stream.finished => Ok(()),
        None => Err("it did not answer in time".to_owned()),
    }
}

/// The beginning of what an agent said.
fn shortened(said: &str) -> String {
    const MOST: usize = 200;
    if said.is_empty() { "nothing".to_owned() } else { said.chars().take(MOST).collect() }
}

fn table(rows: &[Row<'_>], out: &mut impl Write) -> Result<(), Failure> {
    let widest = |cells: &mut dyn Iterator<Item = usize>| cells.max().unwrap_or(0);
    let name = widest(&mut rows.iter().map(|row| escape::line(row.name).width()).chain(["AGENT".len()]));
    let version = widest(&mut rows.iter().filter_map(|row| Some(row.version.as_ref()?.len())).chain(["VERSION".len()]));
    writeln!(out, "{}  {:9}  {}  STATE", escape::pad("AGENT", name), "KIND", escape::pad("VERSION", version))?;
    for row in rows {
        let state = match (row.usable, row.answered_ms, &row.why) {
            (true, Some(millis), _) => format!("answered in {}", seconds(Duration::from_millis(millis))),
            (true, None, Some(why)) => format!("did not do its test: {why}"),
            (true, None, None) => "usable".to_owned(),
            (false, ..) => format!("not usable: {}", row.why.as_deref().unwrap_or_default()),
        };
        let newest = row.tested.last().filter(|_| row.newer);
        let newer = newest.map(|newest| format!(", newer than the tested {newest}")).unwrap_or_default();
        let state = state + &newer;
        let (name, of) = (escape::pad(&escape::line(row.name), name), row.version.as_deref().unwrap_or("-"));
        writeln!(out, "{name}  {:9}  {}  {}", row.kind, escape::pad(of, version), escape::line(&state))?;
        if let Some(help) = &row.help {
            writeln!(out, "  help: {}", escape::line(help))?;
        }
    }
    Ok(())
}
