//! What is seen of a run while it goes on: lines, a live view on a terminal, or events for programs.

mod board;
mod events;
pub(crate) mod keys;
mod lines;
mod painter;
mod screen;
mod spending;
mod steering;

pub(crate) use board::Board;
pub(crate) use events::{Event, Rehearsed, print as print_event, print_line};
pub(crate) use lines::line;
pub(crate) use painter::Painter;
pub(crate) use steering::Steered;

use std::time::Duration;

use team_executor_app::event::Event as RunEvent;

use crate::printer::Printer;
use screen::Screen;

/// One way to show a run.
pub(crate) enum Face {
    /// A line for each thing that happens.
    Lines,
    /// The same lines above a view that is kept up to date.
    Screen(Screen),
    /// A JSON object for each thing that happens, on standard output.
    Events,
}

impl Face {
    /// A live view of a run, on the standard error of a printer. Keys steer the run.
    pub(crate) fn screen(board: Board, run: Steered, printer: &Printer) -> std::io::Result<Self> {
        Screen::open(board, run, printer.has_colours()).map(Self::Screen)
    }

    /// Whether a key was pressed to leave the view.
    pub(crate) fn is_left(&self) -> bool {
        matches!(self, Self::Screen(screen) if screen.is_left())
    }

    /// Takes note of one thing that happened so long before the face was opened. Programs get all events alike.
    pub(crate) fn recall(&mut self, event: RunEvent, ago: Duration, printer: &mut Printer) -> std::io::Result<()> {
        match self {
            Self::Lines => Ok(()),
            Self::Screen(screen) => {
                screen.recall(event.kind, ago);
                Ok(())
            }
            Self::Events => print_line(&event, printer.out()),
        }
    }

    /// Shows one thing that happened.
    pub(crate) fn tell(&mut self, event: RunEvent, printer: &mut Printer) -> std::io::Result<()> {
        match self {
            Self::Lines => match lines::line(&event.kind, printer.width()) {
                Some(line) => printer.tell(line),
                None => Ok(()),
            },
            Self::Screen(screen) => {
                screen.tell(event.kind);
                Ok(())
            }
            Self::Events => print_line(&event, printer.out()),
        }
    }
}
