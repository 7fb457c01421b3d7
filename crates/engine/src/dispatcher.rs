//! The loop: one input at a time, decided by the rules, made durable, then carried out. Nothing else owns the state.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use team_executor_agents::environment::depth;
use team_executor_agents::{Ended, Harvest, KeeperEvent, Keepers, harvest, sweep, wait_dead};
use team_executor_core::run::{Effect, Ending, Event, Input, Outcome, Run, Step, Then, WaveThen, Work, WorkEnded};
use team_executor_core::{Graph, Reconciliation, Session, TaskIndex, Timestamp};
use team_executor_files::Dialect;
use team_executor_store::run_folder::project_root;
use team_executor_store::{Durability, Journal, RealFile, records};

use crate::notice::Notice;
use crate::options::{Failure, Options, Report};
use crate::replay::Before;
use crate::run_at::{self, Opened, RunAt};
use crate::{assign, clock, discovery, layout, outcome, prompt, replay, views};

/// How many messages are taken together, so that they share one commit.
const BATCH: usize = 256;
/// Views are rendered at most this often, and never for more than a twentieth of the time.
const RENDER_EVERY: Duration = Duration::from_millis(250);
/// How many changes to the session's own state are told one by one.
const CHANGES_TOLD: usize = 20;
/// How long a keeper of an earlier executor has to end its worker.
const KEEPER_PATIENCE: Duration = Duration::from_secs(15);

/// What reaches the dispatcher from outside.
enum Message {
    Keeper(KeeperEvent),
    Signal,
}

/// Runs a session to its end, or to where it must stop. The same call continues what an earlier one left.
pub fn run(options: Options, tell: &mut dyn FnMut(Notice)) -> Result<Report, Failure> {
    depth(&options.environment).map_err(|error| Failure::TooDeep(error.to_string()))?;
    let before = run_at::finished(&options).map(|done| replay::before(&options, done)).transpose()?.flatten();
    let anew = match before {
        Some(Before::Report(report)) => return Ok(report),
        before => before.is_some(),
    };
    let Opened { run: at, journal, plan, records, resumed, torn } = run_at::open(&options, anew)?;
    if torn {
        tell(Notice::Warning("the end of the journal was not finished and was cut off".to_owned()));
    }
    let graph = options.graph.clone();
    let (session, rules) = replay::replay(&options, &at.id, &plan, &records)?;
    tell(Notice::Begins { run: at.id.clone(), resumed, counts: rules.counts() });
    if !resumed {
        tell_changes(&options.session, tell);
    }
    if options.dialect == Dialect::Tc
        && let Err(error) = layout::complete(&options.folder)
    {
        tell(Notice::Warning(format!("an optional folder of the session was not made: {error}")));
    }

    let (sender, inbox) = mpsc::channel();
    let signals = sender.clone();
    let mut caught = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Failure::disk("catch", "signals"))?;
    let signal_handle = caught.handle();
    std::thread::spawn(move || {
        for _ in caught.forever() {
            if signals.send(Message::Signal).is_err() {
                return;
            }
        }
    });
    let keepers = Keepers::new(options.exe.clone(), move |event| {
        // The dispatcher is gone only when the run is over.
        sender.send(Message::Keeper(event)).ok();
    });
    let keepers = keepers.map_err(Failure::disk("start", &options.exe))?;
    let cwd = project_root(&options.folder, &options.current);
    let began = !records.is_empty();
    let mut dispatcher = Dispatcher {
        options,
        at,
        journal,
        session,
        graph,
        rules,
        keepers,
        cwd,
        slots: BTreeMap::new(),
        wake: None,
        ending: None,
        asked_to_stop: false,
        dirty: true,
        rendered: None,
        tell,
    };
    let result = dispatcher.drive(began, &inbox);
    signal_handle.close();
    result
}

/// Tells where the session and the beginning of the run differ, and why.
fn tell_changes(session: &Session, tell: &mut dyn FnMut(Notice)) {
    let changes = Reconciliation::of(session).changes;
    for change in changes.iter().take(CHANGES_TOLD) {
        tell(Notice::Reconciled(change.describe(session)));
    }
    if changes.len() > CHANGES_TOLD {
        tell(Notice::Reconciled(format!("and {} more changes", changes.len() - CHANGES_TOLD)));
    }
}

struct Dispatcher<'t> {
    options: Options,
    at: RunAt,
    journal: Journal<RealFile>,
    session: Session,
    graph: Graph,
    rules: Run,
    keepers: Keepers,
    /// Where workers work.
    cwd: PathBuf,
    /// What runs where.
    slots: BTreeMap<usize, Work>,
    wake: Option<Timestamp>,
    ending: Option<Ending>,
    asked_to_stop: bool,
    dirty: bool,
    /// When the views were last rendered, and how long that took.
    rendered: Option<(Instant, Duration)>,
    tell: &'t mut dyn FnMut(Notice),
}

impl Dispatcher<'_> {
    fn drive(&mut self, began: bool, inbox: &Receiver<Message>) -> Result<Report, Failure> {
        if let Some(ending) = replay::ending(&self.rules) {
            self.ending = Some(ending); // an earlier incarnation did not get to write everything
            return self.finish();
        }
        let first = if began {
            let harvested = self.harvest()?;
            Input::Recovered { now: clock::now(), alive: Vec::new(), harvested, rebooted: false }
        } else {
            Input::Start { now: clock::now() }
        };
        self.take(vec![first])?;
        while self.ending.is_none() {
            self.render_in_time();
            let inputs = self.wait(inbox)?;
            self.take(inputs)?;
        }
        self.finish()
    }

    /// Lets the rules decide on some inputs, makes that durable together, and then carries it out.
    fn take(&mut self, inputs: Vec<Input>) -> Result<(), Failure> {
        let mut effects = Vec::new();
        let mut events = Vec::new();
        for input in inputs {
            let Step { events: happened, effects: wanted, refused } = self.rules.step(input);
            if let Some(refused) = refused {
                (self.tell)(Notice::Warning(refused.to_string()));
            }
            for event in &happened {
                let record = records::write(event, |task| self.session.tasks[task.get()].id.as_str());
                self.journal.append(&record)?;
            }
            events.extend(happened);
            effects.extend(wanted);
        }
        self.journal.commit()?;
        self.dirty |= !events.is_empty();
        for event in events {
            self.announce(event);
        }
        for effect in effects {
            self.carry_out(effect)?;
        }
        Ok(())
    }

    /// The next thing that happens, and what has happened with it.
    fn wait(&mut self, inbox: &Receiver<Message>) -> Result<Vec<Input>, Failure> {
        let until_wake = self.wake.map(|at| {
            let micros = at.as_micros().saturating_sub(clock::now().as_micros());
            Duration::from_micros(u64::try_from(micros).unwrap_or(0))
        });
        let until_render = self.dirty.then(|| self.render_wait());
        let timeout = [until_wake, until_render].into_iter().flatten().min();
        let first = match timeout {
            None => inbox.recv().ok(),
            Some(timeout) => inbox.recv_timeout(timeout).ok(),
        };
        let mut inputs = Vec::new();
        for message in first.into_iter().chain(inbox.try_iter().take(BATCH)) {
            inputs.extend(self.input(message)?);
        }
        if self.wake.is_some_and(|at| at <= clock::now()) {
            self.wake = None;
            inputs.push(Input::Woke { now: clock::now() });
        }
        Ok(inputs)
    }

    /// What a message means to the rules.
    fn input(&mut self, message: Message) -> Result<Option<Input>, Failure> {
        let now = clock::now();
        let ended = match message {
            Message::Signal if self.asked_to_stop => return Ok(Some(Input::Stop { now })),
            Message::Signal => {
                self.asked_to_stop = true;
                return Ok(Some(Input::Drain { now }));
            }
            Message::Keeper(KeeperEvent::Started { .. } | KeeperEvent::Line { .. }) => None,
            Message::Keeper(KeeperEvent::Ended { slot, exit, unrecorded }) => self.slots.remove(&slot).map(|work| {
                if let Some(reason) = unrecorded {
                    (self.tell)(Notice::Warning(format!("{}: its outcome is not on disk: {reason}", exit.key)));
                }
                let outcome = outcome::of(&self.at, self.id(work.task), work.attempt, &exit);
                WorkEnded { work, outcome }
            }),
            Message::Keeper(KeeperEvent::KeeperDied { slot, key, reason, .. }) => match self.slots.remove(&slot) {
                Some(work) => {
                    (self.tell)(Notice::Warning(format!("{key}: its keeper is gone: {reason}")));
                    Some(self.left_by_keeper(work)?)
                }
                None => None,
            },
        };
        Ok(ended.map(|ended| Input::Ended { now, ended }))
    }

    /// What the workers of an earlier incarnation came to. None of them lives after this.
    fn harvest(&mut self) -> Result<Vec<WorkEnded>, Failure> {
        let at_work: Vec<Work> = self.rules.at_work().collect();
        at_work.into_iter().map(|work| self.left_by_keeper(work)).collect()
    }

    /// What became of an attempt whose keeper is gone or about to go. Nothing of it lives after this.
    fn left_by_keeper(&self, work: Work) -> Result<WorkEnded, Failure> {
        let id = self.id(work.task);
        let (dir, key) = (self.at.attempt(id, work.attempt), self.at.key(id, work.attempt));
        let failed = || Failure::disk("look at", &dir);
        if !wait_dead(&dir, KEEPER_PATIENCE).map_err(failed())? {
            return Err(Failure::StillRunning(key));
        }
        let outcome = match harvest(&dir, &key).map_err(failed())? {
            Harvest::Ended(exit) if exit.ended != Ended::Interrupted => outcome::of(&self.at, id, work.attempt, &exit),
            _ => {
                if dir.exists() {
                    sweep(&dir, &key).map_err(failed())?;
                }
                Outcome::Interrupted
            }
        };
        Ok(WorkEnded { work, outcome })
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), Failure> {
        match effect {
            Effect::Spawn { work, slot } => {
                let slot = slot as usize;
                let text = self.prompt(work.task);
                let task = &self.session.tasks[work.task.get()];
                let assignment = assign::of(&self.options, &self.at, &self.cwd, task, work.attempt, &text)?;
                self.slots.insert(slot, work);
                self.keepers.start(slot, assignment);
            }
            Effect::EndWorker { work } => {
                if let Some((slot, _)) = self.slots.iter().find(|(_, running)| **running == work) {
                    self.keepers.end(*slot);
                }
            }
            Effect::WakeAt { at } => self.wake = Some(self.wake.map_or(at, |wake| wake.min(at))),
            // Nobody is asked: such a run stops.
            Effect::AskWaveFailed { .. } => {}
            Effect::Over { ending } => self.ending = Some(ending),
        }
        Ok(())
    }

    fn prompt(&self, task: TaskIndex) -> String {
        let one = &self.session.tasks[task.get()];
        let of_context = one.context_from.iter().filter_map(|id| self.graph.index_of(id.as_str()));
        let of_dependencies = self.graph.dependencies(task).iter().copied();
        let sources: Vec<TaskIndex> =
            if one.context_from.is_empty() { of_dependencies.collect() } else { of_context.collect() };
        let upstream: Vec<(&str, &str)> =
            sources.into_iter().filter_map(|source| Some((self.id(source), self.findings(source)?))).collect();
        prompt::of(&self.session, one, &self.options.folder, &upstream)
    }

    /// What a task found, in this run or before it.
    fn findings(&self, task: TaskIndex) -> Option<&str> {
        let view = self.rules.view(task)?;
        let before = || self.session.tasks[task.get()].findings.as_deref().filter(|_| view.since.is_none());
        view.findings.or_else(before)
    }

    fn announce(&mut self, event: Event) {
        if let Event::Completed { work, .. } = &event {
            self.discover(work.task);
        }
        let counts = self.rules.counts();
        let id = |task: TaskIndex| self.session.tasks[task.get()].id.to_string();
        let notice = match event {
            Event::Claimed { work, fast_advance, .. } => Notice::Started {
                task: id(work.task),
                role: self.session.tasks[work.task.get()].role.to_string(),
                attempt: work.attempt,
                fast_advance,
            },
            Event::Completed { work, findings, .. } => {
                Notice::Completed { task: id(work.task), findings: findings.unwrap_or_default(), counts }
            }
            Event::Failed { work, error, then, .. } => {
                Notice::Failed { task: id(work.task), error, again: matches!(then, Then::Again { .. }), counts }
            }
            Event::Interrupted { work, .. } => Notice::Interrupted { task: id(work.task) },
            Event::Skipped { task, reason, .. } => {
                Notice::Skipped { task: id(task), reason: self.rules.explain(&reason) }
            }
            Event::WaveMerged { wave, then: WaveThen::GoOn, .. } => Notice::WaveMerged { wave },
            Event::WaveMerged { wave, .. } => {
                Notice::Warning(format!("every task of wave {wave} failed, so the run stops here"))
            }
            Event::Draining { .. } => Notice::Draining { running: self.slots.len() },
            Event::Stopping { .. } => Notice::Stopping,
            _ => return,
        };
        (self.tell)(notice);
    }

    /// Leaves a discovery of a completed task for those that build on it.
    fn discover(&mut self, index: TaskIndex) {
        if self.options.dialect != Dialect::TasksJson {
            return;
        }
        let mut task = self.session.tasks[index.get()].clone();
        views::refresh_task(&mut task, index, &self.rules);
        if let Err(error) = discovery::unless_there(&self.options.folder, &task) {
            (self.tell)(Notice::Warning(format!("{}: its discovery was not written: {error}", task.id)));
        }
    }

    fn id(&self, task: TaskIndex) -> &str {
        self.session.tasks[task.get()].id.as_str()
    }

    /// How long until the views may be rendered again.
    fn render_wait(&self) -> Duration {
        let Some((last, took)) = self.rendered else { return Duration::ZERO };
        (RENDER_EVERY.max(took * 20)).saturating_sub(last.elapsed())
    }

    fn render_in_time(&mut self) {
        if !self.dirty || !self.render_wait().is_zero() {
            return;
        }
        let started = Instant::now();
        views::refresh(&mut self.session, &self.rules);
        if let Err(error) = views::tasks(&self.at, &self.session, &self.graph, Durability::Rendered) {
            (self.tell)(Notice::Warning(format!("tasks.csv was not written: {error}")));
        }
        self.rendered = Some((started, started.elapsed()));
        self.dirty = false;
    }

    fn finish(&mut self) -> Result<Report, Failure> {
        self.keepers.close_all();
        views::refresh(&mut self.session, &self.rules);
        let ending = match self.ending {
            Some(Ending::Stopped) if !self.asked_to_stop => Ending::Paused, // a wave failed
            ending => ending.unwrap_or(Ending::Paused),
        };
        self.session.status = views::session_status(&self.session);
        let folder = &self.options.folder;
        let mut failures = views::all(&self.at, &self.session, &self.graph, self.options.dialect, folder);
        if failures.is_empty() && replay::ending(&self.rules).is_some() {
            failures.extend(self.at.note_rendered().err().map(|error| error.to_string()));
        }
        for failure in failures {
            (self.tell)(Notice::Warning(format!("a file was not written: {failure}")));
        }
        let counts = self.rules.counts();
        Ok(Report { run: self.at.id.clone(), folder: self.at.path.clone(), ending, counts, already: false })
    }
}
