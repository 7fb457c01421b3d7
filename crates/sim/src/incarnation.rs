//! One executor from its start to its end: the program's own loop, rules, journal, lock and replacement of files, with a
//! simulated crew and desk.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use team_executor_core::run::{Input, Run, Stage};
use team_executor_core::{Graph, TaskIndex};
use team_executor_engine::seam::Conductor;
use team_executor_engine::seam::inbox;
use team_executor_engine::seam::{Beginning, Dispatcher};
use team_executor_engine::seam::{Hold, Reopened};
use team_executor_engine::{Failure, rules};
use team_executor_store::run_folder::JOURNAL;
use team_executor_store::sim_disk::{SimDisk, SimFile};
use team_executor_store::sim_sync::SimSyncer;
use team_executor_store::{Disk as _, History, Holder, Journal, JournalError, recover};

use crate::audit::reader::Record;
use crate::crew::SimCrew;
use crate::desk::SimDesk;
use crate::replan::{self, Plan};
use crate::world::{Happening, Message, Stop, World};

/// How much room is kept; the records here are small.
const RESERVE_BYTES: usize = 4096;
/// The record that every journal begins with.
const PLAN: &str = "{\"type\":\"plan\",\"at\":0}";

/// The machine, as everything around an executor shares it.
pub(crate) type Shared<'w, 's> = RefCell<&'w mut World<'s>>;

/// How an executor ended by itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Every task is over.
    Finished,
    /// It stopped, and another one goes on when someone wants that.
    Stopped,
    /// It stopped because the disk is full.
    Full,
    /// It stopped because a budget is in the way.
    Spent,
    /// It stopped because the chosen part of the plan is done.
    PartDone,
    /// It stopped because no agent is logged in.
    LoggedOut,
}

/// Runs one executor to its end.
pub(crate) fn run(world: &mut World<'_>) -> Result<Ended, Stop> {
    world.incarnation += 1;
    world.lives = true;
    world.busy.clear();
    let shared = RefCell::new(world);
    let ended = drive(&shared);
    let world = shared.into_inner();
    if let Some(broken) = world.broken.take() {
        return Err(Stop::Broken(broken));
    }
    match ended {
        _ if world.run.is_down() => Err(Stop::Crash),
        Ok(ended) => ended,
        Err(Failure::Held(by)) => Err(Stop::Broken(format!("I11: no executor lives, and the lock is held by {by}"))),
        Err(Failure::Journal(JournalError::Damaged(damage))) if !world.audit.rotten => {
            Err(Stop::Broken(format!("I12: refused, and nothing was spoiled: {damage}")))
        }
        Err(Failure::Record(unreadable)) => Err(Stop::Broken(format!("I12: {unreadable}"))),
        Err(failure) => Err(Stop::Halted(failure.to_string())),
    }
}

fn drive(shared: &Shared<'_, '_>) -> Result<Result<Ended, Stop>, Failure> {
    let (run, executor, me) = {
        let world = shared.borrow();
        let boot = format!("boot{}", world.boot);
        let pid = u32::try_from(world.incarnation).unwrap_or(u32::MAX);
        let me = Holder { pid, started: 1, boot, host: "simulated".to_owned(), epoch: 0 };
        (world.run.clone(), world.executor.clone(), me)
    };
    let mut hold = Hold::take(executor, (&run, &[]), me, Path::new("simulated"), Duration::ZERO)?;
    let (mut journal, history, rebooted) = open(shared, &mut hold)?;
    hold.keep_room(&mut journal, RESERVE_BYTES);
    let (rules, replan) = replay(shared, &history, rebooted)?;
    let syncer = journal.file().map_err(|errno| Failure::InTheWay(errno.to_string()))?;
    let syncer = (!shared.borrow_mut().chance.once_in(3)).then(|| SimSyncer::new(syncer));
    if let Some(syncer) = &syncer {
        journal.sync_beside(Box::new(syncer.clone()));
    }
    let scenario = shared.borrow().scenario;
    // As the program does: what the session has besides is added before anything starts.
    let new = new_tasks(shared, &rules);
    let is_open = *rules.stage() != Stage::Finished;
    let adds = !new.is_empty() && is_open && (replan.is_some() || shared.borrow_mut().chance.once_in(2));
    let known = &scenario.tasks()[..rules.graph().len()];
    let mut conductor = Conductor::new(known, rules, journal);
    let now = shared.borrow().time();
    let add = adds.then_some(Input::Add { now, tasks: new });
    let edited = conductor.take(add.into_iter().chain(replan).collect(), now)?.effects;
    let (outbox, inbox) = inbox::open().map_err(|error| Failure::InTheWay(error.to_string()))?;
    let crew = SimCrew::new(shared, outbox.clone(), syncer);
    let desk = SimDesk::new(shared, hold, scenario.session.clone());
    let mut dispatcher = Dispatcher::new(&scenario.options, conductor, crew, desk, (outbox, inbox));
    let has_begun = history.records().count() > 1;
    dispatcher.drive(Beginning { has_begun, rebooted, edited, ..Beginning::default() })
}

/// The tasks that are to be added: all that are not there, but for those that were removed.
fn new_tasks(shared: &Shared<'_, '_>, rules: &Run) -> Vec<TaskIndex> {
    let world = shared.borrow();
    let plan = world.scenario.plan(world.made);
    rules.absent().into_iter().filter(|task| !plan.gone[task.get()]).collect()
}

/// The changes of the plan that the journal has.
fn recorded_plan(history: &History) -> u32 {
    let marks = history.records().filter(|record| record.json.starts_with("{\"type\":\"replanned\""));
    marks.last().and_then(|record| Record(record.json).text("digest")?.parse().ok()).unwrap_or(0)
}

/// What is told of the plan as a person left it, if the journal does not have it: it is taken over, or was undone.
fn changed_plan(world: &mut World<'_>, history: &History) -> Option<Input> {
    let recorded = recorded_plan(history);
    if world.made == recorded || world.chance.once_in(2) {
        world.made = recorded;
        return None;
    }
    let (changed, removed) = world.scenario.plan(world.made).since(&world.scenario.plan(recorded));
    let plan = replan::mark(world.made, world.scenario.tasks().len());
    Some(Input::Replan { now: world.time(), changed, removed, plan })
}

/// The rules, fed with what the journal held, and what they are told of the plan.
fn replay(shared: &Shared<'_, '_>, history: &History, rebooted: bool) -> Result<(Run, Option<Input>), Failure> {
    let world = &mut **shared.borrow_mut();
    world.audit.reserved(&world.executor);
    let all = || history.records().skip(1).map(|record| record.json);
    let scenario = world.scenario;
    let mut replan = changed_plan(world, history);
    let mut plan = scenario.plan(world.made);
    let was_added = history.records().any(|record| record.json.starts_with("{\"type\":\"added\""));
    let first = world.policy.later.first().map_or(scenario.tasks().len(), |first| first.get());
    // The tasks that come later are there when the executor starts, or while it lives.
    let begun = plan.graph(first).filter(|_| !was_added && replan.is_none() && world.chance.once_in(2));
    let know = |plan: &Plan, graph: Option<Graph>| {
        let graph = graph.ok_or_else(|| Failure::InTheWay("the plan has errors".to_owned()))?;
        rules(&plan.tasks[..graph.len()], &graph, "simulated", world.policy.clone(), all())
    };
    let count = if begun.is_some() { first } else { plan.tasks.len() };
    let mut rules = know(&plan, plan.graph(count))?;
    // What has begun meanwhile, or may have, is not changed: a person undoes that.
    if let Some(input) = &replan
        && rules.clone().step(input.clone()).refused.is_some()
    {
        let recorded = recorded_plan(history);
        plan = scenario.plan(recorded);
        rules = know(&plan, plan.graph(plan.tasks.len()))?;
        (replan, world.made) = (None, recorded);
    }
    let grows = begun.is_some() && first < scenario.tasks().len();
    if grows || !scenario.changes.is_empty() {
        for _ in 0..=world.chance.below(3) {
            let within = world.chance.pick(&[1000, 50_000, 1_000_000, 6_000_000]);
            world.soon(within, Happening::Message(world.incarnation, Message::Grow));
        }
    }
    let verdict = world.audit.look(&world.executor).and_then(|()| world.audit.replayed(&rules));
    world.audited(verdict);
    let number = world.incarnation;
    world.note(|| format!("executor {number} starts: {} records, rebooted {rebooted}", history.records().count()));
    world.plan_trouble();
    Ok((rules, replan))
}

/// The journal and what it held; a new one where there is none, or one whose making was cut off.
fn open(shared: &Shared<'_, '_>, hold: &mut Hold<SimDisk>) -> Result<(Journal<SimFile>, History, bool), Failure> {
    let bytes = match hold.folder().read(JOURNAL) {
        Err(rustix::io::Errno::NOENT) => Vec::new(),
        read => read.map_err(|errno| Failure::InTheWay(errno.to_string()))?,
    };
    if !recover(&bytes).is_ok_and(|recovered| recovered.records.is_empty()) {
        let pass = |history: &History, epoch| {
            let world = &mut **shared.borrow_mut();
            match world.audit.opened(&world.executor, history, epoch) {
                Ok(false) => Ok(()),
                Ok(true) => Err(Failure::InTheWay("what was spoiled is cut".to_owned())),
                Err(broken) => {
                    world.audited(Err(broken));
                    Ok(())
                }
            }
        };
        let Reopened { journal, history, plan: (), rebooted } = hold.reopen(pass)?;
        return Ok((journal, history, rebooted));
    }
    {
        let world = &mut **shared.borrow_mut();
        if world.audit.rotten {
            // A spoiled first commit looks like one that was never whole.
            return Err(Failure::InTheWay("what was spoiled is not there".to_owned()));
        }
        let verdict = world.audit.created();
        world.audited(verdict);
    }
    Ok((hold.begin(PLAN)?, History::default(), false))
}
