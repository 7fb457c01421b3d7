//! What is told without being asked: one stream for all that a browser shows, in the form of server-sent events. Each has the name of
//! its run and the number of the last event of the journal in it, so that a reader who was away says what it knows.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame as BodyFrame};
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::answer::{Body, Reply};
use crate::page::encoded;
use crate::watched::{Reader, Watched};

/// How many events may wait to be taken.
const ROOM: usize = 16;
/// How often a stream on which nothing happens says that it is there.
const PULSE: Duration = Duration::from_secs(15);

/// A body that is made while it is sent.
pub(crate) struct Pieces(mpsc::Receiver<Bytes>);

impl Pieces {
    pub(crate) fn body(pieces: mpsc::Receiver<Bytes>) -> Body {
        Self(pieces).boxed()
    }
}

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(BodyFrame::data(piece))))
    }
}

/// Tells what changes in some runs, to a reader who knows their events up to these numbers.
pub(crate) fn begin(runs: &[Arc<Watched>], known: &HashMap<String, u64>) -> Reply {
    let (sender, receiver) = mpsc::channel(ROOM);
    for watched in runs {
        tokio::spawn(tell(watched.read(), known.get(&watched.known.run).copied(), sender.clone()));
    }
    tokio::spawn(pulse(sender));
    let mut reply = Response::new(Pieces::body(receiver));
    *reply.status_mut() = StatusCode::OK;
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    debug_assert!(!reply.body().is_end_stream(), "it goes on");
    reply
}

/// Says again and again that the stream is there; its first word makes the browser know.
async fn pulse(sender: mpsc::Sender<Bytes>) {
    while sender.send(Bytes::from_static(b": here\n\n")).await.is_ok() {
        let next = Instant::now() + PULSE;
        if timeout_at(next, sender.closed()).await.is_ok() {
            return;
        }
    }
}

/// Tells a reader what changes in one run, until it leaves.
async fn tell(mut reader: Reader, knows: Option<u64>, sender: mpsc::Sender<Bytes>) {
    let mut last = match knows.map(|seq| reader.knows(seq)) {
        Some(Some(number)) => number,
        Some(None) => {
            let number = reader.now();
            if sender.send(event(reader.run(), None, r#"{"reset":true}"#)).await.is_err() {
                return;
            }
            number
        }
        None => reader.now(),
    };
    loop {
        match reader.after(last) {
            Some(frames) => {
                for frame in frames {
                    last = frame.number;
                    if sender.send(event(reader.run(), Some(frame.seq), &frame.text)).await.is_err() {
                        return;
                    }
                }
            }
            None => {
                last = reader.now();
                if sender.send(event(reader.run(), None, r#"{"reset":true}"#)).await.is_err() {
                    return;
                }
            }
        }
        // Not `select!`: a reader that has left is found out at the latest with the next pulse.
        let next = Instant::now() + PULSE;
        timeout_at(next, reader.changed()).await.ok();
        if sender.is_closed() {
            return;
        }
    }
}

/// An event of a run. Its name may have any characters that a folder can have.
fn event(run: &str, seq: Option<u64>, change: &str) -> Bytes {
    let id = seq.map(|seq| format!("id: {}:{seq}\n", encoded(run))).unwrap_or_default();
    let run = serde_json::to_string(run).unwrap_or_default();
    Bytes::from(format!("{id}data: {{\"run\":{run},\"change\":{change}}}\n\n"))
}
