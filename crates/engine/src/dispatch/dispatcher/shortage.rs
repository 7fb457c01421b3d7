//! Messages when fewer workers run than were chosen.

use std::path::PathBuf;

use team_executor_agents::Lack;
use team_executor_core::run::{AT_FIRST, ErrorClass, Event, Outcome, Run};
use team_executor_store::file_system;

use super::desk::RealDesk;
use crate::event;

impl RealDesk<'_> {
    /// What an attempt came to. One that failed while the disk is full may have failed for that, so it spends no retry, and the
    /// run stops until there is room.
    pub(super) fn unless_full(&mut self, outcome: Outcome) -> Outcome {
        let error = match &outcome {
            Outcome::Failed { class: ErrorClass::Transient | ErrorClass::Rejected | ErrorClass::Fatal, error }
            | Outcome::TimedOut { error }
            | Outcome::CouldNotStart { error } => error,
            _ => return outcome,
        };
        let temporary = std::env::temp_dir();
        let places = [&self.workspace.project, &self.at.path, &self.options.folder, &temporary];
        let is_full = |path: &&PathBuf| file_system(path).is_ok_and(|found| found.is_full());
        match places.into_iter().find(is_full) {
            None => outcome,
            Some(path) => {
                self.is_full = true;
                let error = format!("the disk of {} is full: {error}", path.display());
                Outcome::Failed { class: ErrorClass::Shortage, error }
            }
        }
    }

    /// Says once that there are fewer workers, why, and what helps.
    pub(super) fn tell_shortage(&mut self, rules: &Run, event: &Event) {
        let Event::Failed { class: ErrorClass::Shortage, error, .. } = event else { return };
        if rules.halt().is_some() || std::mem::replace(&mut self.told_shortage, true) {
            return;
        }
        let most = rules.most_workers();
        let workers = if most == 1 { "worker" } else { "workers" };
        let why = system_words(error);
        let help = format!("help: `ulimit -n` and `ulimit -u` show and set the limits; -c {most} stays within them");
        (self.tell)(event::warning(format!("only {most} {workers} at once from now on: {why}; {help}")));
    }

    /// Says once that the command which judges an attempt waits, and why.
    pub(super) fn tell_check_waits(&mut self, rules: &Run, slot: usize, reason: &str, lack: Lack) {
        if lack == Lack::Room {
            self.is_full = true;
        } else if let Some(work) = rules.in_slot(slot)
            && !std::mem::replace(&mut self.told_shortage, true)
        {
            let (task, why) = (self.id(work.task).to_owned(), system_words(reason));
            let help = "help: `ulimit -n` and `ulimit -u` show and set the limits";
            (self.tell)(event::warning(format!("{task}: its check waits until it can start: {why}; {help}")));
        }
    }

    /// Says once that few start before it is known what they use.
    pub(super) fn tell_at_first(&mut self, rules: &Run) {
        if !self.told_at_first && rules.must_learn() {
            self.told_at_first = true;
            let why = "there is a budget, and the cost of an attempt is known only when the first one ends";
            (self.tell)(event::warning(format!("only {AT_FIRST} workers at first: {why}")));
        }
    }
}

/// What the system said, of an error that ends with its words and its number.
fn system_words(error: &str) -> String {
    let said = error.rsplit(": ").next().unwrap_or_default();
    said.split(" (os error").next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_system_are_found_at_the_end_of_an_error() {
        let error = std::io::Error::from_raw_os_error(24);
        let error = format!("could not start: cannot write a prompt in /a: b: {error}");
        assert_eq!(system_words(&error), "too many open files");
    }
}
