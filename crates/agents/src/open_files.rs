//! How many files a process may have open. A keeper takes three of the executor's: with some hundred workers that is more than
//! most systems give a program at first, and far less than what they let it ask for.

use std::sync::LazyLock;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// What this process had before it asked for more, if it did.
static BEFORE: LazyLock<Option<Rlimit>> = LazyLock::new(|| {
    let own = getrlimit(Resource::Nofile);
    let most = Rlimit { current: own.maximum, maximum: own.maximum };
    (own.current != own.maximum && setrlimit(Resource::Nofile, most).is_ok()).then_some(own)
});

/// Lets this process open as many files as it may ask for.
pub(crate) fn raise() {
    LazyLock::force(&BEFORE);
}

/// Gives a child what this process had: its workers may reckon with that.
pub(crate) fn restore(child: Pid) {
    if let Some(before) = *BEFORE {
        let _else_it_has_more = prlimit(Some(child), Resource::Nofile, before);
    }
}
