//! How far a journal is durable, for threads that read it while it grows. The writer pays for one lock a commit, however many
//! read, and wakes them only if any of them waits.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::line::Seq;

/// Up to where a journal is durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// The number of the last record.
    pub seq: Seq,
    /// Where its line ends.
    pub bytes: u64,
}

/// How far a journal is durable, and a bell.
#[derive(Debug, Default)]
pub struct Tide {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct State {
    mark: Mark,
    /// How often the bell was rung for something else.
    rings: u64,
    waiting: u32,
    is_over: bool,
}

impl Tide {
    /// Everything up to here is durable now.
    pub fn rise(&self, mark: Mark) {
        self.change(|state| state.mark = mark);
    }

    /// Wakes readers for something that is not in the journal.
    pub fn ring(&self) {
        self.change(|state| state.rings = state.rings.wrapping_add(1));
    }

    /// Nothing comes any more: readers wait no longer.
    pub fn close(&self) {
        self.change(|state| state.is_over = true);
    }

    /// Up to where the journal is durable.
    pub fn mark(&self) -> Mark {
        self.lock().mark
    }

    /// Waits until more than these bytes are durable, the bell rings again, or this time is over. Says both; nothing at the end.
    pub fn wait(&self, bytes: u64, rings: u64, most: Duration) -> Option<(Mark, u64)> {
        let state = self.wait_while(most, |state| state.mark.bytes <= bytes && state.rings == rings);
        (!state.is_over).then_some((state.mark, state.rings))
    }

    /// Waits for this time, or for the end. Says whether that came.
    pub fn rest(&self, most: Duration) -> bool {
        self.wait_while(most, |_| true).is_over
    }

    fn wait_while(&self, most: Duration, go_on: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.waiting += 1;
        let waited = self.bell.wait_timeout_while(state, most, |state| !state.is_over && go_on(state));
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.waiting -= 1;
        state
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.bell.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn reader_wakes_for_durable_bytes_a_ring_and_the_end() {
        let tide = Arc::new(Tide::default());
        let reader = Arc::clone(&tide);
        let waiting = std::thread::spawn(move || {
            let risen = reader.wait(0, 0, LONG);
            let rung = reader.wait(7, 0, LONG);
            (risen, rung, reader.rest(LONG), reader.wait(7, 1, LONG))
        });
        let mark = Mark { seq: 1, bytes: 7 };
        tide.rise(mark);
        tide.ring();
        tide.close();
        let (risen, rung, is_over, after) = waiting.join().unwrap();
        // The end may come before the reader looks.
        assert!(risen.is_none_or(|(found, _)| found == mark) && rung.is_none_or(|(_, rings)| rings == 1));
        assert_eq!((is_over, after, tide.mark()), (true, None, mark));
    }

    #[test]
    fn nothing_new_is_waited_for_no_longer_than_asked() {
        let tide = Tide::default();
        assert_eq!(tide.wait(0, 0, Duration::ZERO), Some((Mark::default(), 0)));
        assert!(!tide.rest(Duration::ZERO));
    }
}
