//! Starts no more workers than the machine's limit allows, which other runs share.

use team_executor_core::run::{Input, Work};

use super::Dispatcher;
use crate::dispatch::crew::{Crew, Job};
use crate::dispatch::desk::Desk;
use crate::dispatch::machine::{Machine, SeatNews};
use crate::event::{self, Event, Kind};
use crate::options::Failure;

impl<C: Crew, D: Desk> Dispatcher<'_, C, D> {
    /// The same under a limit that other runs share: nothing starts before a seat is free.
    #[must_use]
    pub(crate) fn within(mut self, machine: Option<Machine>) -> Self {
        if machine.is_some() {
            self.conductor.seat(0);
        }
        self.make_room();
        self.machine = machine;
        self
    }

    /// Starts no more workers than the crew has room for. Where it always has, the slots decide.
    pub(super) fn make_room(&mut self) {
        if let Some(room) = self.crew.room() {
            self.conductor.seat(room);
        }
    }

    /// Gives back what is not needed of the limit, asks for what is, and says when that takes long.
    pub(super) fn share(&mut self) -> Result<(), Failure> {
        let Some(machine) = &mut self.machine else { return Ok(()) };
        let lived = self.desk.lived();
        let waited = machine.waits;
        let seats = machine.share(self.conductor.rules(), lived);
        machine.waits |= machine.patience(lived).is_some_and(|left| left.is_zero());
        if machine.waits != waited {
            let (workers, waits) = (machine.most(), machine.waits);
            self.desk.tell(Event::live(Kind::MachineLimit { workers, waits }));
            self.desk.waits(waits.then_some(workers));
        }
        self.conductor.seat(seats);
        Ok(())
    }

    /// What became known about the limit.
    pub(super) fn seat(&mut self, news: SeatNews) -> Option<Input> {
        let machine = self.machine.as_mut()?;
        match news {
            SeatNews::Free(seat) => {
                let seats = machine.given(seat, self.conductor.rules());
                self.conductor.seat(seats);
                Some(Input::Woke { now: self.desk.now() })
            }
            SeatNews::Unusable(why) => {
                let words = format!("the limit of the machine cannot be kept, so nothing starts: {why}");
                self.desk.tell(event::warning(words));
                None
            }
        }
    }

    /// An attempt takes its seat.
    pub(super) fn sit(&mut self, slot: usize, work: Work) {
        if let Some(machine) = &mut self.machine {
            machine.take(slot, work);
        }
    }

    /// Starts what runs for the attempt in a slot, on its seat.
    pub(super) fn begin(&mut self, slot: usize, mut job: Job) -> Result<(), Failure> {
        let seat = self.machine.as_ref().and_then(|machine| machine.of(slot));
        job.assignment.seat = seat.map(std::path::Path::to_owned);
        self.crew.start(slot, job)
    }
}
