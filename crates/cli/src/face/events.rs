//! What happens in a run, for programs: one JSON object a line. The shape is stable: within one `version` fields are added,
//! never renamed or removed. `docs/events.md` describes it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use team_executor_app::{Notice, Report, WaveReport};
use team_executor_core::Timestamp;
use team_executor_core::run::{self, Ending};
use team_executor_files::time;

use crate::exit::Exit;
use team_executor_app::csv::JobReport;
use team_executor_app::findings::{JsonFinding, JsonHidden};
use team_executor_app::joining::{self, JsonJoining};
use team_executor_app::usage::{JsonActivity, JsonHalted, JsonUsage};

/// The version of the shape.
const VERSION: u32 = 1;

/// One thing that happened.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Event<'a> {
    Finding(JsonFinding<'a>),
    HiddenFindings(JsonHidden),
    RunStarted {
        run: &'a str,
        resumed: bool,
        counts: Counts,
    },
    Reconciled {
        message: &'a str,
    },
    /// What a person changed while nothing ran was taken over.
    Adopted {
        message: &'a str,
    },
    TaskStarted {
        task: &'a str,
        role: &'a str,
        attempt: u32,
        fast_advance: bool,
        agent: &'a str,
        instead: bool,
        counts: Counts,
    },
    TaskOutput {
        task: &'a str,
        text: &'a str,
    },
    /// What a running agent has used so far.
    TaskActivity {
        task: &'a str,
        attempt: u32,
        agent: &'a str,
        #[serde(flatten)]
        activity: JsonActivity<'a>,
    },
    TaskCompleted {
        task: &'a str,
        findings: &'a str,
        counts: Counts,
    },
    TaskFailed {
        task: &'a str,
        error: &'a str,
        again: bool,
        counts: Counts,
    },
    /// An agent has no quota.
    QuotaHeld {
        agent: &'a str,
        wait_ms: u64,
    },
    TaskInterrupted {
        task: &'a str,
        counts: Counts,
    },
    TaskSkipped {
        task: &'a str,
        reason: &'a str,
        counts: Counts,
    },
    WaveMerged {
        wave: u32,
    },
    WaveFailed {
        wave: u32,
    },
    Paused {
        reason: &'a str,
    },
    /// A person is to judge.
    Checkpoint {
        task: &'a str,
        cause: &'static str,
        judged: Vec<Judged<'a>>,
        critique: Option<&'a str>,
    },
    /// An agent wants to be allowed something.
    Asks {
        task: &'a str,
        question: u64,
        tool: &'a str,
        what: &'a str,
    },
    Decided {
        checkpoint: Option<&'a str>,
        action: &'static str,
        text: &'a str,
    },
    SentBack {
        by: &'a str,
        tasks: &'a [String],
        critique: &'a str,
    },
    Returned {
        tasks: &'a [String],
        counts: Counts,
    },
    Resumed,
    Draining {
        running: usize,
    },
    /// The run stops by itself.
    Halted {
        reason: &'a str,
    },
    Stopping,
    Warning {
        message: &'a str,
    },
    Rehearsed {
        tasks: Vec<Rehearsed<'a>>,
        makespan_s: u64,
    },
    RunEnded(Box<Ended<'a>>),
    /// The table that comes out of a job was written.
    CsvJob(JobReport),
    Refused {
        message: &'a str,
        help: &'a [String],
        exit_code: u8,
    },
}

/// How many tasks there are of each status.
#[derive(Serialize)]
pub(crate) struct Counts {
    total: usize,
    completed: usize,
    failed: usize,
    skipped: usize,
    running: usize,
    ready: usize,
    waiting: usize,
}

/// What a person is to judge.
#[derive(Serialize)]
pub(crate) struct Judged<'a> {
    task: &'a str,
    findings: &'a str,
    folder: Option<String>,
    rounds: u32,
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
    /// What a notice is for programs.
    pub(super) fn of(notice: &'a Notice) -> Self {
        match notice {
            Notice::Begins { run, resumed, counts, .. } => {
                Self::RunStarted { run, resumed: *resumed, counts: counts.into() }
            }
            Notice::Reconciled(message) => Self::Reconciled { message },
            Notice::Adopted(message) => Self::Adopted { message },
            Notice::Started { task, role, attempt, fast_advance, agent, instead, counts } => Self::TaskStarted {
                task,
                role,
                attempt: *attempt,
                fast_advance: *fast_advance,
                agent,
                instead: *instead,
                counts: counts.into(),
            },
            Notice::Line { task, text } => Self::TaskOutput { task, text },
            Notice::Activity { task, attempt, agent, activity } => {
                Self::TaskActivity { task, attempt: *attempt, agent, activity: activity.into() }
            }
            Notice::Completed { task, findings, counts } => {
                Self::TaskCompleted { task, findings, counts: counts.into() }
            }
            Notice::Failed { task, error, again, counts, .. } => {
                Self::TaskFailed { task, error, again: *again, counts: counts.into() }
            }
            Notice::Held { agent, wait } => {
                Self::QuotaHeld { agent, wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) }
            }
            Notice::Interrupted { task, counts } => Self::TaskInterrupted { task, counts: counts.into() },
            Notice::Skipped { task, reason, counts } => Self::TaskSkipped { task, reason, counts: counts.into() },
            Notice::WaveMerged { wave } => Self::WaveMerged { wave: *wave },
            Notice::WaveFailed { wave } => Self::WaveFailed { wave: *wave },
            Notice::Paused { reason } => Self::Paused { reason },
            Notice::Checkpoint { task, cause, judged, critique, .. } => {
                let judged = judged.iter().map(|one| Judged {
                    task: &one.task,
                    findings: &one.findings,
                    folder: one.folder.as_ref().map(|folder| folder.display().to_string()),
                    rounds: one.rounds,
                });
                Self::Checkpoint { task, cause: cause.word(), judged: judged.collect(), critique: critique.as_deref() }
            }
            Notice::Asks { task, question, tool, what, .. } => Self::Asks { task, question: *question, tool, what },
            Notice::Decided { checkpoint, action, text } => {
                Self::Decided { checkpoint: checkpoint.as_deref(), action: action.word(), text }
            }
            Notice::SentBack { by, tasks, critique } => Self::SentBack { by, tasks, critique },
            Notice::Returned { tasks, counts } => Self::Returned { tasks, counts: counts.into() },
            Notice::Resumed => Self::Resumed,
            Notice::Draining { running } => Self::Draining { running: *running },
            Notice::Halted { reason } => Self::Halted { reason },
            Notice::Stopping => Self::Stopping,
            Notice::Warning(message) => Self::Warning { message },
        }
    }

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
            counts: (&report.counts).into(),
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
            usage: JsonUsage::of(&report.used),
            halted: report.halt.as_ref().map(JsonHalted::of),
            resume,
            exit_code: exit.code(),
        }))
    }
}

impl From<&run::Counts> for Counts {
    fn from(counts: &run::Counts) -> Self {
        Self {
            total: counts.total(),
            completed: counts.completed,
            failed: counts.failed,
            skipped: counts.skipped,
            running: counts.in_progress,
            ready: counts.ready,
            waiting: counts.pending,
        }
    }
}

/// Prints one event, with its time, and so that whoever reads has it at once.
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
