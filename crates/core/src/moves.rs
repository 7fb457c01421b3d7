//! The three state machines, each as one complete table. Whatever is not in its table is an [`IllegalMove`].

use crate::artifact::Validation;
use crate::session::SessionStatus;
use crate::task::TaskStatus;

/// A move that no table has, wherever it came from: the engine, a file, a command, a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{machine} cannot go from {from} to {to}")]
pub struct IllegalMove {
    /// `task`, `session` or `artifact`.
    pub machine: &'static str,
    /// The state that it is in.
    pub from: &'static str,
    /// The state that it was told to take.
    pub to: &'static str,
}

/// A state machine that is a table of moves.
pub trait Moves: Copy + PartialEq + Sized + 'static {
    /// What it is called in errors.
    const MACHINE: &'static str;
    /// Every legal move, and no other.
    const TABLE: &'static [(Self, Self)];

    /// The word of a state.
    fn name(self) -> &'static str;

    /// The new state, if the table has the move.
    fn moved(self, to: Self) -> Result<Self, IllegalMove> {
        if Self::TABLE.contains(&(self, to)) {
            Ok(to)
        } else {
            Err(IllegalMove { machine: Self::MACHINE, from: self.name(), to: to.name() })
        }
    }
}

impl Moves for TaskStatus {
    const MACHINE: &'static str = "task";
    const TABLE: &'static [(Self, Self)] = &[
        (Self::Pending, Self::Ready),        // its dependencies are met
        (Self::Pending, Self::Skipped),      // a dependency will never be met, or a person says so
        (Self::Ready, Self::InProgress),     // a worker is spawned
        (Self::InProgress, Self::Completed), // the worker reports success
        (Self::InProgress, Self::Failed),    // the worker reports failure, or runs out of time
        (Self::Failed, Self::Pending),       // retry, with one more attempt on the count
        (Self::Completed, Self::Pending),    // sent back by a reviewer or a person, or built on what was
        (Self::Skipped, Self::Pending),      // a person wants it after all, or what it waited for is done again
    ];

    fn name(self) -> &'static str {
        self.word()
    }
}

impl Moves for SessionStatus {
    const MACHINE: &'static str = "session";
    const TABLE: &'static [(Self, Self)] = &[
        (Self::Created, Self::Active),     // the first tasks are spawned
        (Self::Active, Self::Paused),      // a person or a checkpoint says so
        (Self::Paused, Self::Active),      // a person resumes
        (Self::Active, Self::Completed),   // all tasks are over
        (Self::Active, Self::Failed),      // nothing can be done any more
        (Self::Completed, Self::Archived), // put away
        (Self::Failed, Self::Archived),    // put away after a look
    ];

    fn name(self) -> &'static str {
        self.word()
    }
}

impl Moves for Validation {
    const MACHINE: &'static str = "artifact";
    const TABLE: &'static [(Self, Self)] = &[
        (Self::Pending, Self::Validating), // the checks start
        (Self::Validating, Self::Passed),  // it meets them
        (Self::Validating, Self::Failed),  // it does not
        (Self::Failed, Self::Pending),     // a fix is submitted
    ];

    fn name(self) -> &'static str {
        self.word()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of states, against a picture of the machine with one row a state.
    fn check<S: Moves + std::fmt::Debug>(states: &[S], picture: &[&str]) {
        let mut drawn = Vec::new();
        for from in states {
            let to: Vec<_> = states.iter().filter(|to| from.moved(**to).is_ok()).map(|to| to.name()).collect();
            drawn.push(format!("{} -> {}", from.name(), to.join(" ")).trim_end().to_owned());
            for to in states {
                if let Err(error) = from.moved(*to) {
                    assert_eq!(
                        error.to_string(),
                        format!("{} cannot go from {} to {}", S::MACHINE, from.name(), to.name())
                    );
                }
            }
        }
        assert_eq!(drawn, picture);
    }

    /// R: D-02
    #[test]
    fn the_moves_of_a_task_are_these_and_no_others() {
        check(
            TaskStatus::ALL,
            &[
                "pending -> ready skipped",
                "ready -> in_progress",
                "in_progress -> completed failed",
                "completed -> pending",
                "failed -> pending",
                "skipped -> pending",
            ],
        );
    }

    /// R: D-03
    #[test]
    fn the_moves_of_a_session_are_these_and_no_others() {
        check(
            SessionStatus::ALL,
            &[
                "created -> active",
                "active -> paused completed failed",
                "paused -> active",
                "completed -> archived",
                "failed -> archived",
                "archived ->",
            ],
        );
    }

    /// R: D-04
    #[test]
    fn the_moves_of_an_artifact_are_these_and_no_others() {
        check(
            Validation::ALL,
            &["pending -> validating", "validating -> passed failed", "passed ->", "failed -> pending"],
        );
    }
}
