//! The crew of a run on many machines: keepers here and hosts elsewhere. Work goes where most slots are free; what must stay here
//! stays, and commands that check a delivery run here, where it is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use team_executor_agents::{Ended, Exit, Obstacle};
use team_executor_core::TaskId;
use team_executor_core::run::Work;
use team_executor_engine::Failure;
use team_executor_engine::seam::inbox::{Inbox, Outbox};
use team_executor_engine::seam::{Crew, Job, Keys, Left, LocalCrew, Scene, Travel, WorkerEnd, WorkerEvent};
use team_executor_store::run_folder::{EXECUTOR, KEEPERS};

use crate::at_home::below;
use crate::bell::{self, Ear};
use crate::deliver::Here;
use crate::leader::{FromLead, LeaderLink, ToLead};
use crate::link::{Address, Trouble};
use crate::parcel::Parcel;
use crate::record::{Given, Record};
use crate::roster::free;
use crate::wire::{Errand, PROTOCOL, Presence, Word};

/// How long the backend has to answer when a run begins.
const PATIENCE: Duration = Duration::from_secs(30);
/// Says where a worker writes its result.
const RESULT: &str = "TEAM_EXECUTOR_RESULT";

/// How work is shared.
#[derive(Debug, Clone)]
pub struct Sharing {
    /// Where the backend is.
    pub address: Address,
    /// How many workers there are on this machine.
    pub local: usize,
    /// This program.
    pub exe: PathBuf,
}

/// Workers on this machine and on hosts.
#[derive(Debug)]
pub struct HostsCrew {
    local: LocalCrew,
    /// How many workers there are here at once.
    most_local: usize,
    here: Here,
    exe: PathBuf,
    link: LeaderLink,
    ear: Ear<FromLead>,
    /// Wakes the dispatcher, which waits in here.
    outbox: Outbox,
    record: Record,
    /// What earlier executors gave away.
    before: BTreeMap<String, Given>,
    hosts: Vec<Presence>,
    /// Where the attempt in each slot is.
    places: BTreeMap<usize, Place>,
    /// Where attempts were whose conversations may be taken up.
    last_places: BTreeMap<String, String>,
    /// Attempts of hosts that have ended, until these say so themselves.
    ended: BTreeSet<String>,
    /// Hosts that had attempts of this run when they were lost, and have not come back.
    lost: BTreeSet<String>,
    /// Where the backend is, as a person types it.
    backend: String,
    /// Those for whom there was no place when they were to begin.
    waiting: VecDeque<(usize, Job)>,
    untold: Vec<WorkerEvent>,
    failed: Option<Trouble>,
}

/// Where an attempt is.
#[derive(Debug)]
enum Place {
    Here,
    On { host: String, key: String, task: TaskId, work: Work },
}

impl HostsCrew {
    /// Connects, and waits until it is known which hosts there are.
    pub fn open(sharing: &Sharing, local: LocalCrew, scene: Scene<'_>) -> Result<Self, Failure> {
        let executor = scene.run.join(EXECUTOR);
        let opened = Record::open(&executor);
        let (record, before) =
            opened.map_err(|error| Failure::Backend { why: format!("{}: {error}", executor.display()) })?;
        let here = Here { project: scene.project.to_owned(), executor, run: scene.name };
        let outbox = scene.outbox.clone();
        let (mouth, ear) = bell::open(move || outbox.ring());
        let link = LeaderLink::start(sharing.address.clone(), here.clone(), mouth);
        let link = link.map_err(|error| Failure::Backend { why: format!("no thread for the backend: {error}") })?;
        let mut crew = Self {
            local,
            most_local: sharing.local,
            here,
            exe: sharing.exe.clone(),
            link,
            ear,
            outbox: scene.outbox,
            record,
            before,
            hosts: Vec::new(),
            places: BTreeMap::new(),
            last_places: BTreeMap::new(),
            ended: BTreeSet::new(),
            lost: BTreeSet::new(),
            backend: sharing.address.url.clone(),
            waiting: VecDeque::new(),
            untold: Vec::new(),
            failed: None,
        };
        crew.wait_for(|news| matches!(news, FromLead::Hosts(_)), PATIENCE)?;
        if crew.hosts.is_empty() {
            let words = "no host is there yet; tasks wait until one is, or run here (--local)";
            crew.untold.push(WorkerEvent::Problem(words.to_owned()));
        }
        Ok(crew)
    }

    /// Listens until something is said.
    fn wait_for(&mut self, is_it: impl Fn(&FromLead) -> bool, patience: Duration) -> Result<(), Failure> {
        let until = Instant::now() + patience;
        loop {
            let Some(news) = self.ear.wait(until.saturating_duration_since(Instant::now())) else {
                return Err(Failure::Backend { why: "the backend does not answer".to_owned() });
            };
            let found = is_it(&news);
            self.heard(news)?;
            self.must_work()?;
            if found {
                return Ok(());
            }
        }
    }

    fn must_work(&self) -> Result<(), Failure> {
        self.failed.as_ref().map_or(Ok(()), |trouble| Err(Failure::Backend { why: trouble.to_string() }))
    }

    fn used_here(&self) -> usize {
        self.places.values().filter(|place| matches!(place, Place::Here)).count()
    }

    fn free_here(&self) -> usize {
        self.most_local.saturating_sub(self.used_here())
    }

    fn free_on(&self, host: &Presence) -> usize {
        let given = self.places.values().filter_map(|place| match place {
            Place::On { host: of, key, .. } if *of == host.host => Some(key.clone()),
            _ => None,
        });
        free(host, &given.collect(), &self.ended)
    }

    /// The host for a job, if it can go to one that is free: where its conversation is, else where most slots are free.
    fn host_for(&self, travel: &Travel) -> Option<(usize, &Presence)> {
        let has_agent = |host: &&Presence| {
            let [_, name] = &travel.program;
            name.is_empty() || name.contains('/') || host.agents.contains(name)
        };
        let able = self.hosts.iter().filter(has_agent).map(|host| (self.free_on(host), host));
        let able: Vec<_> = able.filter(|(free, _)| *free > 0).collect();
        let before = travel.after.as_ref().and_then(|after| self.last_places.get(after));
        let at_home = before.and_then(|before| able.iter().find(|(_, host)| host.host == *before));
        at_home.or_else(|| able.iter().max_by_key(|(free, _)| *free)).copied()
    }

    /// Gives a job to a host that is free, or to this machine; without a free place it comes back.
    fn place(&mut self, slot: usize, job: Job) -> Result<Option<Job>, Failure> {
        let free_here = self.free_here();
        let Some(travel) = job.travel.as_ref().filter(|_| self.can_travel(&job)) else {
            // What cannot leave is done here, one at a time where nothing else is.
            let can_begin = self.used_here() < self.most_local.max(1);
            return if can_begin { self.begin_here(slot, job).map(|()| None) } else { Ok(Some(job)) };
        };
        match self.host_for(travel) {
            Some((free, host)) if free > free_here => {
                let (host, lease_ms) = (host.host.clone(), host.lease_ms);
                self.send(slot, job, host, lease_ms).map(|()| None)
            }
            _ if free_here > 0 => self.begin_here(slot, job).map(|()| None),
            _ => Ok(Some(job)),
        }
    }

    /// Whether all that a job has to do with is in the project.
    fn can_travel(&self, job: &Job) -> bool {
        let is_below = |path: &Path| below(&self.here.project, path).is_ok();
        job.travel.as_ref().is_some_and(|travel| travel.reads.iter().all(|path| is_below(path)))
    }

    fn begin_here(&mut self, slot: usize, job: Job) -> Result<(), Failure> {
        self.places.insert(slot, Place::Here);
        self.local.start(slot, job)
    }

    /// Gives a job to a host. Who has it is durable before.
    fn send(&mut self, slot: usize, job: Job, host: String, lease_ms: u64) -> Result<(), Failure> {
        let Job { work, task, prompt, mut assignment, travel } = job;
        let (Some(prompt), Some(travel)) = (prompt, travel) else { return Ok(()) };
        let key = assignment.key.clone();
        let result = assignment.env.iter().find(|(name, _)| name == RESULT).map(|(_, value)| PathBuf::from(value));
        let project = self.here.project.clone();
        let below = |path: &Path| below(&project, path);
        let given = || -> Result<Given, Trouble> {
            Ok(Given {
                key: key.clone(),
                host: host.clone(),
                lease_ms,
                artifacts: assignment.artifacts.as_deref().map(below).transpose()?,
                aside: below(&assignment.aside)?,
                result: below(result.as_deref().unwrap_or(Path::new("")))?,
                logs: [below(&assignment.logs[0])?, below(&assignment.logs[1])?],
            })
        };
        let (given, reads) = match given()
            .and_then(|given| Ok((given, travel.reads.iter().map(|path| below(path)).collect::<Result<Vec<_>, _>>()?)))
        {
            Ok(ready) => ready,
            Err(trouble) => {
                self.not_begun(slot, &key, &trouble.0);
                return Ok(());
            }
        };
        let noted = self.record.add(&given);
        noted
            .map_err(|error| Failure::Backend { why: format!("which host has an attempt cannot be noted: {error}") })?;
        assignment
            .env
            .retain(|(name, _)| name.starts_with("TEAM_EXECUTOR_") && name != team_executor_agents::token::TOKEN);
        let errand = Errand {
            protocol: PROTOCOL,
            run: self.here.run.clone(),
            prompt,
            project: self.here.project.clone(),
            exe: self.exe.clone(),
            ledgers: self.here.executor.join(KEEPERS),
            program: travel.program,
            env: travel.env,
            pass_env: travel.pass_env,
            result: result.unwrap_or_default(),
            files: Parcel::default(),
            assignment,
        };
        self.last_places.insert(key.clone(), host.clone());
        self.places.insert(slot, Place::On { host, key, task, work });
        self.link.tell(ToLead::Assign { given: Box::new(given), errand: Box::new(errand), reads });
        Ok(())
    }

    fn not_begun(&mut self, slot: usize, key: &str, reason: &str) {
        let exit = Exit::without_run(key, Ended::CouldNotStart(Obstacle::new(reason)), 0);
        self.over(slot, WorkerEnd { exit: Some(exit), result: None });
    }

    fn over(&mut self, slot: usize, end: WorkerEnd) {
        self.places.remove(&slot);
        self.untold.push(WorkerEvent::Ended { slot, end: Box::new(end) });
    }

    fn slot_of(&self, key: &str) -> Option<usize> {
        let is_it = |place: &Place| matches!(place, Place::On { key: of, .. } if of == key);
        self.places.iter().find(|(_, place)| is_it(place)).map(|(slot, _)| *slot)
    }

    fn tell_lost(&mut self) {
        let (hosts, backend) = (self.lost.iter().cloned().collect(), self.backend.clone());
        self.untold.push(WorkerEvent::LostHosts { hosts, backend });
    }

    /// What the link says.
    fn heard(&mut self, news: FromLead) -> Result<(), Failure> {
        match news {
            FromLead::Hosts(hosts) => {
                let says = |key: &String| hosts.iter().any(|host| host.running.contains(key));
                self.ended.retain(says);
                let known = self.lost.len();
                self.lost.retain(|lost| hosts.iter().all(|host| host.host != *lost));
                if self.lost.len() < known {
                    self.tell_lost();
                }
                self.hosts = hosts;
                self.untold.push(WorkerEvent::Room);
            }
            FromLead::Arrived { key, end } => {
                if let Some(slot) = self.slot_of(&key) {
                    let end = self.worker_end(slot, end.and_then(|end| end.exit))?;
                    self.ended.insert(key);
                    self.over(slot, end);
                }
            }
            FromLead::NotSent { key, reason } => {
                if let Some(slot) = self.slot_of(&key) {
                    self.not_begun(slot, &key, &reason);
                }
            }
            FromLead::Lost { key, host } => {
                if self.lost.insert(host) {
                    self.tell_lost();
                }
                if let Some(slot) = self.slot_of(&key) {
                    self.over(slot, WorkerEnd::default());
                }
            }
            FromLead::Word { key, word } => {
                if let Some(slot) = self.slot_of(&key) {
                    self.untold.push(match word {
                        Word::Line(text) => WorkerEvent::Line { slot, text: team_executor_agents::plain(&text) },
                        Word::Used(usage) => WorkerEvent::Used { slot, key, usage },
                    });
                }
            }
            FromLead::Problem(problem) => self.untold.push(WorkerEvent::Problem(problem)),
            FromLead::GoesOn { .. } => {}
            FromLead::Failed(trouble) => self.failed = Some(trouble),
        }
        Ok(())
    }

    /// How the worker in a slot ended, as if it had been one of this machine.
    fn worker_end(&self, slot: usize, exit: Option<Exit>) -> Result<WorkerEnd, Failure> {
        let Some(Place::On { task, work, .. }) = self.places.get(&slot) else { return Ok(WorkerEnd::default()) };
        // Its folders were the host's, and what was delivered is durable here.
        let exit = exit.map(|exit| Exit { aside: None, copied: None, undurable: None, ..exit });
        // Without an end nothing of it counts.
        let result = if exit.is_some() { self.local.result(task, *work)? } else { None };
        Ok(WorkerEnd { exit, result })
    }

    /// Gives those who wait a place, as far as there is one now.
    fn place_waiting(&mut self) -> Result<(), Failure> {
        for _ in 0..self.waiting.len() {
            let Some((slot, job)) = self.waiting.pop_front() else { break };
            if let Some(job) = self.place(slot, job)? {
                self.waiting.push_back((slot, job));
            }
        }
        Ok(())
    }
}

impl Crew for HostsCrew {
    fn start(&mut self, slot: usize, job: Job) -> Result<(), Failure> {
        if job.prompt.is_none() {
            return self.local.start(slot, job);
        }
        if let Some(job) = self.place(slot, job)? {
            let text = if self.can_travel(&job) { "waits for a host" } else { "waits for a worker on this machine" };
            let text = text.to_owned();
            self.untold.push(WorkerEvent::Line { slot, text });
            self.waiting.push_back((slot, job));
            self.outbox.ring();
        }
        Ok(())
    }

    fn end(&mut self, slot: usize) {
        if let Some(at) = self.waiting.iter().position(|(of, _)| *of == slot) {
            if let Some((_, job)) = self.waiting.remove(at) {
                let exit = Exit::without_run(&job.assignment.key, Ended::Stopped, 0);
                self.over(slot, WorkerEnd { exit: Some(exit), result: None });
                self.outbox.ring();
            }
            return;
        }
        match self.places.get(&slot) {
            Some(Place::On { key, .. }) => self.link.tell(ToLead::End { key: key.clone() }),
            _ => self.local.end(slot),
        }
    }

    fn wait(&mut self, inbox: &Inbox, timeout: Option<Duration>) -> Result<Vec<WorkerEvent>, Failure> {
        let timeout = if self.untold.is_empty() { timeout } else { Some(Duration::ZERO) };
        let events = self.local.wait(inbox, timeout)?;
        for event in &events {
            if let WorkerEvent::Ended { slot, .. } = event
                && matches!(self.places.get(slot), Some(Place::Here))
            {
                self.places.remove(slot);
            }
        }
        self.untold.extend(events);
        for news in self.ear.take() {
            self.heard(news)?;
        }
        self.must_work()?;
        self.place_waiting()?;
        Ok(std::mem::take(&mut self.untold))
    }

    fn room(&self) -> Option<usize> {
        let hosts: usize = self.hosts.iter().map(|host| self.free_on(host)).sum();
        Some((self.free_here() + hosts).saturating_sub(self.waiting.len()))
    }

    fn harvest(&mut self, attempts: &[Keys], patience: Duration) -> Result<Vec<Left>, Failure> {
        let before = std::mem::take(&mut self.before);
        let given = |keys: &Keys| before.get(&keys.worker).cloned();
        // A host may be on this machine too, and its workers go on; only the commands that check them were run from here.
        let of_here = |keys: &Keys| match given(keys) {
            Some(_) => Keys { worker: format!("{}/elsewhere", keys.worker), ..keys.clone() },
            None => keys.clone(),
        };
        let mut left = self.local.harvest(&attempts.iter().map(of_here).collect::<Vec<_>>(), patience)?;
        let away: Vec<_> =
            attempts.iter().enumerate().filter_map(|(nth, keys)| Some((nth, keys, given(keys)?))).collect();
        for (_, keys, given) in &away {
            let (host, key, task, work) = (given.host.clone(), given.key.clone(), keys.task.clone(), keys.work);
            self.last_places.insert(key.clone(), host.clone());
            self.places.insert(keys.slot, Place::On { host, key, task, work });
        }
        for (nth, keys, given) in away {
            let (key, told) = (given.key.clone(), self.untold.len());
            self.link.tell(ToLead::Adopt(Box::new(given)));
            let is_it = |news: &FromLead| match news {
                FromLead::GoesOn { key: of } | FromLead::Arrived { key: of, .. } | FromLead::Lost { key: of, .. } => {
                    *of == key
                }
                _ => false,
            };
            self.wait_for(is_it, patience.max(PATIENCE))?;
            left[nth] = Left::GoesOn;
            // What it came to is told here, not as news.
            let of_slot = |event: &WorkerEvent| matches!(event, WorkerEvent::Ended { slot, .. } if *slot == keys.slot);
            if let Some(at) = self.untold.iter().skip(told).position(of_slot)
                && let WorkerEvent::Ended { end, .. } = self.untold.remove(told + at)
            {
                left[nth] = Left::Ended(end);
            }
        }
        Ok(left)
    }

    fn forget_harvest(&mut self) -> Result<(), Failure> {
        self.local.forget_harvest()
    }

    fn close(&mut self) {
        self.local.close();
        let is_over = self.places.values().all(|place| matches!(place, Place::Here));
        self.link.close(is_over);
    }
}
