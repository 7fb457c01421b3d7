//! What this machine offers to keep worker trees in custody, for `doctor`.

use std::path::PathBuf;

use rustix::process::{PidfdFlags, child_subreaper, getpid, parent_process_death_signal, pidfd_open};

use crate::cgroup::Cgroup;

/// What keeps the process tree of a worker in custody here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protections {
    /// A keeper takes over whatever its workers leave behind.
    pub subreaper: bool,
    /// A keeper is woken when the executor dies, even if it was stopped.
    pub parent_death_signal: bool,
    /// Below this cgroup keepers get their own, so that nothing outlives even a killed keeper.
    pub cgroup: Option<PathBuf>,
    /// Processes are held by descriptors, not by numbers that may be given away.
    pub pidfd: bool,
}

/// Tries what this machine offers.
pub fn protections() -> Protections {
    let probe = Cgroup::create();
    let cgroup = probe.as_ref().and_then(|probe| probe.path().parent()).map(PathBuf::from);
    Protections {
        subreaper: child_subreaper().is_ok(),
        parent_death_signal: parent_process_death_signal().is_ok(),
        cgroup: probe.and_then(|probe| probe.remove().ok()).and(cgroup),
        pidfd: pidfd_open(getpid(), PidfdFlags::empty()).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_kernel_protections_are_found() {
        let found = protections();
        assert!(found.subreaper && found.parent_death_signal && found.pidfd, "{found:?}");
        assert_eq!(protections(), found);
    }
}
