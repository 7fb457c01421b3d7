//! Follows a run: what its journal holds, then what its executor sends, then what that left in the journal when it ended.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use team_executor_beneath::{open_regular, read_regular};
use team_executor_core::{Graph, Session};
use team_executor_store::run_folder::{EXECUTOR, JOURNAL};
use team_executor_store::{Feed, History, JournalError, Seq};

use super::{Event, Reader};
use crate::begin::run_at;
use crate::control::{client, holder};
use crate::options::Failure;
use crate::status;

/// How long is waited for the next event before it is asked whether anybody wants it.
const TICK: Duration = Duration::from_secs(1);
/// How often an executor is called that has the run and does not listen: it begins, or it ends.
const AGAIN: Duration = Duration::from_millis(100);
/// How much is read at a time.
const PIECE: usize = 64 << 10;

/// How following a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Every task is over.
    Finished,
    /// Everything was told that had happened, and the run was not to be followed.
    Read,
    /// No executor has the run, and it is not finished.
    Left,
    /// No subscriber wants more.
    Unwanted,
}

/// The events of a run, from a record on.
#[derive(Debug)]
pub struct Subscription<'s> {
    folder: PathBuf,
    reader: Reader<'s>,
    /// Stays the same file if the run is moved.
    journal: File,
    feed: Feed,
    from: Seq,
    live: bool,
}

/// Takes an event, or nothing when there is no more for the moment; says whether it wants more.
type Take<'t> = &'t mut dyn FnMut(Option<Event>) -> bool;

impl<'s> Subscription<'s> {
    /// Those of the run in a folder, or of the newest run of the session; nothing if it was never run. They begin at a record, and include those
    /// that are only live if that is wanted.
    pub fn open(
        session: &'s Session,
        graph: &'s Graph,
        place: (&Path, &Path),
        run: Option<&Path>,
        (from, live): (Seq, bool),
    ) -> Result<Option<Self>, Failure> {
        let Some(folder) = status::chosen(place, run)? else { return Ok(None) };
        run_at::must_be_whole(&folder)?;
        let path = folder.join(EXECUTOR).join(JOURNAL);
        let journal = open_regular(&path).map_err(Failure::disk("open", path))?;
        let reader = Reader::new(session, graph, &folder);
        Ok(Some(Self { folder, reader, journal, feed: Feed::default(), from, live }))
    }

    /// The name of the run.
    pub fn run_name(&self) -> String {
        run_at::name_of(&self.folder)
    }

    /// The number of the last record that was read.
    pub fn last(&self) -> Seq {
        self.feed.last()
    }

    /// Tells what there is, and, if it follows, what comes, as long as an executor has the run.
    pub fn run(&mut self, follow: bool, take: Take<'_>) -> Result<End, Failure> {
        loop {
            let is_held = match client::subscribe(&self.folder, self.last() + 1, follow && self.live)? {
                Some((stream, durable)) => {
                    let upto = (!follow).then_some(durable);
                    if !self.hear(&stream, upto, take)? {
                        return Ok(End::Unwanted);
                    }
                    if !follow {
                        return Ok(End::Read);
                    }
                    holder(&self.folder).is_some()
                }
                None => holder(&self.folder).is_some(),
            };
            // Records of a running executor may not be durable. The next executor continues from the records
            // that the last one left.
            if !is_held && !self.read_rest(take)? {
                return Ok(End::Unwanted);
            }
            match (is_held, self.reader.is_finished()) {
                (false, true) => return Ok(End::Finished),
                (false, false) if follow => return Ok(End::Left),
                (false, false) => return Ok(End::Read),
                (true, _) if !take(None) => return Ok(End::Unwanted),
                (true, _) => std::thread::sleep(AGAIN),
            }
        }
    }

    /// Takes what an executor sends until it ends, or up to a record. Says whether more is wanted.
    fn hear(&mut self, mut stream: &UnixStream, upto: Option<Seq>, take: Take<'_>) -> Result<bool, Failure> {
        stream.set_read_timeout(Some(TICK)).map_err(Failure::disk("use", "the socket of the executor"))?;
        let (mut piece, mut begun) = (vec![0; PIECE], Vec::new());
        while upto.is_none_or(|upto| self.last() < upto) {
            let count = match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if !take(None) {
                        return Ok(false);
                    }
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => break, // its executor was killed
            };
            let mut rest = &piece[..count];
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                begun.extend_from_slice(&rest[..=end]);
                rest = &rest[end + 1..];
                if !self.take_line(&begun, take)? {
                    return Ok(false);
                }
                begun.clear();
            }
            begun.extend_from_slice(rest);
            if !take(None) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A line of the journal, or an event that is only live.
    fn take_line(&mut self, line: &[u8], take: Take<'_>) -> Result<bool, Failure> {
        if line.first() == Some(&b'{') {
            // One that is not known is of a newer executor.
            return Ok(serde_json::from_slice(line).ok().is_none_or(|event| take(Some(event))));
        }
        self.feed.push(line);
        self.tell(take)?.ok_or_else(|| Failure::Control("the executor sent a record out of order".to_owned()))
    }

    /// Reads the rest of a journal that no executor has. Says whether more is wanted.
    fn read_rest(&mut self, take: Take<'_>) -> Result<bool, Failure> {
        let path = self.folder.join(EXECUTOR).join(JOURNAL);
        let mut piece = vec![0; PIECE];
        let mut at = self.feed.offset();
        let wants = loop {
            let count = self.journal.read_at(&mut piece, at).map_err(Failure::disk("read", &path))?;
            at += count as u64;
            self.feed.push(&piece[..count]);
            match self.tell(take)? {
                Some(true) if count > 0 => {}
                Some(wants) => break wants,
                None => {
                    // Torn by a power cut, or damaged: a read of the whole journal can tell.
                    let bytes = read_regular(&path).map_err(Failure::disk("read", &path))?;
                    History::read(bytes).map_err(|damage| Failure::Journal(JournalError::from(damage)))?;
                    break true;
                }
            }
        };
        self.feed.forget_rest(); // of a line that is not whole: the next executor cuts it off
        Ok(wants)
    }

    /// Tells the events of all records that are there. Says whether more is wanted; nothing if a line is no record.
    fn tell(&mut self, take: Take<'_>) -> Result<Option<bool>, Failure> {
        let mut wants = true;
        while wants {
            let (seq, record) = match self.feed.next_record() {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(_) => return Ok(None),
            };
            let mut tell = |event| wants = wants && take(Some(event));
            let is_wanted = seq >= self.from;
            self.reader.take(seq, record, is_wanted.then_some(&mut tell as &mut dyn FnMut(Event)))?;
        }
        Ok(Some(wants))
    }
}
