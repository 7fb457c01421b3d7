//! The keeper: a small process of one thread that runs one worker at a time and answers for its whole tree. It outlives
//! the executor just long enough to end that tree and to write down how it ended.
//!
//! It is a session of its own, so no key pressed in a terminal reaches it; it takes over whatever its workers leave
//! behind; and it notices the death of the executor by the end of its input. It decides nothing: which worker, which limits
//! and which environment are the executor's business.

mod custody;
mod folders;
mod lifeline;
mod run;
mod tree;

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, set_child_subreaper, set_parent_process_death_signal, setsid};

use crate::capture::CHUNK;
use crate::cgroup::Cgroup;
use crate::ledger::Ledger;
use crate::oom::Score;
use crate::protocol::{Answer, Assignment, Request, encode};
use crate::unix::Spawner;
use folders::Folders;
use lifeline::Lifeline;
use run::Keeper;

/// The argument that makes the program a keeper. The next one names its ledger; one more may name its cgroup.
pub const ARGUMENT: &str = "__keeper";

/// Runs workers until the executor closes the keeper or is gone. What it needs is inherited: requests come in by standard
/// input, answers go out by standard output.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(2);
    let Some(Ok(ledger)) = arguments.next().map(|path| Ledger::create(Path::new(&path))) else {
        return ExitCode::FAILURE;
    };
    let cgroup = arguments.next().and_then(|path| Cgroup::named(Path::new(&path)));
    // One that cannot be entered is done without. Entering takes long, and here nobody waits for it but this keeper.
    let cgroup = cgroup.filter(|cgroup| cgroup.take(std::process::id()).is_ok());
    if set_child_subreaper(Some(rustix::process::getpid())).is_err() {
        // Without this a worker could leave processes behind that nobody ends.
        return ExitCode::FAILURE;
    }
    // It leads a group already when it was started by a shell; the terminal is then the shell's business.
    let _already_leads = setsid();
    // A signal that ended the keeper would leave the tree alone. This one only wakes it, should it have been stopped.
    let _second_line = set_parent_process_death_signal(Some(Signal::CONT));
    let mut lifeline = Lifeline::new();
    let (folders, score, buffer) = (Folders::default(), Score::open(), vec![0; CHUNK]);
    let spawner = Spawner::new();
    let mut keeper = Keeper { ledger, cgroup: cgroup.as_ref(), folders, score, spawner, buffer };
    let mut last: Option<Box<Assignment>> = None;
    while let Some(request) = lifeline.next() {
        let assignment = match (request, last.take()) {
            (Request::Run(assignment), _) => assignment,
            (Request::Next(difference), Some(mut last)) if last.key == difference.after => {
                last.with(*difference);
                last
            }
            // An executor that thinks of another one is not understood.
            (Request::Next(_), _) => return ExitCode::FAILURE,
            // It ended in the meantime.
            (Request::End { .. }, before) => {
                last = before;
                continue;
            }
            (Request::Close {}, _) => return ExitCode::SUCCESS,
        };
        keeper.run(&assignment, &mut lifeline);
        last = Some(assignment);
    }
    drop(keeper);
    // Nobody else is left to remove it.
    match cgroup.map_or(Ok(()), Cgroup::leave) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Tells the executor. That it does not hear is noticed by the lifeline.
fn answer(answer: &Answer) {
    if let Ok(line) = encode(answer) {
        let mut out = io::stdout().lock();
        let _unheard = out.write_all(&line).and_then(|()| out.flush());
    }
}

/// Tells the executor only if it listens now: a stopped executor must not stop the keeper.
fn answer_if_heard(message: &Answer) {
    let out = io::stdout();
    let out = out.as_fd();
    let mut ready = [PollFd::new(&out, PollFlags::OUT)];
    if matches!(poll(&mut ready, Some(&Timespec::default())), Ok(1..)) && ready[0].revents().contains(PollFlags::OUT) {
        answer(message);
    }
}
