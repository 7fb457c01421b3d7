//! A host: keepers on this machine for runs elsewhere. One thread owns the keepers and all that is known of attempts; the
//! connection to the backend is the business of another.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::rand::{GetRandomFlags, getrandom};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use team_executor_agents::{Ended, Exit, Harvest, KeeperEvent, Keepers, Obstacle};
use team_executor_beneath::{Dir, How, io_error, make_ours};
use team_executor_store::{Durability, RealDisk, replace};

use crate::at_home::Home;
use crate::bell::{self, Bell, Ear, Mouth};
use crate::host_link::{FromLink, HostLink, Known, ToLink};
use crate::link::{Address, Trouble};
use crate::taken::{Records, Taken};
use crate::wire::{Ask, Errand, PROTOCOL, Presence, Word};

/// How long keepers of an earlier start have to end their workers.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long ends that are owed are waited for, once the host was told twice to end.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// What a host is.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// Where the backend is.
    pub address: Address,
    /// What it is called.
    pub name: String,
    /// Where its files are.
    pub folder: PathBuf,
    /// How many workers it runs at once.
    pub slots: usize,
    /// What its user says about it.
    pub labels: BTreeMap<String, String>,
    /// The known agents that it has.
    pub agents: Vec<String>,
    /// How long it goes on without the backend.
    pub lease: Duration,
    /// This program.
    pub exe: PathBuf,
    /// Its environment.
    pub environment: Vec<(String, String)>,
}

/// What a host tells people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostEvent {
    /// It reached the backend and takes work.
    Ready {
        /// The version of the server.
        server: String,
    },
    /// A worker begins.
    Started {
        /// Its attempt.
        key: String,
    },
    /// An attempt is over.
    Ended {
        /// Which.
        key: String,
        /// How, in words.
        how: String,
    },
    /// Something is wrong.
    Problem(String),
    /// It takes no more work, and ends when its workers have.
    Draining {
        /// How many these are.
        running: usize,
    },
}

/// Runs a host until the system asks it to end, and no end is owed any more.
pub fn host(options: &HostOptions, tell: &mut dyn FnMut(HostEvent)) -> Result<(), Trouble> {
    let failed = |what: &'static str| move |error: io::Error| Trouble::new(what, error);
    let folder = make_ours(&options.folder).map_err(failed("the folder of the host cannot be used"))?;
    let _lock = lock(&folder, &options.folder)?;
    let home_id = identity(&folder).map_err(failed("the folder of the host cannot be used"))?;
    let ledgers = options.folder.join("keepers");
    make_ours(&ledgers).map_err(failed("the folder of the host cannot be used"))?;
    let records =
        Records::open(&options.folder.join("taken")).map_err(failed("the folder of the host cannot be used"))?;
    let incarnation = nonce().map_err(failed("no name for this start"))?;
    let home = Home {
        runs: options.folder.join("runs"),
        ledgers: ledgers.clone(),
        exe: options.exe.clone(),
        environment: options.environment.clone(),
    };
    let presence = Presence {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: options.name.clone(),
        home: home_id,
        incarnation,
        slots: options.slots,
        labels: options.labels.clone(),
        agents: options.agents.clone(),
        running: Vec::new(),
        drains: false,
        lease_ms: u64::try_from(options.lease.as_millis()).unwrap_or(u64::MAX),
    };
    let owed = records.all().map_err(failed("what this host has taken cannot be read"))?;
    let harvest = harvest(&ledgers, &owed).map_err(failed("keepers of an earlier start cannot be looked at"))?;
    let bell = Bell::new().map_err(failed("no link to the backend"))?;
    let rung = bell.clone();
    let (mouth, ear) = bell::open(move || rung.ring());
    hear_signals(mouth.clone()).map_err(failed("signals cannot be heard"))?;
    let known = Known { address: options.address.clone(), presence, home: home.clone(), records: records.clone() };
    let link = HostLink::start(known, mouth).map_err(failed("no link to the backend"))?;
    let epoch = u64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis()).unwrap_or(0);
    let mut host = Host {
        keepers: Keepers::new(options.exe.clone(), ledgers, epoch),
        link,
        ear,
        bell,
        home,
        records,
        slots: options.slots,
        running: BTreeMap::new(),
        owed: BTreeMap::new(),
        is_alone: false,
        asked: 0,
        until: None,
        tell,
    };
    host.harvested(owed, harvest);
    host.serve()
}

struct Host<'t> {
    keepers: Keepers,
    link: HostLink,
    ear: Ear<FromLink>,
    bell: Bell,
    home: Home,
    records: Records,
    slots: usize,
    /// The attempt in each slot.
    running: BTreeMap<usize, Taken>,
    /// Attempts that ended and whose ends are not durable on the backend.
    owed: BTreeMap<String, Taken>,
    /// Leaders may have given its work to others.
    is_alone: bool,
    /// How often it was told to end, and until when it waits for its ends to be durable.
    asked: usize,
    until: Option<Instant>,
    tell: &'t mut dyn FnMut(HostEvent),
}

impl Host<'_> {
    /// What an earlier start left: each of its attempts has ended, and that is said.
    fn harvested(&mut self, owed: Vec<Taken>, harvest: Harvest) {
        for taken in owed {
            let exit = harvest.exit(&taken.key).cloned();
            self.over(taken, exit, Vec::new());
        }
        // The records say what the ledgers said until the ends are durable.
        if let Err(error) = harvest.forget() {
            (self.tell)(HostEvent::Problem(format!("old ledgers stay: {error}")));
        }
        self.say_what_runs();
    }

    fn serve(&mut self) -> Result<(), Trouble> {
        loop {
            let is_late = self.until.is_some_and(|until| Instant::now() >= until);
            if self.asked > 0 && self.running.is_empty() && (is_late || self.owed.is_empty()) {
                return Ok(());
            }
            let timeout = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            let events = self.keepers.wait(self.bell.fd(), timeout);
            let events = events.map_err(|error| Trouble::new("keepers cannot be waited for", error))?;
            events.into_iter().for_each(|event| self.heard(event));
            self.bell.silence();
            for news in self.ear.take() {
                self.told(news)?;
            }
        }
    }

    /// The first time its workers finish, the second time they are ended. What is still owed is said by the next start.
    fn asked_to_end(&mut self) {
        self.asked += 1;
        if self.asked == 1 {
            (self.tell)(HostEvent::Draining { running: self.running.len() });
            return self.say_what_runs();
        }
        self.end_all();
        self.until = Some(Instant::now() + LAST_WORDS);
    }

    /// What the link says.
    fn told(&mut self, news: FromLink) -> Result<(), Trouble> {
        match news {
            FromLink::Connected { server } => (self.tell)(HostEvent::Ready { server }),
            FromLink::Work { errand, taken } => {
                self.begin(&errand, taken);
                self.say_what_runs();
            }
            FromLink::Refused { key, reason } => (self.tell)(HostEvent::Ended { key, how: reason }),
            FromLink::Published { key } => {
                self.owed.remove(&key);
                if let Err(error) = self.records.remove(&key) {
                    (self.tell)(HostEvent::Problem(format!("the record of {key} stays: {error}")));
                }
                self.say_what_runs();
            }
            FromLink::Asked(Ask::End { key }) => {
                let slot = self.running.iter().find(|(_, taken)| taken.key == key).map(|(slot, _)| *slot);
                slot.into_iter().for_each(|slot| self.keepers.end(slot));
            }
            FromLink::Asked(Ask::Over { run }) => self.forget_run(&run),
            FromLink::Alone => {
                self.is_alone = true;
                let words = "the backend has not been reached for a lease, so the workers are ended: \
                             others may have their tasks";
                (self.tell)(HostEvent::Problem(words.to_owned()));
                self.end_all();
            }
            FromLink::Together => {
                self.is_alone = false;
                (self.tell)(HostEvent::Problem("the backend is reached again".to_owned()));
            }
            FromLink::Signal => self.asked_to_end(),
            FromLink::Failed(trouble) => return Err(trouble),
        }
        Ok(())
    }

    /// Starts a worker.
    fn begin(&mut self, errand: &Errand, taken: Taken) {
        let assignment = self.home.assignment(errand);
        let key = taken.key.clone();
        let free = (0..self.slots).find(|slot| !self.running.contains_key(slot));
        let begun = self.brief(errand, &assignment, &taken);
        let (slot, obstacle) = match (free, begun) {
            (Some(slot), Ok(())) => (slot, None),
            (Some(slot), Err(error)) => (slot, Some(Obstacle::about("the files of the attempt", &error))),
            (None, _) => (0, Some(Obstacle::new("no slot is free"))),
        };
        if let Some(obstacle) = obstacle {
            let exit = Exit::without_run(&key, Ended::CouldNotStart(obstacle), 0);
            self.over(taken, Some(exit), Vec::new());
            return self.link.tell(ToLink::Free);
        }
        self.link.tell(ToLink::Prints(taken.clone()));
        self.running.insert(slot, taken);
        self.keepers.start(slot, assignment);
        (self.tell)(HostEvent::Started { key });
        if self.is_alone {
            self.keepers.end(slot);
        }
    }

    /// Writes what a worker is told.
    fn brief(&self, errand: &Errand, assignment: &team_executor_agents::Assignment, taken: &Taken) -> io::Result<()> {
        let result = taken.project.join(taken.result.as_deref().unwrap_or_default());
        Home::make_room(assignment, &result)?;
        let Some(at) = &assignment.stdin else { return Ok(()) };
        let (Some(folder), Some(name)) = (at.parent(), at.file_name().and_then(|name| name.to_str())) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let disk = RealDisk::open_folder(folder).map_err(io_error)?;
        let prompt = self.home.prompt(errand);
        replace(&disk, name, prompt.as_bytes(), Durability::Whole).map_err(io::Error::other)
    }

    /// What a keeper says.
    fn heard(&mut self, event: KeeperEvent) {
        let word =
            |slot: &usize, word| self.running.get(slot).map(|taken| (taken.run.clone(), taken.key.clone(), word));
        let (slot, exit, problem) = match event {
            KeeperEvent::Line { slot, text, .. } => return self.say(word(&slot, Word::Line(text))),
            KeeperEvent::Used { slot, usage, .. } => return self.say(word(&slot, Word::Used(usage))),
            KeeperEvent::Woken { key, .. } => {
                return (self.tell)(HostEvent::Problem(format!("{key}: its keeper was stopped, and was woken")));
            }
            KeeperEvent::Ended { slot, exit, unrecorded } => {
                let problem = unrecorded.map(|reason| format!("{}: its outcome is not on disk: {reason}", exit.key));
                (slot, Some(*exit), problem)
            }
            KeeperEvent::KeeperDied { slot, key, reason } => {
                (slot, None, Some(format!("{key}: its keeper is gone: {reason}")))
            }
        };
        let Some(taken) = self.running.remove(&slot) else { return };
        self.over(taken, exit, problem.into_iter().collect());
        self.link.tell(ToLink::Free);
        self.say_what_runs();
    }

    fn say(&self, word: Option<(String, String, Word)>) {
        if let Some((run, key, word)) = word {
            self.link.tell(ToLink::Word { run, key, word });
        }
    }

    /// An attempt is over: that is owed to its leader.
    fn over(&mut self, taken: Taken, exit: Option<Exit>, problems: Vec<String>) {
        let how = exit.as_ref().map_or_else(|| "lost".to_owned(), |exit| words(&exit.ended));
        (self.tell)(HostEvent::Ended { key: taken.key.clone(), how });
        self.owed.insert(taken.key.clone(), taken.clone());
        self.link.tell(ToLink::Ended { taken, exit: exit.map(Box::new), problems });
    }

    fn end_all(&mut self) {
        let slots: Vec<usize> = self.running.keys().copied().collect();
        slots.into_iter().for_each(|slot| self.keepers.end(slot));
    }

    /// Announces what this host has to do.
    fn say_what_runs(&self) {
        let running = self.running.values().map(|taken| taken.key.clone()).collect();
        self.link.tell(ToLink::Has { running, drains: self.asked > 0 });
    }

    /// Removes the files of a run that is over.
    fn forget_run(&mut self, run: &str) {
        let is_needed = self.running.values().chain(self.owed.values()).any(|taken| taken.run == run);
        let project = self.home.project(run);
        let name = project.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        if let (false, Some(name)) = (is_needed, name)
            && let Ok(runs) = Dir::open(&self.home.runs)
            && let Err(errno) = runs.remove_all(name)
            && errno != rustix::io::Errno::NOENT
        {
            (self.tell)(HostEvent::Problem(format!("files of {run} stay: {}", io_error(errno))));
        }
    }
}

/// How a worker ended, in a few words.
fn words(ended: &Ended) -> String {
    match ended {
        Ended::Exit(code) => format!("exit code {code}"),
        Ended::Signal(signal) => format!("signal {signal}"),
        Ended::Limit(_) => "timed out".to_owned(),
        Ended::Stopped => "ended as asked".to_owned(),
        Ended::Interrupted => "interrupted".to_owned(),
        Ended::CouldNotStart(obstacle) => format!("could not start: {}", obstacle.reason),
    }
}

/// Ends what an earlier start left, and reads how its attempts ended.
fn harvest(ledgers: &Path, owed: &[Taken]) -> io::Result<Harvest> {
    let keys: Vec<String> = owed.iter().map(|taken| taken.key.clone()).collect();
    let harvest = Harvest::insist(ledgers, &keys, PATIENCE)?;
    let Some(mut harvest) = harvest else { return Err(io::Error::other("a worker of an earlier start still runs")) };
    let unknown: Vec<&str> = keys.iter().map(String::as_str).filter(|key| !harvest.is_gone(key)).collect();
    harvest.sweep(&unknown)?;
    let delivers = |taken: &Taken| Some((taken.key.clone(), taken.project.join(taken.artifacts.as_deref()?)));
    let folders: BTreeMap<String, PathBuf> = owed.iter().filter_map(delivers).collect();
    harvest.complete(|key| folders.get(key)?.parent());
    Ok(harvest)
}

/// Holds the folder as long as it lives.
fn lock(folder: &Dir, path: &Path) -> Result<File, Trouble> {
    let lock = folder.file("lock", How::Append).map_err(|errno| Trouble::new("no lock", io_error(errno)))?;
    let words = "another host works in this folder; choose another --workdir";
    flock(&lock, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| Trouble(format!("{}: {words}", path.display())))?;
    Ok(lock)
}

/// What tells this folder from those of other hosts.
fn identity(folder: &Dir) -> io::Result<String> {
    if let Ok(bytes) = folder.read("id", 64)
        && let Ok(id) = String::from_utf8(bytes)
    {
        return Ok(id);
    }
    let id = nonce()?;
    let disk = RealDisk::from(folder.clone());
    replace(&disk, "id", id.as_bytes(), Durability::Durable).map_err(io::Error::other)?;
    Ok(id)
}

fn nonce() -> io::Result<String> {
    let mut bytes = [0; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Tells of each signal that asks the host to end.
fn hear_signals(mouth: Mouth<FromLink>) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let listen = move || signals.forever().for_each(|_| mouth.tell(FromLink::Signal));
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
    Ok(())
}
