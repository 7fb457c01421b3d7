//! The dispatcher's needs besides the rules, the journal and the crew: the input of an attempt, what it came
//! to, what people are told and read, and what time it is. The program has one desk (`dispatcher/desk.rs`),
//! the simulator another; the loop is the same.

use std::time::Duration;

use team_executor_core::run::{Assignment, Ending, Input, Outcome, Run, Work};
use team_executor_core::{TaskIndex, Timestamp};
use team_executor_store::Disk;

use crate::begin::hold::Hold;
use crate::conclude::artifacts::Looked;
use crate::control::{Answer, Request};
use crate::dispatch::conductor::Happened;
use crate::dispatch::crew::{Job, Keys, WorkerEnd, WorkerEvent};
use crate::event;
use crate::options::Failure;
use crate::prepare::newcomer::Growth;
use crate::prepare::worker::Workers;
use crate::trees;

/// Everything around a run but its rules, its journal and its workers.
pub trait Desk {
    /// Where the files of the run are.
    type Disk: Disk;
    /// What is said of a run at its end.
    type Report;

    /// What time it is.
    fn now(&self) -> Timestamp;

    /// How long the executor lives, by a clock that is never set.
    fn lived(&self) -> Duration;

    /// The lock of the run.
    fn hold(&mut self) -> &mut Hold<Self::Disk>;

    /// Fails if what is committed would be lost: its folder was moved or removed.
    fn must_be_there(&self) -> Result<(), Failure>;

    /// Finds the workers of tasks that a person gives to another agent, or says why that cannot be; nothing where agents are
    /// not known.
    fn hire(&mut self, _: &Run, _: &[TaskIndex], _: &Assignment) -> Result<Option<Workers>, String> {
        Ok(None)
    }

    /// What an attempt in a slot is given; nothing if its tree is to be made first, of which [`Desk::tree`] hears.
    fn prepare(&mut self, rules: &Run, slot: usize, work: Work) -> Result<Option<Job>, Failure>;

    /// Goes on with attempts after git has done something for them: in which slots, and how.
    fn tree(&mut self, _: &Run, _: trees::News) -> Result<Vec<(usize, Next)>, Failure> {
        Ok(Vec::new())
    }

    /// The next step for an attempt whose worker, or whose check command, has ended.
    fn ended(&mut self, rules: &Run, slot: usize, work: Work, end: WorkerEnd) -> Result<Next, Failure>;

    /// Checks again what the last attempt at a task delivered: no worker runs in this one.
    fn check_again(&mut self, rules: &Run, slot: usize, work: Work);

    /// Goes on with an attempt whose delivery was looked at.
    fn looked(&mut self, rules: &Run, slot: usize, looked: Looked) -> Next;

    /// How long until checks are tried again that could not start.
    fn next_try(&self) -> Option<Duration>;

    /// Tries them again, if it is time, and says what becomes of which.
    fn try_again(&mut self, rules: &Run) -> Vec<(usize, Next)>;

    /// The attempt in a slot counts as interrupted, whatever its check finds.
    fn recall(&mut self, slot: usize);

    /// How many attempts are left to the next executor because this one stops; none where it goes on, which checks them now.
    fn left(&mut self, rules: &Run) -> usize;

    /// How an attempt that an earlier executor left at work is found again.
    fn keys(&self, rules: &Run, slot: usize, work: Work) -> Keys;

    /// How long the workers of an earlier executor have to end.
    fn patience(&self) -> Duration;

    /// The outcome of such an attempt, and whether its delivery must still be checked.
    fn harvested(&mut self, rules: &Run, work: Work, end: WorkerEnd) -> Result<(Outcome, bool), Failure>;

    /// All of that is durable. These are still to be checked, each in its slot.
    fn recovered(&mut self, rules: &Run, due: Vec<(usize, Work, Outcome)>);

    /// What was found out meanwhile, for the rules.
    fn news(&mut self) -> News;

    /// Something happened to a worker that does not end it; says in which slots workers are to be ended for it.
    fn heard(&mut self, rules: &Run, event: WorkerEvent) -> Vec<usize>;

    /// Tells people.
    fn tell(&mut self, event: event::Event);

    /// Tells what has become durable. While the run is starting, that it goes on is known.
    fn announce(&mut self, rules: &Run, happened: Vec<Happened>, is_starting: bool);

    /// The run waits for a limit of so many workers that other runs share, or does not any more.
    fn waits(&mut self, _: Option<u32>) {}

    /// A person is asked from now on, as was told.
    fn asks(&mut self) {}

    /// Answers what the rules need not decide.
    fn answer(&mut self, rules: &Run, request: &Request) -> Option<Answer>;

    /// Carries out a request that makes the plan longer, and says what it has more than the run; or why nothing was done.
    /// Nothing for any other request.
    fn grow(&mut self, _: &Run, _: &Request) -> Option<Result<Growth, String>> {
        None
    }

    /// Looks at what others wrote into the folder of the session: what the plan has more than the run; nothing if there is
    /// nothing to take in, or that cannot be, which is told.
    fn edited(&mut self, _: &Run) -> Option<Growth> {
        None
    }

    /// Takes a line that a person typed, where no question of the run is open.
    fn typed(&mut self, rules: &Run, line: Option<&str>);

    /// Whether an agent waits for a line that a person types.
    fn waits_for_line(&self) -> bool;

    /// Renders how the run stands; says whether all of it is rendered.
    fn render(&mut self, rules: &Run) -> bool;

    /// Renders all that the run leaves, and reports the outcome. No worker runs any more.
    fn leave(&mut self, rules: &Run, ending: Ending) -> Self::Report;
}

/// What the dispatcher does next about an attempt.
#[derive(Debug)]
pub enum Next {
    /// It hears of it.
    Wait,
    /// It runs this in the attempt's slot.
    Run(Box<Job>),
    /// It tells the rules.
    Over(Outcome),
    /// Nothing: the executor is about to end, and the next one checks the attempt.
    Leave,
    /// It ends the run: the disk or the system failed again and again. The next executor checks the attempt.
    Fail(Failure),
}

/// What was found out, for the rules.
#[derive(Debug, Default)]
pub struct News {
    /// What attempts used.
    pub used: Vec<Input>,
    /// A disk is full.
    pub is_full: bool,
}
