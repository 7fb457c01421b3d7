//! The loop of a run: the rules decide inputs, the journal makes them durable, the crew and the desk carry them out.

pub(crate) mod conductor;
pub(crate) mod crew;
pub(crate) mod desk;
pub(crate) mod dispatcher;
pub(crate) mod following;
pub mod inbox;
pub(crate) mod local_crew;
pub(crate) mod machine;
pub(crate) mod signals;
pub(crate) mod watching;
