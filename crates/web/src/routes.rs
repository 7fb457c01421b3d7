//! The requests that there are, and who answers them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use team_executor_app::Error;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::answer::{Refused, Reply, failed, json, missing, refuse, tag, tagged, tagged_as, text, whole};
use crate::guard::Door;
use crate::logs::{self, Log, Wanted};
use crate::pictures::{self, Around};
use crate::registry::Registry;
use crate::stream::{self, Pieces};
use crate::watched::{Looked, Watched};
use crate::{acts, assets, documents, tasks};

/// The longest body of a request.
const BODY_BYTES: usize = 2 << 20;
/// How long a client may take to send it.
const BODY: Duration = Duration::from_secs(30);
/// How many runs one stream can tell of.
const RUNS: usize = 16;
/// How many pieces of a file wait to be sent.
const PIECES: usize = 4;

/// What all requests share.
pub(crate) struct State {
    pub(crate) registry: Registry,
    pub(crate) door: Door,
    /// When something was asked for last.
    pub(crate) asked: Mutex<Instant>,
}

impl State {
    /// Whether something was asked for in the last while. A page that is open asks again and again.
    pub(crate) fn is_looked_at(&self, within: Duration) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).elapsed() < within
    }
}

/// What is asked for behind the name of the server.
struct Asked {
    /// The parts of the path, decoded.
    path: Vec<String>,
    /// The parameters, decoded.
    query: Vec<(String, String)>,
}

impl Asked {
    fn read(request: &Parts) -> Option<Self> {
        let path = request.uri.path().split('/').skip(1).map(decoded).collect::<Option<_>>()?;
        let pairs = request.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name)?, decoded(&value.replace('+', "%20"))?))
        };
        Some(Self { path, query: pairs.map(pair).collect::<Option<_>>()? })
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }
}

/// A part of an address as text; nothing if it is none.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// Answers a request.
pub(crate) async fn answer(state: Arc<State>, request: Request<Incoming>) -> Reply {
    let (parts, body) = request.into_parts();
    let answered = async {
        state.door.admit(&parts)?;
        let unreadable = || refuse(StatusCode::BAD_REQUEST, "the address cannot be read", "");
        let asked = Asked::read(&parts).ok_or_else(unreadable)?;
        if asked.path.first().map(String::as_str) != Some("api") {
            return file(&asked, &parts);
        }
        state.door.trust(&parts)?;
        *state.asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        match parts.method {
            Method::POST => {
                let body = whole_body(body).await?;
                act(&state, &asked, body).await
            }
            _ => look(&state, &asked, &parts).await,
        }
    };
    let mut reply = answered.await.unwrap_or_else(|refused: Refused| *refused);
    if parts.method == Method::HEAD {
        *reply.body_mut() = whole(Bytes::new());
    }
    reply
}

/// A file of the page. It says nothing about runs, so it needs no token.
fn file(asked: &Asked, request: &Parts) -> Result<Reply, Refused> {
    if request.method == Method::POST {
        return Err(refuse(StatusCode::METHOD_NOT_ALLOWED, "files of the page are only read", ""));
    }
    let path: Vec<&str> = asked.path.iter().map(String::as_str).collect();
    let name = match &path[..] {
        ["a", rest @ ..] => rest.join("/"),
        [""] | ["inbox" | "plan"] | ["r", _, ..] => assets::INDEX.to_owned(),
        _ => return Err(missing("there is no such page")),
    };
    let asset = assets::find(&name).ok_or_else(|| missing("there is no such file"))?;
    Ok(tagged_as(asset.bytes, &asset.tag, asset.kind, request))
}

async fn whole_body(body: Incoming) -> Result<Bytes, Refused> {
    let slow = |_| refuse(StatusCode::REQUEST_TIMEOUT, "the request did not come to its end", "");
    match timeout(BODY, Limited::new(body, BODY_BYTES).collect()).await.map_err(slow)? {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "a request may have 2 MiB", "ask for fewer tasks at once"))
        }
        Err(_) => Err(refuse(StatusCode::BAD_REQUEST, "the request cannot be read", "")),
    }
}

/// Reads files beside the thread that serves.
async fn aside<T: Send + 'static>(
    state: &Arc<State>,
    read: impl FnOnce(&State) -> Result<T, Error> + Send + 'static,
) -> Result<T, Refused> {
    let shared = Arc::clone(state);
    let done = tokio::task::spawn_blocking(move || read(&shared)).await;
    done.map_err(lost)?.map_err(failed)
}

fn lost<E>(_: E) -> Refused {
    refuse(StatusCode::INTERNAL_SERVER_ERROR, "the request was lost", "reload the page")
}

/// The run of this name.
async fn run(state: &Arc<State>, name: &str) -> Result<Arc<Watched>, Refused> {
    let name = name.to_owned();
    let found = aside(state, move |state| state.registry.run(&name)).await?;
    found.ok_or_else(|| missing("there is no such run"))
}

/// Does something with how a run stands.
async fn with<T: Send + 'static>(
    state: &Arc<State>,
    watched: &Arc<Watched>,
    read: impl FnOnce(&Watched, &Looked, bool) -> Result<T, Error> + Send + 'static,
) -> Result<T, Refused> {
    let watched = Arc::clone(watched);
    aside(state, move |_| {
        let (looked, is_all) = watched.look()?;
        read(&watched, &looked, is_all)
    })
    .await
}

fn bytes(made: Vec<u8>, request: &Parts) -> Reply {
    let tag = tag(&made);
    tagged(made.into(), &tag, request)
}

async fn look(state: &Arc<State>, asked: &Asked, request: &Parts) -> Result<Reply, Refused> {
    let path: Vec<&str> = asked.path.iter().skip(1).map(String::as_str).collect();
    match &path[..] {
        ["runs"] => {
            let listed = aside(state, |state| state.registry.list()).await?;
            Ok(tagged(listed.text.clone(), &listed.tag, request))
        }
        ["stream"] => follow(state, asked, request).await,
        ["plan"] => {
            let name = asked.text("session").unwrap_or_default().to_owned();
            let planned = aside(state, move |state| match state.registry.session(&name)? {
                Some(session) => documents::plan(&state.registry.app, &session).map(Some),
                None => Ok(None),
            });
            planned.await?.map(|plan| json(&plan)).ok_or_else(|| missing("there is no such session"))
        }
        ["runs", name, rest @ ..] => {
            let watched = run(state, name).await?;
            of_run(state, &watched, rest, asked, request).await
        }
        _ => Err(missing("there is no such document")),
    }
}

async fn of_run(
    state: &Arc<State>,
    watched: &Arc<Watched>,
    path: &[&str],
    asked: &Asked,
    request: &Parts,
) -> Result<Reply, Refused> {
    match path {
        [] => {
            let read_only = state.door.read_only;
            let made = with(state, watched, move |watched, looked, is_all| {
                let document = documents::run(watched, looked, is_all, read_only)?;
                Ok(serde_json::to_vec(&document).unwrap_or_default())
            });
            Ok(bytes(made.await?, request))
        }
        ["tasks"] => Ok(bytes(with(state, watched, |_, looked, _| tasks::all(looked)).await?, request)),
        ["attempts"] => {
            Ok(bytes(with(state, watched, |watched, looked, _| tasks::attempts(watched, looked)).await?, request))
        }
        ["graph"] => {
            let around = asked.text("focus").map(|focus| Around {
                focus: focus.to_owned(),
                up: asked.number("up").unwrap_or(2),
                down: asked.number("down").unwrap_or(2),
                limit: asked.number("limit").unwrap_or(200).min(pictures::MOST),
            });
            let made = with(state, watched, move |_, looked, _| pictures::graph(looked, around.as_ref()));
            Ok(json(&made.await?))
        }
        ["artifacts"] => {
            let watched = Arc::clone(watched);
            Ok(bytes(aside(state, move |_| tasks::artifacts(&watched)).await?, request))
        }
        ["artifacts", id] => {
            let (of, wanted) = (Arc::clone(watched), (*id).to_owned());
            let found = aside(state, move |_| tasks::artifact(&of, &wanted)).await?;
            Ok(sent(found.ok_or_else(|| missing("there is no such file"))?, id))
        }
        ["tasks", task, rest @ ..] => of_task(state, watched, (task, rest), asked, request).await,
        _ => Err(missing("there is no such document")),
    }
}

async fn of_task(
    state: &Arc<State>,
    watched: &Arc<Watched>,
    (task, path): (&str, &[&str]),
    asked: &Asked,
    request: &Parts,
) -> Result<Reply, Refused> {
    let id = task.to_owned();
    match path {
        [] => {
            let made = with(state, watched, move |watched, looked, _| tasks::one(watched, looked, &id));
            Ok(json(&made.await?))
        }
        ["history"] => {
            let watched = Arc::clone(watched);
            Ok(bytes(aside(state, move |_| tasks::history(&watched, &id)).await?, request))
        }
        ["changes"] => {
            let watched = Arc::clone(watched);
            Ok(json(&aside(state, move |_| tasks::changes(&watched, &id)).await?))
        }
        ["prompt"] => {
            let watched = Arc::clone(watched);
            let prompt = aside(state, move |_| tasks::prompt(&watched, &id)).await?;
            Ok(text(whole(prompt), &format!("{task}-prompt.md")))
        }
        ["log"] => {
            let wanted = match (asked.text("find"), asked.text("error")) {
                (Some(text), _) if !text.is_empty() => Wanted::Text { text: text.to_owned() },
                (_, Some(_)) => Wanted::Error,
                _ => Wanted::Lines {
                    from: asked.number("from"),
                    most: asked.number("count").unwrap_or(logs::MOST).min(logs::MOST),
                },
            };
            let log = log(asked, id);
            let made = with(state, watched, move |watched, looked, _| logs::window(watched, looked, &log, &wanted));
            Ok(json(&made.await?))
        }
        ["log", "text"] => {
            let log = log(asked, id);
            let name = format!("{task}-{}.log", if log.is_err { "stderr" } else { "stdout" });
            let found = with(state, watched, move |watched, looked, _| logs::file(watched, looked, &log)).await?;
            Ok(sent(found.ok_or_else(|| missing("this attempt printed nothing"))?, &name))
        }
        _ => Err(missing("there is no such document")),
    }
}

fn log(asked: &Asked, task: String) -> Log {
    Log {
        task,
        attempt: asked.number("attempt").unwrap_or(0),
        is_err: asked.text("stream") == Some("stderr"),
        is_raw: asked.text("raw").is_some(),
    }
}

/// A file as text, piece by piece.
fn sent(file: std::fs::File, name: &str) -> Reply {
    let (sender, receiver) = mpsc::channel(PIECES);
    tokio::spawn(logs::send(file, sender));
    text(Pieces::body(receiver), name)
}

/// What changes in some runs. The reader says which events it knows of each: `RUN:12,RUN:7`.
async fn follow(state: &Arc<State>, asked: &Asked, request: &Parts) -> Result<Reply, Refused> {
    let last = request.headers.get("last-event-id").and_then(|last| last.to_str().ok()).unwrap_or_default();
    let known = last.split(',').filter_map(|one| one.rsplit_once(':'));
    let known: HashMap<String, u64> = known.filter_map(|(run, seq)| Some((decoded(run)?, seq.parse().ok()?))).collect();
    let mut runs = Vec::new();
    for (_, name) in asked.query.iter().filter(|(name, _)| name == "run").take(RUNS) {
        runs.push(run(state, name).await?);
    }
    Ok(stream::begin(&runs, &known))
}

async fn act(state: &Arc<State>, asked: &Asked, body: Bytes) -> Result<Reply, Refused> {
    let path: Vec<&str> = asked.path.iter().map(String::as_str).collect();
    let ["api", "runs", name, "requests"] = path[..] else { return Err(missing("nothing can be asked for there")) };
    let watched = run(state, name).await?;
    // An executor or an agent may take a while to answer; the page goes on.
    let (sender, done) = oneshot::channel();
    std::thread::spawn(move || sender.send(acts::carry_out(&watched, &body)));
    Ok(json(&done.await.map_err(lost)?.map_err(failed)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_decoded_or_refused() {
        assert_eq!(decoded("a%20b%2Fc").as_deref(), Some("a b/c"));
        assert_eq!(decoded("%C3%BC").as_deref(), Some("ü"));
        for wrong in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}
