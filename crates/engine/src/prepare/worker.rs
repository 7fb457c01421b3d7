//! Who does which task: a program, what it sees of the environment, and how long it has.

use std::collections::{BTreeMap, BTreeSet};

use team_executor_agents::Limits;
use team_executor_agents::adapters::Setup;
use team_executor_core::TaskIndex;
use team_executor_core::run::{Agents, Run};

use crate::conclude::artifacts::Demands;
use crate::shell;

/// Who does a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// What the user calls it.
    pub agent: String,
    /// The program and its arguments; of a known coding agent only the program.
    pub command: Vec<String>,
    /// The program as the user names it.
    pub typed: String,
    /// How it is asked, if it is a known coding agent.
    pub setup: Option<Setup>,
    /// Names of variables that it is given beside the usual ones; a star stands for any end.
    pub pass_env: Vec<String>,
    /// Variables that it is given.
    pub env: Vec<(String, String)>,
    /// Names of those whose values are never written to disk.
    pub unrecorded: Vec<String>,
    /// How long it may take.
    pub limits: Limits,
    /// What is demanded of what it delivers.
    pub demands: Demands,
}

/// Variables that say where an agent keeps its conversations.
const HOMES: [&str; 5] = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

impl Worker {
    /// The command with which a person opens a conversation of this agent in the folder of the project.
    pub fn attach(&self, session: &str) -> Option<String> {
        let args = self.setup.as_ref()?.adapter.attaching(&self.typed, session)?;
        let homes = self.env.iter().filter(|(name, _)| HOMES.contains(&name.as_str()));
        let homes = homes.filter(|(name, _)| !self.unrecorded.contains(name));
        let homes: Vec<String> = homes.map(|(name, value)| format!("{name}={value}")).collect();
        let env = (!homes.is_empty()).then(|| "env".to_owned());
        let words = env.into_iter().chain(homes).chain([self.typed.clone()]).chain(args);
        Some(words.map(|word| shell::word(&word)).collect::<Vec<_>>().join(" "))
    }
}

/// Who does which task of a session. There are few workers and many tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workers {
    list: Vec<Worker>,
    /// Workers of whom the first that can be used does a task.
    chains: Vec<Vec<usize>>,
    /// For each task, its chain.
    of: Vec<usize>,
    /// For a task that a person gave to others, who that is, by the number behind those of its chain.
    hired: BTreeMap<(TaskIndex, u32), usize>,
}

impl Workers {
    /// One more worker; the number is for [`Workers::chain`].
    pub fn add(&mut self, worker: Worker) -> usize {
        self.list.push(worker);
        self.list.len() - 1
    }

    /// Workers of whom the first that can be used does a task; the number is for [`Workers::assign`].
    pub fn chain(&mut self, workers: Vec<usize>) -> usize {
        self.chains.push(workers);
        self.chains.len() - 1
    }

    /// Gives the next task to a chain. Tasks come in the order of the session.
    pub fn assign(&mut self, chain: usize) {
        self.of.push(chain);
    }

    /// Gives the next task to workers of whom the first that can be used does it. Those that are known are not doubled.
    pub fn assign_to(&mut self, workers: Vec<Worker>) {
        let chain = self.chain_to(workers);
        self.assign(chain);
    }

    /// Gives a task that no one has tried to other workers.
    pub fn reassign(&mut self, task: TaskIndex, workers: Vec<Worker>) {
        let chain = self.chain_to(workers);
        if let Some(of) = self.of.get_mut(task.get()) {
            *of = chain;
        }
    }

    fn chain_to(&mut self, workers: Vec<Worker>) -> usize {
        let chain: Vec<usize> = workers.into_iter().map(|worker| self.known(worker)).collect();
        let known = self.chains.iter().position(|one| *one == chain);
        known.unwrap_or_else(|| self.chain(chain))
    }

    fn known(&mut self, worker: Worker) -> usize {
        self.list.iter().position(|one| *one == worker).unwrap_or_else(|| self.add(worker))
    }

    /// Who is wanted first for a task.
    pub fn first(&self, task: TaskIndex) -> Option<&Worker> {
        self.nth(task, 0)
    }

    /// Who does a task if the first so many cannot be used.
    pub fn nth(&self, task: TaskIndex, choice: u32) -> Option<&Worker> {
        let chain = self.chain_of(task);
        let hired = || self.hired.get(&(task, choice));
        self.list.get(*chain.get(choice as usize).or_else(hired).or_else(|| chain.first())?)
    }

    /// A person gave a task to another worker, who is this one of those that can do it.
    pub fn hire(&mut self, task: TaskIndex, choice: u32, worker: Worker) {
        let known = self.list.iter().rposition(|one| *one == worker);
        let number = known.unwrap_or_else(|| self.add(worker));
        self.hired.insert((task, choice), number);
    }

    /// Who does the last attempt at a task, or would.
    pub fn chosen(&self, rules: &Run, task: TaskIndex) -> Option<&Worker> {
        self.nth(task, rules.view(task).map_or(0, |view| view.choice))
    }

    /// Those who can do a task, the one that is wanted first.
    pub fn all_of(&self, task: TaskIndex) -> Vec<Worker> {
        self.chain_of(task).iter().filter_map(|worker| self.list.get(*worker)).cloned().collect()
    }

    /// The numbers of those who can do a task, the one that is wanted first.
    pub fn chain_of(&self, task: TaskIndex) -> &[usize] {
        self.of.get(task.get()).and_then(|chain| self.chains.get(*chain)).map_or(&[], Vec::as_slice)
    }

    /// What they are called.
    pub fn names(&self) -> Agents {
        let name = |worker: &usize| self.list.get(*worker).map(|worker| worker.agent.clone()).unwrap_or_default();
        let chains = self.chains.iter().map(|chain| chain.iter().map(name).collect()).collect();
        Agents { chains, of: self.of.clone() }
    }

    /// The numbers of those who can be used for a task.
    pub fn in_chains(&self) -> BTreeSet<usize> {
        self.chains.iter().flatten().copied().collect()
    }

    /// Takes a worker that cannot be used out of all chains; not if a chain would become empty.
    pub fn go_without(&mut self, worker: usize) -> bool {
        let is_needed = self.chains.iter().any(|chain| !chain.is_empty() && chain.iter().all(|one| *one == worker));
        if !is_needed {
            self.chains.iter_mut().for_each(|chain| chain.retain(|one| *one != worker));
        }
        !is_needed
    }

    /// All of them, to complete what is known of each.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Worker> {
        self.list.iter_mut()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Worker> {
        self.list.iter()
    }
}

#[cfg(test)]
mod tests {
    use team_executor_agents::adapters::Adapter;

    use super::*;

    fn worker(agent: &str) -> Worker {
        Worker {
            agent: agent.to_owned(),
            command: Vec::new(),
            typed: String::new(),
            setup: None,
            pass_env: Vec::new(),
            env: Vec::new(),
            unrecorded: Vec::new(),
            limits: Limits::default(),
            demands: Demands::default(),
        }
    }

    #[test]
    fn conversation_is_opened_by_the_command_of_its_agent() {
        let setup = |adapter| Setup {
            adapter,
            model: None,
            permissions: team_executor_agents::adapters::Permissions::default(),
            effort: None,
            servers: Vec::new(),
            mcp: true,
            args: Vec::new(),
            converses: false,
        };
        let attach = |adapter, typed: &str, env: &[(&str, &str)]| {
            let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Worker { setup: Some(setup(adapter)), typed: typed.to_owned(), env, ..worker("a") }.attach("s-1")
        };
        assert_eq!(attach(Adapter::Claude, "claude", &[]).as_deref(), Some("claude --resume s-1"));
        assert_eq!(attach(Adapter::Codex, "codex", &[]).as_deref(), Some("codex resume s-1"));
        let env = [("CODEX_HOME", "/my home"), ("OPENAI_API_KEY", "secret")];
        let with_home = "env 'CODEX_HOME=/my home' codex resume s-1";
        assert_eq!(attach(Adapter::Codex, "codex", &env).as_deref(), Some(with_home), "and no key is shown");
        assert_eq!(attach(Adapter::Acp, "/opt/opencode", &[]).as_deref(), Some("/opt/opencode --session s-1"));
        let env = vec![("CODEX_HOME".to_owned(), "/secret".to_owned())];
        let unrecorded = vec!["CODEX_HOME".to_owned()];
        let told = Worker { setup: Some(setup(Adapter::Codex)), env, unrecorded, ..worker("a") };
        assert!(!told.attach("s-1").unwrap().contains("secret"));
        assert_eq!(attach(Adapter::Acp, "another", &[]), None);
        assert_eq!(worker("a").attach("s-1"), None);
    }

    #[test]
    fn each_task_has_the_worker_that_it_was_given() {
        let mut workers = Workers::default();
        let (a, b) = (workers.add(worker("a")), workers.add(worker("b")));
        let chains = [vec![a, b], vec![b]].map(|chain| workers.chain(chain));
        [0, 1, 0].into_iter().for_each(|nth| workers.assign(chains[nth]));
        let names: Vec<_> = (0..4).map(|task| workers.first(TaskIndex(task)).map(|one| one.agent.as_str())).collect();
        assert_eq!(names, [Some("a"), Some("b"), Some("a"), None]);
        let nth = |choice| workers.nth(TaskIndex(0), choice).map(|one| one.agent.as_str());
        assert_eq!([nth(1), nth(2)], [Some("b"), Some("a")], "what is not there any more is as before");
        assert!(!workers.go_without(b), "no other agent does the second task");
        assert!(workers.go_without(a));
        assert_eq!(workers.chain_of(TaskIndex(2)), [b]);
    }
}
