//! Follows the newest run of a session: its events from the journal, then as they happen.

use team_executor_engine::Event;
use team_executor_engine::event::{End, Subscription};

use crate::error::Error;
use crate::open::Opened;
use crate::status::unknown;
use crate::{App, escape};

/// The events of a run, as far as they were read.
#[derive(Debug)]
pub struct Followed<'a> {
    app: &'a App,
    opened: &'a Opened,
    events: Subscription<'a>,
}

impl App {
    /// The events of the newest run of a session from this number on; also those that are only live.
    pub fn subscribe<'a>(&'a self, opened: &'a Opened, from: u64, live: bool) -> Result<Followed<'a>, Error> {
        let (session, graph) = opened.runnable()?;
        let place = self.place(opened.named())?;
        let events =
            Subscription::open(session, graph, (&place.folder, &place.current), opened.run.as_deref(), (from, live));
        let events = events.map_err(|failure| unknown(&failure, &place, &opened.path))?;
        let events = events.ok_or_else(|| self.never_run(&escape::session(&opened.path)))?;
        Ok(Followed { app: self, opened, events })
    }
}

impl Followed<'_> {
    /// Tells what there is, and, if it follows, what comes, as long as an executor has the run. `take` gets each event, or nothing
    /// when there is no more for the moment, and says whether more is wanted.
    pub fn run(&mut self, follow: bool, take: &mut dyn FnMut(Option<Event>) -> bool) -> Result<End, Error> {
        let end = self.events.run(follow, take);
        let place = self.app.place(self.opened.named())?;
        end.map_err(|failure| unknown(&failure, &place, &self.opened.path))
    }

    /// The name of the run.
    pub fn run_name(&self) -> String {
        self.events.run_name()
    }

    /// The number with which the next event can begin.
    pub fn next(&self) -> u64 {
        self.events.last() + 1
    }
}
