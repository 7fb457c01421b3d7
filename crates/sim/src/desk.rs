//! The simulated desk: a worker's script says what an attempt comes to, a check takes a while, and what people are told and
//! read is looked at as it comes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use team_executor_agents::{Assignment, Exit, Leftover, Limits};
use team_executor_core::run::{Ending, Event, Halt, Input, Outcome, Run, Stage, Work};
use team_executor_core::{Session, TaskIndex, TaskStatus, Timestamp};
use team_executor_engine::artifacts::Looked;
use team_executor_engine::control::{Answer, Request};
use team_executor_engine::seam::Happened;
use team_executor_engine::seam::Hold;
use team_executor_engine::seam::{Desk, Growth, News, Next, Replanned};
use team_executor_engine::seam::{Job, Keys, WorkerEnd, WorkerEvent};
use team_executor_engine::{Event as RunEvent, Failure, Workers};
use team_executor_files::tasks_csv;
use team_executor_store::sim_disk::SimDisk;
use team_executor_store::{Durability, replace};

use crate::audit::VIEW;
use crate::incarnation::{Ended, Shared};
use crate::ledger;
use crate::replan;
use crate::worker::{End, Script};
use crate::world::{Happening, Message, Stop, World};

/// How long a keeper of an earlier executor has to end its worker.
const PATIENCE: Duration = Duration::from_secs(15);

/// The desk of one executor.
pub(crate) struct SimDesk<'c, 'w, 's> {
    world: &'c Shared<'w, 's>,
    hold: Hold<SimDisk>,
    session: Session,
    /// What attempts used, told with the next inputs.
    used: Vec<Input>,
    /// The slots whose attempts count as interrupted, whatever their checks find.
    recalled: BTreeSet<usize>,
}

impl<'c, 'w, 's> SimDesk<'c, 'w, 's> {
    pub(crate) const fn new(world: &'c Shared<'w, 's>, hold: Hold<SimDisk>, session: Session) -> Self {
        Self { world, hold, session, used: Vec::new(), recalled: BTreeSet::new() }
    }

    /// What an attempt came to, and whether what it delivered is to be checked first. What it used is noted.
    fn concluded(&mut self, rules: &Run, work: Work, exit: Option<&Exit>) -> (Outcome, bool) {
        let scenario = self.world.borrow().scenario;
        let end = exit.map_or(End::Interrupted, |exit| End::from_ended(&exit.ended));
        let used = end.used(scenario, work);
        self.used.extend(used.map(|used| Input::Used { work, used: Box::new(used) }));
        let is_checked = end == End::Completed && Script::draw(scenario, work).says.checked.is_some();
        (end.outcome(scenario, rules, work), is_checked)
    }

    /// What an attempt delivered is looked at; that takes a while.
    fn check(&mut self, slot: usize, work: Work) {
        let world = &mut **self.world.borrow_mut();
        world.busy.insert(work, slot);
        let incarnation = world.incarnation;
        world.soon(500_000, Happening::Message(incarnation, Message::Checked(work)));
    }

    /// Renders what people read from what is durable, and says whether that worked.
    fn put_view(&mut self, rules: &Run, durability: Durability) -> bool {
        for (index, task) in (0..).map(TaskIndex).zip(&mut self.session.tasks) {
            task.status = rules.status(index).unwrap_or(TaskStatus::Pending);
        }
        let world = &mut **self.world.borrow_mut();
        let settled = world.audit.settled(&world.executor, "it was made durable");
        world.audited(settled);
        let text = tasks_csv::write(None, &self.session, &world.scenario.graph);
        if let Err(error) = replace(&world.run, VIEW, text.as_bytes(), durability) {
            world.note(|| format!("not rendered: {error}"));
            return false; // a warning
        }
        let verdict = world.audit.view(&world.run, &world.executor, durability == Durability::Durable);
        world.audited(verdict);
        true
    }

    /// People see the result of everything up to now.
    fn tells(&self) {
        let world = &mut **self.world.borrow_mut();
        let settled = world.audit.settled(&world.executor, "someone is told");
        world.audited(settled);
    }
}

/// One more change of the plan, as a person makes it: almost always one that is taken.
fn replanned(world: &mut World<'_>, rules: &Run, count: usize) -> Option<Replanned> {
    let changes = world.scenario.changes.len();
    let nth = if changes == 0 { return None } else { world.chance.index(changes) };
    let (replan, is_legal) = replan::one_more(world.scenario, rules, world.made, nth, count)?;
    if is_legal {
        world.made |= 1 << nth;
    } else if !world.chance.once_in(4) {
        return None;
    }
    // The rules see themselves what waits for others.
    let changed = if world.chance.once_in(2) { Vec::new() } else { replan.changed };
    Some(Replanned { changed, ..replan })
}

impl Desk for SimDesk<'_, '_, '_> {
    type Disk = SimDisk;
    type Report = Result<Ended, Stop>;

    fn now(&self) -> Timestamp {
        self.world.borrow().time()
    }

    fn lived(&self) -> Duration {
        Duration::from_micros(self.world.borrow().now)
    }

    fn hold(&mut self) -> &mut Hold<SimDisk> {
        &mut self.hold
    }

    fn must_be_there(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn prepare(&mut self, _: &Run, _: usize, work: Work) -> Result<Option<Job>, Failure> {
        let assignment = Assignment {
            key: ledger::key(work),
            program: String::new(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: PathBuf::new(),
            stdin: None,
            limits: Limits::default(),
            logs: [PathBuf::new(), PathBuf::new()],
            output_cap: 0,
            artifacts: None,
            aside: PathBuf::new(),
            leftover: Leftover::default(),
            adapter: None,
            seat: None,
        };
        let task = self.session.tasks[work.task.get()].id.clone();
        Ok(Some(Job { work, task, prompt: Some(String::new()), assignment, travel: None }))
    }

    fn ended(&mut self, rules: &Run, slot: usize, work: Work, end: WorkerEnd) -> Result<Next, Failure> {
        let (outcome, is_checked) = self.concluded(rules, work, end.exit.as_ref());
        if is_checked {
            self.check(slot, work);
            return Ok(Next::Wait);
        }
        self.world.borrow_mut().busy.remove(&work);
        Ok(Next::Over(outcome))
    }

    fn check_again(&mut self, _: &Run, slot: usize, work: Work) {
        {
            let world = &mut **self.world.borrow_mut();
            let verdict = world.audit.begins(&world.executor, work);
            world.audited(verdict);
            world.audit.checked_again(work);
        }
        self.check(slot, work);
    }

    fn looked(&mut self, rules: &Run, slot: usize, _: Looked) -> Next {
        let Some(work) = rules.in_slot(slot) else { return Next::Wait };
        let world = &mut **self.world.borrow_mut();
        world.busy.remove(&work);
        let end = if self.recalled.remove(&slot) { End::Interrupted } else { End::Completed };
        Next::Over(end.outcome(world.scenario, rules, work))
    }

    fn next_try(&self) -> Option<Duration> {
        None
    }

    fn try_again(&mut self, _: &Run) -> Vec<(usize, Next)> {
        Vec::new()
    }

    fn recall(&mut self, slot: usize) {
        self.recalled.insert(slot);
    }

    fn left(&mut self, _: &Run) -> usize {
        0
    }

    fn keys(&self, _: &Run, slot: usize, work: Work) -> Keys {
        let task = self.session.tasks[work.task.get()].id.clone();
        Keys { work, slot, task, worker: ledger::key(work), checks: Vec::new() }
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn harvested(&mut self, rules: &Run, work: Work, end: WorkerEnd) -> Result<(Outcome, bool), Failure> {
        Ok(self.concluded(rules, work, end.exit.as_ref()))
    }

    fn recovered(&mut self, _: &Run, due: Vec<(usize, Work, Outcome)>) {
        {
            let world = &mut **self.world.borrow_mut();
            let verdict = world.audit.recovered(&world.executor);
            world.audited(verdict);
        }
        due.into_iter().for_each(|(slot, work, _)| self.check(slot, work));
    }

    fn news(&mut self) -> News {
        News { used: std::mem::take(&mut self.used), is_full: false }
    }

    fn heard(&mut self, _: &Run, _: WorkerEvent) -> Vec<usize> {
        Vec::new()
    }

    fn tell(&mut self, _: RunEvent) {}

    fn announce(&mut self, _: &Run, happened: Vec<Happened>, _: bool) {
        let happened: Vec<Event> = happened.into_iter().map(|happened| happened.event).collect();
        let world = &mut **self.world.borrow_mut();
        for event in &happened {
            world.note(|| format!("{event:?}"));
        }
        let verdict = world.audit.announce(&world.executor, &happened);
        world.audited(verdict);
        if world.untold == 1 {
            let settled = world.audit.settled(&world.executor, "a request is about to be answered");
            world.audited(settled);
        }
        world.untold = world.untold.saturating_sub(1);
    }

    fn asks(&mut self) {
        self.tells();
    }

    fn answer(&mut self, _: &Run, _: &Request) -> Option<Answer> {
        None
    }

    fn grow(&mut self, rules: &Run, request: &Request) -> Option<Result<Growth, String>> {
        if *request != Request::Adopt {
            return None;
        }
        if *rules.stage() == Stage::Finished {
            return Some(Err("the run is finished".to_owned()));
        }
        let world = &mut **self.world.borrow_mut();
        let (known, all) = (rules.graph().len(), world.scenario.tasks().len());
        let more = if known < all { 1 + world.chance.index(all - known) } else { 0 };
        let made = world.made;
        let new = (known..known + more).map(|task| world.scenario.new_task(&world.policy, made, task)).collect();
        // Sealed anew, as where waves are planned, or extended.
        let sealed = (more > 0 && world.chance.once_in(3)).then(|| world.scenario.plan(made).graph(known + more));
        let replan = replanned(world, rules, known + more);
        let workers = Workers::default();
        Some(Ok(Growth { new, priorities: Vec::new(), sealed: sealed.flatten(), workers, replan }))
    }

    fn typed(&mut self, _: &Run, _: Option<&str>) {}

    fn waits_for_line(&self) -> bool {
        false
    }

    fn render(&mut self, rules: &Run) -> bool {
        self.put_view(rules, Durability::Rendered);
        true
    }

    fn leave(&mut self, rules: &Run, _: Ending) -> Result<Ended, Stop> {
        let is_rendered = self.put_view(rules, Durability::Durable);
        let is_finished = *rules.stage() == Stage::Finished;
        let world: &mut World<'_> = &mut self.world.borrow_mut();
        if is_rendered {
            world.audit.tidy(&world.run, &world.executor)?;
        }
        match rules.halt() {
            _ if is_finished => {}
            Some(Halt::PartDone) => return Ok(Ended::PartDone),
            Some(Halt::NoRoom) => return Ok(Ended::Full),
            Some(Halt::Budget(_)) => return Ok(Ended::Spent),
            Some(Halt::NotLoggedIn(_)) => return Ok(Ended::LoggedOut),
            None => return Ok(Ended::Stopped),
        }
        if !is_rendered {
            return Err(Stop::Halted("what people read is not there".to_owned()));
        }
        world.audit.finished(&world.executor, rules)?;
        Ok(Ended::Finished)
    }
}
