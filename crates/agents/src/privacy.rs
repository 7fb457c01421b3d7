//! What other processes of the same user may see of this one. Workers are such processes, and the executor knows more than
//! they are told.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::orphans;

/// Keeps other processes of the user from reading the environment, the memory and the open files of this one, and from
/// attaching to it. Root can do so anyway. A program that this one starts is not concealed.
pub(crate) fn conceal() {
    // A kernel that does not do that runs the program as before.
    let _as_far_as_possible = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Guards an executor against its own workers: they cannot look into it, and what they leave when they kill their keeper
/// becomes its child, which it ends. One that runs in a worker of another is not concealed: it knows no more than that
/// worker, and if the other is killed it is found by its environment.
pub fn guard_executor(is_in_worker: bool) {
    if !is_in_worker {
        conceal();
    }
    orphans::take_over();
}
