//! When memory runs out, the kernel should end a worker, which is tried again, and not the keeper that answers for it.

use std::fs;

/// How much rather than its keeper a worker is ended, in thousandths of all memory.
const MORE: i32 = 200;
/// The most that the kernel takes.
const MOST: i32 = 1000;

/// Makes a process, and all that it will start, the one to end before this one. Where that is not allowed, nothing changes.
pub(crate) fn prefer(pid: u32) {
    let own = fs::read_to_string("/proc/self/oom_score_adj").ok().and_then(|text| text.trim().parse::<i32>().ok());
    let wanted = own.unwrap_or(0).saturating_add(MORE).min(MOST);
    let _not_allowed = fs::write(format!("/proc/{pid}/oom_score_adj"), wanted.to_string());
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_child_is_ended_before_its_parent() {
        let score = |pid: &str| -> i32 {
            fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap().trim().parse().unwrap()
        };
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        prefer(child.id());
        assert_eq!(score(&child.id().to_string()), (score("self") + MORE).min(MOST));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
