//! What becomes of an attempt with a tree of its own, before its worker starts and after it has ended.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::path::Path;

use team_executor_agents::{Ended, Exit};
use team_executor_beneath::ours;
use team_executor_core::run::{ErrorClass, Outcome, Review, Run, Work};
use team_executor_core::{Task, TaskIndex, Verdict};
use team_executor_trees::{Aside, Delivered, Landed, Made, Overview, Scope, Stage, Trouble};

use super::desk::RealDesk;
use super::tell_problems;
use crate::begin::run_at::check_logs;
use crate::clock;
use crate::conclude::artifacts::Verify;
use crate::conclude::checking::tail;
use crate::dispatch::crew::Job;
use crate::dispatch::desk::Next;
use crate::dispatch::inbox::Message;
use crate::event::{Event, Kind};
use crate::options::Failure;
use crate::prepare::assign::{self, CheckCommand};
use crate::prepare::worker::Worker;
use crate::trees::{Completed, Conflict, Errand, Member, News, Step, story};

/// How many files with conflicts are named.
const TOLD: usize = 20;

impl RealDesk<'_> {
    /// Goes on after git has done something: in which slots, and how.
    pub(super) fn of_git(&mut self, rules: &Run, news: News) -> Result<Vec<(usize, Next)>, Failure> {
        let run = self.at.path.clone();
        let failed = |trouble: Trouble| cannot_keep(&run, &trouble);
        let Some(trees) = &mut self.workspace.trees else { return Ok(Vec::new()) };
        let steps = match news {
            News::Made { slot, made } => {
                let next = self.has_made(rules, slot, made)?;
                return Ok(next.map(|next| (slot, next)).into_iter().collect());
            }
            News::Delivered { slot, delivered, escaped } => {
                self.tell_escaped(rules.in_slot(slot).map(|work| work.task), &escaped);
                let next = self.has_delivered(rules, slot, delivered);
                return Ok(next.map(|next| (slot, next)).into_iter().collect());
            }
            News::Folded(folded) => {
                let folded = folded.map_err(failed)?;
                trees.queue.folded(folded.trunk, folded.steps)
            }
            News::Staged(staged) => {
                let stage = staged.map_err(failed)?;
                return self.tries(rules, &stage);
            }
            News::Advanced(advanced) => {
                advanced.map_err(failed)?;
                trees.queue.advanced()
            }
            News::Nudged => trees.take_steps(),
        };
        Ok(self.carry(rules, steps))
    }

    /// The tree of an attempt is there, so its worker can start.
    fn has_made(&mut self, rules: &Run, slot: usize, made: Result<Made, Trouble>) -> Result<Option<Next>, Failure> {
        let is_stopping = self.is_stopping(rules);
        let Some(trees) = &mut self.workspace.trees else { return Ok(None) };
        let Some(stage) = trees.take_stage(slot) else { return Ok(None) };
        let work = stage.work;
        if stage.is_recalled || is_stopping {
            return Ok(Some(Next::Over(Outcome::Interrupted)));
        }
        match made {
            Ok(made) => {
                trees.has_made(work, made);
                if let Some(setup) = trees.settings().setup.clone() {
                    trees.sets_up(slot, work);
                    return self.set_up(work, &setup).map(|job| Some(Next::Run(Box::new(job))));
                }
            }
            Err(trouble) => {
                let error = format!("its working tree could not be made: {trouble}");
                return Ok(Some(Next::Over(Outcome::Failed { class: ErrorClass::Transient, error })));
            }
        }
        self.prepared(rules, work, slot).map(|job| Some(Next::Run(Box::new(job))))
    }

    /// The worker of an attempt has ended well: what is in its tree becomes a commit, which is then checked.
    pub(super) fn deliver(&mut self, rules: &Run, slot: usize, work: Work, ended: Completed) {
        let agent = self.worker(rules, work.task).map(|worker| worker.agent.clone()).unwrap_or_default();
        let findings = match &ended {
            Completed::Worked { outcome: Outcome::Completed { findings, .. }, .. } => findings.as_deref(),
            _ => None,
        };
        let scope = self.scope(work.task);
        let story = story(&self.session, work.task, (agent.as_str(), findings), clock::now(), scope);
        let task = self.session.tasks[work.task.get()].id.clone();
        if let Some(trees) = &mut self.workspace.trees {
            trees.deliver((slot, work), task.as_str(), story, ended);
        }
    }

    /// What is in the tree of an attempt is a commit.
    fn has_delivered(
        &mut self,
        rules: &Run,
        slot: usize,
        delivered: Result<Option<Delivered>, Trouble>,
    ) -> Option<Next> {
        let trees = self.workspace.trees.as_mut()?;
        let stage = trees.take_stage(slot)?;
        let (work, ended) = (stage.work, stage.ended?);
        if stage.is_recalled {
            return Some(Next::Over(Outcome::Interrupted));
        }
        let task = self.session.tasks[work.task.get()].id.to_string();
        match delivered {
            // The tree was removed: there is nothing to take, and the task is not to blame.
            Err(_) if ours::open(&trees.trees().path(&task, work.attempt)).is_err() => {
                return Some(Next::Over(Outcome::Interrupted));
            }
            Err(trouble) => return Some(Next::Fail(cannot_keep(&self.at.path, &trouble))),
            Ok(None) => {}
            Ok(Some(delivered)) => {
                // The next attempt builds on it, whatever is wrong with it.
                trees.has_delivered(work, &delivered);
                if !matches!(ended, Completed::Again) {
                    self.tell_changes(&task, work, &delivered);
                    self.tell_only_reviewed(work.task, delivered.aside.as_ref());
                }
                if !delivered.wrong.is_empty() {
                    return Some(self.unqueued(rejected(delivered.wrong.join("\n"))));
                }
            }
        }
        let (checking, scene) = self.checks(rules);
        let (outcome, artifacts, is_durable) = match ended {
            Completed::Again => {
                checking.begin_again(&scene, slot, work);
                return None;
            }
            Completed::Worked { outcome, artifacts, is_durable } => (outcome, artifacts, is_durable),
        };
        if checking.is_due(&scene, work, &outcome, artifacts) {
            return Some(checking.begin(&scene, slot, work, outcome, is_durable));
        }
        Some(self.over(rules, slot, Some(work), Next::Over(outcome)))
    }

    /// Warns that the user's checkout changed while these tasks were at work, which all have trees of their own.
    fn tell_escaped(&mut self, task: Option<TaskIndex>, files: &[String]) {
        if files.is_empty() {
            return;
        }
        let others = self.workspace.trees.iter().flat_map(|trees| trees.at_work());
        let tasks: BTreeSet<TaskIndex> = task.into_iter().chain(others).collect();
        let names: Vec<&str> = tasks.into_iter().map(|task| self.id(task)).collect();
        let who =
            if names.is_empty() { "tasks were at work".to_owned() } else { format!("{} worked", names.join(", ")) };
        let files = named(files);
        let told = format!(
            "while {who}, your checkout changed: {files}. If you did not do that, an agent left its tree; \
             what it did there is in no commit of a task"
        );
        tell_problems(vec![told], self.tell);
    }

    /// The files that a task may change in its tree.
    fn scope(&self, index: TaskIndex) -> Scope {
        let task = &self.session.tasks[index.get()];
        self.workspace.isolation(index).map(|trees| trees.settings().scope(index, task)).unwrap_or_default()
    }

    /// Warns that a task that only reviews changed files, which nothing builds on.
    fn tell_only_reviewed(&mut self, index: TaskIndex, aside: Option<&Aside>) {
        let Some(Aside { commit, files }) = aside else { return };
        let Task { id, role, .. } = &self.session.tasks[index.get()];
        let kept = match commit {
            Some(commit) => format!("the commit {commit} keeps them"),
            None => "they stay in its tree".to_owned(),
        };
        let told = format!(
            "{id} only reviews, so files that it changed in its tree are no part of its result: {}; {kept}. \
             A `scope` for the role '{role}' names files that it may change",
            named(files)
        );
        tell_problems(vec![told], self.tell);
    }

    fn tell_changes(&mut self, task: &str, work: Work, delivered: &Delivered) {
        let Delivered { commit, base, files, lines, .. } = delivered;
        (self.tell)(Event::live(Kind::TaskChanged {
            task: task.to_owned(),
            attempt: work.attempt,
            base: base.commit.clone(),
            commit: commit.clone(),
            files: *files,
            added: lines.0,
            removed: lines.1,
        }));
    }

    /// A result that passed its checks joins the queue for the trunk.
    pub(super) fn queue(&mut self, rules: &Run, slot: usize, work: Work, outcome: Outcome) -> Next {
        let task = self.session.tasks[work.task.get()].id.to_string();
        if self.is_stopping(rules) {
            self.checking.leave_to_next(slot, work, outcome);
            return Next::Leave;
        }
        if let Some(trees) = &mut self.workspace.trees
            && let Some(result) = trees.result(work).map(str::to_owned)
        {
            let steps = trees.queue.add(Member { slot, work, task, result, outcome });
            self.soon(steps);
        }
        Next::Wait
    }

    /// What follows in the queue is done with the next messages: it may end attempts in other slots.
    fn soon(&mut self, steps: Vec<Step>) {
        let Some(trees) = self.workspace.trees.as_mut().filter(|_| !steps.is_empty()) else { return };
        trees.keep_steps(steps);
        // Without a dispatcher nothing follows.
        let _heard = self.outbox.send(Message::Tree(Box::new(News::Nudged)));
    }

    /// The attempt in a slot is recalled.
    pub(super) fn recall_tree(&mut self, slot: usize) {
        if let Some(trees) = &mut self.workspace.trees {
            let steps = trees.recall(slot);
            self.soon(steps);
        }
    }

    /// The executor is about to end: what waits in the queue is left to the next one.
    pub(super) fn leave_queue(&mut self) {
        let waiting = self.workspace.trees.as_mut().map(|trees| trees.queue.give_up()).unwrap_or_default();
        for Member { slot, work, outcome, .. } in waiting {
            self.checking.leave_to_next(slot, work, outcome);
        }
    }

    /// Carries out what the queue wants.
    fn carry(&mut self, rules: &Run, steps: Vec<Step>) -> Vec<(usize, Next)> {
        let is_stopping = self.is_stopping(rules);
        let Some(trees) = &mut self.workspace.trees else { return Vec::new() };
        let (mut nexts, mut told) = (Vec::new(), Vec::new());
        let mut steps: VecDeque<Step> = steps.into();
        while let Some(step) = steps.pop_front() {
            match step {
                Step::Fold(results) => trees.ask(Errand::Fold(results)),
                Step::Try(_) if is_stopping => steps.extend(trees.queue.ended()),
                Step::Try(commit) => trees.ask(Errand::Stage { commit, later: false }),
                Step::Advance { from, to } => trees.ask(Errand::Advance { from, to }),
                Step::Void(member) => nexts.push((member.slot, Next::Over(Outcome::Interrupted))),
                Step::Conflict(member, files) => {
                    let asks = trees.settings().conflict == Conflict::Checkpoint;
                    nexts.push((member.slot, Next::Over(conflicting(*member, &files, asks))));
                }
                Step::Culprit(member) => {
                    let critique = format!("with it the tests of the whole fail: {}", trees.said);
                    nexts.push((member.slot, Next::Over(rejected(critique))));
                }
                Step::Joined(member, commit) => {
                    told.push(Kind::TaskMerged { task: member.task.clone(), commit });
                    nexts.push((member.slot, Next::Over(member.outcome)));
                }
            }
        }
        told.into_iter().for_each(|kind| (self.tell)(Event::live(kind)));
        nexts
    }

    /// Runs the tests on what the trunk would be.
    fn tries(&mut self, rules: &Run, stage: &Stage) -> Result<Vec<(usize, Next)>, Failure> {
        let is_stopping = self.is_stopping(rules);
        let Some(trees) = &mut self.workspace.trees else { return Ok(Vec::new()) };
        let Some((member, verify)) = trees.queue.place().cloned().zip(trees.settings().verify.clone()) else {
            return Ok(Vec::new());
        };
        if is_stopping {
            let steps = trees.queue.ended();
            return Ok(self.carry(rules, steps));
        }
        trees.tries_in = Some(member.slot);
        let setup = trees.settings().setup.clone().filter(|_| !stage.is_set_up);
        trees.sets_up_trunk = setup.is_some();
        if setup.is_none() {
            let commit = trees.queue.trying().unwrap_or_default().to_owned();
            (self.tell)(Event::live(Kind::TasksTested { tasks: trees.queue.tested(), commit }));
        }
        let task = &self.session.tasks[member.work.task.get()];
        let worker = self.workers.first(member.work.task).ok_or_else(|| Failure::NoWorker(task.id.to_string()))?;
        let nth = nth(worker) + usize::from(setup.is_some());
        let check = CheckCommand { attempt: member.work.attempt, nth, verify: setup.as_ref().unwrap_or(&verify) };
        let assignment = assign::for_check(self.options, &self.at, &stage.folder, task, worker, &check)?;
        let job = Job { work: member.work, task: task.id.clone(), prompt: None, assignment, travel: None };
        Ok(vec![(member.slot, Next::Run(Box::new(job)))])
    }

    /// The tests on what the trunk would be have ended in a slot; `false` if it was something else that ended.
    pub(super) fn tried(&mut self, rules: &Run, slot: usize, exit: Option<&Exit>) -> bool {
        let is_stopping = self.is_stopping(rules);
        let Some(trees) = self.workspace.trees.as_mut().filter(|trees| trees.tries_in == Some(slot)) else {
            return false;
        };
        trees.tries_in = None;
        let set_up_trunk = std::mem::take(&mut trees.sets_up_trunk);
        let steps = match exit.map(|exit| &exit.ended) {
            // Now what is tried can be tried.
            Some(Ended::Exit(0)) if set_up_trunk && trees.trees().note_set_up().is_ok() => {
                if let Some(commit) = trees.queue.trying().map(str::to_owned) {
                    trees.ask(Errand::Stage { commit, later: false });
                }
                Vec::new()
            }
            Some(Ended::Exit(0)) => trees.queue.tried(!set_up_trunk),
            Some(Ended::Stopped | Ended::Interrupted) => {
                let mut steps = trees.queue.ended();
                if !is_stopping {
                    steps.extend(trees.queue.next());
                }
                steps
            }
            Some(Ended::CouldNotStart(obstacle)) if obstacle.lack.is_some() => {
                if let Some(commit) = trees.queue.trying().map(str::to_owned) {
                    trees.ask(Errand::Stage { commit, later: true });
                }
                Vec::new()
            }
            ended => {
                let why = ended_how(ended);
                if let Some(member) = trees.queue.place() {
                    let nth = usize::from(set_up_trunk) + self.workers.first(member.work.task).map_or(1, nth);
                    let logs = check_logs(&self.at.path, &member.task, member.work.attempt, nth);
                    let printed: Vec<_> = logs.iter().map(|log| tail(log)).filter(|text| !text.is_empty()).collect();
                    let of = trees.settings();
                    let command = if set_up_trunk { of.setup.as_ref() } else { of.verify.as_ref() };
                    let command = command.map(|command| command.command.join(" "));
                    trees.said = format!("`{}`: {why}\n{}", command.unwrap_or_default(), printed.join("\n"));
                }
                if ended.is_none() { trees.queue.lost() } else { trees.queue.tried(false) }
            }
        };
        self.soon(steps);
        true
    }

    /// The command that sets up the tree of an attempt.
    fn set_up(&self, work: Work, setup: &Verify) -> Result<Job, Failure> {
        let task = &self.session.tasks[work.task.get()];
        let worker = self.workers.first(work.task).ok_or_else(|| Failure::NoWorker(task.id.to_string()))?;
        let check = CheckCommand { attempt: work.attempt, nth: nth(worker) + 1, verify: setup };
        let folder = self.workspace.folder(&self.session, work);
        let assignment = assign::for_check(self.options, &self.at, &folder, task, worker, &check)?;
        Ok(Job { work, task: task.id.clone(), prompt: None, assignment, travel: None })
    }

    /// What set up a tree in a slot has ended: the worker can start. Nothing if it was something else that ended.
    pub(super) fn has_set_up(
        &mut self,
        rules: &Run,
        slot: usize,
        exit: Option<&Exit>,
    ) -> Result<Option<Next>, Failure> {
        let Some(work) = self.workspace.trees.as_mut().and_then(|trees| trees.take_setting_up(slot)) else {
            return Ok(None);
        };
        let failed = |class, error| Ok(Some(Next::Over(Outcome::Failed { class, error })));
        match exit.map(|exit| &exit.ended) {
            Some(Ended::Exit(0)) if self.is_stopping(rules) => Ok(Some(Next::Over(Outcome::Interrupted))),
            Some(Ended::Exit(0)) => self.prepared(rules, work, slot).map(|job| Some(Next::Run(Box::new(job)))),
            None | Some(Ended::Stopped | Ended::Interrupted) => Ok(Some(Next::Over(Outcome::Interrupted))),
            Some(Ended::CouldNotStart(obstacle)) if obstacle.lack.is_some() => {
                failed(ErrorClass::Shortage, format!("could not start: {}", obstacle.reason))
            }
            ended => {
                let nth = self.workers.first(work.task).map_or(1, nth) + 1;
                let logs = check_logs(&self.at.path, self.id(work.task), work.attempt, nth);
                let printed: Vec<_> = logs.iter().map(|log| tail(log)).filter(|text| !text.is_empty()).collect();
                let setup = self.workspace.isolation(work.task).and_then(|trees| trees.settings().setup.as_ref());
                let command = setup.map(|setup| setup.command.join(" ")).unwrap_or_default();
                let words = [vec![ended_how(ended)], printed].concat().join(": ").replace('\n', "; ");
                let error = format!("its working tree was not set up: `{command}`: {words}");
                failed(ErrorClass::Transient, error)
            }
        }
    }

    /// Gives the user what is completed, when no worker is left.
    pub(super) fn land(&mut self, rules: &Run) -> Option<Landed> {
        let trees = self.workspace.trees.as_ref()?;
        // Where that cannot be told, neither can the branch be made, which is.
        let unmerged = trees.unmerged(rules).unwrap_or_default();
        let merge = |(task, commit): (TaskIndex, String)| {
            let id = self.id(task);
            format!(
                "{id}: its changes are not merged; `team-executor merge retry {id}` does it again, `git merge {commit}` by hand"
            )
        };
        let mut problems: Vec<String> = unmerged.into_iter().map(merge).collect();
        let escaped = trees.escaped();
        let landed = trees.finish();
        self.tell_escaped(None, &escaped);
        match &landed {
            Ok(Landed::Nothing) => {}
            Ok(Landed::Branch { name, commit, instead }) => {
                problems.extend(instead.as_ref().map(|why| format!("the checkout was not moved along: {why}")));
                (self.tell)(Event::live(Kind::BranchLanded { branch: name.clone(), commit: commit.clone() }));
            }
            Ok(Landed::FastForward { branch, commit }) => {
                (self.tell)(Event::live(Kind::BranchLanded { branch: branch.clone(), commit: commit.clone() }));
            }
            Ok(Landed::Not { name, why }) => {
                problems.push(format!("{name}: {why}; `team-executor changes` shows what is completed"));
            }
            Err(trouble) => {
                problems.push(format!(
                    "the branch of the run was not made: {trouble}; `team-executor merge land` tries again"
                ));
            }
        }
        tell_problems(problems, self.tell);
        landed.ok().filter(|landed| matches!(landed, Landed::Branch { .. } | Landed::FastForward { .. }))
    }

    /// What tasks have changed, for the report.
    pub(super) fn changes(&self) -> Option<Overview> {
        self.workspace.trees.as_ref()?.overview().ok()?
    }

    /// What a worker is told about its tree.
    pub(super) fn about_tree(&self, work: Work) -> String {
        let mut text = String::new();
        let Some(made) = self.workspace.isolation(work.task).and_then(|trees| trees.made(work)) else { return text };
        text.push_str(
            "\n## Your working tree\n\
             The current folder is a copy of the repository that only this task has. It begins with what the tasks have\n\
             delivered that yours builds on. Work in it, never elsewhere in the project. ",
        );
        let is_writer = self.scope(work.task) != Scope::Review || !made.base.conflicts.is_empty();
        text.push_str(match is_writer {
            true => {
                "You need not commit:\neverything that is not ignored is committed for you when you end. Never push.\n"
            }
            false => "You only\nreview: you can build and test, but files that you change are no part of your result. Never push.\n",
        });
        if !made.base.conflicts.is_empty() {
            text.push_str(
                "These files hold conflicts between what was merged. Resolve them first; no marker may stay:\n",
            );
            let files = made.base.conflicts.iter();
            for file in files.take(TOLD) {
                writeln!(text, "> {}", file.escape_debug()).ok();
            }
        }
        if let Some(lost) = &made.lost {
            writeln!(
                text,
                "An earlier attempt did not complete. What it left is the commit {lost}; take of it what is good."
            )
            .ok();
        }
        text
    }

    fn unqueued(&mut self, outcome: Outcome) -> Next {
        Next::Over(self.unless_full(outcome))
    }
}

fn cannot_keep(run: &Path, trouble: &Trouble) -> Failure {
    Failure::Disk { action: "keep the work of", path: run.to_owned(), reason: trouble.to_string() }
}

/// How a command ended that did not end well.
fn ended_how(ended: Option<&Ended>) -> String {
    match ended {
        None => "its keeper died".to_owned(),
        Some(Ended::Exit(code)) => format!("exit code {code}"),
        Some(Ended::Signal(signal)) => format!("ended by signal {signal}"),
        Some(Ended::Limit(_)) => "timed out".to_owned(),
        Some(ended) => format!("{ended:?}"),
    }
}

/// Which of the commands that check an attempt the tests of the whole are. What sets up its tree comes behind them.
fn nth(worker: &Worker) -> usize {
    worker.demands.all_commands().count() + 1
}

/// The first of some files, and how many more there are.
fn named(files: &[String]) -> String {
    let more = files.len().saturating_sub(TOLD);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", files.iter().take(TOLD).cloned().collect::<Vec<_>>().join(", "))
}

fn rejected(error: String) -> Outcome {
    Outcome::Failed { class: ErrorClass::Rejected, error }
}

/// What an attempt comes to whose result does not merge: its task is done again, or a person is asked.
fn conflicting(member: Member, files: &[String], asks: bool) -> Outcome {
    let why = format!("it conflicts with what other tasks have changed since, in: {}", named(files));
    let Outcome::Completed { findings, .. } = member.outcome else { return member.outcome };
    if !asks {
        return rejected(format!("{why}; the next attempt begins with both"));
    }
    let critique = format!("{}: {why}; to go on without it merged is to merge {} by hand", member.task, member.result);
    let review = Review { verdict: Some(Verdict::Block), critique, ..Review::default() };
    Outcome::Completed { findings, review: Some(Box::new(review)) }
}
