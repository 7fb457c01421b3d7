//! x
/// x
#[derive(Debug)]
pub struct Plan;
