//! What workers print, brought to the backend while they print it. Logs only grow, so a piece is its place and its bytes, and a
//! piece that comes twice changes nothing.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::time::Duration;

use team_executor_beneath::open_regular;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::link::Link;
use crate::taken::Taken;
use crate::wire::subject;

/// How often a log is looked at.
const GLANCE: Duration = Duration::from_millis(200);
/// So much of a log is one message.
const PIECE: usize = 64 << 10;
/// Which log, and from which byte on.
const HEAD: usize = 1 + 8;

/// One piece of a log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// Standard output is 0, standard error 1.
    pub(crate) stream: usize,
    pub(crate) at: u64,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    fn encode(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEAD + self.bytes.len());
        message.push(u8::from(self.stream == 1));
        message.extend_from_slice(&self.at.to_be_bytes());
        message.extend_from_slice(self.bytes);
        message
    }

    /// The piece in a message, if it is one.
    pub(crate) fn decode(message: &'a [u8]) -> Option<Self> {
        let (head, bytes) = message.split_at_checked(HEAD)?;
        let stream = match head[0] {
            stream @ (0 | 1) => usize::from(stream),
            _ => return None,
        };
        Some(Self { stream, at: u64::from_be_bytes(head[1..].try_into().ok()?), bytes })
    }

    /// What of it is behind the first so many bytes of its log; nothing if something in between is missing.
    pub(crate) fn behind(&self, length: u64) -> Option<&'a [u8]> {
        let known = usize::try_from(length.checked_sub(self.at)?).ok()?;
        self.bytes.get(known..).filter(|bytes| !bytes.is_empty())
    }
}

/// The attempts that print.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    tails: BTreeMap<String, Tail>,
}

impl Tails {
    pub(crate) fn begin(&mut self, link: &Link, host: &str, taken: Taken) {
        self.tails.insert(taken.key.clone(), Tail::begin(link, host, taken));
    }

    /// The attempt prints no more.
    pub(crate) fn end(&mut self, key: &str) -> Option<Tail> {
        self.tails.remove(key)
    }
}

/// The logs of one attempt.
#[derive(Debug)]
pub(crate) struct Tail {
    is_over: watch::Sender<bool>,
    task: JoinHandle<[u64; 2]>,
}

impl Tail {
    pub(crate) fn begin(link: &Link, host: &str, taken: Taken) -> Self {
        let (is_over, over) = watch::channel(false);
        let subject = subject::log(host, &taken.run, &taken.key);
        Self { is_over, task: tokio::spawn(follow(link.clone(), subject, taken, over)) }
    }

    /// Waits until all that was printed is durable, and says how much that is.
    pub(crate) async fn finish(self) -> [u64; 2] {
        self.is_over.send_replace(true);
        self.task.await.unwrap_or_default()
    }
}

async fn follow(link: Link, subject: String, taken: Taken, mut over: watch::Receiver<bool>) -> [u64; 2] {
    let mut lengths = [0; 2];
    loop {
        let is_over = *over.borrow_and_update();
        for (stream, length) in lengths.iter_mut().enumerate() {
            while let Some(bytes) = read(&taken, stream, *length) {
                link.insist(&subject, &Piece { stream, at: *length, bytes: &bytes }.encode(), None).await;
                *length += bytes.len() as u64;
            }
        }
        if is_over {
            return lengths;
        }
        tokio::select! {
            () = tokio::time::sleep(GLANCE) => {}
            changed = over.changed() => if changed.is_err() { return lengths },
        }
    }
}

/// More of a log, if there is more. A log that cannot be read says nothing.
fn read(taken: &Taken, stream: usize, from: u64) -> Option<Vec<u8>> {
    let mut log = open_regular(&taken.project.join(&taken.logs[stream])).ok()?;
    log.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    log.take(PIECE as u64).read_to_end(&mut bytes).ok()?;
    (!bytes.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn piece_that_comes_twice_or_too_early_adds_nothing_wrong() {
        let message = Piece { stream: 1, at: 10, bytes: b"abcd" }.encode();
        let piece = Piece::decode(&message).unwrap();
        assert_eq!(piece, Piece { stream: 1, at: 10, bytes: b"abcd" });
        assert_eq!(piece.behind(10), Some(&b"abcd"[..]));
        assert_eq!(piece.behind(12), Some(&b"cd"[..]), "half of it came before");
        assert_eq!((piece.behind(14), piece.behind(99), piece.behind(9)), (None, None, None));
        assert_eq!((Piece::decode(b"\0short"), Piece::decode(b"\x02123456789")), (None, None));
    }
}
