//! How others reach a conversation: a socket, a line of JSON that asks, and one that answers.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use team_executor_beneath::{Dir, io_error, open_ours, ours};

use super::peer::Heard;
use crate::callers::{Caller, Peer};
use crate::protocol::{decode, encode};

/// Longer lines are not heard.
const LINE_BYTES: u64 = 256 << 10;
/// The most that a person is shown of what an agent wants.
const WORDS: usize = 500;
/// How long either side waits for the other.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a conversation can be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Say this to the agent.
    Send(String),
    /// End what it is doing; it then waits to be told more.
    Interrupt {},
    /// End the conversation.
    Close {},
    /// End the turn by the agent's own protocol, so that its session is saved, then the conversation: a budget is used up.
    WindUp {},
    /// Let it do what it asked for, or not.
    Answer {
        /// Which question, by its number; without one, the oldest.
        question: Option<u64>,
        /// Whether it may.
        allow: bool,
    },
    /// Only say how it stands.
    State {},
}

/// How a conversation stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// What was done, for people.
    pub did: String,
    /// The agent is at work; otherwise it waits to be told something.
    pub busy: bool,
    /// It was urged to come to an end.
    pub urged: bool,
    /// The agent's own name of the conversation.
    pub session_id: Option<String>,
    /// What it wants to be allowed, the oldest first.
    pub questions: Vec<Open>,
}

/// A question that is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// Its number, from 1.
    pub question: u64,
    /// What the agent wants to use.
    pub tool: String,
    /// What for, in its words.
    pub what: String,
    /// When it asked, in milliseconds since 1970; nothing from a driver that does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
}

/// The answer to a word.
pub type Answered = Result<State, String>;

/// A word, and who waits for the answer.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) word: Word,
    pub(super) reply: Sender<Answered>,
}

/// Tells a conversation something; nothing if it is not there any more.
pub fn tell(door: &Path, word: &Word) -> io::Result<Option<Answered>> {
    let mut stream = match connect(door) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => return Ok(None),
        stream => stream?,
    };
    stream.set_read_timeout(Some(PATIENCE * 2))?;
    stream.write_all(&encode(word)?)?;
    let mut line = Vec::new();
    BufReader::new(stream.take(LINE_BYTES)).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(decode(&line)?))
}

/// Asks a person through the executor of the run, if there is one. Does not wait: the answer comes by the
/// door.
pub(super) fn ask(control: &Path, question: &Value) {
    let told = |name: &str| std::env::var(format!("TEAM_EXECUTOR_{name}")).unwrap_or_default();
    let cut = |key: &str| question[key].as_str().unwrap_or_default().chars().take(WORDS).collect::<String>();
    let line = json!({
        "version": 1, "request": "ask", "task": told("TASK"), "attempt": told("ATTEMPT"),
        "question": question["question"], "tool": cut("tool"), "what": cut("what"),
    });
    let control = control.to_owned();
    thread::spawn(move || {
        let mut stream = connect(&control)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("{line}\n").as_bytes())?;
        // A request is dropped if its sender leaves before the answer.
        stream.read(&mut [0])
    });
}

/// A door that is open until it is dropped.
#[derive(Debug)]
pub(super) struct Door {
    path: PathBuf,
    /// Held while a request is being answered.
    answering: Arc<Mutex<()>>,
}

impl Door {
    /// Opens it. What was at its place was left by one that is gone.
    pub(super) fn open(path: &Path, ledgers: PathBuf, outbox: Sender<Heard>) -> io::Result<Self> {
        let (folder, name) = within(path)?;
        match ours::remove(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(folder.short(name))?;
        let answering = Arc::new(Mutex::new(()));
        let held = Arc::clone(&answering);
        thread::spawn(move || {
            listener.incoming().flatten().for_each(|stream| serve(&stream, &ledgers, &outbox, &held))
        });
        Ok(Self { path: path.to_owned(), answering })
    }
}

/// Every request is answered before this returns, if the conversation answered or its receiver is gone.
impl Drop for Door {
    fn drop(&mut self) {
        let _answered = self.answering.lock();
        let _is_gone = ours::remove(&self.path);
    }
}

/// The folder of a socket, held open, and its name.
fn within(door: &Path) -> io::Result<(Dir, &str)> {
    let no_place = || io::Error::new(ErrorKind::InvalidInput, "a door needs a folder and a name");
    let name = door.file_name().and_then(|name| name.to_str());
    let (folder, name) = door.parent().zip(name).ok_or_else(no_place)?;
    Ok((open_ours(folder)?, name))
}

fn connect(door: &Path) -> io::Result<UnixStream> {
    let (folder, name) = within(door)?;
    UnixStream::connect(folder.socket(name).map_err(io_error)?)
}

/// Hears one line, and answers it.
fn serve(stream: &UnixStream, ledgers: &Path, outbox: &Sender<Heard>, answering: &Mutex<()>) {
    let peer = Peer::from_socket(stream);
    let mut line = Vec::new();
    let read = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| BufReader::new(stream.take(LINE_BYTES)).read_until(b'\n', &mut line));
    let _held = answering.lock();
    let answered: Answered = match (read, decode::<Word>(&line)) {
        (Ok(_), Ok(word)) if !may_say(peer.as_ref(), ledgers, &word) => {
            Err("a worker may not speak to the agents of its own run".to_owned())
        }
        (Ok(_), Ok(word)) => {
            let (reply, answer) = mpsc::channel();
            let over = || Err("the conversation is over".to_owned());
            match outbox.send(Heard::Told(Told { word, reply })) {
                Ok(()) => answer.recv_timeout(PATIENCE).unwrap_or_else(|_| over()),
                Err(_) => over(),
            }
        }
        _ => Err("that was not understood".to_owned()),
    };
    if let Ok(line) = encode(&answered) {
        let mut stream = stream;
        let _has_gone = stream.write_all(&line);
    }
}

/// Whether a caller may say this. A worker of the run may only look, else it could approve its own requests.
fn may_say(peer: Option<&Peer>, ledgers: &Path, word: &Word) -> bool {
    let is_outside = || peer.is_some_and(|peer| peer.calls_run(ledgers) == Caller::Outside);
    matches!(word, Word::State {}) || is_outside()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn door_answers_a_request_and_reports_its_close() {
        let dir = tempfile::tempdir().unwrap();
        let far = dir.path().join("far".repeat(40)).join("away".repeat(40));
        std::fs::create_dir_all(&far).unwrap();
        let path = far.join("A.1");
        assert_eq!(tell(&path, &Word::State {}).unwrap(), None, "no conversation is there yet");
        let (outbox, inbox) = mpsc::channel();
        let door = Door::open(&path, far, outbox).unwrap();
        let heard = thread::spawn(move || match inbox.recv().unwrap() {
            Heard::Told(Told { word, reply }) => {
                reply.send(Ok(State { did: "said".to_owned(), ..State::default() })).unwrap();
                word
            }
            other => panic!("{other:?}"),
        });
        let answer = tell(&path, &Word::Send("hello\n\"you\"".to_owned())).unwrap().unwrap();
        assert_eq!(answer.unwrap().did, "said");
        assert_eq!(heard.join().unwrap(), Word::Send("hello\n\"you\"".to_owned()));
        assert_eq!(tell(&path, &Word::Close {}).unwrap(), Some(Err("the conversation is over".to_owned())));
        let mut stream = connect(&path).unwrap();
        stream.write_all(b"{\"explode\":1}\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "{\"Err\":\"that was not understood\"}\n");
        drop(door);
        assert!(!path.exists());
    }
}
