//! What workers deliver: found when a worker ended, hashed, checked, registered, and looked at again later.
//!
//! Reading order: `places` (where an artifact may be), `checks` (what can be demanded), `collect` (what an
//! attempt delivered), `examine` with `schema` (the checks that need no program), `registry` with `log` (what
//! is known of all artifacts of a run, and the rules that they keep together), `checker` (the thread that
//! does all of it), `inventory` (for readers), `quarantine` (what earlier attempts left).

mod checker;
pub(crate) mod checks;
mod collect;
mod examine;
pub(crate) mod inventory;
mod kind;
mod log;
mod places;
pub(crate) mod quarantine;
mod registry;
mod schema;

pub(crate) use checker::Checker;
pub use checker::Looked;
pub use checks::{Checks, Demands, Verify};
pub(crate) use collect::{Delivered, Others};
pub use inventory::{Fault, Past, Shelf, Shelved};
pub use places::Place;
pub(crate) use places::Roots;
pub(crate) use registry::Registry;
pub use schema::usable;
pub(crate) use schema::{compiled, departures};

/// In the folder of a run: what workers deliver.
pub(crate) const FOLDER: &str = "artifacts";
