//! One run as its readers see it: how it stands, read at most so often that it costs the run nothing, and what has changed since,
//! from its events. It is followed only while it has readers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use team_executor_app::event::{Counts, End, Event, Kind};
use team_executor_app::{App, Changes, EXECUTOR, Error, Opened, Status, is_heard};
use team_executor_core::TaskStatus;
use tokio::sync::watch;

use crate::registry::Known;

/// How often changes are told.
pub(crate) const BEAT: Duration = Duration::from_millis(250);
/// How a run stands is looked up at most so often, and so many times less often than it takes.
const LEAST: Duration = Duration::from_millis(200);
const TIMES: u32 = 10;
/// A state that no reader asked for in this time is forgotten: it may be large.
const KEPT: Duration = Duration::from_secs(20);
/// A run is followed so long after the last reader has left.
const LINGERS: Duration = Duration::from_secs(10);
/// How often is looked whether a run that no executor has goes on.
const LOOK: Duration = Duration::from_millis(500);
/// How much is kept for those who were away for a moment.
const FRAMES: usize = 256;
const FRAME_BYTES: usize = 1 << 20;
/// More tasks in one frame than this, and readers had better read anew.
const TASKS: usize = 20_000;

/// A run that can be looked at.
pub(crate) struct Watched {
    pub(crate) app: App,
    pub(crate) known: Known,
    looked: Mutex<Option<Arc<Looked>>>,
    news: Mutex<News>,
    /// The number of the last frame.
    last: watch::Sender<u64>,
    readers: AtomicUsize,
    touched: Mutex<Instant>,
}

/// How a run stood at one moment.
pub(crate) struct Looked {
    /// For followers of the run, who need no other.
    pub(crate) opened: Arc<Opened>,
    pub(crate) status: Status,
    journal: i64,
    at: Instant,
    took: Duration,
}

/// What has changed since the last frame, and the last frames.
#[derive(Default)]
struct News {
    is_followed: bool,
    /// The number of the last event that was read, and up to which none is kept.
    seq: u64,
    base: u64,
    open: Changed,
    is_open: bool,
    frames: VecDeque<Frame>,
    bytes: usize,
    /// The number of the last frame.
    last: u64,
}

/// What has changed.
#[derive(Default, Serialize)]
struct Changed {
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Counts>,
    /// Of each task its status and its attempt.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tasks: BTreeMap<String, (u8, Option<u32>)>,
    /// The last line of workers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    lines: BTreeMap<String, String>,
    /// Readers had better read everything anew.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reset: bool,
    /// An executor has the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    executor: Option<bool>,
    /// More than a last line has changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more: bool,
}

/// Something to tell readers.
#[derive(Clone)]
pub(crate) struct Frame {
    pub(crate) number: u64,
    pub(crate) seq: u64,
    pub(crate) text: Arc<str>,
}

impl Watched {
    pub(crate) fn new(app: App, known: Known) -> Self {
        Self {
            app,
            known,
            looked: Mutex::default(),
            news: Mutex::default(),
            last: watch::Sender::new(0),
            readers: AtomicUsize::new(0),
            touched: Mutex::new(Instant::now()),
        }
    }

    /// Notes that a reader asks for it.
    pub(crate) fn touch(&self) {
        *self.touched.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// When a reader asked last.
    pub(crate) fn touched(&self) -> Instant {
        match self.readers.load(Ordering::Relaxed) {
            0 => *self.touched.lock().unwrap_or_else(PoisonError::into_inner),
            _ => Instant::now(),
        }
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run with its session, as it is now.
    pub(crate) fn open(&self) -> Result<Opened, Error> {
        let session = Some(self.known.session.as_path());
        self.app.open_run(session, self.app.reading_of(session), Some(&self.known.run))
    }

    /// The run with its session, as it was looked at last.
    pub(crate) fn opened(&self) -> Result<Arc<Opened>, Error> {
        match self.looked() {
            Some(looked) => Ok(Arc::clone(&looked.opened)),
            None => self.open().map(Arc::new),
        }
    }

    /// How it stands, and whether that is all that is known by now. Where it is not, it will be a little later.
    pub(crate) fn look(&self) -> Result<(Arc<Looked>, bool), Error> {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let journal = self.known.journal_bytes();
        if let Some(before) = looked.as_ref() {
            let is_same = before.journal == journal && !before.status.is_heard;
            if is_same || before.at.elapsed() < LEAST.max(before.took * TIMES) {
                return Ok((Arc::clone(before), is_same));
            }
        }
        // Two of a large run need not be there at once.
        *looked = None;
        let began = Instant::now();
        let opened = Arc::new(self.open()?);
        let status = self.app.status(&opened)?.ok_or_else(|| crate::documents::gone(&self.known.run))?;
        let took = began.elapsed();
        let made = Arc::new(Looked { opened, status, journal, at: Instant::now(), took });
        *looked = Some(Arc::clone(&made));
        Ok((made, true))
    }

    /// What was asked for has changed the run: the next look is a new one.
    pub(crate) fn forget(&self) {
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Forgets states that no reader asked for in a while.
    pub(crate) fn tidy(&self) {
        if self.touched().elapsed() > KEPT {
            self.forget();
        }
    }

    /// How it stands, where that is known and another reader looks anyway.
    pub(crate) fn looked(&self) -> Option<Arc<Looked>> {
        self.looked.try_lock().ok()?.as_ref().map(Arc::clone)
    }

    /// Follows the run for one more reader.
    pub(crate) fn read(self: &Arc<Self>) -> Reader {
        self.readers.fetch_add(1, Ordering::Relaxed);
        let begins = {
            let mut news = self.news();
            let begins = !std::mem::replace(&mut news.is_followed, true);
            if begins {
                // What happened before is in what readers look at first.
                news.begin(self.looked().map_or(0, |looked| looked.status.seq));
            }
            begins
        };
        if begins {
            let (follower, beater) = (Arc::clone(self), Arc::clone(self));
            std::thread::spawn(move || follower.follow());
            tokio::spawn(async move { beater.beat().await });
        }
        Reader { watched: Arc::clone(self), last: self.last.subscribe() }
    }

    fn is_wanted(&self) -> bool {
        self.touched().elapsed() < LINGERS
    }

    /// Reads events until no reader wants any more.
    fn follow(&self) {
        let mut is_first = true;
        while self.goes_on() {
            if !std::mem::replace(&mut is_first, false) {
                let mut news = self.news();
                (news.open.reset, news.is_open) = (true, true);
            }
            let Ok(Some(End::Finished | End::Left)) = self.follow_once() else {
                std::thread::sleep(LOOK);
                continue;
            };
            self.tell_executor(false);
            self.wait_for_more();
        }
    }

    /// Waits until another executor has the run, or something was noted in it.
    fn wait_for_more(&self) {
        let (folder, seen) = (self.known.folder.join(EXECUTOR), self.known.journal_bytes());
        while self.is_wanted() && self.known.journal_bytes() == seen && !is_heard(&self.known.folder) {
            Changes::watch([folder.as_path()]).wait(Some(LOOK));
        }
    }

    /// Whether it still has readers; if not, the next one begins to follow the run again.
    fn goes_on(&self) -> bool {
        let mut news = self.news();
        let is_wanted = self.is_wanted();
        news.is_followed = is_wanted;
        is_wanted
    }

    /// Reads events as long as an executor has the run; nothing if no reader wants more.
    fn follow_once(&self) -> Result<Option<End>, Error> {
        let opened = self.opened()?;
        let from = self.news().seq + 1;
        let mut followed = self.app.subscribe(&opened, from, true)?;
        let mut is_there = false;
        let end = followed.run(true, &mut |event| {
            match event {
                Some(event) => self.take(event),
                None if is_there => {}
                None => {
                    is_there = true;
                    self.tell_executor(true);
                }
            }
            self.is_wanted()
        })?;
        Ok((end != End::Unwanted).then_some(end))
    }

    fn tell_executor(&self, is_there: bool) {
        let mut news = self.news();
        (news.open.executor, news.open.more, news.is_open) = (Some(is_there), true, true);
    }

    fn take(&self, event: Event) {
        let mut news = self.news();
        if let Some(seq) = event.seq {
            news.seq = seq;
        }
        news.open.take(event.kind);
        news.is_open = true;
    }

    /// Closes a frame whenever something has changed.
    async fn beat(&self) {
        loop {
            tokio::time::sleep(BEAT).await;
            self.tidy();
            let last = {
                let mut news = self.news();
                news.close();
                if !news.is_followed {
                    return;
                }
                news.last
            };
            self.last.send_if_modified(|before| std::mem::replace(before, last) != last);
        }
    }
}

impl News {
    /// Begins anew, behind an event.
    fn begin(&mut self, seq: u64) {
        let last = self.last;
        *self = Self { is_followed: true, seq, base: seq, last, ..Self::default() };
    }

    /// Makes a frame of what has changed, if something has.
    fn close(&mut self) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        let mut open = std::mem::take(&mut self.open);
        if open.tasks.len() > TASKS {
            open = Changed { reset: true, ..Changed::default() };
        }
        self.last += 1;
        let text: Arc<str> = serde_json::to_string(&open).unwrap_or_default().into();
        self.bytes += text.len();
        self.frames.push_back(Frame { number: self.last, seq: self.seq, text });
        while self.frames.len() > FRAMES || self.bytes > FRAME_BYTES {
            let Some(frame) = self.frames.pop_front() else { return };
            self.bytes -= frame.text.len();
            self.base = frame.seq;
        }
    }
}

impl Changed {
    fn take(&mut self, kind: Kind) {
        use TaskStatus::{Completed, Failed, InProgress, Pending, Skipped};
        let is_line = matches!(kind, Kind::TaskOutput { .. } | Kind::TaskActivity { .. });
        self.more |= !is_line;
        let (task, status, attempt, counts) = match kind {
            Kind::TaskOutput { task, text } => {
                self.lines.insert(task, text);
                return;
            }
            Kind::TaskStarted { task, attempt, counts, .. } => (task, InProgress, Some(attempt), counts),
            Kind::TaskCompleted { task, counts, .. } => (task, Completed, None, counts),
            Kind::TaskFailed { task, again, counts, .. } => (task, if again { Pending } else { Failed }, None, counts),
            Kind::TaskInterrupted { task, counts } => (task, Pending, None, counts),
            Kind::TaskSkipped { task, counts, .. } => (task, Skipped, None, counts),
            Kind::TasksReset { tasks, counts } | Kind::Returned { tasks, counts } => {
                self.counts = Some(counts);
                self.tasks.extend(tasks.into_iter().map(|task| (task, (Pending as u8, None))));
                return;
            }
            Kind::TasksAdded { .. } | Kind::PlanChanged { .. } => {
                self.reset = true;
                return;
            }
            Kind::RunStarted { counts, .. } | Kind::RunFinished { counts } => {
                self.counts = Some(counts);
                return;
            }
            _ => return,
        };
        self.counts = Some(counts);
        self.lines.remove(&task);
        self.tasks.insert(task, (status as u8, attempt));
    }
}

/// A reader of the changes.
pub(crate) struct Reader {
    watched: Arc<Watched>,
    last: watch::Receiver<u64>,
}

impl Reader {
    /// The name of the run.
    pub(crate) fn run(&self) -> &str {
        &self.watched.known.run
    }

    /// The number of the last frame.
    pub(crate) fn now(&self) -> u64 {
        self.watched.news().last
    }

    /// The number of the last frame that a reader has for certain who knows all events up to this one; nothing if later ones are not kept.
    pub(crate) fn knows(&self, seq: u64) -> Option<u64> {
        let news = self.watched.news();
        let before_all = news.last - news.frames.len() as u64;
        // An action that is no event has the number of the event before it, so that one is sent once more.
        let known = news.frames.iter().take_while(|frame| frame.seq < seq).last();
        (seq >= news.base).then(|| known.map_or(before_all, |frame| frame.number))
    }

    /// The frames behind a number; nothing if they are not all kept.
    pub(crate) fn after(&self, number: u64) -> Option<Vec<Frame>> {
        let news = self.watched.news();
        let before_all = news.last - news.frames.len() as u64;
        (number >= before_all).then(|| news.frames.iter().filter(|frame| frame.number > number).cloned().collect())
    }

    /// Waits until there is another frame.
    pub(crate) async fn changed(&mut self) {
        // The sender lives as long as the run that this holds.
        self.last.changed().await.ok();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.watched.touch();
        self.watched.readers.fetch_sub(1, Ordering::Relaxed);
    }
}
