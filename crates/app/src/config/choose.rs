//! From the configuration, the command line and a session to who does which task. The first that says something counts: the
//! command line, the task's section, its role's, the session where it may choose, then the defaults.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use team_executor_agents::adapters::{Adapter, Given, Permissions, Setup};
use team_executor_agents::rehearsal::Manner;
use team_executor_agents::{self as agents};
use team_executor_core::run::{Assignment, TaskPolicy};
use team_executor_core::{ExecMode, Session, Task, TaskIndex};
use team_executor_engine::artifacts::Demands;
use team_executor_engine::{Worker, Workers};
use team_executor_files::{Code, Finding};

use super::Flags;
use super::defaults::{Defaults, of_flags};
use super::read::no_agent;
use super::{Agent, AgentKind, Config, Limits, Origin, Own, Set, Spot, Time, budget, checks, command, servers};
use crate::error::Error;
use crate::escape;

/// What the agent of `--agent-command` is called.
pub(crate) const BY_FLAG: &str = "--agent-command";
/// How long a known agent may make no progress: longer than any of its tools may take.
const IDLE_OF_KNOWN: Time = Time::seconds(12 * 60);

/// How long a worker may take in all, unless that is set.
pub(crate) const fn total(mode: ExecMode) -> Time {
    match mode {
        ExecMode::CsvWave => Time::seconds(30 * 60),
        ExecMode::Interactive => Time::seconds(10 * 60),
    }
}

/// Who does which task, and how.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) workers: Workers,
    /// Of each worker, whose quota it uses.
    pools: Vec<u32>,
    /// What differs for single tasks.
    pub(crate) tasks: BTreeMap<TaskIndex, TaskPolicy>,
    /// Which tasks have a tree of their own, in the order of the session.
    pub(crate) isolated: Vec<bool>,
    /// The files that tasks may change there, where that is settled.
    pub(crate) scopes: BTreeMap<TaskIndex, Vec<String>>,
    /// What will be run, each once.
    pub(crate) programs: Vec<Program>,
    /// The session names agents, and may not.
    pub(crate) ignored: bool,
    /// What was set and does not reach an agent, a line each.
    pub(crate) unheard: Vec<String>,
    /// Whose quotas there are.
    pub(crate) accounts: Accounts,
}

impl Chosen {
    /// Whose quotas tasks use, once it is known which workers can be used: notes the first, and gives back the others.
    pub(crate) fn fallbacks(&mut self, session: &Session) -> BTreeMap<TaskIndex, Vec<u32>> {
        let mut fallbacks = BTreeMap::new();
        for task in (0..).map(TaskIndex).take(session.tasks.len()) {
            let pools = self.workers.chain_of(task).iter().filter_map(|worker| self.pools.get(*worker).copied());
            let mut pools = pools.collect::<Vec<_>>().into_iter();
            if let Some(first) = pools.next().filter(|first| *first > 0) {
                self.tasks.entry(task).or_default().pool = first;
            }
            if pools.len() > 0 {
                fallbacks.insert(task, pools.collect());
            }
        }
        fallbacks
    }
}

/// Something that will be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The agent.
    pub agent: String,
    /// Its command, as it is shown.
    pub command: String,
    /// Where the file of the project chose it.
    pub by_project: Option<Spot>,
}

/// Chooses for every task of a session. `exe` is this program.
pub(crate) fn choose(config: &Config, flags: &Flags, session: &Session, exe: &Path) -> Result<Chosen, Error> {
    choose_with(config, flags, session, exe, Accounts::new())
}

/// The same, beside others whose quotas are known.
pub(crate) fn choose_with(
    config: &Config,
    flags: &Flags,
    session: &Session,
    exe: &Path,
    accounts: Accounts,
) -> Result<Chosen, Error> {
    let mut chooser = chooser(config, flags, session, exe, accounts)?;
    let mut known: HashMap<Alike<'_>, usize> = HashMap::new();
    for (index, task) in (0..).map(TaskIndex).zip(&session.tasks) {
        let own = config.settings.tasks.get(task.id.as_str());
        let key = (task.role.as_str(), task.exec_mode, task.agent.as_deref(), task.delivers.as_slice());
        let chain = match known.get(&key).filter(|_| own.is_none()) {
            Some(chain) => *chain,
            None => chooser.chain(task, own)?,
        };
        if own.is_none() {
            known.insert(key, chain);
        }
        chooser.chosen.workers.assign(chain);
        chooser.policy(index, task, own);
    }
    chooser.tests_of_the_whole();
    Ok(chooser.chosen)
}

/// Workers for tasks that a person gives to an agent: the tasks of what is chosen are these, in their order.
pub(crate) fn given(
    config: &Config,
    flags: &Flags,
    session: &Session,
    exe: &Path,
    (tasks, to): (&[TaskIndex], &Assignment),
) -> Result<Chosen, Error> {
    let mut chooser = chooser(config, flags, session, exe, Accounts::new())?;
    chooser.is_given = true;
    let by_flag = chooser.by_flag.take().filter(|_| to.agent == BY_FLAG);
    let known = config.settings.agents.get(&to.agent).cloned();
    let mut agent = by_flag.or(known).ok_or_else(|| no_agent(&config.settings, &to.agent))?;
    match (&mut agent.kind, &to.model) {
        (_, None) => {}
        (AgentKind::Agent { setup, .. }, model) => setup.model.clone_from(model),
        (AgentKind::Command(_) | AgentKind::Rehearsal { .. }, Some(model)) => {
            let message =
                format!("agent '{}' is no coding agent and has no models, so it cannot use '{model}'", to.agent);
            return Err(Finding::error(Code::Usage, message)
                .help(format!("name the agent alone: {}", to.agent))
                .into());
        }
    }
    for task in tasks.iter().filter_map(|task| session.tasks.get(task.get())) {
        let own = config.settings.tasks.get(task.id.as_str());
        let by_project = chooser.by_project(&agent.from);
        let worker = chooser.worker(task, own, to.agent.clone(), agent.clone(), by_project)?;
        let chain = chooser.chosen.workers.chain(vec![worker]);
        chooser.chosen.workers.assign(chain);
    }
    Ok(chooser.chosen)
}

fn chooser<'a>(
    config: &'a Config,
    flags: &'a Flags,
    session: &'a Session,
    exe: &'a Path,
    accounts: Accounts,
) -> Result<Chooser<'a>, Error> {
    let by_flag = flags.agent_command.as_ref().map(|text| Agent {
        from: Origin::Flag("--agent-command"),
        kind: AgentKind::Command(command::words(text)),
        pass_env: Vec::new(),
        env: Vec::new(),
        limits: Limits::default(),
    });
    if by_flag.as_ref().is_some_and(|agent| agent.kind == AgentKind::Command(Vec::new())) {
        let finding = Finding::error(Code::Usage, "the command of --agent-command is empty");
        return Err(finding.help("name the program that does the work, as in --agent-command './work.sh'").into());
    }
    let chosen = Chosen {
        workers: Workers::default(),
        pools: Vec::new(),
        tasks: BTreeMap::new(),
        isolated: Vec::with_capacity(session.tasks.len()),
        scopes: BTreeMap::new(),
        programs: Vec::new(),
        ignored: false,
        unheard: Vec::new(),
        accounts,
    };
    let defaults = Defaults::choose(config, flags);
    Ok(Chooser { config, flags, session, exe, defaults, by_flag, is_given: false, chosen })
}

struct Chooser<'a> {
    config: &'a Config,
    flags: &'a Flags,
    session: &'a Session,
    exe: &'a Path,
    defaults: Defaults,
    by_flag: Option<Agent>,
    /// A person names the agent and its model, so those of tasks and roles do not count.
    is_given: bool,
    chosen: Chosen,
}

/// Agent, model and account: where these are the same, so is the quota. Other variables make it another account.
type Account = (Adapter, Option<String>, Vec<(String, String)>);

/// The number of each account.
pub(crate) type Accounts = BTreeMap<Account, u32>;

/// Tasks without a section of their own that have these in common have the same workers: role, mode, agent, files to deliver.
type Alike<'t> = (&'t str, ExecMode, Option<&'t str>, &'t [String]);

/// Where a role or a task sets something, if it does.
type Whence = fn(&Own) -> Option<&Origin>;

impl<'a> Chooser<'a> {
    /// Makes the workers of a task, the one that is wanted first.
    fn chain(&mut self, task: &Task, own: Option<&Own>) -> Result<usize, Error> {
        if let Some(agent) = self.by_flag.clone() {
            let worker = self.worker(task, own, BY_FLAG.to_owned(), agent, self.flags.foreign.clone())?;
            return Ok(self.chosen.workers.chain(vec![worker]));
        }
        let role = self.config.settings.roles.get(task.role.as_str());
        let wanted = self.agents(task, own, role)?;
        let mut chain = Vec::with_capacity(wanted.value.len());
        for name in wanted.value {
            let agent = self.config.settings.agents.get(&name);
            let agent = agent.ok_or_else(|| unknown(self.config, &name, &wanted.from, task))?;
            let by_project = self.by_project(&agent.from).or_else(|| self.by_project(&wanted.from));
            chain.push(self.worker(task, own, name, agent.clone(), by_project)?);
        }
        Ok(self.chosen.workers.chain(chain))
    }

    /// Makes a worker for a task.
    fn worker(
        &mut self,
        task: &Task,
        own: Option<&Own>,
        name: String,
        agent: Agent,
        by_project: Option<Spot>,
    ) -> Result<usize, Error> {
        let role = self.config.settings.roles.get(task.role.as_str());
        let command = match &agent.kind {
            AgentKind::Command(words) => words.clone(),
            AgentKind::Agent { program, .. } => vec![program.clone()],
            AgentKind::Rehearsal { speed } => {
                let manner = Manner { speed: *speed, slow: false, fails: false };
                rehearsing(self.exe, manner)?
            }
        };
        let shown = match &agent.kind {
            AgentKind::Command(words) => command::shown(words),
            AgentKind::Agent { program, setup, .. } => shown(program, setup),
            AgentKind::Rehearsal { .. } => "a rehearsal: nothing is done".to_owned(),
        };
        // What the project puts into the environment decides what a name stands for, and to whom an agent talks.
        let mut variables = self.by_project(&agent.from).map(|_| variables(&agent)).unwrap_or_default();
        let mut by_project = by_project;
        for more in [role, own].into_iter().flatten() {
            let from = more.env.as_ref().map(|set| &set.from).or(more.pass_env.as_ref().map(|set| &set.from));
            let Some(spot) = from.and_then(|from| self.by_project(from)) else { continue };
            variables += &shown_variables(
                more.env.as_ref().map_or(&[], |set| &set.value),
                more.pass_env.as_ref().map_or(&[], |set| &set.value),
            );
            by_project = by_project.or(Some(spot));
        }
        let program = Program { agent: name.clone(), command: shown + &variables, by_project };
        if !self.chosen.programs.contains(&program) {
            self.chosen.programs.push(program);
        }
        let limits = self.limits(own, role, &agent, task.exec_mode);
        let demands = match agent.kind {
            AgentKind::Command(_) => self.demands(own, role),
            // A plain command says by its exit whether it is done; an agent may forget a file.
            AgentKind::Agent { .. } => self.demands(own, role).or_files(&task.delivers),
            // Nothing is done, so nothing can be judged.
            AgentKind::Rehearsal { .. } => Demands::default(),
        };
        let typed = agent.kind.program();
        let by_flags = &self.flags.env;
        let Agent { kind, mut pass_env, mut env, .. } = agent;
        let setup = self.conversation(kind, task, &name, own, role)?;
        if let Some(Setup { adapter, .. }) = setup {
            pass_env.extend(adapter.passes().iter().map(|name| (*name).to_owned()));
            let sets = adapter.sets().iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            env = sets.chain(env).collect();
        }
        // What is said last wins.
        for more in [role, own].into_iter().flatten() {
            pass_env.extend(more.pass_env.iter().flat_map(|set| set.value.clone()));
            env.extend(more.env.iter().flat_map(|set| set.value.clone()));
        }
        pass_env.extend(self.flags.pass_env.iter().cloned());
        env.extend(by_flags.iter().cloned());
        let unrecorded = by_flags.iter().map(|(name, _)| name.clone()).collect();
        let worker = Worker { agent: name, command, typed, setup, pass_env, env, unrecorded, limits, demands };
        let pool = self.pool(&worker);
        self.chosen.pools.push(pool);
        Ok(self.chosen.workers.add(worker))
    }

    /// How a known coding agent is asked about a task, and whether it converses; nothing for other kinds.
    fn conversation(
        &mut self,
        kind: AgentKind,
        task: &Task,
        name: &str,
        own: Option<&Own>,
        role: Option<&Own>,
    ) -> Result<Option<Setup>, Error> {
        match kind {
            AgentKind::Agent { setup, converse, .. } => {
                let must = setup.adapter == Adapter::Acp || setup.permissions == Permissions::Ask;
                // Only in a conversation Codex says what it uses before it ends.
                let owns = [own, role];
                let bound = setup.adapter == Adapter::Codex && budget::binds(&self.config.settings, self.flags, owns);
                let converses = must || converse.unwrap_or(bound || task.exec_mode == ExecMode::Interactive);
                self.setup(Setup { converses, ..setup }, name, own, role).map(Some)
            }
            AgentKind::Command(_) => {
                self.not_for_commands(name, own, role);
                Ok(None)
            }
            AgentKind::Rehearsal { .. } => Ok(None),
        }
    }

    /// How a known coding agent is asked, with what the task and its role settle.
    fn setup(&mut self, mut setup: Setup, name: &str, own: Option<&Own>, role: Option<&Own>) -> Result<Setup, Error> {
        let first =
            |of: fn(&Own) -> &Option<Set<String>>| [own, role].into_iter().flatten().find_map(|one| of(one).clone());
        let (model, effort) = (first(|own| &own.model).filter(|_| !self.is_given), first(|own| &own.effort));
        setup.model = model.map(|set| set.value).or(setup.model);
        match effort {
            Some(set) if !setup.adapter.takes_effort() => {
                let kind = setup.adapter.name();
                self.is_unheard(
                    &set.from,
                    format!("agent '{name}' is a {kind}, which has no effort: '{}' is ignored", set.value),
                );
            }
            effort => setup.effort = effort.map(|set| set.value).or(setup.effort),
        }
        setup.servers = self.servers(own, role)?;
        if !setup.servers.is_empty() && !setup.adapter.takes_server() && !setup.converses {
            let names: Vec<_> = setup.servers.iter().map(|one| one.name.as_str()).collect();
            let message = format!(
                "agent '{name}' takes no MCP servers without a conversation, so it has no {}; set converse = true",
                names.join(", ")
            );
            self.is_unheard(&Origin::BuiltIn, message);
        }
        Ok(setup)
    }

    /// The servers of tools of a task. Programs among them are programs like any other.
    fn servers(&mut self, own: Option<&Own>, role: Option<&Own>) -> Result<Vec<Given>, Error> {
        let settings = &self.config.settings;
        let named = own.and_then(|own| own.mcp_servers.as_ref()).or_else(|| role?.mcp_servers.as_ref());
        let of_file = own.and_then(|own| own.use_mcp_json.as_ref()).or_else(|| role?.use_mcp_json.as_ref());
        let named = named.or(settings.mcp_servers.as_ref());
        let of_file = of_file.or(settings.use_mcp_json.as_ref()).is_some_and(|set| set.value);
        let defined = named.into_iter().flat_map(|set| &set.value).filter_map(|name| settings.servers.get(name));
        let mut all: Vec<Set<Given>> = defined.cloned().collect();
        if of_file {
            let theirs = servers::of_project(&self.config.project)?;
            let is_new = |one: &Set<Given>| !all.iter().any(|known| known.value.name == one.value.name);
            let more: Vec<_> = theirs.into_iter().filter(is_new).collect();
            all.extend(more);
        }
        for set in &all {
            let by_project = self.by_project(&set.from);
            let agent = format!("MCP server {}", set.value.name);
            let program = Program { agent, command: servers::shown(&set.value), by_project };
            if !self.chosen.programs.contains(&program) {
                self.chosen.programs.push(program);
            }
        }
        Ok(all.into_iter().map(|set| set.value).collect())
    }

    /// Notes what a task or its role settles about models, which a command has none of. What the command line chose is not meant.
    fn not_for_commands(&mut self, name: &str, own: Option<&Own>, role: Option<&Own>) {
        if self.by_flag.is_some() {
            return;
        }
        let keys: [(&str, Whence); 3] = [
            ("model", |own| own.model.as_ref().map(|set| &set.from)),
            ("effort", |own| own.effort.as_ref().map(|set| &set.from)),
            ("mcp_servers", |own| own.mcp_servers.as_ref().map(|set| &set.from)),
        ];
        for (key, of) in keys {
            let from = [own, role].into_iter().flatten().find_map(of).cloned();
            if let Some(from) = from {
                self.is_unheard(&from, format!("agent '{name}' is a command, which has no '{key}': it is ignored"));
            }
        }
    }

    fn is_unheard(&mut self, from: &Origin, message: String) {
        let at = from.spot().map(|spot| format!("{}:{}: ", spot.file, spot.line)).unwrap_or_default();
        let line = format!("{at}{message}");
        if !self.chosen.unheard.contains(&line) {
            self.chosen.unheard.push(line);
        }
    }

    /// Whose quota a worker uses. Commands have none that is known.
    fn pool(&mut self, worker: &Worker) -> u32 {
        let Some(Setup { adapter, model, .. }) = &worker.setup else { return 0 };
        let next = u32::try_from(self.chosen.accounts.len()).unwrap_or(u32::MAX).saturating_add(1);
        // Of a protocol that many speak, the program says who it is.
        let model = if *adapter == Adapter::Acp { worker.command.first().cloned() } else { model.clone() };
        *self.chosen.accounts.entry((*adapter, model, worker.env.clone())).or_insert(next)
    }

    /// What is demanded of what a worker delivers. Commands that judge it are programs like any other.
    fn demands(&mut self, own: Option<&Own>, role: Option<&Own>) -> Demands {
        let settings = &self.config.settings;
        for (set, name) in checks::commands(settings, own, role) {
            let (command, by_project) = (command::shown(&set.value.words), self.by_project(&set.from));
            let program = Program { agent: name, command, by_project };
            if !self.chosen.programs.contains(&program) {
                self.chosen.programs.push(program);
            }
        }
        checks::demands(settings, own, role, &self.config.project)
    }

    /// The names of the agents that can do a task, and who says so.
    fn agents(&mut self, task: &Task, own: Option<&Own>, role: Option<&Own>) -> Result<Set<Vec<String>>, Error> {
        let settings = &self.config.settings;
        let by_flag = self.flags.agent.clone().map(|name| Set {
            value: vec![name],
            from: self.flags.foreign.clone().map_or(Origin::Flag("--agent"), Origin::Project),
        });
        let by_user = by_flag.or_else(|| own?.agents.clone()).or_else(|| role?.agents.clone());
        let wanted = task.agent.as_deref().or_else(|| self.session.role(task.role.as_str())?.agent.as_deref());
        let of_session = wanted.map(str::trim).filter(|name| by_user.is_none() && !name.is_empty());
        let may_choose = settings.session_may_choose.as_ref().is_some_and(|set| set.value);
        self.chosen.ignored |= of_session.is_some() && !may_choose;
        let of_session =
            of_session.filter(|_| may_choose).map(|name| Set { value: vec![name.to_owned()], from: Origin::Session });
        by_user.or(of_session).or_else(|| settings.agents_wanted.clone()).ok_or_else(|| {
            let finding = Finding::error(Code::Usage, "no agent was named, so nothing was started");
            let finding = finding.help("add --agent NAME, or --agent-command CMD for a program of your own");
            let finding = finding.help("list the agents that are installed: team-executor agents");
            let file = super::files::PROJECT_FILE;
            finding
                .help(format!("or set agent in [defaults] of {file}; `team-executor config` shows what is set"))
                .into()
        })
    }

    /// Where the file of the project had a say, if it had.
    fn by_project(&self, from: &Origin) -> Option<Spot> {
        match from {
            Origin::Project(spot) => Some(spot.clone()),
            Origin::Session => self.by_project(&self.config.settings.session_may_choose.as_ref()?.from),
            Origin::BuiltIn | Origin::User(_) | Origin::Flag(_) | Origin::Run(_) => None,
        }
    }

    fn limits(&self, own: Option<&Own>, role: Option<&Own>, agent: &Agent, mode: ExecMode) -> agents::Limits {
        let of = |own: Option<&Own>| own.map(|own| own.limits.clone()).unwrap_or_default();
        let all = of_flags(self.flags).or(of(own)).or(of(role)).or(agent.limits.clone());
        let all = all.or(self.defaults.limits.clone());
        let is_known = matches!(agent.kind, AgentKind::Agent { .. });
        let idle = match all.idle {
            Some(Set { from: Origin::BuiltIn, .. }) if is_known => {
                Some(Set { value: IDLE_OF_KNOWN, from: Origin::BuiltIn })
            }
            idle => idle,
        };
        let millis = |set: Option<Set<Time>>| set.and_then(|set| set.value.0);
        agents::Limits {
            first_output_ms: millis(all.first_output),
            idle_ms: millis(idle),
            total_ms: all.total.map_or(total(mode), |set| set.value).0,
            grace_ms: millis(all.grace),
            converge_ms: millis(all.converge),
            answer_ms: millis(all.answer),
        }
    }

    /// Notes how a task is run, where that differs.
    fn policy(&mut self, index: TaskIndex, task: &Task, own: Option<&Own>) {
        fn first<T: Clone>(owns: [Option<&Own>; 2], of: impl Fn(&Own) -> &Option<Set<T>>) -> Option<T> {
            owns.into_iter().flatten().find_map(|own| of(own).as_ref()).map(|set| set.value.clone())
        }
        let owns = [own, self.config.settings.roles.get(task.role.as_str())];
        let policy = TaskPolicy {
            retries: first(owns, |own| &own.retries).filter(|_| self.flags.retries.is_none()),
            rounds: first(owns, |own| &own.rounds).filter(|_| self.flags.rounds.is_none()),
            asks: first(owns, |own| &own.checkpoint).unwrap_or(false),
            ..TaskPolicy::default()
        };
        if policy != TaskPolicy::default() {
            self.chosen.tasks.insert(index, policy);
        }
        let default = self.config.settings.isolated.as_ref().is_some_and(|set| set.value);
        self.chosen.isolated.push(first(owns, |own| &own.isolated).unwrap_or(default));
        if let Some(scope) = first(owns, |own| &own.scope) {
            self.chosen.scopes.insert(index, scope);
        }
    }

    /// The command that judges what several tasks did together is a program like any other.
    fn tests_of_the_whole(&mut self) {
        let verify = self.config.settings.isolation.verify.as_ref();
        if let Some(set) = verify.filter(|_| self.chosen.isolated.contains(&true)) {
            let (command, by_project) = (command::shown(&set.value.words), self.by_project(&set.from));
            self.chosen.programs.push(Program { agent: "[merge] verify".to_owned(), command, by_project });
        }
        let setup = self.config.settings.isolation.setup.as_ref();
        if let Some(set) = setup.filter(|_| self.chosen.isolated.contains(&true)) {
            let (command, by_project) = (command::shown(&set.value.words), self.by_project(&set.from));
            self.chosen.programs.push(Program { agent: "the setup of [isolation]".to_owned(), command, by_project });
        }
    }
}

/// What a known coding agent is, for people: its own flags are in docs/reference/agents.md.
fn shown(program: &str, setup: &Setup) -> String {
    let model = setup.model.as_ref().map(|model| format!(", model {}", escape::shell_word(model))).unwrap_or_default();
    let effort =
        setup.effort.as_ref().map(|effort| format!(", effort {}", escape::shell_word(effort))).unwrap_or_default();
    let args = if setup.args.is_empty() { String::new() } else { format!(", args {}", command::shown(&setup.args)) };
    let program = escape::shell_word(program);
    format!("{program} ({}, permissions {}{model}{effort}{args})", setup.adapter.name(), setup.permissions.word())
}

/// The environment that an agent is given, values and all.
fn variables(agent: &Agent) -> String {
    shown_variables(&agent.env, &agent.pass_env)
}

fn shown_variables(env: &[(String, String)], pass_env: &[String]) -> String {
    let list = |key: &str, words: &[String]| match words {
        [] => String::new(),
        words => format!(", {key} {}", command::shown(words)),
    };
    let env: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    list("env", &env) + &list("pass_env", pass_env)
}

/// The command of a worker that only acts.
pub(crate) fn rehearsing(exe: &Path, manner: Manner) -> Result<Vec<String>, Error> {
    let exe = exe.to_str().ok_or_else(|| {
        Finding::error(Code::Usage, "the path of this program is no text").help("install it at another place")
    })?;
    Ok(std::iter::once(exe.to_owned()).chain(manner.arguments()).collect())
}

fn unknown(config: &Config, name: &str, from: &Origin, task: &Task) -> Finding {
    let finding = no_agent(&config.settings, name);
    match from {
        Origin::Session => finding.help(format!("the session wants it for task '{}'", task.id)),
        _ => finding,
    }
}
