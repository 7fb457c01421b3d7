//! A look at the backend from outside of any run: which hosts are there, and whether it can be relied on.

use std::time::{Duration, SystemTime};

use crate::link::{Address, Link, OLDEST_SERVER, Sent, Trouble, streams};
use crate::wire::{HOSTS, LOGS, Presence, subject};

/// Clocks that differ by more are worth a word. Nothing depends on them.
const SKEW: Duration = Duration::from_secs(5);
/// The least that the server must take as one message.
const PAYLOAD: usize = 768 << 10;

/// A host, and when it was heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What it says about itself.
    pub presence: Presence,
    /// How long ago by the clock of the server.
    pub ago: Duration,
}

impl Seen {
    /// Whether it counts as there.
    pub fn is_there(&self) -> bool {
        self.presence.slots > 0 && self.ago < Duration::from_millis(self.presence.lease_ms)
    }
}

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What.
    pub what: &'static str,
    /// How it is.
    pub found: Found,
    /// In words.
    pub words: String,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// As it should be.
    Good,
    /// It works, and there is something to know.
    Note,
    /// Runs would suffer.
    Bad,
}

/// The hosts that the backend knows of.
pub fn present(address: &Address) -> Result<Vec<Seen>, Trouble> {
    on_thread(async {
        let link = Link::open(address, "look", false).await?;
        link.must_be_new_enough()?;
        link.make_streams().await?;
        let now = server_time(&link).await?;
        let (mut seen, mut position) = (Vec::new(), 0);
        while let Some(message) = link.next(HOSTS, "te.p.>", position).await? {
            position = message.sequence;
            if let Ok(presence) = serde_json::from_slice(&message.payload) {
                let ago = now.saturating_sub(message.time.unix_timestamp_nanos());
                let ago = Duration::from_nanos(u64::try_from(ago).unwrap_or(0));
                seen.push(Seen { presence, ago });
            }
        }
        seen.sort_by(|one, other| one.presence.host.cmp(&other.presence.host));
        Ok(seen)
    })
}

/// Whether the backend is what runs need.
pub fn check(address: &Address) -> Result<Vec<Checked>, Trouble> {
    on_thread(async {
        let link = Link::open(address, "look", false).await?;
        let info = link.client.server_info();
        let mut found = vec![version(&link, &info.version), payload(info.max_payload)];
        match link.make_streams().await {
            Ok(()) => found.push(good("streams", "all there")),
            Err(trouble) => {
                found.push(bad("streams", &trouble.0));
                return Ok(found);
            }
        }
        found.push(copies(&link).await?);
        found.push(work(&link).await);
        let server = server_time(&link).await?;
        let ours = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let skew = i128::try_from(ours).unwrap_or(0).abs_diff(server);
        let skew = Duration::from_nanos(u64::try_from(skew).unwrap_or(u64::MAX));
        found.push(if skew < SKEW {
            good("clocks", "the server's and this machine's agree")
        } else {
            note("clocks", &format!("they differ by {} s; nothing depends on that", skew.as_secs()))
        });
        let words = "set `jetstream { sync_interval: always }` in the server's configuration: without it a power cut can take \
                     what was acknowledged. A client cannot see it";
        found.push(note("sync", words));
        Ok(found)
    })
}

fn version(link: &Link, version: &str) -> Checked {
    let (major, minor, patch) = OLDEST_SERVER;
    match link.must_be_new_enough() {
        Ok(()) => good("version", &format!("nats-server {version}, {major}.{minor}.{patch} or later is needed")),
        Err(trouble) => bad("version", &trouble.0),
    }
}

fn payload(most: usize) -> Checked {
    let words = format!("{most} bytes a message, {PAYLOAD} are needed");
    if most >= PAYLOAD { good("payload", &words) } else { bad("payload", &words) }
}

/// How many servers have each stream.
async fn copies(link: &Link) -> Result<Checked, Trouble> {
    let mut fewest = usize::MAX;
    for config in streams() {
        let failed = |error: &dyn std::fmt::Display| Trouble(format!("{}: {error}", config.name));
        let stream = link.jetstream.get_stream(&config.name).await.map_err(|error| failed(&error))?;
        fewest = fewest.min(stream.cached_info().config.num_replicas);
    }
    let words = "each stream is on one server: hosts and leaders wait while that is away";
    Ok(if fewest > 1 { good("replicas", &format!("{fewest} of each stream")) } else { note("replicas", words) })
}

/// Whether work may be given away and taken back.
async fn work(link: &Link) -> Checked {
    let subject = subject::work("=check", "probe");
    let given = link.publish(subject.clone(), b"{}".to_vec(), None).await;
    let twice = link.publish(subject.clone(), b"{}".to_vec(), None).await;
    let stream = link.jetstream.get_stream_no_info(crate::wire::WORK).await;
    let taken = match stream {
        Ok(stream) => stream.purge().filter(subject).await.map(|purged| purged.purged).unwrap_or(0),
        Err(_) => 0,
    };
    match (given, twice, taken) {
        (Ok(_), Ok(Sent::AlreadyThere), 1) => good("work", "one message an attempt, and it can be taken back"),
        (Err(trouble), _, _) => bad("work", &format!("it cannot be given away: {trouble}")),
        (Ok(_), Ok(Sent::Durable), _) => {
            bad("work", "the same attempt was taken twice; the stream TE_WORK has other settings")
        }
        _ => bad("work", "it cannot be taken back; the user has too few rights"),
    }
}

/// What time it is for the server, in nanoseconds since 1970.
async fn server_time(link: &Link) -> Result<i128, Trouble> {
    let subject = subject::log("=check", "=check", "=check");
    link.publish(subject.clone(), Vec::new(), None).await?;
    let message = link.last(LOGS, &subject).await?;
    message.map(|message| message.time.unix_timestamp_nanos()).ok_or_else(|| Trouble("no message came back".to_owned()))
}

fn good(what: &'static str, words: &str) -> Checked {
    Checked { what, found: Found::Good, words: words.to_owned() }
}

fn note(what: &'static str, words: &str) -> Checked {
    Checked { what, found: Found::Note, words: words.to_owned() }
}

fn bad(what: &'static str, words: &str) -> Checked {
    Checked { what, found: Found::Bad, words: words.to_owned() }
}

fn on_thread<T>(work: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Trouble::new("no runtime", error))?.block_on(work)
}
