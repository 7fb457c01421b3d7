//! The desk of the program: the session, the folder of the run, the checks, and the faces that people look at.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::time::{Duration, Instant};

use team_executor_agents::Ended;
use team_executor_beneath::ours;
use team_executor_core::run::{self, Assignment, Ending, Input, Live, Outcome, Run, Stage, Work};
use team_executor_core::{CheckpointAction, Session, TaskIndex, Timestamp};
use team_executor_store::RealDisk;

use super::growing::Seen;
use super::tell_problems;
use crate::begin::edits::unheard;
use crate::begin::hold::Hold;
use crate::begin::run_at::RunAt;
use crate::circumstances::LostHost;
use crate::conclude::artifacts::Looked;
use crate::conclude::checking::{self, Checking};
use crate::conclude::{Gaps, Known};
use crate::control::request::Permission;
use crate::control::{Answer, Request};
use crate::dispatch::conductor::Happened;
use crate::dispatch::crew::{Job, Keys, WorkerEnd, WorkerEvent};
use crate::dispatch::desk::{Desk, News, Next};
use crate::dispatch::following::Following;
use crate::dispatch::inbox::{Message, Outbox};
use crate::event;
use crate::options::{Failure, Options};
use crate::prepare::job;
use crate::prepare::newcomer::{Chooser, Growth};
use crate::prepare::prompt::Knowledge;
use crate::prepare::resident::Residents;
use crate::prepare::talk;
use crate::prepare::worker::Workers;
use crate::prepare::workspace::Workspace;
use crate::render::run_report::Report;
use crate::render::views;
use crate::render::views::Views;
use crate::trees::{self, Completed};
use crate::{clock, control};

/// How long the keepers of an earlier executor have to end their workers, besides the time that these have themselves.
const KEEPER_PATIENCE: Duration = Duration::from_secs(15);

/// So long the session's own files are left alone after others wrote into them: who reads, changes and writes them does not
/// meet what was rendered meanwhile.
const LEFT_ALONE: Duration = Duration::from_secs(1);

pub(super) struct RealDesk<'t> {
    /// What is being judged. The first to go: it writes to the run.
    pub(super) checking: Checking,
    pub(super) options: &'t Options,
    /// Who does which task.
    pub(super) workers: Workers,
    /// When others wrote into the session last.
    pub(super) edited_at: Option<Instant>,
    /// What of others' edits was not taken in, and why.
    pub(super) refused_edit: Option<String>,
    /// How the files of the plan stood that only others write, when they were read last.
    pub(super) seen: Vec<Seen>,
    /// The tasks that were removed from the run, by their ids.
    pub(super) gone: HashSet<String>,
    /// Chooses for tasks that are added.
    pub(super) chooser: Option<Box<dyn Chooser>>,
    pub(super) at: RunAt,
    pub(super) views: Views<RealDisk>,
    pub(super) session: Session,
    pub(super) gaps: Gaps,
    /// What the results of all tasks must be, if they are the rows of a table.
    pub(super) job: Option<job::ResultSchema>,
    pub(super) residents: Residents,
    pub(super) knowledge: Knowledge,
    /// For what it tells the dispatcher.
    pub(super) outbox: Outbox,
    /// Where workers work.
    pub(super) workspace: Workspace,
    /// What attempts reported, until their end is told.
    pub(super) reports: Known,
    /// What running agents have said so far.
    pub(super) following: Following,
    /// What attempts used, told with the next inputs.
    pub(super) used: Vec<Input>,
    /// A disk was found full, and the rules were not told.
    pub(super) is_full: bool,
    /// What known agents that are at work have used so far.
    pub(super) live: Live,
    /// Of these, those that will ask their model again.
    pub(super) going_on: BTreeSet<Work>,
    /// Attempts that are being ended, because a budget is used up, and which one.
    pub(super) overspent: BTreeMap<Work, String>,
    /// Which of its agents does the last attempt at a task that was told to have begun.
    pub(super) doers: BTreeMap<TaskIndex, u32>,
    /// Models without a price, each told once.
    pub(super) unpriced: BTreeSet<String>,
    /// It was told that there are fewer workers than were chosen, for want of something, or of knowledge.
    pub(super) told_shortage: bool,
    pub(super) told_at_first: bool,
    /// What agents want to be allowed, the oldest first.
    pub(super) permissions: VecDeque<Permission>,
    /// The machine's limit, while the run waits for it.
    pub(super) machine: Option<u32>,
    /// Other machines that are lost.
    pub(super) lost_hosts: Vec<LostHost>,
    /// Since when the executor lives.
    pub(super) since: Instant,
    pub(super) tell: &'t mut dyn FnMut(event::Event),
}

impl RealDesk<'_> {
    pub(super) fn id(&self, task: TaskIndex) -> &str {
        self.session.tasks[task.get()].id.as_str()
    }
}

impl Desk for RealDesk<'_> {
    type Disk = RealDisk;
    type Report = Report;

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn lived(&self) -> Duration {
        self.since.elapsed()
    }

    fn hold(&mut self) -> &mut Hold<RealDisk> {
        &mut self.at.hold
    }

    fn must_be_there(&self) -> Result<(), Failure> {
        self.at.must_be_there(&self.options.folder)
    }

    fn waits(&mut self, machine: Option<u32>) {
        self.machine = machine;
    }

    fn hire(&mut self, rules: &Run, tasks: &[TaskIndex], to: &Assignment) -> Result<Option<Workers>, String> {
        self.hired(rules, tasks, to).map(Some)
    }

    fn prepare(&mut self, rules: &Run, slot: usize, work: Work) -> Result<Option<Job>, Failure> {
        if let Some(trees) = self.workspace.isolation_mut(work.task) {
            trees.make(rules, &self.session, slot, work);
            return Ok(None);
        }
        self.prepared(rules, work, slot).map(Some)
    }

    fn tree(&mut self, rules: &Run, news: trees::News) -> Result<Vec<(usize, Next)>, Failure> {
        self.of_git(rules, news)
    }

    fn ended(&mut self, rules: &Run, slot: usize, work: Work, end: WorkerEnd) -> Result<Next, Failure> {
        let next = self.goes_on(rules, slot, work, end)?;
        Ok(self.over(rules, slot, Some(work), next))
    }

    fn check_again(&mut self, rules: &Run, slot: usize, work: Work) {
        if let Some(trees) = self.workspace.isolation_mut(work.task)
            && trees.again(slot, work, &self.session.tasks[work.task.get()])
        {
            return;
        }
        let (checking, scene) = self.checks(rules);
        checking.begin_again(&scene, slot, work);
    }

    fn looked(&mut self, rules: &Run, slot: usize, looked: Looked) -> Next {
        let (checking, scene) = self.checks(rules);
        let mut problems = Vec::new();
        let next = checking.looked(&scene, slot, looked, &mut problems);
        tell_problems(problems, self.tell);
        self.over(rules, slot, rules.in_slot(slot), next)
    }

    fn next_try(&self) -> Option<Duration> {
        self.checking.next_try()
    }

    fn try_again(&mut self, rules: &Run) -> Vec<(usize, Next)> {
        let (checking, scene) = self.checks(rules);
        let all = checking.try_again(&scene);
        all.into_iter().map(|(slot, next)| (slot, self.over(rules, slot, rules.in_slot(slot), next))).collect()
    }

    fn recall(&mut self, slot: usize) {
        self.checking.recall(slot);
        self.recall_tree(slot);
    }

    fn left(&mut self, rules: &Run) -> usize {
        if self.is_stopping(rules) {
            self.checking.give_up();
            self.leave_queue();
        } else if self.checking.left() > 0 {
            let (checking, scene) = self.checks(rules);
            checking.again(&scene);
        }
        self.checking.left()
    }

    fn keys(&self, rules: &Run, slot: usize, work: Work) -> Keys {
        let task = self.session.tasks[work.task.get()].id.clone();
        let worker = self.at.key(task.as_str(), work.attempt);
        Keys { work, slot, task, worker, checks: checking::keys(&self.scene(rules), work) }
    }

    fn patience(&self) -> Duration {
        let graces = self.workers.iter().filter_map(|worker| worker.limits.grace_ms);
        KEEPER_PATIENCE + Duration::from_millis(graces.max().unwrap_or(0))
    }

    fn harvested(&mut self, rules: &Run, work: Work, end: WorkerEnd) -> Result<(Outcome, bool), Failure> {
        let WorkerEnd { exit, result } = end;
        let exit = exit.as_ref();
        self.doers.extend(rules.view(work.task).map(|view| (work.task, view.choice)));
        let outcome = match exit {
            Some(exit) if exit.well || exit.ended != Ended::Interrupted => self.outcome(rules, work, exit, result)?,
            exit => self.lost(rules, work, exit, result)?,
        };
        let (checking, scene) = self.checks(rules);
        if checking.is_due(&scene, work, &outcome, exit.map_or(0, |exit| exit.artifacts)) {
            return Ok((outcome, true));
        }
        // What is in its tree may not be a commit yet.
        let has_tree = matches!(outcome, Outcome::Completed { .. }) && self.workspace.isolation(work.task).is_some();
        if has_tree { Ok((outcome, true)) } else { Ok((self.unless_full(outcome), false)) }
    }

    fn recovered(&mut self, rules: &Run, due: Vec<(usize, Work, Outcome)>) {
        self.checking.recover(&self.scene(rules), rules);
        for (slot, work, outcome) in due {
            if self.workspace.isolation(work.task).is_some() {
                self.deliver(rules, slot, work, Completed::Worked { outcome, artifacts: 1, is_durable: false });
                continue;
            }
            let (checking, scene) = self.checks(rules);
            checking.begin(&scene, slot, work, outcome, false);
        }
    }

    fn news(&mut self) -> News {
        News { used: std::mem::take(&mut self.used), is_full: std::mem::take(&mut self.is_full) }
    }

    fn heard(&mut self, rules: &Run, event: WorkerEvent) -> Vec<usize> {
        match event {
            WorkerEvent::Line { slot, text } => self.tell_line(rules, slot, text),
            WorkerEvent::Used { slot, key, usage } => return self.uses(rules, slot, &key, &usage),
            WorkerEvent::Problem(problem) => (self.tell)(event::warning(problem)),
            WorkerEvent::LostHosts { hosts, backend } => self.lose(hosts, &backend),
            WorkerEvent::Room | WorkerEvent::Ended { .. } => {}
        }
        Vec::new()
    }

    fn tell(&mut self, event: event::Event) {
        (self.tell)(event);
    }

    fn announce(&mut self, rules: &Run, happened: Vec<Happened>, is_starting: bool) {
        self.tell_at_first(rules);
        let is_replanned = happened.iter().any(|happened| matches!(happened.event, run::Event::Replanned { .. }));
        for happened in happened {
            self.tell_shortage(rules, &happened.event);
            self.announce_one(rules, happened, is_starting);
        }
        if is_replanned {
            self.render(rules); // the next edit at rest is compared with this plan
        }
    }

    fn answer(&mut self, rules: &Run, request: &Request) -> Option<Answer> {
        match request {
            Request::Ask(asked) => Some(self.agent_asks(rules, asked)),
            Request::Progress { attempt, words } => Some(self.progressed(rules, attempt, words)),
            Request::Activity => Some(self.tell_activity(rules)),
            // A pause is when people edit.
            Request::Resume | Request::Decide { action: CheckpointAction::Resume, .. } => {
                let is_paused = matches!(rules.stage(), Stage::Paused(_));
                let why = is_paused.then(|| unheard(self.options, &self.session.tasks, rules)).flatten()?;
                Some(Answer::refused(rules.stage().word(), why))
            }
            _ => None,
        }
    }

    fn grow(&mut self, rules: &Run, request: &Request) -> Option<Result<Growth, String>> {
        self.grown(rules, request)
    }

    fn edited(&mut self, rules: &Run) -> Option<Growth> {
        self.noticed(rules)
    }

    fn typed(&mut self, rules: &Run, line: Option<&str>) {
        self.permitted(rules, line);
    }

    fn waits_for_line(&self) -> bool {
        !self.permissions.is_empty()
    }

    fn render(&mut self, rules: &Run) -> bool {
        let is_left_alone = self.edited_at.is_some_and(|at| at.elapsed() < LEFT_ALONE);
        self.checking.put_into(&mut self.session);
        let length = self.at.journal_length();
        let problems = self.views.render(&mut self.session, rules, length, !is_left_alone);
        tell_problems(problems, self.tell);
        if self.views.take_touched() {
            self.outbox.send(Message::Edited).ok();
        }
        !is_left_alone
    }

    fn leave(&mut self, rules: &Run, ending: Ending) -> Report {
        talk::close_doors(&self.at); // a driver that was killed has left its own
        if *rules.stage() == Stage::Finished {
            // A finished run is never changed: files that must go at the end go before the run counts as
            // finished.
            ours::remove(&control::socket(&self.at.path)).ok();
        }
        // Once people read that the run is finished, nothing of it is done any more.
        let landed = if *rules.stage() == Stage::Finished { self.land(rules) } else { None };
        self.views.changes = self.changes();
        self.checking.put_into(&mut self.session);
        tell_problems(self.checking.sync().into_iter().collect(), self.tell);
        let (folder, at_end) = (&self.options.folder, self.options.at_end);
        let (report, failures) = views::leave(&mut self.views, &self.at, folder, &mut self.session, rules, at_end);
        tell_problems(failures, self.tell);
        Report { ending, landed, ..report }
    }
}
