//! What the machine and the place of a project offer.

use std::path::Path;

use team_executor_agents::{abandoned, protections};
use team_executor_store::{changes_are_told, file_system, locks_work};

use super::Check;

/// Less room than this is soon used up by logs.
const LITTLE: u64 = 256 << 20;

/// Which protections of workers are active here.
pub fn machine() -> Vec<Check> {
    let found = protections();
    let mut checks = vec![
        Check::fine("lifeline", "a keeper notices the death of the executor by a pipe and ends its worker"),
        if found.subreaper {
            Check::fine(
                "subreaper",
                "a keeper ends what its workers leave behind, the executor what a killed keeper leaves",
            )
        } else {
            Check::bad("subreaper", "this kernel gives orphans only to init", "use Linux 3.4 or newer")
        },
        if found.parent_death_signal {
            Check::fine("death-signal", "a stopped keeper is woken when the executor dies")
        } else {
            Check::weak("death-signal", "a stopped keeper is not woken when the executor dies", "use Linux")
        },
        if found.pidfd {
            Check::fine("pidfd", "processes are held by descriptors, never by numbers that may be given away")
        } else {
            Check::weak("pidfd", "processes can only be named by numbers here", "use Linux 5.3 or newer")
        },
        match &found.cgroup {
            Some(home) => {
                let home = home.display();
                Check::fine(
                    "cgroup",
                    format!(
                        "each keeper has a cgroup below {home}; only a process that leaves it, clears its environment \
                         and kills keeper and executor outlives them"
                    ),
                )
            }
            None => Check::weak(
                "cgroup",
                "no cgroup can be made: if a keeper and the executor are killed, a process that hid itself stays",
                "start it as a user service: systemd-run --user --scope -p Delegate=yes team-executor …",
            ),
        },
    ];
    checks.extend(abandoned().iter().map(|path| left(path)));
    checks.push(if changes_are_told() {
        Check::fine("inotify", "the system reports file changes as they happen")
    } else {
        Check::weak(
            "inotify",
            "the system does not report file changes; team-executor polls for them",
            "sysctl fs.inotify.max_user_instances",
        )
    });
    checks
}

/// How the folder stands in which the runs of a project are.
pub fn place(project: &Path) -> Vec<Check> {
    let shown = project.display();
    let system = match file_system(project) {
        Err(error) => Check::bad("file-system", error.to_string(), format!("look at it with: df -T '{shown}'")),
        Ok(found) if found.is_network => Check::bad(
            "file-system",
            format!(
                "{shown} is on a network file system ({}), where a lock may not keep a second executor out",
                found.name.unwrap_or_default()
            ),
            "move the project to a local disk, or add --allow-network-fs if no other machine runs it",
        ),
        Ok(found) => Check::fine("file-system", format!("{shown} is on {}", found.name.unwrap_or("a local disk"))),
    };
    let room = file_system(project).ok().map(|found| {
        let says = format!("{} MiB are free", found.free >> 20);
        if found.free < LITTLE {
            Check::weak("room", says, format!("make room; a full disk stops a run: df -h '{shown}'"))
        } else {
            Check::fine("room", says)
        }
    });
    let locks = match locks_work(project) {
        Ok(true) => Check::fine("locks", "a lock keeps a second executor out"),
        Ok(false) => Check::bad(
            "locks",
            "a second lock was given: two executors could run one session",
            "move the project to a local disk",
        ),
        Err(error) => Check::bad("locks", error.to_string(), "move the project to a local disk"),
    };
    [system].into_iter().chain(room).chain([locks]).collect()
}

/// The leftovers of an executor that is gone.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
fn left(cgroup: &Path) -> Check {
    let shown = cgroup.display();
    let is_empty = std::fs::read_to_string(cgroup.join("cgroup.procs")).is_ok_and(|inside| inside.is_empty());
    if is_empty {
        Check::weak(
            "left-cgroup",
            format!("an executor that is gone left the empty cgroup {shown}"),
            "nothing: the next run removes it",
        )
    } else {
        Check::weak(
            "left-cgroup",
            format!("the executor of the keeper in {shown} is gone; it is ending its worker"),
            format!("wait a moment; should it stay: echo 1 > '{shown}/cgroup.kill'"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn every_check_has_words_and_a_problem_has_help() {
        let dir = tempfile::tempdir().unwrap();
        let checks: Vec<Check> = machine().into_iter().chain(place(dir.path())).collect();
        for name in
            ["lifeline", "subreaper", "death-signal", "pidfd", "cgroup", "inotify", "file-system", "room", "locks"]
        {
            assert_eq!(checks.iter().filter(|check| check.name == name).count(), 1, "{name}");
        }
        assert!(checks.iter().all(|check| (check.verdict == Verdict::Fine) == check.help.is_none()), "{checks:#?}");
        assert_eq!(place(&dir.path().join("none"))[0].verdict, Verdict::Bad);
    }
}
