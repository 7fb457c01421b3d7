//! The processes of this machine as `/proc` shows them at one moment. It only looks: who is to be signalled is decided
//! elsewhere, and only where a number cannot mean another process by then.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::Pid;

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its number.
    pub(crate) pid: Pid,
    /// Who started it, or who took it over.
    pub(crate) parent: i32,
    /// Its process group.
    pub(crate) group: i32,
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

/// Those that a process started or took over.
pub(crate) fn children(of: Pid) -> Vec<Process> {
    let of = of.as_raw_nonzero().get();
    all().into_iter().filter(|process| process.parent == of).collect()
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

/// Reads `pid (name) state parent group …`; the name may hold anything, also parentheses and line ends.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let ended = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some(Process { pid: Pid::from_raw(pid)?, parent, group, ended })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid: Pid::from_raw(pid).unwrap(), parent, group: pid, ended: false }
    }

    #[test]
    fn a_name_cannot_forge_the_fields_behind_it() {
        let read = parse(7, "7 (a) Z 1 1 (b) S 5 6 6 0 -1 4194304").unwrap();
        assert_eq!(read, Process { group: 6, ..process(7, 5) });
        assert!(parse(7, "7 (a) Z 5 7 7").unwrap().ended);
        for text in ["", "7 (a)", "7 (a) S", "7 (a) S x 1", "7 (a) S 1 x"] {
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

    #[test]
    fn this_process_is_among_all() {
        let me = rustix::process::getpid();
        let found = all().into_iter().find(|process| process.pid == me).unwrap();
        assert_eq!(Some(found.parent), rustix::process::getppid().map(number));
    }
}
