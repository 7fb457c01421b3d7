//! Everything that a run needs is opened, in the order in which it is needed; then the loop begins.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::Instant;

use team_executor_agents::environment::depth;
use team_executor_agents::{Keepers, guard_executor};
use team_executor_core::run::Live;
use team_executor_core::{Reconciliation, Session, SessionStatus};
use team_executor_files::Dialect;
use team_executor_store::SyncThread;
use team_executor_store::run_folder::{EXECUTOR, project_root};

use super::pace::Pace;
use super::rendering::Rendered;
use super::{Dispatcher, tell_problems};
use crate::adopt::Resumed;
use crate::checking::Checking;
use crate::conclude::{Gaps, Known, TakeOver};
use crate::conductor::Conductor;
use crate::control::server::Server;
use crate::following::Following;
use crate::inbox::{self, Message};
use crate::job::Job;
use crate::notice::Notice;
use crate::options::{Failure, Options};
use crate::prompt::Knowledge;
use crate::prompts::Prompts;
use crate::replay::Before;
use crate::report::Report;
use crate::resident::Residents;
use crate::run_at::{self, Opened};
use crate::signals::Listening;
use crate::{adopt, clock, diagnostics, layout, replay, talk, views};

/// How many changes to the session's own state are told one by one.
const CHANGES_TOLD: usize = 20;

/// Runs a session to its end, or to where it must stop. The same call continues what an earlier one left. The tasks of the
/// options may be changed by it.
pub fn run(options: &mut Options, tell: &mut dyn FnMut(Notice)) -> Result<Report, Failure> {
    let depth = depth(&options.environment).map_err(|error| Failure::TooDeep(error.to_string()))?;
    must_be_text(&options.folder, &project_root(&options.folder, &options.current))?;
    let done = run_at::finished(&options.session, (&options.folder, &options.current), options.run.as_deref());
    let before = done.map(|done| replay::before(options, done)).transpose()?.flatten();
    let anew = match before {
        Some(Before::Report(report)) => return Ok(*report),
        Some(Before::Anew { .. }) if options.run.is_some() => {
            return Err(Failure::Changed("the run is finished, and its session has changed since".to_owned()));
        }
        Some(Before::Anew { told }) => Some(told),
        None => None,
    };
    let options = &*options;
    if options.session.status == SessionStatus::Archived {
        return Err(Failure::InTheWay("the session is archived, and an archived session is not run".to_owned()));
    }
    let Opened { run: at, mut journal, plan, history, resumed, torn, rebooted } =
        run_at::open(options, anew.is_some())?;
    let _span = diagnostics::run(&at.id, &at.path);
    if torn {
        tell(Notice::Warning("the end of the journal was not finished and was cut off".to_owned()));
    }
    at.keep_room(&mut journal);
    let (mut session, rules) = replay::replay(options, &at.id, &plan, &history)?;
    let has_begun = replay::events(&history).next().is_some();
    drop(history);
    let mut views = views::of(&at, &options.folder, options.dialect, plan.cadence)?;
    let resumption = Resumed {
        stated: &options.session,
        rules: &rules,
        before: &|length| replay::when(options, &at, &plan, length),
        journal: at.journal_length(),
        now: clock::now(),
    };
    let adopted = adopt::adopt(&mut views, &mut session, &resumption)?;
    tell(Notice::Begins { run: at.id.clone(), resumed, counts: rules.counts(), statuses: rules.statuses() });
    if !resumed {
        tell_changes(&options.session, tell);
    }
    tell_adopted(anew.unwrap_or_default(), tell);
    adopted.told.into_iter().for_each(|line| tell(Notice::Adopted(line)));
    let mut problems = adopted.warnings;
    let started = Instant::now();
    if resumed {
        let discoveries = views.discoveries();
        let reports = TakeOver { run: &at, session: &options.folder, discoveries };
        problems.extend(reports.catch_up(&mut session, &rules));
    }
    let (outbox, inbox) = inbox::open().map_err(Failure::disk("open", "an inbox"))?;
    let syncs = outbox.clone();
    let synced = move |took| {
        syncs.send(Message::Synced { took }).ok(); // nobody waits for it when the run is over
    };
    // Without a thread for them, syncs are waited for.
    if let Ok(thread) = journal.file().and_then(|file| SyncThread::start(file, synced)) {
        journal.sync_beside(Box::new(thread));
    }
    let mut conductor = Conductor::new(&session.tasks, rules, journal);
    // What a person wants is durable before the file that says so is known to be ours, and is written over.
    let taken = conductor.take(adopted.input.into_iter().collect(), clock::now())?;
    if adopted.is_accepted {
        adopt::remember(&views)?;
    }
    problems.extend(taken.refused.into_iter().flatten().map(|refused| refused.to_string()));
    problems.extend(views.begin(&mut session, conductor.rules(), at.journal_length()));
    problems.extend(views.render(&mut session, conductor.rules(), at.journal_length()));
    let rendered = Rendered::new(started);
    tell_problems(problems, tell);
    if options.dialect == Dialect::Tc
        && let Err(error) = layout::complete(&options.folder)
    {
        tell(Notice::Warning(format!("an optional folder of the session was not made: {error}")));
    }
    if let Err(error) = layout::begin_board(&options.folder) {
        tell(Notice::Warning(format!("the board of the session was not made: {error}")));
    }

    let (signals, requests) = (outbox.clone(), outbox.clone());
    let listening = Listening::begin(move |signal| signals.send(Message::Signal(signal)));
    let listening = listening.map_err(Failure::disk("listen to", "signals"))?;
    let server = Server::open(&at.path.join(EXECUTOR), move |asked| requests.send(Message::Asked(asked)).is_ok());
    if let Err(error) = &server {
        tell(Notice::Warning(format!("the run cannot be asked anything while it goes on: {error}")));
    }
    talk::close_doors(&at);
    guard_executor(depth > 0);
    let keepers = Keepers::new(options.exe.clone(), at.ledgers(), conductor.epoch());
    let prompts = Prompts::new(&at.agents()).map_err(Failure::disk("open", at.agents()))?;
    let cwd = project_root(&options.folder, &options.current);
    let checking = Checking::new(&at, &session, &options.folder, &cwd, outbox.clone())?;
    let gaps = Gaps::from_now(&options.folder);
    let job = Job::of(&options.folder)?;
    let told_at_first = options.budgets.are_open();
    let mut dispatcher = Dispatcher {
        checking,
        options,
        at,
        conductor,
        views,
        session,
        gaps,
        job,
        keepers,
        prompts,
        following: Following::default(),
        residents: Residents::default(),
        inbox,
        outbox,
        cwd,
        slots: BTreeMap::new(),
        reports: Known::new(),
        used: Vec::new(),
        live: Live::default(),
        going_on: BTreeSet::new(),
        overspent: BTreeMap::new(),
        doers: BTreeMap::new(),
        unpriced: BTreeSet::new(),
        wake: None,
        ending: None,
        asked_to_stop: false,
        told_shortage: false,
        told_at_first,
        asking: false,
        permissions: VecDeque::new(),
        patience: None,
        knowledge: Knowledge::default(),
        pace: Pace::new(),
        rendered,
        tell,
    };
    let result = dispatcher.drive(taken.effects, has_begun, rebooted);
    // What was missing, if the folders are gone, is only what was needed next.
    let gone = |failure| dispatcher.at.must_be_there(&dispatcher.options.folder).err().unwrap_or(failure);
    let result = result.map_err(gone);
    drop(listening);
    drop(dispatcher.inbox); // who asked too late is told so
    drop(server); // while the lock is held
    result
}

/// Fails if a path cannot be told to workers, to their keepers and in records: all of these are text.
fn must_be_text(session: &Path, project: &Path) -> Result<(), Failure> {
    match [session, project].into_iter().find(|path| path.to_str().is_none()) {
        None => Ok(()),
        Some(path) => {
            Err(Failure::InTheWay(format!("the path {} is not UTF-8, so no worker can be told it", path.display())))
        }
    }
}

/// Tells where the session and the beginning of the run differ, and why.
fn tell_changes(session: &Session, tell: &mut dyn FnMut(Notice)) {
    let changes = Reconciliation::of(session).changes;
    for change in changes.iter().take(CHANGES_TOLD) {
        tell(Notice::Reconciled(change.describe(session)));
    }
    if changes.len() > CHANGES_TOLD {
        tell(Notice::Reconciled(format!("and {} more changes", changes.len() - CHANGES_TOLD)));
    }
}

/// Tells what begins anew with what a person has set back.
fn tell_adopted(mut told: Vec<String>, tell: &mut dyn FnMut(Notice)) {
    let more = told.len().saturating_sub(CHANGES_TOLD);
    told.truncate(CHANGES_TOLD);
    told.extend((more > 0).then(|| format!("and {more} more that depend on what was set back")));
    told.into_iter().for_each(|line| tell(Notice::Adopted(line)));
}
