//! The keeper: a small process of one thread that runs one worker at a time and answers for its whole tree. It outlives
//! the executor just long enough to end that tree and to write down how it ended.
//!
//! It is a session of its own, so no key pressed in a terminal reaches it; it takes over whatever its workers leave
//! behind; and it notices the death of the executor by the end of its input. It decides nothing: which worker, which limits
//! and which environment are the executor's business.

mod copies;
mod custody;
mod folders;
mod lifeline;
mod run;
mod tree;

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, set_child_subreaper, set_parent_process_death_signal, setsid};
use team_executor_beneath::Near;

use crate::capture::CHUNK;
use crate::cgroup::Cgroup;
use crate::exit::{Ended, Exit, Obstacle};
use crate::ledger::Ledger;
use crate::oom::Score;
use crate::privacy::conceal;
use crate::protocol::{Assignment, KeeperMessage, Request, encode};
use crate::unix::{Ends, Spawner, outlive_large_files};
pub use copies::unfinished_copy;
pub(crate) use folders::remove_left;
pub(crate) use run::complete;

use folders::Folders;
use lifeline::Lifeline;
use run::Keeper;

/// The argument that makes the program a keeper. The next one names its ledger; one more may name its cgroup.
pub const ARGUMENT: &str = "__keeper";
/// The exit code of a keeper that could not end its worker, or something that this started.
pub(crate) const GAVE_UP: u8 = 3;

/// Runs workers until the executor closes the keeper or is gone. What it needs is inherited: requests come in by standard
/// input, answers go out by standard output.
pub fn main() -> ExitCode {
    outlive_large_files();
    let mut arguments = std::env::args_os().skip(2);
    let Some(path) = arguments.next().map(PathBuf::from) else { return ExitCode::FAILURE };
    // A signal that ended the keeper would leave the tree alone. This one only wakes it, should it have been stopped.
    let _second_line = set_parent_process_death_signal(Some(Signal::CONT));
    let mut talk = Talk { lifeline: Lifeline::new(), waiting: None };
    let ledger = match talk.ledger_at(&path) {
        Ok(ledger) => ledger,
        Err(end) => return end.code(),
    };
    let cgroup = arguments.next().and_then(|path| Cgroup::named(Path::new(&path)));
    // It may have begun in there. Else it enters, which takes long; one that cannot be entered is done without.
    let pid = std::process::id();
    let cgroup = cgroup.filter(|cgroup| cgroup.holds(pid) || cgroup.take(pid).is_ok());
    // Without these a worker could leave processes behind that never end.
    let (Ok(()), Ok(ends)) = (set_child_subreaper(Some(rustix::process::getpid())), Ends::watch()) else {
        return ExitCode::FAILURE;
    };
    // It leads a group already when it was started by a shell; the terminal is then the shell's business.
    let _already_leads = setsid();
    let (folders, score, buffer) = (Folders::new(&path), Score::open(), vec![0; CHUNK]);
    conceal(); // its own score could not be opened after that
    let mut spawner = Spawner::new();
    spawner.give_way();
    let (logs, inputs) = (Near::default(), Near::default());
    let mut keeper = Keeper { ledger, cgroup: cgroup.as_ref(), folders, logs, inputs, score, spawner, ends, buffer };
    let end = loop {
        match talk.next() {
            Ok(assignment) => {
                if keeper.run(&assignment, &mut talk.lifeline).is_err() {
                    break End::GaveUp;
                }
            }
            Err(end) => break end,
        }
    };
    drop(keeper);
    match cgroup {
        // No other process is left to remove it.
        Some(cgroup) if end == End::Alone => cgroup.leave().map_or(ExitCode::FAILURE, |()| end.code()),
        _ => end.code(),
    }
}

/// How the work of a keeper ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The executor needs it no more.
    Closed,
    /// The executor is gone.
    Alone,
    /// Its worker, or something that this started, cannot be ended.
    GaveUp,
}

impl End {
    fn code(self) -> ExitCode {
        match self {
            Self::Closed | Self::Alone => ExitCode::SUCCESS,
            Self::GaveUp => ExitCode::from(GAVE_UP),
        }
    }
}

/// What the executor asks for.
struct Talk {
    lifeline: Lifeline,
    /// One that was asked for and not begun.
    waiting: Option<Box<Assignment>>,
}

impl Talk {
    /// The attempt that is to run next.
    fn next(&mut self) -> Result<Box<Assignment>, End> {
        if let Some(assignment) = self.waiting.take() {
            return Ok(assignment);
        }
        while let Some(request) = self.lifeline.next() {
            match request {
                Request::Run(assignment) => return Ok(assignment),
                Request::End { .. } => {} // it ended in the meantime
                Request::Close {} => return Err(End::Closed),
            }
        }
        Err(End::Alone)
    }

    /// The keeper's ledger. Without one no worker starts: its outcome could not be found later.
    fn ledger_at(&mut self, path: &Path) -> Result<Ledger, End> {
        loop {
            let error = match Ledger::create(path) {
                Ok(ledger) => return Ok(ledger),
                Err(error) => error,
            };
            // An attempt is refused only if there was still none when it had come.
            if let Some(assignment) = self.waiting.take() {
                let ended = Ended::CouldNotStart(Obstacle::about("the keeper has no ledger", &error));
                let exit = Box::new(Exit::without_run(&assignment.key, ended, 0));
                answer(&KeeperMessage::Ended { exit, unrecorded: None });
            }
            self.waiting = Some(self.next()?);
        }
    }
}

/// Tells the executor. That it does not hear is noticed by the lifeline.
fn answer(answer: &KeeperMessage) {
    if let Ok(line) = encode(answer) {
        let mut out = io::stdout().lock();
        let _unheard = out.write_all(&line).and_then(|()| out.flush());
    }
}

/// Tells the executor only if it listens now: a stopped executor must not stop the keeper.
fn answer_if_heard(message: &KeeperMessage) {
    let out = io::stdout();
    let out = out.as_fd();
    let mut ready = [PollFd::new(&out, PollFlags::OUT)];
    if matches!(poll(&mut ready, Some(&Timespec::default())), Ok(1..)) && ready[0].revents().contains(PollFlags::OUT) {
        answer(message);
    }
}
