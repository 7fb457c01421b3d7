//! An attempt whose worker ended well stays in its slot until what it delivered is judged: first by the checker, then by
//! the commands that the user configured, one after the other. Most attempts deliver nothing and are over at once.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use team_executor_agents::{Assignment, Ended, Exit, Limit, Obstacle};
use team_executor_beneath::{open_regular, ours};
use team_executor_core::run::{ErrorClass, Outcome, Run, Work};
use team_executor_core::{RoleName, Session, TaskIndex, TaskStatus};
use team_executor_files::{Dialect, discovery};
use team_executor_store::RealDisk;
use team_executor_store::run_folder::component;

use crate::begin::run_at::{RunAt, check_logs, logs};
use crate::clock;
use crate::conclude::artifacts::{Checker, Delivered, FOLDER, Looked, Others, Registry, Roots, Verify};
use crate::conclude::{Delivery, Discovery, Known, Reports, conclude};
use crate::dispatch::crew::Job;
use crate::dispatch::desk::Next;
use crate::dispatch::inbox::Outbox;
use crate::options::{Failure, Options};
use crate::prepare::assign;
use crate::prepare::assign::CheckCommand;
use crate::prepare::worker::Workers;
use crate::prepare::workspace::Workspace;

/// How much is told of what a command printed last.
const TAIL_BYTES: u64 = 1500;
/// How often a command is started whose keeper dies.
const TRIES: u32 = 3;
/// After how long one is tried again for which the system had no means.
const PAUSE: Duration = Duration::from_secs(1);

/// What the attempts are about.
#[derive(Clone, Copy)]
pub(crate) struct CheckScene<'s> {
    pub(crate) options: &'s Options,
    /// Who does which task.
    pub(crate) workers: &'s Workers,
    pub(crate) run: &'s RunAt,
    pub(crate) session: &'s Session,
    /// Where attempts work.
    pub(crate) workspace: &'s Workspace,
    /// Reports of attempts whose ends are not recorded yet.
    pub(crate) reports: &'s Known,
    /// The executor is about to end: nothing more is started.
    pub(crate) is_stopping: bool,
}

/// Everything that is being judged.
#[derive(Debug)]
pub(crate) struct Checking {
    checker: Checker,
    slots: BTreeMap<usize, UnderCheck>,
    /// Checks that were cut off because the executor ends, with the outcome if they pass.
    left: Vec<(usize, Work, Outcome)>,
    /// Commands for which the system had no means, and when they are tried again.
    short: BTreeMap<usize, (Instant, Verify)>,
    /// What the residents of roles had done when their last attempts began.
    residents: BTreeMap<RoleName, (Work, Others)>,
}

/// An attempt that is being judged.
#[derive(Debug)]
struct UnderCheck {
    work: Work,
    /// Its outcome if the checks pass.
    outcome: Outcome,
    /// The current check, and how often it was started.
    running: Option<(Verify, u32)>,
    /// What judges it afterwards.
    left: VecDeque<Verify>,
    /// How many commands were begun.
    nth: usize,
}

impl Checking {
    /// Nothing is judged yet.
    pub(crate) fn new(
        run: &RunAt,
        session: &Session,
        folder: &Path,
        cwd: &Path,
        outbox: Outbox,
    ) -> Result<Self, Failure> {
        let registry = Registry::open(&run.path, session).map_err(Failure::disk("read the artifacts of", &run.path))?;
        let roots = Roots::new(&run.path, folder, cwd);
        let checker = Checker::new(run.path.clone(), roots, registry, outbox);
        let checker = checker.map_err(Failure::disk("start", "the checker"))?;
        Ok(Self {
            checker,
            slots: BTreeMap::new(),
            left: Vec::new(),
            short: BTreeMap::new(),
            residents: BTreeMap::new(),
        })
    }

    /// Whether what an attempt delivered must be judged before it is over. The worker left so many things in its folder.
    pub(crate) fn is_due(&self, scene: &CheckScene<'_>, work: Work, outcome: &Outcome, artifacts: usize) -> bool {
        if !matches!(outcome, Outcome::Completed { .. }) {
            return false;
        }
        let task = &scene.session.tasks[work.task.get()];
        artifacts > 0
            || scene.workers.first(work.task).is_some_and(|worker| worker.demands.of_nothing())
            || scene.reports.get(&work).is_some_and(Option::is_some)
            || work.attempt > 1 && self.checker.registry().has(&task.id)
    }

    /// Begins to judge an attempt. Its keeper may have made durable what it delivered.
    pub(crate) fn begin(
        &mut self,
        scene: &CheckScene<'_>,
        slot: usize,
        work: Work,
        outcome: Outcome,
        is_durable: bool,
    ) -> Next {
        if scene.is_stopping {
            self.left.push((slot, work, outcome));
            return Next::Leave;
        }
        let role = &scene.session.tasks[work.task.get()].role;
        let others = self.residents.get(role).filter(|(of, _)| *of == work).map(|(_, others)| others.clone());
        self.checker.begin(slot, Delivered { is_durable, others, ..delivered(scene, work) });
        self.wait_for(slot, work, outcome);
        Next::Wait
    }

    /// Judges again what the last attempt at a task delivered: no worker runs in this one.
    pub(crate) fn begin_again(&mut self, scene: &CheckScene<'_>, slot: usize, work: Work) {
        let task = &scene.session.tasks[work.task.get()].id;
        let last = self.checker.registry().attempt(task).unwrap_or(work.attempt.saturating_sub(1));
        let [out, _] = logs(&scene.run.path, task.as_str(), last);
        let printed = tail(&out);
        let result = scene.run.results.read(task, last).ok().flatten();
        let delivery = Delivery { last_line: printed.lines().last(), ..Delivery::default() };
        let outcome = match conclude(&Ended::Exit(0), result.as_ref(), &delivery) {
            outcome @ Outcome::Completed { .. } => outcome,
            _ => Outcome::completed(None),
        };
        self.checker.begin(slot, delivered(scene, Work { attempt: last, ..work }));
        self.wait_for(slot, work, outcome);
    }

    /// Whether the attempt in a slot is being judged.
    pub(crate) fn has(&self, slot: usize) -> bool {
        self.slots.contains_key(&slot)
    }

    /// The checker has looked.
    pub(crate) fn looked(
        &mut self,
        scene: &CheckScene<'_>,
        slot: usize,
        looked: Looked,
        problems: &mut Vec<String>,
    ) -> Next {
        match looked {
            Looked::Run(commands) => {
                if let Some(judged) = self.slots.get_mut(&slot) {
                    judged.left = commands.into();
                }
                self.next(scene, slot)
            }
            Looked::Over(verdict) => {
                problems.extend(verdict.problems);
                match (self.slots.remove(&slot).map(|judged| judged.outcome), verdict.critique) {
                    (Some(Outcome::Completed { .. }), Some(critique)) => Next::Over(rejected(critique)),
                    (Some(outcome), _) => Next::Over(outcome),
                    (None, _) => Next::Wait,
                }
            }
            Looked::GivenUp => self.leave(slot),
            Looked::Failed(reason) => {
                let path = scene.run.path.clone();
                Next::Fail(Failure::Disk { action: "check what was delivered in", path, reason })
            }
        }
    }

    /// A command has ended, or its keeper.
    pub(crate) fn ran(&mut self, scene: &CheckScene<'_>, slot: usize, exit: Option<&Exit>) -> Next {
        let Some(judged) = self.slots.get_mut(&slot) else { return Next::Wait };
        let Some((verify, tries)) = judged.running.take() else { return Next::Wait };
        let why = match exit.map(|exit| &exit.ended) {
            Some(Ended::Exit(0)) => return self.next(scene, slot),
            _ if judged.outcome == Outcome::Interrupted => return self.next(scene, slot),
            Some(Ended::Stopped | Ended::Interrupted) => return self.leave(slot),
            None if tries < TRIES => return self.start(scene, slot, verify, tries + 1),
            None => "its keeper died".to_owned(),
            Some(Ended::Exit(code)) => format!("exit code {code}"),
            Some(Ended::Signal(signal)) => format!("ended by signal {signal}"),
            Some(Ended::Limit(Limit::FirstOutput | Limit::Idle | Limit::Total)) => "timed out".to_owned(),
            Some(Ended::CouldNotStart(Obstacle { lack: Some(_), .. })) => {
                // It says nothing about the work, which would have to be paid for again.
                self.short.insert(slot, (Instant::now() + PAUSE, verify));
                return Next::Wait;
            }
            Some(Ended::CouldNotStart(obstacle)) => format!("could not start: {}", obstacle.reason),
        };
        let id = scene.session.tasks[judged.work.task.get()].id.as_str();
        let logs = check_logs(&scene.run.path, id, judged.work.attempt, judged.nth);
        let printed: Vec<String> = logs.iter().map(|log| tail(log)).filter(|text| !text.is_empty()).collect();
        let command = verify.command.join(" ");
        let critique = format!("the check `{command}` failed: {why}\n{}", printed.join("\n"));
        self.checker.ran(slot, Some(critique.trim_end().to_owned()));
        Next::Wait
    }

    /// How long until a command is tried again for which the system had no means.
    pub(crate) fn next_try(&self) -> Option<Duration> {
        self.short.values().map(|(at, _)| at.saturating_duration_since(Instant::now())).min()
    }

    /// Retries the commands whose time has come, and returns the next step for each.
    pub(crate) fn try_again(&mut self, scene: &CheckScene<'_>) -> Vec<(usize, Next)> {
        let now = Instant::now();
        let due: Vec<_> = self.short.extract_if(.., |_, (at, _)| *at <= now).collect();
        due.into_iter().map(|(slot, (_, verify))| (slot, self.start(scene, slot, verify, 1))).collect()
    }

    /// An attempt is no longer wanted: whatever the check finds, it counts as interrupted.
    pub(crate) fn recall(&mut self, slot: usize) {
        if let Some(judged) = self.slots.get_mut(&slot) {
            judged.outcome = Outcome::Interrupted;
        }
    }

    /// The executor is about to end: it does not wait for large files to be read. It abandons what it began.
    pub(crate) fn give_up(&self) {
        self.checker.give_up();
    }

    /// Leaves an attempt to the next executor that only waits to join the trunk.
    pub(crate) fn leave_to_next(&mut self, slot: usize, work: Work, outcome: Outcome) {
        self.left.push((slot, work, outcome));
    }

    /// How much was left that is not judged.
    pub(crate) const fn left(&self) -> usize {
        self.left.len()
    }

    /// Judges what was left after all.
    pub(crate) fn again(&mut self, scene: &CheckScene<'_>) {
        for (slot, work, outcome) in std::mem::take(&mut self.left) {
            self.begin(scene, slot, work, outcome, false);
        }
    }

    /// Moves away what earlier attempts at a task left, unless it is kept, and says what it did. What the resident has done
    /// before is not to be changed from now on.
    pub(crate) fn attempt_begins(
        &mut self,
        session: &Session,
        work: Work,
        before: &[TaskIndex],
        keeps: bool,
    ) -> Vec<String> {
        let task = &session.tasks[work.task.get()];
        if !before.is_empty() {
            let others = before.iter().map(|other| session.tasks[other.get()].id.clone()).collect();
            self.residents.insert(task.role.clone(), (work, Others { tasks: others, since: clock::now() }));
        }
        if work.attempt > 1 { self.checker.attempt_begins(&task.id, work.attempt, keeps) } else { Vec::new() }
    }

    /// Registers anew what completed tasks delivered and a power cut took the record of.
    pub(crate) fn recover(&self, scene: &CheckScene<'_>, rules: &Run) {
        let folders = ours::list(&scene.run.path.join(FOLDER)).unwrap_or_default();
        let folders: HashSet<String> = folders.into_iter().collect();
        if folders.is_empty() {
            return;
        }
        for (index, task) in (0..).map(TaskIndex).zip(&scene.session.tasks) {
            let attempt = rules.view(index).map_or(0, |view| view.attempt);
            let is_lost = attempt > 0
                && rules.status(index) == Some(TaskStatus::Completed)
                && folders.contains(&component(task.id.as_str()))
                && !self.checker.registry().has(&task.id);
            if is_lost {
                self.checker.lost(delivered(scene, Work { task: index, attempt }));
            }
        }
    }

    /// Puts what is registered into the model.
    pub(crate) fn put_into(&self, session: &mut Session) {
        self.checker.registry().put_into(session);
    }

    /// Makes what is registered durable.
    pub(crate) fn sync(&self) -> Option<String> {
        self.checker.registry().sync().err().map(|error| format!("artifacts are not durable: {error}"))
    }

    fn wait_for(&mut self, slot: usize, work: Work, outcome: Outcome) {
        self.slots.insert(slot, UnderCheck { work, outcome, running: None, left: VecDeque::new(), nth: 0 });
    }

    /// Leaves an attempt to the next executor, unless it is no longer wanted.
    fn leave(&mut self, slot: usize) -> Next {
        match self.slots.remove(&slot) {
            Some(UnderCheck { outcome: Outcome::Interrupted, .. }) => return Next::Over(Outcome::Interrupted),
            judged => self.left.extend(judged.map(|judged| (slot, judged.work, judged.outcome))),
        }
        Next::Leave
    }

    /// The next command, or the end of all.
    fn next(&mut self, scene: &CheckScene<'_>, slot: usize) -> Next {
        let Some(judged) = self.slots.get_mut(&slot) else { return Next::Wait };
        if judged.outcome == Outcome::Interrupted {
            return self.leave(slot);
        }
        let Some(verify) = judged.left.pop_front() else {
            self.checker.ran(slot, None);
            return Next::Wait;
        };
        judged.nth += 1;
        self.start(scene, slot, verify, 1)
    }

    /// Starts a command, for the first time or again.
    fn start(&mut self, scene: &CheckScene<'_>, slot: usize, verify: Verify, tries: u32) -> Next {
        let Some(judged) = self.slots.get_mut(&slot) else { return Next::Wait };
        if scene.is_stopping || judged.outcome == Outcome::Interrupted {
            return self.leave(slot);
        }
        match assignment(scene, judged.work, judged.nth, &verify) {
            Some(assignment) => {
                let task = scene.session.tasks[judged.work.task.get()].id.clone();
                judged.running = Some((verify, tries));
                Next::Run(Box::new(Job { work: judged.work, task, prompt: None, assignment, travel: None }))
            }
            None => {
                self.checker.ran(slot, Some(format!("the check `{}` could not start", verify.command.join(" "))));
                Next::Wait
            }
        }
    }
}

/// The names of the commands that may have judged an attempt.
pub(crate) fn keys(scene: &CheckScene<'_>, work: Work) -> Vec<String> {
    let task = scene.session.tasks[work.task.get()].id.as_str();
    let commands = scene.workers.first(work.task).map_or(0, |worker| worker.demands.all_commands().count());
    // What tries it together with others comes behind them, and what sets up trees.
    let commands = commands + if scene.workspace.isolation(work.task).is_some() { 2 } else { 0 };
    (1..=commands).map(|nth| scene.run.check_key(task, work.attempt, nth)).collect()
}

/// The input to the rules for an attempt whose artifacts did not pass.
fn rejected(critique: String) -> Outcome {
    Outcome::Failed { class: ErrorClass::Rejected, error: critique }
}

fn delivered(scene: &CheckScene<'_>, work: Work) -> Delivered {
    let task = &scene.session.tasks[work.task.get()];
    Delivered {
        task: task.id.clone(),
        role: task.role.clone(),
        attempt: work.attempt,
        priority: task.priority,
        at: clock::now(),
        named: named(scene, work),
        demands: scene.workers.first(work.task).map(|worker| worker.demands.clone()).unwrap_or_default(),
        is_durable: false,
        others: None,
    }
}

/// The artifacts that an attempt named in its reports. Those of an earlier executor are read again.
fn named(scene: &CheckScene<'_>, work: Work) -> Vec<String> {
    let mut named = reported(scene, work);
    if scene.workspace.isolation(work.task).is_some() {
        // What is in its tree is in its commit.
        let tree = scene.workspace.folder(scene.session, work);
        named.retain(|path| ours::look_at(&tree.join(path)).is_err());
    }
    named
}

/// The same, with what is in a tree of its own.
fn reported(scene: &CheckScene<'_>, work: Work) -> Vec<String> {
    if let Some(known) = scene.reports.get(&work) {
        return known.as_ref().map(|reports| reports.artifacts()).unwrap_or_default();
    }
    let task = &scene.session.tasks[work.task.get()].id;
    let discoveries =
        (scene.options.dialect == Dialect::TasksJson).then(|| scene.options.folder.join(discovery::FOLDER));
    let discoveries = discoveries.and_then(|folder| RealDisk::open_folder(&folder).ok());
    let discovery = Discovery::read(discoveries.as_ref(), task).unwrap_or_default();
    Reports { result: scene.run.results.report(task, work.attempt), discovery }.artifacts()
}

fn assignment(scene: &CheckScene<'_>, work: Work, nth: usize, verify: &Verify) -> Option<Assignment> {
    let CheckScene { options, workers, run, session, workspace, .. } = *scene;
    let cwd = workspace.folder(session, work);
    let worker = workers.first(work.task)?;
    let check = CheckCommand { attempt: work.attempt, nth, verify };
    assign::for_check(options, run, &cwd, &session.tasks[work.task.get()], worker, &check).ok()
}

/// What a log ends with, from the begin of a line.
pub(crate) fn tail(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = open_regular(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        let begin = bytes.iter().position(|byte| *byte == b'\n').filter(|_| length > TAIL_BYTES).map_or(0, |at| at + 1);
        Ok(bytes.split_off(begin))
    };
    let text = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect::<String>().trim_end().to_owned()
}
