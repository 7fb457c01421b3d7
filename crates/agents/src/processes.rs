//! The processes of this machine as `/proc` shows them at one moment. It only looks: who is to be signalled is decided
//! elsewhere, and only where a number cannot mean another process by then.

#![expect(clippy::disallowed_methods, reason = "files of the kernel and of the machine, none of a run")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::{Pid, Signal};

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its number.
    pub(crate) pid: Pid,
    /// Who started it, or who took it over.
    pub(crate) parent: i32,
    /// Its process group.
    pub(crate) group: i32,
    /// Its session.
    pub(crate) session: i32,
    /// It has ended and only waits to be asked how.
    pub(crate) ended: bool,
}

/// All processes that can be seen.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    names.filter_map(one).collect()
}

/// One process, if there is one of this number.
pub(crate) fn one(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

/// Whether a process handles, ignores or blocks a signal. One that cannot be seen may.
pub(crate) fn has_plans_for(pid: Pid, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", number(pid))).unwrap_or_default();
    let signals = |name: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    };
    let bit = 1 << (signal.as_raw() - 1);
    ["SigCgt", "SigIgn", "SigBlk"].iter().any(|name| signals(name).is_none_or(|mask| mask & bit != 0))
}

/// Those that a process started or took over. What is asked about ourselves is exact: only we can forget a child.
pub(crate) fn children(of: Pid) -> Vec<Process> {
    let of = number(of);
    match named_children(of) {
        Some(pids) => pids.into_iter().filter_map(one).collect(),
        None => all().into_iter().filter(|process| process.parent == of).collect(),
    }
}

/// Those below a process, at any depth.
pub(crate) fn below(of: Pid) -> Vec<Process> {
    if named_children(number(of)).is_none() {
        let mut all = all();
        let below = descendants(&all, &[of]);
        all.retain(|process| below.contains(&number(process.pid)));
        return all;
    }
    let mut found = BTreeMap::new();
    let mut waiting = vec![of];
    while let Some(pid) = waiting.pop() {
        for child in children(pid) {
            if found.insert(number(child.pid), child).is_none() {
                waiting.push(child.pid);
            }
        }
    }
    found.into_values().collect()
}

/// The children of a process by what its threads name as theirs: that takes no look at all the others. Nothing where the
/// kernel does not tell.
fn named_children(of: i32) -> Option<Vec<i32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(names) => children.extend(names.split_ascii_whitespace().filter_map(|name| name.parse::<i32>().ok())),
            Err(_) if !thread.path().exists() => {} // it has ended since
            Err(_) => return None,
        }
    }
    Some(children)
}

/// Those of the given processes that are below some of them, at any depth; the given ones are not among them.
pub(crate) fn descendants(processes: &[Process], of: &[Pid]) -> BTreeSet<i32> {
    let mut below: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in processes {
        below.entry(process.parent).or_default().push(number(process.pid));
    }
    let mut found = BTreeSet::new();
    let mut waiting: Vec<i32> = of.iter().map(|pid| number(*pid)).collect();
    while let Some(pid) = waiting.pop() {
        // A number that was given to a new process while we looked could close a circle.
        waiting.extend(below.remove(&pid).into_iter().flatten().filter(|child| found.insert(*child)));
    }
    found
}

/// The number of a process.
pub(crate) fn number(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

/// Reads `pid (name) state parent group session …`; the name may hold anything, also parentheses and line ends.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let ended = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    Some(Process { pid: Pid::from_raw(pid)?, parent, group, session, ended })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Child, Command, Stdio};

    use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process, waitid};

    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid: Pid::from_raw(pid).unwrap(), parent, group: pid, session: pid, ended: false }
    }

    #[test]
    fn a_name_cannot_forge_the_fields_behind_it() {
        let read = parse(7, "7 (a) Z 1 1 (b) S 5 6 6 0 -1 4194304").unwrap();
        assert_eq!(read, Process { group: 6, session: 6, ..process(7, 5) });
        assert!(parse(7, "7 (a) Z 5 7 7").unwrap().ended);
        for text in ["", "7 (a)", "7 (a) S", "7 (a) S x 1", "7 (a) S 1 x", "7 (a) S 1 1"] {
            assert_eq!(parse(7, text), None, "{text}");
        }
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_circles_end() {
        let chain: Vec<_> = (2..100_000).map(|pid| process(pid, pid - 1)).collect();
        assert_eq!(descendants(&chain, &[Pid::from_raw(99_000).unwrap()]).len(), 999);
        let circle = [process(2, 3), process(3, 2)];
        assert_eq!(descendants(&circle, &[Pid::from_raw(2).unwrap()]), [2, 3].into());
    }

    /// A shell that has started a child.
    fn shell() -> Child {
        let mut shell = Command::new("/bin/sh");
        let mut shell = shell.args(["-c", "sleep 60 & echo; wait"]).stdout(Stdio::piped()).spawn().unwrap();
        shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        shell
    }

    #[test]
    fn children_of_all_threads_are_found_also_ended() {
        let me = rustix::process::getpid();
        let mut shells = [shell(), std::thread::spawn(shell).join().unwrap()];
        let pids = shells.each_ref().map(Pid::from_child);
        let sleeps: Vec<_> = pids.iter().flat_map(|pid| children(*pid)).collect();
        assert_eq!(sleeps.len(), 2);
        let is_sleep = |process: &Process| sleeps.contains(process);
        assert_eq!(below(me).iter().filter(|process| is_sleep(process)).count(), 2);
        shells[0].kill().unwrap();
        waitid(WaitId::Pid(pids[0]), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        let of_test = |found: Vec<Process>| {
            let ours = found.into_iter().filter(|process| pids.contains(&process.pid));
            ours.map(|process| (number(process.pid), process)).collect::<BTreeMap<_, _>>()
        };
        let found = of_test(children(me));
        assert_eq!((found.len(), found[&number(pids[0])].ended), (2, true));
        assert_eq!(found, of_test(all()), "as a scan of all processes sees it");
        for sleep in sleeps {
            kill_process(sleep.pid, Signal::KILL).unwrap();
        }
        shells.iter_mut().for_each(|shell| assert!(shell.wait().is_ok()));
    }

    #[test]
    fn plans_for_a_signal_are_seen_and_suspected_where_nothing_is() {
        let shell = |script: &str| {
            let mut shell = Command::new("/bin/sh");
            let mut shell = shell.args(["-c", script]).stdout(Stdio::piped()).stdin(Stdio::piped()).spawn().unwrap();
            shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            let plans = has_plans_for(Pid::from_child(&shell), Signal::TERM);
            drop(shell.stdin.take());
            shell.wait().unwrap();
            (plans, has_plans_for(Pid::from_child(&shell), Signal::TERM))
        };
        assert_eq!(shell("echo; read -r _"), (false, true));
        assert_eq!(shell("trap 'exit 0' TERM; echo; read -r _"), (true, true));
        assert_eq!(shell("trap '' TERM; echo; read -r _"), (true, true));
    }

    #[test]
    fn this_process_is_among_all() {
        let me = rustix::process::getpid();
        let found = all().into_iter().find(|process| process.pid == me).unwrap();
        assert_eq!(Some(found.parent), rustix::process::getppid().map(number));
    }
}
