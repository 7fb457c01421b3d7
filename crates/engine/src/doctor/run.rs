//! How one run stands: its journal, its lock, its workers, what is left over, and what people read.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use team_executor_agents::Harvest;
use team_executor_beneath::{io_error, ours, read_regular};
use team_executor_core::{Graph, Session};
use team_executor_files::json::{self, Value};
use team_executor_files::limits;
use team_executor_store::run_folder::{EXECUTOR, JOURNAL, KEEPERS, LOCK, RESERVE};
use team_executor_store::{Disk as _, Examined, Flaw, RESERVE_BYTES, RealDisk, examine, held_by, strays};

use super::Check;
use crate::begin::plan::Plan;
use crate::begin::replay;
use crate::begin::run_at;
use crate::options::Failure;
use crate::render::views::{state, table_text};

/// How a run stands.
#[derive(Debug)]
pub struct RunChecks {
    /// Its name.
    pub id: String,
    /// Each thing that was looked at.
    pub checks: Vec<Check>,
    /// What a repair of its journal would give up, in words; nothing if it is not damaged.
    pub given_up: Vec<String>,
}

/// Looks at the run in a folder. `named` is how the user named it, for printed commands; with the session
/// that it is of, what is rendered is compared too.
pub fn run(path: &Path, named: &str, session: Option<(&Session, &Graph)>) -> Result<RunChecks, Failure> {
    let id = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let executor = path.join(EXECUTOR);
    let file = executor.join(JOURNAL);
    let durable = run_at::durable(path);
    let bytes = match read_regular(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound && durable > 0 => Vec::new(),
        read => read.map_err(Failure::disk("read", &file))?,
    };
    let found = examine(&bytes, durable);
    let texts = texts(&bytes, &found);
    let mut checks = vec![journal(&found, &texts, named)];
    checks.extend(reserve(&executor, &texts));
    let given_up = if found.damage.is_some() { given_up(&bytes, &found) } else { Vec::new() };
    if ours::open(&executor).is_err() {
        return Ok(RunChecks { id, checks, given_up });
    }
    let disk = open(&executor)?;
    let holder = held_by(&disk, LOCK).map_err(|error| Failure::disk("look at", &executor)(error.errno.into()))?;
    if let Some(by) = holder {
        checks.push(Check::fine("lock", format!("an executor is at work: {by}")));
    } else {
        checks.push(Check::fine("lock", "it is free: no executor is at work"));
        checks.push(keepers(path)?);
        checks.push(temporaries(&[&disk, &open(path)?], named)?);
        let session = session.filter(|_| found.damage.is_none() && !texts.is_empty());
        checks.extend(session.map(|(session, graph)| view(path, &texts, session, graph)));
    }
    Ok(RunChecks { id, checks, given_up })
}

/// Whether keepers of an earlier executor, and their workers, may still live.
pub(super) fn is_alive(path: &Path) -> Result<bool, Failure> {
    let ledgers = path.join(EXECUTOR).join(KEEPERS);
    let harvest = Harvest::gather(&ledgers, &[], Duration::ZERO).map_err(Failure::disk("look at", &ledgers))?;
    Ok(harvest.is_none())
}

/// All records that can be read, also those behind a damage.
fn texts<'b>(bytes: &'b [u8], found: &Examined) -> Vec<&'b str> {
    let all = found.records.iter().chain(&found.behind);
    all.filter_map(|record| str::from_utf8(&bytes[record.clone()]).ok()).collect()
}

pub(super) fn open(path: &Path) -> Result<RealDisk, Failure> {
    RealDisk::open_folder(path).map_err(|error| Failure::disk("open", path)(io_error(error)))
}

fn journal(found: &Examined, texts: &[&str], named: &str) -> Check {
    let records = found.records.len();
    if let Some(damage) = found.damage {
        let says = format!(
            "damaged: {damage}. No crash does that: something else wrote to it, or the disk lost it. \
             The {records} records before it are good"
        );
        let help = format!("give up what comes after them, keeping a copy: team-executor doctor {named} --repair");
        return Check::bad("journal", says, help);
    }
    let epochs = found.epochs;
    let whole = format!("{records} records by {epochs} executor{}", if epochs == 1 { "" } else { "s" });
    if let Some(torn) = found.torn {
        let says = format!("{whole}; the last {} bytes, from byte {} on, were never committed", torn.bytes, torn.at);
        return Check::weak("journal", says, "nothing: the next run cuts them off");
    }
    match texts.first() {
        None => Check::weak("journal", "empty: the run never began", "nothing: the next run begins anew"),
        Some(first) if Plan::read(first).is_none() => Check::bad(
            "journal",
            format!("whole, with {whole}, but written by another version"),
            "continue the run with the version that began it",
        ),
        Some(_) => Check::fine("journal", format!("whole: {whole}")),
    }
}

/// Whether workers could finish if the disk got full. A finished run has none left to care about.
fn reserve(executor: &Path, texts: &[&str]) -> Option<Check> {
    let is_finished =
        texts.last().and_then(|last| RecordFields::parse(last)).is_some_and(|last| last.kind == "finished");
    if is_finished || texts.is_empty() {
        return None;
    }
    let kept = ours::open(executor).ok().and_then(|executor| executor.length(RESERVE)).unwrap_or(0);
    Some(if kept >= RESERVE_BYTES as u64 {
        Check::fine("reserve", "room is kept for the journal: if the disk gets full, workers can finish")
    } else {
        let says = "less room is kept for the journal than it may need: if the disk gets full, workers are ended";
        Check::weak("reserve", says, "make room on the disk (df -h); the next run keeps some again")
    })
}

fn keepers(path: &Path) -> Result<Check, Failure> {
    if is_alive(path)? {
        let says = "the executor is gone, and keepers are ending its workers";
        return Ok(Check::weak("keepers", says, "wait a moment; the next run waits for it too"));
    }
    Ok(Check::fine("keepers", "no worker of an earlier executor lives"))
}

fn temporaries(disks: &[&RealDisk], named: &str) -> Result<Check, Failure> {
    let mut names = Vec::new();
    for disk in disks {
        let found = strays(*disk);
        names.extend(found.map_err(|error| Failure::disk("list", error.name.clone())(error.errno.into()))?);
    }
    if names.is_empty() {
        return Ok(Check::fine("temporaries", "no unfinished file is left"));
    }
    let says = format!("a crash left {}", names.join(", "));
    Ok(Check::weak("temporaries", says, format!("the next run removes it; now: team-executor doctor {named} --repair")))
}

/// Compares what people read with what the journal says.
fn view(path: &Path, texts: &[&str], session: &Session, graph: &Graph) -> Check {
    match expected(path, texts, session, graph) {
        Err(check) => *check,
        Ok(text) if table(path).is_some_and(|bytes| bytes == text.as_bytes()) => {
            Check::fine("views", "tasks.csv agrees with the journal")
        }
        Ok(_) => Check::weak(
            "views",
            "tasks.csv differs from the journal: it was edited, or the executor was killed before it was written",
            "nothing: the next run writes it again",
        ),
    }
}

/// What `tasks.csv` says.
fn table(path: &Path) -> Option<Vec<u8>> {
    open(path).ok()?.read("tasks.csv").ok()
}

/// What `tasks.csv` should say, or why that is not known.
fn expected(path: &Path, texts: &[&str], session: &Session, graph: &Graph) -> Result<String, Box<Check>> {
    let unknown = |says: String, help: &str| Box::new(Check::bad("views", says, help));
    let plan = texts.first().and_then(|first| Plan::read(first));
    let plan = plan.map(|plan| plan.amend(texts.iter().skip(1).copied()));
    let plan = plan.ok_or_else(|| unknown("their right content is unknown".to_owned(), "see the journal above"))?;
    if !plan.is_of(session) {
        let says = "the tasks of the session differ from those of the run".to_owned();
        return Err(unknown(says, "undo the change, or move the run's folder away to begin anew"));
    }
    let mut session = session.clone();
    let policy = plan.policy(&session);
    plan.put_into(&mut session.tasks);
    let run = path.file_name().unwrap_or_default().to_string_lossy();
    let rules = replay::rules(&session.tasks, graph, &run, policy, texts.iter().skip(1).copied());
    let rules = rules.map_err(|failure| unknown(failure.to_string(), "see the journal above"))?;
    state::refresh(&mut session, &rules, &run);
    // Columns that are not ours stay as they are.
    let there = table(path).and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(table_text(there.as_deref(), &mut session, graph, limits::TASKS_BYTES))
}

/// The records that a cut would give up, in words.
fn given_up(bytes: &[u8], found: &Examined) -> Vec<String> {
    let Some(damage) = found.damage else { return Vec::new() };
    let lines = bytes[damage.offset..].split_inclusive(|byte| *byte == b'\n').count();
    let mut words: Vec<String> = found
        .behind
        .iter()
        .filter_map(|record| str::from_utf8(&bytes[record.clone()]).ok())
        .map(|record| match RecordFields::parse(record) {
            Some(RecordFields { kind, task: Some(task), attempt }) => format!("{kind} {task} (attempt {attempt})"),
            Some(RecordFields { kind, .. }) => kind,
            None => "a record of another version".to_owned(),
        })
        .collect();
    match lines - words.len() {
        0 => {}
        1 => words.insert(0, "a line that cannot be read".to_owned()),
        lines => words.insert(0, format!("{lines} lines that cannot be read")),
    }
    if damage.flaw == Flaw::Missing {
        words.push("whatever is missing".to_owned());
    }
    words
}

/// What is said of most records.
struct RecordFields {
    kind: String,
    task: Option<String>,
    attempt: u32,
}

impl RecordFields {
    fn parse(record: &str) -> Option<Self> {
        let document = json::parse(record).ok()?;
        let root = document.root();
        let text = |name: &str| root.get(name).and_then(Value::as_text).map(|text| text.into_owned());
        let attempt = root.get("attempt").and_then(Value::as_i64).and_then(|number| number.try_into().ok());
        Some(Self { kind: text("type")?, task: text("task"), attempt: attempt.unwrap_or(0) })
    }
}
