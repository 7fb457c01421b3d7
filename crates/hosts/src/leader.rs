//! A leader's side of the backend, in a thread of its own: sends work to hosts, hears who is there, and brings what comes back to
//! where the run keeps it. Which attempt goes where is not decided here; when a host is lost is.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle as Task;

use crate::bell::Mouth;
use crate::deliver::{Here, append, deliver};
use crate::link::{Address, Link, Trouble};
use crate::log_tail::Piece;
use crate::parcel::Parcel;
use crate::record::Given;
use crate::roster::{Heard, Roster};
use crate::wire::{Ask, ENDS, End, Errand, HOSTS, LOGS, PROTOCOL, Presence, Word, subject, token};

/// How often streams are read without a hint.
const GLANCE: Duration = Duration::from_secs(1);
/// How long to wait after the backend refused something.
const REST: Duration = Duration::from_millis(250);
/// After so long without the backend people are told.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a delivery is tried to be fetched.
const TRIES: u32 = 20;

/// What the crew tells its link.
#[derive(Debug)]
pub(crate) enum ToLead {
    /// Gives an attempt to a host, with these files below the project.
    Assign { given: Box<Given>, errand: Box<Errand>, reads: Vec<String> },
    /// An earlier executor gave this attempt away: is it over?
    Adopt(Box<Given>),
    /// The worker of this attempt is to end.
    End { key: String },
    /// The executor ends. Whether nothing more comes of the run.
    Close { is_over: bool },
}

/// What the link tells the crew.
#[derive(Debug)]
pub(crate) enum FromLead {
    /// These hosts take work.
    Hosts(Vec<Presence>),
    /// An attempt is over; everything that came of it is in its place. Nothing if that could not be had.
    Arrived { key: String, end: Option<Box<End>> },
    /// An attempt of an earlier executor is not over.
    GoesOn { key: String },
    /// An attempt could not be sent.
    NotSent { key: String, reason: String },
    /// The host of an attempt is lost.
    Lost { key: String, host: String },
    /// What the worker of an attempt is about.
    Word { key: String, word: Word },
    /// People should know this.
    Problem(String),
    /// The link is of no use.
    Failed(Trouble),
}

/// The crew's end of the link.
#[derive(Debug)]
pub(crate) struct LeaderLink {
    tell: UnboundedSender<ToLead>,
    thread: Option<JoinHandle<()>>,
}

impl LeaderLink {
    /// Connects, and tells first which hosts there are.
    pub(crate) fn start(address: Address, here: Here, mouth: Mouth<FromLead>) -> std::io::Result<Self> {
        let (tell, told) = unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let go = move || {
            let failed = mouth.clone();
            if let Err(trouble) = runtime.block_on(run(address, here, mouth, told)) {
                failed.tell(FromLead::Failed(trouble));
            }
        };
        let thread = Builder::new().name("backend".to_owned()).spawn(go)?;
        Ok(Self { tell, thread: Some(thread) })
    }

    pub(crate) fn tell(&self, message: ToLead) {
        let _the_thread_failed_and_said_so = self.tell.send(message);
    }

    /// Waits until the last word is said.
    pub(crate) fn close(&mut self, is_over: bool) {
        self.tell(ToLead::Close { is_over });
        let _it_does_not_panic = self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for LeaderLink {
    fn drop(&mut self) {
        self.close(false);
    }
}

/// What the tasks of the thread tell its loop.
#[derive(Debug)]
enum Inner {
    Message {
        stream: &'static str,
        subject: String,
        payload: Vec<u8>,
    },
    /// All that there was of a stream has been read.
    UpToDate {
        stream: &'static str,
    },
    /// The backend did not answer.
    Unreached,
    Word {
        subject: String,
        payload: Vec<u8>,
    },
    Sent {
        key: String,
        sent: Result<(), Trouble>,
    },
    Delivered {
        key: String,
        end: Option<Box<End>>,
        problems: Vec<String>,
    },
    Adopted {
        key: String,
        payload: Option<Vec<u8>>,
    },
}

async fn run(
    address: Address,
    here: Here,
    mouth: Mouth<FromLead>,
    mut told: UnboundedReceiver<ToLead>,
) -> Result<(), Trouble> {
    let link = Link::open(&address, &format!("leader-{}", here.run), false).await?;
    link.must_be_new_enough()?;
    link.make_streams().await?;
    let (inner, mut news) = unbounded_channel();
    let tails =
        [(HOSTS, "te.p.>".to_owned()), (ENDS, subject::ends_of(&here.run)), (LOGS, subject::logs_of(&here.run))];
    let words = subject::words_of(&here.run);
    let mut tasks: Vec<Task<()>> = tails
        .into_iter()
        .map(|(stream, subjects)| tokio::spawn(tail(link.clone(), stream, subjects, inner.clone())))
        .collect();
    tasks.push(tokio::spawn(hear_words(link.clone(), words, inner.clone())));
    let mut leader = Leader {
        link,
        here,
        mouth,
        inner,
        roster: Roster::default(),
        given: BTreeMap::new(),
        arriving: BTreeSet::new(),
        to_end: BTreeMap::new(),
        given_up: BTreeSet::new(),
        strange: BTreeSet::new(),
        knows_hosts: false,
        contact: Instant::now(),
        was_reached: true,
    };
    let mut beat = tokio::time::interval(GLANCE);
    let is_over = loop {
        tokio::select! {
            message = told.recv() => match message {
                Some(ToLead::Close { is_over }) => break is_over,
                Some(message) => leader.told(message).await,
                None => break false,
            },
            Some(news) = news.recv() => leader.heard(news),
            _ = beat.tick() => leader.beat().await,
        }
    };
    tasks.iter().for_each(Task::abort);
    if is_over {
        leader.over().await;
    }
    Ok(())
}

/// Reads a stream as it grows. A message that comes wakes it; messages without a hint are found by looking.
async fn tail(link: Link, stream: &'static str, subjects: String, inner: UnboundedSender<Inner>) {
    // What was printed before is fetched for the attempts that go on.
    let mut position = if stream == LOGS { end_of(&link, stream, &subjects).await } else { 0 };
    let mut hints = link.client.subscribe(subjects.clone()).await.ok();
    loop {
        match link.next(stream, &subjects, position).await {
            Ok(Some(message)) => {
                position = message.sequence;
                let (subject, payload) = (message.subject.to_string(), message.payload.to_vec());
                if inner.send(Inner::Message { stream, subject, payload }).is_err() {
                    return;
                }
                continue;
            }
            Ok(None) => drop(inner.send(Inner::UpToDate { stream })),
            Err(error) => {
                tracing::debug!(stream, %error, "not read");
                drop(inner.send(Inner::Unreached));
                tokio::time::sleep(REST).await;
                continue;
            }
        }
        match &mut hints {
            Some(there) => {
                if let Ok(None) = tokio::time::timeout(GLANCE, there.next()).await {
                    hints = None;
                }
            }
            None => {
                tokio::time::sleep(GLANCE).await;
                hints = link.client.subscribe(subjects.clone()).await.ok();
            }
        }
    }
}

/// The position behind everything that is there.
async fn end_of(link: &Link, stream: &str, subjects: &str) -> u64 {
    loop {
        match link.last(stream, subjects).await {
            Ok(last) => return last.map_or(0, |message| message.sequence),
            Err(_) => tokio::time::sleep(REST).await,
        }
    }
}

/// Passes on what workers are about. Some of it may be lost.
async fn hear_words(link: Link, subjects: String, inner: UnboundedSender<Inner>) {
    while let Ok(mut words) = link.client.subscribe(subjects.clone()).await {
        while let Some(message) = words.next().await {
            let word = Inner::Word { subject: message.subject.to_string(), payload: message.payload.to_vec() };
            if inner.send(word).is_err() {
                return;
            }
        }
        tokio::time::sleep(GLANCE).await;
    }
}

struct Leader {
    link: Link,
    here: Here,
    mouth: Mouth<FromLead>,
    inner: UnboundedSender<Inner>,
    roster: Roster,
    /// The attempts that hosts have, by their keys as subjects name them.
    given: BTreeMap<String, Given>,
    /// Of these, those whose ends came.
    arriving: BTreeSet<String>,
    /// Those whose workers are to end, and since when that is asked.
    to_end: BTreeMap<String, Instant>,
    /// Those that were given up: an end that comes after all is dropped, and that is said.
    given_up: BTreeSet<String>,
    /// Hosts of other versions, each told once.
    strange: BTreeSet<String>,
    /// All hosts that are there have been heard of.
    knows_hosts: bool,
    /// When the backend answered last.
    contact: Instant,
    was_reached: bool,
}

impl Leader {
    async fn told(&mut self, message: ToLead) {
        match message {
            ToLead::Assign { given, errand, reads } => {
                let (link, here, inner) = (self.link.clone(), self.here.clone(), self.inner.clone());
                self.given.insert(token(&given.key), (*given).clone());
                tokio::spawn(async move {
                    let (key, host) = (given.key, given.host);
                    let sent = send(&link, &here, &host, *errand, &reads).await;
                    drop(inner.send(Inner::Sent { key, sent }));
                });
            }
            ToLead::Adopt(given) => {
                self.roster.expect(&given.host, Duration::from_millis(given.lease_ms));
                let (link, inner, key) = (self.link.clone(), self.inner.clone(), given.key.clone());
                let subject = subject::end(&given.host, &self.here.run, &key);
                let log = subject::log(&given.host, &self.here.run, &key);
                self.given.insert(token(&key), *given);
                tokio::spawn(async move {
                    let end = loop {
                        match link.last(ENDS, &subject).await {
                            Ok(end) => break end,
                            Err(_) => tokio::time::sleep(REST).await,
                        }
                    };
                    let (payload, mut position) = (end.map(|message| message.payload.to_vec()), 0);
                    let is_over = payload.is_some();
                    drop(inner.send(Inner::Adopted { key, payload }));
                    while let (false, Ok(Some(message))) = (is_over, link.next(LOGS, &log, position).await) {
                        position = message.sequence;
                        let (subject, payload) = (message.subject.to_string(), message.payload.to_vec());
                        drop(inner.send(Inner::Message { stream: LOGS, subject, payload }));
                    }
                });
            }
            ToLead::End { key } => {
                self.to_end.insert(key.clone(), Instant::now());
                self.ask_to_end(&key).await;
            }
            ToLead::Close { .. } => {}
        }
    }

    /// Asks for the end of a worker. One that no host has taken yet is taken back.
    async fn ask_to_end(&self, key: &str) {
        let Some(given) = self.given.get(&token(key)) else { return };
        let ask = Ask::End { key: key.to_owned() };
        if let Ok(bytes) = serde_json::to_vec(&ask) {
            let _asked_again = self.link.client.publish(subject::asks(&given.host), bytes.into()).await;
        }
        if take_back(&self.link, &given.host, key).await {
            drop(self.inner.send(Inner::Delivered { key: key.to_owned(), end: None, problems: Vec::new() }));
        }
    }

    fn heard(&mut self, news: Inner) {
        match news {
            Inner::Message { stream: HOSTS, payload, .. } => self.presence(&payload),
            Inner::Message { stream: LOGS, subject, payload } => self.log(&subject, &payload),
            Inner::Message { subject, payload, .. } => {
                self.ended(subject.rsplit('.').next().unwrap_or_default(), &subject, payload);
            }
            Inner::UpToDate { stream } => {
                self.reached();
                if stream == HOSTS && !std::mem::replace(&mut self.knows_hosts, true) {
                    self.mouth.tell(FromLead::Hosts(self.roster.open()));
                }
            }
            Inner::Unreached => {
                if self.contact.elapsed() > PATIENCE && std::mem::take(&mut self.was_reached) {
                    let words = "the backend does not answer; workers on hosts go on, and their ends are taken later";
                    self.mouth.tell(FromLead::Problem(words.to_owned()));
                }
            }
            Inner::Word { subject, payload } => {
                let given = self.given.get(subject.rsplit('.').next().unwrap_or_default());
                if let (Some(given), Ok(word)) = (given, serde_json::from_slice(&payload)) {
                    self.mouth.tell(FromLead::Word { key: given.key.clone(), word });
                }
            }
            Inner::Sent { key, sent: Err(trouble) } => {
                self.given.remove(&token(&key));
                self.mouth.tell(FromLead::NotSent { key, reason: trouble.0 });
            }
            Inner::Sent { .. } => {}
            Inner::Adopted { key, payload: Some(payload) } => {
                let name = token(&key);
                self.ended(&name, "", payload);
            }
            Inner::Adopted { key, payload: None } => self.mouth.tell(FromLead::GoesOn { key }),
            Inner::Delivered { key, end, problems } => {
                self.arriving.remove(&key);
                self.to_end.remove(&key);
                if self.given.remove(&token(&key)).is_some() {
                    problems.into_iter().for_each(|problem| self.mouth.tell(FromLead::Problem(problem)));
                    self.mouth.tell(FromLead::Arrived { key, end });
                }
            }
        }
    }

    fn reached(&mut self) {
        self.contact = Instant::now();
        if !std::mem::replace(&mut self.was_reached, true) {
            self.mouth.tell(FromLead::Problem("the backend answers again".to_owned()));
        }
    }

    /// A host says something about itself.
    fn presence(&mut self, payload: &[u8]) {
        let Ok(presence) = serde_json::from_slice::<Presence>(payload) else { return };
        let (name, version, protocol) = (presence.host.clone(), presence.version.clone(), presence.protocol);
        match self.roster.heard(presence) {
            Heard::Strange if self.strange.insert(name.clone()) => {
                let words = "its messages are of another version; update team-executor there";
                let told = format!("host {name} is not used: it runs team-executor {version}, and {words}");
                tracing::debug!(protocol, ours = PROTOCOL, "strange host");
                self.mouth.tell(FromLead::Problem(told));
            }
            Heard::Emptied => {
                let words = "the folder of the host is another one";
                self.lost(&name, words);
            }
            _ => {}
        }
        if self.knows_hosts {
            self.mouth.tell(FromLead::Hosts(self.roster.open()));
        }
    }

    /// More of a log.
    fn log(&mut self, subject: &str, payload: &[u8]) {
        let given = self.given.get(subject.rsplit('.').next().unwrap_or_default());
        if let (Some(given), Some(piece)) = (given, Piece::decode(payload)) {
            // What cannot be written now is written when the attempt ends, or that says why not.
            let _later = append(&self.here, given, &piece);
        }
    }

    /// An attempt is over: what came of it is fetched. Only the first end of an attempt that is waited for counts.
    fn ended(&mut self, name: &str, subject: &str, payload: Vec<u8>) {
        let Some(given) = self.given.get(name).cloned() else {
            if self.given_up.remove(name) {
                let words = "it was given up before, so this counts no more";
                self.mouth.tell(FromLead::Problem(format!("an attempt ended late ({subject}): {words}")));
            }
            return;
        };
        if !subject.is_empty() && subject != subject::end(&given.host, &self.here.run, &given.key) {
            let words = "which another host has; dropped";
            return self.mouth.tell(FromLead::Problem(format!("an end of {} came, {words}", given.key)));
        }
        if !self.arriving.insert(given.key.clone()) {
            return;
        }
        let (link, here, inner) = (self.link.clone(), self.here.clone(), self.inner.clone());
        tokio::spawn(async move {
            let (end, problems) = fetch(&link, &here, &given, &payload).await;
            drop(inner.send(Inner::Delivered { key: given.key, end: end.map(Box::new), problems }));
        });
    }

    /// A second has passed.
    async fn beat(&mut self) {
        for key in self.to_end.keys().cloned().collect::<Vec<_>>() {
            self.ask_to_end(&key).await;
        }
        if self.contact.elapsed() > GLANCE * 2 {
            return; // nothing can be said about anybody
        }
        for host in self.roster.passed(GLANCE) {
            self.lost(&host, "nothing was heard of it for two leases");
            self.mouth.tell(FromLead::Hosts(self.roster.open()));
        }
    }

    /// Gives up the attempts of a host, but for those whose ends came.
    fn lost(&mut self, host: &str, why: &str) {
        let of_host = self.given.values().filter(|given| given.host == host && !self.arriving.contains(&given.key));
        let keys: Vec<String> = of_host.map(|given| given.key.clone()).collect();
        let count = keys.len();
        for key in keys {
            self.given.remove(&token(&key));
            self.given_up.insert(token(&key));
            self.to_end.remove(&key);
            let (link, name, of_host) = (self.link.clone(), host.to_owned(), key.clone());
            tokio::spawn(async move { take_back(&link, &name, &of_host).await });
            self.mouth.tell(FromLead::Lost { key, host: host.to_owned() });
        }
        if count > 0 {
            let words = format!("host {host} is lost ({why}); {count} of its attempts begin again elsewhere");
            self.mouth.tell(FromLead::Problem(words));
        }
    }

    /// Tells hosts that nothing more comes of the run.
    async fn over(&self) {
        let ask = Ask::Over { run: self.here.run.clone() };
        let Ok(bytes) = serde_json::to_vec(&ask) else { return };
        for host in self.roster.open() {
            let _its_files_stay = self.link.client.publish(subject::asks(&host.host), bytes.clone().into()).await;
        }
        let _as_far_as_possible = tokio::time::timeout(GLANCE, self.link.client.flush()).await;
    }
}

/// Sends an attempt with its files.
async fn send(link: &Link, here: &Here, host: &str, mut errand: Errand, reads: &[String]) -> Result<(), Trouble> {
    let packed = Parcel::pack(&here.project, reads);
    errand.files = packed.map_err(|error| Trouble::new("its files cannot be read", error))?;
    link.send_files(&here.project, &errand.files).await?;
    let (key, bytes) = (errand.assignment.key.clone(), link.wrap(&errand).await?);
    // One message of an attempt at a time, however often it is sent.
    link.insist(&subject::work(host, &key), &bytes, None).await;
    Ok(())
}

/// Takes back work that its host has not taken for good, and says whether that came in time.
async fn take_back(link: &Link, host: &str, key: &str) -> bool {
    let Ok(stream) = link.jetstream.get_stream_no_info(crate::wire::WORK).await else { return false };
    let purged = stream.purge().filter(subject::work(host, key)).await;
    purged.is_ok_and(|purged| purged.purged > 0)
}

/// The end in a message, with everything that it names in its place; nothing if that cannot be had.
async fn fetch(link: &Link, here: &Here, given: &Given, payload: &[u8]) -> (Option<End>, Vec<String>) {
    let mut last = String::new();
    for _ in 0..TRIES {
        let fetched = async {
            let end = link.unwrap::<End>(payload).await?;
            let mut problems = deliver(link, here, given, &end).await?;
            problems.extend(end.problems.iter().map(|problem| format!("{}: {problem}", given.key)));
            Ok::<_, Trouble>((end, problems))
        };
        match fetched.await {
            Ok((end, problems)) => return (Some(end), problems),
            Err(trouble) => last = trouble.0,
        }
        tokio::time::sleep(REST).await;
    }
    let words = format!("{}: what it came to on host {} cannot be had: {last}", given.key, given.host);
    (None, vec![words])
}
