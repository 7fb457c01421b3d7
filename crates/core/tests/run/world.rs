//! A world around a run: workers that end as chance wills, people who interfere, crashes at any point of a step.

use proptest::prelude::TestCaseError;
use team_executor_core::run::{
    Assignment, Cancel, Effect, Event, Group, Input, NextPlan, Outcome, PlanMark, Run, Step, Which, Work, WorkEnded,
    invariants,
};
use team_executor_core::{CheckpointAction, TaskStatus};

use crate::oracle::{Oracle, Stage};
use crate::plan::{Plan, at, index};

/// What chance does next.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// One of the workers ends.
    End {
        which: usize,
        outcome: Outcome,
    },
    /// Time passes.
    Wait {
        millis: i64,
    },
    Pause,
    Resume,
    Drain,
    NoRoom,
    Stop,
    Retry {
        which: Option<usize>,
        downstream: bool,
    },
    Skip {
        which: usize,
    },
    Cancel {
        which: usize,
        then: Cancel,
    },
    Limit {
        group: Group,
        most: Option<u32>,
    },
    Decide {
        action: CheckpointAction,
        which: Option<usize>,
    },
    /// A task waits for another one that it did not wait for, or no longer, or is not there any more.
    Replan {
        which: usize,
        on: usize,
        gone: bool,
    },
    /// The next input is the last; of its events only some are durable, or all of them and its effects are carried out.
    Crash {
        before: Box<Act>,
        durable: usize,
        fates: u64,
        set_back: i64,
    },
}

/// A run with everything around it.
pub(crate) struct World<'a> {
    /// As it is now.
    plan: Plan,
    pub(crate) run: Run,
    oracle: Oracle<'a>,
    pub(crate) durable: Vec<Event>,
    /// What live workers hold.
    workers: Vec<Work>,
    now: i64,
    wake: Option<i64>,
    pub(crate) over: Option<team_executor_core::run::Ending>,
}

type Checked = Result<(), TestCaseError>;

impl<'a> World<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Result<Self, TestCaseError> {
        let (run, oracle) = (plan.run(), Oracle::new(plan));
        let (durable, workers) = (Vec::new(), Vec::new());
        let plan = plan.clone();
        let mut world = Self { plan, run, oracle, durable, workers, now: 1_000, wake: None, over: None };
        let step = world.run.step(Input::Start { now: at(world.now) });
        world.keep(step)?;
        Ok(world)
    }

    pub(crate) fn act(&mut self, act: &Act) -> Checked {
        self.now += 1;
        if let Act::Crash { before, durable, fates, set_back } = act {
            return self.crash(before, *durable, *fates, *set_back);
        }
        if let Act::Replan { which, on, gone } = act {
            return self.replan(*which, *on, *gone);
        }
        let Some(input) = self.input(act) else { return Ok(()) };
        let before = self.run.clone();
        let expected = match &input {
            Input::Ended { ended: WorkEnded { work, outcome: Outcome::Completed { review, .. } }, .. } => {
                self.oracle.expect(*work, review.as_deref())
            }
            _ => None,
        };
        self.pass(&input);
        let step = self.run.step(input.clone());
        self.check_refusal(&input, &before, &step)?;
        let reviewed = step.events.iter().find_map(|event| match event {
            Event::Completed { reviewed: Some(reviewed), .. } => Some(reviewed.then.clone()),
            _ => None,
        });
        check(reviewed == expected, "something else should follow from a review")?;
        self.keep(step)
    }

    /// Lets everything end well, and checks that it does end.
    pub(crate) fn finish(&mut self) -> Checked {
        for _ in 0..60 * self.plan.tasks.len() {
            match self.oracle.stage {
                Stage::Finished => return Ok(()),
                Stage::Paused | Stage::Draining | Stage::Stopping => self.act(&Act::Resume)?,
                _ if self.workers.is_empty() => {
                    let wake = self.wake.ok_or_else(|| fail("nothing runs and nothing is waited for"))?;
                    self.act(&Act::Wait { millis: wake - self.now })?;
                }
                _ => self.act(&Act::End { which: 0, outcome: Outcome::completed(None) })?,
            }
        }
        Err(fail("it never ends"))
    }

    fn input(&self, act: &Act) -> Option<Input> {
        let now = at(self.now);
        let task = |which: usize| index(which % self.plan.tasks.len());
        Some(match act {
            Act::End { which, outcome } => {
                let work = *self.workers.get(which % self.workers.len().max(1))?;
                Input::Ended { now, ended: WorkEnded { work, outcome: outcome.clone() } }
            }
            Act::Wait { millis } => Input::Woke { now: at(self.now + millis.max(&0)) },
            Act::Pause => Input::Pause { now, reason: "a break".to_owned() },
            Act::Resume => Input::Resume { now },
            Act::Drain => Input::Drain { now },
            Act::NoRoom => Input::NoRoom { now },
            Act::Stop => Input::Stop { now },
            Act::Retry { which, downstream } => {
                let with = which.filter(|which| which % 3 == 0).map(given);
                let which = which.map_or(Which::AllFailed, |which| Which::Tasks(vec![task(which)]));
                Input::Retry { now, which, downstream: *downstream, feedback: String::new(), with }
            }
            Act::Skip { which } => Input::Skip { now, task: task(*which), reason: "not needed".to_owned() },
            Act::Cancel { which, then } => {
                let (reason, feedback) = ("too slow".to_owned(), if which % 2 == 0 { "faster" } else { "" }.to_owned());
                Input::Cancel {
                    now,
                    task: task(*which),
                    then: *then,
                    reason,
                    feedback,
                    with: (which % 3 == 0).then(|| given(*which)),
                }
            }
            Act::Limit { group, most } => Input::Limit { now, group: group.clone(), most: *most },
            Act::Decide { action, which } => {
                let tasks = which.map(task).into_iter().collect();
                Input::Decide { now, action: *action, tasks, text: "better".to_owned() }
            }
            Act::Crash { .. } | Act::Replan { .. } => return None,
        })
    }

    /// The plan is changed. Only what no one has tried may be touched by that.
    fn replan(&mut self, which: usize, on: usize, gone: bool) -> Checked {
        let which = which % self.plan.tasks.len();
        if self.oracle.gone.contains(&which) || !gone && (which == 0 || self.oracle.gone.contains(&(on % which))) {
            return Ok(());
        }
        let mut plan = self.plan.clone();
        let id = plan.tasks[if gone { which } else { on % which }].id.clone();
        let waits = |task: &usize| plan.tasks[*task].dependencies.contains(&id);
        let changed = if gone { (0..plan.tasks.len()).filter(waits).collect() } else { vec![which] };
        for task in changed.iter().copied() {
            let on = &mut plan.tasks[task].dependencies;
            if on.contains(&id) { on.retain(|on| *on != id) } else { on.push(id.clone()) }
        }
        let removed = if gone { vec![id] } else { Vec::new() };
        if gone {
            plan.tasks[which].dependencies.clear();
        }
        let (now, before) = (at(self.now), self.run.clone());
        let graph = plan.run().graph().clone();
        self.run.plan_next(NextPlan { graph, anew: Vec::new() }).map_err(|error| fail(&error.to_string()))?;
        let mark = PlanMark { digest: String::new(), tasks: 0 };
        let touched = changed.iter().copied().chain(gone.then_some(which));
        let is_legal = self.oracle.stage != Stage::Finished && !before.keeps_waves();
        let is_legal = is_legal && touched.into_iter().all(|task| self.oracle.is_untouched(task));
        // The rules see themselves what else would be changed.
        let said = changed.iter().copied().filter(|_| on.is_multiple_of(2)).map(index).collect();
        let input = Input::Replan { now, changed: said, removed, plan: mark };
        self.pass(&input);
        let step = self.run.step(input.clone());
        check(is_legal == step.refused.is_none(), "a plan is changed or not")?;
        self.check_refusal(&input, &before, &step)?;
        if step.refused.is_some() {
            return self.keep(step);
        }
        self.oracle.next = (0..plan.tasks.len()).map(|task| plan.dependencies(task)).collect();
        self.plan = plan;
        self.make_durable(&step.events)?;
        let step = self.run.step(Input::Woke { now });
        self.keep(step)
    }

    /// The events of a step become durable, then its effects are carried out.
    fn keep(&mut self, step: Step) -> Checked {
        self.make_durable(&step.events)?;
        self.check_statuses()?;
        if step.refused.is_some() {
            return self.check_replay(Input::Start { now: at(self.now) }); // refused too: only time passed
        }
        self.oracle.settled().map_err(|what| self.wrong(&what))?;
        let ended: Vec<_> = step.events.iter().filter_map(ended).collect();
        self.workers.retain(|work| !ended.contains(work));
        (self.over, self.wake) = (None, None);
        for effect in &step.effects {
            match effect {
                Effect::Spawn { work, .. } | Effect::Check { work, .. } => {
                    check(!self.workers.iter().any(|w| w.task == work.task), "two workers on one task")?;
                    self.workers.push(*work);
                }
                Effect::EndWorker { work } => check(self.workers.contains(work), "no such worker")?,
                Effect::WakeAt { at } => self.wake = Some(at.as_micros() / 1000 + 1),
                Effect::AskWaveFailed { .. } | Effect::AskCheckpoint { .. } => {
                    check(self.oracle.stage == Stage::Paused, "asks and goes on")?
                }
                Effect::Over { ending } => self.over = Some(*ending),
            }
        }
        if let Some(event) = self.run.intend(2, at(self.now)) {
            self.make_durable(&[event])?;
        }
        let mut workers = self.workers.clone();
        workers.sort();
        check(workers == self.oracle.running(), "the workers are not those of the events")?;
        let idle = self.workers.is_empty() && self.oracle.stage != Stage::Going;
        check(idle == self.over.is_some(), "over or not over")?;
        let stuck = self.workers.is_empty() && self.oracle.stage == Stage::Going && self.wake.is_none();
        check(!stuck, "stuck")?;
        self.check_replay(Input::Woke { now: at(self.now) })
    }

    fn make_durable(&mut self, events: &[Event]) -> Checked {
        for event in events {
            self.durable.push(event.clone());
            self.oracle.see(event).map_err(|what| self.wrong(&what))?;
        }
        Ok(())
    }

    /// The executor dies within or after a step and another one takes over.
    fn crash(&mut self, before: &Act, durable: usize, fates: u64, set_back: i64) -> Checked {
        if let Some(input) = self.input(before) {
            let step = self.run.step(input.clone());
            let cut = durable % (step.events.len() + 2);
            if cut > step.events.len() {
                self.pass(&input);
                self.keep(step)?;
            } else {
                self.make_durable(&step.events[..cut])?;
                let ended: Vec<_> = step.events.iter().filter_map(ended).collect();
                self.workers.retain(|work| !ended.contains(work)); // it ended, whether or not that is durable
            }
        }
        self.now -= set_back;
        let (mut alive, mut harvested) = (Vec::new(), Vec::new());
        for (nth, work) in self.workers.iter().enumerate() {
            match fates >> (2 * nth) & 3 {
                0 => {}
                1 => alive.push(*work),
                _ => harvested.push(WorkEnded { work: *work, outcome: Outcome::completed(None) }),
            }
        }
        let rebooted = fates >> 63 == 1;
        if rebooted {
            alive.clear();
        }
        self.workers = alive.clone();
        self.run = self.replay();
        self.oracle.crash();
        let step = self.run.step(Input::Recovered { now: at(self.now), alive, harvested, rebooted });
        self.keep(step)
    }

    fn pass(&mut self, input: &Input) {
        self.now = self.now.max(input.now().as_micros() / 1000);
        self.oracle.pass(at(self.now).as_micros());
    }

    /// A run that knows only what is durable.
    fn replay(&self) -> Run {
        let mut run = self.plan.run();
        self.durable.iter().for_each(|event| run.apply(event));
        run
    }

    /// The events and the time determine everything; the input adds only the time.
    fn check_replay(&self, time: Input) -> Checked {
        let mut run = self.replay();
        let step = run.step(time);
        check(step.events.is_empty() && run == self.run, "a replay gives another run")
    }

    fn check_statuses(&self) -> Checked {
        check(invariants::check(&self.run) == Ok(()), "an invariant is broken")?;
        for (task, seen) in self.oracle.tasks.iter().enumerate() {
            let is_gone = self.oracle.gone.contains(&task);
            check(self.run.is_there(index(task)) != is_gone, "there or not there")?;
            if is_gone {
                continue;
            }
            let ready = self.oracle.is_ready(task);
            let status = if ready { TaskStatus::Ready } else { seen.status };
            let view = self.run.view(index(task)).ok_or_else(|| fail("no view"))?;
            check((view.status, view.attempt) == (status, seen.attempt), "a status is wrong")?;
            check((view.rounds, view.not_needed) == (seen.rounds, seen.not_needed), "a round is wrong")?;
        }
        let there = (0..self.plan.tasks.len()).filter(|task| self.run.is_there(index(*task)));
        let statuses = there.filter_map(|task| self.run.status(index(task)));
        let statuses: Vec<_> = statuses.collect();
        let counts = self.run.counts();
        let count = |status: &TaskStatus| statuses.iter().filter(|s| *s == status).count();
        check(TaskStatus::ALL.iter().all(|status| counts.count(*status) == count(status)), "a count is wrong")
    }

    /// A refused input changes nothing; an accepted one was legal.
    fn check_refusal(&self, input: &Input, before: &Run, step: &Step) -> Checked {
        let status = |task: usize| self.oracle.tasks.get(task).map(|seen| seen.status);
        let legal = match input {
            Input::Skip { task, .. } => Some(status(task.get()) == Some(TaskStatus::Pending)),
            Input::Ended { .. } => Some(true),
            Input::Retry { which: Which::Tasks(tasks), with: Some(_), .. }
                if status(tasks[0].get()) == Some(TaskStatus::Pending) =>
            {
                Some(true)
            }
            Input::Retry { which: Which::Tasks(tasks), .. } => match status(tasks[0].get()) {
                Some(TaskStatus::Pending | TaskStatus::InProgress) => Some(false),
                _ => None,
            },
            _ => None,
        };
        check(legal.is_none_or(|legal| legal == step.refused.is_none()), "refused or not")?;
        if step.refused.is_some() {
            let mut same = before.clone();
            same.step(Input::Start { now: input.now() }); // is refused too, and time passes
            check(step.events.is_empty() && step.effects.is_empty() && same == self.run, "refused, and yet")?;
        }
        if let Input::Ended { ended, .. } = input {
            let again = self.run.clone().step(Input::Ended { now: input.now(), ended: ended.clone() });
            check(again.refused.is_some() && again.events.is_empty(), "a worker ends twice")?;
        }
        Ok(())
    }

    fn wrong(&self, what: &str) -> TestCaseError {
        fail(&format!("{what}\n{:#?}", self.durable))
    }
}

/// To whom a person gives a task.
fn given(which: usize) -> Assignment {
    Assignment { agent: format!("agent {}", which % 2), model: None }
}

fn ended(event: &Event) -> Option<Work> {
    match event {
        Event::Completed { work, .. } | Event::Failed { work, .. } | Event::Interrupted { work, .. } => Some(*work),
        _ => None,
    }
}

fn check(holds: bool, what: &str) -> Checked {
    if holds { Ok(()) } else { Err(fail(what)) }
}

fn fail(what: &str) -> TestCaseError {
    TestCaseError::fail(what.to_owned())
}
