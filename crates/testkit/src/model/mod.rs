//! A language model that follows a script, on loopback, so that real agents can be run without an account or a network.
//!
//! It speaks Anthropic Messages, OpenAI Responses and Gemini. What it does is settled by the address that an agent is given:
//! `http://127.0.0.1:PORT/<script>`, or `<script>@<key>` for one that counts its failures for itself. Which reply comes next
//! is read from the conversation in the request, so one server serves any number of agents, and one that starts anew starts
//! at the first reply again.

mod anthropic;
mod ask;
mod gemini;
mod http;
mod responses;
mod script;

use std::collections::HashMap;
use std::io::{self, BufReader, ErrorKind, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use ask::{Ask, Part, Reply};
use http::Event;
use script::{Script, Turn, Usage};

/// An agent that sends nothing for so long is not listened to any more.
const PATIENCE: Duration = Duration::from_secs(60);

/// Serves the scripts of a folder until the process ends. Each request is a line of JSON in the log, written before the answer.
pub fn serve(listener: &TcpListener, scripts: PathBuf, log: Box<dyn Write + Send>) -> io::Result<()> {
    let server = Arc::new(Server { scripts, counts: Mutex::default(), log: Mutex::new(log) });
    loop {
        let (connection, _) = listener.accept()?;
        let server = Arc::clone(&server);
        // An agent that is gone in the midst of a reply is no failure of the model.
        std::thread::spawn(move || server.answer(connection).unwrap_or_default());
    }
}

struct Server {
    scripts: PathBuf,
    /// How often each worker asked for each of its replies.
    counts: Mutex<HashMap<(String, usize), u32>>,
    log: Mutex<Box<dyn Write + Send>>,
}

impl Server {
    fn answer(&self, mut connection: TcpStream) -> io::Result<()> {
        connection.set_read_timeout(Some(PATIENCE))?;
        let mut reader = BufReader::new(connection.try_clone()?);
        let request = http::read(&mut reader)?;
        let worker = request.path.split('/').nth(1).unwrap_or_default();
        let Some(dialect) = Dialect::at(&request.path) else {
            let (status, value) = besides(&request);
            return http::whole(&mut connection, status, None, &value);
        };
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let ask = dialect.ask(&body, &request.path);
        let (turn, place) = match self.turn(worker, &ask, &body) {
            Ok(found) => found,
            Err(error) => {
                self.note(worker, &ask, 400, &error, 0)?;
                return http::whole(&mut connection, 400, None, &dialect.error(400, &error));
            }
        };
        let count = self.count(place);
        if let Some(fail) = turn.fail.as_ref().filter(|fail| count <= fail.times) {
            self.note(worker, &ask, fail.status, "fail", 0)?;
            let retry = fail.retry_after.map(|s| format!(" Please retry in {s}s. Please try again in {s}s."));
            let message = format!("scripted failure.{}", retry.unwrap_or_default());
            return http::whole(&mut connection, fail.status, fail.retry_after, &dialect.error(fail.status, &message));
        }
        if turn.hang.as_ref().is_some_and(|hang| count <= hang.times) {
            self.note(worker, &ask, 0, "hang", 0)?;
            connection.set_read_timeout(None)?;
            return reader.read(&mut [0]).map(drop);
        }
        let usage = turn.usage.unwrap_or(Usage { input: request.body.len() as u64 / 4, cached: 0, output: 20 });
        let delay = turn.delay;
        let part = if ask.is_aside() { ask.aside() } else { ask.part(turn.action, &body) };
        let did = if let Part::Call { tool, .. } = &part { tool } else { "text" };
        self.note(worker, &ask, 200, did, usage.input + usage.output)?;
        if has_left(&mut reader, delay)? {
            return Ok(());
        }
        let reply = Reply { number: ask.replies, part, usage };
        if ask.streams {
            http::stream(&mut connection, &dialect.events(&reply, &body["model"]))
        } else {
            http::whole(&mut connection, 200, None, &dialect.whole(&reply, &body["model"]))
        }
    }

    /// The reply that comes next, and its place.
    fn turn(&self, worker: &str, ask: &Ask, body: &Value) -> Result<(Turn, (String, usize)), String> {
        if ask.is_aside() {
            return Ok((Turn::plain(script::Action::Text(String::new())), (worker.to_owned(), ask.replies)));
        }
        let name = worker.split('@').next().unwrap_or_default();
        let script = Script::read(&self.scripts, name)?;
        match script.about(body) {
            None => Ok((script.turn(ask.replies), (worker.to_owned(), ask.replies))),
            Some((task, replies)) => Ok((script.of_task(&task)?.turn(replies), (format!("{worker}#{task}"), replies))),
        }
    }

    fn count(&self, place: (String, usize)) -> u32 {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(place).or_default();
        *count += 1;
        *count
    }

    fn note(&self, worker: &str, ask: &Ask, status: u16, did: &str, tokens: u64) -> io::Result<()> {
        let turn = (!ask.is_aside()).then_some(ask.replies);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = json!({"worker": worker, "turn": turn, "status": status, "did": did});
        if tokens > 0 {
            line["tokens"] = json!(tokens);
        }
        writeln!(log, "{line}")?;
        log.flush()
    }
}

/// A wire format.
#[derive(Clone, Copy)]
enum Dialect {
    Anthropic,
    Responses,
    Gemini,
}

impl Dialect {
    fn at(path: &str) -> Option<Self> {
        let is_gemini = path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent");
        let known = [
            (path.ends_with("/v1/messages"), Self::Anthropic),
            (path.ends_with("/responses"), Self::Responses),
            (is_gemini, Self::Gemini),
        ];
        known.into_iter().find_map(|(is, dialect)| is.then_some(dialect))
    }

    fn ask(self, body: &Value, path: &str) -> Ask {
        match self {
            Self::Anthropic => anthropic::ask(body),
            Self::Responses => responses::ask(body),
            Self::Gemini => gemini::ask(body, path.ends_with(":streamGenerateContent")),
        }
    }

    fn whole(self, reply: &Reply, model: &Value) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(reply, model),
            Self::Responses => responses::whole(reply, model),
            Self::Gemini => gemini::whole(reply),
        }
    }

    fn events(self, reply: &Reply, model: &Value) -> Vec<Event> {
        match self {
            Self::Anthropic => anthropic::events(reply, model),
            Self::Responses => responses::events(reply, model),
            Self::Gemini => gemini::events(reply),
        }
    }

    fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::Anthropic => anthropic::error(status, message),
            Self::Responses => responses::error(status, message),
            Self::Gemini => gemini::error(status, message),
        }
    }
}

/// Requests of agents besides replies: the length of a text in tokens, whether the service is up, the list of
/// models.
fn besides(request: &http::Request) -> (u16, Value) {
    let tokens = request.body.len() / 4;
    match request.path.as_str() {
        path if path.ends_with("/count_tokens") => (200, json!({"input_tokens": tokens})),
        path if path.ends_with(":countTokens") => (200, json!({"totalTokens": tokens})),
        path if path.ends_with("/models") => (200, json!({"object": "list", "data": [], "models": []})),
        _ if request.method == "HEAD" => (200, Value::Null),
        path => (404, json!({"error": {"message": format!("nothing is at {path}")}})),
    }
}

/// Whether the agent hangs up within so many seconds.
fn has_left(reader: &mut BufReader<TcpStream>, seconds: f64) -> io::Result<bool> {
    let Some(delay) = Duration::try_from_secs_f64(seconds).ok().filter(|delay| !delay.is_zero()) else {
        return Ok(false);
    };
    reader.get_ref().set_read_timeout(Some(delay))?;
    match reader.read(&mut [0]) {
        Ok(count) => Ok(count == 0),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
