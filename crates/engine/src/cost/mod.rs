//! What attempts used, what that costs, and when a budget ends them.

pub(crate) mod budget;
pub(crate) mod prices;
pub mod usage;
