//! What a killed keeper leaves becomes a child of the executor, which ends it: wherever it went and whatever it hid.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};

use crate::callers;
use crate::processes::{self, number};

/// How often it is looked at most; each time finds what the last one set free.
const ROUNDS: usize = 200;

/// Whether this process takes over what its keepers leave.
static TAKES_OVER: AtomicBool = AtomicBool::new(false);

/// From now on this process takes over what its keepers leave. For an executor: all of its children are keepers, or programs
/// in its own session that it waits for.
pub(crate) fn take_over() {
    if set_child_subreaper(Some(getpid())).is_ok() {
        TAKES_OVER.store(true, Ordering::Relaxed);
    }
}

/// Ends what keepers that are gone have left, if this process takes it over.
pub(crate) fn end() {
    if !TAKES_OVER.load(Ordering::Relaxed) {
        return;
    }
    // Not `getsid`: it answers 0 if the leader of our session is outside of our PID namespace, as in a container, and 0 is
    // no number of a process. Children in our session show the same 0.
    let Some(session) = processes::one(number(getpid())).map(|me| me.session) else { return };
    for _ in 0..ROUNDS {
        // A keeper begins a session of its own before it starts anything, and no process gets back into ours.
        let left = processes::children(getpid()).into_iter();
        let left = left.filter(|child| child.session != session && !callers::is_known(number(child.pid)));
        let left: Vec<_> = left.collect();
        if left.is_empty() {
            return;
        }
        for child in left {
            // It is our child, so its number is its own until it was waited for.
            let _gone_already = kill_process(child.pid, Signal::KILL);
            let _not_yet = waitpid(Some(child.pid), WaitOptions::NOHANG);
        }
        thread::sleep(Duration::from_millis(1));
    }
}
