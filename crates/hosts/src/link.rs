//! What the rest of this crate needs of NATS JetStream: messages that are durable when this says so, reading on from a position
//! through the leader of a stream, and files. Nothing here knows of runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::context::{CreateStreamErrorKind, PublishError};
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RawMessageErrorKind, RetentionPolicy};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions};
use serde::Serialize;
use serde::de::DeserializeOwned;
use team_executor_beneath::open_ours;

use crate::parcel::{self, Arriving, Item, Parcel};
use crate::wire::{BLOBS, ENDS, Envelope, HOSTS, LOGS, WORK, subject};

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(5);
/// How long to wait before something is tried again.
const PAUSE: Duration = Duration::from_millis(250);
/// How often the server is asked whether it is there.
const PING: Duration = Duration::from_secs(10);
/// So much of a file is one message.
const PIECE: usize = 128 << 10;
/// A longer message travels as a file.
const MESSAGE_BYTES: usize = 512 << 10;
/// A file that was sent is not sent again within this time; it is kept far longer.
const STILL_THERE: Duration = Duration::from_secs(12 * 3600);
/// How long files, ends and logs are kept.
const KEPT: Duration = Duration::from_secs(3 * 24 * 3600);
/// The server has more than one message of a subject already.
const ALREADY_THERE: u64 = 10_077;
/// Older servers have lost what they had acknowledged.
pub(crate) const OLDEST_SERVER: (i64, i64, i64) = (2, 10, 23);

/// Where the backend is, and who we are there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Address {
    /// One server or several of a cluster, `nats://HOST:PORT` or `tls://HOST:PORT`, with commas between.
    pub url: String,
    /// A file of certificates that the server's is signed by.
    pub ca: Option<PathBuf>,
    /// Files of the client's certificate and key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// User and password.
    pub login: Option<(String, String)>,
}

/// Why something did not come about, in words for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Trouble(pub(crate) String);

impl Trouble {
    pub(crate) fn new(what: &str, error: impl std::fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Durable,
    /// There was one of this subject already, which stays.
    AlreadyThere,
}

/// A connection, shared by all of its clones.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) client: Client,
    pub(crate) jetstream: Context,
    /// Files that were sent, and when.
    sent: Arc<Mutex<BTreeMap<String, Instant>>>,
}

impl Link {
    /// Connects, now or never; `patient` waits until there is a server.
    pub(crate) async fn open(address: &Address, name: &str, patient: bool) -> Result<Self, Trouble> {
        let mut options = ConnectOptions::new()
            .name(name)
            .ping_interval(PING)
            .connection_timeout(REQUEST)
            .request_timeout(Some(REQUEST))
            .custom_inbox_prefix(format!("_INBOX_{}", crate::wire::token(name)));
        if let Some((user, password)) = &address.login {
            options = options.user_and_password(user.clone(), password.clone());
        }
        if let Some(ca) = &address.ca {
            options = options.add_root_certificates(ca.clone()).require_tls(true);
        }
        if let Some((certificate, key)) = &address.identity {
            options = options.add_client_certificate(certificate.clone(), key.clone()).require_tls(true);
        }
        if patient {
            options = options.retry_on_initial_connect();
        }
        let servers: Vec<&str> = address.url.split(',').map(str::trim).collect();
        let connected = options.connect(servers).await;
        let client = connected.map_err(|error| Trouble::new("the backend cannot be reached", with_causes(&error)))?;
        let mut jetstream = jetstream::new(client.clone());
        jetstream.set_timeout(REQUEST);
        Ok(Self { client, jetstream, sent: Arc::default() })
    }

    /// Fails if the server is too old to be trusted with what it acknowledged.
    pub(crate) fn must_be_new_enough(&self) -> Result<(), Trouble> {
        let (major, minor, patch) = OLDEST_SERVER;
        if self.client.is_server_compatible(major, minor, patch) {
            return Ok(());
        }
        let version = self.client.server_info().version;
        Err(Trouble(format!(
            "nats-server {version} is too old: {major}.{minor}.{patch} is the oldest that keeps its word"
        )))
    }

    /// Makes the streams that are missing, with as many copies as there can be, at most three.
    pub(crate) async fn make_streams(&self) -> Result<(), Trouble> {
        for config in streams() {
            let (name, many) = (config.name.clone(), Config { num_replicas: 3, ..config.clone() });
            let made = match self.jetstream.get_or_create_stream(many).await {
                // One server cannot hold three copies.
                Err(error) if matches!(error.kind(), CreateStreamErrorKind::JetStream(_)) => {
                    self.jetstream.get_or_create_stream(config).await
                }
                made => made,
            };
            made.map_err(|error| Trouble::new(&format!("the stream {name} cannot be made"), error))?;
        }
        Ok(())
    }

    /// Hands in a message once; it is durable when this says so.
    pub(crate) async fn publish(&self, subject: String, payload: Vec<u8>, id: Option<&str>) -> Result<Sent, Trouble> {
        let mut message = PublishMessage::build().payload(payload.into());
        if let Some(id) = id {
            message = message.message_id(id);
        }
        let sent = async { self.jetstream.send_publish(subject, message).await?.await };
        match sent.await {
            Ok(_) => Ok(Sent::Durable),
            Err(error) if is_there(&error) => Ok(Sent::AlreadyThere),
            Err(error) => Err(Trouble(with_causes(&error))),
        }
    }

    /// Hands in a message until it is durable. An election, a restart and a lost connection pass.
    pub(crate) async fn insist(&self, subject: &str, payload: &[u8], id: Option<&str>) -> Sent {
        loop {
            match self.publish(subject.to_owned(), payload.to_vec(), id).await {
                Ok(sent) => return sent,
                Err(error) => tracing::debug!(subject, %error, "not durable yet"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The first message behind a position of a stream whose subject fits; nothing if there is none.
    pub(crate) async fn next(
        &self,
        stream: &str,
        subjects: &str,
        after: u64,
    ) -> Result<Option<StreamMessage>, Trouble> {
        let stream = self.jetstream.get_stream_no_info(stream).await.map_err(|error| Trouble(with_causes(&error)))?;
        match stream.get_first_raw_message_by_subject(subjects, after + 1).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(Trouble(with_causes(&error))),
        }
    }

    /// The last message of a subject.
    pub(crate) async fn last(&self, stream: &str, subject: &str) -> Result<Option<StreamMessage>, Trouble> {
        let stream = self.jetstream.get_stream_no_info(stream).await.map_err(|error| Trouble(with_causes(&error)))?;
        match stream.get_last_raw_message_by_subject(subject).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(Trouble(with_causes(&error))),
        }
    }

    /// A message with an envelope, which is a file where it is too long for one message.
    pub(crate) async fn wrap<T: Serialize>(&self, message: &T) -> Result<Vec<u8>, Trouble> {
        let unfit = |error| Trouble::new("a message cannot be written", error);
        let whole = serde_json::to_vec(&Envelope::Whole(message)).map_err(unfit)?;
        if whole.len() <= MESSAGE_BYTES {
            return Ok(whole);
        }
        let bytes = serde_json::to_vec(message).map_err(unfit)?;
        let sha256 = parcel::digest(&bytes);
        for (nth, piece) in (0..).zip(bytes.chunks(PIECE)) {
            self.insist(&subject::piece(&sha256, nth), piece, None).await;
        }
        serde_json::to_vec(&Envelope::<T>::Blob { sha256, bytes: bytes.len() as u64 }).map_err(unfit)
    }

    /// The message in an envelope.
    pub(crate) async fn unwrap<T: DeserializeOwned>(&self, payload: &[u8]) -> Result<T, Trouble> {
        let unread = |error| Trouble::new("a message cannot be read", error);
        let (sha256, length) = match serde_json::from_slice(payload).map_err(unread)? {
            Envelope::Whole(message) => return Ok(message),
            Envelope::Blob { sha256, bytes } => (sha256, bytes),
        };
        let mut bytes = Vec::new();
        for nth in 0..pieces(length) {
            bytes.extend_from_slice(&self.piece(&sha256, nth).await?);
        }
        if parcel::digest(&bytes) != sha256 {
            return Err(Trouble("a message did not arrive as it was sent".to_owned()));
        }
        serde_json::from_slice(&bytes).map_err(unread)
    }

    /// Sends the files of a parcel that do not travel within its message. One that is cut leaves pieces, which count for the next
    /// and go with their age.
    pub(crate) async fn send_files(&self, root: &Path, parcel: &Parcel) -> Result<(), Trouble> {
        let lost = |error: std::io::Error| Trouble::new("a file cannot be sent", error);
        for item in parcel.blobs() {
            if self.sent().get(&item.sha256).is_some_and(|at| at.elapsed() < STILL_THERE) {
                continue;
            }
            let mut file = Reading::open(root, item).map_err(lost)?;
            let mut nth = 0;
            while let Some(piece) = file.next().map_err(lost)? {
                self.insist(&subject::piece(&item.sha256, nth), &piece, None).await;
                nth += 1;
            }
            self.sent().insert(item.sha256.clone(), Instant::now());
        }
        Ok(())
    }

    /// Puts the files of a parcel below a folder, where they are not there already. Each is whole or not there.
    pub(crate) async fn receive_files(&self, root: &Path, parcel: &Parcel, nonce: &str) -> Result<(), Trouble> {
        let lost =
            |item: &Item, error: std::io::Error| Trouble::new(&format!("{} cannot be put there", item.path), error);
        let there =
            team_executor_beneath::make_ours(root).map_err(|error| Trouble::new("no folder for files", error))?;
        for item in parcel.files.iter().filter(|item| !item.is_in(&there)) {
            let mut arriving = Arriving::begin(root, item, nonce).map_err(|error| lost(item, error))?;
            match item.content().map_err(|error| lost(item, error))? {
                Some(content) => arriving.write(&content).map_err(|error| lost(item, error))?,
                None => {
                    for nth in 0..pieces(item.bytes) {
                        let piece = self.piece(&item.sha256, nth).await?;
                        arriving.write(&piece).map_err(|error| lost(item, error))?;
                    }
                }
            }
            arriving.finish().map_err(|error| lost(item, error))?;
        }
        Ok(())
    }

    fn sent(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Instant>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn piece(&self, sha256: &str, nth: u64) -> Result<Vec<u8>, Trouble> {
        let found = self.last(BLOBS, &subject::piece(sha256, nth)).await?;
        found.map(|message| message.payload.to_vec()).ok_or_else(|| {
            Trouble(format!("a file is not on the backend any more, or was never whole there ({sha256}, piece {nth})"))
        })
    }
}

/// A file that is being sent.
struct Reading {
    file: std::fs::File,
}

impl Reading {
    fn open(root: &Path, item: &Item) -> std::io::Result<Self> {
        let dir = open_ours(root)?;
        let file = dir.file(&item.path, team_executor_beneath::How::Read).map_err(team_executor_beneath::io_error)?;
        Ok(Self { file })
    }

    fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        use std::io::Read as _;
        let mut piece = Vec::with_capacity(PIECE);
        self.file.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        Ok((!piece.is_empty()).then_some(piece))
    }
}

/// How many messages a file of this length is.
const fn pieces(bytes: u64) -> u64 {
    bytes.div_ceil(PIECE as u64)
}

/// All streams, each with one copy.
pub(crate) fn streams() -> [Config; 5] {
    let stream = |name: &str, subjects: &str| Config {
        name: name.to_owned(),
        subjects: vec![subjects.to_owned()],
        num_replicas: 1,
        ..Config::default()
    };
    let last_word = |config| Config { max_messages_per_subject: 1, max_age: KEPT, ..config };
    let first_word = |config| Config {
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        ..config
    };
    [
        last_word(stream(HOSTS, "te.p.>")),
        Config { retention: RetentionPolicy::WorkQueue, ..first_word(stream(WORK, "te.w.>")) },
        Config { max_age: KEPT, ..first_word(stream(ENDS, "te.e.>")) },
        Config { max_age: KEPT, ..stream(LOGS, "te.l.>") },
        last_word(stream(BLOBS, "te.b.>")),
    ]
}

/// Whether a stream has a message of this subject already, and keeps that.
fn is_there(error: &PublishError) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<jetstream::Error>() {
            return error.error_code().0 == ALREADY_THERE;
        }
        cause = error.source();
    }
    false
}

/// An error with what caused it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words
}
