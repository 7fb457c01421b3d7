//! What happens in a run, for programs: one JSON object a line. The events of the run are printed as the engine tells them; here
//! is what comes before and after them. `docs/reference/events.md` describes both.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use team_executor_app::event::{Counts, Event as RunEvent, VERSION};
use team_executor_app::{Report, WaveReport};
use team_executor_core::Timestamp;
use team_executor_core::run::Ending;
use team_executor_files::time;

use crate::exit::Exit;
use team_executor_app::attention::Item;
use team_executor_app::csv::JobReport;
use team_executor_app::findings::{JsonFinding, JsonHidden};
use team_executor_app::joining::{self, JsonJoining};
use team_executor_app::usage::{JsonHalted, JsonUsage};

/// One thing that is told besides the events of the run itself.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Event<'a> {
    Finding(JsonFinding<'a>),
    HiddenFindings(JsonHidden),
    /// Something odd, told before or after the run.
    Warning {
        message: &'a str,
    },
    Rehearsed {
        tasks: Vec<Rehearsed<'a>>,
        makespan_s: u64,
    },
    RunEnded(Box<Ended<'a>>),
    /// A run goes on in the background.
    Detached {
        run: &'a str,
        process: u32,
        console: String,
    },
    /// The run can be watched in a browser.
    Page {
        address: &'a str,
    },
    /// What needs a person, or what is wrong, has changed.
    Attention {
        needs: &'a [Item],
        problems: &'a [Item],
        attention_counts: &'a BTreeMap<&'static str, usize>,
    },
    /// The table that comes out of a job was written.
    CsvJob(JobReport),
    Refused {
        message: &'a str,
        help: &'a [String],
        exit_code: u8,
    },
}

/// When a task would run.
#[derive(Serialize)]
pub(crate) struct Rehearsed<'a> {
    pub(crate) task: &'a str,
    pub(crate) status: &'static str,
    pub(crate) from_s: Option<u64>,
    pub(crate) to_s: Option<u64>,
    pub(crate) attempts: u32,
    pub(crate) reason: Option<&'a str>,
}

/// How a run came out.
#[derive(Serialize)]
pub(crate) struct Ended<'a> {
    run: &'a str,
    folder: String,
    session: String,
    ending: &'static str,
    already: bool,
    counts: Counts,
    waves: Vec<Wave>,
    roles: Vec<Role<'a>>,
    injected_roles: Vec<JsonJoining>,
    duration_ms: u64,
    deliverables: Vec<Deliverable<'a>>,
    faults: &'a [String],
    rounds: u32,
    decisions: &'a [String],
    artifacts: BTreeMap<&'static str, usize>,
    /// That holds what is completed, if tasks have trees of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    usage: JsonUsage<'a>,
    halted: Option<JsonHalted<'a>>,
    resume: Option<&'a str>,
    exit_code: u8,
}

#[derive(Serialize)]
struct Wave {
    wave: u32,
    tasks: usize,
    completed: usize,
    failed: usize,
    skipped: usize,
}

#[derive(Serialize)]
struct Role<'a> {
    name: &'a str,
    tasks: usize,
    completed: usize,
}

#[derive(Serialize)]
struct Deliverable<'a> {
    path: String,
    task: Option<&'a str>,
    role: &'a str,
}

impl<'a> Event<'a> {
    /// The last event of a run, with the command that continues it, if it can be continued.
    pub(crate) fn ended(report: &'a Report, resume: Option<&'a str>, exit: Exit) -> Self {
        let wave = |(wave, report): (u32, &WaveReport)| {
            let WaveReport { tasks, completed, failed, skipped } = *report;
            Wave { wave, tasks, completed, failed, skipped }
        };
        let roles = report.roles.iter();
        let deliverables = report.deliverables.iter();
        Self::RunEnded(Box::new(Ended {
            run: &report.run,
            folder: report.folder.display().to_string(),
            session: report.session.display().to_string(),
            ending: match report.ending {
                Ending::AllCompleted => "completed",
                Ending::WithFailures => "completed_with_failures",
                Ending::Paused => "paused",
                Ending::Drained => "drained",
                Ending::Stopped => "stopped",
            },
            already: report.already,
            counts: report.counts.into(),
            waves: (1..).zip(&report.waves).map(wave).collect(),
            roles: roles
                .map(|role| Role { name: role.name.as_str(), tasks: role.tasks, completed: role.completed })
                .collect(),
            injected_roles: joining::json(&report.joining),
            duration_ms: u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
            deliverables: deliverables
                .map(|one| Deliverable {
                    path: one.path.display().to_string(),
                    task: one.task.as_deref(),
                    role: &one.role,
                })
                .collect(),
            faults: &report.faults,
            rounds: report.rounds,
            decisions: &report.decisions,
            artifacts: report.artifacts.iter().map(|(state, count)| (state.word(), *count)).collect(),
            usage: JsonUsage::sum(&report.used),
            branch: report.branch(),
            halted: report.halt.as_ref().map(JsonHalted::from_halted),
            resume,
            exit_code: exit.code(),
        }))
    }
}

/// Prints one event with its time, and flushes it for its reader.
pub(crate) fn print(event: &Event<'_>, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line<'a> {
        version: u32,
        #[serde(flatten)]
        event: &'a Event<'a>,
        at: String,
    }
    let micros = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_micros());
    let at = time::format(Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX)));
    serde_json::to_writer(&mut *out, &Line { version: VERSION, event, at }).map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Prints an event of the run, at once.
pub(crate) fn print_line(event: &RunEvent, out: &mut impl Write) -> io::Result<()> {
    out.write_all((event.to_json() + "\n").as_bytes())?;
    out.flush()
}
