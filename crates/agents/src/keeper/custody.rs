//! One worker in custody: its output is drained, its limits are watched, and its tree is ended when it is time. This is
//! one loop over everything that can happen, and it ends only when no process of the tree is left.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::process::{Pid, WaitStatus};

use super::lifeline::Lifeline;
use super::tree::Tree;
use super::{answer, answer_if_heard};
use crate::adapters::Ear;
use crate::capture::Capture;
use crate::exit::{Ended, Exit, Limit, Obstacle};
use crate::protocol::{Assignment, KeeperMessage, Limits, Request};
use crate::unix::Ends;

/// How long processes that a worker left behind have after being asked to end.
const LEFTOVERS: Duration = Duration::from_millis(200);
/// How often lines are sent to the screen.
const LINES: Duration = Duration::from_millis(250);
/// How long such a line may be.
const LINE: usize = 400;
/// How long a last line may be that is kept.
const KEPT_LINE: usize = 4096;
/// The longest wait without a look at what has ended.
const LOOK: Duration = Duration::from_secs(5);
/// How long a tree may live on after it was killed. The kernel ends it at once, unless a process waits for a device.
const GIVE_UP: Duration = Duration::from_secs(15);
/// The shortest and the longest wait between two looks while a tree is being ended.
const TICKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(16));

/// A worker in custody.
#[derive(Debug)]
pub(super) struct Custody<'a> {
    key: &'a str,
    limits: Limits,
    tree: Tree,
    /// Tells that a process of the tree has ended, if it is ours by then.
    ends: &'a Ends,
    /// Holds the worker's outputs open, so that its end wakes us once and not with each output that it closes.
    _outputs: [OwnedFd; 2],
    streams: [Capture; 2],
    started: Instant,
    heard: Option<Instant>,
    /// When it first printed something.
    printed: Option<Instant>,
    told: Option<Instant>,
    untold: Option<usize>,
    /// How much of what a known agent used was told, and when.
    counted: (Option<u64>, bool, Option<Instant>),
    /// How far it had got when it was heard last.
    steps: u64,
    leaked: usize,
    ending: Option<Ending>,
    /// It was noted that the worker itself has ended.
    noted: bool,
}

/// A tree that is being ended.
#[derive(Debug)]
struct Ending {
    /// None if the worker ended by itself.
    by_us: Option<Ended>,
    /// The worker may have chosen how it ends when it was asked to.
    may_choose: bool,
    kill_at: Instant,
    /// Since when it is killed.
    killed: Option<Instant>,
    tick: Duration,
}

/// What a worker started does not end, whatever its keeper does.
#[derive(Debug)]
pub(super) struct Unkillable;

/// Where something happened.
#[derive(Debug, Default)]
struct Ready {
    lifeline: bool,
    streams: [bool; 2],
}

impl<'a> Custody<'a> {
    /// Takes a worker that was just started.
    pub(super) fn new(
        assignment: &'a Assignment,
        worker: Pid,
        ends: &'a Ends,
        outputs: [OwnedFd; 2],
        streams: [Capture; 2],
        started: Instant,
    ) -> Self {
        Self {
            key: &assignment.key,
            limits: assignment.limits,
            tree: Tree::new(worker),
            ends,
            _outputs: outputs,
            streams,
            started,
            heard: None,
            printed: None,
            told: None,
            untold: None,
            counted: (None, false, None),
            steps: 0,
            leaked: 0,
            ending: None,
            noted: false,
        }
    }

    /// Keeps the worker until nothing of its tree is left, then completes what is known of it. If the worker itself ends
    /// earlier, that is noted first. Or says that it gives up.
    pub(super) fn keep(
        mut self,
        lifeline: &mut Lifeline,
        exit: &mut Exit,
        buffer: &mut [u8],
        note: &mut dyn FnMut(&Exit),
    ) -> Result<(), Unkillable> {
        // Input that came with the assignment is already read: nothing would wake us for it.
        self.obey(lifeline);
        while !self.tree.is_gone() {
            let Ready { lifeline: is_told, streams: ready } = self.wait(lifeline);
            let mut has_read = false;
            for (index, stream) in self.streams.iter_mut().enumerate() {
                if ready[index] && stream.read(buffer) {
                    has_read = true;
                    self.untold = Some(index);
                }
            }
            if has_read {
                let now = Instant::now();
                self.printed.get_or_insert(now);
                self.hear(now);
            }
            if is_told {
                lifeline.receive();
            }
            self.tree.reap();
            self.obey(lifeline);
            if !self.noted && self.tree.status().is_some() && !self.tree.is_gone() {
                self.streams.iter_mut().for_each(|stream| stream.catch_up(buffer));
                self.complete(exit);
                note(exit);
                self.noted = true;
            }
            self.advance(Instant::now())?;
            self.tell(Instant::now());
        }
        self.streams.iter_mut().for_each(|stream| stream.drain(buffer));
        self.complete(exit);
        Ok(())
    }

    /// Something was printed. Of a known agent, what it uses is told when that grows; to complain that its service does not
    /// answer is no sign of life.
    fn hear(&mut self, now: Instant) {
        let Some(heard) = self.streams[0].ear().map(Ear::stream) else {
            self.heard = Some(now);
            return;
        };
        if self.heard.is_none() || heard.steps > self.steps {
            (self.heard, self.steps) = (Some(now), heard.steps);
        }
        let (usage, (turns, goes_on, told)) = (&heard.usage, self.counted);
        let is_due = (usage.turns, usage.goes_on) != (turns, goes_on) || told.is_some_and(|told| now >= told + LINES);
        if is_due && usage.turns.is_some() {
            self.counted = (usage.turns, usage.goes_on, Some(now));
            answer(&KeeperMessage::Used { key: self.key.to_owned(), usage: Box::new(usage.clone()) });
        }
    }

    /// Completes what is known of the worker and its logs.
    fn complete(&mut self, exit: &mut Exit) {
        (exit.ended, exit.well) = self.ended();
        exit.last_line = self.streams[0].last_line().text(KEPT_LINE);
        [exit.out, exit.err] = self.streams.each_mut().map(Capture::finish);
        exit.leaked = self.leaked;
        let first = self.printed.map(|at| at.saturating_duration_since(self.started).as_millis());
        exit.first_output_ms = first.map(|first| u64::try_from(first).unwrap_or(u64::MAX));
        exit.ran_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    }

    /// Waits until something happens; says where.
    fn wait(&self, lifeline: &Lifeline) -> Ready {
        let mut fds = lifeline.fds();
        let told = fds.len();
        fds.push(PollFd::new(self.ends, PollFlags::IN));
        let first = fds.len();
        let open: Vec<_> = self.streams.iter().map(Capture::fd).collect();
        fds.extend(open.iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
        let timeout = self.timeout(Instant::now());
        let timeout = Timespec { tv_sec: timeout.as_secs().cast_signed(), tv_nsec: timeout.subsec_nanos().into() };
        if poll(&mut fds, Some(&timeout)).is_err() {
            return Ready::default();
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        if is_ready(&fds[told]) {
            self.ends.clear(); // before it is looked who has
        }
        let mut ready = fds[first..].iter().map(is_ready);
        Ready {
            lifeline: fds[..told].iter().any(is_ready),
            streams: [0, 1].map(|index| open[index].is_some() && ready.next().unwrap_or(false)),
        }
    }

    fn timeout(&self, now: Instant) -> Duration {
        let screen = self.untold.and(self.told).map(|told| told + LINES);
        let next = match &self.ending {
            Some(ending) if ending.killed.is_some() => Some(now + ending.tick),
            Some(ending) => Some(ending.kill_at.min(now + ending.tick)),
            None => self.deadlines().map(|(at, _)| at).into_iter().flatten().min(),
        };
        let next = [next, screen].into_iter().flatten().min();
        next.map_or(LOOK, |at| at.saturating_duration_since(now).min(LOOK))
    }

    /// When which limit is reached.
    fn deadlines(&self) -> [(Option<Instant>, Limit); 3] {
        let after = |since: Instant, ms: Option<u64>| ms.and_then(|ms| since.checked_add(Duration::from_millis(ms)));
        let first = if self.heard.is_none() { after(self.started, self.limits.first_output_ms) } else { None };
        let idle = self.heard.and_then(|heard| after(heard, self.limits.idle_ms));
        let total = after(self.started, self.limits.total_ms);
        [(total, Limit::Total), (first, Limit::FirstOutput), (idle, Limit::Idle)]
    }

    fn obey(&mut self, lifeline: &mut Lifeline) {
        while let Some(request) = lifeline.try_next() {
            match request {
                Request::End { key } if key == self.key => self.end(Ended::Stopped),
                Request::End { .. } => {}
                Request::Close {} => {
                    self.end(Ended::Stopped);
                    lifeline.close();
                }
                Request::Run(other) => refuse(&other.key),
            }
        }
        if lifeline.was_gone() {
            self.end(Ended::Interrupted);
        }
    }

    fn advance(&mut self, now: Instant) -> Result<(), Unkillable> {
        if self.ending.is_none() {
            let over = self.deadlines().into_iter().find(|(at, _)| at.is_some_and(|at| at <= now));
            if self.tree.status().is_some() && !self.tree.is_gone() {
                self.leaked = self.tree.count_others();
                self.begin_to_end(None, LEFTOVERS);
            } else if let Some((_, limit)) = over {
                self.end(Ended::Limit(limit));
            }
        }
        if let Some(ending) = &mut self.ending
            && !self.tree.is_gone()
        {
            ending.tick = (ending.tick * 2).min(TICKS.1);
            if now >= ending.kill_at {
                ending.tick = if ending.killed.is_some() { ending.tick } else { TICKS.0 };
                let killed = *ending.killed.get_or_insert(now);
                self.tree.kill();
                if now.saturating_duration_since(killed) > GIVE_UP {
                    return Err(Unkillable);
                }
            }
        }
        Ok(())
    }

    /// Ends a worker that runs; one that ended by itself has ended that way.
    fn end(&mut self, why: Ended) {
        if self.ending.is_some() {
            return;
        }
        self.tree.reap();
        if self.tree.status().is_none() {
            self.begin_to_end(Some(why), Duration::from_millis(self.limits.grace_ms.unwrap_or(0)));
        }
    }

    fn begin_to_end(&mut self, by_us: Option<Ended>, grace: Duration) {
        let now = Instant::now();
        let may_choose = by_us.is_some() && self.tree.may_choose_its_end();
        self.tree.ask_to_end();
        let kill_at = now.checked_add(grace).unwrap_or(now);
        self.ending = Some(Ending { by_us, may_choose, kill_at, killed: None, tick: TICKS.0 });
    }

    fn tell(&mut self, now: Instant) {
        let Some(index) = self.untold else { return };
        if self.told.is_none_or(|told| now >= told + LINES) {
            if let Some(text) = self.streams[index].last_line().text(LINE) {
                answer_if_heard(&KeeperMessage::Line { key: self.key.to_owned(), text });
            }
            self.told = Some(now);
            self.untold = None;
        }
    }

    /// How it ended; and whether that was with code 0 though it was stopped. A worker that cannot choose its end is killed by
    /// the signal: if it has a code, it had ended before the signal came.
    fn ended(&self) -> (Ended, bool) {
        let status = self.tree.status();
        let code = status.and_then(WaitStatus::exit_status);
        let by_itself = || {
            let signal = status.and_then(WaitStatus::terminating_signal);
            code.map(Ended::Exit).or(signal.map(Ended::Signal)).unwrap_or(Ended::Interrupted)
        };
        match &self.ending {
            Some(Ending { by_us: Some(why), may_choose, .. }) if *may_choose || code.is_none() => {
                (why.clone(), code == Some(0) && matches!(why, Ended::Stopped | Ended::Interrupted))
            }
            _ => (by_itself(), false),
        }
    }
}

/// One worker at a time.
fn refuse(key: &str) {
    let ended = Ended::CouldNotStart(Obstacle::new("the keeper has a worker already"));
    let exit = Box::new(Exit::without_run(key, ended, 0));
    answer(&KeeperMessage::Ended { exit, unrecorded: Some("the attempt was not started".to_owned()) });
}
