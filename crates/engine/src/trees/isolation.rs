//! The trees of the run that goes on: at which step each attempt is, and what tasks came to.

use std::collections::BTreeMap;
use std::path::Path;

use team_executor_core::run::{Outcome, Run, Work};
use team_executor_core::{Session, Task, TaskIndex, TaskStatus, Timestamp};
use team_executor_store::{Durability, replace};
use team_executor_trees::{
    Consent, Delivered, Donor, Landed, Made, Overview, Repository, Scope, Story, Trees, Trouble, mark,
};

use super::bench::{Errand, insisting};
use super::{Bench, Dirty, Queue, Settings, Step};
use crate::begin::run_at::{RunAt, newest, runs};
use crate::dispatch::inbox::Outbox;
use crate::options::{Failure, Options};
use crate::prepare::paths;

/// How long the first line of a commit is at most.
const SUBJECT: usize = 72;

/// The trees of a run.
#[derive(Debug)]
pub(crate) struct Isolation {
    bench: Bench,
    trees: Trees,
    settings: Settings,
    /// The attempts that wait for git, by slot.
    stages: BTreeMap<usize, Stage>,
    /// The trees that workers are in.
    made: BTreeMap<TaskIndex, (Work, Made)>,
    /// What the last attempt at each task came to that ended well.
    results: BTreeMap<TaskIndex, (u32, String)>,
    pub(crate) queue: Queue,
    /// What the queue wants next.
    steps: Vec<Step>,
    /// The slot in which the tests of the whole run.
    pub(crate) tries_in: Option<usize>,
    /// What they said when they failed last.
    pub(crate) said: String,
    /// The attempts whose trees are being set up, by slot.
    setting_up: BTreeMap<usize, Work>,
    /// The tree of the trunk is being set up.
    pub(crate) sets_up_trunk: bool,
}

/// What an attempt waits for.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) work: Work,
    /// What it came to, if its worker has ended.
    pub(crate) ended: Option<Completed>,
    /// It was recalled.
    pub(crate) is_recalled: bool,
}

/// An attempt whose worker ended well.
#[derive(Debug, Clone)]
pub(crate) enum Completed {
    /// It delivered so many files, and they are durable or not.
    Worked { outcome: Outcome, artifacts: usize, is_durable: bool },
    /// No worker ran: what an earlier attempt did is checked again.
    Again,
}

/// Opens the repository of a project, before anything of a run is made or changed; nothing if no task has trees.
pub(crate) fn repository(options: &Options, project: &Path) -> Result<Option<Repository>, Failure> {
    let Some(settings) = options.trees.as_ref().filter(|settings| settings.isolated.contains(&true)) else {
        return Ok(None);
    };
    let mut repository =
        Repository::open(project, &options.environment, settings.extras.submodules).map_err(failure)?;
    repository.leave_out(&options.folder);
    let begins = options.run.is_none() && newest(&runs(project), &options.folder).is_none();
    if begins {
        repository.can_begin(&settings.base).map_err(failure)?;
        if settings.dirty == Dirty::Refuse {
            repository.must_be_committed().map_err(failure)?;
        }
    }
    Ok(Some(repository))
}

impl Isolation {
    /// Opens the trees of a run, and finds what its tasks came to.
    pub(crate) fn open(
        settings: &Settings,
        repository: Repository,
        (run, folder, session): (&RunAt, &Path, &Session),
        outbox: &Outbox,
    ) -> Result<Self, Failure> {
        let key = format!("{}-{:x}", run.id, run.begun.as_micros());
        let trees = Trees::open(
            repository,
            (&run.id, &key),
            &settings.root,
            (&settings.base, settings.dirty),
            settings.extras.clone(),
        );
        let trees = trees.map_err(failure)?;
        let mark = replace(run.hold.folder(), mark::MARK, trees.mark().text().as_bytes(), Durability::Durable);
        mark.map_err(|error| Failure::disk("write to", &run.path)(std::io::Error::other(error)))?;
        for (name, place) in [(paths::SESSION, folder), (paths::RUN, &run.path)] {
            trees.link(name, place).map_err(failure)?;
        }
        let known = trees.results().map_err(failure)?;
        let tasks = (0..).map(TaskIndex).zip(&session.tasks);
        let results = tasks.filter_map(|(index, task)| Some((index, trees.result_of(task.id.as_str(), &known)?)));
        let results = results.collect();
        let bench = Bench::new(&trees, outbox).map_err(Failure::disk("start", "the threads for git"))?;
        let queue = Queue::new(settings.batch, settings.flaky, settings.verify.is_some());
        let (stages, made, settings) = (BTreeMap::new(), BTreeMap::new(), settings.clone());
        Ok(Self {
            bench,
            trees,
            settings,
            stages,
            made,
            results,
            queue,
            steps: Vec::new(),
            tries_in: None,
            said: String::new(),
            setting_up: BTreeMap::new(),
            sets_up_trunk: false,
        })
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A task was added.
    pub(crate) fn learn(&mut self, task: TaskIndex, is_isolated: bool, scope: Option<Vec<String>>) {
        self.settings.scopes.remove(&task);
        self.settings.scopes.extend(scope.map(|scope| (task, scope)));
        let others = self.settings.others;
        if self.settings.isolated.len() <= task.get() {
            self.settings.isolated.resize(task.get() + 1, others);
        }
        self.settings.isolated[task.get()] = is_isolated;
    }

    pub(crate) const fn trees(&self) -> &Trees {
        &self.trees
    }

    /// The tasks that have workers in trees.
    pub(crate) fn at_work(&self) -> impl Iterator<Item = TaskIndex> + '_ {
        self.made.keys().copied()
    }

    /// What changed in the user's checkout since the last look.
    pub(crate) fn escaped(&self) -> Vec<String> {
        self.bench.watch().changed(&self.trees)
    }

    pub(crate) fn ask(&self, errand: Errand) {
        self.bench.ask(errand);
    }

    /// Where a worker works, and what checks its attempt.
    pub(crate) fn folder(&self, task: &str, attempt: u32) -> std::path::PathBuf {
        self.trees.project_in(&self.trees.path(task, attempt))
    }

    /// What the last attempt at a task came to, if it was this one.
    pub(crate) fn result(&self, work: Work) -> Option<&str> {
        self.results.get(&work.task).filter(|(attempt, _)| *attempt == work.attempt).map(|(_, commit)| commit.as_str())
    }

    /// The tree that the worker of an attempt is in.
    pub(crate) fn made(&self, work: Work) -> Option<&Made> {
        self.made.get(&work.task).filter(|(of, _)| *of == work).map(|(_, made)| made)
    }

    /// Has the tree of an attempt made.
    pub(crate) fn make(&mut self, rules: &Run, session: &Session, slot: usize, work: Work) {
        self.stages.insert(slot, Stage { work, ended: None, is_recalled: false });
        let before = self.results.get(&work.task).map(|(_, commit)| commit.clone());
        let commits = before.iter().cloned().chain(self.built_on(rules, work.task)).collect();
        let task = session.tasks[work.task.get()].id.to_string();
        let done =
            if self.settings.extras.cache.is_empty() { Vec::new() } else { self.done(rules, session, work.task) };
        self.ask(Errand::Make { slot, task, attempt: work.attempt, commits, before, done });
    }

    /// The attempts in whose trees nothing runs any more: what the task itself came to before, and tasks that are completed, the newest first.
    fn done(&self, rules: &Run, session: &Session, task: TaskIndex) -> Vec<Donor> {
        let is_done = |other: TaskIndex| other == task || rules.status(other) == Some(TaskStatus::Completed);
        let mut done: Vec<_> = self.results.iter().filter(|(other, _)| is_done(**other)).collect();
        done.sort_by_key(|(other, _)| {
            let since = rules.view(**other).and_then(|view| view.since);
            (**other != task, std::cmp::Reverse(since))
        });
        let donor = |(other, (attempt, commit)): (&TaskIndex, &(u32, String))| {
            let task = session.tasks[other.get()].id.to_string();
            Donor { task, attempt: *attempt, commit: commit.clone() }
        };
        done.into_iter().map(donor).collect()
    }

    /// The results of the tasks that a task builds on, in the order of the session. A task that has none of its own hands on what it
    /// builds on.
    fn built_on(&self, rules: &Run, task: TaskIndex) -> Vec<String> {
        let mut seen = std::collections::BTreeSet::new();
        let mut next: Vec<TaskIndex> = rules.graph().dependencies(task).to_vec();
        let mut found = BTreeMap::new();
        while let Some(on) = next.pop() {
            if !seen.insert(on) {
                continue;
            }
            let is_done = rules.status(on) == Some(TaskStatus::Completed);
            match self.results.get(&on).filter(|_| is_done) {
                Some((_, commit)) => drop(found.insert(on, commit.clone())),
                None => next.extend(rules.graph().dependencies(on)),
            }
        }
        found.into_values().collect()
    }

    /// Has what is in the tree of an attempt made a commit.
    pub(crate) fn deliver(&mut self, (slot, work): (usize, Work), task: &str, story: Story, ended: Completed) {
        self.made.remove(&work.task);
        self.stages.insert(slot, Stage { work, ended: Some(ended), is_recalled: false });
        let (task, attempt, story) = (task.to_owned(), work.attempt, Box::new(story));
        self.ask(Errand::Deliver { slot, task, attempt, story });
    }

    /// Takes what an earlier attempt came to for a check without a worker; `false` if there is nothing.
    pub(crate) fn again(&mut self, slot: usize, work: Work, task: &Task) -> bool {
        let Some((earlier, _)) = self.results.get(&work.task) else { return false };
        let (attempt, earlier, scope) = (work.attempt, *earlier, self.settings.scope(work.task, task));
        let task = task.id.to_string();
        self.stages.insert(slot, Stage { work, ended: Some(Completed::Again), is_recalled: false });
        self.ask(Errand::Again { slot, task, attempt, earlier, scope });
        true
    }

    /// Git is done with what an attempt waited for.
    pub(crate) fn take_stage(&mut self, slot: usize) -> Option<Stage> {
        self.stages.remove(&slot)
    }

    /// The tree of an attempt is being set up in a slot.
    pub(crate) fn sets_up(&mut self, slot: usize, work: Work) {
        self.setting_up.insert(slot, work);
    }

    /// What set up the tree of an attempt in a slot has ended.
    pub(crate) fn take_setting_up(&mut self, slot: usize) -> Option<Work> {
        self.setting_up.remove(&slot)
    }

    /// The tree of an attempt is there.
    pub(crate) fn has_made(&mut self, work: Work, made: Made) {
        self.made.insert(work.task, (work, made));
    }

    /// What an attempt came to.
    pub(crate) fn has_delivered(&mut self, work: Work, delivered: &Delivered) {
        self.results.insert(work.task, (work.attempt, delivered.commit.clone()));
    }

    /// The attempt in a slot is recalled.
    pub(crate) fn recall(&mut self, slot: usize) -> Vec<Step> {
        match self.stages.get_mut(&slot) {
            Some(stage) => {
                stage.is_recalled = true;
                Vec::new()
            }
            None => self.queue.recall(slot),
        }
    }

    /// What the queue wants is done with the next messages.
    pub(crate) fn keep_steps(&mut self, steps: Vec<Step>) {
        self.steps.extend(steps);
    }

    /// What the queue wants.
    pub(crate) fn take_steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    /// The completed tasks whose results do not merge, with their commits.
    pub(crate) fn unmerged(&self, rules: &Run) -> Result<Vec<(TaskIndex, String)>, Trouble> {
        let trunk = self.trees.trunk()?;
        let mut unmerged = Vec::new();
        for (task, (_, commit)) in &self.results {
            let is_done = rules.status(*task) == Some(TaskStatus::Completed);
            if is_done && !self.trees.repository().is_in(commit, &trunk)? {
                unmerged.push((*task, commit.clone()));
            }
        }
        Ok(unmerged)
    }

    /// What its refs say, for those who look.
    pub(crate) fn overview(&self) -> Result<Option<Overview>, Trouble> {
        self.trees.overview()
    }

    /// Gives the user what is completed, and removes the trees whose work is kept. No worker lives any more.
    pub(crate) fn finish(&self) -> Result<Landed, Trouble> {
        if self.settings.land == super::Land::None {
            return Ok(Landed::Nothing);
        }
        let landed = insisting(|| self.trees.land(self.settings.land))?;
        if !matches!(landed, Landed::Not { .. }) {
            // What cannot be looked at stays, and `doctor` says why.
            let _stays = self.trees.remove_stored(Consent::OfRun);
        }
        Ok(landed)
    }
}

/// What the commit of an attempt says.
pub(crate) fn story(
    session: &Session,
    task: TaskIndex,
    (agent, findings): (&str, Option<&str>),
    at: Timestamp,
    scope: Scope,
) -> Story {
    let task = &session.tasks[task.get()];
    let subject = format!("{}: {}", task.id, task.label());
    let subject = match subject.char_indices().nth(SUBJECT) {
        Some((end, _)) => format!("{}…", &subject[..end]),
        None => subject,
    };
    Story {
        subject,
        findings: findings.unwrap_or_default().to_owned(),
        role: task.role.to_string(),
        agent: agent.to_owned(),
        seconds: at.as_micros().div_euclid(1_000_000),
        scope,
    }
}

/// Why a run cannot have trees.
pub(crate) fn failure(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Refused { why, help } => Failure::Trees { why, help },
        Trouble::Failed(why) => Failure::Trees { why, help: "team-executor doctor says what is wrong".to_owned() },
    }
}
