//! The dispatcher, and the seams at which the simulator puts a crew and a desk of its own.

pub use crate::begin::hold::{Hold, Reopened};
pub use crate::dispatch::conductor::{Conductor, Happened};
pub use crate::dispatch::crew::{Crew, Job, Keys, WorkerEnd, WorkerEvent};
pub use crate::dispatch::desk::{Desk, News, Next};
pub use crate::dispatch::dispatcher::{Beginning, Dispatcher};
pub use crate::dispatch::inbox;
pub use crate::prepare::newcomer::{Growth, Replanned};
