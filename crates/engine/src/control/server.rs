//! The executor's end of the socket: one thread that hears callers and hands their requests to the
//! dispatcher, one at a time. It waits for events only, so it costs nothing without callers, and silent
//! callers are not waited for: there are few places, and the caller that is silent for longest makes room.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::{Builder, JoinHandle};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, FileType, Mode, chmodat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};

use team_executor_agents::callers::{Caller, Peer};
use team_executor_beneath::{Dir, open_ours};
use team_executor_store::Seq;

use super::subscribers::{Feed, Subscribers};
use super::{Answer, Asked, LINE_BYTES, Request, SOCKET};

/// Why a caller that may be a worker is refused.
const GONE: &str = "the process that asked has ended, so it may have been a worker";
/// How many callers are heard at a time.
const PLACES: usize = 64;
/// How many wait to be let in.
const BACKLOG: i32 = 128;
/// How long new callers wait after accepting one failed, for instance because no more files can be open.
const REST: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The socket of a run, there as long as this lives.
#[derive(Debug)]
pub(crate) struct Server {
    folder: Dir,
    /// Closed to end the thread.
    lifeline: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens the socket in the executor's folder of a run whose lock is held: an existing socket has no
    /// owner. Requests are handed over until that says no.
    pub(crate) fn open(
        path: &Path,
        news: Arc<Feed>,
        hand_over: impl Fn(Asked) -> bool + Send + 'static,
    ) -> io::Result<Self> {
        let folder = open_ours(path)?;
        let listener = UnixListener::from(open_socket(&folder)?);
        let (lifeline, end) = UnixStream::pair()?;
        let journals = open_ours(path)?;
        let served = move || serve(&listener, &end, hand_over, Subscribers::new(news), &journals);
        let thread = Builder::new().name("control".to_owned()).spawn(served)?;
        Ok(Self { folder, lifeline: Some(lifeline), thread: Some(thread) })
    }
}

/// Every request is answered before this returns, if the dispatcher answered or is gone.
impl Drop for Server {
    fn drop(&mut self) {
        // If it stays, the next executor replaces it.
        self.folder.remove(SOCKET).ok();
        drop(self.lifeline.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// A socket that listens, for the user alone from the first moment on.
fn open_socket(folder: &Dir) -> io::Result<OwnedFd> {
    match folder.stat(SOCKET) {
        Ok(there) if FileType::from_raw_mode(there.st_mode) == FileType::Socket => {
            folder.remove(SOCKET)?;
        }
        Ok(_) => return Err(io::Error::new(ErrorKind::AlreadyExists, "its path is not a socket")),
        Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddrUnix::new(folder.short(SOCKET))?)?;
    chmodat(folder, SOCKET, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

fn serve(
    listener: &UnixListener,
    end: &UnixStream,
    hand_over: impl Fn(Asked) -> bool,
    mut subscribers: Subscribers,
    folder: &Dir,
) {
    let mut callers: Vec<Calling> = Vec::new();
    let mut resting = false;
    loop {
        let door = if resting { PollFlags::empty() } else { PollFlags::IN };
        let mut watched = vec![PollFd::new(end, PollFlags::IN), PollFd::new(listener, door)];
        watched.extend(callers.iter().map(|caller| PollFd::new(&caller.stream, PollFlags::IN)));
        match poll(&mut watched, resting.then_some(&REST)) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return subscribers.join(),
        }
        let mut ready = watched.iter().map(|one| !one.revents().is_empty()).collect::<Vec<_>>().into_iter();
        if ready.next() == Some(true) {
            return subscribers.join();
        }
        let at_door = ready.next() == Some(true);
        for mut caller in std::mem::take(&mut callers) {
            let heard = if ready.next() == Some(true) { caller.hear(&hand_over) } else { Listened::Part };
            match heard {
                Listened::Part => callers.push(caller),
                Listened::All => {}
                Listened::Subscribes(wanted) => subscribers.add(caller.stream, folder, wanted, end),
            }
        }
        resting = false;
        if at_door {
            match listener.accept().and_then(|(stream, _)| stream.set_nonblocking(true).map(|()| stream)) {
                Ok(stream) => {
                    if callers.len() == PLACES {
                        callers.remove(0);
                    }
                    let caller = Peer::from_socket(&stream);
                    callers.push(Calling { stream, caller, heard: Vec::new() });
                }
                Err(error) => resting = !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
            }
        }
    }
}

/// A caller: sends one line, gets one line, and is done.
struct Calling {
    stream: UnixStream,
    /// Held as long as it is heard, so that its number stays its own.
    caller: Option<Peer>,
    heard: Vec<u8>,
}

/// What came of listening to a caller.
enum Listened {
    /// There may be more.
    Part,
    /// It was answered, or is gone.
    All,
    /// It follows the run from a record on, with or without what is only live.
    Subscribes((Seq, bool)),
}

impl Calling {
    /// Hears what there is to hear.
    fn hear(&mut self, hand_over: &impl Fn(Asked) -> bool) -> Listened {
        let mut bytes = [0; 16 << 10];
        let count = match self.stream.read(&mut bytes) {
            Ok(0) => return Listened::All,
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Listened::Part;
            }
            Err(_) => return Listened::All,
        };
        let before = self.heard.len();
        self.heard.extend_from_slice(&bytes[..count]);
        let answer = match bytes[..count].iter().position(|byte| *byte == b'\n').map(|end| before + end) {
            Some(end) if end <= LINE_BYTES => match answer(&self.heard[..end], &self.caller, hand_over) {
                Ok(answer) => answer,
                Err(wanted) => return Listened::Subscribes(wanted),
            },
            None if self.heard.len() <= LINE_BYTES => return Listened::Part,
            _ => refused(format!("the request has more than {LINE_BYTES} bytes")),
        };
        // An answer fits into the socket's buffer; a caller that has gone does not want it.
        self.stream.write_all(format!("{}\n", answer.write()).as_bytes()).ok();
        Listened::All
    }
}

/// The answer to a request; or the wish of a subscriber, which another part of the server answers.
fn answer(line: &[u8], caller: &Option<Peer>, hand_over: &impl Fn(Asked) -> bool) -> Result<Answer, (Seq, bool)> {
    let read = std::str::from_utf8(line).map_err(|_| "the request is not UTF-8".to_owned()).and_then(Request::read);
    let request = match read {
        Ok(request) => request,
        Err(why) => return Ok(refused(why)),
    };
    let caller = caller.as_ref().map_or(Caller::Unknown, Peer::calls_executor);
    if request == Request::Whose {
        return Ok(told(caller));
    }
    if let Err(why) = may_ask(&caller, &request) {
        return Ok(refused(why.to_owned()));
    }
    if let Request::Subscribe { from, live } = request {
        return Err((from, live));
    }
    let (reply, answer) = mpsc::channel();
    let answer = if hand_over(Asked { request, reply }) { answer.recv().ok() } else { None };
    Ok(answer.unwrap_or_else(|| Answer::refused("over", "the executor has ended".to_owned())))
}

/// Tells a process which attempt it belongs to: none, one that is not known any more, or this one.
fn told(caller: Caller) -> Answer {
    let attempt = match caller {
        Caller::Outside => Vec::new(),
        Caller::Worker(attempt) => vec![attempt.unwrap_or_default()],
        Caller::Unknown => return refused(GONE.to_owned()),
    };
    Answer { stage: "unknown".to_owned(), outcome: Ok(attempt) }
}

/// Refuses a worker of this run, whatever it says about itself: it may ask a person for its own attempt and report its progress,
/// and nothing else.
fn may_ask(caller: &Caller, request: &Request) -> Result<(), &'static str> {
    match (caller, request.of_attempt()) {
        (Caller::Outside, _) => Ok(()),
        (Caller::Worker(Some(own)), Some(attempt)) if attempt == own => Ok(()),
        (Caller::Worker(_), Some(_)) => Err("a worker may only ask for its own attempt"),
        // To look changes nothing.
        (Caller::Worker(_), _) if matches!(request, Request::Activity | Request::Subscribe { .. }) => Ok(()),
        (Caller::Worker(_), _) => Err("a worker may not control its own run"),
        (Caller::Unknown, _) => Err(GONE),
    }
}

fn refused(why: String) -> Answer {
    Answer::refused("unknown", why)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::mpsc::Receiver;

    use super::*;
    use crate::control::{self, client};

    /// A run's folder far away, and an executor that does whatever it is asked.
    fn world() -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("far".repeat(40)).join("away".repeat(40));
        std::fs::create_dir_all(run.join(".executor")).unwrap();
        (dir, run)
    }

    fn open(run: &Path) -> (Server, Receiver<Asked>) {
        let (sender, asked) = mpsc::channel();
        let server =
            Server::open(&run.join(".executor"), Arc::default(), move |asked| sender.send(asked).is_ok()).unwrap();
        (server, asked)
    }

    /// Answers everything that is asked, and says what that was.
    fn obey(asked: Receiver<Asked>) -> JoinHandle<Vec<Request>> {
        std::thread::spawn(move || {
            let mut requests = Vec::new();
            for Asked { request, reply } in asked {
                let done = Answer { stage: "going on".to_owned(), outcome: Ok(vec!["done".to_owned()]) };
                reply.send(done).unwrap();
                requests.push(request);
            }
            requests
        })
    }

    fn connect(run: &Path) -> UnixStream {
        let folder = open_ours(&run.join(".executor")).unwrap();
        UnixStream::connect(folder.short(SOCKET)).unwrap()
    }

    /// What is answered to some bytes.
    fn say(run: &Path, bytes: &[u8]) -> String {
        let mut stream = connect(run);
        stream.write_all(bytes).ok(); // a refusal may come before everything is said
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line
    }

    #[test]
    fn a_request_is_answered_and_the_socket_goes_with_its_server() {
        let (_dir, run) = world();
        assert_eq!(control::send(&run, &Request::Resume).unwrap(), None, "no executor is there yet");
        let (server, asked) = open(&run);
        let socket = run.join(".executor").join(SOCKET);
        assert_eq!(std::fs::symlink_metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
        let obeying = obey(asked);
        let answer = client::send(&run, &Request::Stop).unwrap().unwrap();
        assert_eq!(answer.outcome, Ok(vec!["done".to_owned()]));
        drop(server);
        assert!(!socket.exists());
        assert_eq!(obeying.join().unwrap(), [Request::Stop]);
        assert_eq!(client::send(&run, &Request::Resume).unwrap(), None);
    }

    #[test]
    fn hostile_lines_are_refused_and_never_handed_over() {
        let (_dir, run) = world();
        let (server, asked) = open(&run);
        let obeying = obey(asked);
        assert!(say(&run, b"\n").contains("not JSON"));
        assert!(say(&run, b"\xff\xfe\n").contains("not UTF-8"));
        assert!(say(&run, b"{\"version\":7,\"request\":\"stop\"}\n").contains("not of version 1"));
        assert!(say(&run, &vec![b'['; LINE_BYTES + 1]).contains("more than 2097152 bytes"));
        assert_eq!(say(&run, &[&vec![b' '; LINE_BYTES + 1][..], b"\n"].concat()).lines().count(), 1);
        drop(server);
        assert_eq!(obeying.join().unwrap(), []);
    }

    #[test]
    fn thousand_silent_callers_do_not_block_a_request() {
        let (_dir, run) = world();
        let (server, asked) = open(&run);
        let obeying = obey(asked);
        let mut silent = VecDeque::new();
        for _ in 0..1000 {
            let mut stream = connect(&run);
            stream.write_all(b"{").ok();
            silent.push_back(stream);
            if silent.len() > 2 * PLACES {
                silent.pop_front(); // it was thrown out meanwhile
            }
        }
        assert!(client::send(&run, &Request::Drain).unwrap().is_some());
        drop((server, silent));
        assert_eq!(obeying.join().unwrap(), [Request::Drain]);
    }

    #[test]
    fn stale_socket_is_replaced_and_other_files_are_not() {
        let (_dir, run) = world();
        let folder = open_ours(&run.join(".executor")).unwrap();
        drop(UnixListener::bind(folder.short(SOCKET)).unwrap()); // the file stays
        assert_eq!(client::send(&run, &Request::Resume).unwrap(), None, "no executor is behind it");
        let (server, asked) = open(&run);
        let obeying = obey(asked);
        assert!(client::send(&run, &Request::Resume).unwrap().is_some());
        drop(server);
        obeying.join().unwrap();
        let file = run.join(".executor").join(SOCKET);
        std::fs::write(&file, "mine").unwrap();
        assert!(Server::open(&run.join(".executor"), Arc::default(), |_| true).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }

    #[test]
    fn worker_speaks_for_its_own_attempt_only() {
        let worker = |attempt: Option<&str>| Caller::Worker(attempt.map(str::to_owned));
        let progress = Request::Progress { attempt: "r/A/1".to_owned(), words: "half done".to_owned() };
        for (caller, request, may) in [
            (worker(Some("r/A/1")), &progress, true),
            (worker(Some("r/A/2")), &progress, false),
            (worker(None), &progress, false),
            (Caller::Unknown, &progress, false),
            (Caller::Outside, &progress, true),
            (worker(Some("r/A/1")), &Request::Activity, true),
            (worker(Some("r/A/1")), &Request::Stop, false),
        ] {
            assert_eq!(may_ask(&caller, request).is_ok(), may, "{caller:?} {request:?}");
        }
    }

    #[test]
    fn late_request_is_refused() {
        let (_dir, run) = world();
        let (server, asked) = open(&run);
        drop(asked);
        let answer = client::send(&run, &Request::Resume).unwrap().unwrap();
        assert_eq!(answer.outcome, Err("the executor has ended".to_owned()));
        drop(server);
    }
}
