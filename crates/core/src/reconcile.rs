//! x
/// x
#[derive(Debug)]
pub struct Change;
/// x
#[derive(Debug)]
pub struct Reconciliation;
