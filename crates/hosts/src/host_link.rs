//! A host's side of the backend, in a thread of its own: says that the host is there, takes work for free slots, brings logs and
//! ends to where they are durable. It runs no worker.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::{AckKind, Message};
use futures_util::StreamExt as _;
use team_executor_agents::{Ended, Exit, Obstacle};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle as Task;

use crate::at_home::Home;
use crate::bell::Mouth;
use crate::link::{Address, Link, Trouble};
use crate::log_tail;
use crate::parcel::Parcel;
use crate::taken::{Records, Taken};
use crate::wire::{Ask, End, Errand, HOSTS, PROTOCOL, Presence, WORK, Word, subject};

/// How long a request for work waits for some.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait after the backend refused something.
const REST: Duration = Duration::from_secs(1);
/// An assignment that is not acknowledged for this long comes again.
const ACK_WAIT: Duration = Duration::from_secs(30);
/// A host says so many times in a lease that it is there.
const BEATS: u32 = 6;

/// What the host tells its link.
#[derive(Debug)]
pub(crate) enum ToLink {
    /// The attempts that it has, and whether it takes no more.
    Has { running: Vec<String>, drains: bool },
    /// A worker prints into these logs from now on.
    Prints(Taken),
    /// An attempt has ended.
    Ended { taken: Taken, exit: Option<Box<Exit>>, problems: Vec<String> },
    /// What a worker is about.
    Word { run: String, key: String, word: Word },
    /// A slot is free again.
    Free,
    /// The host ends.
    Close,
}

/// What the link tells the host.
#[derive(Debug)]
pub(crate) enum FromLink {
    /// The backend was reached.
    Connected { server: String },
    /// Work, taken for good: its files are there.
    Work { errand: Box<Errand>, taken: Taken },
    /// Work that was taken and cannot begin, for this reason. Its end was published.
    Refused { key: String, reason: String },
    /// The end of an attempt is durable: nothing is owed for it any more.
    Published { key: String },
    /// A leader asks for something.
    Asked(Ask),
    /// Nothing could be announced for a lease: leaders may give this host's work to others.
    Alone,
    /// The backend is there again.
    Together,
    /// The system asks the host to end.
    Signal,
    /// The host cannot go on.
    Failed(Trouble),
}

/// The host's end of the link.
#[derive(Debug)]
pub(crate) struct HostLink {
    tell: UnboundedSender<ToLink>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread knows from the start.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) address: Address,
    pub(crate) presence: Presence,
    pub(crate) home: Home,
    pub(crate) records: Records,
}

impl HostLink {
    /// Begins to connect. Everything else is told.
    pub(crate) fn start(known: Known, mouth: Mouth<FromLink>) -> std::io::Result<Self> {
        let (tell, told) = unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let go = move || {
            let failed = mouth.clone();
            if let Err(trouble) = runtime.block_on(run(known, mouth, told)) {
                failed.tell(FromLink::Failed(trouble));
            }
        };
        let thread = Builder::new().name("backend".to_owned()).spawn(go)?;
        Ok(Self { tell, thread: Some(thread) })
    }

    pub(crate) fn tell(&self, message: ToLink) {
        let _the_thread_failed_and_said_so = self.tell.send(message);
    }
}

impl Drop for HostLink {
    fn drop(&mut self) {
        self.tell(ToLink::Close);
        let _it_does_not_panic = self.thread.take().map(JoinHandle::join);
    }
}

/// What all tasks of the thread share.
#[derive(Debug, Clone)]
struct Shared {
    link: Link,
    known: Arc<Known>,
    mouth: Mouth<FromLink>,
}

async fn run(known: Known, mouth: Mouth<FromLink>, mut told: UnboundedReceiver<ToLink>) -> Result<(), Trouble> {
    let name = known.presence.host.clone();
    let link = Link::open(&known.address, &name, true).await?;
    // Until there is a server, nothing is known of it.
    while link.client.flush().await.is_err() || link.client.server_info().version.is_empty() {
        tokio::time::sleep(REST).await;
    }
    link.must_be_new_enough()?;
    link.make_streams().await?;
    must_be_free(&link, &known.presence).await?;
    mouth.tell(FromLink::Connected { server: link.client.server_info().version });
    let (state, watched) = watch::channel(known.presence.clone());
    let slots = Arc::new(Semaphore::new(known.presence.slots));
    let shared = Shared { link, known: Arc::new(known), mouth };
    let announcing = tokio::spawn(announce(shared.clone(), watched.clone()));
    let taking = tokio::spawn(take(shared.clone(), Arc::clone(&slots), watched));
    let hearing = tokio::spawn(hear(shared.clone()));
    let mut logs = log_tail::Tails::default();
    while let Some(message) = told.recv().await {
        match message {
            ToLink::Has { running, drains } => {
                state.send_modify(|presence| (presence.running, presence.drains) = (running, drains));
            }
            ToLink::Prints(taken) => logs.begin(&shared.link, &name, taken),
            ToLink::Ended { taken, exit, problems } => {
                let log = logs.end(&taken.key);
                tokio::spawn(end(shared.clone(), log, taken, exit.map(|exit| *exit), problems));
            }
            ToLink::Word { run, key, word } => {
                if let Ok(word) = serde_json::to_vec(&word) {
                    // Only for what is shown meanwhile: it need not arrive.
                    let _lost = shared.link.client.publish(subject::word(&name, &run, &key), word.into()).await;
                }
            }
            ToLink::Free => slots.add_permits(1),
            ToLink::Close => break,
        }
    }
    [announcing, taking, hearing].iter().for_each(Task::abort);
    // Leaders need not wait until it is missed.
    let gone = Presence { running: Vec::new(), drains: true, slots: 0, ..state.borrow().clone() };
    if let Ok(bytes) = serde_json::to_vec(&gone) {
        let said = shared.link.publish(subject::presence(&name), bytes, None);
        let _missed_then = tokio::time::timeout(REST, said).await;
    }
    Ok(())
}

/// Fails if another host of this name was there a moment ago.
async fn must_be_free(link: &Link, ours: &Presence) -> Result<(), Trouble> {
    let Some(before) = link.last(HOSTS, &subject::presence(&ours.host)).await? else { return Ok(()) };
    let Ok(other) = serde_json::from_slice::<Presence>(&before.payload) else { return Ok(()) };
    if other.home == ours.home || other.slots == 0 {
        return Ok(());
    }
    // It lives if it says something within its lease.
    let until = Instant::now() + Duration::from_millis(other.lease_ms) / BEATS * 2;
    while Instant::now() < until {
        if link.next(HOSTS, &subject::presence(&ours.host), before.sequence).await?.is_some() {
            let words = "another host of this name is there, with another folder; choose another --name";
            return Err(Trouble(format!("{}: {words}", ours.host)));
        }
        tokio::time::sleep(REST / 4).await;
    }
    Ok(())
}

/// Says again and again that the host is there, and at once when something changes.
async fn announce(shared: Shared, mut watched: watch::Receiver<Presence>) {
    let lease = Duration::from_millis(shared.known.presence.lease_ms);
    let (mut last, mut is_alone) = (Instant::now(), false);
    loop {
        let presence = watched.borrow_and_update().clone();
        let begun = Instant::now();
        let bytes = serde_json::to_vec(&presence).unwrap_or_default();
        let said = shared.link.publish(subject::presence(&presence.host), bytes, None);
        // Waiting for an answer must not hide that the lease is over.
        let said = tokio::time::timeout(lease / BEATS, said).await;
        match said {
            Ok(Ok(_)) => {
                last = begun;
                if std::mem::take(&mut is_alone) {
                    shared.mouth.tell(FromLink::Together);
                }
            }
            failed => tracing::debug!(?failed, "not announced"),
        }
        if last.elapsed() >= lease && !is_alone {
            is_alone = true;
            shared.mouth.tell(FromLink::Alone);
        }
        let pause = if last == begun { lease / BEATS } else { REST.min(lease / BEATS) };
        tokio::select! {
            () = tokio::time::sleep(pause.saturating_sub(begun.elapsed())) => {}
            changed = watched.changed() => if changed.is_err() { return },
        }
    }
}

/// Hears what leaders ask.
async fn hear(shared: Shared) {
    let subject = subject::asks(&shared.known.presence.host);
    loop {
        if let Ok(mut asks) = shared.link.client.subscribe(subject.clone()).await {
            while let Some(message) = asks.next().await {
                if let Ok(ask) = serde_json::from_slice(&message.payload) {
                    shared.mouth.tell(FromLink::Asked(ask));
                }
            }
        }
        tokio::time::sleep(REST).await;
    }
}

/// Takes work, one attempt for each slot that is free.
async fn take(shared: Shared, slots: Arc<Semaphore>, mut watched: watch::Receiver<Presence>) {
    let host = shared.known.presence.host.clone();
    let config = pull::Config {
        durable_name: Some(crate::wire::token(&host)),
        filter_subject: subject::all_work(&host),
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACK_WAIT,
        max_deliver: -1,
        ..pull::Config::default()
    };
    loop {
        if watched.wait_for(|presence| !presence.drains).await.is_err() {
            return;
        }
        let Ok(permit) = Arc::clone(&slots).acquire_owned().await else { return };
        let message = tokio::select! {
            message = one(&shared.link, &config) => message,
            _ = watched.wait_for(|presence| presence.drains) => continue,
        };
        match message {
            Ok(Some(message)) => {
                permit.forget();
                tokio::spawn(accept(shared.clone(), message, Arc::clone(&slots)));
            }
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(%error, "no work can be taken");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

/// The next message with work, if one comes soon.
async fn one(link: &Link, config: &pull::Config) -> Result<Option<Message>, Trouble> {
    let failed = |error: &dyn std::fmt::Display| Trouble(error.to_string());
    let stream = link.jetstream.get_stream_no_info(WORK).await.map_err(|error| failed(&error))?;
    let name = config.durable_name.clone().unwrap_or_default();
    let consumer = stream.get_or_create_consumer(&name, config.clone()).await.map_err(|error| failed(&error))?;
    let mut batch =
        consumer.fetch().max_messages(1).expires(PATIENCE).messages().await.map_err(|error| failed(&error))?;
    batch.next().await.transpose().map_err(|error| failed(&error))
}

/// Takes an attempt for good: it is noted, then acknowledged, then begun. One that was taken before is only acknowledged.
async fn accept(shared: Shared, message: Message, slots: Arc<Semaphore>) {
    let errand = match shared.link.unwrap::<Errand>(&message.payload).await {
        Ok(errand) if errand.protocol == PROTOCOL => errand,
        read => return refuse_unread(&shared, &message, read.err(), &slots).await,
    };
    let (host, key) = (&shared.known.presence.host, errand.assignment.key.clone());
    // What comes twice was acknowledged in vain, or ended meanwhile.
    let ended = shared.link.last(crate::wire::ENDS, &subject::end(host, &errand.run, &key)).await;
    if shared.known.records.has(&key) || matches!(ended, Ok(Some(_))) {
        let _it_comes_again = message.double_ack().await;
        return slots.add_permits(1);
    }
    let noted = shared.known.home.taken(&errand).and_then(|taken| {
        let failed = |error| Trouble::new("the attempt cannot be noted", error);
        shared.known.records.write(&taken).map_err(failed).map(|()| taken)
    });
    let taken = match (noted, ended) {
        (Ok(taken), Ok(None)) => taken,
        (Err(trouble), _) => return refuse(&shared, &message, &errand.run, &key, &trouble.0, &slots).await,
        (_, Err(_) | Ok(Some(_))) => return slots.add_permits(1), // it comes again
    };
    // If this gets lost the message comes again, and is found among those that were noted.
    let _it_comes_again = message.double_ack().await;
    let nonce = crate::parcel::digest(key.as_bytes());
    match shared.link.receive_files(&taken.project, &errand.files, &nonce[..16]).await {
        Ok(()) => shared.mouth.tell(FromLink::Work { errand: Box::new(errand), taken }),
        Err(trouble) => {
            let exit = not_begun(&key, &trouble.0);
            tokio::spawn(end(shared.clone(), None, taken, Some(exit), Vec::new()));
            shared.mouth.tell(FromLink::Refused { key, reason: trouble.0 });
            slots.add_permits(1);
        }
    }
}

/// Refuses work of another version of the program, with the reason.
async fn refuse_unread(shared: &Shared, message: &Message, trouble: Option<Trouble>, slots: &Semaphore) {
    #[derive(serde::Deserialize)]
    struct Head {
        protocol: u32,
        run: String,
        assignment: Name,
    }
    #[derive(serde::Deserialize)]
    struct Name {
        key: String,
    }
    let head = shared.link.unwrap::<Head>(&message.payload).await;
    let Ok(Head { protocol, run, assignment: Name { key } }) = head else {
        // It may be readable later, if the backend was the reason; else its leader gives it up.
        let _it_comes_again = message.ack_with(AckKind::Nak(Some(ACK_WAIT))).await;
        return slots.add_permits(1);
    };
    let why = trouble.map_or_else(String::new, |trouble| format!(": {trouble}"));
    let version = env!("CARGO_PKG_VERSION");
    let reason = format!(
        "host {} runs team-executor {version}, which speaks version {PROTOCOL} of the messages between machines, not {protocol}{why}",
        shared.known.presence.host
    );
    refuse(shared, message, &run, &key, &reason, slots).await;
}

/// Says that an attempt does not begin, then acknowledges it.
async fn refuse(shared: &Shared, message: &Message, run: &str, key: &str, reason: &str, slots: &Semaphore) {
    let (exit, files) = (Some(not_begun(key, reason)), Parcel::default());
    let end = End { protocol: PROTOCOL, key: key.to_owned(), exit, problems: Vec::new(), logs: [0, 0], files };
    if let Ok(bytes) = shared.link.wrap(&end).await {
        shared.link.insist(&subject::end(&shared.known.presence.host, run, key), &bytes, Some(key)).await;
        let _it_comes_again = message.double_ack().await;
    }
    shared.mouth.tell(FromLink::Refused { key: key.to_owned(), reason: reason.to_owned() });
    slots.add_permits(1);
}

fn not_begun(key: &str, reason: &str) -> Exit {
    Exit::without_run(key, Ended::CouldNotStart(Obstacle::new(reason)), 0)
}

/// Brings the end of an attempt to where it is durable: its logs, its files, then the end itself.
async fn end(shared: Shared, log: Option<log_tail::Tail>, taken: Taken, exit: Option<Exit>, mut problems: Vec<String>) {
    let host = &shared.known.presence.host;
    let log = log.unwrap_or_else(|| log_tail::Tail::begin(&shared.link, host, taken.clone()));
    let logs = log.finish().await;
    let paths: Vec<String> = taken.artifacts.iter().chain(&taken.result).cloned().collect();
    let times = taken.logs.iter().map(|log| format!("{log}.times"));
    let paths: Vec<String> = paths.into_iter().chain(times).collect();
    let (project, files): (PathBuf, _) = (taken.project.clone(), Parcel::pack(&taken.project, &paths));
    let files = match files {
        Ok(files) => files,
        Err(error) => {
            problems.push(format!("what it delivered cannot be read on {host}: {error}"));
            Parcel::default()
        }
    };
    problems.extend(files.left.iter().map(|path| format!("{path} stays on {host}: it is not a regular file")));
    if let Err(trouble) = shared.link.send_files(&project, &files).await {
        problems.push(format!("what it delivered cannot be sent from {host}: {trouble}"));
    }
    let key = taken.key.clone();
    let end = End { protocol: PROTOCOL, key: key.clone(), exit, problems, logs, files };
    match shared.link.wrap(&end).await {
        Ok(bytes) => {
            shared.link.insist(&subject::end(host, &taken.run, &key), &bytes, Some(&key)).await;
            shared.mouth.tell(FromLink::Published { key });
        }
        Err(trouble) => shared.mouth.tell(FromLink::Failed(trouble)),
    }
}
