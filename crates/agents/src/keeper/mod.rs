//! The keeper: a small process of one thread that runs one worker at a time and answers for its whole tree. It outlives
//! the executor just long enough to end that tree and to write down how it ended.
//!
//! It is a session of its own, so no key pressed in a terminal reaches it; it takes over whatever its workers leave
//! behind; and it notices the death of the executor by the end of its input. It decides nothing: which worker, which limits
//! and which environment are the executor's business.

mod custody;
mod lifeline;
mod run;
mod tree;

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, set_child_subreaper, set_parent_process_death_signal, setsid};

use crate::cgroup::Cgroup;
use crate::protocol::{Answer, Request, encode};
use lifeline::Lifeline;

/// The argument that makes the program a keeper; the next one may name the keeper's cgroup.
pub const ARGUMENT: &str = "__keeper";

/// Runs workers until the executor closes the keeper or is gone. What it needs is inherited: requests come in by standard
/// input, answers go out by standard output.
pub fn main() -> ExitCode {
    let cgroup = std::env::args_os().nth(2).and_then(|path| Cgroup::named(Path::new(&path)));
    if set_child_subreaper(Some(rustix::process::getpid())).is_err() {
        // Without this a worker could leave processes behind that nobody ends.
        return ExitCode::FAILURE;
    }
    // It leads a group already when it was started by a shell; the terminal is then the shell's business.
    let _already_leads = setsid();
    // A signal that ended the keeper would leave the tree alone. This one only wakes it, should it have been stopped.
    let _second_line = set_parent_process_death_signal(Some(Signal::CONT));
    let mut lifeline = Lifeline::new();
    while let Some(request) = lifeline.next() {
        match request {
            Request::Run(assignment) => run::run(&assignment, cgroup.as_ref(), &mut lifeline),
            // It ended in the meantime.
            Request::End { .. } => {}
            Request::Close {} => return ExitCode::SUCCESS,
        }
    }
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
