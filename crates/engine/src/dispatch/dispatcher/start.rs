//! Everything that a run needs is opened, in the order in which it is needed; then the loop begins.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use team_executor_agents::environment::depth;
use team_executor_agents::guard_executor;
use team_executor_core::run::{Input, Live, Refused, Run};
use team_executor_core::{Reconciliation, Session, SessionStatus, TaskIndex};
use team_executor_files::Dialect;
use team_executor_store::run_folder::{EXECUTOR, project_root};
use team_executor_store::{RESERVE_BYTES, SyncThread};

use super::desk::RealDesk;
use super::{Beginning, Dispatcher, hiring, tell_problems};
use crate::begin::edits::Resumed;
use crate::begin::plan::Plan;
use crate::begin::replay::Before;
use crate::begin::run_at::{self, Opened};
use crate::begin::{edits, layout, replay};
use crate::conclude::checking::Checking;
use crate::conclude::{Gaps, Known, TakeOver};
use crate::control::server::Server;
use crate::control::subscribers::Feed;
use crate::dispatch::conductor::Conductor;
use crate::dispatch::crew::Crew;
use crate::dispatch::desk::Desk as _;
use crate::dispatch::following::Following;
use crate::dispatch::inbox::{self, Message, Outbox};
use crate::dispatch::local_crew::LocalCrew;
use crate::dispatch::machine::Machine;
use crate::dispatch::signals::Listening;
use crate::dispatch::watching::{self, Watch};
use crate::event::{self, Event, Kind, derive};
use crate::options::{Failure, Options};
use crate::prepare::job::ResultSchema;
use crate::prepare::prompt::Knowledge;
use crate::prepare::resident::Residents;
use crate::prepare::talk;
use crate::prepare::workspace::Workspace;
use crate::render::run_report::Report;
use crate::render::views::{self, own_file};
use crate::trees::{self, Isolation};
use crate::{clock, diagnostics};

/// How many changes to the session's own state are told one by one.
const CHANGES_TOLD: usize = 20;

/// Runs a session to its end, or to where it must stop. The same call continues what an earlier one left. The tasks of the
/// options may be changed by it.
pub fn run(options: &mut Options, tell: &mut dyn FnMut(Event)) -> Result<Report, Failure> {
    run_with(options, |local, _| Ok(local), tell)
}

/// What a crew knows of a run.
#[derive(Debug)]
pub struct Scene<'s> {
    /// The session's folder.
    pub session: &'s Path,
    /// The folder that workers work in.
    pub project: &'s Path,
    /// The folder of the run.
    pub run: &'s Path,
    /// What the names of all of its attempts begin with, on every machine.
    pub name: String,
    /// Wakes the dispatcher, which waits in the crew.
    pub outbox: Outbox,
}

/// The same with a crew of one's own, which is made of the local one when the run is open.
pub fn run_with<C: Crew>(
    options: &mut Options,
    crew: impl FnOnce(LocalCrew, Scene<'_>) -> Result<C, Failure>,
    tell: &mut dyn FnMut(Event),
) -> Result<Report, Failure> {
    let depth = depth(&options.environment).map_err(|error| Failure::TooDeep(error.to_string()))?;
    must_be_text(&options.folder, &project_root(&options.folder, &options.current))?;
    let anew = match earlier(options)? {
        Earlier::Finished(report) => return Ok(*report),
        Earlier::Changed(told) => Some(told),
        Earlier::None => None,
    };
    let chooser = options.chooser.take();
    let options = &*options;
    let news = Arc::new(Feed::default());
    let tell = &mut |event: Event| {
        news.publish(&event);
        tell(event);
    };
    if options.session.status == SessionStatus::Archived {
        return Err(Failure::InTheWay("the session is archived; archived sessions cannot run".to_owned()));
    }
    let project = project_root(&options.folder, &options.current);
    let repository = trees::repository(options, &project)?;
    let Opened { run: mut at, mut journal, plan, history, resumed, torn, rebooted, replan } =
        run_at::open(options, anew.is_some())?;
    let _span = diagnostics::run(&at.id, &at.path);
    if torn {
        tell(event::warning("the last record of the journal was incomplete and was cut off".to_owned()));
    }
    at.hold.keep_room(&mut journal, RESERVE_BYTES);
    journal.tell_readers(Arc::clone(&news.tide));
    let (mut session, rules) = replay::replay(options, &at.id, &plan, &history)?;
    let mut new = Vec::from_iter(new_tasks(&session, &rules)?);
    if let Some(replan) = replan {
        new.push(replanned(&rules, &new, replan.input(clock::now()))?);
    }
    let has_begun = replay::events(&history).next().is_some();
    drop(history);
    let mut views = views::open(&at, &options.folder, options.dialect, plan.cadence)?;
    let resumption = Resumed {
        stated: &options.session,
        rules: &rules,
        before: &|length| replay::when(options, &at, &plan, length),
        journal: at.journal_length(),
        now: clock::now(),
    };
    let adopted = edits::take_over(&mut views, &mut session, &resumption)?;
    tell(begins(&at.id, &plan, &rules, resumed));
    if !resumed {
        tell_changes(&options.session, tell);
    }
    tell_adopted(anew.unwrap_or_default(), tell);
    adopted.told.into_iter().for_each(|line| tell(Event::live(Kind::Adopted { message: line })));
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
        syncs.send(Message::Synced { took }).ok(); // unneeded when the run is over
    };
    // Without a thread for them, syncs are waited for.
    if let Ok(thread) = journal.file().and_then(|file| SyncThread::start(file, synced)) {
        journal.sync_beside(Box::new(thread));
    }
    let mut conductor = Conductor::new(&session.tasks, rules, journal);
    let mut workers = options.workers.clone();
    hiring::add_all(&mut workers, chooser.as_deref(), &session, conductor.rules())?;
    conductor.name_agents(workers.clone());
    // A person's edit is durable before the edited file counts as ours and is overwritten.
    let taken = conductor.take(new.into_iter().chain(adopted.input).collect(), clock::now())?;
    if adopted.is_accepted {
        edits::remember(&views)?;
    }
    problems.extend(taken.refused.into_iter().flatten().map(|refused| refused.to_string()));
    problems.extend(views.begin(&mut session, conductor.rules(), at.journal_length()));
    problems.extend(views.render(&mut session, conductor.rules(), at.journal_length(), true));
    let rendered = started.elapsed();
    tell_problems(problems, tell);
    complete_folder(options, tell);
    let signals = outbox.clone();
    let listening = Listening::begin(move |signal| signals.send(Message::Signal(signal)));
    let listening = listening.map_err(Failure::disk("listen to", "signals"))?;
    let server = serve(&at.path.join(EXECUTOR), &news, &outbox, tell);
    let watch = watch(options, &outbox, tell);
    talk::close_doors(&at);
    guard_executor(depth > 0);
    let local = LocalCrew::new(options, &at, conductor.epoch())?;
    let (folder, name, bell) = (&options.folder, at.name(), outbox.clone());
    let crew = crew(local, Scene { session: folder, project: &project, run: &at.path, name, outbox: bell })?;
    let trees = match (&options.trees, repository) {
        (Some(settings), Some(repository)) => {
            Some(Isolation::open(settings, repository, (&at, &options.folder, &session), &outbox)?)
        }
        _ => None,
    };
    at.links = trees.as_ref().map(|trees| trees.trees().home().to_owned());
    let workspace = Workspace { project, trees };
    let checking = Checking::new(&at, &session, &options.folder, &workspace.project, outbox.clone())?;
    let job = ResultSchema::read(&options.folder)?;
    let set_aside = at.results.put_stale_aside(&session.tasks, conductor.rules());
    set_aside.map_err(Failure::disk("look for results in", at.agents()))?;
    let desk = RealDesk {
        checking,
        options,
        workers,
        edited_at: None,
        refused_edit: None,
        seen: Vec::new(),
        gone: plan.amended.removed.clone(),
        chooser,
        at,
        views,
        session,
        gaps: Gaps::from_now(&options.folder),
        job,
        following: Following::default(),
        residents: Residents::default(),
        outbox: outbox.clone(),
        workspace,
        reports: Known::new(),
        used: Vec::new(),
        is_full: false,
        live: Live::default(),
        going_on: BTreeSet::new(),
        machine: None,
        lost_hosts: Vec::new(),
        overspent: BTreeMap::new(),
        doers: BTreeMap::new(),
        unpriced: BTreeSet::new(),
        told_shortage: false,
        told_at_first: options.budgets.are_open(),
        permissions: VecDeque::new(),
        knowledge: Knowledge::default(),
        since: started,
        tell,
    };
    let beginning = Beginning { has_begun, rebooted, edited: taken.effects, rendered: (Duration::ZERO, rendered) };
    let machine = if depth == 0 { machine(options, &outbox)? } else { None };
    let mut dispatcher = Dispatcher::new(options, conductor, crew, desk, (outbox, inbox)).within(machine);
    let result = dispatcher.drive(beginning);
    let Dispatcher { desk, crew, inbox, .. } = dispatcher;
    // If the folders are gone, the error names only the first missing file.
    let result = result.map_err(|failure| desk.must_be_there().err().unwrap_or(failure));
    drop((listening, watch));
    drop(inbox); // late requests are refused
    drop(server); // while the lock is held
    drop(crew); // so is what ends every worker after a failure
    result
}

/// What an earlier start left of the session.
enum Earlier {
    /// A run that is to be made or continued.
    None,
    /// A finished run; nothing is left to do.
    Finished(Box<Report>),
    /// A finished run of other tasks: a new one begins, with these remarks.
    Changed(Vec<String>),
}

fn earlier(options: &mut Options) -> Result<Earlier, Failure> {
    let done = run_at::finished(&options.session, (&options.folder, &options.current), options.run.as_deref());
    match done.map(|done| replay::before(options, done)).transpose()?.flatten() {
        Some(Before::Report(report)) => Ok(Earlier::Finished(report)),
        Some(Before::Anew { .. }) if options.run.is_some() => {
            Err(Failure::Changed("the run is finished, and its session has changed since".to_owned()))
        }
        Some(Before::Anew { told }) => Ok(Earlier::Changed(told)),
        None => Ok(Earlier::None),
    }
}

/// Makes what the folder of the session lacks. Workers can do without it.
fn complete_folder(options: &Options, tell: &mut dyn FnMut(Event)) {
    if options.dialect == Dialect::Tc
        && let Err(error) = layout::complete(&options.folder)
    {
        tell(event::warning(format!("an optional folder of the session was not created: {error}")));
    }
    if let Err(error) = layout::begin_board(&options.folder) {
        tell(event::warning(format!("the discovery board of the session was not created: {error}")));
    }
}

/// Takes requests from others as long as it lives.
fn serve(executor: &Path, news: &Arc<Feed>, outbox: &Outbox, tell: &mut dyn FnMut(Event)) -> Option<Server> {
    let requests = outbox.clone();
    let hand_over = move |asked| requests.send(Message::Asked(asked)).is_ok();
    let server = Server::open(executor, Arc::clone(news), hand_over);
    server.map_err(|error| tell(event::warning(format!("the run cannot be controlled while it goes on: {error}")))).ok()
}

/// Notices edits of the session as long as it lives.
fn watch(options: &Options, outbox: &Outbox, tell: &mut dyn FnMut(Event)) -> Option<Watch> {
    let watched = watching::folders(&options.folder, own_file::tasks_folder(&options.folder));
    let watch = Watch::begin(&watched, outbox.clone());
    if options.dialect == Dialect::Tc {
        outbox.send(Message::Edited).ok(); // since its analysis was read
    }
    let unnoticed =
        |error| tell(event::warning(format!("edits of the session are not noticed while it is run: {error}")));
    watch.map_err(unnoticed).ok()
}

/// Waits for places where the machine has a limit. A run inside a worker goes on the place of that: it would wait for it for ever.
fn machine(options: &Options, outbox: &Outbox) -> Result<Option<Machine>, Failure> {
    let started = options.machine.as_ref().map(|seats| Machine::start(seats.clone(), outbox.clone()));
    started.transpose().map_err(Failure::disk("start", "the thread that waits for the machine's limit"))
}

/// What the rules are told about tasks that came behind the others since the run began; nothing if there are none.
fn new_tasks(session: &Session, rules: &Run) -> Result<Option<Input>, Failure> {
    let tasks = rules.absent();
    if tasks.is_empty() {
        return Ok(None);
    }
    let add = Input::Add { now: clock::now(), tasks };
    let id = |task: TaskIndex| &session.tasks[task.get()].id;
    match rules.clone().step(add.clone()).refused {
        None => Ok(Some(add)),
        Some(Refused::HasBegun(task)) => {
            Err(Failure::Changed(format!("'{}' has begun, so it cannot wait for a task that is new", id(task))))
        }
        Some(refused) => Err(Failure::Changed(format!("new tasks cannot be taken over: {refused}"))),
    }
}

/// What the rules are told about a plan that was changed meanwhile, behind what they are told before.
fn replanned(rules: &Run, before: &[Input], replan: Input) -> Result<Input, Failure> {
    let mut then = rules.clone();
    before.iter().for_each(|input| drop(then.step(input.clone())));
    match then.step(replan.clone()).refused {
        None => Ok(replan),
        Some(Refused::Begun(task)) => {
            Err(Failure::Changed(format!("'{}' has begun, so its place in the plan stays as it is", rules.id(task))))
        }
        Some(refused) => Err(Failure::Changed(format!("the changed plan cannot be taken over: {refused}"))),
    }
}

/// Fails if a path cannot be told to workers, to their keepers and in records: all of these are text.
fn must_be_text(session: &Path, project: &Path) -> Result<(), Failure> {
    match [session, project].into_iter().find(|path| path.to_str().is_none()) {
        None => Ok(()),
        Some(path) => {
            Err(Failure::InTheWay(format!("the path {} is not valid UTF-8, so workers cannot use it", path.display())))
        }
    }
}

/// Says that a run begins, as its first record does, or that it goes on: then a record will say so when it can.
fn begins(run: &str, plan: &Plan, rules: &Run, is_resumed: bool) -> Event {
    let mut event = derive::started(run, rules.counts(), plan.at);
    if let Kind::RunStarted { resumed, statuses, .. } = &mut event.kind {
        (*resumed, *statuses) = (is_resumed, rules.statuses());
    }
    if is_resumed { Event::live(event.kind) } else { event }
}

/// Tells where the session and the beginning of the run differ, and why.
fn tell_changes(session: &Session, tell: &mut dyn FnMut(Event)) {
    let changes = Reconciliation::compare(session).changes;
    for change in changes.iter().take(CHANGES_TOLD) {
        tell(Event::live(Kind::Reconciled { message: change.describe(session) }));
    }
    if changes.len() > CHANGES_TOLD {
        let message = format!("and {} more changes", changes.len() - CHANGES_TOLD);
        tell(Event::live(Kind::Reconciled { message }));
    }
}

/// Tells what begins anew with what a person has set back.
fn tell_adopted(mut told: Vec<String>, tell: &mut dyn FnMut(Event)) {
    let more = told.len().saturating_sub(CHANGES_TOLD);
    told.truncate(CHANGES_TOLD);
    told.extend((more > 0).then(|| format!("and {more} more that depend on what was set back")));
    told.into_iter().for_each(|line| tell(Event::live(Kind::Adopted { message: line })));
}
