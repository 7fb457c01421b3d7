//! Starts a run of a session, or continues one: prepares it, and once it is confirmed, carries it out.
//!
//! Reading order: [`Prepared`] (who does what; nothing was started), [`Ready`] (agents were asked; a run can begin).

mod newcomers;
mod proposed;

use std::path::PathBuf;

use team_executor_core::joining::record;
use team_executor_core::run::{Backoff, Cadence, Learned};
use team_executor_core::{Graph, Millis, Session, SessionStatus};
use team_executor_engine::event::Kind as What;
use team_executor_engine::remembered::{Recorded, Remembered as Remember};
use team_executor_engine::runs::OfSession;
use team_executor_engine::{self as engine, Event, Options, Report};
use team_executor_files::{Code, Dialect, Finding};
use team_executor_store::run_folder::{project_root, run_path};

use crate::apart::Console;
use crate::config::backend;
use crate::config::choose::{self, Chosen, Program};
use crate::config::defaults::Defaults;
use crate::config::on::Reaction;
use crate::config::{Config, Flags, Origin, Proposals, budget, check, held_back, isolation, machine, prices};
use crate::environment::Place;
use crate::error::Error;
use crate::history::{History, Learning};
use crate::hooks::{self, Around, Hooks};
use crate::machines::{self, Sharing};
use crate::open::{Opened, Reading, runs_can_be_read};
use crate::part::Part;
use crate::remark::{Remark, warn};
use crate::remembered::{Remembered, Start};
use crate::{App, escape, joining};

/// Where a task can start before its planned wave.
const WAVES_MOVE: &str =
    "beat cadence starts tasks when their dependencies allow, also before their planned wave (--cadence wave keeps it)";

/// How many workers a run on several machines has at most. How many there are is up to the hosts.
const MOST_WORKERS: u32 = 256;

/// How a session is to be run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How it is read.
    pub reading: Reading,
    /// What wins over every configuration file.
    pub flags: Flags,
    /// Which part of the plan is run.
    pub part: Part,
    /// Specialists who join.
    pub roles: Vec<String>,
    /// Which run is continued, if not the newest.
    pub run: Option<String>,
    /// It is to go on also at a checkpoint.
    pub goes_on: bool,
    /// It starts without a question, so the project's choice of programs must be trusted beforehand.
    pub is_confirmed: bool,
    /// The project's file may choose programs.
    pub trust_project: bool,
    /// Commands of the user's that are started for each event. They are not recorded.
    pub on_event: Vec<String>,
    /// The project may be on a file system that other machines write to.
    pub allow_network: bool,
    /// It is the session of a job, which has no roles of its own.
    pub is_job: bool,
    /// What the session becomes when every task is completed.
    pub at_end: SessionStatus,
    /// How many tasks that workers proposed were added before.
    pub added: u32,
    /// What happens when every task is completed, as the user says it.
    pub on_complete: Option<String>,
    /// What the run that is continued remembers.
    pub remembered: Option<Remembered>,
    /// How many workers there may be from now on, as this start says it: what the run remembers changes no limit.
    pub limit: Option<u32>,
}

/// A run whose workers are chosen. Nothing was started yet.
#[derive(Debug)]
pub struct Prepared {
    place: Place,
    /// The flag that names the session.
    named: String,
    dialect: Dialect,
    wanted: RunOptions,
    config: Config,
    chosen: Chosen,
    /// The session, with who joins.
    pub session: Session,
    /// How its tasks hang together.
    pub graph: Graph,
    /// How the run came out, if it is finished and nothing is to be done.
    pub done: Option<Report>,
    /// The user agreed to all of its programs when the run was started before.
    pub is_agreed: bool,
}

/// A run that can begin.
#[derive(Debug)]
pub struct Ready {
    options: Options,
    /// How many milliseconds each task is expected to take; nothing where that is not known.
    expected: Vec<u32>,
    named: String,
    done: Option<Report>,
    proposals: Proposals,
    reading: Reading,
    reactions: Vec<Reaction>,
    around: Around,
    /// How the work is shared with other machines, if it is.
    sharing: Option<Sharing>,
}

/// Whether a task is planned for a later wave than its dependencies need, and only wave cadence keeps that.
pub fn waves_move(session: &Session, graph: &Graph) -> Option<Remark> {
    (graph.is_planned() && !session.waves_are_barriers).then(|| Remark::Note(WAVES_MOVE.to_owned()))
}

impl App {
    /// Chooses who does the tasks of a session that was read, and checks that it can be done; nothing if the session has
    /// errors. Remarks are given also if something is refused.
    pub fn prepare(
        &self,
        opened: &mut Opened,
        mut wanted: RunOptions,
        remarks: &mut Vec<Remark>,
    ) -> Result<Option<Prepared>, Error> {
        let Some((mut session, graph)) = opened.session.take() else { return Ok(None) };
        let place = self.around(opened.named())?;
        recall(&mut wanted, &place, remarks);
        runs_can_be_read(&place)?;
        let joining = joining::decide(&session, &wanted.roles, &place)?;
        record(&mut session, &joining);
        let config = place.config()?;
        if !wanted.is_job {
            warn(remarks, check::unused(&config, &session));
        }
        let mut chosen = choose::choose(&config, &wanted.flags, &session, self.exe()?)?;
        warn(remarks, check::programs_exist(&mut chosen.workers, &place)?);
        let has_agreed = |program: &Program| {
            wanted.remembered.as_ref().is_some_and(|remembered| remembered.has_agreed(&place, program))
        };
        let new: Vec<_> = chosen.programs.iter().filter(|program| !has_agreed(program)).collect();
        let is_agreed = new.is_empty() && !chosen.programs.is_empty();
        if wanted.is_confirmed {
            check::is_trusted(&new, &config, wanted.trust_project)?;
        }
        warn(remarks, chosen.unheard.iter().cloned());
        remarks.extend(held_back::remarks(&chosen.workers, &place));
        if chosen.ignored {
            let key = "[defaults] session_may_choose = true";
            warn(remarks, [format!("the session names agents; they were ignored ({key} lets it choose)")]);
        }
        let (at, run) = ((place.folder.as_path(), place.current.as_path()), wanted.run.as_deref());
        let finished = || engine::finished(&session, &graph, opened.dialect, at, run);
        let done = if wanted.is_confirmed { None } else { finished() };
        let named = escape::session(&opened.path);
        let dialect = opened.dialect;
        Ok(Some(Prepared { place, named, dialect, wanted, config, chosen, session, graph, done, is_agreed }))
    }
}

/// Gives a start the options that the run remembers and that were not given again, and says which these are.
fn recall(wanted: &mut RunOptions, place: &Place, remarks: &mut Vec<Remark>) {
    let Some(remembered) = &wanted.remembered else { return };
    let start = &remembered.start;
    let flags = remembered.under(wanted.flags.clone());
    let mut words = flags.beyond(&wanted.flags);
    if wanted.roles.is_empty() {
        wanted.roles.clone_from(&start.roles);
        words.extend(start.roles.iter().map(|role| format!("--role {}", escape::shell_word(role))));
    }
    wanted.allow_network |= start.allow_network_fs;
    let is_lost = |name: &&String| !name.ends_with('*') && place.app.variable_os(name).is_none();
    let lost: Vec<_> =
        flags.pass_env.iter().filter(|name| start.flags.pass_env.contains(name)).filter(is_lost).collect();
    warn(remarks, lost.iter().map(|name| {
        format!("{name} was set for workers before and is not set now; its value was not recorded: give --env {name}=VALUE")
    }));
    wanted.flags = flags;
    if !words.is_empty() {
        remarks.push(Remark::Note(format!("options of {}: {}", remembered.run, words.join(" "))));
    }
}

impl Prepared {
    /// Where the run prints if it goes on in the background.
    pub fn console(&self) -> Console {
        Console::new(project_root(&self.place.folder, &self.place.current))
    }

    /// What will be run, each once.
    pub fn programs(&self) -> &[Program] {
        &self.chosen.programs
    }

    /// Asks agents for their versions, which starts them, and settles the rest: the run was confirmed, or is trusted.
    pub fn ready(mut self, remarks: &mut Vec<Remark>) -> Result<Ready, Error> {
        if self.done.is_none() {
            warn(remarks, check::agents_are_new_enough(&mut self.chosen.workers, &self.place)?);
        }
        let part = self.wanted.part.tasks(&self.session, &self.graph)?;
        if let Some(part) = part.as_ref().filter(|_| self.done.is_none()) {
            let (chosen, all) = (part.len(), self.session.tasks.len());
            remarks.push(Remark::Note(format!("{chosen} of {all} tasks are chosen; the others stay pending")));
        }
        let fallbacks = self.chosen.fallbacks(&self.session);
        let defaults = Defaults::choose(&self.config, &self.wanted.flags);
        let budgets = budget::budgets(&self.config, &self.wanted.flags, &self.session);
        let prices = prices::prices(&self.config.settings);
        let isolated = std::mem::take(&mut self.chosen.isolated);
        let scopes = std::mem::take(&mut self.chosen.scopes);
        let trees = isolation::settings(&self.config.settings, (isolated, scopes), self.config.trees.as_deref())?;
        if self.done.is_none() {
            warn(remarks, budget::blind_spots(&budgets, &self.chosen.workers, &self.session, &prices));
            self.remark_cadence(&defaults, remarks);
            remarks.extend(self.share_a_checkout(trees.is_some(), defaults.concurrency.value));
        }
        let sharing = self.sharing(defaults.concurrency.value, trees.is_some(), remarks)?;
        let machine = machine::seats(&self.place.app, &self.config.settings)?;
        // Workers on hosts are no load on this machine, so its limit counts for those that are here.
        let machine = if sharing.is_some() { None } else { machine };
        let known = History::read(&self.place.project).of_tasks(&self.session, &self.chosen.workers);
        let expected = known.map(|known| known.expected()).unwrap_or_default();
        let (reactions, around) = self.reactions()?;
        let chooser = self.newcomers();
        let exe = self.place.app.exe()?.to_owned();
        let remembered = self.remembered();
        let Self { place, named, dialect, wanted, chosen, session, graph, done, .. } = self;
        let learned = Learned::new(&graph, &expected);
        let options = Options {
            environment: place.app.variables(),
            folder: place.folder,
            current: place.current,
            exe,
            dialect,
            session,
            graph,
            run: wanted.run,
            goes_on: wanted.goes_on,
            ask: None,
            slots: if sharing.is_some() { MOST_WORKERS } else { defaults.concurrency.value },
            limit: wanted.limit.filter(|_| sharing.is_none()),
            machine,
            cadence: defaults.cadence.value,
            retries: defaults.retries.value,
            rounds: defaults.rounds.value,
            proposals: defaults.most_proposals().saturating_sub(wanted.added),
            checkpoints: defaults.checkpoints(),
            backoff: Backoff::default(),
            fallbacks,
            quota_wait: defaults.quota_wait.value.0.map(Millis),
            part,
            budgets,
            prices,
            tasks: chosen.tasks,
            learned,
            workers: chosen.workers,
            chooser: Some(Box::new(chooser)),
            trees,
            allow_network: wanted.allow_network,
            at_end: wanted.at_end,
            remembered,
        };
        let (proposals, reading) = (defaults.proposals.value, wanted.reading);
        Ok(Ready { options, expected, named, done, proposals, reading, reactions, around, sharing })
    }

    /// How the work is shared with other machines: the workers here are as many as `-c` says, unless `--local` says otherwise.
    fn sharing(&self, concurrency: u32, has_trees: bool, remarks: &mut Vec<Remark>) -> Result<Option<Sharing>, Error> {
        let (flags, app) = (&self.wanted.flags, &self.place.app);
        let variable = app.variable(backend::VARIABLE);
        let reached = backend::reached(flags.backend.as_deref(), variable, &self.config.settings)?;
        let Some(backend) = reached else {
            if flags.local.is_some() {
                let finding = Finding::error(Code::Usage, "--local needs a backend, and none is named");
                return Err(finding.help("name it: --backend nats://HOST:PORT, or leave --local out").into());
            }
            return Ok(None);
        };
        let local = flags.local.unwrap_or(concurrency);
        let local = self.config.settings.machine_workers.as_ref().map_or(local, |set| local.min(set.value));
        if has_trees && local == 0 {
            let message = "tasks with trees of their own run on this machine, and --local 0 leaves no worker here";
            let finding = Finding::error(Code::Usage, message);
            return Err(finding.help("leave --local out, or set isolation = \"none\" in [defaults]").into());
        }
        if has_trees && self.done.is_none() {
            let words = "tasks with trees of their own run on this machine; hosts do the others";
            remarks.push(Remark::Note(words.to_owned()));
        }
        Ok(Some(Sharing { backend, local }))
    }

    /// The reactions to events, each with a program that is there.
    fn reactions(&self) -> Result<(Vec<Reaction>, Around), Error> {
        let of_flags = self.wanted.on_event.iter().map(|command| Reaction::to_all(command));
        let reactions: Vec<_> = self.config.settings.reactions.iter().cloned().chain(of_flags).collect();
        let app = &self.place.app;
        let (environment, exe, state) = (app.variables(), app.exe()?.to_owned(), app.state_folder());
        let around = Around { environment, folder: self.place.project.clone(), exe, state };
        if let Some(program) = hooks::missing(&reactions, &around.environment, &around.folder) {
            let finding =
                Finding::error(Code::Usage, format!("cannot react to events: there is no program `{program}`"));
            let help = format!("install {program}, or change [[on]] in your own configuration file");
            return Err(finding.help(help).help("see where that file is: team-executor config").into());
        }
        Ok((reactions, around))
    }

    /// What the run is to remember of this start, which the user has agreed to.
    fn remembered(&self) -> Option<Remember> {
        let RunOptions { flags, reading, roles, on_complete, is_confirmed, allow_network, .. } = &self.wanted;
        let mut start = Start::new(flags.clone(), *reading);
        start.roles.clone_from(roles);
        start.on_complete.clone_from(on_complete);
        (start.yes, start.allow_network_fs) = (*is_confirmed, *allow_network);
        start.signed(&self.place, &self.chosen.programs)
    }

    /// Says what trees would spare where several tasks change one checkout, unless the user has settled that.
    fn share_a_checkout(&self, has_trees: bool, slots: u32) -> Option<Remark> {
        const NOTE: &str = "several tasks change this checkout at once; isolation = \"worktree\" in [defaults] of team-executor.toml \
                            gives each a tree of its own and merges them, so none overwrites another's work";
        let is_open = self.config.settings.isolated.is_none() && !has_trees && slots > 1;
        let is_wide = (self.graph.wave_count() as usize) < self.session.tasks.len();
        let is_shared = is_open && is_wide && isolation::checkout_of(&self.place.project).is_some();
        is_shared.then(|| Remark::Note(NOTE.to_owned()))
    }

    /// Remarks where the run keeps the cadence that it began in, and where tasks can start before their planned wave.
    fn remark_cadence(&self, defaults: &Defaults, remarks: &mut Vec<Remark>) {
        let Place { folder, current, .. } = &self.place;
        let (is_set, cadence) = (defaults.cadence.from != Origin::BuiltIn, defaults.cadence.value);
        let moves = waves_move(&self.session, &self.graph);
        if !is_set && moves.is_none() {
            return;
        }
        let began = OfSession::new(folder, current).cadence(self.wanted.run.as_deref());
        if let Some(began) = began.filter(|began| is_set && *began != cadence) {
            warn(remarks, [format!("the run began in {} cadence and stays in it", began.word())]);
        }
        if began.unwrap_or(cadence) == Cadence::Beat {
            remarks.extend(moves);
        }
    }
}

impl Ready {
    /// How many workers run at once.
    pub fn slots(&self) -> u32 {
        self.options.slots
    }

    /// How many milliseconds each task is expected to take; nothing where that is not known.
    pub fn expected(&self) -> &[u32] {
        &self.expected
    }

    /// Whether the run remembers this start, so that it goes on without options.
    pub fn is_remembered(&self) -> bool {
        let Options { folder, current, run, remembered, .. } = &self.options;
        let named = run.as_ref().map(|run| run_path(&project_root(folder, current), run));
        let run = named.or_else(|| engine::runs::newest(folder, current).map(|(_, folder)| folder));
        let recorded = |run: PathBuf, start: &Remember| Recorded::read(&run, start.key.as_ref());
        run.zip(remembered.as_ref()).is_some_and(|(run, start)| {
            recorded(run, start).is_some_and(|there| there.is_signed && there.text == start.text)
        })
    }

    /// The session and its graph.
    pub fn session(&self) -> (&Session, &Graph) {
        (&self.options.session, &self.options.graph)
    }

    /// Where it prints if it goes on in the background.
    pub fn console(&self) -> Console {
        Console::new(project_root(&self.options.folder, &self.options.current))
    }

    /// Runs it to its end, and tells what happens. Where a person is to decide, `ask` reads a line that the person types;
    /// without it no question is asked.
    pub fn run(&mut self, ask: Option<fn() -> Option<String>>, tell: &mut dyn FnMut(Event)) -> Result<Report, Error> {
        self.options.ask = ask;
        if let Some(done) = self.done.take() {
            return Ok(done);
        }
        let mut hooks = Hooks::start(self.reactions.clone(), self.around.clone());
        let mut learning = Learning::new(project_root(&self.options.folder, &self.options.current));
        let ended = machines::run(&mut self.options, self.sharing.as_ref(), &mut |event| {
            learning.take(&event);
            if let Some(hooks) = &mut hooks {
                hooks.tell(&event);
            }
            tell(event);
        });
        if let Err(error) = learning.note() {
            let message = format!("what attempts took was not noted for estimates: {error}");
            tell(Event::live(What::Warning { message }));
        }
        let failed = hooks.map(Hooks::finish).unwrap_or_default();
        failed.into_iter().for_each(|message| tell(Event::live(What::Warning { message })));
        ended.map_err(|failure| Error::of_run(failure, &self.named))
    }
}
