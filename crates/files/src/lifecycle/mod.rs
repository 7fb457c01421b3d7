//! x
use crate::draft::Draft;
use crate::reading::Reading;
/// x
pub fn read(_: &mut Reading<'_>) -> Option<Draft> {
    None
}
