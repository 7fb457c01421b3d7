//! The dispatcher, and the seams at which others put a crew or a desk of their own: the simulator, and runs on many machines.

pub use crate::begin::hold::{Hold, Reopened};
pub use crate::dispatch::conductor::{Conductor, Happened};
pub use crate::dispatch::crew::{Crew, Job, Keys, Left, Travel, WorkerEnd, WorkerEvent};
pub use crate::dispatch::desk::{Desk, News, Next};
pub use crate::dispatch::dispatcher::{Beginning, Dispatcher, Scene, run_with};
pub use crate::dispatch::inbox;
pub use crate::dispatch::local_crew::LocalCrew;
pub use crate::prepare::newcomer::{Growth, Replanned};
