//! How a view gets to its place: not at all if it is there already, else whole.

use team_executor_store::{Disk, Durability, ReplaceError, replace};

/// Replaces a file unless it says so already.
pub(crate) fn put<D: Disk>(disk: &D, name: &str, text: &str, durability: Durability) -> Result<(), ReplaceError> {
    if disk.read(name).is_ok_and(|bytes| bytes == text.as_bytes()) {
        return Ok(());
    }
    replace(disk, name, text.as_bytes(), durability)
}
