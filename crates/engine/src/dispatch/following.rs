//! Progress of running workers: of known agents from their growing logs, of all from our own tools.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use team_executor_agents::adapters::{Adapter, Ear, Stream};
use team_executor_beneath::open_regular;
use team_executor_core::run::Work;

use crate::clock;
use crate::event::Activity;

/// The most that is read at once; the rest is read the next time.
const PIECE: u64 = 1 << 20;

/// The agents that are listened to, by their slots.
#[derive(Debug, Default)]
pub(crate) struct Following {
    slots: BTreeMap<usize, Followed>,
    /// How far workers say that they are, by our own tools, by their slots.
    progress: BTreeMap<usize, String>,
}

#[derive(Debug)]
struct Followed {
    work: Work,
    log: PathBuf,
    position: u64,
    ear: Ear,
    /// What was told last.
    line: String,
    activity: Activity,
}

impl Following {
    /// Listens to an attempt that starts in a slot, or to none.
    pub(crate) fn begin(&mut self, slot: usize, work: Work, agent: Option<(Adapter, PathBuf)>) {
        self.slots.remove(&slot);
        self.progress.remove(&slot);
        self.slots.extend(agent.map(|(adapter, log)| {
            let (line, activity) = (String::new(), Activity::default());
            (slot, Followed { work, log, position: 0, ear: Ear::new(adapter), line, activity })
        }));
    }

    /// Whether this attempt in this slot is listened to.
    pub(crate) fn knows(&self, slot: usize, work: Work) -> bool {
        self.slots.get(&slot).is_some_and(|followed| followed.work == work)
    }

    /// What the agent in a slot has said so far, if it has said more. A log that cannot be read says nothing.
    pub(crate) fn news(&mut self, slot: usize) -> Option<&Stream> {
        let followed = self.slots.get_mut(&slot)?;
        let mut bytes = Vec::new();
        let mut log = open_regular(&followed.log).ok()?;
        log.seek(SeekFrom::Start(followed.position)).ok()?;
        let count = log.take(PIECE).read_to_end(&mut bytes).ok()?;
        if count == 0 {
            return None;
        }
        followed.position += count as u64;
        followed.ear.feed(&bytes, u64::try_from(clock::now().as_micros() / 1000).unwrap_or(0));
        Some(followed.ear.stream())
    }

    /// Whether a line was not the last that was told.
    pub(crate) fn is_new_line(&mut self, slot: usize, line: &str) -> bool {
        self.slots.get_mut(&slot).is_some_and(|followed| {
            let is_new = followed.line != line;
            line.clone_into(&mut followed.line);
            is_new
        })
    }

    /// Whether what an agent uses is not the last that was told.
    pub(crate) fn is_new(&mut self, slot: usize, activity: &Activity) -> bool {
        self.slots.get_mut(&slot).is_some_and(|followed| {
            let is_new = followed.activity != *activity;
            followed.activity = activity.clone();
            is_new
        })
    }

    /// The worker in a slot says how far it is. Whether that is new.
    pub(crate) fn progressed(&mut self, slot: usize, words: &str) -> bool {
        self.progress.insert(slot, words.to_owned()).as_deref() != Some(words)
    }

    /// How far the worker in a slot says that it is, by our own tools.
    pub(crate) fn progress(&self, slot: usize) -> Option<&str> {
        self.progress.get(&slot).map(String::as_str)
    }

    /// What the agent in a slot has said so far, as far as it was read.
    pub(crate) fn stream(&self, slot: usize) -> Option<&Stream> {
        self.slots.get(&slot).map(|followed| followed.ear.stream())
    }
}
