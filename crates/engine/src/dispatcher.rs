//! The loop: one input at a time, decided by the rules, made durable, then carried out. Nothing else owns the state.

mod deliveries;
mod people;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use team_executor_agents::adapters::glimpse;
use team_executor_agents::environment::depth;
use team_executor_agents::{Ended, Exit, Harvest, KeeperEvent, Keepers};
use team_executor_core::run::{
    Effect, Ending, Event, Input, JudgedThen, Outcome, Run, Stage, Then, WaveThen, Work, WorkEnded,
};
use team_executor_core::{Reconciliation, Session, SessionStatus, TaskIndex, Timestamp};
use team_executor_files::Dialect;
use team_executor_store::run_folder::{EXECUTOR, project_root};
use team_executor_store::{RealDisk, RealFile};

use crate::adopt::Resumed;
use crate::capability::Gaps;
use crate::checking::{self, Checking, Scene};
use crate::conductor::Conductor;
use crate::control::question;
use crate::control::server::Server;
use crate::ends::{self, End};
use crate::inbox::{self, Inbox, Message, Outbox};
use crate::notice::Notice;
use crate::options::{Failure, Options};
use crate::prompts::Prompts;
use crate::replay::Before;
use crate::report::Report;
use crate::reported::Reports;
use crate::run_at::{self, Opened, RunAt};
use crate::views::Views;
use crate::{adopt, assign, capability, clock, judgement, layout, outcome, prompt, replay, stale, views};

/// What happened is durable after this long at the latest, or after thirty times as long as that takes.
const COMMIT_WITHIN: Duration = Duration::from_millis(5);
/// Views are rendered at most this often, and never for more than a fiftieth of the time.
const RENDER_EVERY: Duration = Duration::from_millis(250);
/// How many changes to the session's own state are told one by one.
const CHANGES_TOLD: usize = 20;
/// How long the keepers of an earlier executor have to end their workers.
const KEEPER_PATIENCE: Duration = Duration::from_secs(15);

/// Runs a session to its end, or to where it must stop. The same call continues what an earlier one left.
pub fn run(options: Options, tell: &mut dyn FnMut(Notice)) -> Result<Report, Failure> {
    depth(&options.environment).map_err(|error| Failure::TooDeep(error.to_string()))?;
    let before = run_at::finished(&options).map(|done| replay::before(&options, done)).transpose()?.flatten();
    let anew = match before {
        Some(Before::Report(report)) => return Ok(*report),
        Some(Before::Anew) if options.run.is_some() => {
            return Err(Failure::Changed("the run is finished, and its session has changed since".to_owned()));
        }
        before => before.is_some(),
    };
    if options.session.status == SessionStatus::Archived {
        return Err(Failure::InTheWay("the session is archived, and an archived session is not run".to_owned()));
    }
    let Opened { run: at, journal, plan, records, resumed, torn, rebooted } = run_at::open(&options, anew)?;
    if torn {
        tell(Notice::Warning("the end of the journal was not finished and was cut off".to_owned()));
    }
    let (mut session, rules) = replay::replay(&options, &at.id, &plan, &records)?;
    let mut views = views::of(&at, &options.folder, options.dialect, plan.cadence)?;
    let resumption = Resumed {
        stated: &options.session,
        rules: &rules,
        before: &|length| replay::when(&options, &at, &plan, length),
        journal: at.journal_length(),
        now: clock::now(),
    };
    let adopted = adopt::adopt(&mut views, &mut session, &resumption)?;
    tell(Notice::Begins { run: at.id.clone(), resumed, counts: rules.counts(), statuses: rules.statuses() });
    if !resumed {
        tell_changes(&options.session, tell);
    }
    adopted.told.into_iter().for_each(|line| tell(Notice::Adopted(line)));
    let mut problems = adopted.warnings;
    let started = Instant::now();
    if resumed {
        let reports = Reports { run: &at, session: &options.folder, discoveries: views.discoveries() };
        problems.extend(reports.catch_up(&mut session, &rules));
    }
    problems.extend(views.begin(&mut session, &rules, at.journal_length()));
    problems.extend(views.render(&mut session, &rules, at.journal_length()));
    let rendered = Some((started, started.elapsed()));
    tell_problems(problems, tell);
    if options.dialect == Dialect::Tc
        && let Err(error) = layout::complete(&options.folder)
    {
        tell(Notice::Warning(format!("an optional folder of the session was not made: {error}")));
    }

    let (outbox, inbox) = inbox::open().map_err(Failure::disk("open", "an inbox"))?;
    let mut caught = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Failure::disk("catch", "signals"))?;
    let signal_handle = caught.handle();
    let (signals, requests) = (outbox.clone(), outbox.clone());
    let listen = move || caught.forever().try_for_each(|_| signals.send(Message::Signal));
    let listener = std::thread::Builder::new().name("signals".to_owned()).spawn(listen);
    listener.map_err(Failure::disk("listen to", "signals"))?;
    let server = Server::open(&at.path.join(EXECUTOR), move |asked| requests.send(Message::Asked(asked)).is_ok());
    if let Err(error) = &server {
        tell(Notice::Warning(format!("the run cannot be asked anything while it goes on: {error}")));
    }
    let keepers = Keepers::new(options.exe.clone(), at.ledgers(), journal.epoch());
    let prompts = Prompts::new(at.agents());
    let cwd = project_root(&options.folder, &options.current);
    let conductor = Conductor::new(&session.tasks, rules, journal);
    let checking = Checking::new(&at, &session, &options.folder, &cwd, outbox.clone())?;
    let gaps = Gaps::from_now(&options.folder);
    let mut dispatcher = Dispatcher {
        checking,
        options,
        at,
        conductor,
        views,
        session,
        gaps,
        keepers,
        prompts,
        inbox,
        outbox,
        cwd,
        slots: BTreeMap::new(),
        wake: None,
        ending: None,
        asked_to_stop: false,
        asking: false,
        patience: None,
        undurable: None,
        commit_within: COMMIT_WITHIN,
        dirty: true,
        rendered,
        tell,
    };
    let result = dispatcher.drive(adopted.input, !records.is_empty(), rebooted);
    signal_handle.close();
    drop(dispatcher.inbox); // who asked too late is told so
    drop(server); // while the lock is held
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

fn tell_problems(problems: Vec<String>, tell: &mut dyn FnMut(Notice)) {
    problems.into_iter().for_each(|problem| tell(Notice::Warning(problem)));
}

struct Dispatcher<'t> {
    /// What is being judged. The first to go: it writes to the run.
    checking: Checking,
    options: Options,
    at: RunAt,
    conductor: Conductor<RealFile>,
    views: Views<RealDisk>,
    session: Session,
    gaps: Gaps,
    keepers: Keepers,
    prompts: Prompts,
    inbox: Inbox,
    /// For the answers of a person, and for what it tells itself.
    outbox: Outbox,
    /// Where workers work.
    cwd: PathBuf,
    /// What runs where.
    slots: BTreeMap<usize, Work>,
    wake: Option<Timestamp>,
    ending: Option<Ending>,
    asked_to_stop: bool,
    /// A person is being asked.
    asking: bool,
    /// Until when a person may decide at a checkpoint.
    patience: Option<Instant>,
    /// Since when something is not durable.
    undurable: Option<Instant>,
    commit_within: Duration,
    dirty: bool,
    /// When the views were last rendered, and how long that took.
    rendered: Option<(Instant, Duration)>,
    tell: &'t mut dyn FnMut(Notice),
}

impl Dispatcher<'_> {
    fn drive(&mut self, edited: Option<Input>, began: bool, rebooted: bool) -> Result<Report, Failure> {
        let agents = self.at.agents();
        stale::set_aside(&agents, &self.session.tasks, self.rules())
            .map_err(Failure::disk("look for results in", agents))?;
        self.take(edited.into_iter().collect())?;
        if let Some(ending) = replay::ending(self.rules()) {
            self.ending = Some(ending); // an earlier incarnation did not get to write everything
            return self.finish();
        }
        if began {
            self.recover(rebooted)?;
        } else {
            self.take(vec![Input::Start { now: clock::now() }])?;
        }
        self.at.sign(self.conductor.epoch())?;
        // Whoever starts a paused run wants it to go on. What a person is to judge must be wanted in so many words.
        let asks = self.options.ask.is_some() && question::is_open(self.rules());
        let stays = if question::is_checkpoint(self.rules()) { !self.options.goes_on } else { asks };
        if matches!(self.rules().stage(), Stage::Paused(_)) && !stays {
            self.take(vec![Input::Resume { now: clock::now() }])?;
        }
        while self.ending.is_none() {
            self.nobody_decides()?;
            if self.ending.is_some() {
                break;
            }
            self.commit_in_time()?;
            self.render_in_time()?;
            let inputs = self.wait()?;
            self.take(inputs)?;
            self.end_or_judge();
        }
        self.finish()
    }

    fn rules(&self) -> &Run {
        self.conductor.rules()
    }

    /// Lets the rules decide on some inputs, and carries out what may be.
    fn take(&mut self, inputs: Vec<Input>) -> Result<(), Failure> {
        if inputs.is_empty() {
            return Ok(());
        }
        let taken = self.conductor.take(inputs, clock::now())?;
        for refused in taken.refused.into_iter().flatten() {
            (self.tell)(Notice::Warning(refused.to_string()));
        }
        // What others build on is there before they start.
        self.announce_all()?;
        taken.effects.into_iter().try_for_each(|effect| self.carry_out(effect))
    }

    /// Makes what happened durable when others have had time enough to share that.
    fn commit_in_time(&mut self) -> Result<(), Failure> {
        if self.undurable.is_some_and(|since| since.elapsed() >= self.commit_within) {
            self.commit()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let began = Instant::now();
        self.conductor.commit(clock::now())?;
        self.commit_within = COMMIT_WITHIN.max(began.elapsed() * 30);
        self.announce_all()
    }

    /// Tells what has become durable, where others find it.
    fn announce_all(&mut self) -> Result<(), Failure> {
        let happened = self.conductor.happened();
        if !happened.is_empty() {
            self.at.must_be_there(&self.options.folder)?;
        }
        self.announce_these(happened);
        Ok(())
    }

    fn announce_these(&mut self, happened: Vec<Event>) {
        self.dirty |= !happened.is_empty();
        happened.into_iter().for_each(|event| self.announce(event));
        self.undurable = match self.undurable {
            _ if self.conductor.is_durable() => None,
            since => since.or_else(|| Some(Instant::now())),
        };
    }

    /// The next thing that happens, and what has happened with it.
    fn wait(&mut self) -> Result<Vec<Input>, Failure> {
        let until_wake = self.wake.map(|at| {
            let micros = at.as_micros().saturating_sub(clock::now().as_micros());
            Duration::from_micros(u64::try_from(micros).unwrap_or(0))
        });
        let until_render = self.dirty.then(|| self.render_wait());
        let until_commit = self.undurable.map(|since| self.commit_within.saturating_sub(since.elapsed()));
        let until_decided = self.patience.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = [until_wake, until_render, until_commit, until_decided].into_iter().flatten().min();
        let events = self.keepers.wait(self.inbox.bell(), timeout).map_err(Failure::disk("wait for", "keepers"))?;
        let mut inputs: Vec<_> = events.into_iter().filter_map(|event| self.heard(event)).collect();
        for message in self.inbox.take() {
            inputs.extend(self.told(message)?);
        }
        if self.wake.is_some_and(|at| at <= clock::now()) {
            self.wake = None;
            inputs.push(Input::Woke { now: clock::now() });
        }
        Ok(inputs)
    }

    /// What a message means to the rules, unless it is dealt with here.
    fn told(&mut self, message: Message) -> Result<Option<Input>, Failure> {
        let now = clock::now();
        match message {
            Message::Asked(asked) => self.answer(asked).map(|()| None),
            Message::Typed(line) => self.typed(line.as_deref()).map(|()| None),
            Message::Signal if self.asked_to_stop => Ok(Some(Input::Stop { now })),
            Message::Signal => {
                self.asked_to_stop = true;
                Ok(Some(Input::Drain { now }))
            }
            Message::Looked { slot, looked } => Ok(self.looked(slot, *looked)),
            Message::NotStarted { slot, error } => {
                let outcome = Outcome::CouldNotStart { error: format!("could not start: {error}") };
                let work = self.slots.remove(&slot);
                Ok(work.map(|work| Input::Ended { now, ended: WorkEnded { work, outcome } }))
            }
        }
    }

    /// What the news of a keeper mean to the rules.
    fn heard(&mut self, event: KeeperEvent) -> Option<Input> {
        let (slot, exit) = match event {
            KeeperEvent::Line { slot, text, .. } => {
                let work = self.slots.get(&slot)?;
                let is_event = self.options.workers.of(work.task).is_some_and(|worker| worker.setup.is_some());
                let text = if is_event { glimpse(&text)? } else { text };
                let task = self.id(work.task).to_owned();
                (self.tell)(Notice::Line { task, text });
                return None;
            }
            KeeperEvent::Ended { slot, exit, unrecorded } => {
                if let Some(reason) = unrecorded {
                    (self.tell)(Notice::Warning(format!("{}: its outcome is not on disk: {reason}", exit.key)));
                }
                (slot, Some(exit))
            }
            KeeperEvent::KeeperDied { slot, key, reason } => {
                (self.tell)(Notice::Warning(format!("{key}: its keeper is gone: {reason}")));
                (slot, None)
            }
        };
        self.ended(slot, exit.as_deref())
    }

    /// Finds out what the workers of an earlier incarnation came to, and goes on. None of them lives after this.
    fn recover(&mut self, rebooted: bool) -> Result<(), Failure> {
        let ledgers = self.at.ledgers();
        let at_work: Vec<Work> = self.rules().at_work().collect();
        let keys: Vec<String> = at_work.iter().map(|work| self.at.key(self.id(work.task), work.attempt)).collect();
        let scene = Scene { options: &self.options, run: &self.at, session: &self.session, cwd: &self.cwd };
        let checks: Vec<String> = at_work.iter().flat_map(|work| checking::keys(&scene, *work)).collect();
        let all = [keys.as_slice(), checks.as_slice()].concat();
        let harvest = Harvest::gather(&ledgers, &all, KEEPER_PATIENCE).map_err(Failure::disk("look at", &ledgers))?;
        let harvest = harvest.ok_or_else(|| Failure::StillRunning(self.at.id.clone()))?;
        for key in &checks {
            harvest.sweep(key).map_err(Failure::disk("end what is left of", key))?;
        }
        let (mut harvested, mut due) = (Vec::new(), Vec::new());
        for (work, key) in at_work.into_iter().zip(keys) {
            let outcome = match harvest.exit(&key) {
                Some(exit) if exit.ended != Ended::Interrupted => self.outcome(work, exit),
                _ => {
                    harvest.sweep(&key).map_err(Failure::disk("end what is left of", &key))?;
                    Outcome::Interrupted
                }
            };
            let artifacts = harvest.exit(&key).map_or(0, |exit| exit.artifacts);
            let slot = self.rules().view(work.task).and_then(|view| view.slot);
            let (checking, scene) = self.checks();
            match slot.filter(|_| checking.is_due(&scene, work, &outcome, artifacts)) {
                Some(slot) => due.push((slot as usize, work, outcome)),
                None => harvested.push(WorkEnded { work, outcome }),
            }
        }
        let alive = due.iter().map(|(_, work, _)| *work).collect();
        self.slots.extend(due.iter().map(|(slot, work, _)| (*slot, *work)));
        self.take(vec![Input::Recovered { now: clock::now(), alive, harvested, rebooted }])?;
        let scene = Scene { options: &self.options, run: &self.at, session: &self.session, cwd: &self.cwd };
        self.checking.recover(&scene, self.conductor.rules());
        if due.is_empty() {
            return harvest.forget().map_err(Failure::disk("clear", ledgers));
        }
        // Until they are judged, the ledgers say that their workers ended well.
        for (slot, work, outcome) in due {
            let (checking, scene) = self.checks();
            checking.begin(&scene, slot, work, outcome);
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> Result<(), Failure> {
        match effect {
            Effect::Check { work, slot } => {
                self.slots.insert(slot as usize, work);
                let (checking, scene) = self.checks();
                checking.begin_again(&scene, slot as usize, work);
            }
            Effect::Spawn { work, slot } => {
                let slot = slot as usize;
                let problems = self.views.starts(&mut self.session, self.conductor.rules(), work.task);
                tell_problems(problems, self.tell);
                let moved = self.checking.attempt_begins(&self.session.tasks[work.task.get()], work.attempt);
                tell_problems(moved, self.tell);
                let text = prompt::of(
                    &self.session,
                    self.conductor.rules(),
                    work.task,
                    &self.options.folder,
                    Some(&self.at.path),
                );
                let prompt =
                    self.prompts.write(slot, &text).map_err(Failure::disk("write a prompt in", self.at.agents()));
                self.slots.insert(slot, work);
                let prompt = match prompt {
                    // Nothing runs yet: it is as if the worker had not started, and is tried again later.
                    Err(Failure::Shortage(error)) => {
                        self.outbox.send(Message::NotStarted { slot, error }).ok();
                        return Ok(());
                    }
                    prompt => prompt?,
                };
                let task = &self.session.tasks[work.task.get()];
                let worker =
                    self.options.workers.of(work.task).ok_or_else(|| Failure::NoWorker(task.id.to_string()))?;
                let assignment = assign::of(&self.options, &self.at, &self.cwd, task, worker, work.attempt, prompt)?;
                self.keepers.start(slot, assignment);
            }
            Effect::EndWorker { work } => {
                if let Some((slot, _)) = self.slots.iter().find(|(_, running)| **running == work) {
                    self.keepers.end(*slot);
                    if *self.rules().stage() != Stage::Stopping {
                        self.checking.recall(*slot);
                    }
                }
            }
            Effect::WakeAt { at } => self.wake = Some(self.wake.map_or(at, |wake| wake.min(at))),
            Effect::AskWaveFailed { wave } => self.ask_about_wave(wave),
            Effect::AskCheckpoint { task, cause } => self.ask_at_checkpoint(task, cause),
            // Somebody may tell it to go on.
            Effect::Over { ending: Ending::Paused } => {}
            Effect::Over { ending } => self.ending = Some(ending),
        }
        Ok(())
    }

    fn announce(&mut self, event: Event) {
        let reports = Reports { run: &self.at, session: &self.options.folder, discoveries: self.views.discoveries() };
        tell_problems(reports.take_over(&mut self.session, &event), self.tell);
        let problems = self.views.changed(&self.session, self.conductor.rules(), &event);
        tell_problems(problems, self.tell);
        let counts = self.rules().counts();
        let id = |task: TaskIndex| self.session.tasks[task.get()].id.to_string();
        let notice = match event {
            Event::Claimed { work, fast_advance, .. } => Notice::Started {
                task: id(work.task),
                role: self.session.tasks[work.task.get()].role.to_string(),
                attempt: work.attempt,
                fast_advance,
                counts,
            },
            Event::Completed { work, findings, judged, .. } => {
                let (task, findings) = (id(work.task), findings.unwrap_or_default());
                let sent_back = judged.and_then(|judged| match judged.then {
                    JudgedThen::SendBack { tasks, critique } => Some(Notice::SentBack {
                        by: task.clone(),
                        tasks: tasks.into_iter().map(id).collect(),
                        critique,
                    }),
                    _ => None,
                });
                (self.tell)(Notice::Completed { task, findings, counts });
                let Some(sent_back) = sent_back else { return };
                sent_back
            }
            Event::Decided { checkpoint, action, text, .. } => {
                Notice::Decided { checkpoint: checkpoint.map(id), action, text }
            }
            Event::Returned { tasks, .. } => Notice::Returned { tasks: tasks.into_iter().map(id).collect(), counts },
            Event::Failed { work, error, then, .. } => {
                Notice::Failed { task: id(work.task), error, again: matches!(then, Then::Again { .. }), counts }
            }
            Event::Interrupted { work, .. } => Notice::Interrupted { task: id(work.task), counts },
            Event::Skipped { task, reason, .. } => {
                Notice::Skipped { task: id(task), reason: self.rules().explain(&reason), counts }
            }
            Event::WaveMerged { wave, then: WaveThen::GoOn, .. } => Notice::WaveMerged { wave },
            Event::WaveMerged { then: WaveThen::Ask, .. } => return, // an effect says it
            Event::WaveMerged { wave, .. } => {
                Notice::Warning(format!("every task of wave {wave} failed, so the run stops here"))
            }
            Event::Draining { .. } => Notice::Draining { running: self.slots.len() },
            Event::Stopping { .. } => Notice::Stopping,
            _ => return,
        };
        (self.tell)(notice);
    }

    /// What an attempt came to, with what its dialect demands.
    fn outcome(&mut self, work: Work, exit: &Exit) -> Outcome {
        let task = &self.session.tasks[work.task.get()];
        let End { result, outcome, problems } = ends::of(&self.options, &self.at, task, work, exit);
        tell_problems(problems, self.tell);
        let gap = result.as_deref().and_then(capability::of_result);
        tell_problems(self.gaps.news(task.id.as_str(), gap, &self.session), self.tell);
        let outcome = self.views.judged(&task.id, outcome);
        let said = result.or_else(|| self.views.left(&task.id));
        outcome::judged(outcome, judgement::of(said.as_deref(), task, work.task, self.rules().graph()))
    }

    fn id(&self, task: TaskIndex) -> &str {
        self.session.tasks[task.get()].id.as_str()
    }

    /// How long until the views may be rendered again.
    fn render_wait(&self) -> Duration {
        let Some((last, took)) = self.rendered else { return Duration::ZERO };
        (RENDER_EVERY.max(took * 50)).saturating_sub(last.elapsed())
    }

    /// Renders how the run stands, when it is time. Nothing is shown that is not durable.
    fn render_in_time(&mut self) -> Result<(), Failure> {
        if !self.dirty || !self.render_wait().is_zero() {
            return Ok(());
        }
        self.commit()?;
        let started = Instant::now();
        let length = self.at.journal_length();
        self.checking.put_into(&mut self.session);
        let problems = self.views.render(&mut self.session, self.conductor.rules(), length);
        tell_problems(problems, self.tell);
        self.rendered = Some((started, started.elapsed()));
        self.dirty = false;
        Ok(())
    }

    fn finish(&mut self) -> Result<Report, Failure> {
        self.keepers.close_all();
        if self.undurable.is_some() {
            self.commit()?;
        }
        let ending = match self.ending {
            Some(Ending::Stopped) if !self.asked_to_stop => Ending::Paused, // a wave failed
            ending => ending.unwrap_or(Ending::Paused),
        };
        let at_end = self.options.at_end;
        self.checking.put_into(&mut self.session);
        tell_problems(self.checking.sync().into_iter().collect(), self.tell);
        let (report, failures) = views::leave(
            &mut self.views,
            &self.at,
            &self.options.folder,
            &mut self.session,
            self.conductor.rules(),
            at_end,
        );
        tell_problems(failures, self.tell);
        Ok(Report { ending, ..report })
    }
}
