//! The page of a project: its address on this machine, the token that it takes to use it, and the file by which a second start
//! finds the first.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};
use team_executor_app::{App, Error, escape};
use team_executor_beneath::{How, make_ours, open_file};
use team_executor_files::{Code, Finding};

use crate::answer::hex;
use crate::guard::Door;
use crate::registry::Registry;
use crate::routes::State;
use crate::server;
use tokio::sync::oneshot;

/// Below the folder for the state of the user: the addresses of pages.
const FOLDER: &str = "ui";
/// Bytes of a token.
const TOKEN: usize = 32;
/// How long another start may take to say where it is.
const PATIENCE: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(20);

/// How a page is served.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The port; 0 for any that is free.
    pub port: u16,
    /// It only shows.
    pub read_only: bool,
    /// The session that is shown first, as the user named it.
    pub session: Option<PathBuf>,
    /// The run of it that is shown first, by a unique part of its name.
    pub run: Option<String>,
}

/// The page of a project.
pub enum Page {
    /// It can be served now.
    New(Box<New>),
    /// Another start of the program serves it already.
    There {
        /// Its address, with the token.
        address: String,
    },
}

/// A page that can be served.
pub struct New {
    listeners: Vec<TcpListener>,
    state: State,
    address: String,
    /// It is held as long as the page is served.
    note: Option<Note>,
}

/// The file that says where the page of a project is, locked.
struct Note {
    _file: File,
    /// A page that leads a browser there: what is on a command line, others can see.
    opener: PathBuf,
}

impl Page {
    /// Finds or makes the page of the project of a session, or of the one around the current folder.
    pub fn open(app: &App, options: &Options) -> Result<Self, Error> {
        let project = app.project(options.session.as_deref())?;
        let options = &named(app, &project, options)?;
        let start = start(app, &project, options)?;
        let folder = app.state_beside(&project).map(|folder| folder.join(FOLDER));
        let name = name(&project, options.read_only);
        let held = folder.as_deref().map(|folder| hold(folder, &name)).transpose().map_err(unwritable)?;
        if let Some(Held::Other(address)) = held {
            return Ok(Self::There { address: format!("{}{start}", address.trim_end()) });
        }
        let (listeners, port) = bind(options.port).map_err(|error| unbound(options.port, &error))?;
        let token = token().map_err(unwritable)?;
        let address = format!("http://127.0.0.1:{port}/#t={token}");
        let note = match (held, folder) {
            (Some(Held::Ours(file)), Some(folder)) => {
                Some(Note::write(file, &folder, &name, &address, &start).map_err(unwritable)?)
            }
            _ => None,
        };
        let state = State {
            registry: Registry::new(app.clone(), project, options.session.clone(), options.read_only),
            door: Door::new(port, token, options.read_only),
            asked: Mutex::new(Instant::now()),
        };
        Ok(Self::New(Box::new(New { listeners, state, address: address + &start, note })))
    }
}

impl New {
    /// Where it is, with the token.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A file that leads a browser there.
    pub fn opener(&self) -> Option<&Path> {
        self.note.as_ref().map(|note| note.opener.as_path())
    }

    /// Serves it until the process ends.
    pub fn serve(self) -> io::Result<()> {
        self.serve_until(None)
    }

    /// Serves it until an input has ended and no tab is open any more: a run has started it, and holds the other end.
    pub fn serve_beside(self, mut input: impl Read + Send + 'static) -> io::Result<()> {
        let (sender, ended) = oneshot::channel();
        std::thread::spawn(move || {
            // Whatever comes says nothing; its end says that the run's process has ended.
            io::copy(&mut input, &mut io::sink()).ok();
            sender.send(()).ok();
        });
        self.serve_until(Some(ended))
    }

    fn serve_until(self, ended: Option<oneshot::Receiver<()>>) -> io::Result<()> {
        let Self { listeners, state, note, .. } = self;
        let served = server::serve(listeners, state, ended);
        drop(note);
        served
    }
}

/// Who has the file of a page.
enum Held {
    Ours(File),
    Other(String),
}

/// Takes the file of a page, or reads what the one who has it wrote.
fn hold(folder: &Path, name: &str) -> io::Result<Held> {
    drop(make_ours(folder)?);
    let path = folder.join(name);
    let begin = Instant::now();
    loop {
        let mut file = open_file(&path, How::Append)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Held::Ours(file)),
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => return Err(error.into()),
        }
        let mut text = String::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_string(&mut text)?;
        if text.ends_with('\n') {
            return Ok(Held::Other(text));
        }
        if begin.elapsed() > PATIENCE {
            return Err(io::Error::other("another start of the page has the file and says nothing"));
        }
        std::thread::sleep(AGAIN);
    }
}

impl Note {
    fn write(mut file: File, folder: &Path, name: &str, address: &str, start: &str) -> io::Result<Self> {
        let opener = folder.join(format!("{name}.html"));
        let mut page = open_file(&opener, How::Append)?;
        page.set_len(0)?;
        write!(page, "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={address}{start}\">")?;
        // Last: a reader of the address finds everything there.
        file.set_len(0)?;
        writeln!(file, "{address}")?;
        Ok(Self { _file: file, opener })
    }
}

/// The session of the run that is named, where no session is.
fn named(app: &App, project: &Path, options: &Options) -> Result<Options, Error> {
    let (None, Some(part)) = (&options.session, &options.run) else { return Ok(options.clone()) };
    let runs = app.runs(project)?.runs;
    let fitting: Vec<_> = match runs.iter().find(|row| row.run == *part) {
        Some(whole) => vec![whole],
        None => runs.iter().filter(|row| row.run.contains(part.as_str())).collect(),
    };
    match fitting[..] {
        [row] => {
            let session = Some(project.join(&row.session));
            Ok(Options { session, run: Some(row.run.clone()), ..options.clone() })
        }
        [] => {
            let finding = Finding::error(Code::Usage, format!("there is no run {}", escape::line(part)));
            Err(finding.help("list the runs: team-executor runs --all").into())
        }
        _ => {
            let message = format!("{} runs have '{}' in their name", fitting.len(), escape::line(part));
            let finding = Finding::error(Code::Usage, message);
            let shown = fitting.iter().take(10);
            Err(shown
                .fold(finding, |finding, row| finding.help(format!("--run {}", escape::shell_word(&row.run))))
                .into())
        }
    }
}

/// What the page shows first, behind the token: the name of a run, or the path of a session that was never run.
fn start(app: &App, project: &Path, options: &Options) -> Result<String, Error> {
    let Some(session) = options.session.as_deref() else { return Ok(String::new()) };
    let opened = app.open_run(Some(session), app.reading_of(Some(session)), options.run.as_deref())?;
    let view = match app.status(&opened)? {
        Some(status) => format!("/r/{}", encoded(&status.run)),
        None => format!("/plan?session={}", encoded(&Registry::shown(app, project, session))),
    };
    Ok(format!("&v={}", encoded(&view)))
}

/// A text as it can stand in an address.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The name of the file for a project: projects of one name are told apart, and so is a page that only shows.
fn name(project: &Path, read_only: bool) -> String {
    let digest = Sha256::digest(project.as_os_str().as_encoded_bytes());
    format!("{}{}", hex(&digest[..8]), if read_only { "-read-only" } else { "" })
}

fn token() -> io::Result<String> {
    let mut bytes = [0; TOKEN];
    match getrandom(&mut bytes, GetRandomFlags::empty())? {
        TOKEN => Ok(hex(&bytes)),
        _ => Err(io::Error::other("the system gave too little randomness")),
    }
}

/// Listens on this machine only, under both of its addresses where there are two.
fn bind(port: u16) -> io::Result<(Vec<TcpListener>, u16)> {
    let first = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let port = first.local_addr()?.port();
    let second = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).ok();
    Ok(([first].into_iter().chain(second).collect(), port))
}

fn unbound(port: u16, error: &io::Error) -> Error {
    let finding = Finding::error(Code::Usage, format!("cannot listen on 127.0.0.1:{port}: {error}"));
    finding.help("leave --port out to take a free port: team-executor ui").into()
}

fn unwritable(error: io::Error) -> Error {
    let finding = Finding::error(Code::Usage, format!("cannot note the address of the page: {error}"));
    finding.help("check the folder with: ls -la ~/.local/state/team-executor").into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn second_start_reads_the_address_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("ui");
        let Held::Ours(file) = hold(&folder, "a").unwrap() else { panic!("it is the first") };
        let note = Note::write(file, &folder, "a", "http://127.0.0.1:1/#t=x", "&v=y").unwrap();
        let Held::Other(address) = hold(&folder, "a").unwrap() else { panic!("it is held") };
        assert_eq!(address, "http://127.0.0.1:1/#t=x\n");
        for name in ["a", "a.html"] {
            let mode = std::fs::metadata(folder.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        drop(note);
        assert!(matches!(hold(&folder, "a").unwrap(), Held::Ours(_)), "the first has ended");
    }

    #[test]
    fn tokens_are_long_and_never_the_same() {
        let (one, other) = (token().unwrap(), token().unwrap());
        assert_eq!(one.len(), 2 * TOKEN);
        assert_ne!(one, other);
    }

    #[test]
    fn text_is_encoded_for_an_address() {
        assert_eq!(encoded("/r/EX 1&ü"), "%2Fr%2FEX%201%26%C3%BC");
    }
}
