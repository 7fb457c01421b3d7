//! A run by hand: short words for inputs, short words for what happened.

use team_executor_core::TaskStatus;
use team_executor_core::run::{Effect, ErrorClass, Event, Input, Outcome, Run, Step, Work, WorkEnded};

use crate::plan::{Plan, at, index};

/// A run, its plan, and a clock in milliseconds.
#[derive(Clone)]
pub(crate) struct Drive {
    pub(crate) plan: Plan,
    pub(crate) run: Run,
    pub(crate) now: i64,
}

impl Drive {
    /// A run that has begun, and what happened then.
    pub(crate) fn start(plan: Plan) -> (Self, Step) {
        let mut drive = Self { run: plan.run(), plan, now: 0 };
        let step = drive.run.step(Input::Start { now: at(0) });
        (drive, step)
    }

    pub(crate) fn tell(&mut self, input: impl FnOnce(team_executor_core::Timestamp) -> Input) -> Step {
        self.run.step(input(at(self.now)))
    }

    /// The worker of this task ends.
    pub(crate) fn end(&mut self, id: &str, outcome: Outcome) -> Step {
        let task = self.plan.tasks.iter().position(|task| task.id.as_str() == id).unwrap();
        let attempt = self.run.view(index(task)).unwrap().attempt;
        let ended = WorkEnded { work: Work { task: index(task), attempt }, outcome };
        self.tell(|now| Input::Ended { now, ended })
    }

    pub(crate) fn complete(&mut self, id: &str) -> Step {
        self.end(id, Outcome::completed(None))
    }

    pub(crate) fn fail(&mut self, id: &str) -> Step {
        self.end(id, failed(ErrorClass::Fatal))
    }

    pub(crate) fn id(&self, task: team_executor_core::TaskIndex) -> &str {
        self.plan.tasks[task.get()].id.as_str()
    }

    /// The ids of what a step starts; `+` marks a fast advance.
    pub(crate) fn started(&self, step: &Step) -> String {
        let started = step.events.iter().filter_map(|event| match event {
            Event::Claimed { work, fast_advance: true, .. } => Some(format!("+{}", self.id(work.task))),
            Event::Claimed { work, .. } => Some(self.id(work.task).to_owned()),
            _ => None,
        });
        started.collect::<Vec<_>>().join(" ")
    }

    /// The status of each task, and its error if it has one.
    pub(crate) fn picture(&self) -> Vec<String> {
        let row = |task| {
            let view = self.run.view(index(task)).unwrap();
            let error = view.error.map(|error| format!(": {error}")).unwrap_or_default();
            format!("{} {}{error}", self.plan.tasks[task].id, view.status)
        };
        (0..self.plan.tasks.len()).map(row).collect()
    }

    /// Whether every task has this status.
    pub(crate) fn all(&self, status: TaskStatus) -> bool {
        self.run.counts().count(status) == self.plan.tasks.len()
    }
}

pub(crate) fn failed(class: ErrorClass) -> Outcome {
    Outcome::Failed { class, error: "it broke".to_owned() }
}

/// When a step wants to be woken, in milliseconds.
pub(crate) fn wake(step: &Step) -> Option<i64> {
    let wake = |effect: &Effect| if let Effect::WakeAt { at } = effect { Some(at.as_micros() / 1000) } else { None };
    step.effects.iter().find_map(wake)
}
