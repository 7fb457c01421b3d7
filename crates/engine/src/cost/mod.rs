//! What attempts used, what that costs, and when a budget ends them.

pub mod budget;
pub mod prices;
pub mod usage;
