//! The other end of the socket: asks the executor of a run, if there is one.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use team_executor_beneath::{io_error, open_ours};
use team_executor_store::lock::{Lock, LockError};
use team_executor_store::run_folder::EXECUTOR;
use team_executor_store::{RealDisk, Seq, run_folder::LOCK};

use super::{Answer, LINE_BYTES, Request, SOCKET};
use crate::options::Failure;

/// How long an executor may take to answer: it may be at its disk.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether an executor listens to requests to the run in this folder.
pub fn is_heard(run: &Path) -> bool {
    connect(run).is_ok()
}

/// The process that executes the run in this folder, as the system says; nothing if there is none.
pub fn executor(run: &Path) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(connect(run).ok()?).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

fn connect(run: &Path) -> io::Result<UnixStream> {
    let folder = open_ours(&run.join(EXECUTOR))?;
    UnixStream::connect(folder.socket(SOCKET).map_err(io_error)?)
}

/// The executor that has the run in this folder, whether or not it listens; `None` if there is none.
pub fn holder(run: &Path) -> Option<String> {
    let folder = RealDisk::open_folder(&run.join(EXECUTOR)).ok()?;
    match Lock::take(&folder, LOCK, Duration::ZERO) {
        Err(LockError::Held { by }) => Some(by),
        _ => None,
    }
}

/// Asks the executor that has the run in this folder; nothing if there is none.
pub fn send(run: &Path, request: &Request) -> Result<Option<Answer>, Failure> {
    send_within(run, request, PATIENCE)
}

/// The same, and waits for so long at most.
pub(super) fn send_within(run: &Path, request: &Request, patience: Duration) -> Result<Option<Answer>, Failure> {
    let line = request.write();
    if line.len() > LINE_BYTES {
        return Err(Failure::Control("too much was asked at once; name fewer tasks".to_owned()));
    }
    let socket = run.join(EXECUTOR).join(SOCKET);
    let failed = || Failure::disk("use", &socket);
    let mut stream = match connect(run) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => return Ok(None),
        stream => stream.map_err(failed())?,
    };
    stream.set_read_timeout(Some(patience)).map_err(failed())?;
    // If the other end is closed there is no answer, or one that can still be read.
    stream.write_all(format!("{line}\n").as_bytes()).ok();
    let mut answer = String::new();
    let read = BufReader::new(stream.take(LINE_BYTES as u64)).read_line(&mut answer);
    match (read, Answer::read(answer.trim_end())) {
        (Ok(_), Some(answer)) => Ok(Some(answer)),
        (Ok(0), _) => {
            Err(Failure::Control("the executor gave no answer: it ended, or has too many callers".to_owned()))
        }
        (Ok(_), None) => Err(Failure::Control("the executor is of another version".to_owned())),
        (Err(error), _) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Err(Failure::Control(format!("the executor did not answer in {} seconds", patience.as_secs())))
        }
        (Err(error), _) => Err(failed()(error)),
    }
}

/// Follows the run in this folder from a record on: the executor's lines, and the number of the last record that was durable
/// when it answered. Nothing if there is no executor.
pub(crate) fn subscribe(run: &Path, from: Seq, live: bool) -> Result<Option<(UnixStream, Seq)>, Failure> {
    let socket = run.join(EXECUTOR).join(SOCKET);
    let failed = || Failure::disk("use", &socket);
    let mut stream = match connect(run) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => return Ok(None),
        stream => stream.map_err(failed())?,
    };
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed())?;
    stream.write_all(format!("{}\n", Request::Subscribe { from, live }.write()).as_bytes()).ok();
    // Byte by byte: what follows the answer is not of this function.
    let (mut line, mut byte) = (Vec::new(), [0]);
    loop {
        match stream.read(&mut byte) {
            Ok(1..) if byte[0] == b'\n' => break,
            Ok(1..) if line.len() < LINE_BYTES => line.push(byte[0]),
            Ok(_) => return Ok(None), // it has ended
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(Failure::Control(format!("the executor did not answer in {} seconds", PATIENCE.as_secs())));
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(failed()(error)),
        }
    }
    let answer = std::str::from_utf8(&line).ok().and_then(Answer::read);
    match answer.map(|answer| answer.outcome) {
        Some(Ok(did)) => {
            let durable = did.first().and_then(|seq| seq.parse().ok());
            Ok(durable.map(|durable| (stream, durable)))
        }
        Some(Err(why)) => Err(Failure::Control(why)),
        None => Err(Failure::Control("the executor is of another version".to_owned())),
    }
}
